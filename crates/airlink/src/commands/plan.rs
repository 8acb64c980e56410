//! `airlink plan`.

use airlink_diag::Reported;
use airlink_ir::Ir;

use crate::cli::{Emit, Format, GraphArgs};
use crate::exit::Exit;
use crate::invocation::Invocation;
use crate::{load, pipe};

pub fn run(invocation: &mut Invocation, args: &GraphArgs) -> Exit {
    invocation.wants_advice = true;
    match show(invocation, args) {
        Ok(()) => Exit::Done,
        Err(reported) => invocation.exit_of(reported),
    }
}

fn show(invocation: &mut Invocation, args: &GraphArgs) -> Result<(), Reported> {
    let ir = Ir::new();
    let loaded = load::graph(&ir, invocation, &args.graph)?;
    let plan = pipe::make_plan(invocation, &loaded)?;
    let wants_json = invocation.options.format == Some(Format::Json) || invocation.options.emit.contains(&Emit::Json);
    let text = if wants_json {
        let json = airlink_plan::plan_json(&plan, &invocation.findings);
        serde_json::to_string_pretty(&json).unwrap_or_default() + "\n"
    } else {
        airlink_plan::render(&plan, &loaded.graph)
    };
    invocation.print(&text);
    Ok(())
}
