//! `airlink check`: what `stitch --emit mlir,map` would find, without writing anything. It does not try the host target.

use airlink_diag::Reported;
use airlink_ir::Ir;

use crate::cli::GraphArgs;
use crate::exit::Exit;
use crate::invocation::Invocation;
use crate::{load, pipe};

pub fn run(invocation: &mut Invocation, args: &GraphArgs) -> Exit {
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
    let launches: usize = plan.elfs.iter().map(|e| e.launches.len()).sum();
    let elfs = counted(programs.len(), "ELF", "ELFs");
    Ok(format!("{}: {elfs}, {}, {}\n", args.graph, counted(launches, "launch", "launches"), invocation.verdict()))
}

fn module(invocation: &mut Invocation, args: &GraphArgs) -> Result<String, Reported> {
    let ir = Ir::new();
    let file = crate::read::text_file(&args.graph, crate::read::Wanted::Module, None, &mut invocation.findings)?;
    let module = airlink_ir::parse(&ir, file, args.graph.as_str(), &mut invocation.findings)?;
    let summary = airlink_ir::summarize(&module, file, &invocation.findings.sources);
    let launches: usize = summary.functions.iter().map(|f| f.entries.len()).sum();
    Ok(format!("{}: {}, {}\n", args.graph, counted(launches, "launch", "launches"), invocation.verdict()))
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
