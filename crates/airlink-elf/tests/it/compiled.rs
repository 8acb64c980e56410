//! The renamer on objects that GCC made: they must still link, run, and look the same to other tools.

use std::path::Path;
use std::process::Command;

use airlink_elf::{RenameOptions, object_summary, plan_rename, rename};
use indexmap::IndexMap;

use crate::readback::{assert_renamed, relocations};
use crate::tools::{self, compile, map, run, write};

const DEFAULT: RenameOptions = RenameOptions { references: false };

/// An inline function that keeps state, a template that does, a constructor, a table, a hook and a common variable.
const KERNEL: &str = "
inline int helper(int i) { static int sum = STEP; return sum += i * STEP; }
template<class T> T twice(T x) { static T calls; calls += 1; return 2 * x + calls; }
struct Tile { int rows; Tile(int r) : rows(r * STEP) {} virtual ~Tile() {} virtual int area() { return rows * STEP; } };
int probe();
inline int guarded() { static int once = probe() * STEP; return once; }
extern \"C\" {
extern const int lut[4] = {STEP, 2 * STEP, 3, 4};
__attribute__((weak)) int hook(int i) { return i + STEP; }
static int local(int i) { return i ^ STEP; }
int mv(int i) { Tile t(i); return helper(i) + twice(i) + lut[i & 3] + hook(i) + local(i) + guarded() + t.area(); }
}
";

const MAIN: &str = "
#include <cstdio>
extern \"C\" int mv(int); extern \"C\" int mv_2(int);
int probe() { return 7; }
int main() { for (int i = 0; i < 5; ++i) std::printf(\"%d %d\\n\", mv(i), mv_2(i)); }
";

/// Each kernel alone in a program says what the two must say side by side.
#[test]
fn renamed_variants_run_side_by_side_as_they_do_alone() {
    for flags in [&["-O0"][..], &["-O2", "-fno-inline"], &["-O1", "-fno-inline", "-ffunction-sections", "-g"]] {
        let dir = tempfile::tempdir().unwrap();
        let with_step = |name: &str, step: &str| compile(dir.path(), name, KERNEL, &[flags, &[step]].concat());
        let (Some(first), Some(second)) = (with_step("k1.cc", "-DSTEP=1"), with_step("k2.cc", "-DSTEP=100")) else {
            return;
        };
        let all = suffixed(&second, "_2");
        assert!(all.contains_key("_ZZ6helperiE3sum"), "the kernel has a COMDAT variable: {all:?}");
        let renamed = rename(&second, &all, DEFAULT).unwrap();
        assert_renamed(&second, &renamed, &plan_rename(&second, &all, DEFAULT).unwrap().renames);

        let column = |text: &str, c: usize| -> Vec<String> {
            text.lines().map(|line| line.split(' ').nth(c).expect("two numbers a line").to_string()).collect()
        };
        let alone = |object: &[u8]| {
            let main = MAIN.replace("mv_2(i)", "0");
            column(&link_and_run(dir.path(), &[object], &main), 0)
        };
        let expect = [alone(&first), alone(&second)];
        assert_ne!(expect[0], expect[1]);
        let both = link_and_run(dir.path(), &[&first, &renamed], MAIN);
        assert_eq!([column(&both, 0), column(&both, 1)], expect, "{flags:?}");
    }
}

/// With only two names in the map, the static locals of the renamed function must follow it, or its copies would
/// count together.
#[test]
fn static_locals_follow_their_function() {
    let dir = tempfile::tempdir().unwrap();
    let text = "inline int helper(int i) { static int sum = STEP; return sum += i * STEP; }
        extern \"C\" int scale(int i) { return helper(i); }";
    let Some(first) = compile(dir.path(), "k1.cc", text, &["-DSTEP=1", "-O0"]) else { return };
    let Some(second) = compile(dir.path(), "k2.cc", text, &["-DSTEP=100", "-O0"]) else { return };
    let names = map([("scale", "scale_2"), ("_Z6helperi", "helper_2")]);
    let renamed = rename(&second, &names, DEFAULT).unwrap();
    let main = "#include <cstdio>\nextern \"C\" int scale(int); extern \"C\" int scale_2(int);
        int main() { scale(1); scale_2(1); std::printf(\"%d %d\", scale(1), scale_2(1)); }";
    assert_eq!(link_and_run(dir.path(), &[&first, &renamed], main), "3 300");

    let back = map([("scale_2", "scale"), ("helper_2", "_Z6helperi")]);
    assert_renamed(&second, &rename(&renamed, &back, DEFAULT).unwrap(), &map([]));
}

/// The constructors `C1` and `C2` lie in a group called `C5`. If it kept its name, a linker would drop one of the
/// groups and with it the renamed constructors.
#[test]
fn groups_of_constructors_follow_them() {
    let dir = tempfile::tempdir().unwrap();
    let text = "template<int N> struct Tile { int rows; Tile(int r) : rows(r + N + STEP) {} };
        extern \"C\" int KERN(int i) { Tile<3> t(i); return t.rows; }";
    let Some(first) = compile(dir.path(), "k1.cc", text, &["-DSTEP=10", "-DKERN=a", "-O0"]) else { return };
    let Some(second) = compile(dir.path(), "k2.cc", text, &["-DSTEP=20", "-DKERN=b", "-O0"]) else { return };
    let (c1, c2, c5) = ("_ZN4TileILi3EEC1Ei", "_ZN4TileILi3EEC2Ei", "_ZN4TileILi3EEC5Ei");
    let alone = rename(&second, &map([(c1, "x")]), DEFAULT).unwrap_err();
    assert!(alone.to_string().contains(c2), "{alone}");

    let names = map([(c1, "tile_1"), (c2, "tile_2")]);
    let plan = plan_rename(&second, &names, DEFAULT).unwrap();
    assert_eq!(plan.companions, map([(c5, format!("{c5}.tile_1").as_str())]));
    let renamed = rename(&second, &names, DEFAULT).unwrap();
    let main = "#include <cstdio>\nextern \"C\" int a(int); extern \"C\" int b(int);
        int main() { std::printf(\"%d %d\", a(0), b(0)); }";
    assert_eq!(link_and_run(dir.path(), &[&first, &renamed], main), "13 23");
    assert_eq!(link_and_run(dir.path(), &[&first, &second], main), "13 13", "without the rename they do merge");

    let back = map([("tile_1", c1), ("tile_2", c2)]);
    assert_renamed(&second, &rename(&renamed, &back, DEFAULT).unwrap(), &map([]));
}

/// readelf's view of everything but the names that changed.
#[test]
fn readelf_sees_the_same_object_but_for_the_names() {
    if !tools::have("readelf") {
        return;
    }
    for flags in [&["-O0", "-g"][..], &["-O0", "-m32"], &["-O2", "-ffunction-sections"]] {
        let dir = tempfile::tempdir().unwrap();
        let Some(before) = compile(dir.path(), "k.cc", KERNEL, &[flags, &["-DSTEP=1"]].concat()) else { continue };
        // The new names are as long as the old ones, so that readelf's columns stay.
        let names: IndexMap<String, String> =
            suffixed(&before, "").into_keys().map(|n| (n.clone(), swapped(&n))).collect();
        let plan = plan_rename(&before, &names, DEFAULT).unwrap();
        let after = rename(&before, &names, DEFAULT).unwrap();
        assert_renamed(&before, &after, &plan.renames);
        let read = |name: &str, bytes: &[u8]| -> Vec<String> {
            let path = write(dir.path(), name, bytes);
            let text = run(Command::new("readelf")
                .args(["-W", "-h", "-S", "-s", "-r", "-g", "--string-dump=.comment"])
                .arg(path));
            text.lines().map(str::to_string).collect()
        };
        let (was, is) = (read("before.o", &before), read("after.o", &after));
        assert_eq!(was.len(), is.len());
        let untouched =
            |line: &str| !line.contains(".strtab") && !plan.renames.keys().any(|n| line.contains(n.as_str()));
        let mut same = 0;
        for (was, is) in was.iter().zip(&is).filter(|(w, _)| untouched(w)) {
            assert_eq!(was, is);
            same += 1;
        }
        assert!(same > 50 && was != is, "{same} lines compared");
    }
}

#[test]
fn objects_of_32_bits_run_renamed() {
    let dir = tempfile::tempdir().unwrap();
    let text = "int table[2] = {5, 6}; int mv(int i) { return table[i & 1]; }";
    let Some(object) = compile(dir.path(), "k.c", text, &["-m32", "-fno-pic"]) else { return };
    let renamed = rename(&object, &map([("mv", "mv_k8192"), ("table", "table_k8192")]), DEFAULT).unwrap();
    assert_eq!(object_summary(&renamed).unwrap().class_bits, 32);
    let call = relocations(&renamed);
    assert!(call.iter().any(|r| r.contains(" table_k8192 ")), "{call:?}");
    // Without 32-bit libraries nothing runs, but a partial link resolves names all the same.
    let main = "extern int mv_k8192(int); extern int table_k8192[]; int f() { return mv_k8192(table_k8192[0]); }";
    let Some(main) = compile(dir.path(), "f.c", main, &["-m32", "-fno-pic"]) else { return };
    let (a, b, out) = (write(dir.path(), "a.o", &renamed), write(dir.path(), "b.o", &main), dir.path().join("out.o"));
    if !tools::have("ld") {
        return;
    }
    run(Command::new("ld").args(["-m", "elf_i386", "-r", "-o"]).arg(&out).args([a, b]));
    let linked = object_summary(&std::fs::read(out).unwrap()).unwrap();
    assert!(linked.undefined().all(|s| s.name == "_GLOBAL_OFFSET_TABLE_"), "{:?}", linked.symbols);
}

/// Every symbol that the object defines for others, with a suffix: what `stitch` does to a variant.
fn suffixed(object: &[u8], suffix: &str) -> IndexMap<String, String> {
    let summary = object_summary(object).unwrap();
    summary.defined().map(|s| (s.name.clone(), format!("{}{suffix}", s.name))).collect()
}

/// Another name of the same length.
fn swapped(name: &str) -> String {
    format!("Q{}", &name[..name.len() - 1])
}

fn link_and_run(dir: &Path, objects: &[&[u8]], main: &str) -> String {
    let main = compile(dir, "main.cc", main, &[]).expect("the same compiler made the kernels");
    let exe = dir.join("exe");
    let mut link = Command::new("g++");
    link.arg(write(dir, "m.o", &main)).arg("-o").arg(&exe);
    for (i, object) in objects.iter().enumerate() {
        link.arg(write(dir, &format!("in{i}.o"), object));
    }
    run(&mut link);
    run(&mut Command::new(exe))
}
