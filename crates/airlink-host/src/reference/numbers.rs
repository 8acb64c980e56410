//! bf16 in integer registers: widening is a shift, rounding is to nearest even.
//!
//! A NaN becomes the one bf16 NaN 0x7FC0, as it does in the code that the host pipeline makes of `arith.truncf`.

use super::text::{Body, Elem, Ty, Value};

/// The bits of the NaN that results hold.
const NAN: i64 = 0x7fc0_0000;

/// The f32 values of bf16 patterns in i16 lanes. Exact.
pub(super) fn widen(b: &mut Body, halves: Value) -> Value {
    let words = b.cast("arith.extui", halves, Elem::I32);
    let sixteen = b.int(words.ty, 16);
    let shifted = b.op("arith.shli", &[words, sixteen]);
    b.cast("arith.bitcast", shifted, Elem::F32)
}

/// The nearest bf16 of each f32 lane, ties to even, as i16 patterns.
pub(super) fn narrow(b: &mut Body, floats: Value) -> Value {
    let rounded = rounded_or_nan(b, floats);
    let sixteen = b.int(rounded.ty, 16);
    let shifted = b.op("arith.shrui", &[rounded, sixteen]);
    b.cast("arith.trunci", shifted, Elem::I16)
}

/// A bf16 rounding point in the middle of a computation: `widen(narrow(x))` without the way through 16 bits. A NaN stays
/// one, with any sign and payload.
pub(super) fn round(b: &mut Body, floats: Value) -> Value {
    let rounded = rounded_bits(b, floats);
    let mask = b.int(rounded.ty, -0x1_0000);
    let kept = b.op("arith.andi", &[rounded, mask]);
    // An `or` and no `select` of a constant: LLVM would move that behind the next operation, into the loop-carried chain.
    let is_nan = b.compare("arith.cmpf", "uno", floats, floats);
    let is_nan = b.cast("arith.extsi", is_nan, Elem::I32);
    let nan = b.int(kept.ty, NAN);
    let nan = b.op("arith.andi", &[is_nan, nan]);
    let kept = b.op("arith.ori", &[kept, nan]);
    b.cast("arith.bitcast", kept, Elem::F32)
}

/// i32 lanes whose upper halves are the nearest bf16, or [`NAN`]; the lower halves are of no meaning.
fn rounded_or_nan(b: &mut Body, floats: Value) -> Value {
    let rounded = rounded_bits(b, floats);
    let is_nan = b.compare("arith.cmpf", "uno", floats, floats);
    let nan = b.int(rounded.ty, NAN);
    b.select(is_nan, nan, rounded)
}

/// i32 lanes whose upper halves are the nearest bf16, but for NaN.
fn rounded_bits(b: &mut Body, floats: Value) -> Value {
    let bits = b.cast("arith.bitcast", floats, Elem::I32);
    let (sixteen, one, half) = (b.int(bits.ty, 16), b.int(bits.ty, 1), b.int(bits.ty, 0x7fff));
    let upper = b.op("arith.shrui", &[bits, sixteen]);
    let odd = b.op("arith.andi", &[upper, one]);
    let bias = b.op("arith.addi", &[odd, half]);
    b.op("arith.addi", &[bits, bias])
}

/// Loads `lanes` bf16 from element `index` on, as f32.
pub(super) fn load_bf16(b: &mut Body, base: Value, index: Value, lanes: u32) -> Value {
    let halves = b.load(base, index, Ty::vector(Elem::I16, lanes));
    widen(b, halves)
}

/// Stores f32 lanes as the nearest bf16 from element `index` on.
pub(super) fn store_bf16(b: &mut Body, floats: Value, base: Value, index: Value) {
    let halves = narrow(b, floats);
    b.store(halves, base, index);
}

/// The even and the odd elements of bf16 pairs in 32-bit words: no element moves to another lane.
pub(super) fn words_to_floats(b: &mut Body, words: Value) -> (Value, Value) {
    let (sixteen, upper) = (b.int(words.ty, 16), b.int(words.ty, -0x1_0000));
    let even = b.op("arith.shli", &[words, sixteen]);
    let odd = b.op("arith.andi", &[words, upper]);
    (b.cast("arith.bitcast", even, Elem::F32), b.cast("arith.bitcast", odd, Elem::F32))
}

/// The words of bf16 pairs, each lane rounded to nearest even.
pub(super) fn floats_to_words(b: &mut Body, even: Value, odd: Value) -> Value {
    let (even, odd) = (rounded_or_nan(b, even), rounded_or_nan(b, odd));
    let (sixteen, upper) = (b.int(even.ty, 16), b.int(even.ty, -0x1_0000));
    let even = b.op("arith.shrui", &[even, sixteen]);
    let odd = b.op("arith.andi", &[odd, upper]);
    b.op("arith.ori", &[even, odd])
}

/// The greater of two lanes; the second one if they are equal or either is NaN.
pub(super) fn greater(b: &mut Body, x: Value, y: Value) -> Value {
    let above = b.compare("arith.cmpf", "ogt", x, y);
    b.select(above, x, y)
}

/// The lower and the upper half of a vector's lanes.
fn halves(b: &mut Body, vector: Value) -> (Value, Value) {
    let half = vector.ty.lanes / 2;
    let low: Vec<u32> = (0..half).collect();
    let high: Vec<u32> = (half..2 * half).collect();
    (b.shuffle(vector, vector, &low), b.shuffle(vector, vector, &high))
}

/// The sum of all lanes by halves: lane j takes lane j + n/2, then j + n/4, until one is left. The count is a power of
/// two.
pub(super) fn tree_sum(b: &mut Body, vector: Value) -> Value {
    tree(b, vector, |b, x, y| b.op("arith.addf", &[x, y]))
}

/// The greatest of all lanes, by the same tree.
pub(super) fn tree_greatest(b: &mut Body, vector: Value) -> Value {
    tree(b, vector, greater)
}

fn tree(b: &mut Body, vector: Value, join: impl Fn(&mut Body, Value, Value) -> Value) -> Value {
    let mut vector = vector;
    while vector.ty.lanes > 2 {
        let (low, high) = halves(b, vector);
        vector = join(b, low, high);
    }
    if vector.ty.lanes == 1 {
        return vector;
    }
    let (low, high) = (b.extract(vector, 0), b.extract(vector, 1));
    join(b, low, high)
}
