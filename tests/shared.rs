//! The shared corpus of real modules: every graph, against what the public stitcher made and what its callers declare.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use object::{Object, ObjectSymbol};
use serde_json::Value;

use crate::project::{Outcome, airlink, files, shared};

/// Graphs whose declared role for one argument contradicts the dataflow: its row 0 is written through a view. In
/// `llama32_1b_int4__decode__o_gemv_ffn_int4` the caller also lists dead placeholders as intermediate; the index lists
/// are equal all the same, since nobody need write those either.
const WITH_CONTRADICTED_ROLES: &[&str] =
    &["llama32_1b__decode__o_gemv_ffn", "llama32_1b_int4__decode__o_gemv_ffn_int4", "qwen3_0_6b__decode__o_gemv_ffn"];

/// Decode graphs with channels.
const WITH_CHANNELS: &[&str] = &[
    "llama32_1b__decode__o_gemv_ffn",
    "llama32_1b_int4__decode__o_gemv_ffn_int4",
    "llama32_1b_int4__decode__rms_qkv_int4_rope",
    "qwen3_0_6b__decode__o_gemv_ffn",
];

/// Full-size runs take seconds each and this much memory that two at a time are enough.
const VERIFY_THREAD_COUNT: usize = 2;

#[test]
fn every_graph_stitches_and_the_results_pass_opt() {
    let Some(graphs) = graphs() else { return };
    let mut wrong = Vec::new();
    for graph in &graphs {
        let (out, outcome) = stitch_modules(graph);
        let written = files(&out.path().join("out"));
        let modules = written.iter().filter(|(n, _)| n.ends_with(".mlir")).count();
        let maps = written.iter().filter(|(n, _)| n.ends_with(".map.json")).count();
        if outcome.code != 0 || modules == 0 || maps != modules || written.len() != 2 * modules {
            wrong.push(format!("{}: exit {}\n{}{}", stem(graph), outcome.code, outcome.stdout, outcome.stderr));
        }
        let warns = outcome.findings().iter().any(|f| f == "warning AL0213");
        if warns != WITH_CONTRADICTED_ROLES.contains(&stem(graph).as_str()) {
            wrong.push(format!("{}: AL0213 is {warns}", stem(graph)));
        }
        for (name, bytes) in written.iter().filter(|(n, _)| n.ends_with(".mlir")) {
            let opt = airlink(&out.path().join("out"), &["opt", name]);
            if opt.code != 0 || opt.stdout.as_bytes() != bytes {
                wrong.push(format!("{}: opt of {name} exits {} or prints another text", stem(graph), opt.code));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn graphs_with_a_public_result_are_the_same_program() {
    let Some(shared) = shared() else { return };
    let Some(graphs) = graphs() else { return };
    let mut compared = 0;
    let mut wrong = Vec::new();
    for graph in &graphs {
        let fused = shared.join("corpus/fused").join(format!("{}.mlir", stem(graph)));
        if !fused.is_file() {
            continue;
        }
        let (out, outcome) = stitch_modules(graph);
        let module = files(&out.path().join("out")).into_iter().map(|(n, _)| n).find(|n| n.ends_with(".mlir"));
        let Some(module) = module else {
            wrong.push(format!("{}: no module\n{}", stem(graph), outcome.stderr));
            continue;
        };
        let diff = airlink(&out.path().join("out"), &["diff", &module, &fused.to_string_lossy()]);
        compared += 1;
        if diff.code != 0 {
            wrong.push(format!("{}: exit {}\n{}{}", stem(graph), diff.code, diff.stdout, diff.stderr));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(compared, 25);
}

#[test]
fn two_different_programs_differ() {
    let Some(shared) = shared() else { return };
    let fused = shared.join("corpus/fused");
    let other = ["llama32_1b__decode__lm_head_gemv.mlir", "qwen3_0_6b__decode__lm_head_gemv.mlir"];
    let outcome = airlink(&fused, &["diff", other[0], other[1]]).expect(5);
    assert!(!outcome.stdout.is_empty() || !outcome.stderr.is_empty());
}

#[test]
fn roles_and_index_lists_are_those_of_the_manifest() {
    let Some(shared) = shared() else { return };
    let text = std::fs::read_to_string(shared.join("corpus/manifest.json")).expect("readable");
    let manifest: Value = serde_json::from_str(&text).expect("JSON");
    let entries = manifest["fused"].as_array().expect("a list");
    assert_eq!(entries.len(), 25);
    for entry in entries {
        let graph = shared.join("corpus").join(entry["graph"].as_str().expect("a path"));
        let (out, _) = stitch_modules(&graph);
        let map = map(out.path());
        let roles: Vec<&Value> = map["arguments"].as_array().expect("a list").iter().map(|a| &a["role"]).collect();
        // The manifest leaves open whether what is only read is static, where the caller does not say.
        let only_read = Value::from("input");
        let all = entry["roles"].as_array().expect("a list").iter();
        let wanted: Vec<&Value> = all.map(|role| if role.is_null() { &only_read } else { role }).collect();
        assert_eq!(roles, wanted, "{}", stem(&graph));
        if entry["phase"] != "decode" {
            continue;
        }
        for list in ["static_input_indices", "output_indices", "intermediate_indices"] {
            assert_eq!(map[list], entry["run"][list], "{}: {list}", stem(&graph));
        }
    }
}

#[test]
fn placeholders_that_the_caller_calls_intermediate_are_doubted() {
    let Some(shared) = shared() else { return };
    let corpus = shared.join("corpus");
    let text = std::fs::read_to_string(corpus.join("graphs/llama32_1b_int4__decode__o_gemv_ffn_int4.toml"));
    // The graph calls them dead, as they are; its public caller lists them as intermediate.
    let text = text.expect("readable").replace("role = \"dead\"", "role = \"intermediate\"");
    let text = text.replace("\"../kernels/", &format!("\"{}/", corpus.join("kernels").display()));
    let folder = tempfile::tempdir().expect("a folder");
    let graph = folder.path().join("graph.toml");
    std::fs::write(&graph, text).expect("writable");
    let (out, outcome) = stitch_modules(&graph);
    let outcome = outcome.expect(0);
    let doubted = outcome.findings().iter().filter(|f| *f == "warning AL0213").count();
    assert_eq!(doubted, 8, "seven placeholders and arg6:\n{}", outcome.stdout);
    assert_eq!(outcome.stdout.matches("is declared `intermediate`").count(), 7, "{}", outcome.stdout);
    let map = map(out.path());
    assert_eq!(map["arguments"][2]["role"], "intermediate");
    assert_eq!(map["arguments"][2]["dataflow"], "dead");
}

#[test]
fn the_post_attention_half_writes_its_files_with_distinct_symbols_and_is_bit_exact() {
    let Some(shared) = shared() else { return };
    let graph = shared.join("corpus/graphs/mission__o_gemv_ffn_8launch.toml");
    let out = tempfile::tempdir().expect("a folder");
    airlink(out.path(), &["stitch", &graph.to_string_lossy(), "-o", "out"]).expect(0);
    let written = files(&out.path().join("out"));
    let names: Vec<&str> = written.iter().map(|(n, _)| n.as_str()).collect();
    assert_eq!(
        names,
        ["mv.o", "mv_k8192.o", "o_gemv_ffn.elf", "o_gemv_ffn.map.json", "o_gemv_ffn.mlir", "silu_and_mul.o"]
    );
    let wanted = [
        ("mv.o", ["linalg_fill_bf16", "matvec_vectorized_bf16_bf16"]),
        ("mv_k8192.o", ["linalg_fill_bf16_k8192", "matvec_vectorized_bf16_bf16_k8192"]),
    ];
    for (file, symbols) in wanted {
        // `llvm.emit_c_interface` gives each kernel a twin behind this prefix; both forms follow the variant's name.
        let defined = defined(&written, file);
        let plain: Vec<&String> = defined.iter().filter(|s| !s.starts_with("_mlir_ciface_")).collect();
        assert_eq!(plain, symbols, "{file} defines {defined:?}");
        assert!(defined.iter().all(|s| s.ends_with("_k8192") == (file == "mv_k8192.o")), "{defined:?}");
    }
    let bytes = &written.iter().find(|(n, _)| n == "o_gemv_ffn.elf").expect("listed").1;
    assert!(object::File::parse(&**bytes).is_ok());
    airlink(out.path(), &["verify", &graph.to_string_lossy()]).expect(0);
}

#[test]
fn three_k_give_three_objects() {
    let Some(shared) = shared() else { return };
    let graph = shared.join("corpus/graphs/mission__nway.toml");
    let out = tempfile::tempdir().expect("a folder");
    airlink(out.path(), &["stitch", &graph.to_string_lossy(), "--emit", "obj,mlir", "-o", "out"]).expect(0);
    let written = files(&out.path().join("out"));
    let names: Vec<&str> = written.iter().map(|(n, _)| n.as_str()).collect();
    assert_eq!(names, ["mv.o", "mv_k14336.o", "mv_k8192.o", "nway.mlir"]);
    let mut all: Vec<String> = names[..3].iter().flat_map(|n| defined(&written, n)).collect();
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count, "a symbol is defined twice: {all:?}");
    let module = String::from_utf8(written[3].1.clone()).expect("UTF-8");
    for (file, suffix) in [("mv.o", ""), ("mv_k8192.o", "_k8192"), ("mv_k14336.o", "_k14336")] {
        assert!(all.contains(&format!("matvec_vectorized_bf16_bf16{suffix}")), "{all:?}");
        assert_eq!(module.matches(&format!("func.call @matvec_vectorized_bf16_bf16{suffix}(")).count(), 1);
        assert!(module.contains(&format!("link_with = \"{file}\"")));
    }
}

#[test]
fn decode_graphs_are_bit_exact() {
    let Some(graphs) = graphs() else { return };
    let is_wanted = |g: &&PathBuf| stem(g).contains("__decode__") || stem(g).ends_with("_decode_layer");
    // Two models may share a graph word for word, but for the comment in front.
    let mut texts = BTreeMap::new();
    for graph in graphs.iter().filter(is_wanted) {
        let text = std::fs::read_to_string(graph).expect("readable");
        let text: String = text.lines().filter(|l| !l.starts_with('#')).collect();
        texts.entry(text).or_insert(graph);
    }
    let list: Vec<_> = texts.into_values().collect();
    assert!(list.len() >= 21, "{} graphs", list.len());
    assert!(WITH_CHANNELS.iter().all(|name| list.iter().any(|g| stem(g) == *name)));
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(graph) = list.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = airlink(graph.parent().expect("a folder"), &["verify", &graph.to_string_lossy()]);
            let orders = outcome.stdout.contains("with tiles in a random order");
            let is_complete = orders == WITH_CHANNELS.contains(&stem(graph).as_str());
            if outcome.code != 0 || !outcome.stdout.contains("bit-exact: ") || !is_complete {
                let text = format!("{}: exit {}\n{}{}", stem(graph), outcome.code, outcome.stdout, outcome.stderr);
                wrong.lock().expect("no panic").push(text);
            }
        }
    };
    std::thread::scope(|scope| (0..VERIFY_THREAD_COUNT).for_each(|_| drop(scope.spawn(work))));
    let wrong = wrong.into_inner().expect("no panic");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_same_bytes_from_any_working_directory_and_from_a_path_with_a_blank() {
    let Some(shared) = shared() else { return };
    let corpus = shared.join("corpus");
    let name = "graphs/mission__o_gemv_ffn_8launch.toml";
    let out = tempfile::tempdir().expect("a folder");
    let copy = out.path().join("a copy of it");
    for folder in ["graphs", "kernels", "extra"] {
        copy_folder(&corpus.join(folder), &copy.join(folder));
    }
    let runs = [
        (corpus.join("graphs"), "mission__o_gemv_ffn_8launch.toml".to_string()),
        (out.path().to_path_buf(), corpus.join(name).to_string_lossy().into_owned()),
        (out.path().to_path_buf(), format!("a copy of it/{name}")),
    ];
    let mut first = None;
    for (i, (folder, graph)) in runs.iter().enumerate() {
        let target = out.path().join(format!("out {i}"));
        airlink(folder, &["stitch", graph, "-o", &target.to_string_lossy()]).expect(0);
        let written = files(&target);
        assert!(written.len() >= 6);
        let first = first.get_or_insert_with(|| written.clone());
        for (a, b) in first.iter().zip(&written) {
            assert!(a == b, "{} from `{graph}` in {} has other bytes", a.0, folder.display());
        }
        assert_eq!(first.len(), written.len());
    }
}

#[test]
fn placed_modules_parse() {
    let Some(shared) = shared() else { return };
    let mut list = Vec::new();
    collect_modules(&shared.join("placements/modules"), &mut list);
    list.sort();
    assert!(list.len() >= 40, "{} modules", list.len());
    // A sample over the whole list: parsing is one path, and a process for each of them would take minutes.
    let step = list.len() / 40;
    let mut wrong = Vec::new();
    for path in list.iter().step_by(step.max(1)) {
        let outcome = airlink(&shared, &["opt", &path.to_string_lossy()]);
        if outcome.code != 0 {
            wrong.push(format!("{}: exit {}\n{}", path.display(), outcome.code, outcome.stderr));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Stitches without splits into `out` of a fresh folder.
fn stitch_modules(graph: &Path) -> (tempfile::TempDir, Outcome) {
    let out = tempfile::tempdir().expect("a folder");
    let path = graph.to_string_lossy();
    let rest = ["--emit", "mlir,map", "--k-split", "off", "--message-format", "json", "-o", "out"];
    let outcome = airlink(out.path(), &[&["stitch", &path][..], &rest].concat());
    (out, outcome)
}

/// The one link map of a run.
fn map(folder: &Path) -> Value {
    let written = files(&folder.join("out"));
    let (_, bytes) = written.iter().find(|(n, _)| n.ends_with(".map.json")).expect("a map");
    serde_json::from_slice(bytes).expect("JSON")
}

/// The global symbols that an object defines, sorted.
fn defined(written: &[(String, Vec<u8>)], name: &str) -> Vec<String> {
    let (_, bytes) = written.iter().find(|(n, _)| n == name).expect("written");
    let file = object::File::parse(&**bytes).expect("an object");
    let symbols = file.symbols().filter(|s| s.is_definition() && s.is_global());
    let mut list: Vec<String> = symbols.map(|s| s.name().expect("UTF-8").to_string()).collect();
    list.sort();
    list
}

fn graphs() -> Option<Vec<PathBuf>> {
    let mut list = Vec::new();
    let entries = std::fs::read_dir(shared()?.join("corpus/graphs")).expect("the graphs are there");
    list.extend(entries.map(|e| e.expect("readable").path()).filter(|p| p.extension().is_some_and(|e| e == "toml")));
    list.sort();
    assert!(list.len() >= 29, "{} graphs", list.len());
    Some(list)
}

fn stem(path: &Path) -> String {
    path.file_stem().expect("named").to_string_lossy().into_owned()
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for (name, bytes) in files(from) {
        std::fs::write(to.join(name), bytes).expect("writable");
    }
}

fn collect_modules(folder: &Path, list: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            collect_modules(&path, list);
        } else if path.extension().is_some_and(|e| e == "mlir") {
            list.push(path);
        }
    }
}
