//! The renamer on objects that LLVM made, beside `llvm-objcopy --redefine-syms`.

use std::path::Path;
use std::process::Command;

use airlink_elf::{RenameOptions, object_summary, plan_rename, rename};
use indexmap::IndexMap;

use crate::readback::{assert_renamed, names, relocations, sections, strtab, symbols};
use crate::tools::{self, compile, map, run, write};

const BIN: &str = "/usr/lib/llvm-22/bin";
const DEFAULT: RenameOptions = RenameOptions { references: false };

/// What clang makes of a kernel with inline functions: COMDAT groups, `.llvm_addrsig`, one table for all strings.
const KERNEL: &str = r#"
$_Z6helperi = comdat any
$_ZZ6helperiE1s = comdat any
$_ZN1SC5Ei = comdat any
@_ZZ6helperiE1s = linkonce_odr global i32 3, comdat, align 4
@lut = constant [4 x i32] [i32 1, i32 2, i32 3, i32 4]
@text = weak global i32 0
@seven = common global i32 0
declare i32 @memcmp(ptr, ptr, i64)
define linkonce_odr i32 @_Z6helperi(i32 %i) comdat {
  %s = load i32, ptr @_ZZ6helperiE1s
  %r = add i32 %s, %i
  store i32 %r, ptr @_ZZ6helperiE1s
  ret i32 %r
}
define weak_odr void @_ZN1SC2Ei(ptr %this, i32 %i) comdat($_ZN1SC5Ei) {
  store i32 %i, ptr %this
  ret void
}
@_ZN1SC1Ei = weak_odr unnamed_addr alias void (ptr, i32), ptr @_ZN1SC2Ei
define internal i32 @row(i32 %i) {
  %r = call i32 @_Z6helperi(i32 %i)
  ret i32 %r
}
define i32 @kern(i32 %i, ptr %p) {
  %r = call i32 @row(i32 %i)
  call void @_ZN1SC1Ei(ptr %p, i32 %r)
  %c = call i32 @memcmp(ptr %p, ptr @lut, i64 16)
  ret i32 %c
}
define i32 @my_kern(i32 %i) {
  %v = load i32, ptr @text
  ret i32 %v
}
"#;

const TRIPLES: &[&str] =
    &["x86_64-linux-gnu", "i386-linux-gnu", "aarch64-linux-gnu", "powerpc64-linux-gnu", "mips-linux-gnu"];

fn llc(dir: &Path, triple: &str) -> Option<Vec<u8>> {
    let llc = format!("{BIN}/llc");
    if !tools::have(&llc) {
        return None;
    }
    let (input, output) = (write(dir, "k.ll", KERNEL.as_bytes()), dir.join("k.o"));
    let made = Command::new(&llc)
        .args(["-filetype=obj", "-function-sections", "-data-sections", "-addrsig", "-relocation-model=pic"])
        .arg(format!("-mtriple={triple}"))
        .arg(input)
        .arg("-o")
        .arg(&output)
        .output()
        .unwrap();
    if !made.status.success() {
        println!("skipped: llc for {triple}: {}", String::from_utf8_lossy(&made.stderr));
        return None;
    }
    Some(std::fs::read(output).unwrap())
}

fn objcopy(dir: &Path, object: &[u8], names: &IndexMap<String, String>) -> Option<Vec<u8>> {
    if !tools::have(tools::OBJCOPY) {
        return None;
    }
    let list: String = names.iter().map(|(old, new)| format!("{old} {new}\n")).collect();
    let (list, input, output) = (write(dir, "map", list.as_bytes()), write(dir, "in.o", object), dir.join("out.o"));
    run(Command::new(tools::OBJCOPY).arg(format!("--redefine-syms={}", list.display())).args([&input, &output]));
    Some(std::fs::read(output).unwrap())
}

#[test]
fn strings_shared_by_sections_and_symbols_stay_right() {
    let dir = tempfile::tempdir().unwrap();
    for triple in TRIPLES {
        let Some(before) = llc(dir.path(), triple) else { continue };
        let elf = goblin::elf::Elf::parse(&before).unwrap();
        assert_eq!(strtab(&elf), elf.header.e_shstrndx as usize, "{triple}: one table for sections and symbols");
        // `kern` may lie inside `.text.kern` or `.text.my_kern`; `text` inside `.text`-like names.
        let there = map([("kern", "kern_2"), ("text", "t"), ("_Z6helperi", "h"), ("lut", "kern")]);
        let plan = plan_rename(&before, &there, DEFAULT).unwrap();
        assert_eq!(plan.companions, map([("_ZZ6helperiE1s", "_ZZ6helperiE1s.h")]));
        let away = rename(&before, &there, DEFAULT).unwrap();
        assert_renamed(&before, &away, &plan.renames);
        assert_eq!(relocations(&before).len(), relocations(&away).len());
        let back = map([("kern_2", "kern"), ("t", "text"), ("h", "_Z6helperi"), ("kern", "lut")]);
        assert_renamed(&before, &rename(&away, &back, DEFAULT).unwrap(), &map([]));
    }
}

/// The same symbols, sections and relocations as `llvm-objcopy` leaves, for maps in which nothing has to follow.
#[test]
fn llvm_objcopy_renames_alike() {
    let dir = tempfile::tempdir().unwrap();
    let mut objects: Vec<Vec<u8>> = TRIPLES.iter().filter_map(|t| llc(dir.path(), t)).collect();
    let text = "struct A { A(); virtual int f() { static int n; return ++n; } }; A::A() {}
        extern \"C\" int kern(A *a) { return a->f(); } static int quiet(int i) { return i; } int (*p)(int) = quiet;";
    objects.extend(compile(dir.path(), "k.cc", text, &["-g", "-O0"]));
    for before in objects {
        let summary = object_summary(&before).unwrap();
        // A blank ends a name in objcopy's list; MIPS has labels that end with one.
        let all = summary.defined().chain(summary.locals()).map(|s| s.name.clone()).filter(|n| !n.contains(' '));
        let all: IndexMap<String, String> = all.map(|n| (n.clone(), format!("{n}_k8192"))).collect();
        let Some(theirs) = objcopy(dir.path(), &before, &all) else { return };
        let ours = rename(&before, &all, DEFAULT).unwrap();
        assert_eq!(names(&ours), names(&theirs));
        let is_null = |s: &&(String, String)| !s.0.is_empty();
        let rest = |bytes: &[u8]| -> Vec<_> {
            // Section indices may move when objcopy writes the file anew; symbols keep their order.
            symbols(bytes).iter().filter(is_null).map(|(n, r)| (n.clone(), without_index(r))).collect()
        };
        assert_eq!(rest(&ours), rest(&theirs));
        assert_eq!(relocations(&ours), relocations(&theirs));
        let content = |bytes: &[u8]| -> Vec<_> {
            let groups_and_tables = |n: &str| n == ".group" || n.contains("strtab");
            let mut list = sections(bytes);
            list.retain(|(n, _)| !groups_and_tables(n) && !n.starts_with(".rel"));
            list.sort();
            list
        };
        assert_eq!(content(&ours), content(&theirs));
    }
}

fn without_index(rest: &str) -> String {
    let parts: Vec<&str> = rest.split(' ').collect();
    let place = if parts[2] == "0" { "undefined" } else { "defined" };
    [parts[0], parts[1], place, parts[3], parts[4]].join(" ")
}

/// LLVM's own readers take the result: `.llvm_addrsig` and groups speak of the same symbols under their new names.
#[test]
fn address_significance_and_groups_follow() {
    let dir = tempfile::tempdir().unwrap();
    let readobj = format!("{BIN}/llvm-readobj");
    let Some(before) = llc(dir.path(), TRIPLES[0]).filter(|_| tools::have(&readobj)) else { return };
    let names = map([("kern", "kern_2"), ("_Z6helperi", "h"), ("_ZN1SC1Ei", "c1"), ("_ZN1SC2Ei", "c2"), ("lut", "l")]);
    let renames = plan_rename(&before, &names, DEFAULT).unwrap().renames;
    let after = rename(&before, &names, DEFAULT).unwrap();
    let read = |bytes: &[u8]| {
        let path = write(dir.path(), "x.o", bytes);
        run(Command::new(&readobj).args(["--addrsig", "--section-groups"]).arg(path))
    };
    let expected: Vec<String> = read(&before)
        .lines()
        .map(|line| {
            let is_name = line.contains("Signature:") || line.contains("Sym:");
            let words: Vec<&str> = line.split(' ').collect();
            let renamed: Vec<&str> = words.iter().map(|w| renames.get(*w).map_or(*w, String::as_str)).collect();
            if is_name { renamed.join(" ") } else { line.to_string() }
        })
        .collect();
    assert!(expected.iter().any(|l| l.contains("Signature: h")), "{expected:?}");
    assert_eq!(read(&after).lines().collect::<Vec<_>>(), expected);
}
