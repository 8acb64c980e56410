//! `airlink inspect`: what is in a host ELF, a kernel object or a link map.

mod elf;
mod map;

use airlink_diag::{Finding, codes};
use airlink_elf::FileType;
use serde_json::Value;

use crate::cli::{Emit, FileArgs, Format};
use crate::exit::Exit;
use crate::invocation::Invocation;

/// What a file turned out to be, in both forms.
struct View {
    text: String,
    json: Value,
}

pub fn run(invocation: &mut Invocation, args: &FileArgs) -> Exit {
    let name = args.file.as_str();
    let bytes = match std::fs::read(&args.file) {
        Ok(bytes) => bytes,
        Err(error) => {
            let text = format!("`{name}` cannot be read: {error}");
            let reported = invocation.findings.fail(Finding::error(codes::AL0801, text).remedy("check the path"));
            return invocation.exit_of(reported);
        }
    };
    let view = match look(name, &bytes) {
        Ok(view) => view,
        Err(Refusal::Finding(finding)) => {
            let reported = invocation.findings.fail(*finding);
            return invocation.exit_of(reported);
        }
        Err(Refusal::NotYet(what)) => {
            return invocation.not_implemented(&format!("`{name}` is {what}: showing one"));
        }
        Err(Refusal::Other { what, remedy }) => return invocation.usage(&format!("`{name}` is {what}; {remedy}")),
    };
    let wants_json = invocation.options.format == Some(Format::Json) || invocation.options.emit.contains(&Emit::Json);
    let text = if wants_json { serde_json::to_string_pretty(&view.json).unwrap_or_default() + "\n" } else { view.text };
    invocation.print(&text);
    Exit::Done
}

/// Why a file is not shown.
enum Refusal {
    /// It is broken.
    Finding(Box<Finding>),
    /// A kind that is to be shown one day.
    NotYet(&'static str),
    /// A kind that another command shows, or none does.
    Other { what: String, remedy: &'static str },
}

fn look(name: &str, bytes: &[u8]) -> Result<View, Refusal> {
    if bytes.starts_with(b"\x7fELF") {
        return elf_view(name, bytes);
    }
    if let Some(what) = npu_kind(bytes) {
        return Err(Refusal::NotYet(what));
    }
    if let Some(view) = map::view(name, bytes) {
        return Ok(view);
    }
    let kind = airlink_elf::file_kind(bytes);
    let remedy = match kind {
        "MLIR as text" => "`airlink opt` prints modules",
        _ if name.ends_with(".toml") => "`airlink plan` shows launch graphs",
        _ => "`airlink inspect` shows host ELFs, kernel objects and link maps",
    };
    Err(Refusal::Other { what: kind.to_string(), remedy })
}

fn elf_view(name: &str, bytes: &[u8]) -> Result<View, Refusal> {
    if elf::is_npu_elf(bytes) {
        return Err(Refusal::NotYet("an NPU ELF"));
    }
    let broken = |e: &dyn std::fmt::Display| {
        Refusal::Finding(Box::new(
            Finding::error(codes::AL0715, format!("`{name}` is a broken ELF file: {e}")).remedy("build the file again"),
        ))
    };
    let summary = airlink_elf::object_summary(bytes).map_err(|e| broken(&e))?;
    let sections = airlink_elf::object_sections(bytes).map_err(|e| broken(&e))?;
    let is_host_elf = sections.iter().any(|s| s.name == airlink_elf::MANIFEST_SECTION);
    if is_host_elf && summary.file_type == FileType::Shared {
        return elf::host(name, bytes, &summary).map_err(|f| Refusal::Finding(Box::new(f)));
    }
    Ok(elf::object(name, &summary, &sections))
}

/// Files of the NPU that are no ELF. Sources: the boot image's width detection word 0xDD and 0x11223344 (bootgen), `CDO`
/// with its length word (aie-rt's CDO driver), the two version words of control code (aiebu's `transaction.hpp`).
fn npu_kind(bytes: &[u8]) -> Option<&'static str> {
    let has = |at: usize, magic: &[u8]| bytes.get(at..at + magic.len()) == Some(magic);
    if has(0, b"\xdd\0\0\0\x44\x33\x22\x11") {
        Some("a PDI")
    } else if has(0, b"\x04\0\0\0CDO\0") {
        Some("a CDO (the content of a PDI)")
    } else if bytes.len() >= 16 && (has(0, b"\0\x01\x03\x06") || has(0, b"\0\x01\x04\x06") || has(0, b"\x01\0\x04\x06"))
    {
        Some("a control-code stream")
    } else {
        None
    }
}

/// Rows as columns of equal width, two blanks apart, below a heading. Nothing if there are no rows.
fn table(title: &str, rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| rows.iter().filter_map(|r| r.get(c)).map(|t| t.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = format!("\n{title}\n");
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, w)| format!("{cell:<w$}"));
        out += format!("  {}", cells.collect::<Vec<_>>().join("  ")).trim_end();
        out.push('\n');
    }
    out
}

/// Text of a file as one line without control characters.
fn plain(text: &str) -> String {
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect::<Vec<_>>() } else { vec![c] }).collect()
}
