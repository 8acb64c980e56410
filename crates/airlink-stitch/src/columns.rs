//! One launch over more columns: a wider herd, as many more rows in each panel, as many fewer launch points.

use airlink_ir::edit;
use airlink_ir::melior::ir::ValueLike;
use airlink_ir::melior::ir::operation::OperationLike;
use airlink_ir::{Ir, OperationRef, Value, attr, children, collect, hierarchy_args, name, uses};
use airlink_kernel::{KernelType, Memory};
use airlink_plan::NSplitPlan;

use crate::ksplit::transfers;
use crate::offsets::{is_memref, read_lists, write_lists};
use crate::rows::{change_id, set_extent};

/// Widens `entry`. Its number of launch points is left to a split of its rows unless `sets_points`. `None` where it is not
/// of the plan's shape, and then half done: the checker refuses it.
pub(crate) fn widen<'c>(ir: &'c Ir, entry: OperationRef<'c, 'c>, plan: &NSplitPlan, sets_points: bool) -> Option<()> {
    if sets_points {
        set_extent(ir, entry, plan.dimension, plan.points / plan.factor)?;
    }
    change_id(ir, entry, plan.dimension, &format!("s0 * {}", plan.factor))?;
    let herd = collect(entry, "air.herd").into_iter().next()?;
    set_extent(ir, herd, 0, plan.columns.checked_mul(plan.factor)?)?;
    let segment = collect(entry, "air.segment").into_iter().next()?;
    for allocation in children(segment).into_iter().filter(|op| name(*op) == "memref.alloc") {
        let buffer: Value = allocation.result(0).ok()?.into();
        if let Some(KernelType::MemRef(ty)) = memref(buffer).filter(is_l2) {
            let wide = KernelType::MemRef(ty.with_more_rows(plan.factor)?);
            retype(ir, buffer, &wide.to_string());
        }
    }
    let all = transfers(entry);
    for panel in &plan.panels {
        let op = *all.get(panel.transfer)?;
        // The destination stands before the source.
        let memrefs: Vec<Value> = op.operands().filter(|v| is_memref(*v)).collect();
        for (side, value) in ["dst", "src"].into_iter().zip(memrefs) {
            let is_in_l2 = memref(value).is_some_and(|ty| is_l2(&ty));
            let dimension = if is_in_l2 { panel.l2_dimension } else { panel.l3_dimension };
            let sizes = attr::i64_array(op.attribute(&format!("static_{side}_sizes")).ok()?)?;
            // The whole of a buffer that has more rows now.
            if is_in_l2 && sizes.is_empty() {
                continue;
            }
            let [offsets, mut sizes, strides] = read_lists(op, side, value)?;
            let at = sizes.len().checked_sub(dimension + 1)?;
            sizes[at] = sizes[at].checked_mul(i64::try_from(plan.factor).ok()?)?;
            write_lists(ir, op, side, &[offsets, sizes, strides]);
        }
    }
    Some(())
}

/// Gives a buffer, and what it is called inside the herd, another type.
fn retype<'c>(ir: &'c Ir, value: Value<'c, 'c>, ty: &str) {
    edit::set_type(value, edit::parse_type(ir, ty));
    for (op, position) in uses(value) {
        if name(op) != "air.herd" {
            continue;
        }
        let args = hierarchy_args(op);
        let inner = position.checked_sub(op.operand_count() - args.len()).and_then(|i| args.get(i));
        if let Some((_, inner)) = inner {
            retype(ir, *inner, ty);
        }
    }
}

fn memref(value: Value<'_, '_>) -> Option<KernelType> {
    KernelType::parse(&value.r#type().to_string())
}

fn is_l2(ty: &KernelType) -> bool {
    matches!(ty, KernelType::MemRef(ty) if ty.memory() == Memory::L2)
}
