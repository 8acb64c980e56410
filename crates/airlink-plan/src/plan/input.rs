//! What a plan is made from besides the graph and its kernels.

use std::collections::BTreeMap;

use airlink_device::{Device, Profile};
use airlink_graph::LaunchIdx;
use airlink_limits::ObjectSize;
use indexmap::IndexMap;

/// The kernel objects found for a target, by launch and `link_with` name. A pair without an entry has no object.
pub type FoundObjects = IndexMap<(LaunchIdx, String), ObjectInfo>;

/// A kernel object on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectInfo {
    /// Relative to the graph, with `/`.
    pub path: String,
    /// BLAKE3 of its bytes, in hexadecimal.
    pub hash: String,
    /// The global symbols that it defines, in the order of its symbol table.
    pub symbols: Vec<String>,
}

/// What the best partition into ELFs is the best of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Objective {
    /// Fewest calls of an ELF: each costs the host 50 to 200 µs.
    #[default]
    Launches,
    /// Fewest launches above those advised for one ELF, then fewest calls, then the most even ELFs: what compiles fast.
    Compile,
    /// Fewest bytes that the host hands over and takes back.
    Bytes,
}

impl Objective {
    pub fn as_str(self) -> &'static str {
        match self {
            Objective::Launches => "launches",
            Objective::Compile => "compile",
            Objective::Bytes => "bytes",
        }
    }
}

/// Choices that the command line makes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanOptions {
    /// Over the graph's `device`.
    pub device: Option<&'static Device>,
    /// The device where neither says one; none leaves limits unjudged then.
    pub default_device: Option<&'static Device>,
    /// The version of the tools; none is the default one.
    pub profile: Option<&'static Profile>,
    /// No double buffering, whatever the graph says.
    pub has_no_ping_pong: bool,
    /// What cuts are chosen for.
    pub objective: Objective,
    /// No ELF has more launch ops than this.
    pub max_launches: Option<u64>,
    /// Repeated layers are planned iteration by iteration, and ELFs may cross their ends.
    pub unrolls: bool,
    /// No K is split, whatever the graph says.
    pub has_no_k_split: bool,
    /// No launch is spread over more columns, whatever the graph says.
    pub has_no_n_split: bool,
    /// No launch is cut into several, whatever the graph says.
    pub has_no_row_split: bool,
    /// Whether to note what a rebuild of a kernel would make better.
    pub wants_advice: bool,
    /// Over the graph's.
    pub runtime_tiling: Option<Vec<u64>>,
    /// Over the graph's.
    pub stack_bytes: Option<u64>,
    /// Sizes of the device's own kernel objects, as far as they were found, by launch and `link_with` name.
    pub object_sizes: BTreeMap<(LaunchIdx, String), ObjectSize>,
    /// The target is another machine: broken limits of the device are warnings, and doubts are notes.
    pub limits_only_warn: bool,
}
