//! Control code as a listing.

use std::collections::BTreeMap;

use airlink_elf::npu::{
    BufferDescriptor, Description, Meaning, OpKind, Operation, Register, Relocation, Section, control_code,
};
use serde_json::{Value, json};

use super::plain;

/// Every operation on a line of its own, with what the loader patches in it; a line per launch where they are known.
pub fn listing(title: &str, bytes: &[u8], section: Option<&Section>, launches: Option<&Description>) -> String {
    let code = match control_code(bytes) {
        Ok(code) => code,
        Err(error) => return format!("\n{title}: {error}\n"),
    };
    let h = code.header;
    let device = if h.generation == 3 { "npu1" } else { "npu2" };
    let mut out = format!(
        "\n{title}: {} operations of version {}.{} for {device}, {} columns\n",
        h.op_count, h.major, h.minor, h.column_count
    );
    let patched = by_offset(section);
    let starts: BTreeMap<u32, &str> =
        launches.iter().flat_map(|d| d.launches.iter().map(|l| (l.start, l.name.as_str()))).collect();
    let end = launches.filter(|d| d.has_closing_reset).and_then(|d| d.launches.last()).map(|l| l.end);
    for operation in code.operations() {
        let operation = match operation {
            Ok(operation) => operation,
            Err(error) => {
                out += &format!("  {error}\n");
                break;
            }
        };
        let offset = operation.offset as u32;
        if let Some(name) = starts.get(&offset) {
            out += &format!("{}:\n", plain(name));
        }
        if end == Some(offset) {
            out += "closing reset:\n";
        }
        let relocations: Vec<String> = of_operation(&patched, &operation).map(relocation_text).collect();
        let note = if relocations.is_empty() { String::new() } else { format!("  <- {}", relocations.join(", ")) };
        out += &format!("  {offset:#06x}  {}{note}\n", operation.kind);
    }
    out
}

/// As [`listing`], for programs.
pub fn json(bytes: &[u8], section: Option<&Section>, launches: Option<&Description>) -> Value {
    let code = match control_code(bytes) {
        Ok(code) => code,
        Err(error) => return json!({ "error": error.to_string() }),
    };
    let patched = by_offset(section);
    let mut error = None;
    let mut list = Vec::new();
    for operation in code.operations() {
        match operation {
            Ok(operation) => list.push(operation_json(&operation, &patched, launches)),
            Err(e) => error = Some(e.to_string()),
        }
    }
    json!({ "header": code.header, "operations": list, "error": error })
}

fn operation_json(
    operation: &Operation<'_>,
    patched: &BTreeMap<u32, &Relocation>,
    launches: Option<&Description>,
) -> Value {
    let offset = operation.offset as u32;
    let launch = launches.iter().flat_map(|d| &d.launches).find(|l| (l.start..l.end).contains(&offset));
    let (address, words) = match &operation.kind {
        OpKind::BlockWrite { address, payload } => {
            let words = payload.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]));
            (Some(*address), Some(words.collect::<Vec<u32>>()))
        }
        OpKind::Write { address, .. }
        | OpKind::MaskWrite { address, .. }
        | OpKind::MaskPoll { address, .. }
        | OpKind::UpdateRegister { address, .. }
        | OpKind::Patch { address, .. } => (Some(*address), None),
        _ => (None, None),
    };
    let register = address.map(Register::of);
    let descriptor = register.zip(words.as_ref()).and_then(|(register, words)| match register.meaning() {
        Meaning::BdWord { word: 0, .. } => BufferDescriptor::read(register.tile_kind(), words),
        _ => None,
    });
    let relocations: Vec<&Relocation> = of_operation(patched, operation).collect();
    json!({
        "offset": offset, "bytes": operation.bytes.len(), "operation": operation.kind,
        "text": operation.kind.to_string(), "register": register.map(|r| r.to_string()), "words": words,
        "descriptor": descriptor, "launch": launch.map(|l| &l.name), "relocations": relocations,
    })
}

fn by_offset(section: Option<&Section>) -> BTreeMap<u32, &Relocation> {
    section.iter().flat_map(|s| &s.relocations).map(|r| (r.offset, r)).collect()
}

fn of_operation<'r>(
    patched: &BTreeMap<u32, &'r Relocation>,
    operation: &Operation<'_>,
) -> impl Iterator<Item = &'r Relocation> {
    let start = operation.offset as u32;
    patched.range(start..start + operation.bytes.len() as u32).map(|(_, r)| *r)
}

fn relocation_text(relocation: &Relocation) -> String {
    match relocation.addend {
        0 => plain(&relocation.symbol),
        addend => format!("{} + {addend:#x}", plain(&relocation.symbol)),
    }
}
