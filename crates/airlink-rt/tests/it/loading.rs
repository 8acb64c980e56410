//! Loading: files that must be refused before any of their code runs, and manifests.

use airlink_rt::*;
use std::path::Path;

use crate::program::{build, manifest};

fn elf_bytes(edit: impl Fn(&mut Manifest), flags: &[&str]) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let mut m = manifest();
    edit(&mut m);
    let path = build(folder.path(), m.to_json().as_bytes(), flags);
    (folder, path)
}

fn load_error(edit: impl Fn(&mut Manifest)) -> String {
    let (_folder, path) = elf_bytes(edit, &[]);
    HostElf::load(&path).unwrap_err().to_string()
}

#[test]
fn the_manifest_comes_back() {
    let (_folder, path) = elf_bytes(|_| {}, &[]);
    let read = read_manifest(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(read, manifest());
    assert_eq!(HostElf::load(&path).unwrap().manifest(), &read);
    assert_eq!(read.arg("weights").unwrap().role, Role::Static);
    // Trailing NUL bytes, as a C string or padding leaves them.
    assert_eq!(Manifest::parse(format!("{}\0\0", read.to_json()).as_bytes()).unwrap(), read);
}

#[test]
fn the_json_is_stable() {
    let json = manifest().to_json();
    let head = r#"{"schema":1,"abi":1,"target":"x86_64-linux","name":"program","cpu":"x86-64","fp":{"fma":"ieee","#;
    assert!(json.starts_with(head), "{json}");
    let arg = concat!(
        r#"{"index":1,"name":"weights","type":"memref<16xf32>","element":"f32","element_bits":32,"#,
        r#""shape":[16],"bytes":64,"role":"static","readers":[1],"writers":[]}"#
    );
    assert!(json.contains(arg), "{json}");
}

#[test]
fn other_versions_say_so_even_if_the_rest_is_unknown() {
    let parse = |text: &str| Manifest::parse(text.as_bytes()).unwrap_err();
    assert_eq!(parse(r#"{"schema":2,"abi":1,"new":[]}"#), ManifestError::Schema { found: 2, allowed: 1 });
    assert_eq!(parse(r#"{"schema":1,"abi":3}"#), ManifestError::Abi { found: 3, allowed: 1 });
    for text in ["", "{", "[]", "{}", r#"{"schema":1,"abi":1}"#, &"[".repeat(100_000)] {
        assert!(matches!(parse(text), ManifestError::Json(_)));
    }
}

#[test]
fn manifests_that_contradict_themselves_are_refused() {
    assert_eq!(
        load_error(|m| m.args[1].bytes = 60),
        "argument `weights` has 60 bytes in the manifest, its type has 64"
    );
    assert_eq!(load_error(|m| m.args[2].index = 7), "argument 2 of the manifest has index 7");
    assert_eq!(load_error(|m| m.launches[0].writes = vec![5]), "the manifest names argument 5 where there are 5");
    assert_eq!(load_error(|m| m.args[0].readers = vec![2]), "the manifest names launch 2 where there are 2");
    assert_eq!(load_error(|m| m.args[1].name = "request".into()), "the manifest names argument `request` twice");
    let huge = load_error(|m| m.args[1].shape = vec![u64::MAX; 5]);
    assert!(huge.starts_with("argument `weights` has 64 bytes"), "{huge}");
}

#[test]
fn a_cpu_level_above_this_machine_is_refused_by_feature() {
    let (_folder, path) = elf_bytes(|m| m.cpu = CpuLevel::V4, &[]);
    match (CpuLevel::V4.missing_features(), HostElf::load(&path)) {
        (missing, Ok(_)) => assert!(missing.is_empty()),
        (missing, Err(e)) => {
            assert!(!missing.is_empty());
            assert_eq!(
                e.to_string(),
                format!("the ELF needs a CPU of level x86-64-v4, this one lacks {}", missing.join(", "))
            );
        }
    }
}

#[test]
fn missing_entries_and_symbols_are_named() {
    assert_eq!(
        load_error(|m| m.launches[1].entry = "airlink_launch_9".into()),
        "the ELF has no entry `airlink_launch_9`, which its manifest names"
    );
    let nul = load_error(|m| m.entry = "airlink\0run".into());
    assert!(nul.starts_with("the ELF has no entry"), "{nul}");
    let (_folder, path) = elf_bytes(|_| {}, &["-DMISSING_SYMBOL"]);
    let error = HostElf::load(&path).unwrap_err();
    assert!(matches!(&error, LoadError::Open(text) if text.contains("kernel_that_nobody_defines")), "{error}");
}

#[test]
fn files_of_other_kinds_are_refused() {
    let (_folder, path) = elf_bytes(|_| {}, &[]);
    let good = std::fs::read(&path).unwrap();
    let patched = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        read_manifest(&bytes).unwrap_err().to_string()
    };
    // e_ident[EI_CLASS], e_machine, e_type.
    assert_eq!(patched(4, 1), "an ELF of kind a 32-bit ELF, this machine runs x86_64-linux");
    assert_eq!(patched(18, 183), "an ELF of kind machine AArch64, little endian, this machine runs x86_64-linux");
    assert_eq!(patched(18, 8), "an ELF of kind machine 8, this machine runs x86_64-linux");
    assert!(patched(16, 1).starts_with("an ELF of kind type "));
    for text in [&b""[..], b"\x7fELF", b"#!/bin/sh\n", &[0; 64]] {
        assert!(matches!(read_manifest(text), Err(LoadError::NotElf | LoadError::Damaged(_))));
    }
    assert_eq!(
        load_error(|m| m.target = "aarch64-linux".into()),
        "an ELF of kind target aarch64-linux, this machine runs x86_64-linux"
    );
}

#[test]
fn a_stripped_section_and_a_missing_file_are_told() {
    let (folder, path) = elf_bytes(|_| {}, &[]);
    let status = std::process::Command::new("objcopy")
        .args(["--remove-section", MANIFEST_SECTION])
        .arg(&path)
        .status()
        .expect("the tests need `objcopy`");
    assert!(status.success());
    assert!(matches!(HostElf::load(&path), Err(LoadError::NoManifest)));
    assert!(matches!(HostElf::load(&folder.path().join("absent.elf")), Err(LoadError::Read { .. })));
    assert!(matches!(HostElf::load(folder.path()), Err(LoadError::Read { .. })));
}

#[test]
fn truncated_and_damaged_files_never_get_as_far_as_their_code() {
    let (_folder, path) = elf_bytes(|_| {}, &[]);
    let good = std::fs::read(&path).unwrap();
    for length in (0..good.len()).step_by(97) {
        assert!(read_manifest(&good[..length]).is_err(), "{length} of {} bytes", good.len());
    }
    // Any byte of the header and of the section headers may be wrong: an error or a manifest, never a panic.
    let section_headers = u64::from_le_bytes(good[40..48].try_into().unwrap()) as usize;
    for at in (0..64).chain(section_headers..good.len()) {
        for value in [0, 0x7f, 0xff] {
            let mut bytes = good.clone();
            bytes[at] = value;
            let _ = read_manifest(&bytes);
        }
    }
}

#[test]
fn a_bare_file_name_is_a_file_and_no_library() {
    let error = HostElf::load(Path::new("libc.so.6")).unwrap_err();
    assert!(matches!(error, LoadError::Read { .. }), "{error}");
}
