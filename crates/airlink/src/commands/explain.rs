//! `airlink explain`: the page of a code.

use airlink_diag::{Code, codes};

use crate::cli::ExplainArgs;
use crate::exit::Exit;
use crate::invocation::Invocation;

pub fn run(invocation: &mut Invocation, args: &ExplainArgs) -> Exit {
    if args.log.is_some() {
        return invocation.not_implemented("`airlink explain --log`");
    }
    let Some(name) = &args.code else {
        let list: String = codes::ALL.iter().map(|c| format!("{c}  {}\n", c.title())).collect();
        invocation.print(&list);
        return Exit::Done;
    };
    match Code::find(name) {
        Some(code) => {
            invocation.print(code.page());
            Exit::Done
        }
        None => invocation.usage(&format!("`{name}` is no code of airlink; `airlink explain` lists them all")),
    }
}
