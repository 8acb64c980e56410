//! The launch graph as the file says it: every value with its place, blocks expanded, nothing resolved.

use airlink_diag::{FileId, Span};
use indexmap::IndexMap;
use serde::Serialize;

/// A launch graph as read from TOML.
#[derive(Clone, Debug)]
pub struct GraphFile {
    pub file: FileId,
    pub name: Placed<String>,
    /// A name that [`airlink_device::Device::named`] knows; none if the file does not say.
    pub device: Option<Placed<String>>,
    pub compiler: CompilerOptions,
    /// `ref`: symbol to reference kernel.
    pub refs: IndexMap<String, Placed<String>>,
    pub buffers: Vec<BufferEntry>,
    pub views: Vec<ViewEntry>,
    /// `[[launch]]`, `[[host]]` and what `[[block]]` expands to, in file order.
    pub steps: Vec<StepEntry>,
    pub elfs: Vec<ElfEntry>,
}

impl GraphFile {
    /// The kernels to read, as the graph spells them, each with the place that first names it, in that order.
    pub fn kernels(&self) -> IndexMap<&str, Span> {
        let mut kernels = IndexMap::new();
        for step in &self.steps {
            if let StepEntry::Launch(launch) = step {
                kernels.entry(launch.kernel.value.as_str()).or_insert(launch.kernel.span);
            }
        }
        kernels
    }
}

/// A value and the place where the user wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed<T> {
    pub value: T,
    pub span: Span,
}

impl<T> Placed<T> {
    pub fn new(value: T, span: Span) -> Placed<T> {
        Placed { value, span }
    }
}

/// What the kernels are compiled with; the limits depend on it. None: the file does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompilerOptions {
    pub ping_pong: Option<Placed<PingPong>>,
    pub runtime_tiling: Option<Placed<Vec<u64>>>,
    pub stack_bytes: Option<Placed<u64>>,
    pub lock_fix: Option<Placed<bool>>,
}

impl CompilerOptions {
    /// These options where they are given, else those of `base`: `[elf.compiler]` over `[graph.compiler]`.
    pub fn over(&self, base: &CompilerOptions) -> CompilerOptions {
        CompilerOptions {
            ping_pong: self.ping_pong.clone().or_else(|| base.ping_pong.clone()),
            runtime_tiling: self.runtime_tiling.clone().or_else(|| base.runtime_tiling.clone()),
            stack_bytes: self.stack_bytes.clone().or_else(|| base.stack_bytes.clone()),
            lock_fix: self.lock_fix.clone().or_else(|| base.lock_fix.clone()),
        }
    }
}

/// Which memory levels are double-buffered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PingPong {
    On,
    Off,
    L1,
    L2,
}

impl PingPong {
    pub const ALL: [(&'static str, PingPong); 4] =
        [("on", PingPong::On), ("off", PingPong::Off), ("L1", PingPong::L1), ("L2", PingPong::L2)];
}

/// What a buffer is to the host program, per ELF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Input,
    Output,
    Static,
    Intermediate,
    Inout,
    Dead,
}

impl Role {
    pub const ALL: [(&'static str, Role); 6] = [
        ("input", Role::Input),
        ("output", Role::Output),
        ("static", Role::Static),
        ("intermediate", Role::Intermediate),
        ("inout", Role::Inout),
        ("dead", Role::Dead),
    ];

    /// What one argument is whose buffers play these two roles in two calls: the host must give it if either needs it,
    /// and take it if either leaves something.
    pub fn join(self, other: Role) -> Role {
        let both = [self, other];
        if self == other {
            return self;
        }
        let is_in = both.iter().any(|r| matches!(r, Role::Input | Role::Static | Role::Inout));
        let is_out = both.iter().any(|r| matches!(r, Role::Output | Role::Inout));
        match (is_in, is_out) {
            (true, true) => Role::Inout,
            (true, false) => Role::Input,
            (false, true) => Role::Output,
            (false, false) => Role::Intermediate,
        }
    }

    pub fn as_str(self) -> &'static str {
        Role::ALL.iter().find(|(_, r)| *r == self).map_or("", |(name, _)| name)
    }
}

/// How a transfer whose K exceeds the limit is to be split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KSplit {
    Auto,
    Off,
    /// Into this many parts, at least 1.
    Parts(u64),
}

/// Whether a launch is cut into several over consecutive ranges of its grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowSplit {
    /// Where only that makes it fit its device.
    Auto,
    Off,
    /// Into this many launches, at least 1.
    Launches(u64),
}

/// Whether a matrix-vector product is spread over more columns than its herd has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NSplit {
    /// Over as many as the device has and as fit.
    Auto,
    Off,
    /// Over this many times the columns, at least 1.
    Factor(u64),
}

/// How often a kernel that was built for a part of the rows is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Partition {
    /// As often as the rows of the buffers take.
    Auto,
    /// So often; another number than that is an error.
    Launches(u64),
}

/// Whether a launch may share an ELF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fuse {
    Auto,
    Never,
}

/// `[[buffer]]`.
#[derive(Clone, Debug)]
pub struct BufferEntry {
    pub name: Placed<String>,
    pub ty: Option<Placed<String>>,
    pub role: Option<Placed<Role>>,
}

/// `[[view]]`. The lists have one number per dimension of the buffer, if the file is right.
#[derive(Clone, Debug)]
pub struct ViewEntry {
    pub name: Placed<String>,
    pub of: Placed<String>,
    pub offsets: Placed<Vec<u64>>,
    pub sizes: Placed<Vec<u64>>,
    /// Ones if absent.
    pub strides: Option<Placed<Vec<u64>>>,
    pub ty: Placed<String>,
}

/// A step of the program.
#[derive(Clone, Debug)]
pub enum StepEntry {
    Launch(Box<LaunchEntry>),
    Host(HostEntry),
}

/// `[[launch]]` or `[[block.launch]]`.
#[derive(Clone, Debug)]
pub struct LaunchEntry {
    pub name: Placed<String>,
    pub kernel: Placed<String>,
    /// The span covers the whole list.
    pub args: Placed<Vec<Placed<String>>>,
    pub func: Option<Placed<String>>,
    pub objects: IndexMap<String, Placed<String>>,
    pub refs: IndexMap<String, Placed<String>>,
    pub k_split: Option<Placed<KSplit>>,
    pub row_split: Option<Placed<RowSplit>>,
    pub n_split: Option<Placed<NSplit>>,
    /// None once the launch is expanded.
    pub partition: Option<Placed<Partition>>,
    pub fuse: Option<Placed<Fuse>>,
    pub elf: Option<Placed<String>>,
    /// The configuration that `elf` runs on, where that is control code alone or a partial ELF.
    pub pdi: Option<Placed<String>>,
    /// The block that it was expanded from, with the index in it.
    pub block: Option<(String, u64)>,
}

/// `[[host]]` or `[[block.host]]`.
#[derive(Clone, Debug)]
pub struct HostEntry {
    pub name: Placed<String>,
    pub reads: Vec<Placed<String>>,
    pub writes: Vec<Placed<String>>,
    pub block: Option<(String, u64)>,
}

/// `[[elf]]`: a cut given by hand.
#[derive(Clone, Debug)]
pub struct ElfEntry {
    pub name: Placed<String>,
    pub launches: Placed<Vec<Placed<String>>>,
    /// The order of the arguments; none: in order of first use.
    pub args: Option<Placed<Vec<Placed<String>>>>,
    /// `[elf.compiler]`.
    pub compiler: CompilerOptions,
}
