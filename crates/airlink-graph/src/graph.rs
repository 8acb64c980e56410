//! The resolved launch graph: plain data that the plan reads.

use airlink_diag::{FileId, Span};
use airlink_kernel::{Access, KernelType};
use indexmap::IndexMap;

use crate::file::{CompilerOptions, Fuse, KSplit, NSplit, Placed, Role, RowSplit};

/// What a launch graph means once its kernels are known: buffers with types, views with places in them, and steps in
/// program order with every operand bound.
///
/// Order is the order of the file everywhere, so two readings give equal data.
#[derive(Clone, Debug)]
pub struct LaunchGraph {
    pub file: FileId,
    pub name: Placed<String>,
    /// A name that [`airlink_device::Device::named`] knows; none if the file does not say.
    pub device: Option<Placed<String>>,
    /// `[graph.compiler]`.
    pub compiler: CompilerOptions,
    /// `[graph] ref`: symbol to reference kernel.
    pub refs: IndexMap<String, Placed<String>>,
    /// Declared buffers in file order, then inferred ones in order of first use. A [`BufferIdx`] is a position here.
    pub buffers: IndexMap<String, Buffer>,
    /// Views in file order. A [`ViewIdx`] is a position here.
    pub views: IndexMap<String, View>,
    /// Launches and host steps in program order, blocks expanded.
    pub steps: Vec<Step>,
    /// Launches in program order. A [`LaunchIdx`] is a position here.
    pub launches: Vec<Launch>,
    /// Host steps in program order. A [`HostIdx`] is a position here.
    pub hosts: Vec<HostStep>,
    /// The cuts given by `[[elf]]`, in file order; names in them are not resolved yet.
    pub cuts: Vec<crate::file::ElfEntry>,
    /// Steps that [`crate::reorder`] moved, in their new order.
    pub moves: Vec<Move>,
}

/// A step that runs earlier than the file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    pub step: String,
    /// The first of the steps that stood before it and now come after it.
    pub before: String,
}

macro_rules! index {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub usize);
    )*};
}

index! {
    /// Position in [`LaunchGraph::buffers`].
    BufferIdx
    /// Position in [`LaunchGraph::views`].
    ViewIdx
    /// Position in [`LaunchGraph::launches`].
    LaunchIdx
    /// Position in [`LaunchGraph::hosts`].
    HostIdx
}

/// One step of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    Launch(LaunchIdx),
    Host(HostIdx),
}

/// A buffer that the host allocates, or a scalar that it passes.
#[derive(Clone, Debug)]
pub struct Buffer {
    pub name: String,
    /// The name in its `[[buffer]]`, else its first use.
    pub span: Span,
    /// Whether a `[[buffer]]` declares it.
    pub is_declared: bool,
    /// The declared type, else that of its uses; none for a buffer that only host steps touch.
    pub ty: Option<KernelType>,
    /// Where the type comes from: `type` in the graph, or the argument in the `.mlir`.
    pub ty_span: Option<Span>,
    pub declared_role: Option<Placed<Role>>,
    /// The declared type, where the buffer was given more rows so that a partition has whole parts. Host programs allocate
    /// the longer buffer, with zeros in what they write beyond, and cut what they read.
    pub padded_from: Option<KernelType>,
}

/// A contiguous part of a buffer under a name of its own.
#[derive(Clone, Debug)]
pub struct View {
    pub name: String,
    pub span: Span,
    pub of: BufferIdx,
    /// Per dimension of the buffer, in elements.
    pub offsets: Vec<u64>,
    pub sizes: Vec<u64>,
    pub strides: Vec<u64>,
    /// The memref type under which launches see it.
    pub ty: KernelType,
    pub ty_span: Span,
    /// Distance of its first element from that of the buffer, in elements.
    pub offset_elements: u64,
    /// The bytes of the buffer that it covers.
    pub range: ByteRange,
}

impl View {
    /// Whether its offset must be folded into the access lists of the launches that use it, because its type cannot
    /// carry one.
    pub fn is_folded(&self) -> bool {
        self.offset_elements > 0 && self.ty.as_memref().is_some_and(|m| m.layout.is_none())
    }
}

/// Bytes of a buffer: `start..end`. A buffer without a known size is covered by [`ByteRange::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteRange {
    pub start: u64,
    pub end: u64,
}

impl ByteRange {
    pub const ALL: ByteRange = ByteRange { start: 0, end: u64::MAX };

    pub fn overlaps(self, other: ByteRange) -> bool {
        self.start < other.end && other.start < self.end
    }

    pub fn contains(self, other: ByteRange) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// One kernel invocation with its operands bound.
#[derive(Clone, Debug)]
pub struct Launch {
    pub name: Placed<String>,
    /// The path as the graph spells it: the key of the kernel's summary.
    pub kernel: Placed<String>,
    /// Position in the summary's `functions`.
    pub function: usize,
    /// The name of that function.
    pub function_name: String,
    /// One per argument of the function.
    pub operands: Vec<Operand>,
    /// How many `air.launch` ops (or bare herds and segments) the function holds.
    pub entry_count: usize,
    /// The entry that is async and whose token nothing uses, if any.
    pub unawaited: Option<Span>,
    /// The block that it was expanded from, with the index in it.
    pub block: Option<(String, u64)>,
    /// This launch's file behind a `link_with` name.
    pub objects: IndexMap<String, Placed<String>>,
    pub refs: IndexMap<String, Placed<String>>,
    pub k_split: Option<Placed<KSplit>>,
    pub row_split: Option<Placed<RowSplit>>,
    pub n_split: Option<Placed<NSplit>>,
    pub fuse: Option<Placed<Fuse>>,
    /// Its compiled NPU ELF.
    pub elf: Option<Placed<String>>,
    /// The configuration that `elf` runs on, where that is control code alone or a partial ELF.
    pub pdi: Option<Placed<String>>,
}

impl Launch {
    /// Whether the launch must have an ELF of its own.
    pub fn is_fuse_never(&self) -> bool {
        self.fuse.as_ref().is_some_and(|f| f.value == Fuse::Never)
    }
}

/// What is passed for one argument of a kernel.
#[derive(Clone, Debug)]
pub struct Operand {
    /// The name in the launch's `args`.
    pub span: Span,
    pub buffer: BufferIdx,
    /// The view, if the argument names one.
    pub view: Option<ViewIdx>,
    /// The type of the kernel's argument.
    pub ty: KernelType,
    /// The bytes of the buffer that the operand covers.
    pub range: ByteRange,
    /// Per entry of the function: how it touches this argument.
    pub accesses: Vec<Access>,
}

impl Operand {
    pub fn is_read(&self) -> bool {
        self.accesses.iter().any(|a| a.is_read())
    }

    pub fn is_written(&self) -> bool {
        self.accesses.iter().any(|a| a.is_written())
    }
}

/// A step that runs on the host between launches.
#[derive(Clone, Debug)]
pub struct HostStep {
    pub name: Placed<String>,
    pub reads: Vec<HostOperand>,
    pub writes: Vec<HostOperand>,
    pub block: Option<(String, u64)>,
}

/// A buffer, or a part of one, that a host step touches.
#[derive(Clone, Debug)]
pub struct HostOperand {
    pub span: Span,
    pub buffer: BufferIdx,
    pub view: Option<ViewIdx>,
    pub range: ByteRange,
}

impl LaunchGraph {
    pub fn buffer(&self, index: BufferIdx) -> &Buffer {
        &self.buffers[index.0]
    }

    pub fn buffer_idx(&self, name: &str) -> Option<BufferIdx> {
        self.buffers.get_index_of(name).map(BufferIdx)
    }

    pub fn view(&self, index: ViewIdx) -> &View {
        &self.views[index.0]
    }

    pub fn launch(&self, index: LaunchIdx) -> &Launch {
        &self.launches[index.0]
    }

    pub fn host(&self, index: HostIdx) -> &HostStep {
        &self.hosts[index.0]
    }

    /// The launch of that name. Linear; build a map for many look-ups.
    pub fn launch_idx(&self, name: &str) -> Option<LaunchIdx> {
        self.launches.iter().position(|l| l.name.value == name).map(LaunchIdx)
    }

    /// The name of a step.
    pub fn step_name(&self, step: Step) -> &Placed<String> {
        match step {
            Step::Launch(l) => &self.launch(l).name,
            Step::Host(h) => &self.host(h).name,
        }
    }
}
