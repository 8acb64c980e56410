//! `airlink plan`.

use airlink_diag::Reported;
use airlink_ir::Ir;
use airlink_plan::Plan;

use crate::cli::{Format, LoggedArgs};
use crate::exit::Exit;
use crate::invocation::Invocation;
use crate::load::Loaded;
use crate::pipe::Known;
use crate::write::{self, Output};
use crate::{load, outcome, pipe};

pub fn run(invocation: &mut Invocation, args: &LoggedArgs) -> Exit {
    invocation.writes = invocation.options.output.is_some();
    invocation.wants_advice = true;
    let ir = Ir::new();
    let mut known = Known::default();
    match show(&ir, invocation, args, &mut known) {
        Ok(()) => Exit::Done,
        Err(reported) => {
            outcome::write_failure(invocation, "plan", args, &known);
            invocation.exit_of(reported)
        }
    }
}

fn show<'c>(ir: &'c Ir, invocation: &mut Invocation, args: &LoggedArgs, known: &mut Known<'c>) -> Result<(), Reported> {
    let loaded = &*known.loaded.insert(load::graph(ir, invocation, &args.graph.graph)?);
    let plan = &*known.plan.insert(pipe::make_plan(invocation, loaded)?);
    if invocation.options.is_werror() {
        // What the plan shows of them is what the exit code says; files are for runs that went well.
        invocation.findings.deny_warnings();
        if invocation.writes {
            invocation.findings.check()?;
        }
    }
    let text = text(invocation, loaded, plan);
    let mut outputs = Vec::new();
    let to_file = invocation.options.output.clone();
    if let Some(path) = &to_file {
        outputs.push(Output { path: path.clone(), bytes: text.clone().into_bytes() });
    }
    if let Some(path) = &args.log {
        outputs.push(outcome::log(invocation, "plan", args, path, loaded, plan, &outputs));
    }
    write::spare(&outputs, &invocation.inputs, &mut invocation.findings)?;
    let is_dry = invocation.options.dry_run;
    if !is_dry {
        write::all(&outputs, &mut invocation.findings)?;
    }
    match to_file {
        None => invocation.print(&text),
        // Only here nobody waits for the plan itself on standard output.
        Some(_) => {
            let did = if is_dry { "would write" } else { "wrote" };
            outputs.iter().for_each(|o| invocation.say(&format!("{did} {}\n", o.path)));
        }
    }
    Ok(())
}

fn text(invocation: &Invocation, loaded: &Loaded<'_>, plan: &Plan) -> String {
    let (graph, findings) = (&loaded.graph, &invocation.findings);
    match invocation.options.plan_format() {
        Format::Text => airlink_plan::render(plan, graph),
        Format::Html => airlink_plan::html(plan, graph, findings),
        Format::Dot => airlink_plan::dot(plan, graph),
        Format::Json => {
            let json = airlink_plan::plan_json(plan, graph, findings);
            serde_json::to_string_pretty(&json).unwrap_or_default() + "\n"
        }
    }
}
