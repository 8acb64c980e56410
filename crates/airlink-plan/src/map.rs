//! The link map of one ELF: `X.map.json`.

use airlink_graph::{IndexLists, LaunchGraph, LaunchIdx};
use airlink_kernel::KernelSummary;
use indexmap::IndexMap;
use serde::Serialize;

use crate::{
    ElfPlan, ElfResources, FoundObject, LaunchPlan, NSplitPlan, ObjectPlan, Plan, Rename, RowSplitPlan, SplitPlan,
};

/// What was linked into an ELF, from which files, under which names. Paths are relative to the graph, as it spells
/// them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LinkMap {
    /// 1.
    pub schema: u32,
    pub name: String,
    pub graph: String,
    pub device: Option<String>,
    pub arguments: Vec<MapArgument>,
    #[serde(flatten)]
    pub index_lists: IndexLists,
    pub views: Vec<MapView>,
    pub launches: Vec<MapLaunch>,
    /// Per call in program order the buffers passed, by name; left out where there is one call, with the arguments as
    /// they are named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Vec<String>>,
    pub objects: Vec<MapObject>,
    pub renames: Vec<Rename>,
    pub splits: Vec<SplitPlan>,
    /// Launches that are spread over more columns.
    pub n_splits: Vec<NSplitPlan>,
    /// Launches that are cut into several over consecutive ranges of their grid.
    pub row_splits: Vec<RowSplitPlan>,
    /// What it takes of its device; null where no device is named.
    pub resources: Option<ElfResources>,
    /// Where this ELF begins, if something stands before it, and where it ends.
    pub cuts: Vec<MapCut>,
    /// Tool to version.
    pub tools: IndexMap<String, String>,
}

/// An argument of the fused function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MapArgument {
    pub index: usize,
    pub name: String,
    #[serde(rename = "type")]
    pub ty: String,
    /// Extents in elements; empty for a scalar, null where dynamic.
    pub shape: Vec<Option<u64>>,
    pub role: &'static str,
    /// What the dataflow says, where that differs from the role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dataflow: Option<&'static str>,
    /// Size of the buffer; null for a scalar or a dynamic shape.
    pub bytes: Option<u64>,
    /// The type that the graph declares, where a partition needed more rows: what is behind them is padding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub padded_from: Option<String>,
    pub readers: Vec<String>,
    pub writers: Vec<String>,
}

/// A part of an argument under a name of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MapView {
    pub name: String,
    pub of: String,
    #[serde(rename = "type")]
    pub ty: String,
    pub offsets: Vec<u64>,
    pub sizes: Vec<u64>,
    pub strides: Vec<u64>,
}

/// One launch and the file that it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MapLaunch {
    pub name: String,
    pub kernel: String,
    /// BLAKE3 of the kernel's file.
    pub hash: String,
    pub function: String,
    /// Per argument of the function: a buffer or view by name.
    pub args: Vec<String>,
    /// Files that it links with, under their final names.
    pub objects: Vec<String>,
}

/// One object file of the ELF.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MapObject {
    /// Null for symbols for which no kernel names a file.
    pub file: Option<String>,
    pub link_with: Option<String>,
    /// What was found for it; null if nothing was.
    pub found: Option<FoundObject>,
    /// Name in the kernels to name in the ELF.
    pub symbols: IndexMap<String, String>,
}

/// An end of an ELF.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MapCut {
    /// The launch before the cut.
    pub after: String,
    pub reason: String,
}

/// The link map of the `elf`th ELF of a plan; `tools` are the versions of what makes it.
pub fn link_map(
    plan: &Plan,
    elf: usize,
    graph: &LaunchGraph,
    kernels: &IndexMap<String, KernelSummary>,
    tools: IndexMap<String, String>,
) -> LinkMap {
    let previous = elf.checked_sub(1).and_then(|p| plan.elfs.get(p));
    let elf = &plan.elfs[elf];
    LinkMap {
        schema: 1,
        name: elf.name.clone(),
        graph: plan.graph.clone(),
        device: plan.device.clone(),
        arguments: elf.args.iter().map(|a| argument(a, graph)).collect(),
        index_lists: elf.index_lists.clone(),
        views: elf.views.iter().map(|v| view(graph, graph.view(*v))).collect(),
        launches: elf.launches.iter().map(|l| launch(l, elf, plan, graph, kernels)).collect(),
        calls: elf.calls.iter().filter(|_| elf.calls.len() > 1).map(|c| call(c, graph)).collect(),
        objects: elf.objects.iter().map(|o| object(&plan.objects[o.0])).collect(),
        renames: elf.renames.clone(),
        splits: elf.splits.clone(),
        n_splits: elf.n_splits.clone(),
        row_splits: elf.row_splits.clone(),
        resources: elf.resources.clone(),
        cuts: previous.into_iter().chain([elf]).filter_map(cut).collect(),
        tools,
    }
}

fn call(call: &crate::CallPlan, graph: &LaunchGraph) -> Vec<String> {
    call.args.iter().map(|b| graph.buffer(*b).name.clone()).collect()
}

fn argument(arg: &crate::ArgPlan, graph: &LaunchGraph) -> MapArgument {
    let names = |launches: &[LaunchIdx]| launches.iter().map(|l| graph.launch(*l).name.value.clone()).collect();
    MapArgument {
        index: arg.index,
        name: arg.name.clone(),
        ty: arg.ty.to_string(),
        shape: arg.shape.clone(),
        role: arg.role.as_str(),
        dataflow: arg.dataflow_if_other(),
        bytes: arg.size_bytes,
        padded_from: arg.padded_from.as_ref().map(|t| t.to_string()),
        readers: names(&arg.readers),
        writers: names(&arg.writers),
    }
}

fn view(graph: &LaunchGraph, view: &airlink_graph::View) -> MapView {
    MapView {
        name: view.name.clone(),
        of: graph.buffer(view.of).name.clone(),
        ty: view.ty.to_string(),
        offsets: view.offsets.clone(),
        sizes: view.sizes.clone(),
        strides: view.strides.clone(),
    }
}

fn launch(
    launch: &LaunchPlan,
    elf: &ElfPlan,
    plan: &Plan,
    graph: &LaunchGraph,
    kernels: &IndexMap<String, KernelSummary>,
) -> MapLaunch {
    let files = launch.externs.values().map(|e| &plan.objects[e.object.0].file);
    let mut objects: Vec<String> = files.flatten().cloned().collect();
    objects.extend(launch.files.values().cloned());
    objects.sort();
    objects.dedup();
    MapLaunch {
        name: launch.name.clone(),
        kernel: launch.kernel.clone(),
        hash: kernels.get(&launch.kernel).map_or(String::new(), |k| k.hash.clone()),
        function: launch.function.clone(),
        args: launch
            .operands
            .iter()
            .map(|o| o.view.map_or_else(|| elf.args[o.arg].name.clone(), |v| graph.view(v).name.clone()))
            .collect(),
        objects,
    }
}

fn object(object: &ObjectPlan) -> MapObject {
    MapObject {
        file: object.file.clone(),
        link_with: object.link_with.clone(),
        found: object.found.clone(),
        symbols: object.symbols.iter().map(|(from, to)| (from.clone(), to.symbol.clone())).collect(),
    }
}

fn cut(elf: &ElfPlan) -> Option<MapCut> {
    Some(MapCut { after: elf.launches.last()?.name.clone(), reason: elf.cut.to_string() })
}
