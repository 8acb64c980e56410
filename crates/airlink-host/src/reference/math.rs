//! exp, tanh, sin and cos as fixed polynomials, so that no result depends on a libm.
//!
//! All are plain f32 code with explicit fused multiply-adds: the same bits on every machine. Errors were measured
//! against f64 over dense grids; the tests hold them.

use super::text::{Body, Elem, Ty, Value, function};

/// Coefficients of `(expm1(r) - r) / r^2` on |r| <= ln 2 / 2, rising powers: a Chebyshev interpolation of degree 5 in
/// exact arithmetic, rounded to f32. Its error relative to expm1 is below 0.03 * 2^-24.
const EXPM1: [u32; 6] = [0x3f00_0000, 0x3e2a_aaab, 0x3d2a_aa75, 0x3c08_8870, 0x3ab6_a192, 0x3950_9279];
/// ln 2 in two parts: the nearest f32, and the nearest f32 of what is left.
const LN2: [u32; 2] = [0x3f31_7218, 0xb102_e308];
/// Coefficients of `(tanh(x) / x - 1) / x^2` in x^2 below [`TANH_SPLIT`], likewise; error below 0.11 * 2^-24.
const TANH: [u32; 6] = [0xbeaa_aaab, 0x3e08_8874, 0xbd5d_045a, 0x3cb2_542e, 0xbc08_b170, 0x3b16_3187];
const TANH_SPLIT: f32 = 0.625;
/// Coefficients of `(sin(r) / r - 1) / r^2` in r^2 for |r| <= pi / 4, likewise; error below 0.06 * 2^-24.
const SIN: [u32; 4] = [0xbe2a_aaab, 0x3c08_8887, 0xb950_09d2, 0x3636_de7e];
/// Coefficients of `(cos(r) - 1 + r^2 / 2) / r^4` in r^2, likewise; error below 0.02 * 2^-24.
const COS: [u32; 3] = [0x3d2a_aaaa, 0xbab6_0968, 0x37cd_ebc3];
/// pi / 2 in three parts, each the nearest f32 of what is left.
const HALF_PI: [u32; 3] = [0x3fc9_0fdb, 0xb33b_bd2e, 0xa6f7_2ced];
/// Beyond it the reduction by [`HALF_PI`] loses bits.
const TRIG_LIMIT: f32 = 1_048_576.0;
/// 1.5 * 2^23: adding it rounds a small f32 to an integer, ties to even, and leaves that integer in the low bits.
const TO_INTEGER: f32 = 12_582_912.0;

/// A private function that stands for one op of the `math` dialect: `@symbol` takes and returns `lanes` f32, as a scalar
/// where `lanes` is 1, else as a vector. `None` for an op that has no polynomial here.
///
/// For modules whose `math.exp` and the like must not become calls of a libm.
pub fn math_function(op: &str, symbol: &str, lanes: u32) -> Option<String> {
    let compute: fn(&mut Body, Value) -> Value = match op {
        "math.exp" => exp,
        "math.exp2" => exp2,
        "math.tanh" => tanh,
        "math.sin" => |b, x| sin_or_cos(b, x, Trig::Sin),
        "math.cos" => |b, x| sin_or_cos(b, x, Trig::Cos),
        _ => return None,
    };
    let ty = Ty::vector(Elem::F32, lanes);
    Some(function("private ", symbol, &[ty], ty, |b, args| compute(b, args[0])))
}

/// tanh of each lane. Odd, so -0 stays; ±inf gives ±1; NaN stays NaN. Below 1.3 ulp; rounded to bf16 it is the bf16
/// nearest to the true value for every bf16 argument.
pub(super) fn tanh(b: &mut Body, x: Value) -> Value {
    let bits = b.cast("arith.bitcast", x, Elem::I32);
    let (sign_mask, rest_mask) = (b.int(bits.ty, -0x8000_0000), b.int(bits.ty, 0x7fff_ffff));
    let sign = b.op("arith.andi", &[bits, sign_mask]);
    let magnitude = b.op("arith.andi", &[bits, rest_mask]);
    let magnitude = b.cast("arith.bitcast", magnitude, Elem::F32);
    let near = tanh_near_zero(b, magnitude);
    let far = tanh_far(b, magnitude);
    let limit = b.float(x.ty.lanes, TANH_SPLIT);
    let is_near = b.compare("arith.cmpf", "olt", magnitude, limit);
    let result = b.select(is_near, near, far);
    let result = b.cast("arith.bitcast", result, Elem::I32);
    let signed = b.op("arith.ori", &[result, sign]);
    b.cast("arith.bitcast", signed, Elem::F32)
}

/// `x + x^3 * polynomial(x^2)`.
fn tanh_near_zero(b: &mut Body, x: Value) -> Value {
    let z = b.op("arith.mulf", &[x, x]);
    let tail = horner(b, z, &TANH);
    let cube = b.op("arith.mulf", &[x, z]);
    b.op("math.fma", &[cube, tail, x])
}

/// `1 - 2 / (e^2x + 1)`.
fn tanh_far(b: &mut Body, x: Value) -> Value {
    let twice = b.op("arith.addf", &[x, x]);
    // From 9.02 on the nearest f32 of tanh is 1. The comparison is false for NaN, which passes.
    let cap = b.float(x.ty.lanes, 20.0);
    let above = b.compare("arith.cmpf", "ogt", twice, cap);
    let capped = b.select(above, cap, twice);
    let (power, p) = scaled_expm1(b, capped);
    let exp = b.op("math.fma", &[power, p, power]);
    let (one, two) = (b.float(x.ty.lanes, 1.0), b.float(x.ty.lanes, 2.0));
    let denominator = b.op("arith.addf", &[exp, one]);
    let rest = b.op("arith.divf", &[two, denominator]);
    b.op("arith.subf", &[one, rest])
}

/// 2^t of each lane. Below 1.1 ulp; subnormal results are rounded once, from 1.1 ulp of a normal one. NaN stays NaN.
pub(super) fn exp2(b: &mut Body, t: Value) -> Value {
    let t = clamp(b, t, -151.0, 129.0);
    let magic = b.float(t.ty.lanes, TO_INTEGER);
    let shifted = b.op("arith.addf", &[t, magic]);
    let n = b.op("arith.subf", &[shifted, magic]);
    let n_bits = integer_of(b, shifted);
    let fraction = b.op("arith.subf", &[t, n]);
    let ln2 = b.float(t.ty.lanes, f32::from_bits(LN2[0]));
    let r = b.op("arith.mulf", &[fraction, ln2]);
    let p = expm1_polynomial(b, r);
    scale(b, p, n_bits)
}

/// e^x of each lane. Below 1 ulp; subnormal results are rounded once more. NaN stays NaN.
pub(super) fn exp(b: &mut Body, x: Value) -> Value {
    let x = clamp(b, x, -105.0, 89.0);
    let (n, n_bits) = nearest_multiple(b, x);
    let p = reduced_expm1(b, x, n);
    scale(b, p, n_bits)
}

/// Which function [`sin_or_cos`] computes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Trig {
    Sin,
    Cos,
}

/// sin or cos of each lane in radians, below 2 ulp for |x| <= 2^20. NaN beyond, for infinities and for NaN.
pub(super) fn sin_or_cos(b: &mut Body, x: Value, which: Trig) -> Value {
    let (r, quadrant) = reduced_angle(b, x);
    let z = b.op("arith.mulf", &[r, r]);
    let sin_tail = horner(b, z, &SIN);
    let cube = b.op("arith.mulf", &[r, z]);
    let sin = b.op("math.fma", &[cube, sin_tail, r]);
    let cos_tail = horner(b, z, &COS);
    let (half, unit) = (b.float(x.ty.lanes, -0.5), b.float(x.ty.lanes, 1.0));
    let cos_head = b.op("math.fma", &[half, z, unit]);
    let square = b.op("arith.mulf", &[z, z]);
    let cos = b.op("math.fma", &[square, cos_tail, cos_head]);

    let (one, two) = (b.int(quadrant.ty, 1), b.int(quadrant.ty, 2));
    let quadrant = match which {
        Trig::Sin => quadrant,
        Trig::Cos => b.add(quadrant, one),
    };
    let odd = b.op("arith.andi", &[quadrant, one]);
    let is_odd = b.compare("arith.cmpi", "eq", odd, one);
    let magnitude = b.select(is_odd, cos, sin);
    let thirty = b.int(quadrant.ty, 30);
    let lower_half = b.op("arith.andi", &[quadrant, two]);
    let sign = b.op("arith.shli", &[lower_half, thirty]);
    let bits = b.cast("arith.bitcast", magnitude, Elem::I32);
    let signed = b.op("arith.xori", &[bits, sign]);
    b.cast("arith.bitcast", signed, Elem::F32)
}

/// `x - n * pi / 2` with the nearest n, and n.
fn reduced_angle(b: &mut Body, x: Value) -> (Value, Value) {
    let lanes = x.ty.lanes;
    let (limit, low_limit, nan) = (b.float(lanes, TRIG_LIMIT), b.float(lanes, -TRIG_LIMIT), b.float(lanes, f32::NAN));
    let above = b.compare("arith.cmpf", "ugt", x, limit);
    let x = b.select(above, nan, x);
    let below = b.compare("arith.cmpf", "olt", x, low_limit);
    let x = b.select(below, nan, x);
    let (per_radian, magic) = (b.float(lanes, std::f32::consts::FRAC_2_PI), b.float(lanes, TO_INTEGER));
    let shifted = b.op("math.fma", &[x, per_radian, magic]);
    let n = b.op("arith.subf", &[shifted, magic]);
    let minus_n = b.op("arith.negf", &[n]);
    let mut r = x;
    for bits in HALF_PI {
        let part = b.float(lanes, f32::from_bits(bits));
        r = b.op("math.fma", &[minus_n, part, r]);
    }
    (r, integer_of(b, shifted))
}

/// `(1 + p) * 2^n` for -152 < n < 131, in two steps since 2^n may be no f32.
fn scale(b: &mut Body, p: Value, n: Value) -> Value {
    let one = b.float(p.ty.lanes, 1.0);
    let mantissa = b.op("arith.addf", &[one, p]);
    let (single, bias) = (b.int(n.ty, 1), b.int(n.ty, 127));
    let first = b.op("arith.shrsi", &[n, single]);
    let second = b.op("arith.subi", &[n, first]);
    let mut result = mantissa;
    for part in [first, second] {
        let exponent = b.add(part, bias);
        let power = power_of_two(b, exponent);
        result = b.op("arith.mulf", &[result, power]);
    }
    result
}

/// Lanes below `low` become `low`, those above `high` become `high`; NaN passes.
fn clamp(b: &mut Body, x: Value, low: f32, high: f32) -> Value {
    let (low, high) = (b.float(x.ty.lanes, low), b.float(x.ty.lanes, high));
    let below = b.compare("arith.cmpf", "olt", x, low);
    let x = b.select(below, low, x);
    let above = b.compare("arith.cmpf", "ogt", x, high);
    b.select(above, high, x)
}

/// `2^n` and `expm1(y - n ln 2)` with n the integer nearest to `y / ln 2`. For 0 <= y < 88, and NaN.
fn scaled_expm1(b: &mut Body, y: Value) -> (Value, Value) {
    let (n, n_bits) = nearest_multiple(b, y);
    let p = reduced_expm1(b, y, n);
    let bias = b.int(n_bits.ty, 127);
    let exponent = b.add(n_bits, bias);
    (power_of_two(b, exponent), p)
}

/// The integer nearest to `y / ln 2`, as f32 and as i32. Of no meaning, but harmless, for NaN and |y| > 2^21.
fn nearest_multiple(b: &mut Body, y: Value) -> (Value, Value) {
    let log2_e = b.float(y.ty.lanes, std::f32::consts::LOG2_E);
    let magic = b.float(y.ty.lanes, TO_INTEGER);
    let scaled = b.op("math.fma", &[y, log2_e, magic]);
    let n = b.op("arith.subf", &[scaled, magic]);
    (n, integer_of(b, scaled))
}

/// The i32 that was rounded by adding [`TO_INTEGER`].
fn integer_of(b: &mut Body, shifted: Value) -> Value {
    let bits = b.cast("arith.bitcast", shifted, Elem::I32);
    let zero = b.int(bits.ty, i64::from(TO_INTEGER.to_bits()));
    b.op("arith.subi", &[bits, zero])
}

/// `expm1(y - n ln 2)` for |y - n ln 2| <= ln 2 / 2.
fn reduced_expm1(b: &mut Body, y: Value, n: Value) -> Value {
    let lanes = y.ty.lanes;
    let minus_n = b.op("arith.negf", &[n]);
    let [high, low] = LN2.map(|bits| b.float(lanes, f32::from_bits(bits)));
    let r = b.op("math.fma", &[minus_n, high, y]);
    let r = b.op("math.fma", &[minus_n, low, r]);
    expm1_polynomial(b, r)
}

/// `expm1(r)` for |r| <= ln 2 / 2.
fn expm1_polynomial(b: &mut Body, r: Value) -> Value {
    let q = horner(b, r, &EXPM1);
    let square = b.op("arith.mulf", &[r, r]);
    b.op("math.fma", &[square, q, r])
}

/// The polynomial with these coefficients (bits of f32, rising powers), by fused multiply-adds from the highest one.
fn horner(b: &mut Body, x: Value, coefficients: &[u32]) -> Value {
    let mut terms = coefficients.iter().rev().map(|bits| f32::from_bits(*bits));
    let mut sum = b.float(x.ty.lanes, terms.next().unwrap_or(0.0));
    for term in terms {
        let term = b.float(x.ty.lanes, term);
        sum = b.op("math.fma", &[sum, x, term]);
    }
    sum
}

/// The float with this biased exponent and no fraction.
fn power_of_two(b: &mut Body, exponent: Value) -> Value {
    let shift = b.int(exponent.ty, 23);
    let bits = b.op("arith.shli", &[exponent, shift]);
    b.cast("arith.bitcast", bits, Elem::F32)
}
