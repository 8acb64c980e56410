//! Relocations: whether the loader takes them, and whether the control code says the same.

use std::collections::BTreeSet;

use airlink_diag::{Finding, codes};

use super::Place;
use crate::npu::derive::{Naming, derive};
use crate::npu::image::{NpuElf, Relocation, SectionKind, SymbolUse};
use crate::npu::patch::check_extent;

/// Reports what the loader refuses, the first of each kind; whether there is none.
pub(super) fn placed(elf: &NpuElf, place: Place<'_>, names: &Names<'_>, findings: &mut Vec<Finding>) -> bool {
    let relocations = &place.section.relocations;
    let refused = relocations.iter().filter_map(|r| {
        let error = check_extent(r, place.section.bytes.len()).err()?;
        Some(format!("the relocation at {:#x} in {} cannot be applied: {error}", r.offset, place.text()))
    });
    let unknown = relocations.iter().filter_map(|r| {
        let what = missing(elf, place, names, r)?;
        Some(format!("the relocation at {:#x} in {} is against {what}", r.offset, place.text()))
    });
    let before = findings.len();
    let lists: [(_, Vec<String>); 2] = [(codes::AL0643, refused.collect()), (codes::AL0649, unknown.collect())];
    for (code, list) in lists {
        let Some(first) = list.first() else { continue };
        let finding = Finding::error(code, first.clone())
            .source("`xrt_elf.cpp` of github.com/Xilinx/XRT, which throws at such a file")
            .remedy("compile the kernel again, or link it again from its parts");
        findings.push(match list.len() - 1 {
            0 => finding,
            more => finding.found(format!("{more} more relocations like it")),
        });
    }
    findings.len() == before
}

/// Names of all sections of an ELF that relocations may be against.
pub(super) type Names<'e> = BTreeSet<&'e str>;

pub(super) fn names(elf: &NpuElf) -> Names<'_> {
    elf.sections().map(|s| s.name.as_str()).collect()
}

/// What a relocation refers to that is not there.
fn missing(elf: &NpuElf, place: Place<'_>, names: &Names<'_>, relocation: &Relocation) -> Option<String> {
    let symbol = &*relocation.symbol;
    let has = |kind: SectionKind| place.instance.section(kind).is_some();
    match SymbolUse::of(symbol, elf.argument_base()) {
        SymbolUse::Argument(number) => {
            let taken = place.kernel.signature.as_ref()?.arguments.len();
            (number as usize >= taken).then(|| format!("argument {number}, and `{}` takes {taken}", kernel_name(place)))
        }
        SymbolUse::Pdi => (!names.contains(symbol)).then(|| format!("`{symbol}`, which is not there")),
        SymbolUse::PmPackets => {
            let section = format!(".{}", symbol.replace('-', "."));
            (!names.contains(section.as_str())).then(|| format!("`{symbol}`, and `{section}` is not there"))
        }
        SymbolUse::ControlData => {
            (!has(SectionKind::ControlData)).then(|| "the control packets, and there are none".to_string())
        }
        SymbolUse::ScratchMemory | SymbolUse::ScratchControl => None,
        SymbolUse::Unknown => Some(format!("`{symbol}`, which no loader knows")),
    }
}

fn kernel_name<'p>(place: Place<'p>) -> &'p str {
    place.kernel.signature.as_ref().map_or("", |s| &s.name)
}

/// Compares the relocations with what the code's own patch operations say.
pub(super) fn follow_from_code(elf: &NpuElf, place: Place<'_>, findings: &mut Vec<Finding>) {
    let section = place.section;
    let is_preemption = section.kind != SectionKind::ControlText;
    let pm_id = |s: &crate::npu::image::Section| s.name.rsplit('.').next()?.parse().ok();
    let naming = Naming {
        argument_base: elf.argument_base(),
        scratch: is_preemption.then(|| "scratch-pad-mem".into()),
        pm_ids: elf.sections().filter(|s| s.kind == SectionKind::PmPackets).filter_map(pm_id).collect(),
        ..Naming::default()
    };
    let mut code = section.bytes.clone();
    let derived = match derive(&mut code, &naming) {
        Ok(derived) => derived,
        Err(error) => {
            findings.push(contradiction(place, format!("{error}"), "no relocation can be derived for it".to_string()));
            return;
        }
    };
    let key = |r: &Relocation| (r.offset, r.scheme.0);
    let (mut expected, mut found): (Vec<_>, Vec<_>) = (derived.iter().collect(), section.relocations.iter().collect());
    expected.sort_by_key(|r| key(r));
    found.sort_by_key(|r| key(r));
    let same = expected.iter().zip(&found).take_while(|(e, f)| agree(e, f, is_preemption)).count();
    if same < expected.len() || same < found.len() {
        let text = |r: Option<&&Relocation>| r.map_or("none".to_string(), |r| relocation_text(r));
        findings.push(contradiction(place, text(found.get(same)), text(expected.get(same))));
    } else if code != section.bytes {
        let at = code.iter().zip(&section.bytes).position(|(a, b)| a != b).unwrap_or_default();
        findings.push(contradiction(
            place,
            format!("an address in the descriptor at {:#x}, to which the loader adds another", at & !3),
            "none".to_string(),
        ));
    }
}

fn agree(expected: &Relocation, found: &Relocation, is_preemption: bool) -> bool {
    let place = |r: &Relocation| (r.offset, r.scheme, r.addend);
    // Arguments that stand for control packets have a number in the code; their bytes the assembler makes one of all.
    let is_packets = SymbolUse::of(&found.symbol, 0) == SymbolUse::ControlData;
    place(expected) == place(found)
        && (is_packets || expected.symbol == found.symbol)
        && (is_preemption || expected.size == found.size)
}

fn relocation_text(r: &Relocation) -> String {
    format!("{} at {:#x} of `{}` + {:#x}, size {:#x}", r.scheme.name(), r.offset, r.symbol, r.addend, r.size)
}

fn contradiction(place: Place<'_>, found: String, allowed: String) -> Finding {
    Finding::warning(codes::AL0647, format!("relocations of {} are not those that its code asks for", place.text()))
        .found(found)
        .allowed(allowed)
        .source("`aie2_blob_preprocessor_input.cpp` of github.com/Xilinx/aiebu, which derives them from the code")
        .remedy("assemble the control code again, or link again from the parts")
}

/// Configurations that no control code loads.
pub(super) fn dead_configurations(elf: &NpuElf, file: &str, findings: &mut Vec<Finding>) {
    let used: BTreeSet<&str> = elf.sections().flat_map(|s| &s.relocations).map(|r| &*r.symbol).collect();
    let is_dead = |s: &&crate::npu::image::Section| s.kind == SectionKind::Pdi && !used.contains(s.name.as_str());
    let dead: Vec<_> = elf.common.iter().filter(is_dead).collect();
    if dead.is_empty() {
        return;
    }
    let bytes: usize = dead.iter().map(|s| s.bytes.len()).sum();
    let names: Vec<String> = dead.iter().map(|s| format!("`{}`", s.name)).collect();
    let what = if dead.len() == 1 { "a configuration" } else { "configurations" };
    findings.push(
        Finding::note(codes::AL0645, format!("`{file}` holds {what} that no control code loads: {}", names.join(", ")))
            .found(format!("{bytes} bytes"))
            .remedy("link it with `airlink link`, which leaves them out"),
    );
}
