//! exp and tanh as fixed polynomials, so that no result depends on a libm.
//!
//! Both are plain f32 code with explicit fused multiply-adds: the same bits on every machine. Errors were measured
//! against f64 over dense grids; the tests hold them.

use super::text::{Body, Elem, Value};

/// Coefficients of `(expm1(r) - r) / r^2` on |r| <= ln 2 / 2, rising powers: a Chebyshev interpolation of degree 5 in
/// exact arithmetic, rounded to f32. Its error relative to expm1 is below 0.03 * 2^-24.
const EXPM1: [u32; 6] = [0x3f00_0000, 0x3e2a_aaab, 0x3d2a_aa75, 0x3c08_8870, 0x3ab6_a192, 0x3950_9279];
/// ln 2 in two parts: the nearest f32, and the nearest f32 of what is left.
const LN2: [u32; 2] = [0x3f31_7218, 0xb102_e308];
/// 1.5 * 2^23: adding it rounds a small f32 to an integer, ties to even, and leaves that integer in the low bits.
const TO_INTEGER: f32 = 12_582_912.0;

/// tanh of each lane. Odd, so -0 stays; ±inf gives ±1; NaN stays NaN. Below 1.5 ulp; rounded to bf16 it is the bf16
/// nearest to the true value for every bf16 argument.
pub(super) fn tanh(b: &mut Body, x: Value) -> Value {
    let bits = b.cast("arith.bitcast", x, Elem::I32);
    let (sign_mask, rest_mask) = (b.int(bits.ty, -0x8000_0000), b.int(bits.ty, 0x7fff_ffff));
    let sign = b.op("arith.andi", &[bits, sign_mask]);
    let magnitude = b.op("arith.andi", &[bits, rest_mask]);
    let magnitude = b.cast("arith.bitcast", magnitude, Elem::F32);
    let twice = b.op("arith.addf", &[magnitude, magnitude]);
    // From 9.02 on the nearest f32 of tanh is 1. The comparison is false for NaN, which passes.
    let cap = b.float(x.ty.lanes, 20.0);
    let above = b.compare("arith.cmpf", "ogt", twice, cap);
    let capped = b.select(above, cap, twice);
    let (power, p) = scaled_expm1(b, capped);
    let one = b.float(x.ty.lanes, 1.0);
    let rest = b.op("arith.subf", &[power, one]);
    let expm1 = b.op("math.fma", &[power, p, rest]);
    let two = b.float(x.ty.lanes, 2.0);
    let denominator = b.op("arith.addf", &[expm1, two]);
    let ratio = b.op("arith.divf", &[expm1, denominator]);
    let ratio = b.cast("arith.bitcast", ratio, Elem::I32);
    let signed = b.op("arith.ori", &[ratio, sign]);
    b.cast("arith.bitcast", signed, Elem::F32)
}

/// `2^n` and `expm1(y - n ln 2)` with n the integer nearest to `y / ln 2`. For 0 <= y < 88, and NaN.
fn scaled_expm1(b: &mut Body, y: Value) -> (Value, Value) {
    let (n, n_bits) = nearest_multiple(b, y);
    let p = reduced_expm1(b, y, n);
    let bias = b.int(n_bits.ty, 127);
    let exponent = b.op("arith.addi", &[n_bits, bias]);
    (power_of_two(b, exponent), p)
}

/// The integer nearest to `y / ln 2`, as f32 and as i32. Of no meaning, but harmless, for NaN and |y| > 2^21.
fn nearest_multiple(b: &mut Body, y: Value) -> (Value, Value) {
    let log2_e = b.float(y.ty.lanes, std::f32::consts::LOG2_E);
    let magic = b.float(y.ty.lanes, TO_INTEGER);
    let scaled = b.op("math.fma", &[y, log2_e, magic]);
    let n = b.op("arith.subf", &[scaled, magic]);
    let bits = b.cast("arith.bitcast", scaled, Elem::I32);
    let zero = b.int(bits.ty, i64::from(TO_INTEGER.to_bits()));
    (n, b.op("arith.subi", &[bits, zero]))
}

/// `expm1(y - n ln 2)` for |y - n ln 2| <= ln 2 / 2.
fn reduced_expm1(b: &mut Body, y: Value, n: Value) -> Value {
    let lanes = y.ty.lanes;
    let minus_n = b.op("arith.negf", &[n]);
    let [high, low] = LN2.map(|bits| b.float(lanes, f32::from_bits(bits)));
    let r = b.op("math.fma", &[minus_n, high, y]);
    let r = b.op("math.fma", &[minus_n, low, r]);
    let mut q = b.float(lanes, f32::from_bits(EXPM1[5]));
    for coefficient in EXPM1[..5].iter().rev() {
        let c = b.float(lanes, f32::from_bits(*coefficient));
        q = b.op("math.fma", &[q, r, c]);
    }
    let square = b.op("arith.mulf", &[r, r]);
    b.op("math.fma", &[square, q, r])
}

/// The float with this biased exponent and no fraction.
fn power_of_two(b: &mut Body, exponent: Value) -> Value {
    let shift = b.int(exponent.ty, 23);
    let bits = b.op("arith.shli", &[exponent, shift]);
    b.cast("arith.bitcast", bits, Elem::F32)
}
