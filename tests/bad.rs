//! The smallest bad input for each code: `fixtures/bad/AL....*/` with `expect` (exit code, severity, code) and, where it
//! is not `stitch graph.toml --emit mlir,map -o OUT`, the command line in `cmd`.

use crate::project::{airlink, files, fixture, root};

/// Codes that no input on its own can raise, each with the test that raises it another way.
const ELSEWHERE: &[(&str, &str)] = &[
    ("AL0105", "failures: a file that is not UTF-8"),
    ("AL0407", "airlink-elf: tests of rename"),
    ("AL0601", "airlink-check: tests with broken modules"),
    ("AL0602", "airlink-check: tests with broken modules"),
    ("AL0603", "airlink-check: tests with broken modules"),
    ("AL0711", "failures: arrays that do not fit"),
    ("AL0714", "failures: a CPU level above this machine"),
    ("AL0640", "airlink-elf: lints of NPU ELFs"),
    ("AL0641", "airlink-elf: lints of NPU ELFs"),
    ("AL0642", "airlink-elf: lints of NPU ELFs"),
    ("AL0643", "airlink-elf: lints of NPU ELFs"),
    ("AL0644", "npu: what cannot be linked"),
    ("AL0645", "airlink-elf: lints of NPU ELFs"),
    ("AL0646", "npu: what cannot be linked"),
    ("AL0647", "airlink-elf: lints of NPU ELFs"),
    ("AL0648", "airlink-elf: lints of NPU ELFs"),
    ("AL0649", "airlink-elf: lints of NPU ELFs"),
    ("AL0732", "npu: what cannot be linked"),
    ("AL0733", "npu: what cannot be linked"),
    ("AL0734", "npu: what cannot be linked"),
    ("AL0735", "npu: what cannot be linked"),
    ("AL0736", "npu: what cannot be linked"),
    ("AL0737", "npu: what cannot be linked"),
    ("AL0738", "airlink-elf: what does not fit is refused"),
    ("AL0739", "airlink-elf: what does not fit is refused"),
    ("AL0740", "airlink-elf: the proof notices what the linker forgets"),
    ("AL0802", "failures: a read-only folder"),
    ("AL0803", "failures: no linker"),
    ("AL0804", "failures: a linker that fails"),
    ("AL0312", "limits: an object of the device"),
    ("AL0320", "seen in a compiler's output alone: airlink-limits, log"),
    ("AL0901", "a bug, by definition"),
    ("AL0902", "airlink-host: tests of lowering"),
];

#[test]
fn every_bad_fixture_ends_as_it_says() {
    let mut wrong = Vec::new();
    for name in folders() {
        let folder = fixture("bad").join(&name);
        let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap_or_default();
        let expect = read("expect");
        let (code, finding) = expect.trim().split_once(' ').unwrap_or_else(|| panic!("{name}: `expect` is `{expect}`"));
        let out = tempfile::tempdir().expect("a folder");
        let command = match read("cmd") {
            c if c.trim().is_empty() => "stitch graph.toml --emit mlir,map -o OUT".to_string(),
            c => c,
        };
        let out_path = out.path().join("out");
        let mut args: Vec<String> =
            command.split_whitespace().map(|a| a.replace("OUT", &out_path.to_string_lossy())).collect();
        args.extend(["--message-format".to_string(), "json".to_string()]);
        let outcome = airlink(&folder, &args.iter().map(String::as_str).collect::<Vec<_>>());
        let found = outcome.findings();
        let is_right = outcome.code.to_string() == code && found.iter().any(|f| f == finding);
        let wrote = !files(&out_path).is_empty();
        if !is_right || (outcome.code == 1 && wrote) {
            wrong.push(format!(
                "{name}: wanted `{}`, got {} {found:?}, wrote {wrote}\n{}",
                expect.trim(),
                outcome.code,
                outcome.stderr
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_code_has_a_page_and_a_bad_fixture() {
    let folders = folders();
    let table = std::fs::read_to_string(root().join("crates/airlink-diag/src/codes.rs")).expect("readable");
    let mut missing = Vec::new();
    for line in table.lines().map(str::trim).filter(|l| l.starts_with("AL0") && l.contains('"')) {
        let code = &line[..6];
        let page = root().join(format!("crates/airlink-diag/pages/{code}.md"));
        let page = std::fs::read_to_string(page).unwrap_or_default();
        if !page.starts_with(&format!("# {code}: "))
            || !page.contains("## What it means")
            || !page.contains("## What to do")
        {
            missing.push(format!("{code}: page"));
        }
        if !folders.iter().any(|f| f.starts_with(code)) && !ELSEWHERE.iter().any(|(c, _)| *c == code) {
            missing.push(format!("{code}: fixture"));
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
}

fn folders() -> Vec<String> {
    files_of(&fixture("bad"))
}

fn files_of(folder: &std::path::Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .expect("fixtures/bad is there")
        .map(|e| e.expect("readable").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
