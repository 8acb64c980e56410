//! The plan of any small graph.

mod holds;
mod kernels;
mod text;

use airlink_diag::Findings;
use airlink_graph::{GraphFile, LaunchGraph, LaunchIdx, StepEntry, read, resolve};
use airlink_kernel::KernelSummary;
use airlink_plan::{FoundObjects, ObjectInfo, Plan, PlanOptions};
use indexmap::IndexMap;

use crate::choices::Choices;
use crate::{Outcome, said};
use kernels::Kernel;

/// Makes a small graph and its kernels from `bytes`, reads, resolves and plans it: refused with errors, or planned
/// without and all of [`holds`] true; both times the same.
pub fn plan(bytes: &[u8]) -> Outcome {
    let first = plan_made(&mut Choices::new(bytes));
    let second = plan_made(&mut Choices::new(bytes));
    assert_eq!(first, second, "two runs differ");
    match first.is_planned {
        true => Outcome::Accepted,
        false => Outcome::Refused,
    }
}

/// Resolves and plans what was read, with kernels that take what its launches pass.
pub(crate) fn plan_read(graph: GraphFile, mut findings: Findings) {
    let kernels = kernels_of(&graph).iter().map(|k| (k.path.clone(), k.summary(&mut findings))).collect();
    finish(graph, &kernels, |_| FoundObjects::new(), findings);
}

/// What two runs are compared by.
#[derive(Debug, PartialEq)]
struct Result {
    is_planned: bool,
    plan: Option<Plan>,
    said: String,
    outputs: Vec<String>,
}

fn plan_made(choices: &mut Choices<'_>) -> Result {
    let mut findings = Findings::default();
    let shapes: Vec<Kernel> = (0..1 + choices.below(4)).map(|i| Kernel::any(&format!("k{i}.mlir"), choices)).collect();
    let file = findings.sources.add("graph.toml", text::graph(&shapes, choices));
    let Ok(graph) = read(file, &mut findings) else { return refused(&findings) };
    let kernels = shapes.iter().map(|k| (k.path.clone(), k.summary(&mut findings))).collect();
    finish(graph, &kernels, |graph| objects(graph, &kernels, choices), findings)
}

fn refused(findings: &Findings) -> Result {
    assert!(findings.has_errors(), "refused without an error");
    said::check(findings);
    Result { is_planned: false, plan: None, said: said::text(findings), outputs: Vec::new() }
}

fn finish(
    graph: GraphFile,
    kernels: &IndexMap<String, KernelSummary>,
    objects: impl FnOnce(&LaunchGraph) -> FoundObjects,
    mut findings: Findings,
) -> Result {
    let Ok(graph) = resolve(graph, kernels, &mut findings) else { return refused(&findings) };
    assert!(!findings.has_errors(), "resolved in spite of errors: {}", said::text(&findings));
    let objects = objects(&graph);
    // Limits are no part of what makes a plan: broken ones stand in it as warnings.
    let options = PlanOptions { limits_only_warn: true, ..PlanOptions::default() };
    let Ok(plan) = airlink_plan::plan(&graph, kernels, &objects, &options, &mut findings) else {
        return refused(&findings);
    };
    assert!(!findings.has_errors(), "planned in spite of errors: {}", said::text(&findings));
    said::check(&findings);
    holds::check(&plan, &graph, kernels);
    let outputs = outputs(&plan, &graph, kernels, &findings);
    Result { is_planned: true, plan: Some(plan), said: said::text(&findings), outputs }
}

/// All text forms; each JSON parses back.
fn outputs(
    plan: &Plan,
    graph: &LaunchGraph,
    kernels: &IndexMap<String, KernelSummary>,
    findings: &Findings,
) -> Vec<String> {
    let mut json =
        vec![serde_json::to_string(&airlink_plan::plan_json(plan, graph, findings)).expect("a plan serialises")];
    for elf in 0..plan.elfs.len() {
        let map = airlink_plan::link_map(plan, elf, graph, kernels, IndexMap::new());
        json.push(serde_json::to_string(&map).expect("a map serialises"));
    }
    for text in &json {
        serde_json::from_str::<serde_json::Value>(text).expect("JSON parses back");
    }
    json.push(airlink_plan::render(plan, graph));
    json.push(airlink_graph::text(graph));
    json
}

/// Some of the objects that the launches ask for, of few contents, so that some are equal.
fn objects(graph: &LaunchGraph, kernels: &IndexMap<String, KernelSummary>, choices: &mut Choices<'_>) -> FoundObjects {
    let mut found = FoundObjects::new();
    for (index, launch) in graph.launches.iter().enumerate() {
        let kernel = &kernels[&launch.kernel.value];
        for link_with in kernel.externs.iter().filter_map(|e| e.link_with.as_ref()) {
            if choices.one_in(3) {
                let content = choices.below(2);
                let symbols = kernel.externs.iter().map(|e| e.symbol.clone()).chain(["own".to_string()]).collect();
                let object = ObjectInfo { path: format!("{content}/{link_with}"), hash: content.to_string(), symbols };
                found.insert((LaunchIdx(index), link_with.clone()), object);
            }
        }
    }
    found
}

/// Kernels with the arguments that the first launch of each passes, under the types that the graph declares.
fn kernels_of(graph: &GraphFile) -> Vec<Kernel> {
    let buffers = graph.buffers.iter().filter_map(|b| Some((b.name.value.as_str(), b.ty.as_ref()?.value.as_str())));
    let views = graph.views.iter().map(|v| (v.name.value.as_str(), v.ty.value.as_str()));
    let types: IndexMap<&str, &str> = buffers.chain(views).collect();
    let mut kernels: IndexMap<&str, Kernel> = IndexMap::new();
    for step in &graph.steps {
        let StepEntry::Launch(launch) = step else { continue };
        let args = launch.args.value.iter().map(|a| types.get(a.value.as_str()).copied().unwrap_or(kernels::VECTOR));
        let path = launch.kernel.value.as_str();
        kernels.entry(path).or_insert_with(|| Kernel::with_args(path, args));
    }
    kernels.into_values().collect()
}
