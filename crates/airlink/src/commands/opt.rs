//! `airlink opt`: parse, verify and print a module.

use std::io::Read;

use airlink_diag::{FileId, Findings, Reported};
use airlink_ir::{Ir, print};
use camino::Utf8PathBuf;

use crate::cli::OptArgs;
use crate::exit::Exit;
use crate::invocation::Invocation;
use crate::read::{self, Wanted};
use crate::write::{self, Output};

/// The line that ends a part of a file, as in MLIR's own tools.
const SEPARATOR: &str = "// -----";

pub fn run(invocation: &mut Invocation, args: &OptArgs) -> Exit {
    let file = match input(invocation, args) {
        Ok(file) => file,
        Err(reported) => return invocation.exit_of(reported),
    };
    if args.verify_diagnostics {
        return verify(invocation, args, file);
    }
    let mut text = String::new();
    let mut failed = None;
    for (i, part) in parts(invocation.findings.sources.text(file), args.split_input_file).into_iter().enumerate() {
        match parse_part(&part, file, invocation) {
            Ok(printed) => {
                if i > 0 {
                    text += &format!("\n{SEPARATOR}\n\n");
                }
                text += &printed;
            }
            Err(reported) => failed = Some(reported),
        }
    }
    if let Some(reported) = failed {
        return invocation.exit_of(reported);
    }
    let Some(path) = invocation.options.output.clone() else {
        invocation.print(&text);
        return Exit::Done;
    };
    match write_module(invocation, args, path, text) {
        Ok(()) => Exit::Done,
        Err(reported) => invocation.exit_of(reported),
    }
}

fn write_module(invocation: &mut Invocation, args: &OptArgs, path: Utf8PathBuf, text: String) -> Result<(), Reported> {
    let output = [Output { path, bytes: text.into_bytes() }];
    write::spare(&output, std::slice::from_ref(&args.file), &mut invocation.findings)?;
    if invocation.options.dry_run {
        return Ok(());
    }
    write::all(&output, &mut invocation.findings)
}

fn input(invocation: &mut Invocation, args: &OptArgs) -> Result<FileId, Reported> {
    if args.file != "-" {
        return read::text_file(&args.file, Wanted::Module, None, &mut invocation.findings);
    }
    let mut text = String::new();
    if let Err(error) = std::io::stdin().read_to_string(&mut text) {
        return Err(invocation.findings.fail(airlink_diag::Finding::error(
            airlink_diag::codes::AL0801,
            format!("standard input cannot be read: {error}"),
        )));
    }
    Ok(invocation.findings.sources.add("<stdin>", text))
}

/// The parts of a file, each padded with line breaks so that its lines keep their numbers.
fn parts(text: &str, is_split: bool) -> Vec<String> {
    if !is_split {
        return vec![text.to_string()];
    }
    let mut parts = vec![String::new()];
    for (i, line) in text.split_inclusive('\n').enumerate() {
        if line.trim_end().starts_with(SEPARATOR) {
            parts.push("\n".repeat(i + 1));
        } else if let Some(part) = parts.last_mut() {
            part.push_str(line);
        }
    }
    parts
}

/// Parses one part in a context of its own, so that resource keys of another part don't matter.
fn parse_part(part: &str, file: FileId, invocation: &mut Invocation) -> Result<String, Reported> {
    let ir = Ir::new();
    let name = invocation.findings.sources.name(file).to_string();
    let module = airlink_ir::parse_part(&ir, part, file, &name, &mut invocation.findings)?;
    Ok(print(&module.as_operation(), invocation.options.locations))
}

/// `--verify-diagnostics`: every `expected-error {{text}}` must be met by a finding on its line, and the reverse.
fn verify(invocation: &mut Invocation, args: &OptArgs, file: FileId) -> Exit {
    let text = invocation.findings.sources.text(file).to_string();
    let mut wanted = expectations(&text);
    let mut unexpected = Vec::new();
    for part in parts(&text, args.split_input_file) {
        let mut own = Invocation::new(&invocation.options);
        own.findings.sources = invocation.findings.sources.clone();
        let _ = parse_part(&part, file, &mut own);
        collect(&own.findings, &mut wanted, &mut unexpected);
    }
    let mut report = String::new();
    for (line, text, met) in &wanted {
        if !met {
            report += &format!("{}:{line}: expected error `{text}` was not found\n", args.file);
        }
    }
    unexpected.iter().for_each(|line| report += line);
    invocation.print(&report);
    if report.is_empty() { Exit::Done } else { Exit::Differs }
}

fn collect(findings: &Findings, wanted: &mut [(usize, String, bool)], unexpected: &mut Vec<String>) {
    for finding in findings.iter() {
        let line = finding.primary_span().map_or(0, |s| findings.sources.line_column(s.file, s.start).line);
        let met =
            wanted.iter_mut().find(|(l, text, met)| !met && *l == line && finding.headline.contains(text.as_str()));
        match met {
            Some((_, _, met)) => *met = true,
            None => unexpected.push(airlink_diag::render::short(finding, &findings.sources)),
        }
    }
}

/// Line, text and whether it was met, of each `expected-error@+N {{text}}`.
fn expectations(text: &str) -> Vec<(usize, String, bool)> {
    let mut list = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let Some((_, rest)) = line.split_once("expected-error") else { continue };
        let (place, rest) = rest.split_once("{{").unwrap_or((rest, ""));
        let Some((message, _)) = rest.split_once("}}") else { continue };
        let offset: i64 = place.trim().trim_start_matches('@').parse().unwrap_or(0);
        let line = (i as i64 + 1 + offset).max(0) as usize;
        list.push((line, message.to_string(), false));
    }
    list
}
