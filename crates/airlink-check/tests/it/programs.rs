//! The project's graphs, stitched.

use std::path::Path;

use airlink_check::{Expected, judge};
use airlink_diag::Findings;
use airlink_graph::LaunchGraph;
use airlink_ir::{Ir, Module};
use airlink_plan::{FoundObjects, Plan, PlanOptions};
use indexmap::IndexMap;

/// Graphs whose fused modules the tests judge.
pub const GRAPHS: &[&str] = &[
    "small_o_ffn",
    "decode_layer",
    "nway",
    "views",
    "views_offset",
    "blocks",
    "layers",
    "two_launches",
    "channels",
    "attributes",
    "llama_nway",
    "vocab_prime",
];

/// A graph with its parsed kernels and its plan.
pub struct Program<'c> {
    pub graph: LaunchGraph,
    pub kernels: IndexMap<String, Module<'c>>,
    pub plan: Plan,
    pub findings: Findings,
}

/// Reads and plans a graph of `fixtures/graphs`.
pub fn program<'c>(ir: &'c Ir, name: &str) -> Program<'c> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/graphs");
    let read = |path: &str| std::fs::read_to_string(folder.join(path)).expect("the fixture is there");
    let mut findings = Findings::default();
    let file = findings.sources.add(name, read(&format!("{name}.toml")));
    let graph = airlink_graph::read(file, &mut findings).expect("it reads");
    let paths: Vec<String> = graph.kernels().keys().map(|k| k.to_string()).collect();
    let (mut kernels, mut summaries) = (IndexMap::new(), IndexMap::new());
    for path in paths {
        let file = findings.sources.add(&path, read(&path));
        let module = airlink_ir::parse(ir, file, &path, &mut findings).expect("it parses");
        summaries.insert(path.clone(), airlink_ir::summarize(&module, file, &findings.sources));
        kernels.insert(path, module);
    }
    let graph = airlink_graph::resolve(graph, &summaries, &mut findings).expect("it resolves");
    let options = PlanOptions::default();
    let plan = airlink_plan::plan(&graph, &summaries, &FoundObjects::new(), &options, &mut findings).expect("it plans");
    Program { graph, kernels, plan, findings }
}

/// Whether the checker accepts `module` as the `elf`th ELF of `plan`.
pub fn accepts<'c>(program: &Program<'c>, plan: &Plan, elf: usize, module: &Module<'c>) -> bool {
    let mut findings = Findings::default();
    let expected = Expected { graph: &program.graph, kernels: &program.kernels, elf: &plan.elfs[elf] };
    judge(module, &expected, &mut findings).is_ok() && !findings.has_errors()
}

#[test]
fn every_graph_is_accepted_as_stitched() {
    for name in GRAPHS {
        let ir = Ir::new();
        let mut program = program(&ir, name);
        for elf in 0..program.plan.elfs.len() {
            let plan = &program.plan.elfs[elf];
            let module = airlink_stitch::stitch(&ir, &program.graph, &program.kernels, plan, &mut program.findings);
            assert!(accepts(&program, &program.plan, elf, &module.expect("it stitches")), "{name}");
        }
    }
}
