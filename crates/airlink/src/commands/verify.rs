//! `airlink verify`: fused against unfused, bit for bit.

use crate::cli::GraphArgs;
use crate::exit::Exit;
use crate::session::Session;

pub fn run(session: &mut Session, _args: &GraphArgs) -> Exit {
    session.not_implemented("`airlink verify`")
}
