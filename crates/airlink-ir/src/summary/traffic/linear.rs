//! Index arithmetic that is linear in the enclosing loops.

use std::collections::HashMap;

use airlink_kernel::Linear;
use melior::ir::attribute::AttributeLike;
use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, OperationRef};
use mlir_sys as m;

use super::identity;
use crate::{attr, name};

/// The value of an op's only result; `None` where it is not linear in what is known, or may wrap around in its type.
pub(super) fn result(op: OperationRef<'_, '_>, known: &HashMap<usize, Linear>) -> Option<Linear> {
    let value = exact(op, known)?;
    // SAFETY: the op is valid and has a result, whose type is valid.
    let width = unsafe {
        let ty = m::mlirValueGetType(m::mlirOperationGetResult(op.to_raw(), 0));
        m::mlirTypeIsAInteger(ty).then(|| m::mlirIntegerTypeGetWidth(ty))
    };
    match width {
        // Ids and offsets fit 32 bits; fewer are too few for what is counted here.
        Some(width) if width < 32 => {
            let constant = value.as_constant()?;
            let half = 1i64 << width.saturating_sub(1);
            (-half..half.max(2)).contains(&constant).then_some(value)
        }
        _ => Some(value),
    }
}

/// The value before it is put into its type.
fn exact(op: OperationRef<'_, '_>, known: &HashMap<usize, Linear>) -> Option<Linear> {
    if op.result_count() == 0 {
        return None;
    }
    let operand = |i: usize| known.get(&identity(op.operand(i).ok()?)).cloned();
    match name(op) {
        "arith.constant" => attr::integer(op.attribute("value").ok()?).map(Linear::constant),
        "arith.addi" | "index.add" => operand(0)?.add(&operand(1)?),
        "arith.subi" | "index.sub" => operand(0)?.add(&operand(1)?.scale(-1)?),
        "arith.muli" | "index.mul" => product(&operand(0)?, &operand(1)?),
        "arith.index_cast" | "arith.index_castui" | "arith.extsi" | "arith.extui" | "arith.trunci" => operand(0),
        "arith.divui" | "arith.divsi" | "arith.floordivsi" => {
            quotient(&operand(0)?, operand(1)?.as_constant()?, i64::checked_div_euclid)
        }
        "arith.remui" | "arith.remsi" => quotient(&operand(0)?, operand(1)?.as_constant()?, i64::checked_rem_euclid),
        "affine.apply" => apply(op, known),
        _ => None,
    }
}

fn product(a: &Linear, b: &Linear) -> Option<Linear> {
    match (a.as_constant(), b.as_constant()) {
        (_, Some(factor)) => a.scale(factor),
        (Some(factor), _) => b.scale(factor),
        _ => None,
    }
}

/// A division of constants; others are not linear.
fn quotient(a: &Linear, b: i64, divide: fn(i64, i64) -> Option<i64>) -> Option<Linear> {
    divide(a.as_constant()?, b).map(Linear::constant)
}

/// The only result of a map without operands: `affine_map<() -> (8)>`.
pub(super) fn constant_map(attribute: Attribute<'_>) -> Option<i64> {
    // SAFETY: the attribute is valid and an affine map; the first result exists.
    unsafe {
        let raw = attribute.to_raw();
        if !m::mlirAttributeIsAAffineMap(raw) {
            return None;
        }
        let map = m::mlirAffineMapAttrGetValue(raw);
        (m::mlirAffineMapGetNumResults(map) == 1)
            .then(|| evaluate(m::mlirAffineMapGetResult(map, 0), &[], 0))
            .flatten()?
            .as_constant()
    }
}

fn apply(op: OperationRef<'_, '_>, known: &HashMap<usize, Linear>) -> Option<Linear> {
    let operands: Vec<_> = op.operands().map(|v| known.get(&identity(v)).cloned()).collect();
    // SAFETY: the attribute of a verified `affine.apply` is a map with one result; its operands are dimensions, then
    // symbols.
    unsafe {
        let raw = op.attribute("map").ok()?.to_raw();
        if !m::mlirAttributeIsAAffineMap(raw) {
            return None;
        }
        let map = m::mlirAffineMapAttrGetValue(raw);
        let dim_count = usize::try_from(m::mlirAffineMapGetNumDims(map)).ok()?;
        (m::mlirAffineMapGetNumResults(map) == 1)
            .then(|| evaluate(m::mlirAffineMapGetResult(map, 0), &operands, dim_count))?
    }
}

/// The value of an affine expression over operands: dimensions first, then symbols.
///
/// # Safety
/// `expression` must be valid.
unsafe fn evaluate(expression: m::MlirAffineExpr, operands: &[Option<Linear>], dim_count: usize) -> Option<Linear> {
    // SAFETY: by the contract; each accessor is called on an expression of its kind, whose parts are valid.
    unsafe {
        if m::mlirAffineExprIsAConstant(expression) {
            return Some(Linear::constant(m::mlirAffineConstantExprGetValue(expression)));
        }
        if m::mlirAffineExprIsADim(expression) {
            let position = usize::try_from(m::mlirAffineDimExprGetPosition(expression)).ok()?;
            return operands.get(position)?.clone();
        }
        if m::mlirAffineExprIsASymbol(expression) {
            let position = usize::try_from(m::mlirAffineSymbolExprGetPosition(expression)).ok()?;
            return operands.get(dim_count + position)?.clone();
        }
        let left = evaluate(m::mlirAffineBinaryOpExprGetLHS(expression), operands, dim_count)?;
        let right = evaluate(m::mlirAffineBinaryOpExprGetRHS(expression), operands, dim_count)?;
        if m::mlirAffineExprIsAAdd(expression) {
            left.add(&right)
        } else if m::mlirAffineExprIsAMul(expression) {
            product(&left, &right)
        } else if m::mlirAffineExprIsAFloorDiv(expression) {
            quotient(&left, right.as_constant()?, i64::checked_div_euclid)
        } else if m::mlirAffineExprIsAMod(expression) {
            quotient(&left, right.as_constant()?, i64::checked_rem_euclid)
        } else {
            None
        }
    }
}
