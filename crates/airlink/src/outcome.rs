//! The log of `--log`: what came out of a run, whether it went well or not.

use airlink_plan::{Outcome, OutputFile, Plan};
use camino::Utf8Path;

use crate::cli::LoggedArgs;
use crate::invocation::Invocation;
use crate::load::Loaded;
use crate::pipe::Known;
use crate::write::{self, Output};

/// The log of a run that goes well, as one more of its outputs.
pub fn log(
    invocation: &Invocation,
    command: &str,
    args: &LoggedArgs,
    path: &Utf8Path,
    loaded: &Loaded<'_>,
    plan: &Plan,
    outputs: &[Output],
) -> Output {
    let file = |o: &Output| OutputFile {
        name: o.path.file_name().unwrap_or_default().to_string(),
        size_bytes: o.bytes.len() as u64,
    };
    let files: Vec<OutputFile> = outputs.iter().map(file).collect();
    let text = airlink_plan::log(&Outcome {
        command,
        path: args.graph.graph.as_str(),
        graph: Some(&loaded.graph),
        plan: Some(plan),
        options: &crate::limits::plan_options(invocation, &loaded.object_sizes),
        findings: &invocation.findings,
        files: &files,
    });
    Output { path: path.to_owned(), bytes: text.into_bytes() }
}

/// Writes the log of a run that failed, if one is wanted: what it found, and what it had decided until then. Where even
/// that cannot be written, one finding more says so.
pub fn write_failure(invocation: &mut Invocation, command: &str, args: &LoggedArgs, known: &Known<'_>) {
    let Some(path) = args.log.as_ref().filter(|_| !invocation.options.dry_run) else { return };
    let object_sizes = known.loaded.as_ref().map(|l| l.object_sizes.clone()).unwrap_or_default();
    let graph = known.loaded.as_ref().map(|l| &l.graph);
    let text = airlink_plan::log(&Outcome {
        command,
        path: args.graph.graph.as_str(),
        graph,
        plan: known.plan.as_ref(),
        options: &crate::limits::plan_options(invocation, &object_sizes),
        findings: &invocation.findings,
        files: &[],
    });
    let outputs = [Output { path: path.clone(), bytes: text.into_bytes() }];
    let written = write::spare(&outputs, &invocation.inputs, &mut invocation.findings)
        .and_then(|()| write::all(&outputs, &mut invocation.findings));
    if written.is_ok() {
        invocation.log_of_failure = Some(path.clone());
    }
}
