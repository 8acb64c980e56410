//! The part of a plan that is about names: externs, objects, renames.

use airlink_graph::LaunchIdx;
use airlink_kernel::{KernelType, LocalKind};
use indexmap::IndexMap;
use serde::Serialize;

/// A declaration of a kernel symbol in a fused module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternPlan {
    /// Final.
    pub symbol: String,
    /// The declaration's `link_with` attribute, final; none where only herds name the file, or nobody does.
    pub link_with: Option<String>,
    /// The object variant that defines it; one without a file where nobody names one.
    pub object: ObjectIdx,
    /// Its name in the kernels and in the object as found.
    pub original: String,
    pub inputs: Vec<KernelType>,
    pub results: Vec<KernelType>,
    /// Attributes of all its declarations together, but name, type, visibility and `link_with`; as printed, by name.
    pub attributes: IndexMap<String, String>,
    /// Whether a launch calls it; a declaration alone needs no object.
    pub is_called: bool,
    /// Launches of this ELF that declare it, in program order.
    pub launches: Vec<LaunchIdx>,
}

/// What an extern of a kernel becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternUse {
    /// Final.
    pub symbol: String,
    /// As [`ExternPlan::link_with`].
    pub link_with: Option<String>,
    /// The object variant that defines it.
    pub object: ObjectIdx,
}

/// Position in [`crate::Plan::objects`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectIdx(pub usize);

/// An object variant: a `link_with` file with the symbols that its launches call in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectPlan {
    /// The final `link_with` name: `mv_k8192.o`. None for externs for which nobody names a file.
    pub file: Option<String>,
    /// The name in the kernels: `mv.o`.
    pub link_with: Option<String>,
    /// What its symbols get: `_k8192`. The file gets it only where another variant has its name.
    pub suffix: Option<String>,
    /// Original name to what becomes of it, for every symbol that a kernel declares in it or that the object found
    /// defines. Symbols that the object leaves undefined are not here: they keep their names.
    pub symbols: IndexMap<String, ObjectSymbol>,
    /// The object, if one was found.
    pub found: Option<FoundObject>,
    /// Launches of the whole graph that use it, in program order.
    pub launches: Vec<LaunchIdx>,
}

/// A symbol of an object variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectSymbol {
    /// Final.
    pub symbol: String,
    /// The type under which kernels declare it; none if only the object knows it.
    pub signature: Option<Signature>,
    /// Whether a launch calls it.
    pub is_called: bool,
}

/// The type of a kernel symbol.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Signature {
    pub inputs: Vec<KernelType>,
    pub results: Vec<KernelType>,
}

/// Which object was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FoundObject {
    /// Relative to the graph.
    pub path: String,
    /// BLAKE3 of its bytes before renaming, in hexadecimal.
    pub hash: String,
}

/// A new local name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalRename {
    pub kind: LocalKind,
    pub from: String,
    pub to: String,
}

/// A name that differs from the kernel's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rename {
    /// The launch's name.
    pub launch: String,
    pub kind: RenameKind,
    pub from: String,
    pub to: String,
    /// For externs: the `link_with` names before and after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_to: Option<String>,
}

/// What a [`Rename`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RenameKind {
    Extern,
    Local(LocalKind),
}

impl RenameKind {
    pub fn as_str(self) -> &'static str {
        match self {
            RenameKind::Extern => "extern",
            RenameKind::Local(kind) => kind.as_str(),
        }
    }
}

impl Serialize for RenameKind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
