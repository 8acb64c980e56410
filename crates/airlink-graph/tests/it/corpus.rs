//! The graphs of the shared corpus, with summaries made from its manifest.

use std::path::Path;

use airlink_diag::{Findings, Span, codes};
use airlink_graph::{BufferIdx, ElfRoles, LaunchGraph, LaunchIdx, Role, index_lists};
use airlink_kernel::{Access, ArgSummary, EntryKind, EntrySummary, FunctionSummary, KernelSummary, KernelType};
use indexmap::IndexMap;
use serde_json::Value;

use crate::support::{corpus, lines};

fn manifest(corpus: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(corpus.join("manifest.json")).unwrap()).unwrap()
}

/// The kernel that the manifest describes under `path`.
fn summary(path: &str, entry: &Value, findings: &mut Findings) -> KernelSummary {
    let file = findings.sources.add(path, "");
    let here = Span::file_start(file);
    let texts = |key: &str| entry[key].as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect::<Vec<_>>();
    let args = texts("args").iter().map(|t| ArgSummary { ty: KernelType::parse(t).unwrap(), span: here }).collect();
    let access = |text: &str| Access {
        read: text.contains('r').then_some(here),
        write: text.contains('w').then_some(here),
        reads_first: false,
    };
    // The one kind of kernel with two launches (GEMM, then a cast) writes its scratch in the first and reads it in the
    // second, along with the result.
    let launches: Vec<Vec<&str>> = match entry["launches"].as_u64().unwrap() {
        1 => vec![texts("access")],
        _ => vec![vec!["r", "r", "w", ""], vec!["", "", "r", "w"]],
    };
    let entries = launches.iter().map(|list| EntrySummary {
        kind: EntryKind::Launch,
        name: None,
        span: here,
        accesses: list.iter().map(|a| access(a)).collect(),
        herds: Vec::new(),
        calls: Vec::new(),
        channels: Vec::new(),
        first_async: None,
        unawaited: None,
        traffic: Default::default(),
    });
    let name = entry["func"].as_str().unwrap().to_string();
    let function = FunctionSummary { name, span: here, args, result_count: 0, entries: entries.collect() };
    KernelSummary {
        file,
        hash: String::new(),
        module_name: None,
        functions: vec![function],
        externs: Vec::new(),
        locals: Vec::new(),
        channels: Vec::new(),
        nested_modules: Vec::new(),
    }
}

/// A graph that the manifest lists, its roles in the one ELF that it cuts, and what was found.
fn load(
    corpus: &Path,
    manifest: &Value,
    graph: &str,
    edit: impl Fn(String) -> String,
) -> (LaunchGraph, ElfRoles, Findings) {
    let mut findings = Findings::default();
    let kernels = manifest["kernels"].as_object().unwrap();
    let summaries: IndexMap<_, _> = kernels
        .iter()
        .map(|(name, entry)| {
            let path = format!("../{}", name.trim_start_matches("../"));
            let summary = summary(&path, entry, &mut findings);
            (path, summary)
        })
        .collect();
    let text = edit(std::fs::read_to_string(corpus.join(graph)).unwrap());
    let file = findings.sources.add(graph, text);
    let read = airlink_graph::read(file, &mut findings);
    let resolved = read.and_then(|g| airlink_graph::resolve(g, &summaries, &mut findings));
    let resolved = resolved.unwrap_or_else(|_| panic!("{graph}: {:#?}", lines(&findings)));
    let all = (0..resolved.launches.len()).map(LaunchIdx).collect();
    let roles = airlink_graph::roles(&resolved, &[all], &mut findings).remove(0);
    (resolved, roles, findings)
}

/// The roles of the arguments of the first `[[elf]]`.
fn argument_roles(graph: &LaunchGraph, elf: &ElfRoles) -> Vec<Role> {
    let args = &graph.cuts[0].args.as_ref().unwrap().value;
    args.iter().map(|a| elf.role(graph.buffer_idx(&a.value).unwrap())).collect()
}

#[test]
fn roles_and_index_lists_equal_the_manifest() {
    let Some(corpus) = corpus() else { return };
    let manifest = manifest(&corpus);
    let fused = manifest["fused"].as_array().unwrap();
    assert_eq!(fused.len(), 25);
    let mut list_count = 0;
    for entry in fused {
        let path = entry["graph"].as_str().unwrap();
        let (graph, elf, findings) = load(&corpus, &manifest, path, |t| t);
        let roles = argument_roles(&graph, &elf);
        // No role: read only, and the caller does not say whether static.
        let wanted: Vec<&str> =
            entry["roles"].as_array().unwrap().iter().map(|r| r.as_str().unwrap_or("input")).collect();
        assert_eq!(roles.iter().map(|r| r.as_str()).collect::<Vec<_>>(), wanted, "{path}");
        if entry["phase"] == "decode" {
            let lists = serde_json::to_value(index_lists(roles)).unwrap();
            for key in ["static_input_indices", "output_indices", "intermediate_indices"] {
                assert_eq!(lists[key], entry["run"][key], "{path} {key}");
                list_count += 1;
            }
        }
        // The one thing to say about these graphs: `arg6` is declared static and its first row is written.
        let warned: Vec<_> = findings.iter().map(|f| (f.code, f.headline.as_str())).collect();
        let has_arg6_row = graph.views.contains_key("arg6_row0");
        let arg6 = (codes::AL0213, "`arg6` is declared `static`, but its use makes it `inout`");
        assert_eq!(warned, if has_arg6_row { vec![arg6] } else { Vec::new() }, "{path}");
    }
    assert_eq!(list_count, 63);
}

#[test]
fn the_written_row_of_a_static_buffer_is_shown_with_every_place() {
    let Some(corpus) = corpus() else { return };
    let (graph, elf, findings) = load(&corpus, &manifest(&corpus), "graphs/llama32_1b__decode__o_gemv_ffn.toml", |t| t);
    let arg6 = graph.buffer_idx("arg6").unwrap();
    assert_eq!((elf.buffers[&arg6].role, elf.buffers[&arg6].dataflow), (Role::Static, Role::Inout));
    assert_eq!(elf.buffers[&arg6].writers, [LaunchIdx(0)]);
    assert_eq!(elf.buffers[&arg6].readers, [LaunchIdx(1), LaunchIdx(2)]);
    let finding = findings.iter().next().unwrap();
    let shown: Vec<_> =
        finding.labels.iter().map(|l| findings.sources.snippet(l.span)).filter(|s| !s.is_empty()).collect();
    assert_eq!(shown, ["\"static\"", "\"arg6_row0\"", "\"arg6\""]);
}

#[test]
fn placeholders_that_the_int4_caller_calls_intermediate_are_reported() {
    let Some(corpus) = corpus() else { return };
    let path = "graphs/llama32_1b_int4__decode__o_gemv_ffn_int4.toml";
    let manifest = manifest(&corpus);
    let entry = manifest["fused"].as_array().unwrap().iter().find(|f| f["graph"] == path).unwrap();
    let declared = entry["declared_by_caller"].as_array().unwrap();
    let mut differs = 0;
    let edit = |text: String| {
        let mut index = 0;
        let roles = text.lines().map(|line| {
            let is_role = line.starts_with("role = ");
            index += usize::from(is_role);
            if is_role { format!("role = {}", declared[index - 1]) } else { line.to_string() }
        });
        roles.collect::<Vec<_>>().join("\n")
    };
    let (graph, elf, findings) = load(&corpus, &manifest, path, edit);
    for (index, wanted) in entry["roles"].as_array().unwrap().iter().enumerate() {
        assert_eq!(elf.role(BufferIdx(index)).as_str(), wanted.as_str().unwrap(), "{index}");
        if *wanted != declared[index] {
            differs += 1;
            let name = &graph.buffers[index].name;
            let headline = format!("`{name}` is declared `intermediate`, but its use makes it `dead`");
            assert!(
                findings.iter().any(|f| f.code == codes::AL0213 && f.headline == headline),
                "{:?}",
                lines(&findings)
            );
        }
    }
    assert_eq!(differs, 7);
}

#[test]
fn graphs_of_the_mission_are_read() {
    let Some(corpus) = corpus() else { return };
    let mut count = 0;
    for entry in std::fs::read_dir(corpus.join("graphs")).unwrap() {
        let path = entry.unwrap().path();
        let mut findings = Findings::default();
        let file = findings.sources.add(path.display().to_string(), std::fs::read_to_string(&path).unwrap());
        let graph = airlink_graph::read(file, &mut findings);
        assert!(graph.is_ok() && findings.iter().count() == 0, "{:?}", lines(&findings));
        count += 1;
    }
    assert_eq!(count, 29);
}
