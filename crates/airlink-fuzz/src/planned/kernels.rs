//! Kernels as a few choices, and their summaries.

use airlink_diag::{Findings, Span};
use airlink_kernel::{
    Access, ArgSummary, CallSummary, EntryKind, EntrySummary, ExternSummary, FunctionSummary, HerdSummary,
    KernelSummary, KernelType, LocalKind, LocalName,
};
use indexmap::{IndexMap, IndexSet};

use crate::choices::Choices;

/// A type that every kernel can take.
pub const VECTOR: &str = "memref<16xf32>";

/// Types of arguments; the first are the likely ones.
pub const TYPES: &[&str] =
    &[VECTOR, "memref<4x16xf32>", VECTOR, "memref<?xf32>", "index", "memref<64xf32>", "memref<0xf32>", "i32"];

const SIGNATURES: &[&[&str]] = &[
    &["memref<16xf32, 2 : i32>"],
    &["i32"],
    &["memref<4x64xbf16, 2>", "memref<64xbf16, 2>", "memref<8xbf16, 2>"],
    &["memref<4x128xbf16, 2>", "memref<128xbf16, 2>", "memref<8xbf16, 2>"],
    &["memref<4x128xbf16, 2>", "memref<128xbf16, 2>", "memref<16xbf16, 2>"],
];
const FILES: &[Option<&str>] =
    &[Some("o.o"), None, Some("p.o"), Some("o_2.o"), Some("o_k128.o"), Some("sub/o.o"), Some("o")];
const SYMBOLS: &[&str] = &["f", "g", "a0_c", "f_2", "f_k128", "own", "g0"];
const LOCALS: &[(LocalKind, &str)] = &[
    (LocalKind::Segment, "seg"),
    (LocalKind::Herd, "herd"),
    (LocalKind::Channel, "c"),
    (LocalKind::Channel, "c_2"),
    (LocalKind::Global, "x"),
    (LocalKind::Function, "g0"),
    (LocalKind::Resource, "c"),
    (LocalKind::Launch, "seg"),
    (LocalKind::Segment, "k_seg"),
];
const KINDS: &[EntryKind] = &[EntryKind::Launch, EntryKind::Launch, EntryKind::BareHerd, EntryKind::BareSegment];

/// A module with one kernel function `@k`.
pub struct Kernel {
    pub path: String,
    /// Type, is read, is written, read first.
    pub args: Vec<(String, [bool; 3])>,
    entries: Vec<EntryKind>,
    /// Symbol, types, file, is called.
    externs: IndexMap<&'static str, (&'static [&'static str], Option<&'static str>, bool)>,
    herd_link: Option<&'static str>,
    locals: IndexSet<(LocalKind, &'static str)>,
    has_second_function: bool,
}

impl Kernel {
    /// A kernel that reads all arguments but the last, which it writes.
    pub fn with_args<'t>(path: &str, types: impl Iterator<Item = &'t str>) -> Kernel {
        let mut args: Vec<_> = types.map(|t| (t.to_string(), [true, false, false])).collect();
        if let Some((_, access)) = args.last_mut() {
            *access = [false, true, false];
        }
        Kernel {
            path: path.to_string(),
            args,
            entries: vec![EntryKind::Launch],
            externs: IndexMap::new(),
            herd_link: None,
            locals: IndexSet::new(),
            has_second_function: false,
        }
    }

    pub fn any(path: &str, choices: &mut Choices<'_>) -> Kernel {
        let types: Vec<&str> = (0..1 + choices.below(4)).map(|_| *choices.pick(TYPES)).collect();
        let mut kernel = Kernel::with_args(path, types.into_iter());
        for (_, access) in &mut kernel.args {
            let bits = choices.byte();
            if bits > 0 {
                *access = [bits & 1 != 0, bits & 2 != 0, bits & 4 != 0];
            }
        }
        for _ in 0..choices.below(4) {
            let value = (*choices.pick(SIGNATURES), *choices.pick(FILES), !choices.one_in(4));
            kernel.externs.insert(*choices.pick(SYMBOLS), value);
        }
        for _ in 0..choices.below(5) {
            kernel.locals.insert(*choices.pick(LOCALS));
        }
        // One symbol table: a function that is defined is not declared as well.
        kernel.locals.retain(|(kind, name)| !kind.is_symbol() || !kernel.externs.contains_key(name));
        kernel.entries = (0..1 + choices.below(8) / 7).map(|_| *choices.pick(KINDS)).collect();
        kernel.herd_link = if choices.one_in(6) { *choices.pick(FILES) } else { None };
        kernel.has_second_function = choices.one_in(12);
        kernel
    }

    /// The summary of such a module, whose text is added to the sources so that spans have something to point at.
    pub fn summary(&self, findings: &mut Findings) -> KernelSummary {
        let text = "module { read write call herd @k @f }\n";
        let file = findings.sources.add(self.path.clone(), text);
        let at = |word: &str| text.find(word).map(|i| Span::new(file, i..i + word.len()));
        let place = |word: &str| at(word).unwrap_or(Span::file_start(file));
        let parse = |t: &str| KernelType::parse(t).unwrap_or(KernelType::Other(t.to_string()));
        let access = |[read, write, reads_first]: [bool; 3]| Access {
            read: at("read").filter(|_| read),
            write: at("write").filter(|_| write),
            reads_first: reads_first && read && write,
        };
        let called = self.externs.iter().filter(|(_, (_, _, is_called))| *is_called);
        let calls = called.map(|(symbol, (_, link_with, _))| CallSummary {
            symbol: symbol.to_string(),
            span: place("call"),
            link_with: link_with.or(self.herd_link).map(String::from),
            herd: None,
        });
        let calls: Vec<_> = calls.collect();
        let herd = HerdSummary {
            name: None,
            span: place("herd"),
            size: vec![Some(1), Some(1)],
            link_with: self.herd_link.map(String::from),
        };
        let entry = |kind: &EntryKind| EntrySummary {
            kind: *kind,
            name: None,
            span: place("herd"),
            accesses: self.args.iter().map(|(_, a)| access(*a)).collect(),
            herds: vec![herd.clone()],
            calls: calls.clone(),
            channels: Vec::new(),
            first_async: None,
            unawaited: None,
            traffic: Default::default(),
        };
        let function = |name: &str| FunctionSummary {
            name: name.to_string(),
            span: place("@k"),
            args: self.args.iter().map(|(t, _)| ArgSummary { ty: parse(t), span: place("@k") }).collect(),
            result_count: 0,
            entries: self.entries.iter().map(entry).collect(),
        };
        let externs = self.externs.iter().map(|(symbol, (types, link_with, _))| ExternSummary {
            symbol: symbol.to_string(),
            span: place("@f"),
            inputs: types.iter().map(|t| parse(t)).collect(),
            results: Vec::new(),
            link_with: link_with.map(String::from),
            attributes: IndexMap::new(),
        });
        let functions = if self.has_second_function { vec!["k", "other"] } else { vec!["k"] };
        let own = functions.iter().map(|f| (LocalKind::Function, *f));
        KernelSummary {
            file,
            hash: self.path.clone(),
            module_name: None,
            externs: externs.collect(),
            locals: own
                .chain(self.locals.iter().copied())
                .map(|(kind, n)| LocalName { kind, name: n.into() })
                .collect(),
            functions: functions.iter().map(|f| function(f)).collect(),
            channels: Vec::new(),
            nested_modules: Vec::new(),
        }
    }
}
