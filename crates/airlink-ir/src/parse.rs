//! Reading IR text.

use std::ffi::CString;

use airlink_diag::{Code, FileId, Finding, Findings, Reported, Span, codes};
use airlink_mlir_sys as sys;
use melior::ir::{Attribute, Module};

use crate::context::Message;
use crate::{Ir, attr, children, edit, name, place};

/// Brackets may nest this deep. MLIR's parser recurses and overflows an 8 MiB stack at about 20,000; no kernel that
/// people write comes near this.
pub const BRACKET_DEPTH_MAX: usize = 256;

/// Parses and verifies the module in `file`; its locations speak of the file as `location_name`.
///
/// # Errors
/// AL0102 for each thing that MLIR says, AL0103 for a NUL byte, AL0104 for deep nesting, AL0110 for an op of a dialect
/// that airlink does not read.
pub fn parse<'c>(
    ir: &'c Ir,
    file: FileId,
    location_name: &str,
    findings: &mut Findings,
) -> Result<Module<'c>, Reported> {
    let text = findings.sources.text(file).to_string();
    parse_part(ir, &text, file, location_name, findings)
}

/// As [`parse`], for a part of `file` that keeps the line numbers it has there.
///
/// # Errors
/// As [`parse`].
pub fn parse_part<'c>(
    ir: &'c Ir,
    text: &str,
    file: FileId,
    location_name: &str,
    findings: &mut Findings,
) -> Result<Module<'c>, Reported> {
    reject_hostile_text(text, file, findings)?;
    findings.sources.name_in_locations(file, location_name);
    let module = parse_text(ir, text, location_name);
    let messages = ir.take_messages();
    match module {
        Some(module) => {
            name_channel_types(ir, &module);
            Ok(module)
        }
        None => {
            report(&messages, file, findings);
            if messages.iter().any(|m| m.is_error) {
                findings.check()?;
            }
            Err(findings.fail(
                Finding::error(codes::AL0102, "MLIR could not parse this module and gave no reason")
                    .at(Span::file_start(file), ""),
            ))
        }
    }
}

/// Parses text of our own under `name`; what MLIR says stays with the context.
pub fn parse_text<'c>(ir: &'c Ir, text: &str, name: &str) -> Option<Module<'c>> {
    let text = CString::new(text).ok()?;
    // SAFETY: both strings live through the call; the returned module, if not null, is ours to own.
    unsafe {
        Module::from_option_raw(sys::airlinkModuleParse(
            ir.context().to_raw(),
            attr::raw(text.to_str().ok()?),
            attr::raw(name),
        ))
    }
}

/// Channel types as they were called once, and are called now.
const CHANNEL_TYPES: &[(&str, &str)] = &[
    ("dma_stream", "npu_dma_stream"),
    ("dma_packet", "npu_dma_packet"),
    ("cascade", "npu_cascade"),
    ("mmio", "npu_mmio"),
];

/// Gives channel types of older modules the names that mlir-air reads today: it refuses the others.
fn name_channel_types<'c>(ir: &'c Ir, module: &Module<'c>) {
    for op in children(module.as_operation()).into_iter().filter(|op| name(*op) == "air.channel") {
        let old = attr::string(op, "channel_type").unwrap_or_default();
        if let Some((_, now)) = CHANNEL_TYPES.iter().find(|(before, _)| *before == old)
            && let Some(attribute) = Attribute::parse(ir.context(), &format!("\"{now}\""))
        {
            edit::set_attribute(op, "channel_type", attribute);
        }
    }
}

fn reject_hostile_text(text: &str, file: FileId, findings: &mut Findings) -> Result<(), Reported> {
    if let Some(at) = text.find('\0') {
        return Err(findings.fail(
            Finding::error(codes::AL0103, "this file holds a NUL byte")
                .at(Span::new(file, at..at + 1), "byte 0x00 here")
                .remedy("save the file as plain UTF-8 text; MLIR bytecode is not read"),
        ));
    }
    let Some((at, depth)) = too_deep(text) else { return Ok(()) };
    Err(findings.fail(
        Finding::error(codes::AL0104, format!("brackets nest more than {BRACKET_DEPTH_MAX} deep"))
            .at(Span::new(file, at..at + 1), format!("level {}", BRACKET_DEPTH_MAX + 1))
            .found(format!("{depth} levels"))
            .allowed(format!("{BRACKET_DEPTH_MAX} levels"))
            .source("MLIR's parser, which recurses and overflows the stack")
            .remedy("look for a bracket that is never closed"),
    ))
}

/// Where the nesting first passes the limit, and how deep it gets in all. Strings and comments don't count.
fn too_deep(text: &str) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let (mut i, mut depth, mut deepest, mut first) = (0, 0usize, 0, None);
    while i < bytes.len() {
        match bytes[i] {
            b'"' => {
                i += 1;
                while i < bytes.len() && bytes[i] != b'"' && bytes[i] != b'\n' {
                    i += if bytes[i] == b'\\' { 2 } else { 1 };
                }
            }
            b'/' if bytes.get(i + 1) == Some(&b'/') => {
                while i < bytes.len() && bytes[i] != b'\n' {
                    i += 1;
                }
            }
            b'(' | b'[' | b'{' | b'<' => {
                depth += 1;
                if depth > BRACKET_DEPTH_MAX && first.is_none() {
                    first = Some(i);
                }
                deepest = deepest.max(depth);
            }
            // `->` and a `>` of a comparison close nothing, hence no underflow.
            b'>' if i > 0 && bytes[i - 1] == b'-' => {}
            b')' | b']' | b'}' | b'>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        i += 1;
    }
    first.map(|at| (at, deepest))
}

/// Turns what MLIR said into findings; notes become further places.
pub(crate) fn report(messages: &[Message], file: FileId, findings: &mut Findings) {
    for m in messages.iter().filter(|m| m.is_error) {
        let (code, headline) = classify(&m.text);
        let span = m.place.as_ref().and_then(|p| place::span(p, &findings.sources)).unwrap_or(Span::file_start(file));
        let mut finding = Finding::error(code, headline).at(span, "");
        for (text, note_place) in &m.notes {
            let note = note_place.as_ref().and_then(|p| place::span(p, &findings.sources));
            // MLIR attaches the offending op as a note; the span shows it better.
            if !text.starts_with("see current operation") && code != codes::AL0110 {
                finding = finding.maybe_also(note, text.as_str());
            }
        }
        if code == codes::AL0110 {
            finding = finding.remedy("give airlink the AIR module, before `air-to-aie` and other lowering passes");
        }
        findings.push(finding);
    }
}

fn classify(text: &str) -> (Code, String) {
    let text = text.lines().next().unwrap_or_default();
    if let Some((dialect, op)) = unknown_dialect(text) {
        return (codes::AL0110, format!("`{op}` is of dialect `{dialect}`, which airlink does not read"));
    }
    (codes::AL0102, text.to_string())
}

/// MLIR's wording for an op whose dialect is not registered: "Dialect `aie' not found for custom op 'aie.device'".
fn unknown_dialect(text: &str) -> Option<(&str, &str)> {
    let (dialect, rest) = text.strip_prefix("Dialect `")?.split_once('\'')?;
    let op = rest.split_once("custom op '")?.1.split_once('\'')?.0;
    Some((dialect, op))
}
