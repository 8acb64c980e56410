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
    /// No K is split, whatever the graph says.
    pub has_no_k_split: bool,
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
