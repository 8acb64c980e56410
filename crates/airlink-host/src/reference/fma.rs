//! A fused multiply-add for CPUs that have none.

use super::text::{Body, Elem, Ty, Value, function};

/// The text of a function `fmaf`, to stand in any module: the symbol that code for a CPU without the instruction calls.
///
/// Exact, so it gives the bits of the instruction. The product of two f32 is exact in f64, the sum is rounded to odd, and
/// f64 has enough bits for the last rounding to be the only one that counts.
pub fn soft_fma() -> String {
    let f32 = Ty::scalar(Elem::F32);
    function("", "fmaf", &[f32; 3], f32, |b, args| {
        let [x, y, z] = [args[0], args[1], args[2]].map(|v| b.cast("arith.extf", v, Elem::F64));
        let product = b.op("arith.mulf", &[x, y]);
        let sum = b.op("arith.addf", &[product, z]);
        let lost = lost_in_sum(b, product, z, sum);
        let odd = rounded_to_odd(b, sum, lost);
        b.cast("arith.truncf", odd, Elem::F32)
    })
}

/// `x + y - sum`, exact where all three are finite; NaN otherwise.
fn lost_in_sum(b: &mut Body, x: Value, y: Value, sum: Value) -> Value {
    let y_part = b.op("arith.subf", &[sum, x]);
    let x_part = b.op("arith.subf", &[sum, y_part]);
    let x_lost = b.op("arith.subf", &[x, x_part]);
    let y_lost = b.op("arith.subf", &[y, y_part]);
    b.op("arith.addf", &[x_lost, y_lost])
}

/// Where something was lost, the neighbour of `sum` with an odd last bit, on the side of the exact value.
fn rounded_to_odd(b: &mut Body, sum: Value, lost: Value) -> Value {
    let bits = b.cast("arith.bitcast", sum, Elem::I64);
    let (zero, one) = (b.int(bits.ty, 0), b.int(bits.ty, 1));
    let nothing = b.cast("arith.bitcast", zero, Elem::F64);
    // False for NaN: infinities and NaN stay.
    let inexact = b.compare("arith.cmpf", "one", lost, nothing);
    let last = b.op("arith.andi", &[bits, one]);
    let even = b.compare("arith.cmpi", "eq", last, zero);
    let moves = b.op("arith.andi", &[inexact, even]);
    let more = b.compare("arith.cmpf", "ogt", lost, nothing);
    let negative = b.compare("arith.cmpi", "slt", bits, zero);
    // Magnitudes grow where the sign of what was lost is the sum's.
    let shrinks = b.compare("arith.cmpi", "eq", more, negative);
    let (up, down) = (b.add(bits, one), b.op("arith.subi", &[bits, one]));
    let moved = b.select(shrinks, down, up);
    let result = b.select(moves, moved, bits);
    b.cast("arith.bitcast", result, Elem::F64)
}
