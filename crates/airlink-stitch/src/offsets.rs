//! Views at an offset: the offset goes into the access lists of the launch, since no cast can drop it from a type.
//!
//! An access addresses `base + sum (offset_k + i_k) * stride_k`. The offset is added to a static offset whose stride is 1;
//! where there is none, a leading dimension of one element is put in front, at index 1 with the offset as its stride.
//! So no SSA value is needed, whatever the kernel computes.

use airlink_ir::melior::ir::ValueLike;
use airlink_ir::melior::ir::attribute::DenseI64ArrayAttribute;
use airlink_ir::melior::ir::operation::OperationLike;
use airlink_ir::{Ir, OperationRef, Value, attr, edit, hierarchy_args, name, uses};
use airlink_kernel::{KernelType, MemRefType};

/// Adds `offset_elements` to every access of an argument and of what aliases it.
///
/// # Errors
/// The first op that uses it otherwise than in an access list.
pub(crate) fn fold<'c>(ir: &'c Ir, value: Value<'c, 'c>, offset_elements: u64) -> Result<(), OperationRef<'c, 'c>> {
    for (op, position) in uses(value) {
        match name(op) {
            "air.launch" | "air.segment" | "air.herd" => {
                let args = hierarchy_args(op);
                let first = op.operand_count() - args.len();
                let (_, inner) = position.checked_sub(first).and_then(|i| args.get(i)).ok_or(op)?;
                fold(ir, *inner, offset_elements)?;
            }
            "air.dma_memcpy_nd" => {
                let is_destination = (0..position).all(|i| op.operand(i).is_ok_and(|o| !is_memref(o)));
                fold_access(ir, op, if is_destination { "dst" } else { "src" }, value, offset_elements).ok_or(op)?;
            }
            "air.channel.put" => fold_access(ir, op, "src", value, offset_elements).ok_or(op)?,
            "air.channel.get" => fold_access(ir, op, "dst", value, offset_elements).ok_or(op)?,
            _ => return Err(op),
        }
    }
    Ok(())
}

pub(crate) fn is_memref(value: Value<'_, '_>) -> bool {
    memref(value).is_some()
}

fn memref(value: Value<'_, '_>) -> Option<MemRefType> {
    match KernelType::parse(&value.r#type().to_string())? {
        KernelType::MemRef(m) => Some(m),
        KernelType::Other(_) => None,
    }
}

fn fold_access<'c>(
    ir: &'c Ir,
    op: OperationRef<'c, 'c>,
    side: &str,
    value: Value<'c, 'c>,
    offset_elements: u64,
) -> Option<()> {
    let [mut offsets, mut sizes, mut strides] = read_lists(op, side, value)?;
    let offset = i64::try_from(offset_elements).ok()?;
    // Dynamic entries are negative: MLIR's marker is the smallest i64.
    match (0..offsets.len()).rev().find(|&i| strides.get(i) == Some(&1) && offsets[i] >= 0) {
        Some(i) => offsets[i] = offsets[i].checked_add(offset)?,
        None => {
            offsets.insert(0, 1);
            sizes.insert(0, 1);
            strides.insert(0, offset);
        }
    }
    write_lists(ir, op, side, &[offsets, sizes, strides]);
    Some(())
}

/// Offsets, sizes and strides of one side (`src` or `dst`) of an access; empty lists are spelled out.
pub(crate) fn read_lists<'c>(op: OperationRef<'c, 'c>, side: &str, memref: Value<'c, 'c>) -> Option<[Vec<i64>; 3]> {
    let read = |list: &str| attr::i64_array(op.attribute(&format!("static_{side}_{list}")).ok()?);
    let (mut offsets, mut sizes, mut strides) = (read("offsets")?, read("sizes")?, read("strides")?);
    if sizes.is_empty() {
        (sizes, strides) = whole(&self::memref(memref)?)?;
    }
    // Offsets that are left out are those of the outer dimensions.
    while offsets.len() < sizes.len() {
        offsets.insert(0, 0);
    }
    Some([offsets, sizes, strides])
}

pub(crate) fn write_lists<'c>(ir: &'c Ir, op: OperationRef<'c, 'c>, side: &str, lists: &[Vec<i64>; 3]) {
    for (list, values) in ["offsets", "sizes", "strides"].iter().zip(lists) {
        let key = format!("static_{side}_{list}");
        edit::set_attribute(op, &key, DenseI64ArrayAttribute::new(ir.context(), values).into());
    }
}

/// Sizes and strides of a whole memref with the identity layout.
fn whole(ty: &MemRefType) -> Option<(Vec<i64>, Vec<i64>)> {
    let sizes: Vec<i64> = ty.shape.iter().map(|d| i64::try_from((*d)?).ok()).collect::<Option<_>>()?;
    let mut strides = vec![1i64; sizes.len()];
    for i in (1..sizes.len()).rev() {
        strides[i - 1] = strides[i].checked_mul(sizes[i])?;
    }
    Some((sizes, strides))
}
