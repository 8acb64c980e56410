//! Bare herds and segments get the launch, and herds the segment, that they need.

use airlink_ir::edit::{self, untied, untied_block};
use airlink_ir::melior::ir::attribute::DenseI32ArrayAttribute;
use airlink_ir::melior::ir::block::BlockLike;
use airlink_ir::melior::ir::operation::{OperationBuilder, OperationLike};
use airlink_ir::melior::ir::{Block, Identifier, Region, RegionLike, ValueLike};
use airlink_ir::{BlockRef, Ir, OperationRef, Value, Walk, function_body, name, walk};
use airlink_kernel::EntryKind;
use airlink_plan::LaunchPlan;

/// Wraps every bare entry of a kernel function as the plan says.
///
/// # Errors
/// The op that cannot be wrapped: an async one, whose tokens would have to leave the launch.
pub(crate) fn bare_entries<'c>(
    ir: &'c Ir,
    function: OperationRef<'c, 'c>,
    plan: &LaunchPlan,
) -> Result<(), OperationRef<'c, 'c>> {
    let mut entries = Vec::new();
    walk(function, &mut |op| match name(op) {
        "air.launch" | "air.segment" | "air.herd" => {
            entries.push(op);
            Walk::Over
        }
        _ => Walk::Into,
    });
    for (op, entry) in entries.into_iter().zip(&plan.entries) {
        if entry.kind == EntryKind::Launch {
            continue;
        }
        if op.result_count() > 0 {
            return Err(op);
        }
        let mut inner = op;
        if entry.kind == EntryKind::BareHerd {
            inner = wrap(ir, inner, "air.segment", entry.segment.as_deref());
        }
        wrap(ir, inner, "air.launch", None);
    }
    Ok(())
}

/// Puts a new hierarchy op without an iteration space around `op`. Constants are made again inside, so that a herd's
/// extents stay constants there; every other operand is passed in.
fn wrap<'c>(ir: &'c Ir, op: OperationRef<'c, 'c>, kind: &str, symbol: Option<&str>) -> OperationRef<'c, 'c> {
    let location = op.location();
    let mut passed: Vec<Value<'c, 'c>> = Vec::new();
    for value in op.operands() {
        if constant(value).is_none() && !passed.contains(&value) {
            passed.push(value);
        }
    }
    let body = Block::new(&passed.iter().map(|v| (v.r#type(), location)).collect::<Vec<_>>());
    let region = Region::new();
    region.append_block(body);
    let segments = [0, 0, passed.len() as i32];
    let mut attributes = vec![(
        Identifier::new(ir.context(), "operandSegmentSizes"),
        DenseI32ArrayAttribute::new(ir.context(), &segments).into(),
    )];
    if let Some(symbol) = symbol {
        attributes.push((Identifier::new(ir.context(), "sym_name"), edit::string(ir, symbol)));
    }
    let outer = OperationBuilder::new(kind, location)
        .add_operands(&passed)
        .add_attributes(&attributes)
        .add_regions([region])
        .build()
        .expect("a hierarchy op builds");
    let parent = op.block().expect("it stands in a block");
    let outer = untied(parent.insert_operation_before(op, outer));
    let inside = untied_block(function_body(outer).expect("it has a body"));
    fill(op, inside, &passed, kind);
    outer
}

/// Moves `op` into the block with its operands replaced, and ends the block.
fn fill<'c>(op: OperationRef<'c, 'c>, inside: BlockRef<'c, 'c>, passed: &[Value<'c, 'c>], kind: &str) {
    let operands: Vec<Value<'c, 'c>> = op.operands().collect();
    let mut made: Vec<(OperationRef<'c, 'c>, Value<'c, 'c>)> = Vec::new();
    for (i, value) in operands.into_iter().enumerate() {
        let inner = match constant(value) {
            Some(owner) => match made.iter().find(|(o, _)| *o == owner) {
                Some((_, inner)) => *inner,
                None => {
                    let copy = inside.append_operation((*owner).clone());
                    let inner: Value = copy.result(0).expect("a constant has a result").into();
                    made.push((owner, inner));
                    inner
                }
            },
            None => {
                let position = passed.iter().position(|p| *p == value).expect("it is passed");
                inside.argument(position).expect("in range").into()
            }
        };
        edit::set_operand(op, i, inner);
    }
    edit::move_to_end(op, inside);
    let terminator = OperationBuilder::new(&format!("{kind}_terminator"), op.location()).build();
    inside.append_operation(terminator.expect("a terminator builds"));
}

/// The `arith.constant` that defines a value.
fn constant<'c>(value: Value<'c, 'c>) -> Option<OperationRef<'c, 'c>> {
    let owner = airlink_ir::defining_op(value)?;
    (name(owner) == "arith.constant").then_some(owner)
}
