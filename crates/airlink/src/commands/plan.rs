//! `airlink plan`.

use airlink_diag::Reported;
use airlink_ir::Ir;

use crate::cli::{Emit, Format, GraphArgs};
use crate::exit::Exit;
use crate::session::Session;
use crate::{load, pipe};

pub fn run(session: &mut Session, args: &GraphArgs) -> Exit {
    match show(session, args) {
        Ok(()) => Exit::Done,
        Err(reported) => session.exit_of(reported),
    }
}

fn show(session: &mut Session, args: &GraphArgs) -> Result<(), Reported> {
    let ir = Ir::new();
    let loaded = load::graph(&ir, session, &args.graph)?;
    let plan = pipe::make_plan(session, &loaded)?;
    let wants_json = session.options.format == Some(Format::Json) || session.options.emit.contains(&Emit::Json);
    let text = if wants_json {
        let json = airlink_plan::plan_json(&plan, &session.findings);
        serde_json::to_string_pretty(&json).unwrap_or_default() + "\n"
    } else {
        airlink_plan::render(&plan, &loaded.graph)
    };
    session.print(&text);
    Ok(())
}
