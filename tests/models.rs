//! Whole models: a decode step as one short graph, planned to few ELFs that the layers share.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use serde_json::Value;

use crate::project::{airlink, files, fixture, root, shared};

/// The plan of a graph as JSON.
fn plan(folder: &Path, graph: &str, options: &[&str]) -> Value {
    let args = [&["plan", graph, "--format", "json"][..], options].concat();
    serde_json::from_str(&airlink(folder, &args).expect(0).stdout).expect("JSON")
}

/// Per ELF: launches and calls.
fn shape(plan: &Value) -> Vec<(usize, usize)> {
    let len = |v: &Value| v.as_array().map_or(0, Vec::len);
    plan["elfs"].as_array().expect("a list").iter().map(|e| (len(&e["launches"]), len(&e["calls"]).max(1))).collect()
}

#[test]
fn the_example_models_share_their_elfs_among_layers() {
    let folder = root().join("examples/models");
    assert_eq!(shape(&plan(&folder, "llama32_1b.toml", &[])), [(6, 16), (8, 16), (8, 1)]);
    let qwen = plan(&folder, "qwen25_0_5b.toml", &[]);
    assert_eq!(shape(&qwen), [(9, 24), (1, 24), (1, 24), (1, 24), (1, 24), (19, 1)]);
    // Each call passes its own layer's buffers.
    let calls = &qwen["elfs"][4]["calls"];
    assert_eq!(calls[0], serde_json::json!(["w_down_0", "act_0", "down_out_0"]));
    assert_eq!(calls[23], serde_json::json!(["w_down_23", "act_23", "down_out_23"]));
}

#[test]
fn elfs_may_cross_the_layers() {
    let folder = root().join("examples/models");
    let across = plan(&folder, "llama32_1b.toml", &["--unroll"]);
    let launches: Vec<usize> = shape(&across).iter().map(|(l, _)| *l).collect();
    assert_eq!(launches, [&[6][..], &[14; 15][..], &[8, 8][..]].concat());
}

#[test]
fn shared_elfs_are_stitched_once() {
    let out = tempfile::tempdir().expect("a folder");
    let target = out.path().to_str().expect("a plain path");
    let args = ["stitch", "llama32_1b.toml", "-o", target, "--emit", "mlir,map", "-q"];
    airlink(&root().join("examples/models"), &args).expect(0);
    let written: Vec<String> = files(out.path()).into_iter().map(|(n, _)| n).collect();
    let names = ["1", "2", "3"].map(|n| ["map.json", "mlir"].map(|e| format!("llama32_1b_{n}.{e}"))).concat();
    assert_eq!(written, names);
    let map = std::fs::read_to_string(out.path().join("llama32_1b_2.map.json")).expect("a map");
    let map: Value = serde_json::from_str(&map).expect("JSON");
    assert_eq!(map["calls"].as_array().map(Vec::len), Some(16));
    assert_eq!(map["arguments"].as_array().map(Vec::len), map["calls"][15].as_array().map(Vec::len));
}

#[test]
fn a_shared_elf_is_verified_by_its_first_call() {
    let text = airlink(&fixture("graphs"), &["verify", "layers.toml", "-q", "--message-format", "short"]).expect(0);
    assert!(!text.stderr.contains("error"), "{}", text.stderr);
    let said = airlink(&fixture("graphs"), &["verify", "layers.toml"]).expect(0).stdout;
    assert!(said.contains("bit-exact") && said.contains("called 3 times"), "{said}");
}

#[test]
fn the_eight_launch_graph_has_no_hazards() {
    let Some(shared) = shared() else { return };
    let folder = shared.join("corpus/graphs");
    let plan = plan(&folder, "mission__o_gemv_ffn_8launch.toml", &[]);
    let codes: Vec<&str> =
        plan["findings"].as_array().expect("a list").iter().filter_map(|f| f["code"].as_str()).collect();
    let hazards = ["AL0213", "AL0219", "AL0220", "AL0226", "AL0227", "AL0228", "AL0320"];
    assert!(codes.iter().all(|c| !hazards.contains(c)), "{codes:?}");
    assert_eq!(shape(&self::plan(&folder, "mission__llama32_1b_decode_layer.toml", &[])), [(6, 1), (8, 1)]);
}

#[test]
fn cuts_follow_the_options() {
    let folder = fixture("graphs");
    let launches = |options: &[&str]| -> Vec<usize> {
        shape(&plan(&folder, "small_o_ffn.toml", options)).iter().map(|(l, _)| *l).collect()
    };
    assert_eq!(launches(&[]), [8]);
    assert_eq!(launches(&["--max-launches", "3"]), [3, 3, 2]);
    assert_eq!(launches(&["--objective", "bytes"]), [8]);
    // 15 arguments go into an xclbin of 16.
    let npu1 = airlink(&folder, &["plan", "small_o_ffn.toml", "--device", "npu1", "--objective", "compile", "-q"]);
    assert_eq!(npu1.code, 0, "{}", npu1.stderr);
    let time = airlink(&folder, &["plan", "small_o_ffn.toml", "--objective", "time"]);
    assert!(time.code == 2 && time.stderr.contains("not implemented yet"), "{}", time.stderr);
}

/// A fused ELF of the corpus in a model: its graph, the argument that is the layer's input, the residual that is the
/// same, and what follows.
struct Part {
    name: &'static str,
    layer_inputs: &'static [usize],
    /// The host step behind it; none for a call that another follows at once.
    host: Option<&'static str>,
}

const fn part(name: &'static str, layer_inputs: &'static [usize], host: Option<&'static str>) -> Part {
    Part { name, layer_inputs, host }
}

const QWEN25: [Part; 5] = [
    part("rms_qkv_bias_rope_gemv", &[0], Some("attention")),
    part("o_gemv", &[], Some("residual_norm")),
    part("gate_gemv", &[], None),
    part("up_gemv", &[], Some("swiglu")),
    part("down_gemv", &[], Some("residual")),
];

/// The models of the corpus, and how many ELFs their public builders make of a layer.
const MODELS: [(&str, &[Part], usize); 5] = [
    ("llama32_1b", &[part("rms_gemv_rope", &[0], Some("attention")), part("o_gemv_ffn", &[3], None)], 2),
    ("llama32_1b_int4", &[part("rms_qkv_int4_rope", &[0], Some("attention")), part("o_gemv_ffn_int4", &[3], None)], 2),
    ("qwen3_0_6b", &[part("rms_qkv_qknorm_rope_gemv", &[0], Some("attention")), part("o_gemv_ffn", &[3], None)], 2),
    ("qwen25_0_5b", &QWEN25, 5),
    ("qwen25_1_5b", &QWEN25, 5),
];

#[test]
fn whole_models_plan_to_the_published_number_of_elfs() {
    let Some(shared) = shared() else { return };
    let corpus = shared.join("corpus");
    let manifest = std::fs::read_to_string(corpus.join("manifest.json")).expect("a manifest");
    let manifest: Value = serde_json::from_str(&manifest).expect("JSON");
    let folder = tempfile::tempdir().expect("a folder");
    for (model, parts, elf_count) in MODELS {
        let layer_count = manifest["configs"][model]["n_layers"].as_u64().expect("a number") as usize;
        let text = graph(&manifest, &corpus, model, parts, layer_count);
        std::fs::write(folder.path().join("model.toml"), &text).expect("written");
        let plan = plan(folder.path(), "model.toml", &[]);
        let shape = shape(&plan);
        assert_eq!(shape.len(), elf_count + 1, "{model}: {shape:?}\n{text}");
        assert!(shape[..elf_count].iter().all(|(_, calls)| *calls == layer_count), "{model}: {shape:?}");
        assert_eq!(shape[elf_count].1, 1, "{model}: {shape:?}");
        let errors = plan["findings"].as_array().expect("a list").iter().filter(|f| f["severity"] == "error");
        assert_eq!(errors.count(), 0, "{model}");
    }
}

/// A decode step of a model: its parts as a block, then the last norm on the host and the vocabulary.
fn graph(manifest: &Value, corpus: &Path, model: &str, parts: &[Part], layer_count: usize) -> String {
    let mut text = format!("[graph]\nname = \"{model}\"\ndevice = \"npu2\"\nref = {{ rope = \"rope_halfsplit\" }}\n");
    let first = fused(manifest, model, parts[0].name);
    let tiling = &first["backend"]["runtime_loop_tiling_sizes"];
    if tiling.is_array() {
        let _ = write!(text, "[graph.compiler]\nping_pong = \"off\"\nruntime_tiling = {tiling}\n");
    }
    let _ = write!(text, "[[block]]\nname = \"layer\"\ncount = {layer_count}\n");
    for (at, one) in parts.iter().enumerate() {
        let is_alone = one.host.is_none() && at + 1 < parts.len() || at > 0 && parts[at - 1].host.is_none();
        let is_last = at + 1 == parts.len();
        add_part(&mut text, manifest, corpus, model, one, "block.", is_alone, is_last);
        let host = one.host.unwrap_or_default();
        if !host.is_empty() {
            let next = parts.get(at + 1).map(|p| p.name);
            let reads = roles(manifest, model, one.name, "output").map(|i| format!("\"{}_arg{i}_{{i}}\"", one.name));
            let mut writes: Vec<String> = next
                .map(|n| roles(manifest, model, n, "input").map(|i| format!("\"{n}_arg{i}_{{i}}\"")).collect())
                .unwrap_or_default();
            let inputs = next.and_then(|n| parts.iter().find(|p| p.name == n)).map_or(&[][..], |p| p.layer_inputs);
            writes.retain(|w| !inputs.iter().any(|i| w.contains(&format!("_arg{i}_"))));
            if next.is_none() {
                writes.push("\"x_{i+1}\"".to_string());
            }
            // Gate and up get one vector from the host.
            if let Some(second) = parts.get(at + 2).filter(|_| parts.get(at + 1).is_some_and(|p| p.host.is_none())) {
                writes.extend(
                    roles(manifest, model, second.name, "input").map(|i| format!("\"{}_arg{i}_{{i}}\"", second.name)),
                );
            }
            let (reads, writes) = (reads.collect::<Vec<_>>().join(", "), writes.join(", "));
            let _ = write!(text, "[[block.host]]\nname = \"{host}_{{i}}\"\nreads = [{reads}]\nwrites = [{writes}]\n");
        }
    }
    let _ = write!(
        text,
        "[[host]]\nname = \"last_norm\"\nreads = [\"x_{layer_count}\"]\nwrites = [\"lm_head_gemv_arg0\"]\n"
    );
    add_part(&mut text, manifest, corpus, model, &part("lm_head_gemv", &[], None), "", false, false);
    text
}

fn fused<'m>(manifest: &'m Value, model: &str, name: &str) -> &'m Value {
    let all = manifest["fused"].as_array().expect("a list");
    let one = all.iter().find(|f| f["model"] == model && f["phase"] == "decode" && f["name"] == name);
    one.unwrap_or_else(|| panic!("no {name} of {model}"))
}

fn roles<'m>(
    manifest: &'m Value,
    model: &str,
    name: &str,
    role: &'static str,
) -> impl Iterator<Item = usize> + use<'m> {
    let roles = fused(manifest, model, name)["roles"].as_array().expect("a list");
    roles.iter().enumerate().filter(move |(_, r)| **r == role).map(|(i, _)| i)
}

/// The launches of a fused ELF as its graph in the corpus wires them, with the buffers under names of their own.
#[expect(clippy::too_many_arguments, reason = "a test's text builder")]
fn add_part(
    text: &mut String,
    manifest: &Value,
    corpus: &Path,
    model: &str,
    one: &Part,
    prefix: &str,
    is_alone: bool,
    is_last: bool,
) {
    let name = one.name;
    let suffix = if prefix.is_empty() { "" } else { "_{i}" };
    let path = corpus.join(fused(manifest, model, name)["graph"].as_str().expect("a path"));
    let source: toml::Table = std::fs::read_to_string(path).expect("a graph").parse().expect("TOML");
    let output = roles(manifest, model, name, "output").last();
    let rename = |arg: &str| match arg.strip_prefix("arg").map(|n| n.parse::<usize>()) {
        Some(Ok(i)) if one.layer_inputs.contains(&i) => "x_{i}".to_string(),
        Some(Ok(i)) if is_last && one.host.is_none() && Some(i) == output => "x_{i+1}".to_string(),
        _ => format!("{name}_{arg}{suffix}"),
    };
    let tables = |key: &str| source.get(key).and_then(|t| t.as_array()).cloned().unwrap_or_default();
    let used: BTreeMap<String, ()> = tables("launch")
        .iter()
        .flat_map(|l| l["args"].as_array().expect("a list").clone())
        .map(|a| (a.as_str().expect("text").to_string(), ()))
        .collect();
    let views = tables("view");
    for buffer in tables("buffer") {
        let of = buffer["name"].as_str().expect("text");
        let is_viewed = views.iter().any(|v| v["of"].as_str() == Some(of));
        let is_static = buffer.get("role").and_then(|r| r.as_str()) == Some("static") && !is_viewed;
        if is_viewed || (used.contains_key(of) && is_static) {
            let role = if is_static { "role = \"static\"\n" } else { "" };
            let _ = write!(text, "[[{prefix}buffer]]\nname = \"{}\"\ntype = {}\n{role}", rename(of), buffer["type"]);
        }
    }
    for view in views {
        let (view_name, of) = (view["name"].as_str().expect("text"), view["of"].as_str().expect("text"));
        let _ = write!(text, "[[{prefix}view]]\nname = \"{}\"\nof = \"{}\"\n", rename(view_name), rename(of));
        for key in ["offsets", "sizes", "strides", "type"] {
            let _ = view.get(key).map(|v| writeln!(text, "{key} = {v}"));
        }
    }
    for launch in tables("launch") {
        let args: Vec<String> =
            launch["args"].as_array().expect("a list").iter().map(|a| rename(a.as_str().expect("text"))).collect();
        let kernel = corpus.join("graphs").join(launch["kernel"].as_str().expect("a path"));
        let launch_name = format!("{name}_{}{suffix}", launch["name"].as_str().expect("text"));
        let never = if is_alone { "fuse = \"never\"\n" } else { "" };
        let _ = write!(
            text,
            "[[{prefix}launch]]\nname = \"{launch_name}\"\nkernel = \"{}\"\nargs = {args:?}\n{never}",
            kernel.display()
        );
    }
}
