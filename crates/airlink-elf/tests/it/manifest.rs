//! The manifest section, and the symbols of shared objects.

use std::process::Command;

use airlink_elf::{MANIFEST_SECTION, ManifestError, exported_symbols, manifest, undefined_symbols};
use object::SectionKind;

use crate::made::Maker;
use crate::tools::{compile, run, write};

#[test]
fn the_manifest_is_read_without_its_padding() {
    let mut maker = Maker::x86_64();
    let section = maker.object.add_section(Vec::new(), MANIFEST_SECTION.into(), SectionKind::Other);
    maker.object.append_section_data(section, b"{\"abi\": 1}\0\0\0", 8);
    assert_eq!(manifest(&maker.write()), Ok(&b"{\"abi\": 1}"[..]));
}

#[test]
fn files_without_a_manifest_are_told_apart() {
    let say = |bytes: &[u8]| {
        let error = manifest(bytes).unwrap_err();
        let finding = error.finding("x.elf");
        assert_eq!(finding.code, airlink_diag::codes::AL0710);
        assert!(finding.headline.starts_with("`x.elf` is not a host ELF of airlink: "));
        error
    };
    assert_eq!(say(&Maker::x86_64().write()), ManifestError::Missing);
    assert_eq!(say(b"!<arch>\n"), ManifestError::NotElf { kind: "a static library (ar archive)" });
    assert!(matches!(say(b"\x7fELF\x02\x01\x01"), ManifestError::Malformed { .. }));
    let mut maker = Maker::x86_64();
    let section = maker.object.add_section(Vec::new(), MANIFEST_SECTION.into(), SectionKind::Other);
    maker.object.append_section_data(section, &[0; 4], 1);
    assert_eq!(say(&maker.write()), ManifestError::Empty);
}

#[test]
fn shared_objects_tell_what_they_need_and_offer() {
    let dir = tempfile::tempdir().unwrap();
    let text = "extern int outside(int); extern int maybe(int) __attribute__((weak));
        static int hidden(int i) { return i; }
        int entry(int i) { return outside(hidden(i)) + (maybe ? maybe(i) : 0); } int table[3];";
    let Some(object) = compile(dir.path(), "k.c", text, &["-fPIC"]) else { return };
    let (input, output) = (write(dir.path(), "k.o", &object), dir.path().join("k.so"));
    run(Command::new("gcc").args(["-shared", "-nostdlib", "-o"]).arg(&output).arg(input));
    let bytes = std::fs::read(output).unwrap();
    let mut needed = undefined_symbols(&bytes).unwrap();
    needed.sort();
    assert_eq!(needed, ["maybe", "outside"]);
    let mut offered = exported_symbols(&bytes).unwrap();
    offered.sort();
    assert_eq!(offered, ["entry", "table"]);
}
