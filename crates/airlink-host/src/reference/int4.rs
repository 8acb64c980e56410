//! The matrix-vector product with packed 4-bit weights.

use airlink_kernel::KernelType;

use super::numbers::{load_bf16, round, store_bf16, tree_sum, words_to_floats};
use super::text::{Body, Elem, I32, I64, PTR, Ty, Value, module};
use super::{Reference, is_scalar, memref};

/// f32 lanes of a group and of a row.
const LANES: i64 = 32;
/// Elements that share a scale where the types don't tell: what the public objects are built with.
const GROUP: i64 = 128;

pub(super) static INT4_GEMV: Reference = Reference {
    name: "int4_gemv",
    revision: 1,
    symbols: &["matvec_int4_bf16_packed"],
    signature: "(i8 packed[], bf16 b[k], bf16 c[m])",
    meaning: "c[i] += the sum over j of w[i][j] * b[j] with w[i][j] = (q[i][j] - z[j / g][i]) * s[j / g][i]. packed holds \
        q: m rows of k / 2 bytes, low nibble first; then s: k / g rows of m bf16; then z: k / g rows of m bytes. m, k and \
        the group size g come from the operand types.",
    rounding: "Per group: 32 f32 lanes start at +0; lane l takes (q - z) * b for elements l, l + 32, ... of the group, by \
        fused multiply-adds (z is a signed byte); each lane is rounded to bf16 and goes by one fused multiply-add \
        with s into 32 f32 lanes of the row. These are added by halves: 16, 8, 4, 2, 1. c[i] plus the sum to f32, then \
        to bf16.",
    build: |symbol, inputs| build(symbol, inputs, true),
};

pub(super) static INT4_GEMV_STORE: Reference = Reference {
    name: "int4_gemv_store",
    revision: 1,
    symbols: &["matvec_int4_bf16_packed_store"],
    signature: "(i8 packed[], bf16 b[k], bf16 c[m])",
    meaning: "As `int4_gemv`, but overwrites c.",
    rounding: "As `int4_gemv`; the sum once to bf16.",
    build: |symbol, inputs| build(symbol, inputs, false),
};

pub(super) static INT4_GEMV_OFFSET: Reference = Reference {
    name: "int4_gemv_offset",
    revision: 1,
    symbols: &["matvec_int4_bf16_packed_b_offset"],
    signature: "(i8 packed[], bf16 b[], i32 offset, bf16 c[m])",
    meaning: "As `int4_gemv` with b[offset + j]. g is 128, and k follows from the packed size.",
    rounding: "As `int4_gemv`.",
    build: build_offset,
};

/// Sizes of one packed block.
#[derive(Clone, Copy)]
struct Extents {
    m: i64,
    k: i64,
    group: i64,
}

impl Extents {
    fn groups(self) -> i64 {
        self.k / self.group
    }

    /// From the packed size, m and k: what q leaves holds 3 bytes per row and group.
    fn from_k(packed_bytes: i64, m: i64, k: i64) -> Option<Extents> {
        let rest = packed_bytes.checked_sub(m.checked_mul(k)? / 2)?;
        let per_group = m.checked_mul(3)?;
        if per_group == 0 || rest <= 0 || rest % per_group != 0 {
            return None;
        }
        let groups = rest / per_group;
        let group = k / groups;
        (group * groups == k && group % LANES == 0 && group > 0).then_some(Extents { m, k, group })
    }

    /// From the packed size and m, with groups of [`GROUP`].
    fn from_group(packed_bytes: i64, m: i64) -> Option<Extents> {
        let per_group = m.checked_mul(GROUP / 2 + 3)?;
        (per_group > 0 && packed_bytes > 0 && packed_bytes % per_group == 0).then(|| Extents {
            m,
            k: packed_bytes / per_group * GROUP,
            group: GROUP,
        })
    }
}

fn build(symbol: &str, inputs: &[KernelType], accumulate: bool) -> Option<String> {
    let [packed, b, c] = inputs else { return None };
    let (bytes, k, m) = (count(packed, "i8")?, count(b, "bf16")?, count(c, "bf16")?);
    let extents = Extents::from_k(bytes, m, k)?;
    Some(module(symbol, &[PTR, PTR, PTR], |body, args| {
        let [packed, b, c] = args else { unreachable!() };
        rows(body, extents, (*packed, *b, *c), accumulate);
    }))
}

fn build_offset(symbol: &str, inputs: &[KernelType]) -> Option<String> {
    let [packed, b, offset, c] = inputs else { return None };
    let (bytes, b, m) = (count(packed, "i8")?, count(b, "bf16")?, count(c, "bf16")?);
    let extents = Extents::from_group(bytes, m)?;
    (is_scalar(offset, "i32") && b >= extents.k).then(|| {
        module(symbol, &[PTR, PTR, I32, PTR], |body, args| {
            let [packed, b, offset, c] = args else { unreachable!() };
            let offset = body.extend(*offset);
            let b = body.address(*b, Elem::I16, offset);
            rows(body, extents, (*packed, b, *c), true);
        })
    })
}

fn rows(body: &mut Body, x: Extents, (packed, b, c): (Value, Value, Value), accumulate: bool) {
    let scales = body.int(I64, x.m * x.k / 2);
    let scales = body.address(packed, Elem::I8, scales);
    let zeros = body.int(I64, x.m * x.k / 2 + x.groups() * x.m * 2);
    let zeros = body.address(packed, Elem::I8, zeros);
    body.count(x.m, 1, |body, row| {
        let first = body.times(row, x.k / 2);
        let q_row = body.address(packed, Elem::I8, first);
        let (low, high) = (body.int(I64, 0), body.int(I64, x.groups()));
        let start = [body.float(8, 0.0); 4];
        let lanes = body.loop_over((low, high, 1), &start, |body, group, lanes| {
            let before = body.times(group, x.m);
            let at = body.add(before, row);
            let scale = load_bf16(body, scales, at, 1);
            let scale = body.broadcast(scale, 8);
            let zero = body.load(zeros, at, Ty::scalar(Elem::I8));
            let zero = body.cast("arith.extsi", zero, Elem::I32);
            let zero = body.broadcast(zero, 8);
            let sums = group_sums(body, x.group, (q_row, b, group), zero);
            sums.iter()
                .zip(lanes)
                .map(|(sum, lane)| {
                    let sum = round(body, *sum);
                    body.op("math.fma", &[sum, scale, *lane])
                })
                .collect()
        });
        let [even, odd] = [0, 1].map(|at| {
            let sum = body.op("arith.addf", &[lanes[at], lanes[at + 2]]);
            tree_sum(body, sum)
        });
        let mut sum = body.op("arith.addf", &[even, odd]);
        if accumulate {
            let before = load_bf16(body, c, row, 1);
            sum = body.op("arith.addf", &[before, sum]);
        }
        store_bf16(body, sum, c, row);
    });
}

/// The 32 unscaled lanes of one group: value 2p + q holds the even (q = 0) or odd lanes of elements 16p to 16p + 15.
fn group_sums(body: &mut Body, size: i64, (q, b, group): (Value, Value, Value), zero: Value) -> Vec<Value> {
    let mut sums = vec![body.float(8, 0.0); 4];
    let first = body.times(group, size / 2);
    for piece in 0..size / 16 {
        let at = body.plus(first, piece * 8);
        let bytes = body.load(q, at, Ty::vector(Elem::I8, 8));
        let bytes = body.cast("arith.extui", bytes, Elem::I32);
        let words = body.address(b, Elem::I32, at);
        let words = body.load_at(words, Ty::vector(Elem::I32, 8), 2);
        let (b_even, b_odd) = words_to_floats(body, words);
        let (nibble, four) = (body.int(bytes.ty, 15), body.int(bytes.ty, 4));
        let even = body.op("arith.andi", &[bytes, nibble]);
        let odd = body.op("arith.shrui", &[bytes, four]);
        let lanes = piece as usize % 2 * 2;
        for (lane, nibbles, b) in [(lanes, even, b_even), (lanes + 1, odd, b_odd)] {
            let weight = body.op("arith.subi", &[nibbles, zero]);
            let weight = body.cast("arith.sitofp", weight, Elem::F32);
            sums[lane] = body.op("math.fma", &[weight, b, sums[lane]]);
        }
    }
    sums
}

fn count(ty: &KernelType, element: &str) -> Option<i64> {
    Some(memref(ty, element)?.element_count()? as i64)
}
