//! What keeps the herd of a launch from having more columns, each with the rows of a launch point that follows.

use airlink_kernel::WidthObstacle;
use airlink_kernel::{KernelType, Memory};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, OperationRef, TypeLike, Value, ValueLike};

use super::{has_constant_extents, hierarchy_args, hierarchy_size_count, is_token};
use crate::{Walk, children, edit, function_body, name, uses, walk};

type Obstacle<'c, 'a> = (WidthObstacle, OperationRef<'c, 'a>);

/// Places and extents that a compiler or a user gives to a segment or a herd.
const PLACES: &[&str] = &["x_loc", "y_loc", "x_size", "y_size"];

/// The first obstacle and the op that is it; what transfers say is judged by whoever widens.
pub(super) fn obstacle<'c: 'a, 'a>(entry: OperationRef<'c, 'a>) -> Option<Obstacle<'c, 'a>> {
    if name(entry) != "air.launch" {
        return Some((WidthObstacle::Shape, entry));
    }
    let segment = match only_child(entry, "air.segment") {
        Ok(segment) => segment,
        Err(found) => return Some(found),
    };
    let herd = match only_child(segment, "air.herd") {
        Ok(herd) => herd,
        Err(found) => return Some(found),
    };
    let mut found = None;
    walk(entry, &mut |op| {
        if found.is_none() && op.results().any(|r| is_token(r.r#type())) {
            found = Some((WidthObstacle::Async, op));
        }
        Walk::Into
    });
    let is_placed = |op: &OperationRef<'c, 'a>| PLACES.iter().any(|key| op.attribute(key).is_ok());
    let placed = || [segment, herd].into_iter().find(is_placed).map(|op| (WidthObstacle::Placed, op));
    found
        .or_else(placed)
        .or_else(|| {
            [entry, herd]
                .into_iter()
                .find(|op| !has_constant_extents(*op))
                .map(|op| (WidthObstacle::ComputedExtent, op))
        })
        .or_else(|| [entry, segment, herd].into_iter().find_map(extents))
        .or_else(|| ids(entry, WidthObstacle::LaunchId))
        .or_else(|| ids(herd, WidthObstacle::TileId))
        .or_else(|| elsewhere(entry, segment))
        .or_else(|| buffers(segment))
}

/// The one op of that name in a body that besides has only what may stand beside it.
fn only_child<'c: 'a, 'a>(op: OperationRef<'c, 'a>, wanted: &str) -> Result<OperationRef<'c, 'a>, Obstacle<'c, 'a>> {
    let mut only = None;
    for child in children(op) {
        match name(child) {
            found if found == wanted => match only {
                None => only = Some(child),
                Some(_) => return Err((WidthObstacle::Shape, child)),
            },
            found if is_harmless(found) => {}
            _ => return Err((WidthObstacle::Beside, child)),
        }
    }
    only.ok_or((WidthObstacle::Shape, op))
}

fn is_harmless(op_name: &str) -> bool {
    is_index_arithmetic(op_name)
        || matches!(
            op_name,
            "memref.alloc"
                | "memref.dealloc"
                | "air.dma_memcpy_nd"
                | "air.launch_terminator"
                | "air.segment_terminator"
                | "air.herd_terminator"
        )
}

/// Ops whose results are numbers made of their operands.
fn is_index_arithmetic(op_name: &str) -> bool {
    matches!(
        op_name,
        "arith.constant" | "affine.apply" | "arith.addi" | "arith.subi" | "arith.muli" | "arith.index_cast"
    )
}

fn extents<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Option<Obstacle<'c, 'a>> {
    let count = hierarchy_size_count(op);
    let read = arguments(op, count..2 * count).into_iter().any(edit::is_used);
    read.then_some((WidthObstacle::ReadsExtent, op))
}

/// Where an id goes elsewhere than into the offsets of DMAs. Whether these are linear in it, their sides say.
fn ids<'c: 'a, 'a>(op: OperationRef<'c, 'a>, what: WidthObstacle) -> Option<Obstacle<'c, 'a>> {
    let ids = arguments(op, 0..hierarchy_size_count(op));
    ids.into_iter().find_map(outside_offsets).map(|user| (what, user))
}

fn outside_offsets<'c: 'a, 'a>(value: Value<'c, 'a>) -> Option<OperationRef<'c, 'a>> {
    uses(value).into_iter().find_map(|(user, position)| match name(user) {
        "air.dma_memcpy_nd" => None,
        "air.segment" | "air.herd" => inner(user, position).map_or(Some(user), outside_offsets),
        // Numbers of fewer bits may wrap around.
        op_name if is_index_arithmetic(op_name) && user.results().all(|r| r.r#type().is_index()) => {
            user.results().find_map(|r| outside_offsets(r.into()))
        }
        _ => Some(user),
    })
}

/// An op that gives L2 memory and is no allocation beside the herd.
fn elsewhere<'c: 'a, 'a>(entry: OperationRef<'c, 'a>, segment: OperationRef<'c, 'a>) -> Option<Obstacle<'c, 'a>> {
    let beside: Vec<_> = children(segment).into_iter().filter(|op| name(*op) == "memref.alloc").collect();
    let mut found = None;
    walk(entry, &mut |op| {
        let is_l2 = |ty: melior::ir::Type<'_>| match KernelType::parse(&ty.to_string()) {
            Some(KernelType::MemRef(ty)) => ty.memory() == Memory::L2,
            _ => false,
        };
        if found.is_none()
            && op.results().any(|r| r.r#type().is_mem_ref() && is_l2(r.r#type()))
            && !beside.contains(&op)
        {
            found = Some((WidthObstacle::Buffer, op));
        }
        Walk::Into
    });
    found
}

/// Where a buffer that is allocated beside the herd goes elsewhere than into DMAs.
fn buffers<'c: 'a, 'a>(segment: OperationRef<'c, 'a>) -> Option<Obstacle<'c, 'a>> {
    let allocated = children(segment).into_iter().filter(|op| name(*op) == "memref.alloc");
    let values = allocated.flat_map(|op| op.results().map(Value::from).collect::<Vec<_>>());
    values.into_iter().find_map(outside_transfers).map(|user| (WidthObstacle::Buffer, user))
}

fn outside_transfers<'c: 'a, 'a>(buffer: Value<'c, 'a>) -> Option<OperationRef<'c, 'a>> {
    uses(buffer).into_iter().find_map(|(user, position)| match name(user) {
        "air.dma_memcpy_nd" | "memref.dealloc" => None,
        "air.herd" => inner(user, position).map_or(Some(user), outside_transfers),
        _ => Some(user),
    })
}

/// The body's name of what is passed at a position of a hierarchy op's operands; none for an extent.
fn inner<'c: 'a, 'a>(op: OperationRef<'c, 'a>, position: usize) -> Option<Value<'c, 'a>> {
    let args = hierarchy_args(op);
    let first = op.operand_count() - args.len();
    args.get(position.checked_sub(first)?).map(|(_, inner)| *inner)
}

fn arguments<'c: 'a, 'a>(op: OperationRef<'c, 'a>, range: std::ops::Range<usize>) -> Vec<Value<'c, 'a>> {
    let body: Option<BlockRef<'c, 'a>> = function_body(op);
    body.map_or(Vec::new(), |b| range.filter_map(|i| Some(b.argument(i).ok()?.into())).collect())
}
