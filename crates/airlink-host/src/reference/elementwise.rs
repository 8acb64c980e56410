//! Kernels that treat every element alike.

use airlink_kernel::KernelType;

use super::math::tanh;
use super::numbers::{greater, load_bf16, round, store_bf16};
use super::text::{Body, Elem, I32, I64, PTR, Ty, Value, module};
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

pub(super) static ADD_SLICE: Reference = Reference {
    name: "add_slice",
    revision: 1,
    symbols: &["partial_plus_r_bf16"],
    signature: "(bf16 p[n], bf16 r[], i32 offset, bf16 d[n])",
    meaning: "d[i] = p[i] + r[offset + i] for every element of d's type.",
    rounding: "The sum to f32, then to bf16: the same as once to bf16.",
    build: |symbol, inputs| {
        let [p, r, offset, d] = inputs else { return None };
        let n = memref(d, "bf16")?.element_count()?;
        let fits = memref(p, "bf16")?.element_count()? == n && memref(r, "bf16").is_some() && is_scalar(offset, "i32");
        fits.then(|| {
            module(symbol, &[PTR, PTR, I32, PTR], |b, args| {
                let [p, r, offset, d] = args else { unreachable!() };
                let offset = b.extend(*offset);
                let r = b.address(*r, Elem::I16, offset);
                each_element(b, n, &[*p, r], *d, |b, x| b.op("arith.addf", x));
            })
        })
    },
};

pub(super) static ADD_INTO: Reference = Reference {
    name: "add_into",
    revision: 1,
    symbols: &["add_gp_g"],
    signature: "(bf16 a[n], bf16 c[n])",
    meaning: "c[i] += a[i] for every element.",
    rounding: "As `add_slice`.",
    build: |symbol, inputs| two_buffers(symbol, inputs, |b, a, c| b.op("arith.addf", &[c, a])),
};

pub(super) static ADD_3: Reference = Reference {
    name: "add_3",
    revision: 1,
    symbols: &["add_3_bf16"],
    signature: "(bf16 a[n], bf16 c[n])",
    meaning: "c[i] = a[i] + 3 for every element.",
    rounding: "As `add_slice`.",
    build: |symbol, inputs| {
        two_buffers(symbol, inputs, |b, a, _| {
            let three = b.float(a.ty.lanes, 3.0);
            b.op("arith.addf", &[a, three])
        })
    },
};

pub(super) static GREATER_INTO: Reference = Reference {
    name: "greater_into",
    revision: 1,
    symbols: &["maximum_up_u_bf16"],
    signature: "(bf16 a[n], bf16 c[n])",
    meaning: "c[i] becomes the greater of a[i] and c[i]; c[i] stays if either is NaN.",
    rounding: "None.",
    build: |symbol, inputs| two_buffers(symbol, inputs, greater),
};

pub(super) static COPY: Reference = Reference {
    name: "copy",
    revision: 1,
    symbols: &["copy_tile"],
    signature: "(bf16 a[n], bf16 c[n])",
    meaning: "c[i] = a[i] for every element.",
    rounding: "None.",
    build: |symbol, inputs| {
        let [a, c] = inputs else { return None };
        let n = memref(a, "bf16")?.element_count()?;
        (memref(c, "bf16")?.element_count()? == n)
            .then(|| module(symbol, &[PTR, PTR], |b, args| copy_elements(b, n, args[0], args[1])))
    },
};

pub(super) static COPY_TO_OFFSET: Reference = Reference {
    name: "copy_to_offset",
    revision: 1,
    symbols: &["vector_copy_32elems"],
    signature: "(i32 offset, bf16 a[n], bf16 c[])",
    meaning: "c[offset + i] = a[i] for every element of a.",
    rounding: "None.",
    build: |symbol, inputs| {
        let [offset, a, c] = inputs else { return None };
        let n = memref(a, "bf16")?.element_count()?;
        (memref(c, "bf16").is_some() && is_scalar(offset, "i32")).then(|| {
            module(symbol, &[I32, PTR, PTR], |b, args| {
                let offset = b.extend(args[0]);
                let to = b.address(args[2], Elem::I16, offset);
                copy_elements(b, n, args[1], to);
            })
        })
    },
};

pub(super) static SCALE_ADD: Reference = Reference {
    name: "scale_add",
    revision: 1,
    symbols: &["accum_sp_r_s"],
    signature: "(bf16 p[n], bf16 r[n], bf16 s[n])",
    meaning: "s[i] += p[i] * r[i] for every element.",
    rounding: "One fused multiply-add in f32, then to bf16.",
    build: |symbol, inputs| {
        let [p, r, s] = inputs else { return None };
        let [p, r, s] = [p, r, s].map(|t| memref(t, "bf16").and_then(|m| m.element_count()));
        let n = p?;
        (r == p && s == p).then(|| {
            module(symbol, &[PTR, PTR, PTR], |b, args| {
                each_element(b, n, args, args[2], |b, x| b.op("math.fma", x));
            })
        })
    },
};

pub(super) static ROUND_TO_BF16: Reference = Reference {
    name: "round_to_bf16",
    revision: 1,
    symbols: &["f32_to_bf16_mn", "f32_to_bf16_mn_m32", "f32_to_bf16_mn_m64"],
    signature: "(f32 a[n], bf16 c[n])",
    meaning: "c[i] = a[i] for every element.",
    rounding: "To bf16, to nearest even.",
    build: |symbol, inputs| {
        let [a, c] = inputs else { return None };
        let n = memref(a, "f32")?.element_count()?;
        (memref(c, "bf16")?.element_count()? == n).then(|| {
            module(symbol, &[PTR, PTR], |b, args| {
                let n = b.int(I64, n as i64);
                chunks(b, n, 16, |b, i, lanes| {
                    let x = b.load(args[0], i, Ty::vector(Elem::F32, lanes));
                    store_bf16(b, x, args[1], i);
                });
            })
        })
    },
};

/// A kernel `(a[n], c[n])` that writes c from both.
fn two_buffers(
    symbol: &str,
    inputs: &[KernelType],
    compute: impl Fn(&mut Body, Value, Value) -> Value,
) -> Option<String> {
    let [a, c] = inputs else { return None };
    let n = memref(a, "bf16")?.element_count()?;
    (memref(c, "bf16")?.element_count()? == n).then(|| {
        module(symbol, &[PTR, PTR], |b, args| each_element(b, n, args, args[1], |b, x| compute(b, x[0], x[1])))
    })
}

/// `out[i] = compute(inputs[..][i])` for i < n, rounded to bf16.
fn each_element(b: &mut Body, n: u64, inputs: &[Value], out: Value, compute: impl Fn(&mut Body, &[Value]) -> Value) {
    let n = b.int(I64, n as i64);
    chunks(b, n, 16, |b, i, lanes| {
        let loaded: Vec<Value> = inputs.iter().map(|p| load_bf16(b, *p, i, lanes)).collect();
        let result = compute(b, &loaded);
        store_bf16(b, result, out, i);
    });
}

/// Copies bit for bit.
pub(super) fn copy_elements(b: &mut Body, n: u64, from: Value, to: Value) {
    let n = b.int(I64, n as i64);
    chunks(b, n, 16, |b, i, lanes| {
        let same = b.load(from, i, Ty::vector(Elem::I16, lanes));
        b.store(same, to, i);
    });
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
