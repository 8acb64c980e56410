//! Accesses of buffers that start further on than the kernel thinks: views at an offset.

use airlink_ir::melior::ir::ValueLike;
use airlink_ir::melior::ir::operation::OperationLike;
use airlink_ir::{OperationRef, Value, attr, hierarchy_args, name};
use airlink_kernel::KernelType;

use super::{Same, identity};

/// An access list: offset, size and stride of each dimension; dynamic entries are negative.
type Access = Vec<[i64; 3]>;

impl<'c, 'a> Same<'c, 'a> {
    /// Says that every access of `a` is expected `elements` further on in its partner.
    pub(crate) fn expect_offset(&mut self, a: Value<'c, 'a>, elements: i64) {
        self.offsets.insert(identity(a), elements);
    }

    /// What is passed into a hierarchy op keeps its offset there.
    pub(crate) fn pass_offsets(&mut self, a: OperationRef<'c, 'a>) {
        if self.offsets.is_empty() || !matches!(name(a), "air.launch" | "air.segment" | "air.herd") {
            return;
        }
        for (outer, inner) in hierarchy_args(a) {
            if let Some(elements) = self.offsets.get(&identity(outer)).copied() {
                self.offsets.insert(identity(inner), elements);
            }
        }
    }

    /// Judges one list of an access whose memref is at an offset; `None` if it is at none and the list must be equal.
    pub(super) fn shifted_list(&self, a: OperationRef<'c, 'a>, b: OperationRef<'c, 'a>, key: &str) -> Option<bool> {
        let is_plain = self.offsets.is_empty() && self.splits.is_empty() && self.panels.is_empty();
        if is_plain || !key.starts_with("static_") {
            return None;
        }
        let side = key.split('_').nth(1)?;
        let memref = memref_of(a, side)?;
        let parts = self.splits.get(&(a.to_raw().ptr as usize)).copied().filter(|_| side == "src");
        let offset = self.offsets.get(&identity(memref)).copied();
        let rows = self.panels.get(&(a.to_raw().ptr as usize)).and_then(|p| p.of(a, side, memref));
        if parts.is_none() && offset.is_none() && rows.is_none() {
            return None;
        }
        let elements = offset.unwrap_or(0);
        let is_shifted = || {
            let mut before = split(access(a, side, memref)?, parts)?;
            if let Some((dimension, factor)) = rows {
                widen(&mut before, dimension, factor)?;
            }
            let mut after = access(b, side, memref)?;
            let mut shift = 0i64;
            // A dimension of one element adds a constant.
            while after.len() > before.len() {
                let [offset, size, stride] = after.remove(0);
                if size != 1 || offset < 0 || stride < 0 {
                    return None;
                }
                shift = shift.checked_add(offset.checked_mul(stride)?)?;
            }
            for ([o, s, t], [p, u, v]) in before.iter().zip(&after) {
                if s != u || t != v || (*o < 0) != (*p < 0) {
                    return None;
                }
                if o != p {
                    shift = shift.checked_add((p - o).checked_mul(*t).filter(|_| *t > 0)?)?;
                }
            }
            Some(before.len() == after.len() && shift == elements)
        };
        Some(is_shifted().unwrap_or(false))
    }
}

/// The one dimension with more than one element as `parts` outer and the rest inner steps.
fn split(mut access: Access, parts: Option<u64>) -> Option<Access> {
    let Some(parts) = parts else { return Some(access) };
    let parts = i64::try_from(parts).ok()?;
    let at = access.iter().position(|[_, size, _]| *size != 1)?;
    let [offset, size, stride] = access[at];
    if parts < 2 || stride != 1 || size % parts != 0 || access[at + 1..].iter().any(|[_, size, _]| *size != 1) {
        return None;
    }
    access.splice(at..=at, [[0, parts, size / parts], [offset, size / parts, 1]]);
    Some(access)
}

/// `factor` times the steps in a dimension, counted from the innermost, with nothing around it.
fn widen(access: &mut Access, dimension: usize, factor: i64) -> Option<()> {
    let at = access.len().checked_sub(dimension + 1)?;
    let is_outermost = access[..at].iter().all(|[_, size, _]| *size == 1);
    let [_, size, stride] = &mut access[at];
    *size = size.checked_mul(factor).filter(|_| *stride > 0 && is_outermost)?;
    Some(())
}

/// The memref of one side of a transfer: a DMA's destination stands before its source.
fn memref_of<'c, 'a>(op: OperationRef<'c, 'a>, side: &str) -> Option<Value<'c, 'a>> {
    let mut memrefs = op.operands().filter(|v| v.r#type().to_string().starts_with("memref<"));
    match (name(op), side) {
        ("air.dma_memcpy_nd", "src") => memrefs.nth(1),
        ("air.dma_memcpy_nd", "dst") | ("air.channel.put", "src") | ("air.channel.get", "dst") => memrefs.next(),
        _ => None,
    }
}

/// One side's access; an empty one is the whole memref.
fn access(op: OperationRef<'_, '_>, side: &str, memref: Value<'_, '_>) -> Option<Access> {
    let list = |what: &str| attr::i64_array(op.attribute(&format!("static_{side}_{what}")).ok()?);
    let (mut offsets, mut sizes, mut strides) = (list("offsets")?, list("sizes")?, list("strides")?);
    if sizes.is_empty() {
        let KernelType::MemRef(ty) = KernelType::parse(&memref.r#type().to_string())? else { return None };
        let mut stride = 1i64;
        for extent in ty.shape.iter().rev() {
            let extent = i64::try_from((*extent)?).ok()?;
            sizes.insert(0, extent);
            strides.insert(0, stride);
            stride = stride.checked_mul(extent)?;
        }
    }
    // A short list leaves out the outer dimensions.
    offsets.splice(0..0, vec![0; sizes.len().saturating_sub(offsets.len())]);
    let is_even = offsets.len() == sizes.len() && sizes.len() == strides.len();
    is_even.then(|| (0..sizes.len()).map(|i| [offsets[i], sizes[i], strides[i]]).collect())
}
