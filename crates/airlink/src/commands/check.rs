//! `airlink check`: what `stitch --emit mlir,map` would find, without writing anything. It does not try the host target.

use airlink_diag::Reported;
use airlink_ir::Ir;

use crate::cli::{Format, GraphArgs};
use crate::exit::Exit;
use crate::invocation::Invocation;
use crate::{limits, load, pipe};

pub fn run(invocation: &mut Invocation, args: &GraphArgs) -> Exit {
    invocation.judges_limits = true;
    invocation.wants_advice = true;
    let is_module = args.graph.extension() == Some("mlir");
    let checked = if is_module { module(invocation, args) } else { graph(invocation, args) };
    match checked {
        Ok(said) => {
            invocation.say(&said);
            Exit::Done
        }
        Err(reported) => invocation.exit_of(reported),
    }
}

fn graph(invocation: &mut Invocation, args: &GraphArgs) -> Result<String, Reported> {
    let ir = Ir::new();
    let loaded = load::graph(&ir, invocation, &args.graph)?;
    let plan = pipe::make_plan(invocation, &loaded)?;
    let programs = pipe::fuse(&ir, invocation, &loaded, &plan)?;
    if invocation.options.format == Some(Format::Json) {
        invocation.print(&json(&plan.elfs.iter().map(|e| (&e.name, &e.resources)).collect::<Vec<_>>()));
        return Ok(String::new());
    }
    let launches: usize = plan.elfs.iter().map(|e| e.launches.len()).sum();
    let device = plan.device.as_deref().unwrap_or_default();
    let elfs = counted(programs.len(), "ELF", "ELFs");
    let mut said = format!(
        "{}: {elfs}, {}, {} for {device}\n",
        args.graph,
        counted(launches, "launch", "launches"),
        invocation.verdict()
    );
    for resources in plan.elfs.iter().filter_map(|e| e.resources.as_ref()) {
        let rows = resources.launches.iter().map(|l| (l.name.as_str(), l.resources.as_slice()));
        said.push_str(&airlink_limits::render(rows));
    }
    Ok(said)
}

fn module(invocation: &mut Invocation, args: &GraphArgs) -> Result<String, Reported> {
    let ir = Ir::new();
    let file = crate::read::text_file(&args.graph, crate::read::Wanted::Module, None, &mut invocation.findings)?;
    let module = airlink_ir::parse(&ir, file, args.graph.as_str(), &mut invocation.findings)?;
    let summary = airlink_ir::summarize(&module, file, &invocation.findings.sources);
    let (launches, device) = limits::judge_module(invocation, &summary);
    let rows = launches.iter().map(|l| (l.name.as_str(), l.resources.as_slice()));
    if invocation.options.format == Some(Format::Json) {
        invocation.print(&json(&rows.collect::<Vec<_>>()));
        return invocation.findings.check().map(|()| String::new());
    }
    let table = airlink_limits::render(rows);
    if let Err(reported) = invocation.findings.check() {
        invocation.say(&table);
        return Err(reported);
    }
    let counts = counted(launches.len(), "launch", "launches");
    Ok(format!("{}: {counts}, {} for {}\n{table}", args.graph, invocation.verdict(), device.name))
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
