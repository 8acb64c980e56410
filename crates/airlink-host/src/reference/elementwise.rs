//! Kernels that treat every element alike.

use airlink_kernel::KernelType;

use super::math::tanh;
use super::numbers::{load_bf16, round, store_bf16};
use super::text::{Body, I32, I64, PTR, Value, module};
use super::{Reference, is_scalar, memref};

pub(super) static SILU_AND_MUL: Reference = Reference {
    name: "silu_and_mul",
    revision: 1,
    symbols: &["silu_and_mul_bf16", "swiglu_bf16"],
    signature: "(bf16 gate[n], bf16 up[n], bf16 out[n], i32 n)",
    meaning: "out[i] = silu(gate[i]) * up[i] with silu(x) = x * 0.5 * (1 + tanh(x / 2)), for i < n. The public objects \
        leave out what is left of n after whole vectors of 16 (8 in `swiglu_bf16`).",
    rounding: "To bf16 after each step: x / 2; tanh; 1 + tanh; half of it; times x; times up. tanh is the bf16 nearest to \
        the true value. A gate of -inf gives NaN, as the formula does.",
    build: build_silu_and_mul,
};

fn build_silu_and_mul(symbol: &str, inputs: &[KernelType]) -> Option<String> {
    let [gate, up, out, n] = inputs else { return None };
    let buffers = [gate, up, out].into_iter().all(|t| memref(t, "bf16").is_some());
    (buffers && is_scalar(n, "i32")).then(|| {
        module(symbol, &[PTR, PTR, PTR, I32], |b, args| {
            let [gate, up, out, n] = args else { unreachable!() };
            let n = b.extend(*n);
            chunks(b, n, 16, |b, i, lanes| {
                let x = load_bf16(b, *gate, i, lanes);
                let y = load_bf16(b, *up, i, lanes);
                let silu = silu(b, x);
                let result = b.op("arith.mulf", &[silu, y]);
                store_bf16(b, result, *out, i);
            });
        })
    })
}

/// `x * sigmoid(x)` with a bf16 rounding after each step.
fn silu(b: &mut Body, x: Value) -> Value {
    let (half, one) = (b.float(x.ty.lanes, 0.5), b.float(x.ty.lanes, 1.0));
    let step = |b: &mut Body, name: &str, operands: [Value; 2]| {
        let exact = b.op(name, &operands);
        round(b, exact)
    };
    let halved = step(b, "arith.mulf", [x, half]);
    let t = tanh(b, halved);
    let t = round(b, t);
    let sum = step(b, "arith.addf", [one, t]);
    let sigmoid = step(b, "arith.mulf", [half, sum]);
    step(b, "arith.mulf", [x, sigmoid])
}

/// Runs `each` over 0..n (i64) in vectors of `lanes`, then over the rest one by one.
pub(super) fn chunks(b: &mut Body, n: Value, lanes: u32, each: impl Fn(&mut Body, Value, u32)) {
    let (zero, width) = (b.int(I64, 0), b.int(I64, i64::from(lanes)));
    let rest = b.op("arith.remsi", &[n, width]);
    let whole = b.op("arith.subi", &[n, rest]);
    for (low, high, lanes) in [(zero, whole, lanes), (whole, n, 1)] {
        b.loop_over((low, high, i64::from(lanes)), &[], |b, i, _| {
            each(b, i, lanes);
            Vec::new()
        });
    }
}
