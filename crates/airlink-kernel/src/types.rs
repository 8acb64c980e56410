//! Types as text with the parts that airlink decides by.

use serde::Serialize;
use std::fmt;

use crate::Memory;

/// The type of a kernel argument or of an extern's operand.
///
/// Two types are equal when MLIR prints them alike: `memref<4xf32, 2>` and `memref<4xf32, 2 : i32>` differ.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(into = "String")]
pub enum KernelType {
    MemRef(MemRefType),
    /// A scalar or anything else, as printed.
    Other(String),
}

/// A ranked memref.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MemRefType {
    /// Extents in elements; `None` where dynamic.
    pub shape: Vec<Option<u64>>,
    /// The element type as printed: `bf16`.
    pub element: String,
    /// The layout as printed (`strided<[1], offset: ?>`), if it is not the identity.
    pub layout: Option<String>,
    /// The memory space as printed (`2 : i32`); none is L3.
    pub space: Option<String>,
}

impl KernelType {
    /// Parses a type as MLIR prints it or a user writes it; blanks don't matter. `None` if a `memref<` does not close
    /// or has no element type; whatever else is [`KernelType::Other`].
    pub fn parse(text: &str) -> Option<KernelType> {
        let text = squeeze(text);
        match text.strip_prefix("memref<") {
            None => (!text.is_empty()).then_some(KernelType::Other(text)),
            Some(rest) => parse_memref(rest.strip_suffix('>')?).map(KernelType::MemRef),
        }
    }

    pub fn as_memref(&self) -> Option<&MemRefType> {
        match self {
            KernelType::MemRef(m) => Some(m),
            KernelType::Other(_) => None,
        }
    }
}

impl MemRefType {
    /// Where it lies: the space `1` is L2, `2` is L1, with or without a type; anything else is L3.
    pub fn memory(&self) -> Memory {
        match self.space.as_deref().map(|s| s.split(':').next().unwrap_or_default().trim()) {
            Some("1") => Memory::L2,
            Some("2") => Memory::L1,
            _ => Memory::L3,
        }
    }

    /// This type with `factor` times the extent in its outermost dimension. `None` where that is dynamic or leaves 64
    /// bits, where there is no dimension, and for layouts other than the identity, in which more rows may lie elsewhere.
    pub fn with_more_rows(&self, factor: u64) -> Option<MemRefType> {
        let mut ty = self.clone();
        let rows = ty.shape.first_mut().filter(|_| self.layout.is_none())?;
        *rows = Some((*rows)?.checked_mul(factor)?);
        Some(ty)
    }

    /// Elements in all; `None` if an extent is dynamic or the product overflows.
    pub fn element_count(&self) -> Option<u64> {
        self.shape.iter().try_fold(1u64, |n, d| n.checked_mul((*d)?))
    }

    /// Bits of one element; `None` for a type without a fixed width.
    pub fn element_bits(&self) -> Option<u64> {
        let e = self.element.as_str();
        match e {
            "bf16" | "f16" => return Some(16),
            "tf32" => return Some(19),
            "index" => return Some(64),
            _ => {}
        }
        let digits = e.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        let kind = &e[..e.len() - digits.len()];
        // `f8E4M3FN` has 8 bits, `f80` has 80.
        if kind == "f" && e.as_bytes().get(2) == Some(&b'E') {
            return e[1..2].parse().ok();
        }
        matches!(kind, "i" | "si" | "ui" | "f").then(|| digits.parse().ok()).flatten()
    }

    /// Bytes of the whole memref with the identity layout.
    pub fn byte_count(&self) -> Option<u64> {
        self.element_count()?.checked_mul(self.element_bits()?).map(|bits| bits.div_ceil(8))
    }
}

impl fmt::Display for KernelType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KernelType::MemRef(m) => m.fmt(f),
            KernelType::Other(text) => f.write_str(text),
        }
    }
}

impl fmt::Display for MemRefType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("memref<")?;
        for d in &self.shape {
            match d {
                Some(n) => write!(f, "{n}x")?,
                None => f.write_str("?x")?,
            }
        }
        f.write_str(&self.element)?;
        for part in [&self.layout, &self.space].into_iter().flatten() {
            write!(f, ", {part}")?;
        }
        f.write_str(">")
    }
}

impl From<KernelType> for String {
    fn from(t: KernelType) -> String {
        t.to_string()
    }
}

/// The text between the angle brackets.
fn parse_memref(inner: &str) -> Option<MemRefType> {
    let mut parts = split_top_level(inner);
    let mut rest = parts.next()?;
    let mut shape = Vec::new();
    while let Some((head, tail)) = rest.split_once('x') {
        match head {
            "?" => shape.push(None),
            _ if head.bytes().all(|b| b.is_ascii_digit()) && !head.is_empty() => shape.push(Some(head.parse().ok()?)),
            _ => break,
        }
        rest = tail;
    }
    if rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_digit() || c == '?') {
        return None;
    }
    let (mut layout, mut space) = (None, None);
    for part in parts {
        if part.starts_with("strided<") || part.starts_with("affine_map<") {
            layout = Some(part.to_string());
        } else {
            space = Some(part.to_string());
        }
    }
    Some(MemRefType { shape, element: rest.to_string(), layout, space })
}

/// Pieces at the commas outside brackets, trimmed.
fn split_top_level(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0i32;
    let mut previous = ' ';
    text.split(move |c: char| {
        match c {
            '<' | '[' | '(' | '{' => depth += 1,
            '>' if previous == '-' => {}
            '>' | ']' | ')' | '}' => depth -= 1,
            _ => {}
        }
        previous = c;
        c == ',' && depth == 0
    })
    .map(str::trim)
}

/// The text without needless blanks: one after `,` and around `:` and `->` as MLIR prints, none elsewhere.
fn squeeze(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.split_whitespace().flat_map(|w| w.chars().chain([' '])) {
        let after_break = out.ends_with([' ', '<', '(', '[']) || out.is_empty();
        if c == ' ' && after_break {
            continue;
        }
        if matches!(c, '>' | ')' | ']' | ',') && out.ends_with(' ') && !out.ends_with("-> ") {
            out.pop();
        }
        out.push(c);
        if c == ',' {
            out.push(' ');
        }
    }
    while out.ends_with(' ') {
        out.pop();
    }
    out
}
