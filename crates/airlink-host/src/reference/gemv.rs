//! The bf16 matrix-vector product with its canonical order of additions.

use airlink_kernel::KernelType;

use super::numbers::{narrow, tree_sum};
use super::text::{Body, Elem, I32, I64, PTR, Ty, Value, module};
use super::{Reference, is_scalar, memref};

/// f32 lanes that accumulate one row.
const LANES: i64 = 64;

pub(super) static GEMV64: Reference = Reference {
    name: "gemv64",
    revision: 1,
    symbols: &["matvec_vectorized_bf16_bf16"],
    signature: "(i32 m, i32 k, i32 row_offset, bf16 a[m][k], bf16 b[k], bf16 c[])",
    meaning: "c[row_offset + i] = the sum over j of a[i][j] * b[j], for i < m. Overwrites; reads m, k and row_offset at run time.",
    rounding: "64 f32 lanes start at +0; lane j takes a[i][j] * b[j], then elements j + 64, j + 128, ..., each by one fused \
        multiply-add. A tail of k % 64 elements is filled up with zeros to one more step of all lanes. The lanes are \
        added by halves: 32, 16, 8, 4, 2, 1. One rounding to bf16, to nearest even.",
    build: build_gemv64,
};

fn build_gemv64(symbol: &str, inputs: &[KernelType]) -> Option<String> {
    let [m, k, offset, a, b, c] = inputs else { return None };
    let scalars = [m, k, offset].into_iter().all(|t| is_scalar(t, "i32"));
    let [Some(a), Some(b), Some(_)] = [a, b, c].map(|t| memref(t, "bf16")) else { return None };
    let shapes = a.shape.len() == 2 && b.shape.len() == 1 && a.shape[1] == b.shape[0];
    (scalars && shapes).then(|| {
        module(symbol, &[I32, I32, I32, PTR, PTR, PTR], |body, args| {
            let [m, k, offset, a, b, c] = args else { unreachable!() };
            let [m, k, offset] = [m, k, offset].map(|n| body.extend(*n));
            rows(body, (m, k), (*a, *b), |body, row, sum| {
                let at = body.op("arith.addi", &[offset, row]);
                let rounded = narrow(body, sum);
                body.store(rounded, *c, at);
            });
        })
    })
}

/// Calls `finish` with each row's index and its f32 sum.
pub(super) fn rows(
    body: &mut Body,
    (m, k): (Value, Value),
    (a, b): (Value, Value),
    finish: impl FnOnce(&mut Body, Value, Value),
) {
    let lanes = body.int(I64, LANES);
    let tail = body.op("arith.remsi", &[k, lanes]);
    let whole = body.op("arith.subi", &[k, tail]);
    let zero = body.int(I64, 0);
    let has_tail = body.compare("arith.cmpi", "sgt", tail, zero);
    let a_tail = body.stack_array(Elem::I16, LANES);
    let b_tail = body.stack_array(Elem::I16, LANES);
    body.when(has_tail, &[], |body| {
        clear(body, a_tail);
        clear(body, b_tail);
        copy(body, (b, whole), b_tail, tail);
        Vec::new()
    });
    body.repeat(m, 1, |body, row| {
        let first = body.op("arith.muli", &[row, k]);
        let a_row = body.address(a, Elem::I16, first);
        let start = body.float((LANES / 2) as u32, 0.0);
        let lanes = body.loop_over((zero, whole, LANES), &[start, start], |body, j, lanes| {
            let (a, b) = (body.address(a_row, Elem::I16, j), body.address(b, Elem::I16, j));
            step(body, a, b, lanes)
        });
        let lanes = body.when(has_tail, &lanes, |body| {
            copy(body, (a_row, whole), a_tail, tail);
            step(body, a_tail, b_tail, &lanes)
        });
        let sum = even_odd_sum(body, lanes[0], lanes[1]);
        finish(body, row, sum);
    });
}

/// One fused multiply-add per lane with the 64 elements at `a` and `b`. Lanes are held as the even ones and the odd
/// ones: 32-bit words of two bf16 each split into them by a shift and a mask, without moving anything across lanes.
fn step(body: &mut Body, a: Value, b: Value, lanes: &[Value]) -> Vec<Value> {
    let words = Ty::vector(Elem::I32, (LANES / 2) as u32);
    let [a, b] = [a, b].map(|p| body.load_at(p, words, 2));
    let sixteen = body.int(words, 16);
    let upper = body.int(words, -0x1_0000);
    let [a_even, b_even] = [a, b].map(|v| body.op("arith.shli", &[v, sixteen]));
    let [a_odd, b_odd] = [a, b].map(|v| body.op("arith.andi", &[v, upper]));
    let [a_even, b_even, a_odd, b_odd] = [a_even, b_even, a_odd, b_odd].map(|v| body.cast("arith.bitcast", v, Elem::F32));
    vec![
        body.op("math.fma", &[a_even, b_even, lanes[0]]),
        body.op("math.fma", &[a_odd, b_odd, lanes[1]]),
    ]
}

/// The tree over all lanes, given the even and the odd ones: every distance but the last stays within each of them.
fn even_odd_sum(body: &mut Body, even: Value, odd: Value) -> Value {
    let [even, odd] = [even, odd].map(|v| tree_sum(body, v));
    body.op("arith.addf", &[even, odd])
}

/// Zeros in all lanes of a tail.
fn clear(body: &mut Body, tail: Value) {
    let zero = body.int(Ty::vector(Elem::I16, LANES as u32), 0);
    let start = body.int(I64, 0);
    body.store(zero, tail, start);
}

/// Copies `count` elements from `from.1` on to the start of `to`.
fn copy(body: &mut Body, (from, first): (Value, Value), to: Value, count: Value) {
    body.repeat(count, 1, |body, i| {
        let at = body.op("arith.addi", &[first, i]);
        let half = body.load(from, at, Ty::scalar(Elem::I16));
        body.store(half, to, i);
    });
}
