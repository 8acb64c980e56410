//! The summary of one kernel module.

use airlink_diag::{FileId, Span};
use indexmap::IndexMap;

use crate::{KernelType, Traffic};

/// One parsed kernel file.
#[derive(Clone, Debug)]
pub struct KernelSummary {
    pub file: FileId,
    /// BLAKE3 of the file's bytes, in hexadecimal.
    pub hash: String,
    /// The name in `module @name`.
    pub module_name: Option<String>,
    /// Functions with a body and public visibility, in text order.
    pub functions: Vec<FunctionSummary>,
    /// Private functions without a body, in text order.
    pub externs: Vec<ExternSummary>,
    /// What must be renamed when modules are merged, in text order; no name stands twice for one kind.
    pub locals: Vec<LocalName>,
    pub channels: Vec<ChannelSummary>,
    /// Places of modules inside the module.
    pub nested_modules: Vec<Span>,
}

/// A function that may be the kernel.
#[derive(Clone, Debug)]
pub struct FunctionSummary {
    pub name: String,
    pub span: Span,
    pub args: Vec<ArgSummary>,
    pub result_count: usize,
    /// Each `air.launch` and each hierarchy op that stands in no launch, in text order. One that sits in a loop at
    /// function level counts once.
    pub entries: Vec<EntrySummary>,
}

/// An argument of the kernel function.
#[derive(Clone, Debug)]
pub struct ArgSummary {
    pub ty: KernelType,
    pub span: Span,
}

/// What kind of op an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    Launch,
    /// A herd outside any launch and segment; airlink wraps it in both.
    BareHerd,
    /// A segment outside any launch; airlink wraps it in a launch.
    BareSegment,
}

/// One launch of a kernel function.
#[derive(Clone, Debug)]
pub struct EntrySummary {
    pub kind: EntryKind,
    pub name: Option<String>,
    pub span: Span,
    /// Per argument of the function: how this launch touches it.
    pub accesses: Vec<Access>,
    pub herds: Vec<HerdSummary>,
    /// Calls of externs below this launch, in text order.
    pub calls: Vec<CallSummary>,
    /// Names of the channels that it puts to or gets from, in order of first use.
    pub channels: Vec<String>,
    /// The first op with an async token, if any.
    pub first_async: Option<Span>,
    /// The entry itself, if it is async and nothing uses its token.
    pub unawaited: Option<Span>,
    /// What it moves, holds and occupies on a device.
    pub traffic: Traffic,
}

/// How a launch touches one argument, with the first op that does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    pub read: Option<Span>,
    pub write: Option<Span>,
    /// Where both happen: the read comes first in text order.
    pub reads_first: bool,
}

impl Access {
    pub fn is_read(self) -> bool {
        self.read.is_some()
    }

    pub fn is_written(self) -> bool {
        self.write.is_some()
    }

    pub fn is_none(self) -> bool {
        !self.is_read() && !self.is_written()
    }

    /// `r`, `w`, `rw` or nothing.
    pub fn as_str(self) -> &'static str {
        match (self.is_read(), self.is_written()) {
            (true, true) => "rw",
            (true, false) => "r",
            (false, true) => "w",
            (false, false) => "",
        }
    }
}

/// A herd below an entry.
#[derive(Clone, Debug)]
pub struct HerdSummary {
    pub name: Option<String>,
    pub span: Span,
    /// Tiles in x and y, where constant.
    pub size: Vec<Option<u64>>,
    pub link_with: Option<String>,
}

/// One call of an extern.
#[derive(Clone, Debug)]
pub struct CallSummary {
    pub symbol: String,
    pub span: Span,
    /// The object it links with: the declaration's `link_with`, else the enclosing herd's.
    pub link_with: Option<String>,
    /// The herd around it, as a position in [`EntrySummary::herds`].
    pub herd: Option<usize>,
}

/// A private function without a body: a kernel symbol that an object defines.
#[derive(Clone, Debug)]
pub struct ExternSummary {
    pub symbol: String,
    pub span: Span,
    pub inputs: Vec<KernelType>,
    pub results: Vec<KernelType>,
    /// The declaration's own `link_with`.
    pub link_with: Option<String>,
    /// Every other attribute of the declaration but its name, type and visibility, as printed, sorted by name.
    pub attributes: IndexMap<String, String>,
}

impl ExternSummary {
    /// K in elements: the extent of the 1-D operand of a symbol that also has a 2-D `RxK` operand.
    pub fn k(&self) -> Option<u64> {
        let memrefs = || self.inputs.iter().filter_map(KernelType::as_memref);
        let columns = memrefs().find(|m| m.shape.len() == 2)?.shape[1]?;
        memrefs().any(|m| m.shape == [Some(columns)]).then_some(columns)
    }

    /// M in elements: the extent of the last 1-D operand of a symbol whose K is known.
    pub fn m(&self) -> Option<u64> {
        self.k()?;
        self.inputs.iter().rev().filter_map(KernelType::as_memref).find(|m| m.shape.len() == 1)?.shape[0]
    }

    /// `(i32, memref<8xbf16, 2 : i32>) -> ()` as MLIR prints a function type.
    pub fn type_text(&self) -> String {
        let list = |types: &[KernelType]| types.iter().map(|t| t.to_string()).collect::<Vec<_>>().join(", ");
        match &self.results[..] {
            [one] => format!("({}) -> {one}", list(&self.inputs)),
            many => format!("({}) -> ({})", list(&self.inputs), list(many)),
        }
    }
}

/// A channel declaration.
#[derive(Clone, Debug)]
pub struct ChannelSummary {
    pub name: String,
    pub span: Span,
}

/// What a local name names. Each kind is a name space of its own for segments, herds and launches, which are no MLIR
/// symbols; channels, functions and globals share the module's symbol table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LocalKind {
    Channel,
    /// A private function with a body.
    Function,
    Global,
    Launch,
    Segment,
    Herd,
    /// The key of a `dense_resource`.
    Resource,
}

impl LocalKind {
    /// Whether the name stands in the module's symbol table.
    pub fn is_symbol(self) -> bool {
        matches!(self, LocalKind::Channel | LocalKind::Function | LocalKind::Global)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            LocalKind::Channel => "channel",
            LocalKind::Function => "function",
            LocalKind::Global => "global",
            LocalKind::Launch => "launch",
            LocalKind::Segment => "segment",
            LocalKind::Herd => "herd",
            LocalKind::Resource => "resource",
        }
    }
}

/// A name that is local to the kernel's module.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LocalName {
    pub kind: LocalKind,
    pub name: String,
}
