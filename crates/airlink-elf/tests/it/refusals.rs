//! What the renamer refuses, and in which words.

use airlink_diag::codes;
use airlink_elf::{RenameError, RenameOptions, plan_rename, rename};
use object::{Endianness, SymbolScope};

use crate::made::{self, Maker, TARGETS};
use crate::tools::map;

const DEFAULT: RenameOptions = RenameOptions { references: false };

fn kernel() -> Vec<u8> {
    made::kernel(TARGETS[0].1, TARGETS[0].2)
}

fn refuse(bytes: &[u8], entries: &[(&str, &str)]) -> Vec<RenameError> {
    let names = map(entries.iter().copied());
    let errors = plan_rename(bytes, &names, DEFAULT).expect_err("this map must be refused");
    assert_eq!(rename(bytes, &names, DEFAULT).as_ref(), Err(&errors[0]), "`rename` tells the first");
    errors
}

#[test]
fn what_is_no_elf_is_named() {
    let say = |bytes: &[u8]| {
        let errors = refuse(bytes, &[]);
        assert!(matches!(errors[..], [RenameError::NotElf { .. }]), "{errors:?}");
        let finding = errors[0].finding("k.o");
        assert_eq!(finding.code, codes::AL0404);
        finding.headline.strip_prefix("`k.o` cannot be renamed: it is ").expect("what it is").to_string()
    };
    assert_eq!(say(b"!<arch>\nfoo"), "a static library (ar archive)");
    assert_eq!(say(b"!<thin>\n"), "a thin static library (ar archive)");
    assert_eq!(say(b"BC\xc0\xde1234"), "LLVM bitcode");
    assert_eq!(say(b"\xcf\xfa\xed\xfe\x07\0\0\x01"), "a Mach-O object");
    assert_eq!(say(b"\x64\x86\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), "a COFF object");
    assert_eq!(say(b"target triple = \"x86_64\"\ndefine void @f() { ret void }\n"), "LLVM IR as text");
    assert_eq!(say(b"module { func.func @f() { return } }"), "MLIR as text");
    assert_eq!(say(b""), "an empty file");
    assert_eq!(say(b"hello\n"), "a text file");
    assert_eq!(say(b"\x01\x02\xff\xfe"), "a file of no known kind");
}

/// Found by fuzzing: a header that names the symbol table as the table of section names, whose names then changed with
/// the symbols'.
#[test]
fn a_symbol_table_that_holds_section_names_is_refused() {
    for (_, architecture, endianness) in TARGETS {
        let mut bytes = made::kernel(*architecture, *endianness);
        let read = |bytes: &[u8], at: usize, size: usize| {
            let part = &bytes[at..at + size];
            let fold = |n: u64, b: &u8| n << 8 | u64::from(*b);
            if *endianness == Endianness::Little { part.iter().rev().fold(0, fold) } else { part.iter().fold(0, fold) }
        };
        let is_64 = bytes[4] == 2;
        let (headers_at, header_size, count_at, names_at) = if is_64 { (0x28, 64, 60, 62) } else { (0x20, 40, 48, 50) };
        let headers = read(&bytes, headers_at, if is_64 { 8 } else { 4 }) as usize;
        let count = read(&bytes, count_at, 2) as usize;
        let is_symtab = |i: &usize| read(&bytes, headers + i * header_size + 4, 4) == 2;
        let symtab = (0..count).find(is_symtab).expect("a symbol table") as u16;
        let index = if *endianness == Endianness::Little { symtab.to_le_bytes() } else { symtab.to_be_bytes() };
        bytes[names_at..names_at + 2].copy_from_slice(&index);
        let errors = refuse(&bytes, &[]);
        assert!(matches!(errors[..], [RenameError::Malformed { .. }]), "{errors:?}");
    }
}

#[test]
fn linked_files_are_refused() {
    for (file_type, kind) in [(2, "ET_EXEC"), (3, "ET_DYN"), (4, "ET_CORE"), (77, "unknown type")] {
        let mut bytes = kernel();
        bytes[16] = file_type;
        let errors = refuse(&bytes, &[]);
        assert!(matches!(errors[..], [RenameError::NotRelocatable { .. }]), "{errors:?}");
        assert!(errors[0].to_string().contains(kind), "{}", errors[0]);
    }
}

#[test]
fn objects_of_chess_and_of_link_time_optimisation_are_refused() {
    let with_section = |name: &str| {
        let mut maker = Maker::new(object::Architecture::I386, object::Endianness::Little);
        maker.function("mv", SymbolScope::Dynamic, false);
        let section = maker.object.add_section(Vec::new(), name.as_bytes().to_vec(), object::SectionKind::Other);
        maker.object.append_section_data(section, &[1; 12], 1);
        maker.write()
    };
    let mut chess = with_section(".eoltab");
    assert!(rename(&chess, &map([("mv", "mv_2")]), DEFAULT).is_ok(), "the section's name alone says nothing");
    chess[18..20].copy_from_slice(&264_u16.to_le_bytes());
    assert!(matches!(&refuse(&chess, &[("mv", "mv_2")])[..], [RenameError::Chess { section }] if section == ".eoltab"));
    let lto = refuse(&with_section(".gnu.lto_.symtab.1"), &[("mv", "mv_2")]);
    assert!(matches!(&lto[..], [RenameError::LinkTimeCode { .. }]), "{lto:?}");
}

#[test]
fn unknown_names_are_refused_all_at_once() {
    let errors = refuse(&kernel(), &[("dot", "dot_2"), ("mv", "mv_2"), ("memcpy", "mc"), ("MV", "x"), ("quite", "x")]);
    let told: Vec<(String, Option<String>)> = errors
        .iter()
        .map(|e| {
            let finding = e.finding("mv.o");
            assert_eq!(finding.code, codes::AL0403);
            (finding.headline, finding.remedy)
        })
        .collect();
    let line = |name: &str, remedy: &str| {
        let headline = format!("`mv.o` does not define `{name}`, so it cannot be renamed");
        (headline, Some(format!("rename what it defines: {remedy}")))
    };
    // `_Z3doti` is what a C++ compiler makes of `dot(int)`.
    let any = "`mv`, `zero`, `hook`, ...";
    assert_eq!(told, [line("dot", "`_Z3doti`"), line("memcpy", any), line("MV", "`mv`"), line("quite", any)]);
    assert!(errors[1].finding("mv.o").found.is_some_and(|f| f.contains("undefined")));
}

#[test]
fn new_names_must_be_free() {
    for (old, new) in [("mv", "zero"), ("mv", "row"), ("mv", "memcpy"), ("mv", "scratch"), ("row", "mv")] {
        let errors = refuse(&kernel(), &[(old, new)]);
        assert!(matches!(errors[..], [RenameError::NameTaken { .. }]), "{old} -> {new}: {errors:?}");
        assert_eq!(errors[0].finding("mv.o").code, codes::AL0401);
    }
    let said = |new| refuse(&kernel(), &[("mv", new)])[0].finding("mv.o").headline;
    assert_eq!(said("zero"), "`mv` cannot become `zero`: `mv.o` defines that name");
    assert_eq!(said("memcpy"), "`mv` cannot become `memcpy`: `mv.o` calls something else by that name");

    for entries in [[("mv", "x"), ("zero", "x")], [("mv", "zero"), ("zero", "zero")]] {
        let errors = refuse(&kernel(), &entries);
        assert!(matches!(errors[..], [RenameError::TwoToOne { .. }]), "{errors:?}");
        assert_eq!(errors[0].finding("mv.o").code, codes::AL0401);
    }
}

/// Thousands of symbols that all use one name of many bytes: reading each name would cost the square of the file.
#[test]
fn names_that_overlap_without_end_are_refused() {
    let mut maker = Maker::x86_64();
    for i in 0..2000 {
        maker.variable(&format!("{}{i:04}", "long".repeat(if i == 0 { 4000 } else { 1 })), SymbolScope::Dynamic);
    }
    let mut bytes = maker.write();
    let elf = goblin::elf::Elf::parse(&bytes).unwrap();
    let symtab = elf.section_headers.iter().find(|s| s.sh_type == 2).unwrap().sh_offset as usize;
    let long = elf.syms.iter().map(|s| s.st_name).find(|&at| elf.strtab.get_at(at).unwrap().len() > 16_000).unwrap();
    let count = elf.syms.len();
    for i in 1..count {
        bytes[symtab + i * 24..symtab + i * 24 + 4].copy_from_slice(&(long as u32).to_le_bytes());
    }
    let errors = refuse(&bytes, &[("mv", "x")]);
    assert!(matches!(&errors[..], [RenameError::Malformed { what }] if what.contains("overlap")), "{errors:?}");
}

#[test]
fn a_map_full_of_strangers_is_refused_name_by_name() {
    let names: Vec<String> = (0..100).map(|i| format!("stranger_{i}")).collect();
    let entries: Vec<(&str, &str)> = names.iter().map(|n| (n.as_str(), "x")).collect();
    let errors = refuse(&kernel(), &entries);
    assert_eq!(errors.len(), 100);
    assert!(errors.iter().all(|e| e.finding("mv.o").remedy.is_some()));
}

/// `_ZZ6helperiE1s` is a static local of `_Z6helperi`, which was inlined everywhere: another function that takes its
/// name would take its variable too, as soon as it is renamed again.
#[test]
fn new_names_must_not_have_static_locals() {
    let mut maker = Maker::x86_64();
    maker.function("mv", SymbolScope::Dynamic, false);
    maker.function("_ZZ6helperiE1s", SymbolScope::Dynamic, true);
    let errors = refuse(&maker.write(), &[("mv", "_Z6helperi")]);
    assert_eq!(
        errors[0].finding("mv.o").headline,
        "`mv` cannot become `_Z6helperi`: `mv.o` has a static local or guard that belongs to that name"
    );
    assert_eq!(errors.len(), 1);
}

#[test]
fn new_names_must_be_names() {
    for new in ["", "a\0b"] {
        let errors = refuse(&kernel(), &[("mv", new)]);
        assert!(matches!(errors[..], [RenameError::BadName { .. }]), "{errors:?}");
        assert!(!errors[0].finding("mv.o").headline.contains('\0'));
    }
}

#[test]
fn comdat_groups_are_renamed_whole_or_not_at_all() {
    let mut maker = Maker::x86_64();
    let first = maker.function("first", SymbolScope::Dynamic, true);
    let second = maker.function("second", SymbolScope::Dynamic, false);
    maker.group(first, &[first, second]);
    let bytes = maker.write();
    for (old, kept) in [("first", "second"), ("second", "first")] {
        let errors = refuse(&bytes, &[(old, "x")]);
        let expected =
            RenameError::SplitGroup { renamed: old.into(), signature: "first".into(), kept: vec![kept.into()] };
        assert_eq!(errors, [expected]);
        let finding = errors[0].finding("k.o");
        assert_eq!(finding.remedy, Some(format!("rename `{kept}` in the same step")));
    }
    rename(&bytes, &map([("first", "a"), ("second", "b")]), DEFAULT).unwrap();
}

#[test]
fn sections_that_merge_by_name_are_refused() {
    let mut maker = Maker::x86_64();
    maker.function_in(".gnu.linkonce.t.old", "old", SymbolScope::Dynamic, true);
    let errors = refuse(&maker.write(), &[("old", "new")]);
    assert!(matches!(errors[..], [RenameError::LinkOnce { .. }]), "{errors:?}");
}

/// Each table moved past the end of the file, or over another one: refused, never believed.
#[test]
fn damaged_tables_are_refused() {
    let bytes = kernel();
    let renames = [("mv", "mv_2")];
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let shoff = word(40);
    let section_with_bytes = || (0..).map(|i| shoff + i * 64).find(|&h| bytes[h + 4] == 1 && word(h + 32) > 0).unwrap();
    let section_of_type = |kind: u8| (0..).map(|i| shoff + i * 64).find(|&h| bytes[h + 4] == kind).unwrap();
    let (code, symtab, strtab) = (section_with_bytes(), section_of_type(2), section_of_type(3));
    let patched = |at: usize, value: u64| {
        let mut bytes = bytes.clone();
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        refuse(&bytes, &renames)
    };
    let cases = [
        ("section headers past the end", 40, bytes.len() as u64),
        ("section headers near the end of the address space", 40, u64::MAX - 63),
        ("symbols past the end", symtab + 24, bytes.len() as u64 - 8),
        ("symbols over the file's header", symtab + 24, 0),
        ("code over the symbols", code + 24, word(symtab + 24) as u64),
        ("code over the section headers", code + 24, shoff as u64),
        ("symbols over the section headers", symtab + 24, shoff as u64),
        ("more symbols than the file has bytes", symtab + 32, 24 << 40),
        ("a symbol and a half", symtab + 32, word(symtab + 32) as u64 - 12),
        ("strings past the end", strtab + 24, u64::MAX),
        ("strings cut short", strtab + 32, 3),
    ];
    for (what, at, value) in cases {
        let errors = patched(at, value);
        assert!(matches!(errors[..], [RenameError::Malformed { .. }]), "{what}: {errors:?}");
    }
    for end in 0..bytes.len() {
        refuse(&bytes[..end], &renames);
    }
}
