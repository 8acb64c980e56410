//! From a launch graph to its plan.

use airlink_diag::{Findings, Reported};
use airlink_graph::{BufferIdx, ElfRoles, LaunchGraph, LaunchIdx, ViewIdx, index_lists, roles};
use airlink_kernel::KernelSummary;
use indexmap::{IndexMap, IndexSet};

use crate::columns;
use crate::cuts::{Cut, CutLimits, cut};
use crate::externs::{ElfExterns, externs};
use crate::kernel_use::KernelUses;
use crate::limits::Limits;
use crate::locals::{LocalNames, note_wrapped};
use crate::rows;
use crate::splits::splits;
use crate::variants::{Variants, variants};
use crate::{
    ArgPlan, CallPlan, ElfPlan, FoundObjects, LaunchPlan, NSplitPlan, NameAllocator, OperandPlan, Plan, PlanOptions,
    Rename, RenameKind, RowSplitPlan, args, hazards, limits,
};

/// Decides how the launches of `graph` become ELFs: cuts, arguments, names, object variants. `kernels` are keyed by
/// their paths as the graph spells them.
///
/// Errors: AL0215 to AL0218, AL0224, AL0504 about cuts and arguments; AL0503, AL0505, AL0506, AL0510, AL0511 about splits; AL0401, AL0402,
/// AL0406 about names.
/// AL03 about limits of the device, as warnings where [`PlanOptions::limits_only_warn`] says so.
/// Warnings: AL0213, AL0226, AL0227, AL0405. Notes: AL0214, AL0508.
pub fn plan(
    graph: &LaunchGraph,
    kernels: &IndexMap<String, KernelSummary>,
    objects: &FoundObjects,
    options: &PlanOptions,
    findings: &mut Findings,
) -> Result<Plan, Reported> {
    let uses = KernelUses::new(graph, kernels, findings);
    // Each part says what it has to say before the first failure ends the plan.
    let mut limits = limits::device(graph, options).map(|d| Limits::new(graph, kernels, d, options));
    let both = match &uses {
        Ok(uses) => grid_splits(graph, uses, limits.as_ref(), options, findings),
        Err(reported) => Err(*reported),
    };
    let cut_limits = cut_limits(graph, &mut limits, both.as_ref().ok(), findings);
    let cuts = cut(graph, cut_limits, options, findings);
    let uses = uses?;
    note_wrapped(graph, &uses, findings);
    let variants = variants(graph, &uses, objects, findings);
    let (cuts, (n_splits, row_splits)) = (cuts?, both?);
    hazards::report(graph, &cuts, findings);
    let (roles, calls) = roles_of(graph, &cuts, findings);
    let args: Vec<_> = cuts.iter().zip(&roles).map(|(cut, roles)| args::args(graph, cut, roles, findings)).collect();
    let variants = variants?;
    let externs: Vec<_> = cuts.iter().map(|cut| externs(graph, cut, &uses, &variants, findings)).collect();
    let mut failed = None;
    let mut elfs = Vec::with_capacity(cuts.len());
    for ((((cut, roles), calls), args), externs) in cuts.into_iter().zip(roles).zip(calls).zip(args).zip(externs) {
        let args = args?;
        let calls = calls.into_iter().map(|c| c.of_args(&args)).collect();
        let mut elf = elf(graph, cut, roles, args, externs?, &uses, &variants);
        elf.calls = calls;
        elf.n_splits = elf.launches.iter().flat_map(|l| n_splits[l.launch.0].iter().cloned()).collect();
        rows::take(&mut elf, &uses, &row_splits);
        let of = |l: &LaunchPlan| {
            let setup = limits.as_ref().map(|s| s.setup_of(l.launch));
            let entries = columns::wide_entries(&uses.of(l.launch).function.entries, &n_splits[l.launch.0]);
            splits(graph, l.launch, uses.of(l.launch), &entries, setup.as_ref(), options, findings)
        };
        // All of them speak before the first failure ends the plan.
        let all: Vec<_> = elf.launches.iter().map(of).collect();
        for own in all {
            match own {
                Ok(own) => elf.splits.extend(own),
                Err(reported) => failed = Some(reported),
            }
        }
        elfs.push(elf);
    }
    if let Some(reported) = failed {
        return Err(reported);
    }
    if let Some(limits) = &mut limits {
        limits.judge(&mut elfs, findings);
    }
    Ok(Plan {
        schema: 1,
        graph: graph.name.value.clone(),
        device: limits.map(|l| l.device.name.to_string()),
        elfs,
        moves: graph.moves.clone(),
        objects: variants.objects,
    })
}

/// The splits of each launch that change its grid: over more columns, and what is left into several launches.
type GridSplits = (Vec<Vec<NSplitPlan>>, Vec<Vec<RowSplitPlan>>);

fn grid_splits(
    graph: &LaunchGraph,
    uses: &KernelUses<'_>,
    limits: Option<&Limits<'_>>,
    options: &PlanOptions,
    findings: &mut Findings,
) -> Result<GridSplits, Reported> {
    let wide = columns::splits(graph, uses, limits, options, findings);
    let narrow = vec![Vec::new(); graph.launches.len()];
    let rows = rows::splits(graph, uses, wide.as_ref().unwrap_or(&narrow), limits, options, findings);
    Ok((wide?, rows?))
}

/// What the cutter is to know of the device and of the launches as they are split.
fn cut_limits(
    graph: &LaunchGraph,
    limits: &mut Option<Limits<'_>>,
    splits: Option<&GridSplits>,
    findings: &mut Findings,
) -> CutLimits {
    let (n_splits, row_splits) = splits.map_or((&[][..], &[][..]), |(n, rows)| (n, rows));
    let pieces = |index: usize| -> u64 {
        let more = row_splits.get(index).map_or(&[][..], Vec::as_slice).iter().map(|s| s.pieces.len() as u64 - 1);
        graph.launches[index].entry_count as u64 + more.sum::<u64>()
    };
    let launch_ops = (0..graph.launches.len()).map(pieces).collect();
    match limits {
        Some(limits) => {
            limits.split(n_splits, row_splits);
            CutLimits {
                device: Some(limits.device),
                has_parity_rule: limits.profile().has_pdi_parity_rule.is_on,
                pdi_loads: limits.pdi_loads(findings),
                launch_ops,
            }
        }
        None => {
            let pdi_loads = vec![0; graph.launches.len()];
            CutLimits { device: None, has_parity_rule: false, pdi_loads, launch_ops }
        }
    }
}

/// The buffers of a call, by the buffers of its ELF's first call.
struct Call {
    launches: Vec<LaunchIdx>,
    buffers: IndexMap<BufferIdx, BufferIdx>,
}

impl Call {
    fn of_args(self, args: &[ArgPlan]) -> CallPlan {
        // An argument that nothing uses is the same in every call.
        let args = args.iter().map(|a| self.buffers.get(&a.buffer).copied().unwrap_or(a.buffer)).collect();
        CallPlan { launches: self.launches, args }
    }
}

/// The roles of each cut, over all its calls, and the calls.
fn roles_of(graph: &LaunchGraph, cuts: &[Cut<'_>], findings: &mut Findings) -> (Vec<ElfRoles>, Vec<Vec<Call>>) {
    let partition: Vec<Vec<LaunchIdx>> = cuts.iter().flat_map(|c| c.calls().map(<[_]>::to_vec)).collect();
    let mut of_calls = roles(graph, &partition, findings).into_iter();
    let mut of_cuts = Vec::with_capacity(cuts.len());
    let mut calls = Vec::with_capacity(cuts.len());
    for cut in cuts {
        let mut own = cut.calls().zip(of_calls.by_ref());
        let Some((launches, mut first)) = own.next() else { continue };
        let same = first.buffers.keys().map(|b| (*b, *b)).collect();
        let mut list = vec![Call { launches: launches.to_vec(), buffers: same }];
        for (launches, roles) in own {
            // The same program: its buffers come in the same order.
            list.push(Call {
                launches: launches.to_vec(),
                buffers: first.buffers.keys().copied().zip(roles.buffers.keys().copied()).collect(),
            });
            first.join(&roles);
        }
        of_cuts.push(first);
        calls.push(list);
    }
    (of_cuts, calls)
}

fn elf(
    graph: &LaunchGraph,
    cut: Cut<'_>,
    roles: ElfRoles,
    args: Vec<ArgPlan>,
    externs: ElfExterns,
    uses: &KernelUses<'_>,
    variants: &Variants,
) -> ElfPlan {
    let of_objects = externs.objects.iter().flat_map(|o| variants.objects[o.0].symbols.values());
    let taken = of_objects.map(|s| s.symbol.as_str()).chain([cut.name.as_str()]);
    let mut names = LocalNames::new(NameAllocator::with_taken(taken));
    let position: IndexMap<_, usize> = args.iter().map(|a| (a.buffer, a.index)).collect();
    debug_assert!(roles.buffers.keys().all(|b| position.contains_key(b)));
    let mut renames = Vec::new();
    let mut views: IndexSet<ViewIdx> = IndexSet::new();
    let mut launches = Vec::with_capacity(cut.launches.len());
    for (at, &index) in cut.launches.iter().enumerate() {
        let launch = graph.launch(index);
        let (name, kernel) = (&launch.name.value, uses.of(index));
        views.extend(launch.operands.iter().filter_map(|o| o.view));
        let locals = names.rename(name, kernel);
        renames.extend(externs.renames_of(at, name, variants));
        renames.extend(locals.iter().map(|l| Rename {
            launch: name.clone(),
            kind: RenameKind::Local(l.kind),
            from: l.from.clone(),
            to: l.to.clone(),
            object_from: None,
            object_to: None,
        }));
        launches.push(LaunchPlan {
            launch: index,
            name: name.clone(),
            kernel: launch.kernel.value.clone(),
            function: kernel.function.name.clone(),
            operands: launch.operands.iter().map(|o| OperandPlan { arg: position[&o.buffer], view: o.view }).collect(),
            entries: names.wrap(name, kernel),
            locals,
            dropped_functions: kernel.dropped_functions.iter().map(|f| f.to_string()).collect(),
            externs: externs.uses_of(at),
            files: final_files(variants, index),
        });
    }
    views.sort_unstable();
    ElfPlan {
        index_lists: index_lists(args.iter().map(|a| a.role)),
        name: cut.name,
        launches,
        calls: Vec::new(),
        args,
        cut: cut.reason,
        externs: externs.plans,
        objects: externs.objects,
        renames,
        views: views.into_iter().collect(),
        splits: Vec::new(),
        n_splits: Vec::new(),
        row_splits: Vec::new(),
        resources: None,
    }
}

/// `link_with` strings of a launch's kernel: original to final.
fn final_files(variants: &Variants, launch: LaunchIdx) -> IndexMap<String, String> {
    let of_files = variants.of_files[launch.0].iter();
    of_files.map(|(f, o)| (f.clone(), variants.objects[o.0].file.clone().unwrap_or_else(|| f.clone()))).collect()
}
