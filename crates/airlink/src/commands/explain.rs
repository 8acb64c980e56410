//! `airlink explain`: the page of a code.

use airlink_diag::{Code, codes};

use crate::cli::ExplainArgs;
use crate::exit::Exit;
use crate::session::Session;

pub fn run(session: &mut Session, args: &ExplainArgs) -> Exit {
    if args.log.is_some() {
        return session.not_implemented("`airlink explain --log`");
    }
    let Some(name) = &args.code else {
        let list: String = codes::ALL.iter().map(|c| format!("{c}  {}\n", c.title())).collect();
        session.print(&list);
        return Exit::Done;
    };
    match Code::find(name) {
        Some(code) => {
            session.print(code.page());
            Exit::Done
        }
        None => session.usage(&format!("`{name}` is no code of airlink; `airlink explain` lists them all")),
    }
}
