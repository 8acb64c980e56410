//! The kernels of the decode attention example: one query group against one row of the cache.

use airlink_kernel::{KernelType, MemRefType};

use super::elementwise::chunks;
use super::math::{Trig, sin_or_cos};
use super::numbers::{load_bf16, store_bf16, tree_sum};
use super::text::{Elem, I32, I64, PTR, Ty, module};
use super::{Reference, is_scalar, memref};

/// Accumulating lanes of a score.
const LANES: u32 = 32;
/// The base of the rotary frequencies in the models that the public example is built for.
const ROPE_BASE: f64 = 500_000.0;

pub(super) static ATTN_SCORES: Reference = Reference {
    name: "attn_scores",
    revision: 1,
    symbols: &["attn_1_group"],
    signature: "(bf16 q[g][n], bf16 k[n], i32 pos, bf16 out[g][s])",
    meaning: "out[h][pos] = the sum over j of q[h][j] * k[j] for every row h; q is scaled by the caller.",
    rounding: "32 f32 lanes as in `gemv64`, added by halves 16, 8, 4, 2, 1; once to bf16. n is a multiple of 32.",
    build: build_scores,
};

pub(super) static ATTN_VALUES: Reference = Reference {
    name: "attn_values",
    revision: 1,
    symbols: &["attn_2_group"],
    signature: "(bf16 p[g][s], bf16 v[n], i32 pos, bf16 out[g][n])",
    meaning: "out[h][j] += p[h][pos] * v[j].",
    rounding: "One fused multiply-add in f32, then to bf16: once per call.",
    build: build_values,
};

pub(super) static ROPE_ANGLES: Reference = Reference {
    name: "rope_angles",
    revision: 1,
    symbols: &["freq_pos_f32_32_16"],
    signature: "(i32 pos, f32 out[n])",
    meaning: "out[i] = pos * 500000^(-i / n). The public object has the powers rounded to six decimals.",
    rounding: "pos to f32, the power to f32, their product to f32.",
    build: build_angles,
};

pub(super) static SIN: Reference = Reference {
    name: "sin_bf16",
    revision: 1,
    symbols: &["sinf_bf16_32_16"],
    signature: "(f32 x[n], bf16 out[n])",
    meaning: "out[i] = sin(x[i]), in radians, for |x| <= 2^20; NaN beyond.",
    rounding: "sin within 2 ulp of f32, then to bf16. The public object computes in bf16.",
    build: |symbol, inputs| build_trig(symbol, inputs, Trig::Sin),
};

pub(super) static COS: Reference = Reference {
    name: "cos_bf16",
    revision: 1,
    symbols: &["cosf_bf16_32_16"],
    signature: "(f32 x[n], bf16 out[n])",
    meaning: "out[i] = cos(x[i]), in radians, for |x| <= 2^20; NaN beyond.",
    rounding: "As `sin_bf16`.",
    build: |symbol, inputs| build_trig(symbol, inputs, Trig::Cos),
};

fn build_scores(symbol: &str, inputs: &[KernelType]) -> Option<String> {
    let [q, k, pos, out] = inputs else { return None };
    let ([g, n], [k], [rows, s]) = (extents(q)?, extents(k)?, extents(out)?);
    let fits = is_scalar(pos, "i32") && k == n && rows == g && n % i64::from(LANES) == 0;
    fits.then(|| {
        module(symbol, &[PTR, PTR, I32, PTR], |b, args| {
            let [q, k, pos, out] = args else { unreachable!() };
            let pos = b.extend(*pos);
            b.count(g, 1, |b, row| {
                let first = b.times(row, n);
                let q = b.address(*q, Elem::I16, first);
                let (low, high) = (b.int(I64, 0), b.int(I64, n));
                let start = b.float(LANES, 0.0);
                let lanes = b.loop_over((low, high, i64::from(LANES)), &[start], |b, j, lanes| {
                    let (q, k) = (load_bf16(b, q, j, LANES), load_bf16(b, *k, j, LANES));
                    vec![b.op("math.fma", &[q, k, lanes[0]])]
                });
                let sum = tree_sum(b, lanes[0]);
                let before = b.times(row, s);
                let at = b.add(before, pos);
                store_bf16(b, sum, *out, at);
            });
        })
    })
}

fn build_values(symbol: &str, inputs: &[KernelType]) -> Option<String> {
    let [p, v, pos, out] = inputs else { return None };
    let ([g, s], [v], [rows, n]) = (extents(p)?, extents(v)?, extents(out)?);
    (is_scalar(pos, "i32") && v == n && rows == g).then(|| {
        module(symbol, &[PTR, PTR, I32, PTR], |b, args| {
            let [p, v, pos, out] = args else { unreachable!() };
            let pos = b.extend(*pos);
            b.count(g, 1, |b, row| {
                let before = b.times(row, s);
                let at = b.add(before, pos);
                let weight = load_bf16(b, *p, at, 1);
                let first = b.times(row, n);
                let out = b.address(*out, Elem::I16, first);
                let n = b.int(I64, n);
                chunks(b, n, 16, |b, j, lanes| {
                    let weight = b.broadcast(weight, lanes);
                    let (v, sum) = (load_bf16(b, *v, j, lanes), load_bf16(b, out, j, lanes));
                    let sum = b.op("math.fma", &[weight, v, sum]);
                    store_bf16(b, sum, out, j);
                });
            });
        })
    })
}

fn build_angles(symbol: &str, inputs: &[KernelType]) -> Option<String> {
    let [pos, out] = inputs else { return None };
    let n = memref(out, "f32")?.element_count()?;
    // The stores are spelled out one by one.
    (is_scalar(pos, "i32") && n <= 1024).then(|| {
        module(symbol, &[I32, PTR], |b, args| {
            let pos = b.cast("arith.sitofp", args[0], Elem::F32);
            for (i, frequency) in frequencies(n).enumerate() {
                let frequency = b.float(1, frequency);
                let angle = b.op("arith.mulf", &[pos, frequency]);
                let i = b.int(I64, i as i64);
                b.store(angle, args[1], i);
            }
        })
    })
}

/// `500000^(-i / n)` for i < n, from f64 products and a root by Newton's method: no libm decides their bits.
fn frequencies(n: u64) -> impl Iterator<Item = f32> {
    let root = nth_root(ROPE_BASE, n);
    (0..n).scan(1.0f64, move |power, _| {
        let frequency = 1.0 / *power;
        *power *= root;
        Some(frequency as f32)
    })
}

/// The n-th root of a number above 1.
fn nth_root(number: f64, n: u64) -> f64 {
    let mut root = 1.0 + (number - 1.0) / n as f64;
    for _ in 0..10_000 {
        let power = (1..n).fold(1.0, |p, _| p * root);
        let next = root - (root - number / power) / n as f64;
        if next >= root {
            break;
        }
        root = next;
    }
    root
}

fn build_trig(symbol: &str, inputs: &[KernelType], which: Trig) -> Option<String> {
    let [x, out] = inputs else { return None };
    let n = memref(x, "f32")?.element_count()?;
    (memref(out, "bf16")?.element_count()? == n).then(|| {
        module(symbol, &[PTR, PTR], |b, args| {
            let n = b.int(I64, n as i64);
            chunks(b, n, 8, |b, i, lanes| {
                let x = b.load(args[0], i, Ty::vector(Elem::F32, lanes));
                let result = sin_or_cos(b, x, which);
                store_bf16(b, result, args[1], i);
            });
        })
    })
}

/// The extents of a bf16 memref of rank N.
fn extents<const N: usize>(ty: &KernelType) -> Option<[i64; N]> {
    let MemRefType { shape, .. } = memref(ty, "bf16")?;
    let shape: Vec<i64> = shape.iter().map(|d| d.map(|d| d as i64)).collect::<Option<_>>()?;
    shape.try_into().ok()
}
