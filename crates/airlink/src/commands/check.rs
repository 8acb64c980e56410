//! `airlink check`: everything that `stitch` would find, without writing anything.

use airlink_diag::Reported;
use airlink_ir::Ir;

use crate::cli::GraphArgs;
use crate::exit::Exit;
use crate::session::Session;
use crate::{load, pipe};

pub fn run(session: &mut Session, args: &GraphArgs) -> Exit {
    let is_module = args.graph.extension() == Some("mlir");
    let checked = if is_module { module(session, args) } else { graph(session, args) };
    match checked {
        Ok(said) => {
            session.say(&said);
            Exit::Done
        }
        Err(reported) => session.exit_of(reported),
    }
}

fn graph(session: &mut Session, args: &GraphArgs) -> Result<String, Reported> {
    let ir = Ir::new();
    let loaded = load::graph(&ir, session, &args.graph)?;
    let plan = pipe::make_plan(session, &loaded)?;
    let programs = pipe::fuse(&ir, session, &loaded, &plan)?;
    let launches: usize = plan.elfs.iter().map(|e| e.launches.len()).sum();
    let elfs = counted(programs.len(), "ELF", "ELFs");
    Ok(format!("{}: {elfs}, {}, no errors\n", args.graph, counted(launches, "launch", "launches")))
}

fn module(session: &mut Session, args: &GraphArgs) -> Result<String, Reported> {
    let ir = Ir::new();
    let file = load::text_file(&args.graph, None, &mut session.findings)?;
    let module = airlink_ir::parse(&ir, file, args.graph.as_str(), &mut session.findings)?;
    let summary = airlink_ir::summarize(&module, file, &session.findings.sources);
    let launches: usize = summary.functions.iter().map(|f| f.entries.len()).sum();
    Ok(format!("{}: {}, no errors\n", args.graph, counted(launches, "launch", "launches")))
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
