//! NPU ELFs, control code and configurations from any bytes.

use airlink_elf::npu::{
    CONTROL_HEADER_BYTES, NpuElf, OsAbi, Part, SectionKind, cdo, control_code, control_packets, derive, diff, lint,
    lint_stream, pdi, read_npu_elf, uid, write_npu_elf,
};

use crate::Outcome;

/// Reads an NPU ELF: refused, or what is read is judged, written and read again as the same, and its parts hold no more
/// than the file.
pub fn npu_elf(bytes: &[u8]) -> Outcome {
    let Ok(elf) = read_npu_elf(bytes) else { return Outcome::Refused };
    let held: usize = elf.sections().map(|s| s.bytes.len()).chain(elf.extra.iter().map(|s| s.bytes.len())).sum();
    assert!(held <= bytes.len(), "{held} bytes of contents in a file of {}", bytes.len());
    let findings = lint(&elf, "x.elf");
    assert!(findings.iter().all(|f| !f.headline.is_empty() && !f.headline.contains('\n') || !is_plain(&elf)));
    for section in elf.sections() {
        check_section(section.kind, &section.bytes);
    }
    // Neither may panic, whatever is in it.
    let (_, same) = (Part::of_elf(&elf).is_ok(), diff(&elf, &elf));
    assert!(same.iter().all(|d| !d.is_abi), "a file differs from itself: {same:?}");
    let Ok(written) = write_npu_elf(&elf) else {
        assert!(elf.os_abi != OsAbi::AIE2P || !elf.abi.is_grouped() || written_is_large(&elf), "it cannot be written");
        return Outcome::Refused;
    };
    let again = read_npu_elf(&written).unwrap_or_else(|e| panic!("what was written cannot be read: {e}"));
    assert_eq!(again.stated_uid, Some(uid(&elf)), "the identity that was written is not that of the contents");
    assert_eq!(write_npu_elf(&again).as_ref(), Ok(&written), "two writings differ");
    Outcome::Accepted
}

/// Whether names are such that a headline has no line breaks.
fn is_plain(elf: &NpuElf) -> bool {
    let symbols = elf.sections().flat_map(|s| s.relocations.iter().map(|r| r.symbol.to_string()));
    let names = elf.sections().map(|s| s.name.clone()).chain(elf.instances().map(|(_, i)| i.id.clone()));
    let kernels = elf.kernels.iter().filter_map(|k| k.signature.as_ref()).map(|s| s.name.clone());
    !symbols.chain(names).chain(kernels).any(|n| n.contains('\n'))
}

fn written_is_large(elf: &NpuElf) -> bool {
    elf.sections().map(|s| s.bytes.len()).sum::<usize>() > u32::MAX as usize / 2
}

fn check_section(kind: SectionKind, bytes: &[u8]) {
    match kind {
        SectionKind::Pdi => drop(pdi(bytes)),
        SectionKind::ControlData | SectionKind::PmPackets => drop(control_packets(bytes)),
        _ => drop(control_code(bytes)),
    }
}

/// Walks control code: operations lie one behind the other and end where the stream ends, or an error says where not;
/// relocations that are derived lie in the stream.
pub fn control(bytes: &[u8]) -> Outcome {
    assert!(!(lint_stream(bytes, "x.bin").is_empty() && control_code(bytes).is_err()), "refused without a word");
    let Ok(code) = control_code(bytes) else { return Outcome::Refused };
    let (mut at, mut failed) = (CONTROL_HEADER_BYTES, false);
    for operation in code.operations() {
        assert!(!failed, "an operation behind an error");
        match operation {
            Ok(operation) => {
                assert_eq!(operation.offset, at);
                assert!(!operation.bytes.is_empty() && !operation.kind.to_string().contains('\n'));
                at += operation.bytes.len();
            }
            Err(_) => failed = true,
        }
    }
    if failed {
        return Outcome::Refused;
    }
    assert_eq!(at, bytes.len(), "the walk does not end where the stream ends");
    let mut cleared = bytes.to_vec();
    if let Ok(relocations) = derive(&mut cleared, &Default::default()) {
        assert_eq!(cleared.len(), bytes.len());
        assert!(relocations.iter().all(|r| (r.offset as usize) < bytes.len()));
        let again = derive(&mut cleared, &Default::default());
        assert_eq!(again.map(|r| r.len()), Ok(relocations.len()), "deriving twice gives another number of relocations");
    }
    Outcome::Accepted
}

/// Reads a PDI or a CDO.
pub fn configuration(bytes: &[u8]) -> Outcome {
    let (image, commands) = (pdi(bytes), cdo(bytes));
    assert!(image.is_err() || commands.is_err(), "both a PDI and a CDO");
    let list = match (image, commands) {
        (Ok(image), _) => image.commands,
        (_, Ok(commands)) => commands,
        (Err(a), Err(b)) => {
            assert!(!a.to_string().is_empty() && !b.to_string().is_empty());
            return Outcome::Refused;
        }
    };
    assert!(list.len() * 4 <= bytes.len(), "{} commands in {} bytes", list.len(), bytes.len());
    Outcome::Accepted
}
