//! One launch as several over consecutive ranges of its grid.

use airlink_ir::edit;
use airlink_ir::melior::ir::attribute::IntegerAttribute;
use airlink_ir::melior::ir::block::BlockLike;
use airlink_ir::melior::ir::operation::{OperationBuilder, OperationLike};
use airlink_ir::melior::ir::{Attribute, Identifier, Location, Type};
use airlink_ir::{Ir, OperationRef, function_body, hierarchy_size_range};
use airlink_plan::{LaunchPlan, RowSplitPlan};

use crate::names;

/// Puts the pieces in place of `entry`, which is dead afterwards. `None`, and nothing done, where its grid has no such
/// dimension.
pub(crate) fn split<'c>(
    ir: &'c Ir,
    entry: OperationRef<'c, 'c>,
    split: &RowSplitPlan,
    plan: &LaunchPlan,
) -> Option<()> {
    let block = entry.block()?;
    for piece in &split.pieces {
        let copy = edit::untied(block.insert_operation_before(entry, (*entry).clone()));
        set_extent(ir, copy, split.dimension, piece.count)?;
        if piece.first > 0 {
            // The points before the piece are added for everything in its body.
            change_id(ir, copy, split.dimension, &format!("s0 + {}", piece.first))?;
        }
        names::of_piece(ir, copy, plan, &piece.names);
    }
    edit::erase(entry);
    Some(())
}

fn constant<'c>(ir: &'c Ir, value: u64, at: Location<'c>) -> Option<airlink_ir::melior::ir::Operation<'c>> {
    let value = IntegerAttribute::new(Type::index(ir.context()), i64::try_from(value).ok()?);
    OperationBuilder::new("arith.constant", at)
        .add_attributes(&[(Identifier::new(ir.context(), "value"), value.into())])
        .add_results(&[Type::index(ir.context())])
        .build()
        .ok()
}

/// Gives a launch, segment or herd another extent, by a constant of its own in front of it.
pub(crate) fn set_extent<'c>(ir: &'c Ir, op: OperationRef<'c, 'c>, dimension: usize, value: u64) -> Option<()> {
    let position = hierarchy_size_range(op).nth(dimension)?;
    let value = op.block()?.insert_operation_before(op, constant(ir, value, op.location())?);
    edit::set_operand(op, position, value.result(0).ok()?.into());
    Some(())
}

/// Puts a function of a launch id, `s0`, in its place for everything in the body.
pub(crate) fn change_id<'c>(ir: &'c Ir, launch: OperationRef<'c, 'c>, dimension: usize, to: &str) -> Option<()> {
    let body = edit::untied_block(function_body(launch)?);
    let id = body.argument(dimension).ok()?.into();
    // A map over a symbol, as kernels themselves compute offsets from ids: `affine.apply`s compose.
    let map = Attribute::parse(ir.context(), &format!("affine_map<()[s0] -> ({to})>"))?;
    let apply = OperationBuilder::new("affine.apply", launch.location())
        .add_attributes(&[(Identifier::new(ir.context(), "map"), map)])
        .add_operands(&[id])
        .add_results(&[Type::index(ir.context())])
        .build()
        .ok()?;
    let apply = edit::untied(body.insert_operation(0, apply));
    edit::replace_uses(id, apply.result(0).ok()?.into());
    edit::set_operand(apply, 0, id);
    Some(())
}
