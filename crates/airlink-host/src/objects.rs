//! The kernel objects of a plan: those that were found, under their final names, and reference kernels for the rest.

mod choice;

use airlink_diag::{Finding, Findings, Reported, Span, codes};
use airlink_elf::{RenameOptions, plan_rename, rename};
use airlink_graph::LaunchGraph;
use airlink_ir::{Ir, Module, children, edit};
use airlink_kernel::KernelSummary;
use airlink_plan::{ObjectIdx, ObjectPlan, Plan};
use airlink_rt::ManifestKernel;
use indexmap::IndexMap;

use crate::{HostOptions, lower, reference};
use choice::{Choice, choose};

/// A kernel object as it is written beside the ELF and linked into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelObject {
    /// The variant that it is.
    pub index: ObjectIdx,
    /// Its file name: `mv_k8192.o`.
    pub file: String,
    pub bytes: Vec<u8>,
    /// The symbols that launches call in it.
    pub kernels: Vec<ManifestKernel>,
    /// The file that it was made from, if there is one.
    pub source: Option<ObjectSource>,
}

/// Where an object comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectSource {
    /// As seen from the graph's folder.
    pub path: String,
    /// The first launch that links with it, and where the graph names it.
    pub launch: String,
    pub span: Span,
}

/// What objects are made from.
#[derive(Clone, Copy, Debug)]
pub struct ObjectInputs<'a> {
    pub graph: &'a LaunchGraph,
    /// Summaries of the graph's kernels, by their paths there.
    pub kernels: &'a IndexMap<String, KernelSummary>,
    pub plan: &'a Plan,
    /// The bytes of the objects that were found, by the path in the plan.
    pub found: &'a IndexMap<String, Vec<u8>>,
    /// `--ref SYM=VARIANT`.
    pub refs: &'a IndexMap<String, String>,
}

/// An object for each variant of the plan that launches call.
///
/// # Errors
/// AL0702 where no kernel is known for a symbol, AL0703 where several are, AL0704 for a name that is none; AL0401, AL0403
/// and AL0404 from renaming. All findings of all objects are pushed before it fails.
pub fn kernel_objects(
    ir: &Ir,
    inputs: &ObjectInputs<'_>,
    options: &HostOptions,
    findings: &mut Findings,
) -> Result<Vec<KernelObject>, Reported> {
    let mut objects: Vec<KernelObject> = Vec::new();
    let mut failed = None;
    for (position, plan) in inputs.plan.objects.iter().enumerate() {
        let made = match &plan.found {
            Some(found) => from_file(inputs, position, &found.path, findings).map(Some),
            None => from_references(ir, inputs, position, options, findings),
        };
        match made {
            Ok(object) => objects.extend(object),
            Err(reported) => failed = Some(reported),
        }
    }
    failed.map_or(Ok(objects), Err)
}

/// The object that was found, with the plan's names.
fn from_file(
    inputs: &ObjectInputs<'_>,
    position: usize,
    path: &str,
    findings: &mut Findings,
) -> Result<KernelObject, Reported> {
    let plan = &inputs.plan.objects[position];
    let Some(bytes) = inputs.found.get(path) else {
        let headline = format!("the object `{path}` is in the plan but was not read");
        return Err(findings.fail(Finding::error(codes::AL0901, headline)));
    };
    let bytes = renamed(bytes, plan, path, findings)?;
    let kernels = manifest_kernels(plan, file_name(plan), &bytes, |_| "file".to_string());
    let source = plan.launches.first().map(|l| inputs.graph.launch(*l)).map(|launch| {
        let named = plan.link_with.as_ref().and_then(|name| launch.objects.get(name));
        let span = named.map_or(launch.name.span, |n| n.span);
        ObjectSource { path: path.to_string(), launch: launch.name.value.clone(), span }
    });
    Ok(KernelObject { index: ObjectIdx(position), file: file_name(plan), bytes, kernels, source })
}

/// An object with the reference kernels that stand for what launches call; none if they call nothing.
fn from_references(
    ir: &Ir,
    inputs: &ObjectInputs<'_>,
    position: usize,
    options: &HostOptions,
    findings: &mut Findings,
) -> Result<Option<KernelObject>, Reported> {
    let plan = &inputs.plan.objects[position];
    let mut choices: IndexMap<&str, Choice> = IndexMap::new();
    let mut failed = None;
    for (symbol, _) in plan.symbols.iter().filter(|(_, s)| s.is_called) {
        match choose(inputs, plan, symbol, findings) {
            Ok(choice) => drop(choices.insert(symbol, choice)),
            Err(reported) => failed = Some(reported),
        }
    }
    if let Some(reported) = failed {
        return Err(reported);
    }
    let Some(module) = reference_module(ir, &choices, findings)? else { return Ok(None) };
    let file = file_name(plan);
    let bytes = lower::object(ir, module, &file, options, findings)?;
    let bytes = renamed(&bytes, plan, &file, findings)?;
    let kernels = manifest_kernels(plan, file.clone(), &bytes, |symbol| {
        choices.get(symbol).map(|c| format!("reference:{}", c.variant.id())).unwrap_or_default()
    });
    Ok(Some(KernelObject { index: ObjectIdx(position), file, bytes, kernels, source: None }))
}

/// One module with all the kernels, under the names that they have before renaming.
fn reference_module<'c>(
    ir: &'c Ir,
    choices: &IndexMap<&str, Choice>,
    findings: &mut Findings,
) -> Result<Option<Module<'c>>, Reported> {
    let mut merged: Option<Module<'c>> = None;
    for (symbol, choice) in choices {
        let module = reference::module(ir, choice.variant, symbol, &choice.inputs, findings)?;
        match &merged {
            None => merged = Some(module),
            Some(all) => {
                for op in children(module.as_operation()) {
                    edit::move_to_end(op, all.body());
                }
            }
        }
    }
    Ok(merged)
}

fn renamed(bytes: &[u8], plan: &ObjectPlan, name: &str, findings: &mut Findings) -> Result<Vec<u8>, Reported> {
    let changes = plan.symbols.iter().filter(|(original, s)| **original != s.symbol);
    let defined = crate::undefined::defined_symbols(bytes);
    // A declaration that nobody calls need not be in the object.
    let changes = changes.filter(|(original, s)| s.is_called || defined.contains(original));
    let map: IndexMap<String, String> = changes.map(|(original, s)| (original.clone(), s.symbol.clone())).collect();
    if map.is_empty() {
        return Ok(bytes.to_vec());
    }
    let options = RenameOptions::default();
    if let Ok(planned) = plan_rename(bytes, &map, options) {
        planned.shared_finding(name).into_iter().for_each(|f| findings.push(f));
    }
    rename(bytes, &map, options).map_err(|error| findings.fail(error.finding(name)))
}

/// The final name; an object for which nobody names a file is called after its first symbol.
fn file_name(plan: &ObjectPlan) -> String {
    plan.file.clone().unwrap_or_else(|| {
        let called = plan.symbols.values().find(|s| s.is_called).or(plan.symbols.values().next());
        format!("{}.o", called.map_or("kernel", |s| s.symbol.as_str()))
    })
}

fn manifest_kernels(
    plan: &ObjectPlan,
    object: String,
    bytes: &[u8],
    source: impl Fn(&str) -> String,
) -> Vec<ManifestKernel> {
    let hash = blake3::hash(bytes).to_hex().to_string();
    let called = plan.symbols.iter().filter(|(_, s)| s.is_called);
    called
        .map(|(original, s)| ManifestKernel {
            symbol: s.symbol.clone(),
            object: object.clone(),
            source: source(original),
            hash: hash.clone(),
        })
        .collect()
}
