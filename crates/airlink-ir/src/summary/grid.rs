//! What keeps the grid of a launch from being cut into several launches.

use airlink_kernel::GridObstacle;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, TypeLike, ValueLike};

use super::access::Accesses;
use super::{hierarchy_args, hierarchy_size_count};
use crate::{edit, function_body};

/// The first obstacle and the op that is it; what transfers say is judged by whoever cuts.
pub(super) fn obstacle<'c, 'a>(
    entry: OperationRef<'c, 'a>,
    function: OperationRef<'c, 'a>,
    accesses: &Accesses<'c, 'a, '_>,
) -> Option<(GridObstacle, OperationRef<'c, 'a>)> {
    let parent = entry.parent_operation().map(|p| p.to_raw().ptr);
    if parent != Some(function.to_raw().ptr) {
        return Some((GridObstacle::Nested, entry));
    }
    let body = function_body(entry)?;
    let size_count = hierarchy_size_count(entry);
    let extents = (size_count..2 * size_count).filter_map(|i| body.argument(i).ok());
    if extents.into_iter().any(|e| edit::is_used(e.into())) {
        return Some((GridObstacle::ReadsExtent, entry));
    }
    if !super::has_constant_extents(entry) {
        return Some((GridObstacle::ComputedExtent, entry));
    }
    let mut memrefs = hierarchy_args(entry).into_iter().map(|(outer, _)| outer).filter(|v| v.r#type().is_mem_ref());
    if memrefs.any(|v| !accesses.is_argument(v)) {
        return Some((GridObstacle::OtherMemory, entry));
    }
    accesses.first_direct(entry).map(|op| (GridObstacle::Direct, op))
}
