//! Every herd sits in a segment, every segment in a launch, every launch in the fused function.

use airlink_diag::{Finding, Findings, codes};
use airlink_ir::melior::ir::operation::OperationLike;
use airlink_ir::{OperationRef, Walk, name, walk};

use crate::Expected;

pub(crate) fn check(root: OperationRef<'_, '_>, expected: &Expected<'_, '_>, findings: &mut Findings) {
    let mut wrong = Vec::new();
    walk(root, &mut |op| {
        let wanted = match name(op) {
            "air.herd" => "air.segment",
            "air.segment" => "air.launch",
            "air.launch" => "func.func",
            _ => return Walk::Into,
        };
        if !has_ancestor(op, wanted) {
            wrong.push((name(op), wanted, op.location()));
        }
        Walk::Into
    });
    for (kind, wanted, location) in wrong {
        let finding =
            Finding::error(codes::AL0603, format!("an `{kind}` of `{}` sits in no `{wanted}`", expected.elf.name))
                .maybe_at(airlink_ir::locate(location, &findings.sources), "this one")
                .maybe_also(Some(expected.graph.name.span), "the graph");
        findings.push(finding);
    }
}

/// Whether an op of that name is above `op`.
fn has_ancestor(op: OperationRef<'_, '_>, wanted: &str) -> bool {
    std::iter::successors(op.parent_operation(), |o| o.parent_operation()).any(|o| name(o) == wanted)
}
