//! `airlink inspect`: what is in a host ELF, an NPU ELF, control code, a PDI, a kernel object or a link map.

mod elf;
mod map;
mod npu;

use airlink_diag::{Finding, codes};
use airlink_elf::FileType;
use serde_json::Value;

use crate::cli::{Emit, FileArgs, Format};
use crate::exit::Exit;
use crate::invocation::Invocation;

/// What a file turned out to be, in both forms, and what is wrong with it all the same.
struct View {
    text: String,
    json: Value,
    findings: Vec<Finding>,
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
        Err(Refusal::Other { what, remedy }) => return invocation.usage(&format!("`{name}` is {what}; {remedy}")),
    };
    let wants_json = invocation.options.format == Some(Format::Json) || invocation.options.emit.contains(&Emit::Json);
    let text = if wants_json { serde_json::to_string_pretty(&view.json).unwrap_or_default() + "\n" } else { view.text };
    invocation.print(&text);
    view.findings.into_iter().for_each(|f| invocation.findings.push(f));
    Exit::Done
}

/// Why a file is not shown.
enum Refusal {
    /// It is broken.
    Finding(Box<Finding>),
    /// A kind that another command shows, or none does.
    Other { what: String, remedy: &'static str },
}

fn look(name: &str, bytes: &[u8]) -> Result<View, Refusal> {
    if bytes.starts_with(b"\x7fELF") {
        return elf_view(name, bytes);
    }
    if let Some(view) = npu::raw(name, bytes) {
        return view.map_err(|f| Refusal::Finding(Box::new(f)));
    }
    if let Some(view) = map::view(name, bytes) {
        return Ok(view);
    }
    let kind = airlink_elf::file_kind(bytes);
    let remedy = match kind {
        "MLIR as text" => "`airlink opt` prints modules",
        _ if name.ends_with(".toml") => "`airlink plan` shows launch graphs",
        _ => "`airlink inspect` shows ELFs, control code, PDIs and link maps",
    };
    Err(Refusal::Other { what: kind.to_string(), remedy })
}

fn elf_view(name: &str, bytes: &[u8]) -> Result<View, Refusal> {
    if airlink_elf::npu::is_npu_elf(bytes) {
        return npu::elf(name, bytes).map_err(|f| Refusal::Finding(Box::new(f)));
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
