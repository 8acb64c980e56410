//! Views: contiguous parts of buffers.

use airlink_diag::{Finding, Findings, codes};
use airlink_kernel::{KernelType, MemRefType};
use indexmap::IndexMap;

use super::types;
use crate::words::suggest;
use crate::{Buffer, BufferIdx, ByteRange, View, ViewEntry};

/// Places a view in its buffer, or reports why not.
pub fn place(
    entry: &ViewEntry,
    buffers: &IndexMap<String, Buffer>,
    views: &[ViewEntry],
    findings: &mut Findings,
) -> Option<View> {
    let ty = types::parse(&entry.ty, findings);
    let Some((index, _, buffer)) = buffers.get_full(&entry.of.value) else {
        findings.push(unknown_base(entry, buffers, views));
        return None;
    };
    let ty = ty?;
    if buffer.ty.is_none() {
        // A declared type that is none is reported; otherwise only host steps use the buffer.
        if buffer.ty_span.is_none() {
            findings.push(
                Finding::error(
                    codes::AL0205,
                    format!("view `{}` is of `{}`, whose type is not known", entry.name.value, buffer.name),
                )
                .at(entry.of.span, "no `[[buffer]]` with a `type`, and no launch uses it whole")
                .remedy(format!("declare `[[buffer]]` `{}` with its `type`", buffer.name)),
            );
        }
        return None;
    }
    match fit(entry, &ty, buffer) {
        Ok((offset_elements, range)) => Some(View {
            name: entry.name.value.clone(),
            span: entry.name.span,
            of: BufferIdx(index),
            offsets: entry.offsets.value.clone(),
            sizes: entry.sizes.value.clone(),
            strides: strides(entry),
            ty,
            ty_span: entry.ty.span,
            offset_elements,
            range,
        }),
        Err(finding) => {
            findings.push((*finding).maybe_also(buffer.ty_span, format!("the type of `{}`", buffer.name)));
            None
        }
    }
}

fn strides(entry: &ViewEntry) -> Vec<u64> {
    entry.strides.as_ref().map_or_else(|| vec![1; entry.sizes.value.len()], |s| s.value.clone())
}

/// Offset in elements and bytes covered.
fn fit(entry: &ViewEntry, ty: &KernelType, buffer: &Buffer) -> Result<(u64, ByteRange), Box<Finding>> {
    let base = buffer.ty.as_ref().and_then(KernelType::as_memref);
    let extents =
        base.filter(|m| m.layout.is_none()).and_then(|m| m.shape.iter().copied().collect::<Option<Vec<u64>>>());
    let (Some(base), Some(extents)) = (base, extents) else {
        let is = buffer.ty.as_ref().map(KernelType::to_string).unwrap_or_default();
        return Err(disagrees(
            entry,
            format!("view `{}` is of `{}`, which is no plain memref", entry.name.value, buffer.name),
        )
        .found(is)
        .allowed("a memref with static extents and no layout")
        .remedy("pass the whole buffer, or give the buffer a plain type")
        .into());
    };
    check_ranks(entry, extents.len())?;
    check_inside(entry, &extents, &buffer.name)?;
    // Inside the buffer, so no product below exceeds its element count, but that may overflow by itself.
    let Some(base_strides) = row_major(&extents) else {
        return Err(disagrees(entry, format!("`{}` is too large for a view", buffer.name))
            .remedy("lower its extents")
            .into());
    };
    check_contiguous(entry, &base_strides)?;
    let offset: u64 = entry.offsets.value.iter().zip(&base_strides).map(|(o, s)| o * s).sum();
    let count: u64 = entry.sizes.value.iter().product();
    check_type(entry, ty, base, offset)?;
    // Elements without a known width count as bytes: ranges are only compared within one buffer.
    let bits = u128::from(base.element_bits().unwrap_or(8));
    let bytes = |bits: u128| u64::try_from(bits).unwrap_or(u64::MAX);
    let start = bytes(u128::from(offset) * bits / 8);
    let end = bytes((u128::from(offset) + u128::from(count)).saturating_mul(bits).div_ceil(8));
    Ok((offset, ByteRange { start, end }))
}

fn check_ranks(entry: &ViewEntry, rank: usize) -> Result<(), Box<Finding>> {
    let lists = [("offsets", Some(&entry.offsets)), ("sizes", Some(&entry.sizes)), ("strides", entry.strides.as_ref())];
    for (key, list) in lists {
        let Some(list) = list.filter(|l| l.value.len() != rank) else { continue };
        let headline = format!(
            "`{key}` of view `{}` has {} dimensions, `{}` has {rank}",
            entry.name.value,
            list.value.len(),
            entry.of.value
        );
        return Err(Finding::error(codes::AL0207, headline)
            .at(list.span, "one number per dimension of the buffer")
            .found(list.value.len().to_string())
            .allowed(rank.to_string())
            .remedy(format!("write {rank} numbers"))
            .into());
    }
    Ok(())
}

fn check_inside(entry: &ViewEntry, extents: &[u64], buffer: &str) -> Result<(), Box<Finding>> {
    let strides = strides(entry);
    for (d, extent) in extents.iter().enumerate() {
        let (offset, size, stride) = (entry.offsets.value[d], entry.sizes.value[d], strides[d]);
        let last = u128::from(offset) + (u128::from(size) - 1) * u128::from(stride);
        if last < u128::from(*extent) {
            continue;
        }
        let span = if offset < *extent { entry.sizes.span } else { entry.offsets.span };
        return Err(Finding::error(codes::AL0206, format!("view `{}` ends outside of `{buffer}`", entry.name.value))
            .at(span, format!("dimension {d} runs from {offset} to {last}"))
            .found(format!("index {last} in dimension {d}"))
            .allowed(format!("0 to {}", u128::from(*extent).saturating_sub(1)))
            .remedy("lower the offset, the size or the stride, or enlarge the buffer")
            .into());
    }
    Ok(())
}

/// Elements between neighbours per dimension; none if the buffer's element count overflows.
fn row_major(extents: &[u64]) -> Option<Vec<u64>> {
    let mut strides = vec![1u64; extents.len()];
    let mut product = 1u64;
    for (d, extent) in extents.iter().enumerate().rev() {
        strides[d] = product;
        product = product.checked_mul((*extent).max(1))?;
    }
    Some(strides)
}

fn check_contiguous(entry: &ViewEntry, base_strides: &[u64]) -> Result<(), Box<Finding>> {
    let mut expected = 1u64;
    for (d, stride) in strides(entry).into_iter().enumerate().rev() {
        let size = entry.sizes.value[d];
        if size == 1 {
            continue;
        }
        // Inside the buffer with a size above 1, so neither product overflows.
        let step = base_strides[d] * stride;
        if step != expected {
            return Err(Finding::error(codes::AL0207, format!("view `{}` is not contiguous", entry.name.value))
                .at(
                    entry.strides.as_ref().map_or(entry.sizes.span, |s| s.span),
                    format!("dimension {d} steps over elements"),
                )
                .found(format!("{step} elements from one index of dimension {d} to the next"))
                .allowed(format!("{expected} elements"))
                .remedy(
                    "take whole rows: only the first dimension with a size above 1 may be smaller than the buffer's",
                )
                .into());
        }
        expected *= size;
    }
    Ok(())
}

fn check_type(entry: &ViewEntry, ty: &KernelType, base: &MemRefType, offset: u64) -> Result<(), Box<Finding>> {
    let view = &entry.name.value;
    let Some(m) = ty.as_memref() else {
        return Err(disagrees(entry, format!("view `{view}` has no memref type"))
            .found(ty.to_string())
            .allowed("a memref")
            .remedy("write the type that the launches take")
            .into());
    };
    if m.element != base.element || m.space != base.space {
        return Err(disagrees(entry, format!("view `{view}` and buffer `{}` hold different elements", entry.of.value))
            .found(ty.to_string())
            .allowed(format!("elements as in `{base}`"))
            .remedy(format!("write the element type `{}` and the same memory space", base.element))
            .into());
    }
    let sizes = &entry.sizes.value;
    let shape: Option<Vec<u64>> = m.shape.iter().copied().collect();
    let Some(shape) = shape.filter(|shape| drops_only_ones(sizes, shape)) else {
        let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
        return Err(disagrees(entry, format!("the sizes of view `{view}` don't give its type"))
            .found(format!("sizes {}, type `{ty}`", sizes.join("x")))
            .allowed("the sizes, where dimensions of size 1 may be left out")
            .remedy("change `sizes` or `type` so that they agree; a view does not reshape")
            .into());
    };
    let strides = row_major(&shape).unwrap_or_default();
    if m.layout.as_deref().is_some_and(|l| !layout_fits(l, &strides, offset)) {
        return Err(disagrees(entry, format!("the layout in the type of view `{view}` does not fit its place"))
            .found(ty.to_string())
            .allowed(format!("no layout, or `strided<{strides:?}, offset: {offset}>`"))
            .remedy("leave the layout out")
            .into());
    }
    Ok(())
}

/// Whether `shape` is `sizes` without some of its ones, as a rank-reducing subview gives.
fn drops_only_ones(sizes: &[u64], shape: &[u64]) -> bool {
    let mut shape = shape.iter().peekable();
    for size in sizes {
        if shape.peek() == Some(&size) {
            shape.next();
        } else if *size != 1 {
            return false;
        }
    }
    shape.next().is_none()
}

/// `strided<[2048, 1], offset: ?>` against what the place gives.
fn layout_fits(layout: &str, strides: &[u64], offset: u64) -> bool {
    let Some(inner) = layout.strip_prefix("strided<[").and_then(|l| l.strip_suffix('>')) else { return false };
    let Some((listed, rest)) = inner.split_once(']') else { return false };
    let listed: Vec<&str> = listed.split(',').map(str::trim).filter(|t| !t.is_empty()).collect();
    let stated = rest.split_once(':').map_or("0", |(_, o)| o.trim());
    let fits = |text: &str, number: u64| text == "?" || text.parse() == Ok(number);
    listed.len() == strides.len() && listed.iter().zip(strides).all(|(t, s)| fits(t, *s)) && fits(stated, offset)
}

fn disagrees(entry: &ViewEntry, headline: String) -> Finding {
    Finding::error(codes::AL0207, headline).at(entry.ty.span, "").also(entry.sizes.span, "the sizes")
}

fn unknown_base(entry: &ViewEntry, buffers: &IndexMap<String, Buffer>, views: &[ViewEntry]) -> Finding {
    let of = &entry.of.value;
    if let Some(other) = views.iter().find(|v| v.name.value == *of) {
        return Finding::error(codes::AL0205, format!("view `{}` is of `{of}`, which is a view", entry.name.value))
            .at(entry.of.span, "not a buffer")
            .also(other.name.span, "a view")
            .remedy(format!("write `of = \"{}\"` and offsets within that buffer", other.of.value));
    }
    let finding = Finding::error(
        codes::AL0205,
        format!("view `{}` is of `{of}`, which nothing declares or uses", entry.name.value),
    )
    .at(entry.of.span, "unknown buffer");
    match suggest(of, buffers.keys().map(String::as_str)) {
        Some(near) => finding.remedy(format!("write `of = \"{near}\"`")),
        None => finding.remedy(format!("declare `[[buffer]]` `{of}` with its `type`")),
    }
}
