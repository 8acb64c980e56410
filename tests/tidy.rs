//! The rules of the house that a search can enforce.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::project::root;

/// Lines in a file and in a function.
const FILE_LINES_MAX: usize = 700;
const FUNCTION_LINES_MAX: usize = 70;

/// Layer of each crate: a crate depends on lower layers only.
const LAYERS: &[(&str, u8)] = &[
    ("airlink-diag", 0),
    ("airlink-kernel", 1),
    ("airlink-mlir-sys", 1),
    ("airlink-rt", 1),
    ("airlink-ir", 2),
    ("airlink-device", 2),
    ("airlink-elf", 2),
    ("airlink-limits", 3),
    ("airlink-graph", 3),
    ("airlink-plan", 4),
    ("airlink-stitch", 5),
    ("airlink-fuzz", 5),
    ("airlink-check", 6),
    ("airlink-host", 7),
    ("airlink", 8),
];

/// Crates that build and test without MLIR.
const WITHOUT_MLIR: &[&str] = &[
    "airlink-diag",
    "airlink-kernel",
    "airlink-rt",
    "airlink-device",
    "airlink-elf",
    "airlink-limits",
    "airlink-graph",
    "airlink-plan",
    "airlink-fuzz",
];

/// Crates that may hold `unsafe`.
const WITH_UNSAFE: &[&str] = &["airlink-mlir-sys", "airlink-ir", "airlink-rt"];

#[test]
fn crates_depend_on_lower_layers_only() {
    let layer = |name: &str| LAYERS.iter().find(|(n, _)| *n == name).map(|(_, l)| *l);
    for folder in crate_folders() {
        let name = folder.file_name().expect("named").to_string_lossy().into_owned();
        let own = layer(&name).unwrap_or_else(|| panic!("{name} has no layer"));
        for dependency in dependencies(&folder) {
            if let Some(other) = layer(&dependency) {
                assert!(other < own, "{name} (layer {own}) depends on {dependency} (layer {other})");
            }
            let is_mlir = ["melior", "mlir-sys", "airlink-mlir-sys", "airlink-ir"].contains(&dependency.as_str());
            assert!(!is_mlir || !WITHOUT_MLIR.contains(&name.as_str()), "{name} must build without MLIR");
        }
    }
}

#[test]
fn files_and_functions_stay_short() {
    let mut wrong = Vec::new();
    let mut lengths = Vec::new();
    for file in sources() {
        let text = std::fs::read_to_string(&file).expect("readable");
        let length = text.lines().count();
        lengths.push(length);
        if length > FILE_LINES_MAX {
            wrong.push(format!("{}: {length} lines", file.display()));
        }
        for (name, length) in long_functions(&text) {
            wrong.push(format!("{}: `{name}` has {length} lines", file.display()));
        }
    }
    lengths.sort_unstable();
    let median = lengths[lengths.len() / 2];
    assert!(median <= 250, "the median file has {median} lines");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_some_crates_hold_unsafe_and_say_why() {
    for file in rust_sources() {
        let text = std::fs::read_to_string(&file).expect("readable");
        let is_allowed = WITH_UNSAFE.iter().any(|c| file.starts_with(root().join("crates").join(c)));
        let lines: Vec<&str> = text.lines().collect();
        for (i, line) in lines.iter().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            if !code.contains("unsafe {") || code.contains('"') {
                continue;
            }
            assert!(is_allowed, "{}:{}: unsafe outside {WITH_UNSAFE:?}", file.display(), i + 1);
            let reason = lines[i.saturating_sub(12)..=i].iter().any(|l| l.contains("SAFETY:"));
            let is_test = file.components().any(|c| c.as_os_str() == "tests");
            assert!(reason || is_test, "{}:{}: unsafe without a SAFETY reason", file.display(), i + 1);
        }
    }
}

#[test]
fn only_the_command_prints_exits_or_reads_the_environment() {
    let forbidden = ["println!(", "eprintln!(", "print!(", "std::process::exit", "std::env::var", "env::var("];
    for file in rust_sources() {
        let relative = file.strip_prefix(root()).expect("inside").to_string_lossy().into_owned();
        let is_library = relative.contains("/src/") && !relative.starts_with("crates/airlink/");
        if !is_library {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("readable");
        for (i, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            let found = forbidden.iter().find(|f| code.contains(**f));
            assert!(found.is_none(), "{relative}:{}: {found:?}", i + 1);
        }
    }
}

#[test]
fn no_module_files_and_no_vague_names() {
    for file in rust_sources() {
        let name = file.file_stem().expect("named").to_string_lossy().into_owned();
        assert_ne!(name, "mod", "{}", file.display());
        assert!(!["util", "utils", "helper", "helpers", "manager"].contains(&name.as_str()), "{}", file.display());
    }
}

fn crate_folders() -> Vec<PathBuf> {
    let mut list: Vec<_> =
        std::fs::read_dir(root().join("crates")).expect("there").map(|e| e.expect("readable").path()).collect();
    list.sort();
    list
}

/// Names in `[dependencies]`.
fn dependencies(folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("Cargo.toml")).expect("readable");
    let section = text.split("\n[").find(|s| s.starts_with("dependencies]")).unwrap_or_default().to_string();
    let name = |l: &str| l.split(['.', ' ', '=']).next().unwrap_or_default().to_string();
    section.lines().skip(1).filter(|l| !l.trim().is_empty() && !l.starts_with('#')).map(name).collect()
}

/// Files that git tracks or would track, with these endings.
fn tracked(endings: &[&str]) -> Vec<PathBuf> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let files = text.lines().filter(|l| endings.iter().any(|e| l.ends_with(e))).map(|l| root().join(l));
    files.filter(|f| f.is_file()).collect()
}

fn sources() -> Vec<PathBuf> {
    tracked(&[".rs", ".cpp", ".h", ".td"])
}

fn rust_sources() -> Vec<PathBuf> {
    tracked(&[".rs"])
}

/// Functions that are too long, by the indentation of their first and last line.
fn long_functions(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        let trimmed = line.trim_start();
        let indent = line.len() - trimmed.len();
        let is_function = ["fn ", "pub fn ", "pub(crate) fn ", "pub(super) fn ", "unsafe fn ", "pub unsafe fn "]
            .iter()
            .any(|p| trimmed.starts_with(p));
        if !is_function || trimmed.ends_with(';') {
            continue;
        }
        let end = format!("{}}}", " ".repeat(indent));
        let Some(length) = lines[i..].iter().position(|l| *l == end) else { continue };
        if length + 1 > FUNCTION_LINES_MAX {
            found.push((trimmed.split('(').next().unwrap_or_default().to_string(), length + 1));
        }
    }
    found
}
