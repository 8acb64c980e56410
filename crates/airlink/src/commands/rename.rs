//! `airlink rename`: symbols of a kernel object.

use airlink_diag::{Finding, codes};
use airlink_elf::RenameOptions;
use indexmap::IndexMap;

use crate::cli::RenameArgs;
use crate::exit::Exit;
use crate::invocation::Invocation;
use crate::write;

pub fn run(invocation: &mut Invocation, args: &RenameArgs) -> Exit {
    invocation.writes = true;
    let Some(output) = invocation.options.output.clone() else {
        return invocation.usage("`airlink rename` needs -o OUT.o");
    };
    let mut map = IndexMap::new();
    for pair in &args.map {
        match pair.split_once('=') {
            Some((old, new)) if !old.is_empty() && !new.is_empty() => map.insert(old.to_string(), new.to_string()),
            _ => return invocation.usage(&format!("`--map {pair}` is not OLD=NEW")),
        };
    }
    let bytes = match std::fs::read(&args.input) {
        Ok(bytes) => bytes,
        Err(error) => {
            let text = format!("`{}` cannot be read: {error}", args.input);
            let reported = invocation.findings.fail(Finding::error(codes::AL0801, text).remedy("check the path"));
            return invocation.exit_of(reported);
        }
    };
    let options = RenameOptions::default();
    let planned = airlink_elf::plan_rename(&bytes, &map, options);
    let renamed = match (planned, airlink_elf::rename(&bytes, &map, options)) {
        (Ok(plan), Ok(renamed)) => {
            plan.shared_finding(args.input.as_str()).into_iter().for_each(|f| invocation.findings.push(f));
            // What the map did not ask for is said: a name may not be what its owner's user expects.
            plan.companions.iter().for_each(|(old, new)| invocation.say(&format!("also renamed {old} to {new}\n")));
            renamed
        }
        (Err(errors), _) => {
            errors.iter().for_each(|e| invocation.findings.push(e.finding(args.input.as_str())));
            return Exit::Findings;
        }
        (_, Err(error)) => {
            let reported = invocation.findings.fail(error.finding(args.input.as_str()));
            return invocation.exit_of(reported);
        }
    };
    // `-o` may name the input itself: one file, which appears whole or not at all.
    if invocation.options.dry_run {
        return Exit::Done;
    }
    match write::one(&output, renamed, &mut invocation.findings) {
        Ok(()) => Exit::Done,
        Err(reported) => invocation.exit_of(reported),
    }
}
