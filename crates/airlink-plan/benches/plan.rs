//! How long a plan takes: `cargo bench -p airlink-plan`.

use std::time::Instant;

use airlink_device::Device;
use airlink_diag::{Findings, Span};
use airlink_graph::LaunchGraph;
use airlink_kernel::{
    Access, ArgSummary, CallSummary, EntryKind, EntrySummary, ExternSummary, FunctionSummary, HerdSummary,
    KernelSummary, KernelType, LocalKind, LocalName,
};
use airlink_plan::{FoundObjects, Objective, PlanOptions, link_map, plan, plan_json, render};
use indexmap::IndexMap;

fn main() {
    println!("launches  kernels    plan ms  render ms  json ms  map ms");
    for (launch_count, kernel_count) in [(1_000, 8), (10_000, 8), (1_000, 1_000), (10_000, 10_000)] {
        run(launch_count, kernel_count);
    }
    println!("\nlaunches  objective   limits        ELFs    plan ms");
    for objective in [Objective::Launches, Objective::Compile, Objective::Bytes] {
        for (what, device, max_launches) in
            [("none", "npu2", None), ("max 12", "npu2", Some(12)), ("16 buffers", "npu1", None)]
        {
            cuts(
                200,
                objective,
                what,
                PlanOptions { device: Device::named(device), max_launches, ..PlanOptions::default() },
            );
        }
    }
}

/// The best partition of a straight program, which nothing but limits and the objective cuts.
fn cuts(launch_count: usize, objective: Objective, what: &str, options: PlanOptions) {
    let options = PlanOptions { objective, ..options };
    let (graph, kernels, mut findings) = chain(launch_count, 8);
    let start = Instant::now();
    let plan = plan(&graph, &kernels, &FoundObjects::new(), &options, &mut findings).expect("it plans");
    let plan_ms = start.elapsed().as_secs_f64() * 1000.0;
    println!("{launch_count:8}  {:10}  {what:10} {:7} {plan_ms:10.1}", objective.as_str(), plan.elfs.len());
}

/// A chain of launches over kernels of which each has a K of its own.
fn chain(launch_count: usize, kernel_count: usize) -> (LaunchGraph, IndexMap<String, KernelSummary>, Findings) {
    let mut findings = Findings::default();
    let launch = |i: usize| {
        let args = format!("\"w{}\", \"t{i}\", \"t{}\"", i % kernel_count, i + 1);
        format!("[[launch]]\nname = \"l{i}\"\nkernel = \"k{}\"\nargs = [{args}]\n", i % kernel_count)
    };
    let text: String = (0..launch_count).map(launch).collect();
    let file = findings.sources.add("graph.toml", format!("[graph]\nname = \"g\"\ndevice = \"npu2\"\n{text}"));
    let kernels: IndexMap<_, _> =
        (0..kernel_count).map(|i| (format!("k{i}"), kernel(i as u64, &mut findings))).collect();
    let graph =
        airlink_graph::read(file, &mut findings).and_then(|g| airlink_graph::resolve(g, &kernels, &mut findings));
    (graph.expect("the graph is right"), kernels, findings)
}

fn run(launch_count: usize, kernel_count: usize) {
    let (graph, kernels, mut findings) = chain(launch_count, kernel_count);
    let start = Instant::now();
    let plan = plan(&graph, &kernels, &FoundObjects::new(), &PlanOptions::default(), &mut findings).expect("it plans");
    let times = [
        start.elapsed(),
        time(|| render(&plan, &graph)),
        time(|| serde_json::to_string(&plan_json(&plan, &graph, &findings)).unwrap()),
        time(|| serde_json::to_string(&link_map(&plan, 0, &graph, &kernels, IndexMap::new())).unwrap()),
    ];
    let [plan_ms, render_ms, json_ms, map_ms] = times.map(|t| t.as_secs_f64() * 1000.0);
    println!("{launch_count:8} {kernel_count:8} {plan_ms:10.1} {render_ms:10.1} {json_ms:8.1} {map_ms:7.1}");
}

fn time(work: impl FnOnce() -> String) -> std::time::Duration {
    let start = Instant::now();
    std::hint::black_box(work());
    start.elapsed()
}

/// A GEMV on a vector of 64 elements, whose extern has a K of its own.
fn kernel(index: u64, findings: &mut Findings) -> KernelSummary {
    let file = findings.sources.add(format!("k{index}"), "func.func @k\n");
    let here = Span::file_start(file);
    let ty = |text: &str| KernelType::parse(text).unwrap();
    let k = 64 + index;
    let inputs =
        vec![ty(&format!("memref<4x{k}xbf16, 2>")), ty(&format!("memref<{k}xbf16, 2>")), ty("memref<8xbf16, 2>")];
    let access = |read: bool| Access { read: read.then_some(here), write: (!read).then_some(here), reads_first: read };
    let entry = EntrySummary {
        kind: if index.is_multiple_of(8) { EntryKind::BareHerd } else { EntryKind::Launch },
        name: None,
        span: here,
        accesses: vec![access(true), access(true), access(false)],
        herds: vec![HerdSummary {
            name: Some("herd".into()),
            span: here,
            size: vec![Some(8), Some(1)],
            link_with: None,
        }],
        calls: vec![CallSummary { symbol: "mv".into(), span: here, link_with: Some("mv.o".into()), herd: None }],
        channels: Vec::new(),
        first_async: None,
        unawaited: None,
        traffic: Default::default(),
    };
    let types = ["memref<64x64xbf16>", "memref<64xbf16>", "memref<64xbf16>"];
    let function = FunctionSummary {
        name: "k".into(),
        span: here,
        args: types.iter().map(|t| ArgSummary { ty: ty(t), span: here }).collect(),
        result_count: 0,
        entries: vec![entry],
    };
    let local = |kind, name: &str| LocalName { kind, name: name.into() };
    KernelSummary {
        file,
        hash: String::new(),
        module_name: None,
        functions: vec![function],
        externs: vec![ExternSummary {
            symbol: "mv".into(),
            span: here,
            inputs,
            results: Vec::new(),
            link_with: Some("mv.o".into()),
            attributes: IndexMap::new(),
        }],
        locals: vec![local(LocalKind::Segment, "seg"), local(LocalKind::Herd, "herd"), local(LocalKind::Channel, "c")],
        channels: Vec::new(),
        nested_modules: Vec::new(),
    }
}
