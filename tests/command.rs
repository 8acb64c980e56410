//! The command line itself: help, options, exit codes, forms of output.

use crate::project::{airlink, files, fixture, root};

#[test]
fn every_command_has_help_with_the_shared_options() {
    for command in [
        "stitch",
        "plan",
        "check",
        "verify",
        "run",
        "init",
        "diff",
        "rename",
        "inspect",
        "link",
        "opt",
        "explain",
        "doctor",
        "completions",
        "man",
    ] {
        let help = airlink(&root(), &[command, "--help"]).expect(0).stdout;
        for option in [
            "-o",
            "--emit",
            "--format",
            "--target",
            "--device",
            "-L",
            "--ref",
            "--k-split",
            "--no-pingpong",
            "--runtime-tiling",
            "--stack-bytes",
            "--toolchain",
            "--cpu",
            "-j",
            "--MD",
            "--MF",
            "--MP",
            "--MT",
            "--message-format",
            "--color",
            "-v",
            "-q",
            "-W",
            "--timing",
            "--dry-run",
        ] {
            assert!(help.contains(option), "`{option}` is missing in the help of {command}");
        }
    }
}

#[test]
fn usage_errors_end_with_two() {
    for args in [
        &["stitch"][..],
        &["no-such-command"],
        &["stitch", "g.toml", "--no-such-option"],
        &["stitch", "g.toml", "--target", "gpu"],
        &["explain", "AL9999"],
        &["rename", "a.o", "--map", "nonsense", "-o", "b.o"],
        &["stitch", "g.toml", "--target", "npu2"],
        &["stitch", "g.toml", "--cpu", "pentium"],
        &["stitch", "g.toml", "--device", "npu9"],
    ] {
        let outcome = airlink(&root(), args).expect(2);
        assert!(!outcome.stderr.is_empty(), "{args:?} says nothing");
    }
}

#[test]
fn an_option_that_nothing_implements_is_named() {
    let graph = fixture("graphs/small_o_ffn.toml");
    let outcome = airlink(&root(), &["check", graph.to_str().unwrap(), "--format", "html"]).expect(2);
    assert!(
        outcome.stderr.contains("`--format html` is not implemented yet for `airlink check`"),
        "{}",
        outcome.stderr
    );
    for option in [&["-j", "2"][..], &["--format", "json"], &["--emit", "json"], &["--target", "npu2"]] {
        let args = [&["stitch", graph.to_str().unwrap(), "-o", "never-written"][..], option].concat();
        let outcome = airlink(&root(), &args).expect(2);
        assert!(
            outcome.stderr.contains("is not implemented yet for `airlink stitch`"),
            "{option:?}: {}",
            outcome.stderr
        );
    }
    assert!(!root().join("never-written").exists());
}

#[test]
fn verbose_runs_name_the_files_they_read() {
    let outcome = airlink(&fixture("graphs"), &["check", "views.toml", "-v"]).expect(0);
    assert!(outcome.stderr.starts_with("read views.toml\nread ../kernels/"), "{}", outcome.stderr);
}

#[test]
fn explain_prints_pages_and_lists_codes() {
    let page = airlink(&root(), &["explain", "al0203"]).expect(0).stdout;
    assert!(page.starts_with("# AL0203: "), "{page}");
    let list = airlink(&root(), &["explain"]).expect(0).stdout;
    assert!(list.contains("AL0203  wrong number of arguments"), "{list}");
}

#[test]
fn completions_and_the_manual_name_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let text = airlink(&root(), &["completions", shell]).expect(0).stdout;
        assert!(text.contains("stitch") && text.contains("verify"), "{shell}");
    }
    let manual = airlink(&root(), &["man"]).expect(0).stdout;
    assert!(manual.starts_with(".ie") || manual.contains(".TH"), "{manual}");
    assert!(manual.contains("k\\-split"), "options are there");
}

#[test]
fn findings_come_as_text_as_lines_or_as_json() {
    let folder = fixture("bad/AL0203");
    let args = ["stitch", "graph.toml", "--emit", "mlir", "-o", "never-written", "--message-format"];
    let run = |form| airlink(&folder, &[&args[..], &[form]].concat()).expect(1);
    let human = run("human").stderr;
    assert!(human.contains("error[AL0203]") && human.contains("1 error; nothing written"), "{human}");
    assert!(!human.contains('\x1b'), "no colours off a terminal");
    let short = run("short").stderr;
    assert!(short.starts_with("graph.toml:8:"), "{short}");
    assert_eq!(short.lines().count(), 1, "{short}");
    let json = run("json");
    assert_eq!(json.findings(), ["error AL0203"]);
    assert!(!folder.join("never-written").exists());
    let colored = airlink(&folder, &[&args[..], &["human", "--color", "always"]].concat()).stderr;
    assert!(colored.contains('\x1b'), "colours when asked");
}

#[test]
fn opt_prints_what_it_reads_and_reads_what_it_prints() {
    let file = fixture("kernels/add/256.air.mlir");
    let once = airlink(&root(), &["opt", file.to_str().unwrap()]).expect(0).stdout;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("again.mlir"), &once).unwrap();
    let twice = airlink(folder.path(), &["opt", "again.mlir"]).expect(0).stdout;
    assert_eq!(once, twice);
}

#[test]
fn opt_checks_the_errors_that_a_file_announces() {
    for file in ["roundtrip.mlir", "invalid.mlir"] {
        let path = root().join("mlir/test/AIR").join(file);
        let args = ["opt", path.to_str().unwrap(), "--split-input-file", "--verify-diagnostics"];
        airlink(&root(), &args).expect(0);
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.mlir"), "// expected-error@+1 {{no such message}}\nmodule {}\n").unwrap();
    let outcome = airlink(folder.path(), &["opt", "a.mlir", "--verify-diagnostics"]).expect(5);
    assert!(outcome.stdout.contains("was not found"), "{}", outcome.stdout);
}

#[test]
fn diff_says_same_or_shows_the_first_differences() {
    let folder = tempfile::tempdir().unwrap();
    let module =
        |value| format!("func.func @f() -> i32 {{\n  %c = arith.constant {value} : i32\n  return %c : i32\n}}\n");
    for (name, value) in [("a.mlir", 1), ("b.mlir", 1), ("c.mlir", 2)] {
        std::fs::write(folder.path().join(name), module(value)).unwrap();
    }
    airlink(folder.path(), &["diff", "a.mlir", "b.mlir"]).expect(0);
    let outcome = airlink(folder.path(), &["diff", "a.mlir", "c.mlir"]).expect(5);
    assert_eq!(outcome.stdout, "a.mlir:2:8 <> c.mlir:2:8: `value` of `arith.constant` is 1 : i32 against 2 : i32\n");
}

#[test]
fn a_profile_is_a_table_and_a_ledger() {
    let folder = tempfile::tempdir().expect("a folder");
    let graph = fixture("graphs/small_o_ffn.toml");
    airlink(folder.path(), &["stitch", &graph.to_string_lossy(), "-o", ".", "--emit", "elf", "-q"]).expect(0);
    let elf = files(folder.path()).into_iter().find(|(n, _)| n.ends_with(".elf")).expect("an ELF").0;
    let table = airlink(folder.path(), &["run", &elf, "-o", "out", "--profile"]).expect(0).stdout;
    assert!(table.contains("by kernel") && table.contains("the whole program in one call"), "{table}");
    let ledger = airlink(folder.path(), &["run", &elf, "-o", "out", "--profile", "--format", "json"]).expect(0).stdout;
    let ledger: serde_json::Value = serde_json::from_str(&ledger).expect("JSON and nothing else");
    let list = |name: &str| ledger[name].as_array().expect("a list").clone();
    let (launches, buckets) = (list("launches"), list("buckets"));
    assert_eq!(launches.len(), 8);
    let sum = |list: &[serde_json::Value], field: &str| {
        list.iter().map(|l| l[field].as_f64().expect("a number")).sum::<f64>()
    };
    // The buckets hold every launch once.
    assert_eq!(sum(&buckets, "launches"), 8.0);
    for field in ["time_us", "bytes", "share"] {
        assert!((sum(&launches, field) - sum(&buckets, field)).abs() <= 1e-6 * sum(&launches, field), "{field}");
    }
    assert!((sum(&launches, "share") - 1.0).abs() < 1e-9);
    // A GEMV of 256 x 256 reads its matrix and a vector and writes a vector.
    assert_eq!(launches[0]["bytes"], 2 * (256 * 256 + 256 + 256));
}
