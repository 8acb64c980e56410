//! Mistakes that a first-time user makes: nothing of theirs is lost, nothing crashes, and the message says what to do.

use std::path::Path;

use crate::failures::KERNEL;
use crate::project::{Outcome, airlink, files};

const GRAPH: &str =
    "[graph]\nname = \"k\"\ndevice = \"npu2\"\n[[launch]]\nname = \"a\"\nkernel = \"k.mlir\"\nargs = [\"x\"]\n";

/// A folder with `k.mlir`, which calls `@linalg_fill_bf16` of `fill.o`, and the graph `k.toml`.
fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "k.mlir", KERNEL);
    write(folder.path(), "k.toml", GRAPH);
    folder
}

fn write(folder: &Path, name: &str, content: impl AsRef<[u8]>) {
    std::fs::write(folder.join(name), content).expect("writable");
}

fn with_json(folder: &Path, args: &[&str]) -> Outcome {
    airlink(folder, &[args, &["--message-format", "json"]].concat())
}

#[track_caller]
fn expect_finding(outcome: &Outcome, code: i32, finding: &str) {
    assert_eq!(outcome.code, code, "{}{}", outcome.stdout, outcome.stderr);
    assert!(outcome.findings().iter().any(|f| f == finding), "no `{finding}` in {}", outcome.stdout);
}

#[test]
fn no_output_overwrites_an_input() {
    let folder = project();
    let at = folder.path();
    std::os::unix::fs::symlink("k.mlir", at.join("linked.map.json")).expect("a link");
    write(at, "linked.toml", GRAPH.replace("\"k\"\ndevice", "\"linked\"\ndevice"));
    let before = files(at);
    for args in [
        &["stitch", "k.toml"][..],
        &["stitch", "k.toml", "--dry-run"],
        &["stitch", "k.toml", "-o", "out", "-MF", "k.toml"],
        &["stitch", "k.toml", "-o", "out", "-MF", "k.mlir"],
        &["stitch", "k.toml", "-o", "out", "-MF", "out/k.elf"],
        &["stitch", "k.toml", "--emit", "mlir,map"],
        &["stitch", "linked.toml"],
        &["opt", "k.mlir", "-o", "k.mlir"],
    ] {
        expect_finding(&with_json(at, args), 3, "error AL0806");
        assert_eq!(files(at), before, "{args:?} changed something");
    }
    let absolute = at.to_string_lossy();
    let outcome = airlink(at, &["stitch", "k.toml", "-o", &absolute]).expect(3);
    assert!(outcome.stderr.contains("k.mlir` would overwrite `k.mlir`"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("give another folder with -o"), "{}", outcome.stderr);
    airlink(at, &["stitch", "k.toml", "-o", "out"]).expect(0);
}

#[test]
fn an_object_that_is_passed_over_is_not_overwritten() {
    let folder = project();
    let at = folder.path();
    write(at, "g.toml", GRAPH.replace("\"k\"\ndevice", "\"g\"\ndevice"));
    write(at, "fill.o", "not an object, but mine");
    expect_finding(&with_json(at, &["stitch", "g.toml"]), 3, "error AL0806");
    assert_eq!(std::fs::read(at.join("fill.o")).expect("there"), b"not an object, but mine");
    std::fs::remove_file(at.join("fill.o")).expect("there");
    // The object of the first run is the input of the second, with the very bytes that it would write.
    airlink(at, &["stitch", "g.toml"]).expect(0);
    airlink(at, &["stitch", "g.toml"]).expect(0);
    // One whole file in its own place is what the user asks for.
    airlink(at, &["rename", "fill.o", "-o", "fill.o", "--map", "linalg_fill_bf16=fill"]).expect(0);
}

#[test]
fn an_array_given_to_a_run_is_not_overwritten() {
    let folder = project();
    let at = folder.path();
    airlink(at, &["stitch", "k.toml", "-o", "out"]).expect(0);
    airlink(at, &["run", "out/k.elf", "-o", "out"]).expect(0);
    let mut array = std::fs::read(at.join("out/x.npy")).expect("written");
    let last = array.len() - 1;
    array[last] ^= 1;
    write(at, "out/x.npy", &array);
    let args = ["run", "out/k.elf", "-o", "out", "--arg", "x=out/x.npy"];
    expect_finding(&with_json(at, &args), 3, "error AL0806");
    assert_eq!(std::fs::read(at.join("out/x.npy")).expect("there"), array);
}

#[test]
fn a_file_of_another_kind_is_one_line() {
    let folder = project();
    let at = folder.path();
    write(at, "scale.c", "#include <stdint.h>\nvoid f(void) {}\n");
    write(at, "map.json", "{\n  \"schema\": 1\n}\n");
    airlink(at, &["stitch", "k.toml", "-o", "out"]).expect(0);
    for (args, code, text) in [
        (["plan", "k.mlir"], "AL0101", "is MLIR, not a launch graph"),
        (["stitch", "scale.c"], "AL0101", "is C or C++, not a launch graph"),
        (["verify", "map.json"], "AL0101", "is JSON, not a launch graph"),
        (["init", "k.toml"], "AL0102", "is TOML, not MLIR"),
        (["init", "scale.c"], "AL0102", "is C or C++, not MLIR"),
        (["opt", "map.json"], "AL0102", "is JSON, not MLIR"),
        (["verify", "out/fill.o"], "AL0105", "is an ELF object, not a launch graph"),
        (["check", "out/k.elf"], "AL0105", "is an ELF file, not a launch graph"),
        (["opt", "out/k.elf"], "AL0105", "is an ELF file, not a module"),
    ] {
        let outcome = airlink(at, &args).expect(1);
        assert_eq!(outcome.stderr.matches("error[").count(), 1, "{}", outcome.stderr);
        assert!(outcome.stderr.contains(code) && outcome.stderr.contains(text), "{}", outcome.stderr);
    }
    let outcome = airlink(at, &["plan", "k.mlir"]);
    assert!(outcome.stderr.contains("`airlink init k.mlir -o graph.toml` makes a graph"), "{}", outcome.stderr);
    let outcome = airlink(at, &["opt", "out/k.elf"]);
    assert!(outcome.stderr.contains("`airlink inspect out/k.elf` shows it"), "{}", outcome.stderr);
}

/// Spans come from parsers that count bytes, in texts whose characters have up to four.
#[test]
fn bytes_that_are_no_text_never_crash_and_stay_off_the_terminal() {
    let folder = project();
    let at = folder.path();
    let mut state = 7u32;
    let mut byte = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let noise: Vec<u8> = (0..2000).map(|_| byte()).collect();
    write(at, "noise", &noise);
    write(at, "noise.toml", [b"[graph]\n".as_slice(), &noise].concat());
    write(at, "noise.mlir", [b"module {\n".as_slice(), &noise].concat());
    write(at, "latin.mlir", b"module {\n  // caf\xe9\n}\n");
    write(at, "latin.toml", b"[graph]\nname = \"caf\xe9\"\n");
    write(at, "odd.toml", "[graph]\nname = \u{1F980}\n\u{202e}\u{1b}[31m = 'é\n");
    write(at, "odd.mlir", "module { é \u{1F980} \u{1b}[31m }\n");
    write(at, "named.toml", GRAPH.replace("k.mlir", "noise"));
    for file in ["noise", "noise.toml", "noise.mlir", "latin.mlir", "latin.toml", "odd.toml", "odd.mlir", "named.toml"]
    {
        for command in ["stitch", "plan", "check", "verify", "init", "opt"] {
            for format in ["human", "short", "json"] {
                let outcome = airlink(at, &[command, file, "--message-format", format]);
                let said = format!("{}{}", outcome.stdout, outcome.stderr);
                assert_eq!(outcome.code, 1, "{command} {file}: {said}");
                let is_plain = |c: char| c == '\n' || !c.is_control();
                assert!(said.chars().all(is_plain), "{command} {file} prints control characters: {said:?}");
            }
        }
        assert_eq!(airlink(at, &["diff", file, "k.mlir"]).code, 1, "{file}");
    }
    let outcome = airlink(at, &["opt", "latin.mlir"]).expect(1);
    assert!(outcome.stderr.contains("latin.mlir:2:9"), "{}", outcome.stderr);
}

#[test]
fn one_bracket_in_place_of_two() {
    let folder = project();
    write(folder.path(), "k.toml", GRAPH.replace("[[launch]]", "[launch]"));
    let outcome = airlink(folder.path(), &["plan", "k.toml"]).expect(1);
    assert!(outcome.stderr.contains("write `[[launch]]` with two brackets"), "{}", outcome.stderr);
}

#[test]
fn a_slip_in_objects_or_in_a_folder_is_said() {
    let folder = project();
    let at = folder.path();
    write(at, "g.toml", format!("{GRAPH}objects = {{ \"fil.o\" = \"fill.o\" }}\n"));
    for command in ["stitch", "plan", "check", "verify"] {
        let outcome = airlink(at, &[command, "g.toml"]).expect(1);
        assert!(outcome.stderr.contains("AL0225"), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("did you mean `fill.o`?"), "{}", outcome.stderr);
    }
    for folder in ["no-such", "k.mlir"] {
        let outcome = airlink(at, &["check", "k.toml", "-L", folder]).expect(0);
        assert!(outcome.stderr.contains(&format!("warning[AL0807]: `-L {folder}`")), "{}", outcome.stderr);
        assert!(outcome.stdout.contains("no errors, 2 warnings for npu2\n"), "{}", outcome.stdout);
        let outcome = airlink(at, &["check", "k.toml", "-L", folder, "-Werror"]).expect(1);
        assert!(outcome.stdout.contains(": 1 ELF, 1 launch, 2 errors for npu2\n"), "{}", outcome.stdout);
        expect_finding(&with_json(at, &["init", "k.mlir", "-L", folder]), 0, "warning AL0807");
        // Warnings are no noise.
        assert!(airlink(at, &["check", "k.toml", "-L", folder, "-q"]).expect(0).stderr.contains("AL0807"));
    }
}

/// Whoever builds for the NPU names objects of the NPU.
#[test]
fn an_object_of_another_machine_matters_only_where_objects_are_linked() {
    let folder = project();
    let at = folder.path();
    write(at, "fill.aie.o", aie_object(&["linalg_fill_bf16"]));
    write(at, "wrong.o", aie_object(&["other"]));
    write(at, "g.toml", format!("{GRAPH}objects = {{ \"fill.o\" = \"fill.aie.o\" }}\n"));
    write(at, "w.toml", format!("{GRAPH}objects = {{ \"fill.o\" = \"wrong.o\" }}\n"));
    for args in
        [&["stitch", "g.toml", "--emit", "mlir,map", "-o", "out"][..], &["plan", "g.toml"], &["check", "g.toml"]]
    {
        airlink(at, args).expect(0);
    }
    for args in
        [&["stitch", "g.toml", "-o", "o"][..], &["stitch", "g.toml", "--emit", "obj", "-o", "o"], &["verify", "g.toml"]]
    {
        expect_finding(&with_json(at, args), 1, "error AL0709");
    }
    // What it defines counts all the same.
    expect_finding(&with_json(at, &["check", "w.toml"]), 1, "error AL0406");
}

#[test]
fn an_output_that_cannot_be_one() {
    let folder = project();
    let at = folder.path();
    write(at, "file", "");
    std::fs::create_dir(at.join("dir")).expect("a folder");
    let outcome = airlink(at, &["stitch", "k.toml", "-o", "file"]).expect(3);
    assert!(outcome.stderr.contains("`file` is not a folder"), "{}", outcome.stderr);
    let outcome = airlink(at, &["init", "k.mlir", "-o", "dir"]).expect(3);
    assert!(outcome.stderr.contains("`dir` is a folder"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("-o dir/graph.toml"), "{}", outcome.stderr);
    for (option, place) in [("-o", "dir"), ("--log", "file/log.md")] {
        let outcome = airlink(at, &["plan", "k.toml", option, place]).expect(3);
        assert!(outcome.stderr.contains("AL0802"), "{}", outcome.stderr);
    }
    for command in ["check", "verify"] {
        let outcome = airlink(at, &[command, "k.toml", "-o", "out"]).expect(2);
        assert!(outcome.stderr.contains("`-o` has no meaning"), "{}", outcome.stderr);
    }
}

#[test]
fn codes_are_found_by_their_number() {
    let folder = project();
    let page = airlink(folder.path(), &["explain", "AL0702"]).expect(0).stdout;
    for name in ["702", "0702", "al0702", "al702"] {
        assert_eq!(airlink(folder.path(), &["explain", name]).expect(0).stdout, page, "{name}");
    }
    for name in ["AL", "", "+702", "AL9999", "é"] {
        airlink(folder.path(), &["explain", name]).expect(2);
    }
}

#[test]
fn init_writes_what_a_library_folder_gave() {
    let folder = project();
    let at = folder.path();
    airlink(at, &["stitch", "k.toml", "--emit", "obj", "-o", "build"]).expect(0);
    airlink(at, &["init", "k.mlir", "-L", "build", "-o", "graphs/g.toml"]).expect(0);
    let graph = std::fs::read_to_string(at.join("graphs/g.toml")).expect("written");
    assert!(graph.contains("objects = { \"fill.o\" = \"../build/fill.o\" }"), "{graph}");
    airlink(at, &["stitch", "graphs/g.toml", "-o", "out"]).expect(0);
    let map = std::fs::read_to_string(at.join("out/g.map.json")).expect("written");
    assert!(map.contains("../build/fill.o"), "{map}");
    let text = airlink(at, &["inspect", "out/g.map.json"]).expect(0).stdout;
    assert!(text.contains("not to be written before a run (intermediate, output, dead)"), "{text}");
}

/// An object for AMD's AI engines that defines `symbols`.
fn aie_object(symbols: &[&str]) -> Vec<u8> {
    use object::write::{Object, StandardSection, Symbol, SymbolSection};
    let format = object::BinaryFormat::Elf;
    let mut object = Object::new(format, object::Architecture::I386, object::Endianness::Little);
    let text = object.section_id(StandardSection::Text);
    for name in symbols {
        object.append_section_data(text, &[0; 16], 16);
        object.add_symbol(Symbol {
            name: name.as_bytes().to_vec(),
            value: 0,
            size: 16,
            kind: object::SymbolKind::Text,
            scope: object::SymbolScope::Linkage,
            weak: false,
            section: SymbolSection::Section(text),
            flags: object::SymbolFlags::None,
        });
    }
    let mut bytes = object.write().expect("an object");
    // `e_machine`: 264 is theirs.
    bytes[18..20].copy_from_slice(&264u16.to_le_bytes());
    bytes
}
