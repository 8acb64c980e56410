//! Summaries of objects against what goblin and the makers of the objects know.

use airlink_elf::{AieGeneration, Binding, Definition, FileType, Machine, ObjectError, object_summary};
use goblin::elf::sym;

use crate::made::{self, TARGETS};
use crate::tools::compile;

#[test]
fn header_symbols_and_sizes_of_every_class() {
    for &(target, architecture, endianness) in TARGETS {
        let bytes = made::kernel(architecture, endianness);
        let summary = object_summary(&bytes).unwrap();
        let elf = goblin::elf::Elf::parse(&bytes).unwrap();
        assert_eq!(summary.class_bits, if elf.is_64 { 64 } else { 32 }, "{target}");
        assert_eq!(summary.is_big_endian, !elf.little_endian, "{target}");
        assert_eq!(summary.machine, Machine::from_elf(elf.header.e_machine), "{target}");
        assert_eq!(summary.file_type, FileType::Relocatable);

        let by_goblin = |keep: fn(&sym::Sym) -> bool| -> Vec<&str> {
            elf.syms
                .iter()
                .filter(keep)
                .map(|s| elf.strtab.get_at(s.st_name).unwrap())
                .filter(|n| !n.is_empty())
                .collect()
        };
        let named =
            |list: Vec<&airlink_elf::ObjectSymbol>| -> Vec<String> { list.iter().map(|s| s.name.clone()).collect() };
        let is_code = |s: &sym::Sym| !matches!(s.st_type(), sym::STT_SECTION | sym::STT_FILE);
        assert!(is_code(&elf.syms.iter().last().unwrap()));
        assert_eq!(named(summary.defined().collect()), by_goblin(|s| s.st_bind() != sym::STB_LOCAL && s.st_shndx != 0));
        assert_eq!(named(summary.undefined().collect()), ["memcpy"]);
        assert_eq!(named(summary.locals().collect()), ["row"]);
        let weak: Vec<&str> =
            summary.symbols.iter().filter(|s| s.binding == Binding::Weak).map(|s| s.name.as_str()).collect();
        assert_eq!(weak, by_goblin(|s| s.st_bind() == sym::STB_WEAK));
        let common = summary.symbols.iter().find(|s| s.name == "scratch").unwrap();
        assert_eq!((common.definition, common.size_bytes), (Definition::Common, 64), "{target}");
        assert!(summary.defines("mv") && !summary.defines("row") && !summary.defines("memcpy"));
        // Five functions of 16 bytes, one table of 8.
        assert_eq!((summary.text_bytes, summary.data_bytes), (80, 8), "{target}");
    }
}

#[test]
fn sizes_of_a_compiled_object() {
    let dir = tempfile::tempdir().unwrap();
    let text = "const int table[4] = {1, 2, 3, 4}; int state = 5; int zeroed[100]; int f(void) { return state; }";
    let Some(bytes) = compile(dir.path(), "k.c", text, &["-O2", "-fno-asynchronous-unwind-tables"]) else { return };
    let summary = object_summary(&bytes).unwrap();
    assert_eq!((summary.data_bytes, summary.bss_bytes), (4, 400));
    assert!((16..64).contains(&summary.rodata_bytes), "{}", summary.rodata_bytes);
    assert!((1..64).contains(&summary.text_bytes), "{}", summary.text_bytes);
    assert_eq!(summary.machine, Machine::host());
    let json = serde_json::to_value(&summary).unwrap();
    assert_eq!(json["machine"], summary.machine.to_string());
    assert_eq!(json["file_type"], "relocatable");
}

#[test]
fn ai_engines_are_told_apart() {
    for (flags, name) in [(1_u32, "AIE1"), (2, "AIE2"), (3, "AIE2P"), (9, "AIE")] {
        let mut bytes = made::kernel(object::Architecture::I386, object::Endianness::Little);
        bytes[18..20].copy_from_slice(&264_u16.to_le_bytes());
        bytes[36..40].copy_from_slice(&flags.to_le_bytes());
        let summary = object_summary(&bytes).unwrap();
        assert_eq!((summary.machine, summary.machine_name().as_str()), (Machine::Aie, name));
        assert_eq!(summary.aie, AieGeneration::from_flags(flags));
        assert_eq!(summary.e_flags, flags);
    }
    assert_eq!(Machine::from_elf(4711).to_string(), "ELF machine 4711");
}

#[test]
fn what_is_no_elf_says_what_it_is() {
    assert_eq!(object_summary(b"!<arch>\n"), Err(ObjectError::NotElf { kind: "a static library (ar archive)" }));
    assert!(matches!(object_summary(b"\x7fELF\x02\x01"), Err(ObjectError::Malformed { .. })));
    assert!(
        matches!(object_summary(b"\x7fELF\x07\x01\x01"), Err(ObjectError::Malformed { what }) if what.contains('7'))
    );
}
