//! K as two dimensions, in the access lists of the transfers that the plan names.

use airlink_ir::melior::ir::operation::OperationLike;
use airlink_ir::{Ir, OperationRef, Walk, name, walk};
use airlink_plan::SplitPlan;

use crate::offsets::{is_memref, read_lists, write_lists};

/// Splits the source of one transfer below `entry`, by its position there in text order; nothing where it is not there.
pub(crate) fn split<'c>(ir: &'c Ir, entry: OperationRef<'c, 'c>, plan: &SplitPlan) -> Option<()> {
    let op = *transfers(entry).get(plan.transfer)?;
    // The destination of a DMA stands before its source; a put has nothing but the source.
    let position = match name(op) {
        "air.dma_memcpy_nd" => 1,
        "air.channel.put" => 0,
        _ => return None,
    };
    let source = op.operands().filter(|v| is_memref(*v)).nth(position)?;
    let [mut offsets, mut sizes, mut strides] = read_lists(op, "src", source)?;
    let (extent, parts) = (i64::try_from(plan.extent).ok()?, i64::try_from(plan.parts).ok()?);
    let at = sizes.iter().position(|n| *n == extent)?;
    // The offset stays with the elements, so that a value that gives it keeps its place in the list.
    offsets.insert(at, 0);
    sizes.insert(at, parts);
    strides.insert(at, extent / parts);
    sizes[at + 1] = extent / parts;
    write_lists(ir, op, "src", &[offsets, sizes, strides]);
    Some(())
}

/// The transfers at and below a launch, in text order.
pub(crate) fn transfers<'c>(entry: OperationRef<'c, 'c>) -> Vec<OperationRef<'c, 'c>> {
    let mut transfers = Vec::new();
    walk(entry, &mut |op| {
        if matches!(name(op), "air.dma_memcpy_nd" | "air.channel.put" | "air.channel.get") {
            transfers.push(op);
        }
        Walk::Into
    });
    transfers
}
