//! Types of buffers and of what they are passed for.

use airlink_diag::{Finding, Findings, Span, codes};
use airlink_kernel::{FunctionSummary, KernelType, MemRefType};

use crate::words::printable;
use crate::{ByteRange, LaunchEntry, Placed};

/// Parses a `type` of the graph; a finding if it is none.
pub fn parse(text: &Placed<String>, findings: &mut Findings) -> Option<KernelType> {
    let ty = KernelType::parse(&text.value).filter(is_plausible);
    if ty.is_none() {
        findings.push(
            Finding::error(codes::AL0109, "`type` is not a type")
                .at(text.span, "cannot be parsed")
                .found(printable(&text.value))
                .allowed("a ranked memref or a scalar, as MLIR prints it")
                .remedy("write it as in the kernel's signature, for example `memref<2048x2048xbf16>`"),
        );
    }
    ty.map(|t| normal(&t))
}

/// What is no memref must at least look like a scalar or a type of some dialect.
fn is_plausible(ty: &KernelType) -> bool {
    match ty {
        KernelType::MemRef(_) => true,
        KernelType::Other(text) => {
            let is_word = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            text.starts_with('!') || (is_word && text.starts_with(|c: char| c.is_ascii_alphabetic()))
        }
    }
}

/// The type as MLIR would print it: an identity map is no layout, and a memory space has blanks around its colon.
pub fn normal(ty: &KernelType) -> KernelType {
    let KernelType::MemRef(m) = ty else { return ty.clone() };
    let is_identity = m.layout.as_deref().is_some_and(|l| is_identity_map(l, m.shape.len()));
    let layout = m.layout.clone().filter(|_| !is_identity);
    let space = m.space.as_deref().map(|s| s.split(':').map(str::trim).collect::<Vec<_>>().join(" : "));
    KernelType::MemRef(MemRefType { layout, space, ..m.clone() })
}

/// `affine_map<(d0, d1) -> (d0, d1)>` with any names.
fn is_identity_map(layout: &str, rank: usize) -> bool {
    let inner = layout.strip_prefix("affine_map<").and_then(|l| l.strip_suffix('>'));
    let Some((from, to)) = inner.and_then(|i| i.split_once("->")) else { return false };
    let list = |text: &str| {
        let text = text.trim().strip_prefix('(')?.strip_suffix(')')?;
        let names: Vec<String> = text.split(',').map(|n| n.trim().to_string()).filter(|n| !n.is_empty()).collect();
        Some(names)
    };
    let from = list(from);
    from.is_some() && from == list(to) && from.is_some_and(|names| names.len() == rank)
}

/// The bytes of a buffer of this type; everything where its size is not known.
pub fn byte_range(ty: &KernelType) -> ByteRange {
    let size_bytes = ty.as_memref().filter(|m| m.layout.is_none()).and_then(MemRefType::byte_count);
    size_bytes.map_or(ByteRange::ALL, |end| ByteRange { start: 0, end })
}

/// A type that is known otherwise: what owns it, the type, where it comes from, and the kernel's function.
pub type Known<'a> = (&'static str, &'a KernelType, Span, &'a FunctionSummary);

/// AL0204 for argument `index` of `entry`.
pub fn disagree(entry: &LaunchEntry, index: usize, wanted: &KernelType, wanted_span: Span, known: Known) -> Finding {
    let (owner, known, known_span, function) = known;
    let name = &entry.args.value[index];
    Finding::error(
        codes::AL0204,
        format!(
            "{owner} `{}` is `{known}`, argument {index} of launch `{}` is `{wanted}`",
            name.value, entry.name.value
        ),
    )
    .at(name.span, format!("passed for argument {index} of `@{}`", function.name))
    .also(wanted_span, format!("takes `{wanted}`"))
    .also(known_span, format!("says `{known}`"))
    .found(known.to_string())
    .allowed(wanted.to_string())
    .remedy(remedy(owner, known, wanted, &name.value))
}

/// Whether two memrefs differ in the first of several extents alone.
fn has_more_rows(known: &KernelType, wanted: &KernelType) -> bool {
    let shapes = (known.as_memref().map(|m| &m.shape), wanted.as_memref().map(|m| &m.shape));
    matches!(shapes, (Some(k), Some(w)) if k.len() > 1 && k[1..] == w[1..])
}

fn remedy(owner: &str, known: &KernelType, wanted: &KernelType, name: &str) -> String {
    let counts =
        (known.as_memref().and_then(MemRefType::element_count), wanted.as_memref().and_then(MemRefType::element_count));
    match counts {
        (Some(has), Some(takes)) if owner == "buffer" && has > takes && has_more_rows(known, wanted) => format!(
            "pass a `[[view]]` of `{name}` with the type `{wanted}`, or write `partition = \"auto\"` in the launch to run the \
             kernel for each part of the rows"
        ),
        (Some(has), Some(takes)) if owner == "buffer" && has > takes => {
            format!("pass a `[[view]]` of `{name}` with the type `{wanted}`, or another buffer")
        }
        _ => format!("pass a buffer of type `{wanted}`, or take the kernel that was built for `{known}`"),
    }
}
