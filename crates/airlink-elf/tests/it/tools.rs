//! Compilers and readers that tests compare with, and what to do where one is missing.

use std::path::{Path, PathBuf};
use std::process::Command;

use indexmap::IndexMap;

pub const OBJCOPY: &str = "/usr/lib/llvm-22/bin/llvm-objcopy";

/// Whether the tool is there; says so where not.
pub fn have(tool: &str) -> bool {
    let there = tool.contains('/') && Path::new(tool).exists() || Command::new(tool).arg("--version").output().is_ok();
    if !there {
        println!("skipped: {tool} is not installed");
    }
    there
}

pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}\n{out}{err}");
    out.into_owned()
}

/// Compiles C (`cc`) or C++ (`c++`) text to an object; none where the compiler or the mode is missing.
pub fn compile(dir: &Path, name: &str, text: &str, flags: &[&str]) -> Option<Vec<u8>> {
    let compiler = if name.ends_with(".c") { "gcc" } else { "g++" };
    if !have(compiler) {
        return None;
    }
    let (source, object) = (dir.join(name), dir.join(format!("{name}.o")));
    std::fs::write(&source, text).unwrap();
    let output = Command::new(compiler).args(flags).arg("-c").arg(&source).arg("-o").arg(&object).output().unwrap();
    if !output.status.success() {
        println!("skipped: {compiler} {flags:?}: {}", String::from_utf8_lossy(&output.stderr));
        return None;
    }
    Some(std::fs::read(&object).unwrap())
}

pub fn write(dir: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

pub fn map<'a>(entries: impl IntoIterator<Item = (&'a str, &'a str)>) -> IndexMap<String, String> {
    entries.into_iter().map(|(a, b)| (a.to_string(), b.to_string())).collect()
}

/// The test inputs outside the work tree; none where they are absent, unless they must be there.
pub fn shared(folder: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(folder);
    if path.is_dir() {
        return Some(path);
    }
    assert!(std::env::var_os("AIRLINK_REQUIRE_SHARED").is_none(), "{} is missing", path.display());
    println!("skipped: {} is absent", path.display());
    None
}
