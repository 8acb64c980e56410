//! The sides of transfers, and which buffer a memref is a part of.

use std::collections::HashMap;

use airlink_kernel::{BufferRef, KernelType, Linear, MemRefType, Memory, Side};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, TypeLike, Value, ValueLike};
use mlir_sys as m;

use super::super::segments;
use super::identity;
use crate::{attr, function_body, name};

/// The extents of a memref and how it is laid out.
pub(super) struct Shape {
    pub(super) memory: Memory,
    ty: MemRefType,
    /// In elements; none where dynamic.
    strides: Vec<Option<i64>>,
}

impl Shape {
    pub(super) fn byte_count(&self) -> Option<u64> {
        self.ty.byte_count()
    }

    /// Elements from the first to the last, with what lies between them.
    fn extent(&self) -> Option<u64> {
        let mut last = 0u64;
        for (size, stride) in self.ty.shape.iter().zip(&self.strides) {
            let steps = (*size)?.checked_sub(1)?;
            last = last.checked_add(steps.checked_mul(stride.and_then(|s| u64::try_from(s).ok())?)?)?;
        }
        last.checked_add(1)
    }
}

/// The shape of a value; `None` if it is no ranked memref.
pub(super) fn shape(value: Value<'_, '_>) -> Option<Shape> {
    let ty = value.r#type();
    if !ty.is_mem_ref() {
        return None;
    }
    let KernelType::MemRef(parsed) = KernelType::parse(&ty.to_string())? else { return None };
    let mut strides = vec![0i64; parsed.shape.len()];
    let mut offset = 0i64;
    // SAFETY: the type is a ranked memref and `strides` has its rank.
    let result = unsafe { m::mlirMemRefTypeGetStridesAndOffset(ty.to_raw(), strides.as_mut_ptr(), &mut offset) };
    // MLIR marks what is dynamic by the smallest i64, and fails where the layout is no strided one: a permuted buffer is
    // counted as if it were not, since it covers the same elements.
    let strides = match result.value != 0 {
        true => strides.into_iter().map(|s| (s != i64::MIN).then_some(s)).collect(),
        false => row_major(&parsed.shape),
    };
    Some(Shape { memory: parsed.memory(), ty: parsed, strides })
}

/// The strides of the identity layout, in elements.
fn row_major(shape: &[Option<u64>]) -> Vec<Option<i64>> {
    let mut stride = Some(1i64);
    let mut strides: Vec<_> = shape
        .iter()
        .rev()
        .map(|extent| {
            let own = stride;
            stride = own.and_then(|s| s.checked_mul(i64::try_from((*extent)?).ok()?));
            own
        })
        .collect();
    strides.reverse();
    strides
}

/// Memrefs by the buffer that they are a part of and where in it they start.
#[derive(Default)]
pub(super) struct Roots {
    /// By identity; looked up, never iterated.
    map: HashMap<usize, Root>,
}

/// What a memref is a part of.
#[derive(Clone)]
struct Root {
    buffer: BufferRef,
    /// Where it starts, in elements; none where that is not linear.
    start: Option<Linear>,
    /// Elements of the whole buffer.
    element_count: Option<u64>,
}

impl Roots {
    pub(super) fn argument(&mut self, value: Value<'_, '_>, index: usize) {
        self.whole(value, BufferRef::Argument(index));
    }

    pub(super) fn allocation(&mut self, value: Value<'_, '_>, index: usize) {
        self.whole(value, BufferRef::Local(index));
    }

    fn whole(&mut self, value: Value<'_, '_>, buffer: BufferRef) {
        let element_count = shape(value).and_then(|s| s.extent());
        self.map.insert(identity(value), Root { buffer, start: Some(Linear::default()), element_count });
    }

    pub(super) fn alias(&mut self, from: Value<'_, '_>, to: Value<'_, '_>) {
        if let Some(root) = self.map.get(&identity(from)).cloned() {
            self.map.insert(identity(to), root);
        }
    }

    /// The allocation that a memref is a part of.
    pub(super) fn local(&self, value: Value<'_, '_>) -> Option<usize> {
        match self.map.get(&identity(value)) {
            Some(Root { buffer: BufferRef::Local(i), .. }) => Some(*i),
            _ => None,
        }
    }

    /// The result of a view is a part of what its source is a part of.
    pub(super) fn view(&mut self, op: OperationRef<'_, '_>, linear: &HashMap<usize, Linear>) {
        let is_view = name(op).starts_with("memref.") || name(op) == "builtin.unrealized_conversion_cast";
        // Asked for an operand that is not there, melior prints the op into its error, and MLIR numbers the whole module
        // for that.
        if !is_view || op.operand_count() == 0 || op.result_count() == 0 {
            return;
        }
        let (Ok(source), Ok(result)) = (op.operand(0), op.result(0)) else { return };
        if !source.r#type().is_mem_ref() || !Value::from(result).r#type().is_mem_ref() {
            return;
        }
        let Some(root) = self.map.get(&identity(source)).cloned() else { return };
        let start = root.start.clone();
        let start = match name(op) {
            "memref.cast"
            | "memref.collapse_shape"
            | "memref.expand_shape"
            | "memref.assume_alignment"
            | "memref.memory_space_cast" => start,
            "memref.subview" => start.and_then(|s| s.add(&subview_offset(op, source, linear)?)),
            _ => None,
        };
        self.map.insert(identity(result.into()), Root { start, ..root });
    }

    /// A loop's carried memrefs are what they were at first, where the loop hands on the same.
    pub(super) fn loop_carried(&mut self, op: OperationRef<'_, '_>, first_operand: usize, first_argument: usize) {
        let Some(body) = function_body(op) else { return };
        for i in 0..op.result_count() {
            if let (Ok(initial), Ok(inner)) = (op.operand(first_operand + i), body.argument(first_argument + i)) {
                self.alias(initial, inner.into());
            }
        }
    }

    /// Results of an op with regions are what its last region yields. `air.execute` gives its token first.
    pub(super) fn yields(&mut self, op: OperationRef<'_, '_>) {
        let first = usize::from(name(op) == "air.execute");
        if op.result_count() <= first || op.region_count() == 0 {
            return;
        }
        let Some(terminator) = function_body(op).and_then(|b| b.terminator()) else { return };
        for (i, value) in terminator.operands().take(op.result_count() - first).enumerate() {
            if let Ok(result) = op.result(first + i) {
                self.alias(value, result.into());
            }
        }
    }
}

/// Where a subview starts in its source, in elements.
fn subview_offset(op: OperationRef<'_, '_>, source: Value<'_, '_>, linear: &HashMap<usize, Linear>) -> Option<Linear> {
    let strides = shape(source)?.strides;
    let offsets = attr::i64_array(op.attribute("static_offsets").ok()?)?;
    let mut dynamic = 1;
    let mut start = Linear::default();
    for (offset, stride) in offsets.into_iter().zip(strides) {
        let offset = match offset {
            i64::MIN => {
                let value = linear.get(&identity(op.operand(dynamic).ok()?)).cloned();
                dynamic += 1;
                value?
            }
            constant => Linear::constant(constant),
        };
        start = start.add(&offset.scale(stride?)?)?;
    }
    Some(start)
}

/// The channel indices of a put or get.
pub(super) fn channel_indices<'c, 'a>(op: OperationRef<'c, 'a>) -> Vec<Value<'c, 'a>> {
    let segments = segments(op);
    let first = segments.first().copied().unwrap_or(0);
    let count = segments.get(1).copied().unwrap_or(0);
    op.operands().skip(first).take(count).collect()
}

/// The side of a transfer whose memref is its operand at `position`.
pub(super) fn side_at(
    op: OperationRef<'_, '_>,
    position: usize,
    linear: &HashMap<usize, Linear>,
    roots: &Roots,
) -> Option<Side> {
    let is_first = op.operands().take(position).all(|o| !o.r#type().is_mem_ref());
    let key = match name(op) {
        "air.channel.put" => "src",
        "air.dma_memcpy_nd" if !is_first => "src",
        _ => "dst",
    };
    side(op, key, linear, roots)
}

/// One side of a transfer: `dst` or `src`.
pub(super) fn side(
    op: OperationRef<'_, '_>,
    key: &str,
    linear: &HashMap<usize, Linear>,
    roots: &Roots,
) -> Option<Side> {
    // Operands: dependencies, indices (of puts and gets), then for each side the memref and its three lists.
    let segments = segments(op);
    let memref_segment = match (name(op), key) {
        ("air.dma_memcpy_nd", "dst") => 1,
        ("air.dma_memcpy_nd", _) => 5,
        _ => 2,
    };
    let start = |segment: usize| segments.iter().take(segment).sum::<usize>();
    let memref = op.operand(start(memref_segment)).ok()?;
    let shape = shape(memref)?;
    let dynamic = |list: usize| -> Vec<Option<Linear>> {
        let first = start(memref_segment + 1 + list);
        let count = segments.get(memref_segment + 1 + list).copied().unwrap_or(0);
        (first..first + count).map(|i| linear.get(&identity(op.operand(i).ok()?)).cloned()).collect()
    };
    let list = |what: &str, position: usize| -> Option<Vec<Option<Linear>>> {
        let mut values = dynamic(position).into_iter();
        let fixed = attr::i64_array(op.attribute(&format!("static_{key}_{what}")).ok()?)?;
        Some(
            fixed
                .into_iter()
                .map(|v| if v == i64::MIN { values.next().flatten() } else { Some(Linear::constant(v)) })
                .collect(),
        )
    };
    let constants = |l: Vec<Option<Linear>>| -> Vec<Option<i64>> { l.into_iter().map(|v| v?.as_constant()).collect() };
    let mut offsets = list("offsets", 0)?;
    let mut sizes: Vec<Option<u64>> =
        constants(list("sizes", 1)?).into_iter().map(|n| n.and_then(|n| u64::try_from(n).ok())).collect();
    let mut strides = constants(list("strides", 2)?);
    if sizes.is_empty() {
        sizes = shape.ty.shape.clone();
    }
    if strides.is_empty() {
        strides = shape.strides.clone();
    }
    // Offsets that are left out are those of the outer dimensions.
    while offsets.len() < sizes.len() {
        offsets.insert(0, Some(Linear::default()));
    }
    let unknown = Root { buffer: BufferRef::Unknown, start: None, element_count: None };
    let Root { buffer, start: base, element_count } = roots.map.get(&identity(memref)).cloned().unwrap_or(unknown);
    let offset = offsets.iter().zip(&strides).try_fold(base, |sum, (offset, stride)| {
        // A dimension without offset adds nothing, whatever its stride.
        match offset.as_ref().and_then(Linear::as_constant) {
            Some(0) => Some(sum),
            _ => Some(sum.and_then(|s| s.add(&offset.as_ref()?.scale((*stride)?)?))),
        }
    });
    Some(Side {
        memory: shape.memory,
        buffer,
        element: shape.ty.element.clone(),
        element_bits: shape.ty.element_bits(),
        buffer_elements: element_count,
        dynamic_offset_count: offsets.iter().filter(|o| o.is_none()).count(),
        sizes,
        strides,
        offset: offset.flatten(),
    })
}
