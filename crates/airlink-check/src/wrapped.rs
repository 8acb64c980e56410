//! A bare herd or segment of a kernel against the launch that was made around it.

use airlink_ir::melior::ir::ValueLike;
use airlink_ir::melior::ir::block::BlockLike;
use airlink_ir::melior::ir::operation::OperationLike;
use airlink_ir::{OperationRef, Value, attr, function_body, name};

use crate::same::{Same, ops_of};

impl<'c> Same<'c, 'c> {
    /// Compares a bare `a` with a launch `b` that should hold it and nothing else. Every operand of the op inside must
    /// come, through the arguments of what is around it, from the value that stands for `a`'s operand, or be an equal
    /// constant.
    pub(crate) fn wrapped(&mut self, a: OperationRef<'c, 'c>, b: OperationRef<'c, 'c>) -> bool {
        let Some(inner) = unwrap(b, name(a)) else {
            return self.differ(Some(a), Some(b), format!("no `{}` alone in the launch around it", name(a)));
        };
        if a.operand_count() != inner.operand_count() {
            return self.differ(Some(a), Some(inner), "the wrapped op has another number of operands");
        }
        for (i, (x, y)) in a.operands().zip(inner.operands()).enumerate() {
            let origin = origin(y);
            let is_equal = match (constant(x), constant(origin)) {
                (Some(p), Some(q)) => {
                    p.attribute("value").ok() == q.attribute("value").ok() && x.r#type() == y.r#type()
                }
                _ => self.is_bound(x, origin),
            };
            if !is_equal {
                return self.differ(Some(a), Some(inner), format!("operand {i} of the wrapped op is another value"));
            }
        }
        if name(a) == "air.herd" {
            let segment = inner.parent_operation().map(airlink_ir::edit::untied);
            self.made_segments.push(segment.and_then(|s| attr::string(s, "sym_name")));
        }
        self.op_but_operands(a, inner)
    }
}

/// The op called `wanted` inside a launch that holds it, in a segment where it is a herd, beside constants only.
fn unwrap<'c>(outer: OperationRef<'c, 'c>, wanted: &str) -> Option<OperationRef<'c, 'c>> {
    if name(outer) == wanted {
        return Some(outer);
    }
    if !matches!(name(outer), "air.launch" | "air.segment") {
        return None;
    }
    let inside: Vec<_> = ops_of(function_body(outer)?)
        .into_iter()
        .filter(|op| name(*op) != "arith.constant" && !name(*op).ends_with("_terminator"))
        .collect();
    match inside[..] {
        [one] => unwrap(one, wanted),
        _ => None,
    }
}

/// Follows a value out of the hierarchy ops whose block argument it is.
fn origin<'c>(value: Value<'c, 'c>) -> Value<'c, 'c> {
    let Some((block, position)) = airlink_ir::block_argument(value) else { return value };
    let Some(parent) = block.parent_operation() else { return value };
    if !matches!(name(parent), "air.launch" | "air.segment") {
        return value;
    }
    // Neither has an iteration space, so arguments and operands correspond one to one.
    let parent = airlink_ir::edit::untied(parent);
    match parent.operand(position) {
        Ok(outer) if parent.operand_count() == block.argument_count() => origin(outer),
        _ => value,
    }
}

fn constant<'c>(value: Value<'c, 'c>) -> Option<OperationRef<'c, 'c>> {
    let owner = airlink_ir::defining_op(value)?;
    (name(owner) == "arith.constant").then_some(owner)
}
