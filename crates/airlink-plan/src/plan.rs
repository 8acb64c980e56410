//! The plan itself: what is to be built, as data.

mod columns;
mod cut;
mod input;
mod names;
mod rows;

pub use columns::NSplitPlan;
pub(crate) use cut::bytes;
pub use cut::{Across, CallPlan, CutReason};
pub use input::{FoundObjects, ObjectInfo, Objective, PlanOptions};
pub use names::{
    ExternPlan, ExternUse, FoundObject, LocalRename, ObjectIdx, ObjectPlan, ObjectSymbol, Rename, RenameKind, Signature,
};
pub use rows::{RowPiece, RowSplitPlan};

use airlink_graph::{BufferIdx, IndexLists, LaunchIdx, Move, Role, ViewIdx};
use airlink_kernel::{EntryKind, KernelType};
use airlink_limits::{ProgramUse, Resource};
use indexmap::IndexMap;

/// One fused ELF per cut of a launch graph, with every name decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Version of the plan's JSON: 1.
    pub schema: u32,
    /// The graph's name.
    pub graph: String,
    /// The device, from the options or the graph; none if neither says.
    pub device: Option<String>,
    /// In program order.
    pub elfs: Vec<ElfPlan>,
    /// Steps that run earlier than the file says, since `--reorder` allows it.
    pub moves: Vec<Move>,
    /// Every object variant of the graph, in order of first use. All ELFs of a graph are written into one folder, so a
    /// file name means one content in all of them. An [`ObjectIdx`] is a position here.
    pub objects: Vec<ObjectPlan>,
}

/// One fused ELF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElfPlan {
    /// Also the name of the fused function.
    pub name: String,
    /// In program order: those of the first call.
    pub launches: Vec<LaunchPlan>,
    /// How the program calls it, in program order; the first call is the one that gives everything its name.
    pub calls: Vec<CallPlan>,
    /// The arguments of the fused function.
    pub args: Vec<ArgPlan>,
    /// Why the ELF ends where it does.
    pub cut: CutReason,
    /// Declarations of kernel symbols in the fused module, in order of first use; no final symbol stands twice.
    pub externs: Vec<ExternPlan>,
    /// Positions in [`Plan::objects`], in order of first use.
    pub objects: Vec<ObjectIdx>,
    /// What is called otherwise than in its kernel, by launch.
    pub renames: Vec<Rename>,
    /// Positions in `args`, by what a host program does with them.
    pub index_lists: IndexLists,
    /// The views that its launches use, in graph order.
    pub views: Vec<ViewIdx>,
    /// Transfers that are split.
    pub splits: Vec<SplitPlan>,
    /// Launches that are spread over more columns.
    pub n_splits: Vec<NSplitPlan>,
    /// Launches that are cut into several, as they are after those.
    pub row_splits: Vec<RowSplitPlan>,
    /// What it takes of the device; none where no device is named.
    pub resources: Option<ElfResources>,
}

/// What an ELF takes of its device.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ElfResources {
    pub device: String,
    pub toolchain: String,
    /// One per launch op: two for a kernel with two.
    pub launches: Vec<LaunchResources>,
    pub program: ProgramUse,
}

/// What one launch takes of its device.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct LaunchResources {
    pub name: String,
    pub resources: Vec<Resource>,
}

/// One launch of the graph in its ELF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchPlan {
    pub launch: LaunchIdx,
    /// The launch's name in the graph: the prefix of its local names.
    pub name: String,
    /// The key of its kernel's summary.
    pub kernel: String,
    /// The kernel function.
    pub function: String,
    /// One per argument of the kernel function.
    pub operands: Vec<OperandPlan>,
    /// One per entry of the kernel function, in text order.
    pub entries: Vec<EntryPlan>,
    /// New names of everything that is local to the kernel's module but the kernel function, in text order.
    pub locals: Vec<LocalRename>,
    /// Functions of the module that hold launches of their own and are not the kernel: they stay out.
    pub dropped_functions: Vec<String>,
    /// Every extern that the module declares: original symbol to what it becomes.
    pub externs: IndexMap<String, ExternUse>,
    /// `link_with` strings of declarations and herds: original to final.
    pub files: IndexMap<String, String>,
}

/// What is passed for one argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperandPlan {
    /// Position in [`ElfPlan::args`].
    pub arg: usize,
    /// The view of it, if the graph names one.
    pub view: Option<ViewIdx>,
}

/// A launch of a kernel function, or a hierarchy op that is wrapped to be one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryPlan {
    pub kind: EntryKind,
    /// For a bare herd: the name of the segment that is made around it.
    pub segment: Option<String>,
}

/// One argument of a fused function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgPlan {
    /// Position in [`ElfPlan::args`].
    pub index: usize,
    /// The buffer's name.
    pub name: String,
    pub buffer: BufferIdx,
    pub ty: KernelType,
    /// What the map says.
    pub role: Role,
    /// What the dataflow says.
    pub dataflow: Role,
    /// Size of the buffer; none for a scalar or a dynamic shape.
    pub size_bytes: Option<u64>,
    /// Extents in elements; empty for a scalar, none where dynamic.
    pub shape: Vec<Option<u64>>,
    /// The type that the graph declares, where a partition needed more rows.
    pub padded_from: Option<KernelType>,
    /// Launches of this ELF that read it, in program order.
    pub readers: Vec<LaunchIdx>,
    /// Launches of this ELF that write it, in program order.
    pub writers: Vec<LaunchIdx>,
}

impl ArgPlan {
    /// What the dataflow says, where that differs from the role.
    pub fn dataflow_if_other(&self) -> Option<&'static str> {
        (self.dataflow != self.role).then(|| self.dataflow.as_str())
    }
}

/// A transfer that is split to fit the device.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SplitPlan {
    /// The launch's name.
    pub launch: String,
    /// The extern that consumes what the transfer brings.
    pub symbol: String,
    /// Extent in elements before the split.
    pub extent: u64,
    /// Number of parts; `extent / parts` elements each.
    pub parts: u64,
    /// Position of the launch op in the kernel function, and of the transfer in it, in text order.
    #[serde(skip)]
    pub entry: usize,
    #[serde(skip)]
    pub transfer: usize,
    /// What the launch takes of the device without the split and with it; empty where no device is named.
    pub before: Vec<Resource>,
    pub after: Vec<Resource>,
    pub reason: String,
}
