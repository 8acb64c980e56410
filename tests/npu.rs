//! NPU ELFs through the command: linked, inspected, compared.

use std::path::Path;

use airlink_elf::npu::{
    ControlWriter, Direction, FullParts, Part, ShimTransfer, Sync, description, empty_pdi, lint, pack_full,
    read_npu_elf, write_npu_elf,
};
use serde_json::Value;
use tempfile::TempDir;

use crate::project::{Outcome, airlink, files, shared};

const KERNEL: &str = "module {
  func.func @copy(%from: memref<128xi32>, %to: memref<128xi32>) {
    air.launch () in () args(%a=%from, %b=%to) : memref<128xi32>, memref<128xi32> {
      air.segment @s args(%c=%a, %d=%b) : memref<128xi32>, memref<128xi32> {
        %one = arith.constant 1 : index
        air.herd @h tile (%x, %y) in (%nx=%one, %ny=%one) args(%e=%c, %f=%d) : memref<128xi32>, memref<128xi32> {
          %l1 = memref.alloc() : memref<128xi32, 2 : i32>
          air.dma_memcpy_nd (%l1[] [] [], %e[] [] []) : (memref<128xi32, 2 : i32>, memref<128xi32>)
          air.dma_memcpy_nd (%f[] [] [], %l1[] [] []) : (memref<128xi32>, memref<128xi32, 2 : i32>)
          memref.dealloc %l1 : memref<128xi32, 2 : i32>
        }
      }
    }
    return
  }
}
";

const GRAPH: &str = "[graph]
name = \"g\"
device = \"npu2\"

[[buffer]]
name = \"packed\"
type = \"memref<2x128xi32>\"

[[view]]
name = \"row1\"
of = \"packed\"
offsets = [1, 0]
sizes = [1, 128]
type = \"memref<128xi32>\"

[[launch]]
name = \"first\"
kernel = \"copy.mlir\"
args = [\"x\", \"y\"]
elf = \"copy.elf\"

[[launch]]
name = \"second\"
kernel = \"copy.mlir\"
args = [\"y\", \"row1\"]
elf = \"copy.elf\"

[[launch]]
name = \"third\"
kernel = \"copy.mlir\"
args = [\"row1\", \"z\"]
elf = \"copy.elf\"
";

/// Resets the array and copies argument 0 to argument 1; `words` is what a whole kernel moves.
fn code(words: u32, has_load: bool) -> ControlWriter {
    let mut code = ControlWriter::npu2(8);
    if has_load {
        code.load_pdi(1);
    }
    code.write(0x23_2000, 1);
    for (direction, argument) in [(Direction::MM2S, 0), (Direction::S2MM, 1)] {
        let has_token = direction == Direction::S2MM;
        let (column, channel, bd, offset_bytes) = (0, 0, argument, 0);
        code.transfer(&ShimTransfer { column, direction, channel, bd, argument, offset_bytes, words, has_token });
    }
    code.sync(Sync { column: 0, row: 0, direction: 0, channel: 0, column_count: 1, row_count: 1 });
    code
}

/// `argument_count` is that of the signature.
fn kernel(code: &ControlWriter, argument_count: usize) -> Vec<u8> {
    let code = code.finish().expect("it fits");
    let parts = FullParts { kernel: "main", instance: "k", argument_count, code: &code, pdis: &[&empty_pdi()] };
    write_npu_elf(&pack_full(&parts).expect("its relocations follow")).expect("it fits")
}

fn project(graph: &str, compiled: &[(&str, Vec<u8>)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).expect("writable");
    write("copy.mlir", KERNEL.as_bytes());
    write("graph.toml", graph.as_bytes());
    compiled.iter().for_each(|(name, bytes)| write(name, bytes));
    folder
}

fn link(folder: &Path) -> Outcome {
    airlink(folder, &["link", "graph.toml", "-o", "out/fused.elf", "--message-format", "json"])
}

/// mlir-aie's signatures have three arguments at least.
fn good() -> Vec<(&'static str, Vec<u8>)> {
    vec![("copy.elf", kernel(&code(128, true), 3))]
}

#[test]
fn a_graph_of_compiled_kernels_becomes_one_elf_that_describes_itself() {
    let folder = project(GRAPH, &good());
    let outcome = link(folder.path()).expect(0);
    assert_eq!(outcome.findings(), Vec::<String>::new(), "{}", outcome.stdout);
    let bytes = std::fs::read(folder.path().join("out/fused.elf")).expect("written");
    assert_eq!(bytes[8], 0x10, "ABI 1.0 is the default");
    let elf = read_npu_elf(&bytes).expect("an NPU ELF");
    assert!(lint(&elf, "fused.elf").is_empty());
    let part = Part::of_elf(&elf).expect("a full ELF");
    assert_eq!(part.argument_count, 4);
    // Arguments by first use: x, y, packed, z; the view is a byte offset.
    let relocations: Vec<(&str, u32)> = part.code.relocations.iter().map(|r| (&*r.symbol, r.addend)).collect();
    assert_eq!(
        relocations,
        [
            (".pdi.1", 0),
            ("0", 0),
            ("1", 0),
            (".pdi.2", 0),
            ("1", 0),
            ("2", 512),
            (".pdi.1", 0),
            ("2", 512),
            ("3", 0),
            (".pdi.2", 0)
        ]
    );
    let described = description(&elf).expect("readable").expect("there");
    let names: Vec<&str> = described.arguments.iter().map(|a| a.name.as_str()).collect();
    assert_eq!(names, ["x", "y", "packed", "z"]);
    assert_eq!(described.arguments[2].bytes, Some(1024));
    assert_eq!(described.launches.len(), 3);
    assert!(described.has_closing_reset);
    // The same again, and in the other version of the layout.
    let again = airlink(folder.path(), &["link", "graph.toml", "-o", "again", "--elf-abi", "2.1"]).expect(0);
    assert_eq!(again.stdout, "wrote again/g.elf\n");
    let other = std::fs::read(folder.path().join("again/g.elf")).expect("written");
    let differing: Vec<usize> = (0..bytes.len()).filter(|i| bytes[*i] != other[*i]).collect();
    assert_eq!((bytes.len(), differing), (other.len(), vec![8]));
    airlink(folder.path(), &["link", "graph.toml", "--elf-abi", "0.2"]).expect(2);
}

#[test]
fn inspect_shows_what_is_in_it() {
    let folder = project(GRAPH, &good());
    link(folder.path()).expect(0);
    let text = airlink(folder.path(), &["inspect", "out/fused.elf"]).expect(0).stdout;
    for part in [
        "out/fused.elf: NPU full ELF for aie2p, ABI 1.0, 8 columns",
        "main:g  4 arguments",
        "2  packed",
        "second  0x",
        "y, packed + 512",
        "load_pdi 1  <- .pdi.1",
        "block_write shim(0,0) BD 0, 8 words: 128 words at 0x0  <- 0\n",
        "write shim(0,0) S2MM 0 queue = 0x80000001 (BD 1, with a token)",
        "sync S2MM 0 of tile (0,0)",
        "closing reset:",
        "resets the array and does nothing more",
    ] {
        assert!(text.contains(part), "`{part}` is missing in\n{text}");
    }
    let json = airlink(folder.path(), &["inspect", "out/fused.elf", "--format", "json"]).expect(0).stdout;
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["kind"], "npu_elf");
    let operations = &json["kernels"][0]["instances"][0]["sections"][0]["control"]["operations"];
    assert_eq!(operations[2]["descriptor"]["length_words"], 128);
    assert_eq!(operations[2]["launch"], "first");
    assert_eq!(json["description"]["arguments"][3]["name"], "z");
    // A kernel by itself is right once.
    let outcome = airlink(folder.path(), &["inspect", "copy.elf", "--message-format", "json"]).expect(0);
    assert_eq!(outcome.findings(), ["warning AL0641"]);
}

#[test]
fn diff_says_what_a_host_program_must_change() {
    let folder = project(GRAPH, &good());
    link(folder.path()).expect(0);
    let other = GRAPH.replace("args = [\"row1\", \"z\"]", "args = [\"z\", \"row1\"]");
    std::fs::write(folder.path().join("other.toml"), other).expect("writable");
    airlink(folder.path(), &["link", "other.toml", "-o", "other.elf"]).expect(0);
    let same = airlink(folder.path(), &["diff", "out/fused.elf", "out/fused.elf"]).expect(0);
    assert_eq!(same.stdout, "the same ABI and operations\n");
    let outcome = airlink(folder.path(), &["diff", "out/fused.elf", "other.elf"]).expect(5);
    assert!(outcome.stdout.starts_with("a host program must change:\n"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("  `z` is output in a, input in b\n"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("operations differ:\n  `main:g`, 0x"), "{}", outcome.stdout);
    let outcome = airlink(folder.path(), &["diff", "out/fused.elf", "copy.elf"]).expect(5);
    assert!(outcome.stdout.contains("opens `main:g` in a, `main:k` in b"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("takes 4 arguments in a, 3 in b"), "{}", outcome.stdout);
    airlink(folder.path(), &["diff", "out/fused.elf", "copy.mlir"]).expect(1);
}

#[test]
fn control_code_and_its_pdi_are_linked_too() {
    let graph = GRAPH.replace("elf = \"copy.elf\"", "elf = \"copy.bin\"\npdi = \"copy.pdi\"");
    let stream = code(128, false).finish().expect("it fits");
    let folder = project(&graph, &[("copy.bin", stream), ("copy.pdi", empty_pdi())]);
    let outcome = link(folder.path()).expect(0);
    assert_eq!(outcome.findings(), Vec::<String>::new());
    let elf = read_npu_elf(&std::fs::read(folder.path().join("out/fused.elf")).expect("written")).expect("an NPU ELF");
    let whole = project(GRAPH, &good());
    link(whole.path()).expect(0);
    let from_elfs = read_npu_elf(&std::fs::read(whole.path().join("out/fused.elf")).expect("written")).expect("one");
    assert_eq!(elf.kernels, from_elfs.kernels, "as from full ELFs");
    for (file, what) in [("copy.bin", "copy.bin: control code"), ("copy.pdi", "copy.pdi: PDI `aie_image`")] {
        let text = airlink(folder.path(), &["inspect", file]).expect(0).stdout;
        assert!(text.starts_with(what), "{text}");
    }
}

/// A run that refuses, and what it says.
fn refused(graph: &str, compiled: &[(&str, Vec<u8>)]) -> Vec<String> {
    let folder = project(graph, compiled);
    let outcome = link(folder.path()).expect(1);
    assert!(files(&folder.path().join("out")).is_empty(), "something was written");
    outcome.findings().into_iter().filter(|f| f.starts_with("error")).collect()
}

#[test]
fn what_cannot_be_linked_is_refused_with_a_code() {
    let with = |code: &ControlWriter| vec![("copy.elf", kernel(code, 2))];
    let second = GRAPH.replacen("elf = \"copy.elf\"", "elf = \"other.elf\"", 1);
    let two = |other: &ControlWriter| vec![("copy.elf", kernel(&code(128, true), 2)), ("other.elf", kernel(other, 2))];
    let mut narrow = ControlWriter::npu2(4);
    narrow.load_pdi(1);
    let mut late = ControlWriter::npu2(8);
    late.write(0x23_2000, 1).load_pdi(1);
    let mut preemptible = code(128, true);
    preemptible.preempt(1);
    let mut stateful = code(128, true);
    stateful.create_scratchpad(64).update_state(0, 1);
    let mut unknown = kernel(&code(128, true), 2);
    let header = unknown.windows(8).position(|w| w == [0, 1, 4, 6, 8, 1, 0, 0]).expect("the code's header");
    unknown[header + 16] = 0x42;
    let mut broken_pdi = empty_pdi();
    broken_pdi[0x60] ^= 1;
    let stream = code(128, false).finish().expect("it fits");
    let of_stream = GRAPH.replace("elf = \"copy.elf\"", "elf = \"copy.bin\"\npdi = \"copy.pdi\"");
    let without_pdi = GRAPH.replace("elf = \"copy.elf\"", "elf = \"copy.bin\"");
    let cases: Vec<(&str, String, Vec<(&str, Vec<u8>)>)> = vec![
        ("AL0731", GRAPH.replace("elf = \"copy.elf\"\n", ""), vec![]),
        ("AL0731", without_pdi, vec![("copy.bin", stream.clone())]),
        ("AL0730", GRAPH.to_string(), vec![("copy.elf", KERNEL.as_bytes().to_vec())]),
        ("AL0730", GRAPH.to_string(), vec![("copy.elf", kernel(&code(128, true), 2)[..400].to_vec())]),
        ("AL0732", of_stream, vec![("copy.bin", stream), ("copy.pdi", broken_pdi)]),
        ("AL0733", second, two(&narrow)),
        ("AL0734", GRAPH.to_string(), with(&late)),
        ("AL0735", GRAPH.to_string(), vec![("copy.elf", kernel(&code(128, true), 5))]),
        ("AL0736", GRAPH.to_string(), with(&preemptible)),
        ("AL0737", GRAPH.to_string(), with(&stateful)),
        ("AL0646", GRAPH.to_string(), vec![("copy.elf", unknown)]),
        ("AL0644", GRAPH.to_string(), with(&code(132, true))),
        ("AL0801", GRAPH.to_string(), vec![]),
    ];
    for (expected, graph, compiled) in cases {
        let said = refused(&graph, &compiled);
        assert!(said.contains(&format!("error {expected}")), "{expected}: {said:?}");
    }
}

#[test]
fn the_shared_kernels_are_linked_and_compared() {
    let Some(shared) = shared() else { return };
    let elf = |name: &str| std::fs::read(shared.join("npu/elf").join(name)).expect("readable");
    let graph = "[graph]\nname = \"ab\"\n\n[[launch]]\nname = \"a\"\nkernel = \"copy.mlir\"\nargs = [\"x\", \"y\"]\nelf = \"ka.elf\"\n\n\
                 [[launch]]\nname = \"b\"\nkernel = \"copy.mlir\"\nargs = [\"y\", \"z\"]\nelf = \"kb.elf\"\n";
    // Their transfers start 64 bytes into the output.
    let kernel = KERNEL.replace("128xi32", "256xi32");
    let folder =
        project(graph, &[("ka.elf", elf("ka.elf")), ("kb.elf", elf("kb.elf")), ("theirs.elf", elf("linked_ab.elf"))]);
    std::fs::write(folder.path().join("copy.mlir"), kernel).expect("writable");
    airlink(folder.path(), &["link", "graph.toml", "-o", "ours.elf", "--elf-abi", "2.1"]).expect(0);
    let outcome = airlink(folder.path(), &["diff", "ours.elf", "theirs.elf"]).expect(5);
    // The same operations under another name.
    assert_eq!(
        outcome.stdout,
        "a host program must change:\n  a host program opens `main:ab` in a, `main:fused` in b\n"
    );
    for name in ["full.elf", "54980cf2_17f0_10_preemption_memtile_4x4.elf", "baf35b77_1640_00_nop.elf"] {
        let path = shared.join("npu/elf").join(name);
        airlink(folder.path(), &["inspect", path.to_str().expect("UTF-8")]).expect(0);
        airlink(folder.path(), &["inspect", path.to_str().expect("UTF-8"), "--format", "json"]).expect(0);
    }
}
