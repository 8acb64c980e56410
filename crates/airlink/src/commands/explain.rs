//! `airlink explain`: the page of a code.

use airlink_diag::{Code, Finding, Span, codes};
use camino::Utf8Path;

use crate::cli::{ExplainArgs, MessageFormat};
use crate::exit::Exit;
use crate::invocation::Invocation;

pub fn run(invocation: &mut Invocation, args: &ExplainArgs) -> Exit {
    if let Some(path) = &args.log {
        return log(invocation, path);
    }
    let Some(name) = &args.code else {
        let list: String = codes::ALL.iter().map(|c| format!("{c}  {}\n", c.title())).collect();
        invocation.print(&list);
        return Exit::Done;
    };
    match Code::find(name) {
        Some(code) => {
            invocation.print(code.page());
            Exit::Done
        }
        None => invocation.usage(&format!("`{name}` is no code of airlink; `airlink explain` lists them all")),
    }
}

/// Lines before and behind one in which the compiler may name the tile that it speaks of.
const NEAR: usize = 3;

/// What a compiler's output means: each line that is known, with its code and what to do.
fn log(invocation: &mut Invocation, path: &Utf8Path) -> Exit {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => {
            let text = format!("`{path}` cannot be read: {error}");
            let reported = invocation.findings.fail(Finding::error(codes::AL0801, text).remedy("check the path"));
            return invocation.exit_of(reported);
        }
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    let file = invocation.findings.sources.add(path.as_str(), text.clone());
    let mut told: Vec<Code> = Vec::new();
    let mut start = 0;
    for (i, line) in lines.iter().enumerate() {
        let own_start = start;
        start += line.len() + 1 + usize::from(text[start + line.len()..].starts_with('\r'));
        let near = &lines[i.saturating_sub(NEAR)..lines.len().min(i + NEAR + 1)];
        let Some(code) = airlink_limits::classify(line, near) else { continue };
        if invocation.options.message_format == MessageFormat::Json {
            let span = Span::new(file, own_start..own_start + line.len());
            let finding = Finding::note(code, code.title()).at(span, "the compiler says").remedy(what_to_do(code));
            invocation.findings.push(finding);
            continue;
        }
        invocation.print(&format!("{path}:{}: {code}  {}\n    {}\n", i + 1, code.title(), line.trim()));
        if !told.contains(&code) {
            told.push(code);
            invocation.print(&format!("  what to do: {}\n", what_to_do(code)));
        }
    }
    if told.is_empty() && invocation.options.message_format != MessageFormat::Json {
        invocation.print(&format!("{path}: no line of it is a message that airlink knows\n"));
    }
    Exit::Done
}

/// The first paragraph under `What to do` of a code's page, as one line.
fn what_to_do(code: Code) -> String {
    let (_, rest) = code.page().split_once("## What to do\n\n").unwrap_or_default();
    rest.split("\n\n").next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}
