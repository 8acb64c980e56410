//! The renamer on objects that compilers made.

use airlink_elf::{RenameOptions, rename};
use std::process::Command;

use crate::tools::{compile, map, run, write};

const COUNTER: &str = "
inline int helper(int i) { static int sum = STEP; return sum += i * STEP; }
extern \"C\" int scale(int i) { return helper(i); }
";

/// Two variants of one kernel whose inline function keeps state: linked together, each keeps its own.
#[test]
fn renamed_variants_link_and_run_side_by_side() {
    let dir = tempfile::tempdir().unwrap();
    let Some(first) = compile(dir.path(), "k1.cc", COUNTER, &["-DSTEP=1", "-O0"]) else { return };
    let Some(second) = compile(dir.path(), "k2.cc", COUNTER, &["-DSTEP=100", "-O0"]) else { return };
    let names = map([("scale", "scale_2"), ("_Z6helperi", "_Z6helperi_2")]);
    let second = rename(&second, &names, RenameOptions::default()).unwrap();
    let main = "#include <cstdio>\nextern \"C\" int scale(int); extern \"C\" int scale_2(int);
        int main() { scale(1); scale_2(1); std::printf(\"%d %d\", scale(1), scale_2(1)); }";
    let Some(main) = compile(dir.path(), "main.cc", main, &[]) else { return };
    let exe = dir.path().join("exe");
    run(Command::new("g++")
        .args([write(dir.path(), "1.o", &first), write(dir.path(), "2.o", &second), write(dir.path(), "m.o", &main)])
        .arg("-o")
        .arg(&exe));
    assert_eq!(run(&mut Command::new(exe)), "3 300");
}
