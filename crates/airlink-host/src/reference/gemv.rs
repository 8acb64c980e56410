//! The bf16 matrix-vector product with its canonical order of additions.

use airlink_kernel::KernelType;

use super::elementwise::chunks;
use super::numbers::{load_bf16, round, store_bf16, tree_sum, words_to_floats};
use super::text::{Body, Elem, I32, I64, PTR, Ty, Value, module};
use super::{Reference, is_scalar, memref};

/// f32 lanes that accumulate one row.
const LANES: i64 = 64;
/// How far ahead the matrix is prefetched.
const AHEAD_BYTES: i64 = 4096;

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
                let at = body.add(offset, row);
                store_bf16(body, sum, *c, at);
            });
        })
    })
}

pub(super) static GEMV64_ACCUMULATE: Reference = Reference {
    name: "gemv64_accumulate",
    revision: 1,
    symbols: &["matvec_vectorized_bf16"],
    signature: "(bf16 a[m][k], bf16 b[k], bf16 c[m])",
    meaning: "c[i] += the sum over j of a[i][j] * b[j]. m and k come from the operand types.",
    rounding: "The sum is taken as in `gemv64` (the public object has 32 lanes) and kept in f32; c[i] plus the sum is \
        rounded to f32, then to bf16. So every call rounds: a K that is split over calls has a bf16 partial after each.",
    build: build_accumulate,
};

fn build_accumulate(symbol: &str, inputs: &[KernelType]) -> Option<String> {
    let (m, k) = matrix_extents(inputs)?;
    Some(module(symbol, &[PTR, PTR, PTR], |body, args| {
        let [a, b, c] = args else { unreachable!() };
        let (m, k) = (body.int(I64, m), body.int(I64, k));
        rows(body, (m, k), (*a, *b), |body, row, sum| {
            let before = load_bf16(body, *c, row, 1);
            let after = body.op("arith.addf", &[before, sum]);
            store_bf16(body, after, *c, row);
        });
    }))
}

pub(super) static GEMV_WORD_TRANSPOSED: Reference = Reference {
    name: "gemv_word_transposed",
    revision: 1,
    symbols: &["matvec_vectorized_bf16_bf16"],
    signature: "(bf16 a[k/2][m][2], bf16 b[k], bf16 c[m])",
    meaning: "c[i] += the sum over j of a[i][j] * b[j], with a stored as pairs of columns: a[i][j] is element \
        (j / 2 * m + i) * 2 + j % 2. m and k come from the operand types; k is even.",
    rounding: "Columns in rising order, one fused multiply-add each, starting at c[i]; to bf16 after every 8 columns.",
    build: build_word_transposed,
};

fn build_word_transposed(symbol: &str, inputs: &[KernelType]) -> Option<String> {
    let (m, k) = matrix_extents(inputs)?;
    (k % 2 == 0).then(|| {
        module(symbol, &[PTR, PTR, PTR], |body, args| {
            let [a, b, c] = args else { unreachable!() };
            let (m, pairs) = (body.int(I64, m), body.int(I64, k / 2));
            chunks(body, m, 8, |body, row, lanes| {
                let start = load_bf16(body, *c, row, lanes);
                let zero = body.int(I64, 0);
                let sum = body.loop_over((zero, pairs, 1), &[start], |body, pair, sum| {
                    vec![pair_of_columns(body, (*a, *b), (m, row, pair), sum[0])]
                });
                let sum = round(body, sum[0]);
                store_bf16(body, sum, *c, row);
            });
        })
    })
}

/// Adds two columns to the sums of consecutive rows; every fourth pair is a rounding point.
fn pair_of_columns(
    body: &mut Body,
    (a, b): (Value, Value),
    (m, row, pair): (Value, Value, Value),
    sum: Value,
) -> Value {
    let lanes = sum.ty.lanes;
    let before = body.op("arith.muli", &[pair, m]);
    let first = body.add(before, row);
    let a = body.address(a, Elem::I32, first);
    let a = body.load_at(a, Ty::vector(Elem::I32, lanes), 2);
    let b = body.address(b, Elem::I32, pair);
    let b = body.load_at(b, I32, 2);
    let b = body.broadcast(b, lanes);
    let ((a_even, a_odd), (b_even, b_odd)) = (words_to_floats(body, a), words_to_floats(body, b));
    let sum = body.op("math.fma", &[a_even, b_even, sum]);
    let sum = body.op("math.fma", &[a_odd, b_odd, sum]);
    let (three, of_eight) = (body.int(I64, 3), body.int(I64, 3));
    let place = body.op("arith.andi", &[pair, three]);
    let is_last = body.compare("arith.cmpi", "eq", place, of_eight);
    let rounded = round(body, sum);
    body.select(is_last, rounded, sum)
}

/// m and k of `(a, b[k], c[m])` with m * k elements in a.
fn matrix_extents(inputs: &[KernelType]) -> Option<(i64, i64)> {
    let [a, b, c] = inputs else { return None };
    let [a, b, c] = [a, b, c].map(|t| memref(t, "bf16").and_then(|m| m.element_count()));
    let (a, k, m) = (a?, b?, c?);
    (m.checked_mul(k)? == a).then_some((m as i64, k as i64))
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
        let start = [body.float(8, 0.0); 8];
        let lanes = body.loop_over((zero, whole, LANES), &start, |body, j, lanes| {
            let (a, b) = (body.address(a_row, Elem::I16, j), body.address(b, Elem::I16, j));
            for line in 0..2 {
                let ahead = body.int(I64, AHEAD_BYTES + line * 64);
                let ahead = body.address(a, Elem::I8, ahead);
                body.prefetch(ahead);
            }
            step(body, a, b, lanes)
        });
        let lanes = body.when(has_tail, &lanes, |body| {
            copy(body, (a_row, whole), a_tail, tail);
            step(body, a_tail, b_tail, &lanes)
        });
        let sum = lane_sum(body, &lanes);
        finish(body, row, sum);
    });
}

/// One fused multiply-add per lane with the 64 elements at `a` and `b`.
///
/// The lanes come as eight vectors: value g < 4 holds lanes 16g, 16g + 2, ..., 16g + 14, and value 4 + g the odd lanes
/// in between. 32-bit words of two bf16 each split into them by a shift and a mask; nothing moves across lanes.
fn step(body: &mut Body, a: Value, b: Value, lanes: &[Value]) -> Vec<Value> {
    let mut next = lanes.to_vec();
    for group in 0..4 {
        let first = body.int(I64, group as i64 * 8);
        let [a, b] = [a, b].map(|p| {
            let p = body.address(p, Elem::I32, first);
            let words = body.load_at(p, Ty::vector(Elem::I32, 8), 2);
            words_to_floats(body, words)
        });
        for (at, a, b) in [(group, a.0, b.0), (4 + group, a.1, b.1)] {
            next[at] = body.op("math.fma", &[a, b, lanes[at]]);
        }
    }
    next
}

/// The tree over all lanes in the order of [`step`]: every distance but the last stays within the even or odd ones.
fn lane_sum(body: &mut Body, lanes: &[Value]) -> Value {
    let [even, odd] = [0, 4].map(|at| {
        let low = body.op("arith.addf", &[lanes[at], lanes[at + 2]]);
        let high = body.op("arith.addf", &[lanes[at + 1], lanes[at + 3]]);
        let sum = body.op("arith.addf", &[low, high]);
        tree_sum(body, sum)
    });
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
        let at = body.add(first, i);
        let half = body.load(from, at, Ty::scalar(Elem::I16));
        body.store(half, to, i);
    });
}
