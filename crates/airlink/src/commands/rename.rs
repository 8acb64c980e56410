//! `airlink rename`: symbols of a kernel object.

use airlink_diag::{Finding, codes};
use airlink_elf::RenameOptions;
use indexmap::IndexMap;

use crate::cli::RenameArgs;
use crate::exit::Exit;
use crate::session::Session;
use crate::write;

pub fn run(session: &mut Session, args: &RenameArgs) -> Exit {
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
    let renamed = match airlink_elf::rename(&bytes, &map, RenameOptions::default()) {
        Ok(renamed) => renamed,
        Err(error) => {
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
