//! NPU ELFs, control code, PDIs and CDOs.

mod code;

use airlink_diag::{Finding, codes};
use airlink_elf::npu::{
    CdoCommand, Description, Instance, Kernel, NpuElf, OsAbi, Register, Section, SectionKind, cdo, control_code,
    control_packets, description, is_pdi, lint, lint_stream, pdi, read_npu_elf,
};
use serde_json::{Value, json};

use super::elf::capped;
use super::{View, plain, table};

/// Bytes that are no ELF and of the NPU all the same; none if they are something else.
///
/// Sources: `CDO` with its length word (aie-rt's CDO driver), the version words of control code (aiebu's
/// `transaction.hpp`).
pub fn raw(name: &str, bytes: &[u8]) -> Option<Result<View, Finding>> {
    let has = |magic: &[u8]| bytes.starts_with(magic);
    if is_pdi(bytes) {
        Some(pdi_view(name, bytes))
    } else if has(b"\x04\0\0\0CDO\0") {
        Some(cdo_view(name, bytes))
    } else if bytes.len() >= 16 && (has(b"\0\x01\x03\x06") || has(b"\0\x01\x04\x06") || has(b"\x01\0\x04\x06")) {
        Some(Ok(stream(name, bytes)))
    } else {
        None
    }
}

/// An ELF for the NPU's loader.
pub fn elf(name: &str, bytes: &[u8]) -> Result<View, Finding> {
    let elf = read_npu_elf(bytes).map_err(|error| {
        Finding::error(codes::AL0730, format!("`{name}` is a broken NPU ELF: {error}")).remedy("build the file again")
    })?;
    let described = description(&elf).map_err(|what| {
        Finding::error(codes::AL0730, format!("`{name}` has a description of airlink's, and {what}"))
            .remedy("link it again with this version of airlink")
    })?;
    let mut text = head(name, &elf);
    if let Some(described) = &described {
        text += &described_text(described);
    }
    text += &table("sections (name, bytes, what)", &elf.sections().map(section_row).collect::<Vec<_>>());
    text += &table(
        "further sections",
        &elf.extra.iter().map(|s| vec![plain(&s.name), s.bytes.len().to_string()]).collect::<Vec<_>>(),
    );
    for section in elf.sections().filter(|s| !s.relocations.is_empty()) {
        let title = format!("relocations of {} (at, how, symbol + addend, size)", plain(&section.name));
        text += &table(&title, &capped(section.relocations.iter().map(relocation_row)));
    }
    let is_readable = elf.os_abi == OsAbi::AIE2P;
    for (kernel, instance) in elf.instances().filter(|_| is_readable) {
        for section in instance.sections.iter().filter(|s| s.kind.is_control()) {
            let launches = described.as_ref().filter(|_| section.kind == SectionKind::ControlText);
            let title = format!("{} of {}", plain(&section.name), open_text(kernel, instance));
            text += &code::listing(&title, &section.bytes, Some(section), launches);
        }
    }
    for section in elf.common.iter().filter(|s| s.kind == SectionKind::Pdi) {
        if let Ok(image) = pdi(&section.bytes) {
            text += &table(
                &format!("commands of {}", plain(&section.name)),
                &capped(image.commands.iter().map(command_row)),
            );
        }
    }
    if !is_readable {
        text += &format!("\nits control code is that of {}, which is not read here\n", elf.os_abi);
    }
    let json = elf_json(name, &elf, described.as_ref(), is_readable);
    Ok(View { text, json, findings: lint(&elf, name) })
}

fn head(name: &str, elf: &NpuElf) -> String {
    let kind = if elf.column_count.is_some() { "full ELF" } else { "partial ELF" };
    let columns = elf.column_count.map_or(String::new(), |c| format!(", {c} columns"));
    let mut text = format!("{}: NPU {kind} for {}, ABI {}{columns}\n", plain(name), elf.os_abi, elf.abi);
    let rows = elf.instances().map(|(kernel, instance)| {
        let arguments = kernel.signature.as_ref().map_or("-".to_string(), |s| s.arguments.len().to_string());
        vec![open_text(kernel, instance), format!("{arguments} arguments")]
    });
    text += &table("kernels", &rows.collect::<Vec<_>>());
    text
}

/// `main:k`, as a host program opens it.
fn open_text(kernel: &Kernel, instance: &Instance) -> String {
    match &kernel.signature {
        Some(signature) => format!("{}:{}", plain(&signature.name), plain(&instance.id)),
        None => "the one kernel".to_string(),
    }
}

fn described_text(d: &Description) -> String {
    let size = |bytes: Option<u64>| bytes.map_or("unknown size".to_string(), |b| format!("{b} bytes"));
    let arguments = d
        .arguments
        .iter()
        .map(|a| vec![a.index.to_string(), plain(&a.name), plain(&a.role), plain(&a.ty), size(a.bytes)]);
    let mut text = table("arguments", &arguments.collect::<Vec<_>>());
    let name = |index: u32| d.arguments.get(index as usize).map_or_else(|| index.to_string(), |a| plain(&a.name));
    let operand = |o: &airlink_elf::npu::DescribedOperand| match o.offset_bytes {
        0 => name(o.argument),
        offset => format!("{} + {offset}", name(o.argument)),
    };
    let launches = d.launches.iter().map(|l| {
        let operands: Vec<String> = l.arguments.iter().map(operand).collect();
        vec![plain(&l.name), format!("{:#x}..{:#x}", l.start, l.end), plain(&l.elf), operands.join(", ")]
    });
    text += &table("launches (name, control code, kernel, arguments)", &launches.collect::<Vec<_>>());
    text
}

fn section_row(section: &Section) -> Vec<String> {
    vec![plain(&section.name), section.bytes.len().to_string(), section_text(section)]
}

fn section_text(section: &Section) -> String {
    match section.kind {
        SectionKind::Pdi => match pdi(&section.bytes) {
            Ok(image) if image.is_empty() => "resets the array and does nothing more".to_string(),
            Ok(image) => format!("{} commands, `{}`", image.commands.len(), plain(&image.name)),
            Err(error) => format!("no PDI: {error}"),
        },
        SectionKind::ControlData => match control_packets(&section.bytes) {
            Ok(packets) => format!("{} control packets", packets.len()),
            Err(_) => "control packets of another form".to_string(),
        },
        _ if section.kind.is_control() => match control_code(&section.bytes) {
            Ok(code) => format!("{} operations", code.header.op_count),
            Err(error) => format!("no control code: {error}"),
        },
        _ => String::new(),
    }
}

fn relocation_row(r: &airlink_elf::npu::Relocation) -> Vec<String> {
    let symbol = format!("{} + {:#x}", plain(&r.symbol), r.addend);
    vec![format!("{:#x}", r.offset), r.scheme.name().to_string(), symbol, format!("{:#x}", r.size)]
}

fn command_row(command: &CdoCommand<'_>) -> Vec<String> {
    let register = |address: u64| match u32::try_from(address) {
        Ok(address) => Register::of(address).to_string(),
        Err(_) => format!("{address:#x}"),
    };
    vec![match command {
        CdoCommand::Write { address, value } => format!("write {} = {value:#x}", register(*address)),
        CdoCommand::MaskWrite { address, mask, value } => {
            format!("mask_write {} = {value:#x} & {mask:#x}", register(*address))
        }
        CdoCommand::MaskPoll { address, mask, value } => {
            format!("mask_poll {} & {mask:#x} = {value:#x}", register(*address))
        }
        CdoCommand::DmaWrite { address, payload } => {
            format!("block_write {}, {} words", register(*address), payload.len() / 4)
        }
        CdoCommand::Nop { pad_words } => format!("nop, {pad_words} pad words"),
        CdoCommand::End => "end".to_string(),
    }]
}

fn elf_json(name: &str, elf: &NpuElf, described: Option<&Description>, is_readable: bool) -> Value {
    let sections = |list: &[Section]| -> Vec<Value> {
        let section = |s: &Section| {
            let operations = (is_readable && s.kind.is_control()).then(|| code::json(&s.bytes, Some(s), described));
            let commands = match s.kind {
                SectionKind::Pdi => pdi(&s.bytes).ok().map(|p| json!(p.commands)),
                _ => None,
            };
            json!({
                "name": s.name, "kind": s.kind, "bytes": s.bytes.len(), "relocations": s.relocations,
                "control": operations, "commands": commands,
            })
        };
        list.iter().map(section).collect()
    };
    let kernels = elf.kernels.iter().map(|kernel| {
        let instances = kernel.instances.iter().map(|i| json!({ "id": i.id, "sections": sections(&i.sections) }));
        json!({ "signature": kernel.signature, "instances": instances.collect::<Vec<_>>() })
    });
    json!({
        "schema": 1, "kind": "npu_elf", "file": name, "family": elf.os_abi.to_string(), "abi": elf.abi.to_string(),
        "columns": elf.column_count, "description": described, "kernels": kernels.collect::<Vec<_>>(),
        "common": sections(&elf.common),
        "uid": elf.stated_uid.as_ref().map(|u| hex(u)),
    })
}

fn hex(bytes: &[u8]) -> String {
    // The older form is text already.
    match std::str::from_utf8(bytes) {
        Ok(text) if bytes.len() == 32 => plain(text),
        _ => bytes.iter().map(|b| format!("{b:02x}")).collect(),
    }
}

fn stream(name: &str, bytes: &[u8]) -> View {
    let text = code::listing(&format!("{}: control code", plain(name)), bytes, None, None);
    let json = json!({ "schema": 1, "kind": "control_code", "file": name, "control": code::json(bytes, None, None) });
    View { text: text.trim_start().to_string(), json, findings: lint_stream(bytes, name) }
}

fn pdi_view(name: &str, bytes: &[u8]) -> Result<View, Finding> {
    let image = pdi(bytes).map_err(|error| unreadable(name, "PDI", &error))?;
    let what = if image.is_empty() { ", which resets the array and does nothing more" } else { "" };
    let text = format!("{}: PDI `{}` for id code {:#x}{what}\n", plain(name), plain(&image.name), image.id_code)
        + &table("commands", &capped(image.commands.iter().map(command_row)));
    let json = json!({
        "schema": 1, "kind": "pdi", "file": name, "image": image.name, "id_code": image.id_code,
        "commands": image.commands,
    });
    Ok(View { text, json, findings: Vec::new() })
}

fn cdo_view(name: &str, bytes: &[u8]) -> Result<View, Finding> {
    let commands = cdo(bytes).map_err(|error| unreadable(name, "CDO", &error))?;
    let text = format!("{}: CDO, the content of a PDI\n", plain(name))
        + &table("commands", &capped(commands.iter().map(command_row)));
    let json = json!({ "schema": 1, "kind": "cdo", "file": name, "commands": commands });
    Ok(View { text, json, findings: Vec::new() })
}

fn unreadable(name: &str, what: &str, error: &dyn std::fmt::Display) -> Finding {
    Finding::error(codes::AL0732, format!("`{name}` is a broken {what}: {error}"))
        .remedy("compile the kernel again, or look at it with bootgen")
}
