//! The manifest of an ELF, from its plan.

use airlink_diag::{Finding, Findings, Reported, codes};
use airlink_graph::LaunchGraph;
use airlink_ir::melior::ir::operation::OperationLike;
use airlink_ir::melior::ir::{BlockLike, RegionLike, ValueLike};
use airlink_ir::{Module, OperationRef, Walk, attr, children, name};
use airlink_kernel::{KernelSummary, KernelType};
use airlink_plan::{ArgPlan, ElfPlan, LaunchPlan};
use airlink_rt::{
    ENTRY_ABI, Element, FpRules, MANIFEST_SCHEMA, Manifest, ManifestArg, ManifestChannel, ManifestLaunch,
    PROGRAM_ENTRY, Role, launch_entry,
};
use indexmap::IndexMap;

use crate::HostOptions;

/// What the ELF says about itself, but for its kernels, which [`crate::build`] adds.
///
/// # Errors
/// AL0701 for an argument whose type the host interface does not have, AL0705 for a scalar.
pub fn manifest(
    graph: &LaunchGraph,
    kernels: &IndexMap<String, KernelSummary>,
    elf: &ElfPlan,
    module: &Module<'_>,
    options: &HostOptions,
    findings: &mut Findings,
) -> Result<Manifest, Reported> {
    let launches = launches(graph, kernels, elf, module);
    let mut args = Vec::with_capacity(elf.args.len());
    for arg in &elf.args {
        args.push(argument(graph, arg, &launches, findings)?);
    }
    let text = airlink_ir::print(&module.as_operation(), false);
    Ok(Manifest {
        schema: MANIFEST_SCHEMA,
        abi: ENTRY_ABI,
        target: HostOptions::TARGET.to_string(),
        name: elf.name.clone(),
        cpu: options.cpu,
        fp: FpRules::default(),
        module_hash: blake3::hash(text.as_bytes()).to_hex().to_string(),
        entry: PROGRAM_ENTRY.to_string(),
        args,
        launches,
        channels: channels(module),
        kernels: Vec::new(),
    })
}

fn argument(
    graph: &LaunchGraph,
    arg: &ArgPlan,
    launches: &[ManifestLaunch],
    findings: &mut Findings,
) -> Result<ManifestArg, Reported> {
    let span = graph.buffer(arg.buffer).span;
    let Some(memref) = arg.ty.as_memref() else {
        let headline = format!(
            "argument `{}` is a scalar of type {}, which the host interface has no place for",
            arg.name, arg.ty
        );
        return Err(findings.fail(
            Finding::error(codes::AL0705, headline)
                .at(span, "")
                .remedy("fuse it without running it here: `--emit mlir,map`, or make the scalar a constant"),
        ));
    };
    let shape: Option<Vec<u64>> = memref.shape.iter().copied().collect();
    let (Some(element), Some(shape), Some(count)) =
        (Element::from_mlir(&memref.element), shape, memref.element_count())
    else {
        let headline = format!("argument `{}` has type {}, which the host interface does not have", arg.name, arg.ty);
        return Err(findings.fail(
            Finding::error(codes::AL0701, headline)
                .at(span, "")
                .allowed("a static shape of whole-byte elements")
                .remedy("fuse it without running it here: `--emit mlir,map`"),
        ));
    };
    let touching = |list: fn(&ManifestLaunch) -> &Vec<usize>| -> Vec<usize> {
        launches.iter().filter(|l| list(l).contains(&arg.index)).map(|l| l.index).collect()
    };
    let (readers, writers): (Vec<usize>, Vec<usize>) = (touching(|l| &l.reads), touching(|l| &l.writes));
    // AL0213 has told that the graph contradicts itself there; what is written cannot be kept read-only.
    let role = match role(arg.role) {
        Role::Static if !writers.is_empty() => Role::Inout,
        role => role,
    };
    Ok(ManifestArg {
        index: arg.index,
        name: arg.name.clone(),
        ty: arg.ty.to_string(),
        element,
        element_bits: element.bits(),
        shape,
        bytes: count.saturating_mul(element.size_bytes() as u64),
        role,
        readers,
        writers,
    })
}

fn role(role: airlink_graph::Role) -> Role {
    match role {
        airlink_graph::Role::Input => Role::Input,
        airlink_graph::Role::Output => Role::Output,
        airlink_graph::Role::Static => Role::Static,
        airlink_graph::Role::Intermediate => Role::Intermediate,
        airlink_graph::Role::Inout => Role::Inout,
        airlink_graph::Role::Dead => Role::Dead,
    }
}

/// One per `air.launch` of the fused function, in program order.
fn launches(
    graph: &LaunchGraph,
    kernels: &IndexMap<String, KernelSummary>,
    elf: &ElfPlan,
    module: &Module<'_>,
) -> Vec<ManifestLaunch> {
    let entries = launch_ops(module, &elf.name);
    let points: Vec<Vec<u64>> = entries.iter().map(|l| extents(*l)).collect();
    let uses_channels = |index: usize| entries.get(index).is_some_and(|l| has_transfers(*l));
    let mut list = Vec::new();
    for planned in &elf.launches {
        let pieces = |entry| elf.piece_suffixes(&planned.name, entry).into_iter().map(move |suffix| (entry, suffix));
        for (entry, suffix) in (0..planned.entries.len()).flat_map(pieces) {
            let index = list.len();
            list.push(ManifestLaunch {
                index,
                name: match planned.entries.len() {
                    1 => format!("{}{suffix}", planned.name),
                    _ => format!("{}.{entry}{suffix}", planned.name),
                },
                entry: launch_entry(index),
                kernel: planned.kernel.rsplit('/').next().unwrap_or_default().to_string(),
                kernel_hash: kernels.get(&planned.kernel).map(|k| k.hash.clone()).unwrap_or_default(),
                reads: arguments(graph, planned, entry, |a| a.is_read()),
                writes: arguments(graph, planned, entry, |a| a.is_written()),
                points: points.get(index).cloned().unwrap_or_default(),
                uses_channels: uses_channels(index),
            });
        }
    }
    list
}

/// Indices of the fused arguments that entry `entry` of a launch touches in one way, ascending.
fn arguments(
    graph: &LaunchGraph,
    planned: &LaunchPlan,
    entry: usize,
    touches: impl Fn(airlink_kernel::Access) -> bool,
) -> Vec<usize> {
    let operands = &graph.launch(planned.launch).operands;
    let touched =
        operands.iter().zip(&planned.operands).filter(|(o, _)| o.accesses.get(entry).is_some_and(|a| touches(*a)));
    let mut indices: Vec<usize> = touched.map(|(_, p)| p.arg).collect();
    indices.sort_unstable();
    indices.dedup();
    indices
}

/// Extents of each launch of the fused function, in text order; 0 where one is not constant.
fn launch_ops<'c>(module: &'c Module<'_>, function: &str) -> Vec<OperationRef<'c, 'c>> {
    let functions = children(module.as_operation());
    let Some(function) = functions.into_iter().find(|f| attr::string(*f, "sym_name") == Some(function)) else {
        return Vec::new();
    };
    airlink_ir::collect(function, "air.launch")
}

/// Whether a launch puts into or gets from channels.
fn has_transfers(launch: OperationRef<'_, '_>) -> bool {
    ["air.channel.put", "air.channel.get"].iter().any(|name| !airlink_ir::collect(launch, name).is_empty())
}

/// The channels of the fused module that its launches use, in text order; what they carry, their first transfer says.
fn channels(module: &Module<'_>) -> Vec<ManifestChannel> {
    let mut carried: IndexMap<&str, Element> = IndexMap::new();
    airlink_ir::walk(module.as_operation(), &mut |op| {
        if matches!(name(op), "air.channel.put" | "air.channel.get")
            && let Some(channel) = attr::flat_symbol(op, "chan_name")
        {
            let mut types = op.operands().filter_map(|v| KernelType::parse(&v.r#type().to_string()));
            let element = types.find_map(|ty| Element::from_mlir(&ty.as_memref()?.element));
            if let Some(element) = element {
                carried.entry(channel).or_insert(element);
            }
        }
        Walk::Into
    });
    let declared = children(module.as_operation()).into_iter().filter(|op| name(*op) == "air.channel");
    let of = |op: OperationRef<'_, '_>| {
        let symbol = attr::string(op, "sym_name")?;
        let size = op.attribute("size").map(attr::elements).unwrap_or_default();
        Some(ManifestChannel {
            name: symbol.to_string(),
            size: size.into_iter().filter_map(attr::integer).filter_map(|n| u64::try_from(n).ok()).collect(),
            ty: attr::string(op, "channel_type").unwrap_or("npu_dma_stream").to_string(),
            element: *carried.get(symbol)?,
        })
    };
    declared.filter_map(of).collect()
}

fn extents(launch: OperationRef<'_, '_>) -> Vec<u64> {
    // The body sees ids, extents and operands; outside there are tokens, extents and operands.
    let inside = launch.regions().next().and_then(|r| r.first_block()).map_or(0, |b| b.argument_count());
    let is_token = |i: usize| launch.operand(i).is_ok_and(|v| v.r#type().to_string() == "!air.async.token");
    let tokens = (0..launch.operand_count()).take_while(|&i| is_token(i)).count();
    let rank = (inside + tokens).saturating_sub(launch.operand_count());
    (0..rank).map(|i| constant(launch, tokens + i).unwrap_or(0)).collect()
}

fn constant(op: OperationRef<'_, '_>, operand: usize) -> Option<u64> {
    let value = op.operand(operand).ok()?;
    if !value.is_operation_result() {
        return None;
    }
    let owner = airlink_ir::defining_op(value)?;
    if name(owner) != "arith.constant" {
        return None;
    }
    let text = owner.attribute("value").ok()?.to_string();
    text.split(':').next()?.trim().parse().ok()
}
