//! What holds of every plan.

use std::collections::{BTreeMap, BTreeSet};

use airlink_graph::{LaunchGraph, LaunchIdx};
use airlink_kernel::{EntryKind, KernelSummary, LocalKind};
use airlink_plan::{ElfPlan, Plan};
use indexmap::IndexMap;

pub fn check(plan: &Plan, graph: &LaunchGraph, kernels: &IndexMap<String, KernelSummary>) {
    let mut names = BTreeSet::new();
    let mut launches: Vec<LaunchIdx> = Vec::new();
    for elf in &plan.elfs {
        assert!(names.insert(&elf.name), "two ELFs are `{}`", elf.name);
        let first = elf.calls.first().map(|c| c.launches.clone());
        assert_eq!(first, Some(elf.launches.iter().map(|l| l.launch).collect()), "the first call is the ELF's own");
        for call in &elf.calls {
            assert_eq!((call.launches.len(), call.args.len()), (elf.launches.len(), elf.args.len()));
            launches.extend(&call.launches);
        }
        check_args(elf, graph);
        check_launches(elf, graph, kernels);
        check_names(elf);
        check_objects(plan, elf);
    }
    launches.sort_unstable();
    let all: Vec<LaunchIdx> = (0..graph.launches.len()).map(LaunchIdx).collect();
    assert_eq!(launches, all, "each launch is in one call of one ELF");
    let files: Vec<&String> = plan.objects.iter().filter_map(|o| o.file.as_ref()).collect();
    assert_eq!(files.iter().collect::<BTreeSet<_>>().len(), files.len(), "two objects share a file: {files:?}");
}

/// Each buffer that a launch uses is one argument, of the buffer's type; each argument is in one index list at most.
fn check_args(elf: &ElfPlan, graph: &LaunchGraph) {
    let mut buffers = BTreeSet::new();
    for (index, arg) in elf.args.iter().enumerate() {
        assert_eq!(arg.index, index);
        assert!(buffers.insert(arg.buffer), "`{}` is two arguments", arg.name);
        let buffer = graph.buffer(arg.buffer);
        assert_eq!((&arg.name, Some(&arg.ty)), (&buffer.name, buffer.ty.as_ref()));
    }
    let lists = &elf.index_lists;
    let indices: Vec<usize> =
        [&lists.static_input_indices, &lists.output_indices].into_iter().flatten().copied().collect();
    assert!(indices.iter().chain(&lists.intermediate_indices).all(|i| *i < elf.args.len()));
    assert_eq!(indices.iter().collect::<BTreeSet<_>>().len(), indices.len(), "static and output at once");
}

/// Each launch is its kernel: an operand per argument, an entry per entry, and every local and extern has a name.
fn check_launches(elf: &ElfPlan, graph: &LaunchGraph, kernels: &IndexMap<String, KernelSummary>) {
    for planned in &elf.launches {
        let launch = graph.launch(planned.launch);
        let kernel = &kernels[&planned.kernel];
        let function = &kernel.functions[launch.function];
        assert_eq!((&planned.name, &planned.function), (&launch.name.value, &function.name));
        assert_eq!(planned.operands.len(), function.args.len(), "operands of `{}`", planned.name);
        for (operand, bound) in planned.operands.iter().zip(&launch.operands) {
            assert_eq!((elf.args[operand.arg].buffer, operand.view), (bound.buffer, bound.view));
            assert!(operand.view.is_none_or(|v| elf.views.contains(&v)));
            let arg = &elf.args[operand.arg];
            assert!(!bound.is_read() || arg.readers.contains(&planned.launch), "`{}` reads", planned.name);
            assert!(!bound.is_written() || arg.writers.contains(&planned.launch), "`{}` writes", planned.name);
        }
        assert_eq!(planned.entries.len(), function.entries.len(), "entries of `{}`", planned.name);
        for (entry, of_kernel) in planned.entries.iter().zip(&function.entries) {
            assert_eq!(entry.kind, of_kernel.kind);
            assert_eq!(entry.segment.is_some(), entry.kind == EntryKind::BareHerd);
        }
        for local in &kernel.locals {
            let is_known = local.kind == LocalKind::Function
                && (local.name == planned.function || planned.dropped_functions.contains(&local.name));
            let is_renamed = planned.locals.iter().any(|l| (l.kind, &l.from) == (local.kind, &local.name));
            assert!(is_known != is_renamed, "{} `{}` of `{}`", local.kind.as_str(), local.name, planned.name);
        }
        for symbol in kernel.externs.iter().map(|e| &e.symbol) {
            assert!(planned.externs.contains_key(symbol), "`{symbol}` of `{}` becomes nothing", planned.name);
        }
    }
}

/// No symbol of the fused module stands twice, and no launch, segment, herd or resource per kind.
fn check_names(elf: &ElfPlan) {
    let mut symbols = BTreeSet::from([elf.name.as_str()]);
    for e in &elf.externs {
        assert!(symbols.insert(&e.symbol), "`{}` stands twice in `{}`", e.symbol, elf.name);
    }
    let mut others = BTreeSet::new();
    for launch in &elf.launches {
        for local in &launch.locals {
            let is_new = match local.kind.is_symbol() {
                true => symbols.insert(&local.to),
                false => others.insert((local.kind, &local.to)),
            };
            assert!(is_new, "`{}` stands twice in `{}`", local.to, elf.name);
        }
        for segment in launch.entries.iter().filter_map(|e| e.segment.as_ref()) {
            assert!(others.insert((LocalKind::Segment, segment)), "segment `{segment}` stands twice in `{}`", elf.name);
        }
    }
}

/// What a launch calls is what its object variant holds, under the type that the fused module declares.
fn check_objects(plan: &Plan, elf: &ElfPlan) {
    let mut symbol_of: BTreeMap<&str, usize> = BTreeMap::new();
    for launch in &elf.launches {
        for (original, to) in &launch.externs {
            let object = &plan.objects[to.object.0];
            assert_eq!(object.symbols[original].symbol, to.symbol);
            assert!(object.launches.contains(&launch.launch) && elf.objects.contains(&to.object));
            let holder = *symbol_of.entry(&to.symbol).or_insert(to.object.0);
            assert_eq!(holder, to.object.0, "two objects hold `{}`", to.symbol);
            let declared = elf.externs.iter().find(|e| e.symbol == to.symbol);
            let declared = declared.unwrap_or_else(|| panic!("`{}` has no declaration", to.symbol));
            assert_eq!(declared.link_with, to.link_with);
            let signature = object.symbols[original].signature.as_ref();
            assert_eq!(Some(&declared.inputs), signature.map(|s| &s.inputs), "type of `{}`", to.symbol);
            assert!(to.link_with.is_none() || to.link_with == object.file);
        }
        for (from, to) in &launch.files {
            let is_held =
                plan.objects.iter().any(|o| o.link_with.as_ref() == Some(from) && o.file.as_ref() == Some(to));
            assert!(is_held, "`{from}` becomes `{to}`, which no object is");
        }
    }
}
