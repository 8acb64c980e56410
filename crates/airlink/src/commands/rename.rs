//! `airlink rename`: symbols of a kernel object.

use airlink_diag::{Finding, codes};
use airlink_elf::RenameOptions;
use indexmap::IndexMap;

use crate::cli::RenameArgs;
use crate::exit::Exit;
use crate::session::Session;
use crate::write;

pub fn run(session: &mut Session, args: &RenameArgs) -> Exit {
    session.writes = true;
    let Some(output) = session.options.output.clone() else {
        return session.usage("`airlink rename` needs -o OUT.o");
    };
    let mut map = IndexMap::new();
    for pair in &args.map {
        match pair.split_once('=') {
            Some((old, new)) if !old.is_empty() && !new.is_empty() => map.insert(old.to_string(), new.to_string()),
            _ => return session.usage(&format!("`--map {pair}` is not OLD=NEW")),
        };
    }
    let bytes = match std::fs::read(&args.input) {
        Ok(bytes) => bytes,
        Err(error) => {
            let text = format!("`{}` cannot be read: {error}", args.input);
            let reported = session.findings.fail(Finding::error(codes::AL0801, text).remedy("check the path"));
            return session.exit_of(reported);
        }
    };
    let options = RenameOptions::default();
    let planned = airlink_elf::plan_rename(&bytes, &map, options);
    let renamed = match (planned, airlink_elf::rename(&bytes, &map, options)) {
        (Ok(plan), Ok(renamed)) => {
            plan.shared_finding(args.input.as_str()).into_iter().for_each(|f| session.findings.push(f));
            renamed
        }
        (Err(errors), _) => {
            errors.iter().for_each(|e| session.findings.push(e.finding(args.input.as_str())));
            return Exit::Findings;
        }
        (_, Err(error)) => {
            let reported = session.findings.fail(error.finding(args.input.as_str()));
            return session.exit_of(reported);
        }
    };
    if session.options.dry_run {
        return Exit::Done;
    }
    match write::one(&output, renamed, &mut session.findings) {
        Ok(()) => Exit::Done,
        Err(reported) => session.exit_of(reported),
    }
}
