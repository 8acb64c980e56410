//! Walking ops with references that outlive the walk, which melior's own closures do not allow.

use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, OperationRef, RegionLike, Value, ValueLike};

use crate::attr;

/// What a visit wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// Go on into the op's regions.
    Into,
    /// Leave the op's regions out.
    Over,
}

/// Visits `op` and everything below it in text order, an op before its regions.
pub fn walk<'c, 'a>(op: OperationRef<'c, 'a>, visit: &mut dyn FnMut(OperationRef<'c, 'a>) -> Walk) {
    if visit(op) == Walk::Into {
        for child in children(op) {
            walk(child, visit);
        }
    }
}

/// Every op at or below `op` that is called `name`, in text order.
pub fn collect<'c, 'a>(op: OperationRef<'c, 'a>, name: &str) -> Vec<OperationRef<'c, 'a>> {
    let mut found = Vec::new();
    walk(op, &mut |o| {
        if self::name(o) == name {
            found.push(o);
        }
        Walk::Into
    });
    found
}

/// The ops directly inside `op`: of all its regions and blocks, in text order.
pub fn children<'c, 'a>(op: OperationRef<'c, 'a>) -> Vec<OperationRef<'c, 'a>> {
    let mut list = Vec::new();
    for region in op.regions() {
        let mut block = region.first_block();
        while let Some(b) = block {
            let mut next = b.first_operation();
            while let Some(o) = next {
                list.push(o);
                next = o.next_in_block();
            }
            block = b.next_in_region();
        }
    }
    list
}

/// The full name: `air.herd`.
pub fn name<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> &'a str {
    // SAFETY: the name is uniqued in the context, which outlives the op.
    unsafe { attr::text(mlir_sys::mlirIdentifierStr(mlir_sys::mlirOperationGetName(op.to_raw()))) }
}

/// The entry block of a function; `None` for a declaration.
pub fn function_body<'c, 'a>(function: OperationRef<'c, 'a>) -> Option<BlockRef<'c, 'a>> {
    function.regions().next()?.first_block()
}

/// The op that makes a value; `None` for a block argument. melior's own conversion prints the whole module into its
/// error, once per value.
pub fn defining_op<'c, 'a>(value: Value<'c, 'a>) -> Option<OperationRef<'c, 'a>> {
    if !value.is_operation_result() {
        return None;
    }
    // SAFETY: the value is the result of a valid op.
    unsafe { OperationRef::from_option_raw(mlir_sys::mlirOpResultGetOwner(value.to_raw())) }
}

/// The block and the position of a block argument; `None` for a result.
pub fn block_argument<'c, 'a>(value: Value<'c, 'a>) -> Option<(BlockRef<'c, 'a>, usize)> {
    if !value.is_block_argument() {
        return None;
    }
    // SAFETY: the value is an argument of a valid block.
    unsafe {
        let block = BlockRef::from_raw(mlir_sys::mlirBlockArgumentGetOwner(value.to_raw()));
        Some((block, mlir_sys::mlirBlockArgumentGetArgNumber(value.to_raw()) as usize))
    }
}

/// Every use of a value: the op and the position of the operand.
pub fn uses<'c, 'a>(value: Value<'c, 'a>) -> Vec<(OperationRef<'c, 'a>, usize)> {
    let mut list = Vec::new();
    // SAFETY: the value is valid, uses form a chain that ends in null, and owners of uses are valid.
    unsafe {
        let mut next = mlir_sys::mlirValueGetFirstUse(value.to_raw());
        while !mlir_sys::mlirOpOperandIsNull(next) {
            let owner = OperationRef::from_raw(mlir_sys::mlirOpOperandGetOwner(next));
            list.push((owner, mlir_sys::mlirOpOperandGetOperandNumber(next) as usize));
            next = mlir_sys::mlirOpOperandGetNextUse(next);
        }
    }
    list
}
