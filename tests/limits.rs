//! Limits of the device: against measured placements, on the corpus, and what the commands say of them.

use std::collections::BTreeMap;

use crate::project::{airlink, fixture, root, shared};

/// Causes of the placements and the code that names each.
const CAUSES: &[(&str, &str)] = &[
    ("bd-exhausted", "AL0301"),
    ("shim-channels", "AL0303"),
    ("herd-shape", "AL0305"),
    ("alignment", "AL0308"),
    ("repeat-count", "AL0309"),
    ("l2-overflow", "AL0310"),
    ("l1-overflow", "AL0311"),
    ("stride", "AL0313"),
    ("odd-trip-count", "AL0323"),
];

fn code_of(cause: &str) -> Option<&'static str> {
    CAUSES.iter().find(|(c, _)| *c == cause).map(|(_, code)| *code)
}

/// A measured placement.
type Row = BTreeMap<String, String>;

/// What `check` says of a row's module with its options: errors and warnings by code. Parity is a matter of ELFs, and
/// these kernels were measured in xclbins.
fn judged(folder: &std::path::Path, row: &Row) -> (Vec<String>, Vec<String>) {
    let mut args = vec!["check", row["file"].as_str(), "--device", &row["device"], "--message-format", "json"];
    let tiling = row["runtime_tiling"].replace('x', ",");
    if row["pingpong"] == "off" {
        args.push("--no-pingpong");
    }
    if row["runtime_tiling"] != "none" {
        args.extend(["--runtime-tiling", &tiling]);
    }
    // The GEMM runners ask for it; the others take the compiler's own.
    if row["kernel"].starts_with("gemm") {
        args.extend(["--stack-bytes", "2048"]);
    }
    let outcome = airlink(folder, &args);
    assert!([0, 1].contains(&outcome.code), "{}: exit {}\n{}", row["name"], outcome.code, outcome.stderr);
    let of = |severity: &str| -> Vec<String> {
        let found = outcome.findings();
        let codes = found.iter().filter_map(|f| f.strip_prefix(severity)).map(|c| c.trim().to_string());
        codes.filter(|c| c != "AL0316").collect()
    };
    (of("error"), of("warning"))
}

#[test]
fn every_measured_placement_has_its_verdict_and_cause() {
    let Some(folder) = shared().map(|s| s.join("placements")) else { return };
    let mut reader = csv::Reader::from_path(folder.join("placements.csv")).expect("the table is there");
    let rows: Vec<Row> = reader.deserialize().map(|row| row.expect("a row")).collect();
    let mut wrong = Vec::new();
    let mut support: BTreeMap<String, usize> = BTreeMap::new();
    let mut without_module = 0;
    for row in &rows {
        if row["file"].is_empty() {
            without_module += 1;
            continue;
        }
        let (errors, warnings) = judged(&folder, row);
        let verdict = match (errors.is_empty(), warnings.is_empty()) {
            (false, _) => "error",
            (true, false) => "warn",
            (true, true) => "ok",
        };
        // A note says which rule the configuration breaks as well: two published rows quote one text of two causes.
        let causes = code_of(&row["cause"]).into_iter().chain(also_counts(&row["note"]));
        let has_cause =
            row["cause"] == "none" || causes.into_iter().any(|c| errors.iter().chain(&warnings).any(|e| e == c));
        if verdict != row["verdict"] || !has_cause {
            wrong.push(format!(
                "{}: {} ({}), got {verdict} {errors:?} {warnings:?}",
                row["name"], row["verdict"], row["cause"]
            ));
        } else {
            *support.entry(row["cause"].clone()).or_default() += 1;
        }
    }
    for (cause, count) in &support {
        println!("{count:>5} rows support {cause}");
    }
    println!("{without_module:>5} rows without a module: the public builder refuses them");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(support.values().sum::<usize>() + without_module, rows.len());
}

fn also_counts(note: &str) -> Option<&'static str> {
    let (_, rest) = note.split_once("also counts: ")?;
    code_of(rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next()?)
}

#[test]
fn no_decode_graph_of_the_corpus_breaks_a_limit() {
    let Some(folder) = shared().map(|s| s.join("corpus/graphs")) else { return };
    let mut checked = 0;
    for entry in std::fs::read_dir(&folder).expect("the graphs are there") {
        let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        if !name.contains("decode") && !name.contains("mission") {
            continue;
        }
        let outcome = airlink(&folder, &["check", &name, "--message-format", "json"]);
        let errors: Vec<_> = outcome.findings().into_iter().filter(|f| f.starts_with("error")).collect();
        assert!(outcome.code == 0 && errors.is_empty(), "{name}: {errors:?}\n{}", outcome.stderr);
        checked += 1;
    }
    assert!(checked >= 24, "only {checked} graphs");
}

#[test]
fn limits_are_warnings_where_the_target_is_the_host() {
    let folder = fixture("bad/AL0311");
    let out = tempfile::tempdir().expect("a folder");
    let graph = "[graph]\nname = \"g\"\ndevice = \"npu2\"\n\n[[launch]]\nname = \"l\"\nkernel = \"k.air.mlir\"\nargs = [\"a\", \"b\", \"z\"]\n";
    std::fs::write(out.path().join("graph.toml"), graph).expect("written");
    std::fs::copy(folder.join("k.air.mlir"), out.path().join("k.air.mlir")).expect("copied");
    let stitch = ["stitch", "graph.toml", "-o", "out", "--emit", "mlir,map", "--message-format", "json"];
    let found = airlink(out.path(), &stitch).expect(0).findings();
    assert!(found.contains(&"warning AL0311".to_string()) && found.contains(&"note AL0316".to_string()), "{found:?}");
    let found = airlink(out.path(), &["check", "graph.toml", "--message-format", "json"]).expect(1).findings();
    assert!(found.contains(&"error AL0311".to_string()) && found.contains(&"warning AL0316".to_string()), "{found:?}");
}

#[test]
fn options_of_the_compiler_change_the_verdict() {
    let check = |code: &str, option: &[&str], exit: i32| {
        let folder = fixture("bad").join(code);
        let args = [&["check", "k.air.mlir", "--message-format", "json"][..], option].concat();
        let outcome = airlink(&folder, &args).expect(exit);
        outcome.findings()
    };
    check("AL0311", &[], 1);
    check("AL0311", &["--no-pingpong"], 0);
    check("AL0309", &[], 1);
    check("AL0309", &["--runtime-tiling", "16,16"], 0);
    let found = check("AL0323", &["--toolchain", "mlir-aie-af819a8"], 0);
    assert!(!found.contains(&"warning AL0316".to_string()), "{found:?}");
    check("AL0311", &["--no-pingpong", "--stack-bytes", "65536"], 1);
    check("AL0303", &["--device", "npu2"], 1);
}

#[test]
fn toolchains_are_listed_and_unknown_ones_refused() {
    let listed = airlink(&root(), &["check", "x.toml", "--toolchain", "list"]).expect(0).stdout;
    assert!(listed.starts_with("mlir-aie-7e00b57 ") && listed.contains("mlir-aie#3622"), "{listed}");
    let outcome = airlink(&root(), &["check", "x.toml", "--toolchain", "mlir-aie-1"]).expect(2);
    assert!(outcome.stderr.contains("--toolchain list"), "{}", outcome.stderr);
}

#[test]
fn a_log_is_explained_line_by_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = "compiling\r\n<x>:3:1: error: Too many simultaneously active buffer descriptors on tile (1,0), which supports up to 16\r\ndone \u{fffd}\n";
    std::fs::write(folder.path().join("build.log"), log).expect("written");
    let said = airlink(folder.path(), &["explain", "--log", "build.log"]).expect(0).stdout;
    assert!(said.starts_with("build.log:2: AL0301  buffer descriptors of a shim tile exhausted\n"), "{said}");
    assert!(said.contains("what to do: "), "{said}");
    let json = airlink(folder.path(), &["explain", "--log", "build.log", "--message-format", "json"]).expect(0);
    assert_eq!(json.findings(), ["note AL0301"]);
    std::fs::write(folder.path().join("other.log"), "nothing\n").expect("written");
    let said = airlink(folder.path(), &["explain", "--log", "other.log"]).expect(0).stdout;
    assert!(said.contains("no line of it is a message that airlink knows"), "{said}");
    airlink(folder.path(), &["explain", "--log", "absent.log"]).expect(3);
}

#[test]
fn resources_stand_in_the_plan_as_text_and_json_and_in_the_map() {
    let folder = fixture("graphs");
    let text = airlink(&folder, &["plan", "small_o_ffn.toml", "-q"]).expect(0).stdout;
    assert!(text.contains("BDs/16") && text.contains("PDI loads"), "{text}");
    let json = airlink(&folder, &["check", "small_o_ffn.toml", "--format", "json", "-q"]).expect(0).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let first = &json[0][1]["launches"][0]["resources"][0];
    assert!(first["kind"].is_string() && first["used"].as_u64() <= first["allowed"].as_u64(), "{first}");
    let out = tempfile::tempdir().expect("a folder");
    let target = out.path().to_str().expect("a plain path");
    airlink(&folder, &["stitch", "small_o_ffn.toml", "-o", target, "--emit", "map", "-q"]).expect(0);
    let map = std::fs::read_to_string(out.path().join("small_o_ffn.map.json")).expect("the map");
    let map: serde_json::Value = serde_json::from_str(&map).expect("JSON");
    assert_eq!(map["resources"]["device"], "npu2");
    assert_eq!(map["resources"]["launches"].as_array().map(Vec::len), Some(8));
}

/// An object for AI engines with that many bytes of code.
fn device_object(text_bytes: usize) -> Vec<u8> {
    use object::write::{Object, Symbol, SymbolSection};
    let mut object = Object::new(object::BinaryFormat::Elf, object::Architecture::I386, object::Endianness::Little);
    let text = object.section_id(object::write::StandardSection::Text);
    object.append_section_data(text, &vec![0; text_bytes], 4);
    object.add_symbol(Symbol {
        name: b"scale".to_vec(),
        value: 0,
        size: text_bytes as u64,
        kind: object::SymbolKind::Text,
        scope: object::SymbolScope::Dynamic,
        weak: false,
        section: SymbolSection::Section(text),
        flags: object::SymbolFlags::None,
    });
    let mut bytes = object.write().expect("it writes");
    // `e_machine` of the AI engines, which the crate does not know.
    bytes[18..20].copy_from_slice(&264u16.to_le_bytes());
    bytes
}

#[test]
fn code_of_the_devices_objects_counts_against_program_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let kernel = std::fs::read_to_string(fixture("kernels/silu_mul/512.air.mlir")).expect("the fixture is there");
    let object = kernel.split("link_with = \"").nth(1).and_then(|t| t.split('"').next()).expect("it links").to_string();
    let graph =
        "[graph]\nname = \"g\"\n\n[[launch]]\nname = \"l\"\nkernel = \"k.mlir\"\nargs = [\"a\", \"b\", \"z\"]\n";
    std::fs::write(folder.path().join("k.mlir"), kernel).expect("written");
    std::fs::write(folder.path().join("g.toml"), graph).expect("written");
    for (bytes, exit) in [(16_384, 0), (16_388, 1)] {
        std::fs::write(folder.path().join(&object), device_object(bytes)).expect("written");
        let outcome = airlink(folder.path(), &["check", "g.toml", "--message-format", "json"]).expect(exit);
        let is_found = outcome.findings().contains(&"error AL0312".to_string());
        assert_eq!(is_found, exit == 1, "{}", outcome.stdout);
    }
}

/// `check` on a module of our own; codes of its errors.
fn errors_of(body: &str) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("k.mlir"), body).expect("written");
    let found = airlink(folder.path(), &["check", "k.mlir", "--message-format", "json"]).findings();
    let mut errors: Vec<String> = found.iter().filter_map(|f| Some(f.strip_prefix("error ")?.to_string())).collect();
    errors.sort();
    errors.dedup();
    errors
}

/// A herd of `columns` tiles with one channel into it and that many ops of its body.
fn herd_with(columns: i64, channel: &str, put: &str, body: &str) -> String {
    format!(
        "module {{
  air.channel @c [1] {{channel_type = \"{channel}\"}}
  func.func @k(%a: memref<8x64xf32>, %z: memref<64xf32>) {{
    air.launch () in () args(%la=%a, %lz=%z) : memref<8x64xf32>, memref<64xf32> {{
      {put}
      air.segment @seg args(%sz=%lz) : memref<64xf32> {{
        %n = arith.constant {columns} : index
        %one = arith.constant 1 : index
        air.herd @herd tile (%x, %y) in (%nx=%n, %ny=%one) args(%hz=%sz) : memref<64xf32> {{
          %b = memref.alloc() : memref<64xf32, 2 : i32>
          {body}
          air.dma_memcpy_nd (%hz[] [] [], %b[] [] []) : (memref<64xf32>, memref<64xf32, 2 : i32>)
        }}
      }}
    }}
    return
  }}
}}
"
    )
}

#[test]
fn what_fits_in_unusual_forms_has_no_error() {
    let get = "air.channel.get @c[] (%b[] [] []) : (memref<64xf32, 2 : i32>)\n";
    // A short list of offsets leaves out the outer dimensions.
    let put = "air.channel.put @c[] (%la[64] [1, 64] [64, 1]) : (memref<8x64xf32>)";
    assert_eq!(errors_of(&herd_with(1, "npu_dma_stream", put, get)), [""; 0]);
    // 17 equal transfers are one descriptor that goes round; 17 register writes take no DMA channel.
    let puts = "air.channel.put @c[] (%la[0, 0] [1, 64] [64, 1]) : (memref<8x64xf32>)\n".repeat(3);
    assert_eq!(errors_of(&herd_with(1, "npu_dma_stream", &puts, &get.repeat(17))), [""; 0]);
    assert_eq!(errors_of(&herd_with(1, "npu_mmio", &puts, &get.repeat(3))), [""; 0]);
}

#[test]
fn a_herd_larger_than_any_array_is_refused_at_once() {
    for columns in [20_000, 1_000_000_000, i64::MAX] {
        assert_eq!(errors_of(&herd_with(columns, "npu_dma_stream", "", "")), ["AL0305"], "{columns}");
    }
}

#[test]
fn two_functions_of_one_kernel_file_are_judged_each() {
    let folder = tempfile::tempdir().expect("a folder");
    let function = |name: &str, n: u64| {
        let body = herd_with(1, "npu_dma_stream", "", "")
            .replace("64xf32", &format!("{n}xf32"))
            .replace("@k(", &format!("@{name}("));
        let start = body.find("  func.func").expect("a function");
        body[start..body.rfind("}\n").expect("an end")].to_string()
    };
    let module = format!("module {{\n{}{}}}\n", function("small", 64), function("large", 32_768));
    std::fs::write(folder.path().join("k.mlir"), module).expect("written");
    let launch = |name: &str| {
        format!(
            "\n[[launch]]\nname = \"{name}\"\nkernel = \"k.mlir\"\nfunc = \"{name}\"\nargs = [\"a_{name}\", \"z_{name}\"]\n"
        )
    };
    let graph = format!("[graph]\nname = \"g\"\n{}{}", launch("small"), launch("large"));
    std::fs::write(folder.path().join("g.toml"), graph).expect("written");
    let found = airlink(folder.path(), &["check", "g.toml", "--message-format", "json"]).expect(1).findings();
    assert!(found.contains(&"error AL0311".to_string()), "{found:?}");
}
