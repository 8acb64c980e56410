//! From a launch graph to its plan.

use airlink_diag::{Findings, Reported};
use airlink_graph::{ElfRoles, LaunchGraph, LaunchIdx, ViewIdx, index_lists, roles};
use airlink_kernel::KernelSummary;
use indexmap::{IndexMap, IndexSet};

use crate::cuts::{Cut, cut};
use crate::externs::{ElfExterns, externs};
use crate::kernel_use::KernelUses;
use crate::locals::{LocalNames, note_wrapped};
use crate::rows;
use crate::splits::splits;
use crate::variants::{Variants, variants};
use crate::{
    ArgPlan, ElfPlan, FoundObjects, LaunchPlan, NameAllocator, OperandPlan, Plan, PlanOptions, Rename, RenameKind,
    args, limits,
};

/// Decides how the launches of `graph` become ELFs: cuts, arguments, names, object variants. `kernels` are keyed by
/// their paths as the graph spells them.
///
/// Errors: AL0215 to AL0218, AL0224 about cuts and arguments; AL0503, AL0505, AL0506 about splits; AL0401, AL0402,
/// AL0406 about names.
/// AL03 about limits of the device, as warnings where [`PlanOptions::limits_only_warn`] says so.
/// Warnings: AL0213, AL0405. Notes: AL0214.
pub fn plan(
    graph: &LaunchGraph,
    kernels: &IndexMap<String, KernelSummary>,
    objects: &FoundObjects,
    options: &PlanOptions,
    findings: &mut Findings,
) -> Result<Plan, Reported> {
    let uses = KernelUses::new(graph, kernels, findings);
    // Each part says what it has to say before the first failure ends the plan.
    let cuts = cut(graph, findings);
    let uses = uses?;
    note_wrapped(graph, &uses, findings);
    let variants = variants(graph, &uses, objects, findings);
    let cuts = cuts?;
    let partition: Vec<Vec<LaunchIdx>> = cuts.iter().map(|c| c.launches.clone()).collect();
    let roles = roles(graph, &partition, findings);
    let args: Vec<_> = cuts.iter().zip(&roles).map(|(cut, roles)| args::args(graph, cut, roles, findings)).collect();
    let variants = variants?;
    let externs: Vec<_> = cuts.iter().map(|cut| externs(graph, cut, &uses, &variants, findings)).collect();
    let mut failed = None;
    let mut elfs = Vec::with_capacity(cuts.len());
    for (((cut, roles), args), externs) in cuts.into_iter().zip(roles).zip(args).zip(externs) {
        let mut elf = elf(graph, cut, roles, args?, externs?, &uses, &variants);
        let of = |l: &LaunchPlan| splits(graph, l.launch, uses.of(l.launch), options, findings);
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
    let device = limits::device(graph, options);
    rows::split(graph, &uses, device, &mut elfs, options, findings)?;
    if let Some(device) = device {
        limits::judge(graph, kernels, device, &mut elfs, options, findings);
    }
    Ok(Plan {
        schema: 1,
        graph: graph.name.value.clone(),
        device: device.map(|d| d.name.to_string()),
        elfs,
        objects: variants.objects,
    })
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
        args,
        cut: cut.reason,
        externs: externs.plans,
        objects: externs.objects,
        renames,
        views: views.into_iter().collect(),
        splits: Vec::new(),
        row_splits: Vec::new(),
        resources: None,
    }
}

/// `link_with` strings of a launch's kernel: original to final.
fn final_files(variants: &Variants, launch: LaunchIdx) -> IndexMap<String, String> {
    let of_files = variants.of_files[launch.0].iter();
    of_files.map(|(f, o)| (f.clone(), variants.objects[o.0].file.clone().unwrap_or_else(|| f.clone()))).collect()
}
