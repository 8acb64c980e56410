//! What goes wrong outside of a graph's meaning: files, disks, tools, machines, signals. Whole files or none.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use object::write::{Object, StandardSection, Symbol, SymbolSection};
use object::{Architecture, BinaryFormat, Endianness, SymbolFlags, SymbolKind, SymbolScope};

use crate::project::{Outcome, airlink, files, fixture, root};

/// `e_machine` of AMD's AI engines, as their kernel objects carry it.
const EM_AIE: u16 = 264;

/// Depth at which MLIR's own parser overflows the stack.
const BRACKET_COUNT: usize = 20_000;

/// Fills its argument by an extern.
pub const KERNEL: &str = "module {
  func.func private @linalg_fill_bf16(memref<8xbf16, 2 : i32>) attributes {link_with = \"fill.o\", llvm.emit_c_interface}
  func.func @k(%to: memref<8xbf16>) {
    air.launch () in () args(%a=%to) : memref<8xbf16> {
      air.segment @s args(%b=%a) : memref<8xbf16> {
        %one = arith.constant 1 : index
        air.herd @h tile (%x, %y) in (%nx=%one, %ny=%one) args(%c=%b) : memref<8xbf16> attributes {link_with = \"fill.o\"} {
          %out = memref.alloc() : memref<8xbf16, 2 : i32>
          func.call @linalg_fill_bf16(%out) : (memref<8xbf16, 2 : i32>) -> ()
          air.dma_memcpy_nd (%c[] [] [], %out[] [] []) : (memref<8xbf16>, memref<8xbf16, 2 : i32>)
        }
      }
    }
    return
  }
}
";

const GRAPH: &str =
    "[graph]\nname = \"g\"\ndevice = \"npu2\"\n[[launch]]\nname = \"a\"\nkernel = \"k.mlir\"\nargs = [\"x\"]\n";

#[test]
fn a_missing_graph_is_a_file_error() {
    let folder = tempfile::tempdir().expect("a folder");
    for command in ["stitch", "plan", "check", "verify"] {
        expect_finding(&airlink(folder.path(), &json(&[command, "no-such.toml"])), 3, "error AL0801");
    }
    expect_finding(&airlink(folder.path(), &json(&["opt", "no-such.mlir"])), 3, "error AL0801");
    expect_finding(&airlink(folder.path(), &json(&["run", "no-such.elf"])), 3, "error AL0801");
}

#[test]
fn a_missing_kernel_is_shown_where_the_graph_names_it() {
    let folder = project(KERNEL, &GRAPH.replace("k.mlir", "no-such.mlir"));
    let outcome = stitch(&folder);
    expect_finding(&outcome, 1, "error AL0801");
    assert!(outcome.stdout.contains("\"file\":\"graph.toml\",\"line\":6,\"column\":10"), "{}", outcome.stdout);
    assert!(files(&folder.path().join("out")).is_empty());
}

#[test]
fn a_file_that_is_not_utf8() {
    let folder = project(KERNEL, GRAPH);
    let mut bytes = KERNEL.as_bytes().to_vec();
    bytes.splice(9..9, *b"// caf\xe9\n");
    std::fs::write(folder.path().join("k.mlir"), &bytes).expect("writable");
    expect_finding(&stitch(&folder), 1, "error AL0105");
    expect_finding(&airlink(folder.path(), &json(&["opt", "k.mlir"])), 1, "error AL0105");
    std::fs::write(folder.path().join("graph.toml"), b"[graph]\nname = \"\xff\"\n").expect("writable");
    expect_finding(&stitch(&folder), 1, "error AL0105");
    assert!(files(&folder.path().join("out")).is_empty());
}

#[test]
fn deep_nesting_and_nul_bytes_end_as_findings() {
    let open = "[".repeat(BRACKET_COUNT);
    let folder = project(KERNEL, &format!("{GRAPH}[graph.compiler]\nruntime_tiling = {open}\n"));
    expect_finding(&stitch(&folder), 1, "error AL0104");
    for bracket in ["[", "(", "<", "{"] {
        let text = format!("module attributes {{a = {}}} {{}}\n", bracket.repeat(BRACKET_COUNT));
        let folder = project(&text, GRAPH);
        expect_finding(&stitch(&folder), 1, "error AL0104");
    }
    let folder = project(&KERNEL.replace("module {", "module\0{"), GRAPH);
    expect_finding(&stitch(&folder), 1, "error AL0103");
    let folder = project(KERNEL, &GRAPH.replace("npu2", "npu\0"));
    expect_finding(&stitch(&folder), 1, "error AL0103");
}

#[test]
fn an_output_folder_that_cannot_be() {
    let folder = project(KERNEL, GRAPH);
    std::fs::write(folder.path().join("file"), "kept").expect("writable");
    for out in ["file", "file/below", "/proc/no-such/out"] {
        let args = json(&["stitch", "graph.toml", "--emit", "mlir,map", "-o", out]);
        expect_finding(&airlink(folder.path(), &args), 3, "error AL0802");
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("file")).expect("readable"), "kept");
}

#[test]
fn a_folder_in_the_place_of_one_file_keeps_all_from_being_written() {
    let folder = project(KERNEL, GRAPH);
    std::fs::create_dir_all(folder.path().join("out/g.map.json/inside")).expect("a folder");
    expect_finding(&stitch(&folder), 3, "error AL0802");
    let names: Vec<_> = std::fs::read_dir(folder.path().join("out")).expect("there").collect();
    assert_eq!(names.len(), 1, "{names:?}");
}

#[test]
fn a_read_only_disk_and_a_full_one() {
    let graph = small_graph();
    for (options, fills) in [("ro,size=4m", false), ("size=8k", true), ("size=48k", true)] {
        let folder = tempfile::tempdir().expect("a folder");
        // A mount name space of its own: nothing is left behind, however this ends.
        let script = "mount -t tmpfs -o \"$1\" none \"$2\" || exit 77
            \"$3\" stitch \"$4\" --message-format json -o \"$2\"; code=$?
            ls -A \"$2\" >&2
            exit $code";
        let binary = env!("CARGO_BIN_EXE_airlink");
        let output = Command::new("unshare")
            .args(["--mount", "--", "sh", "-c", script, "sh", options])
            .args([folder.path(), Path::new(binary), &graph])
            .output();
        let outcome = match output {
            Ok(output) => outcome(&output),
            Err(error) => {
                println!("skipped: no `unshare`: {error}");
                return;
            }
        };
        if outcome.code == 77 || outcome.stderr.contains("unshare failed") {
            println!("skipped: mounting is not allowed here");
            return;
        }
        expect_finding(&outcome, 3, "error AL0802");
        assert!(!fills || outcome.stdout.contains("No space left"), "{}", outcome.stdout);
        for name in [".elf", ".mlir", ".json", ".o", ".airlink-"] {
            let left = outcome.stderr.lines().any(|l| !l.contains(' ') && l.contains(name));
            assert!(!left, "files are left with {options}:\n{}", outcome.stderr);
        }
    }
}

#[test]
fn a_folder_without_write_permission() {
    use std::os::unix::fs::PermissionsExt;
    let folder = project(KERNEL, GRAPH);
    let out = folder.path().join("out");
    std::fs::create_dir(&out).expect("a folder");
    std::fs::set_permissions(&out, std::fs::Permissions::from_mode(0o555)).expect("ours");
    if std::fs::write(out.join("probe"), "").is_ok() {
        println!("skipped: permissions do not bind this user");
        return;
    }
    expect_finding(&stitch(&folder), 3, "error AL0802");
    assert!(files(&out).is_empty());
}

#[test]
fn killed_in_the_middle_it_leaves_whole_files() {
    let graph = small_graph();
    let folder = tempfile::tempdir().expect("a folder");
    let start = Instant::now();
    let whole = wait(spawn(folder.path(), &graph, "whole"));
    let time = start.elapsed();
    assert_eq!(whole.code, 0, "{}", whole.stderr);
    let wanted = files(&folder.path().join("whole"));
    for step in 0..16u32 {
        // Files of an earlier run stand in every second folder: each must be the earlier one or the new one.
        let name = format!("killed{step}");
        let out = folder.path().join(&name);
        std::fs::create_dir(&out).expect("a folder");
        if step % 2 == 1 {
            wanted.iter().for_each(|(n, _)| std::fs::write(out.join(n), "earlier").expect("writable"));
        }
        let mut child = spawn(folder.path(), &graph, &name);
        std::thread::sleep(time * step / 14);
        child.kill().expect("ours");
        child.wait().expect("ours");
        for (n, bytes) in files(&out).iter().filter(|(n, _)| !n.starts_with(".airlink-")) {
            let new = wanted.iter().find(|(w, _)| w == n);
            let is_whole = new.is_some_and(|(_, w)| w == bytes) || (step % 2 == 1 && bytes == b"earlier");
            assert!(is_whole, "`{n}` is neither whole nor the earlier one after {:?}", time * step / 14);
        }
    }
}

#[test]
fn two_processes_into_one_folder() {
    let graph = small_graph();
    let folder = tempfile::tempdir().expect("a folder");
    let alone = wait(spawn(folder.path(), &graph, "alone"));
    assert_eq!(alone.code, 0, "{}", alone.stderr);
    for round in 0..3 {
        let name = format!("both{round}");
        let children = [spawn(folder.path(), &graph, &name), spawn(folder.path(), &graph, &name)];
        for outcome in children.map(wait) {
            assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        }
        assert!(files(&folder.path().join(&name)) == files(&folder.path().join("alone")), "other files or bytes");
    }
}

#[test]
fn a_linker_that_is_missing_or_fails() {
    use std::os::unix::fs::PermissionsExt;
    let folder = project(KERNEL, GRAPH);
    let linker = |name: &str, rest: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\n[ \"$1\" = --version ] && echo LLD && exit\n{rest}\n"))
            .expect("writable");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("ours");
        path
    };
    let failing = linker("ld.failing", "echo no such section >&2; exit 7");
    let idle = linker("ld.idle", "exit 0");
    let missing = PathBuf::from("/no/such/linker");
    let args = json(&["stitch", "graph.toml", "-o", "out"]);
    for (linker, finding, text) in [
        (&missing, "error AL0803", "/no/such/linker"),
        (&failing, "error AL0804", "no such section"),
        (&idle, "error AL0804", "wrote no ELF"),
    ] {
        let output = command(folder.path(), &args).env("AIRLINK_LD", linker).output().expect("the binary starts");
        let outcome = outcome(&output);
        expect_finding(&outcome, 4, finding);
        assert!(outcome.stdout.contains(text), "{}", outcome.stdout);
        assert!(files(&folder.path().join("out")).is_empty());
    }
    let modules = json(&["stitch", "graph.toml", "-o", "out", "--emit", "mlir,map,obj"]);
    let output = command(folder.path(), &modules).env("AIRLINK_LD", "/no/such/linker").output().expect("starts");
    outcome(&output).expect(0);
}

#[test]
fn a_cpu_level_that_is_unknown_or_above_this_machine() {
    let folder = project(KERNEL, GRAPH);
    let outcome = airlink(folder.path(), &["stitch", "graph.toml", "-o", "out", "--cpu", "pentium"]).expect(2);
    assert!(outcome.stderr.contains("x86-64-v3"), "{}", outcome.stderr);
    assert!(files(&folder.path().join("out")).is_empty());
    airlink(folder.path(), &["stitch", "graph.toml", "-o", "out", "--cpu", "x86-64-v4"]).expect(0);
    let outcome = airlink(folder.path(), &json(&["run", "out/g.elf", "-o", "results"]));
    if std::is_x86_feature_detected!("avx512vl") && std::is_x86_feature_detected!("avx512bw") {
        outcome.expect(0);
    } else {
        expect_finding(&outcome, 1, "error AL0714");
        assert!(files(&folder.path().join("results")).is_empty());
    }
}

#[test]
fn run_refuses_what_is_no_host_elf() {
    let folder = project(KERNEL, GRAPH);
    std::fs::write(folder.path().join("short.elf"), b"\x7fELF").expect("writable");
    std::fs::write(folder.path().join("object.elf"), kernel_object(Architecture::X86_64, None)).expect("writable");
    for file in ["k.mlir", "short.elf", "object.elf"] {
        expect_finding(&airlink(folder.path(), &json(&["run", file])), 1, "error AL0710");
    }
}

#[test]
fn arrays_that_do_not_fit() {
    let graph = fixture("graphs/small_o_ffn.toml");
    let folder = tempfile::tempdir().expect("a folder");
    airlink(folder.path(), &["stitch", &graph.to_string_lossy(), "--emit", "elf", "-o", "out"]).expect(0);
    let arrays = [
        ("x=shape.npy", npy("<V2", "(128,)", 256)),
        ("x=type.npy", npy("<f8", "(256,)", 2048)),
        ("x=cut.npy", npy("<V2", "(256,)", 100)),
        ("x=text.npy", b"no array".to_vec()),
        ("nobody=good.npy", npy("<V2", "(256,)", 512)),
    ];
    for (pair, bytes) in arrays {
        let (_, file) = pair.split_once('=').expect("a pair");
        std::fs::write(folder.path().join(file), bytes).expect("writable");
        let outcome = airlink(folder.path(), &json(&["run", "out/small_o_ffn.elf", "--arg", pair, "-o", "results"]));
        expect_finding(&outcome, 1, "error AL0711");
        assert!(files(&folder.path().join("results")).is_empty(), "{pair}");
    }
    let missing = json(&["run", "out/small_o_ffn.elf", "--arg", "x=no-such.npy"]);
    expect_finding(&airlink(folder.path(), &missing), 3, "error AL0801");
}

#[test]
fn objects_of_another_machine() {
    let others = [(Architecture::Aarch64, None), (Architecture::I386, Some(EM_AIE))];
    for (architecture, machine) in others {
        let folder = project(KERNEL, GRAPH);
        let library = folder.path().join("lib");
        std::fs::create_dir(&library).expect("a folder");
        std::fs::write(library.join("fill.o"), kernel_object(architecture, machine)).expect("writable");
        let found = airlink(folder.path(), &json(&["stitch", "graph.toml", "-L", "lib", "-o", "out"]));
        expect_finding(&found, 0, "note AL0708");
        let named = GRAPH.to_string() + "objects = { \"fill.o\" = \"lib/fill.o\" }\n";
        std::fs::write(folder.path().join("graph.toml"), named).expect("writable");
        let outcome = airlink(folder.path(), &json(&["stitch", "graph.toml", "-o", "out2"]));
        expect_finding(&outcome, 1, "error AL0709");
        assert!(outcome.stdout.contains("\"file\":\"graph.toml\",\"line\":8"), "{}", outcome.stdout);
        assert!(files(&folder.path().join("out2")).is_empty());
    }
}

#[test]
fn an_object_of_this_machine_is_taken_and_renamed() {
    let folder = project(KERNEL, GRAPH);
    std::fs::write(folder.path().join("fill.o"), kernel_object(Architecture::X86_64, None)).expect("writable");
    airlink(folder.path(), &["stitch", "graph.toml", "-o", "out"]).expect(0);
    let written = files(&folder.path().join("out"));
    let (_, bytes) = written.iter().find(|(n, _)| n == "fill.o").expect("the object is written");
    assert!(*bytes == kernel_object(Architecture::X86_64, None), "the first variant keeps its bytes");
}

#[test]
fn what_is_not_there_yet_says_so() {
    let graph = small_graph();
    let graph = graph.to_string_lossy();
    for args in [&["stitch", &graph, "--target", "npu2"][..], &["check", &graph, "--format", "dot"]] {
        let outcome = airlink(&root(), args).expect(2);
        assert!(outcome.stderr.contains("not implemented yet"), "{args:?}: {}", outcome.stderr);
    }
    let outcome = airlink(&root(), &["explain", "AL9999"]).expect(2);
    assert!(outcome.stderr.contains("AL9999"), "{}", outcome.stderr);
}

#[test]
fn a_closed_pipe_is_no_panic() {
    let graph = small_graph();
    let graph = graph.to_string_lossy();
    for args in [&["man"][..], &["explain"], &["plan", &graph], &["opt", "fixtures/kernels/gemv/256x256_t8.air.mlir"]] {
        let args: Vec<String> = args.iter().map(|a| a.to_string()).collect();
        let mut child = command(&root(), &args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
        drop(child.stdout.take());
        let outcome = wait(child);
        assert_ne!(outcome.code, 101, "{args:?}: {}", outcome.stderr);
        assert!(!outcome.stderr.contains("panicked"), "{args:?}: {}", outcome.stderr);
    }
}

#[test]
fn warnings_as_errors_write_nothing() {
    let folder = fixture("bad/AL0213");
    let out = tempfile::tempdir().expect("a folder");
    let path = |name: &str| out.path().join(name).to_string_lossy().into_owned();
    let (first, second) = (path("first"), path("second"));
    let args = json(&["stitch", "graph.toml", "--emit", "mlir,map", "-o", &first]);
    expect_finding(&airlink(&folder, &args), 0, "warning AL0213");
    assert_eq!(files(Path::new(&first)).len(), 2);
    let args = json(&["stitch", "graph.toml", "--emit", "mlir,map", "-Werror", "-o", &second]);
    expect_finding(&airlink(&folder, &args), 1, "error AL0213");
    assert!(files(Path::new(&second)).is_empty());
}

/// A folder with `graph.toml` and `k.mlir`.
fn project(kernel: &str, graph: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("k.mlir"), kernel).expect("writable");
    std::fs::write(folder.path().join("graph.toml"), graph).expect("writable");
    folder
}

fn stitch(folder: &tempfile::TempDir) -> Outcome {
    airlink(folder.path(), &json(&["stitch", "graph.toml", "--emit", "mlir,map", "-o", "out"]))
}

fn json<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [args, &["--message-format", "json"]].concat()
}

#[track_caller]
fn expect_finding(outcome: &Outcome, code: i32, finding: &str) {
    let found = outcome.findings();
    let is_right = outcome.code == code && found.iter().any(|f| f == finding);
    let text = (&outcome.stdout, &outcome.stderr);
    assert!(is_right, "wanted {code} and {finding}, got {}:\n{}\n{}", outcome.code, text.0, text.1);
}

fn small_graph() -> PathBuf {
    fixture("graphs/small_o_ffn.toml")
}

fn command<S: AsRef<std::ffi::OsStr>>(folder: &Path, args: &[S]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_airlink"));
    command.args(args).current_dir(folder).env_remove("NO_COLOR").env_remove("AIRLINK_LD");
    command
}

fn spawn(folder: &Path, graph: &Path, out: &str) -> Child {
    let graph = graph.to_string_lossy();
    let mut command = command(folder, &["stitch", &graph, "-q", "-o", out]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts")
}

fn wait(child: Child) -> Outcome {
    outcome(&child.wait_with_output().expect("it ends"))
}

fn outcome(output: &std::process::Output) -> Outcome {
    Outcome {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A relocatable object that defines the extern of [`KERNEL`] as a function that returns at once on x86.
fn kernel_object(architecture: Architecture, machine: Option<u16>) -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, architecture, Endianness::Little);
    let section = object.section_id(StandardSection::Text);
    let offset = object.append_section_data(section, &[0xc3, 0, 0, 0], 16);
    for name in ["linalg_fill_bf16", "_mlir_ciface_linalg_fill_bf16"] {
        object.add_symbol(Symbol {
            name: name.as_bytes().to_vec(),
            value: offset,
            size: 4,
            kind: SymbolKind::Text,
            scope: SymbolScope::Dynamic,
            weak: false,
            section: SymbolSection::Section(section),
            flags: SymbolFlags::None,
        });
    }
    let mut bytes = object.write().expect("an object");
    if let Some(machine) = machine {
        // `e_machine` stands at the same place in both classes.
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
    }
    bytes
}

/// An array file of version 1.0 whose header says `descr` and `shape`.
fn npy(descr: &str, shape: &str, content_bytes: usize) -> Vec<u8> {
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(vec![0; content_bytes]);
    bytes
}
