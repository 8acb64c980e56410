//! `plan --format html|dot`, `plan -o` and `--log`, through the binary.

use std::path::Path;

use crate::project::{airlink, files, fixture, shared};

/// A folder with a graph of ours that has its kernels beside it.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let kernel = std::fs::read(fixture("kernels/add/256.air.mlir")).expect("readable");
    std::fs::write(folder.path().join("add.air.mlir"), kernel).expect("writable");
    let graph = "[graph]\nname = \"two\"\ndevice = \"npu2\"\n\
        [[launch]]\nname = \"a\"\nkernel = \"add.air.mlir\"\nargs = [\"x\", \"y\", \"t\"]\n\
        [[launch]]\nname = \"b\"\nkernel = \"add.air.mlir\"\nargs = [\"t\", \"y\", \"z\"]\n";
    std::fs::write(folder.path().join("two.toml"), graph).expect("writable");
    folder
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn a_plan_goes_to_a_file_as_it_goes_to_standard_output() {
    let folder = folder();
    for form in ["html", "dot", "json", "text"] {
        let printed = airlink(folder.path(), &["plan", "two.toml", "--format", form, "-q"]).expect(0);
        let same = airlink(folder.path(), &["plan", "two.toml", "--emit", form, "-q"]).expect(0);
        let file = format!("out/two.{form}");
        let outcome = airlink(folder.path(), &["plan", "two.toml", "--format", form, "-o", &file]).expect(0);
        assert_eq!(outcome.stdout, format!("wrote {file}\n"));
        assert_eq!(read(folder.path(), &file), printed.stdout);
        assert_eq!(same.stdout, printed.stdout);
    }
    let outcome = airlink(folder.path(), &["plan", "two.toml", "-o", "dry.html", "--dry-run"]).expect(0);
    assert_eq!(outcome.stdout, "would write dry.html\n");
    assert!(!folder.path().join("dry.html").exists());
}

#[test]
fn no_output_of_a_plan_replaces_an_input() {
    let folder = folder();
    let before = files(folder.path());
    for option in ["-o", "--log"] {
        for input in ["two.toml", "add.air.mlir"] {
            let outcome = airlink(folder.path(), &["plan", "two.toml", option, input]).expect(3);
            assert!(outcome.stderr.contains("AL0806"), "{}", outcome.stderr);
            // A run that fails leaves a log, but not over what it read.
            std::fs::write(folder.path().join("bad.toml"), read(folder.path(), "two.toml") + "[[lunch]]\n")
                .expect("writable");
            let outcome = airlink(folder.path(), &["plan", "bad.toml", "--log", "bad.toml"]);
            assert!(outcome.code == 3 && outcome.stderr.contains("AL0806"), "{} {}", outcome.code, outcome.stderr);
            assert!(read(folder.path(), "bad.toml").ends_with("[[lunch]]\n"));
            std::fs::remove_file(folder.path().join("bad.toml")).expect("removable");
        }
    }
    assert!(files(folder.path()) == before, "everything is as it was");
    // Two outputs in one place: neither is written, but the log of that.
    let outcome = airlink(folder.path(), &["plan", "two.toml", "-o", "p.md", "--log", "p.md"]).expect(3);
    assert!(outcome.stderr.contains("AL0806"), "{}", outcome.stderr);
    assert!(read(folder.path(), "p.md").starts_with("# plan of `two`: failed\n"));
}

#[test]
fn stitch_logs_what_it_did_and_make_knows_the_log() {
    let folder = folder();
    let args = ["stitch", "two.toml", "-o", "out", "--emit", "mlir,map", "--log", "out/two.md", "-MD"];
    let outcome = airlink(folder.path(), &args).expect(0);
    assert!(outcome.stdout.contains("wrote out/two.md\n"), "{}", outcome.stdout);
    let log = read(folder.path(), "out/two.md");
    assert!(log.starts_with("# stitch of `two`: done\n"), "{log}");
    assert!(log.contains("| calls a run | 2 | 1 | -1 |"), "{log}");
    for (name, bytes) in files(&folder.path().join("out")) {
        let is_listed = log.contains(&format!("| `{name}` | {} |", bytes.len()));
        assert_eq!(is_listed, name.ends_with(".mlir") || name.ends_with(".json"), "{name} in {log}");
    }
    assert!(read(folder.path(), "out/two.d").contains("out/two.md"), "the log is a target");
    airlink(folder.path(), &args).expect(0);
    assert_eq!(log, read(folder.path(), "out/two.md"), "the same each time");
    // Nothing besides the plan itself on standard output.
    let outcome = airlink(folder.path(), &["plan", "two.toml", "--format", "dot", "--log", "p.md"]).expect(0);
    assert!(outcome.stdout.starts_with("digraph") && outcome.stdout.ends_with("}\n"), "{}", outcome.stdout);
    assert!(read(folder.path(), "p.md").starts_with("# plan of `two`: done\n"));
}

#[test]
fn a_run_that_fails_leaves_its_log_alone() {
    let folder = folder();
    let text = read(folder.path(), "two.toml").replace("\"t\", \"y\", \"z\"", "\"t\", \"z\"");
    std::fs::write(folder.path().join("bad.toml"), text).expect("writable");
    for (command, last) in [("stitch", "nothing written but log/bad.md\n"), ("plan", "1 error\n")] {
        let args = [command, "bad.toml", "--log", "log/bad.md"];
        let outcome = airlink(folder.path(), &args).expect(1);
        assert!(outcome.stderr.ends_with(last), "{}", outcome.stderr);
        let log = read(folder.path(), "log/bad.md");
        assert!(log.starts_with(&format!("# {command} of `bad.toml`: failed\n")), "{log}");
        assert!(log.contains("| error | AL0203 | `bad.toml:11:"), "{log}");
    }
    let outcome = airlink(folder.path(), &["stitch", "bad.toml", "--log", "dry.md", "--dry-run"]).expect(1);
    assert!(!folder.path().join("dry.md").exists(), "{}", outcome.stderr);
    let outcome = airlink(folder.path(), &["stitch", "gone.toml", "--log", "gone.md"]).expect(3);
    assert!(read(folder.path(), "gone.md").contains("AL0801"), "{}", outcome.stderr);
    // Only what decides can tell.
    airlink(folder.path(), &["check", "two.toml", "--log", "x.md"]).expect(2);
}

#[test]
fn warnings_that_count_as_errors_leave_no_plan_behind() {
    let folder = folder();
    // In place: a warning.
    let text = read(folder.path(), "two.toml").replace("\"t\", \"y\", \"z\"", "\"t\", \"y\", \"x\"");
    std::fs::write(folder.path().join("two.toml"), text).expect("writable");
    airlink(folder.path(), &["plan", "two.toml", "--format", "html", "-o", "p.html"]).expect(0);
    assert!(read(folder.path(), "p.html").contains("warning AL0219"));
    let outcome =
        airlink(folder.path(), &["plan", "two.toml", "-W", "error", "-o", "q.html", "--log", "q.md"]).expect(1);
    assert!(outcome.stderr.ends_with("; nothing written but q.md\n"), "{}", outcome.stderr);
    assert!(!folder.path().join("q.html").exists());
    assert!(read(folder.path(), "q.md").contains("| error | AL0219 |"));
}

/// Every graph of the corpus gives a page that a strict XML parser takes.
#[test]
fn pages_of_the_corpus_are_well_formed() {
    let Some(shared) = shared() else { return };
    let graphs = shared.join("corpus/graphs");
    for (name, _) in files(&graphs).iter().filter(|(n, _)| n.ends_with(".toml")) {
        let outcome = airlink(&graphs, &["plan", name, "--format", "html", "-q"]).expect(0);
        let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
        let page =
            roxmltree::Document::parse_with_options(&outcome.stdout, options).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(page.descendants().any(|n| n.tag_name().name() == "svg"), "{name}");
        airlink(&graphs, &["plan", name, "--format", "dot", "-q"]).expect(0);
    }
}
