//! The bijection of names, one per kind.

use std::collections::BTreeMap;

use airlink_ir::{OperationRef, name};

/// What a name names. Launches, segments and herds have name spaces of their own; the others are module symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NameKind {
    Channel,
    /// A function with a body.
    Function,
    /// A declaration: a symbol of a kernel object.
    Extern,
    Global,
    Launch,
    Segment,
    Herd,
}

impl NameKind {
    pub fn as_str(self) -> &'static str {
        match self {
            NameKind::Channel => "channel",
            NameKind::Function => "function",
            NameKind::Extern => "extern",
            NameKind::Global => "global",
            NameKind::Launch => "launch",
            NameKind::Segment => "segment",
            NameKind::Herd => "herd",
        }
    }

    /// Whether it names a launch, a segment or a herd.
    pub fn is_hierarchy(self) -> bool {
        matches!(self, NameKind::Launch | NameKind::Segment | NameKind::Herd)
    }

    /// The kind of a hierarchy op's `sym_name`, which is no symbol.
    pub fn of_hierarchy(op: OperationRef<'_, '_>) -> Option<NameKind> {
        match name(op) {
            "air.launch" => Some(NameKind::Launch),
            "air.segment" => Some(NameKind::Segment),
            "air.herd" => Some(NameKind::Herd),
            _ => None,
        }
    }

    /// The kind of a module-level symbol.
    pub fn of_symbol(op: OperationRef<'_, '_>) -> NameKind {
        match name(op) {
            "air.channel" => NameKind::Channel,
            "func.func" if airlink_ir::function_body(op).is_none() => NameKind::Extern,
            "func.func" => NameKind::Function,
            _ => NameKind::Global,
        }
    }
}

/// Pairs of names, one to one within a kind.
#[derive(Clone, Debug, Default)]
pub struct Names {
    forward: BTreeMap<(NameKind, String), String>,
    backward: BTreeMap<(NameKind, String), String>,
}

impl Names {
    /// Says that `a` is called `b` on the other side; false if either has another partner.
    pub fn bind(&mut self, kind: NameKind, a: &str, b: &str) -> bool {
        let forward = self.forward.entry((kind, a.to_string())).or_insert_with(|| b.to_string());
        let backward = self.backward.entry((kind, b.to_string())).or_insert_with(|| a.to_string());
        forward == b && backward == a
    }

    /// These names but for those of launches, segments and herds.
    pub fn symbols(&self) -> Names {
        let mut names = Names::default();
        for (kind, a, b) in self.pairs().filter(|(kind, ..)| !kind.is_hierarchy()) {
            names.bind(kind, a, b);
        }
        names
    }

    /// The partner of `a`.
    pub fn get(&self, kind: NameKind, a: &str) -> Option<&str> {
        self.forward.get(&(kind, a.to_string())).map(String::as_str)
    }

    /// The name whose partner is `b`.
    pub fn source(&self, kind: NameKind, b: &str) -> Option<&str> {
        self.backward.get(&(kind, b.to_string())).map(String::as_str)
    }

    /// Every pair, sorted by kind and name.
    pub fn pairs(&self) -> impl Iterator<Item = (NameKind, &str, &str)> {
        self.forward.iter().map(|((kind, a), b)| (*kind, a.as_str(), b.as_str()))
    }
}
