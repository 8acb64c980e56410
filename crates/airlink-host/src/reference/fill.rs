//! Kernels that set every element of a buffer.

use airlink_kernel::KernelType;

use super::text::{Elem, I64, PTR, Ty, module};
use super::{Reference, memref};

pub(super) static ZERO_FILL: Reference = Reference {
    name: "zero_fill",
    revision: 1,
    symbols: &[
        "linalg_fill_bf16",
        "zero_vectorized_bf16",
        "zero_fill_g_bf16",
        "zero_fill_gp_bf16",
        "zero_fill_sp_bf16",
    ],
    signature: "(bf16 c[n])",
    meaning: "c[i] = +0 for every element of the operand's type. The public objects have their own count compiled in, \
        which may be another one.",
    rounding: "None.",
    build: |symbol, inputs| fill(symbol, inputs, ("bf16", Elem::I16), 0),
};

pub(super) static ZERO_FILL_F32: Reference = Reference {
    name: "zero_fill_f32",
    revision: 1,
    symbols: &["zero_f32_mn", "zero_f32_mn_m32", "zero_f32_mn_m64"],
    signature: "(f32 c[n])",
    meaning: "c[i] = +0 for every element of the operand's type.",
    rounding: "None.",
    build: |symbol, inputs| fill(symbol, inputs, ("f32", Elem::I32), 0),
};

pub(super) static LOWEST_FILL: Reference = Reference {
    name: "lowest_fill",
    revision: 1,
    symbols: &["neg_inf_fill_up_bf16"],
    signature: "(bf16 c[n])",
    meaning: "c[i] = the lowest finite bf16 (0xFF7F, not -inf) for every element: the start of a running maximum whose \
        difference to itself must be 0.",
    rounding: "None.",
    build: |symbol, inputs| fill(symbol, inputs, ("bf16", Elem::I16), 0xff7f - 0x1_0000),
};

fn fill(symbol: &str, inputs: &[KernelType], (name, elem): (&str, Elem), pattern: i64) -> Option<String> {
    let [c] = inputs else { return None };
    let count = memref(c, name)?.element_count()? as i64;
    Some(module(symbol, &[PTR], |b, args| {
        let c = args[0];
        let (zero, whole, end) = (b.int(I64, 0), b.int(I64, count - count % 16), b.int(I64, count));
        for (low, high, lanes) in [(zero, whole, 16), (whole, end, 1)] {
            b.loop_over((low, high, i64::from(lanes)), &[], |b, i, _| {
                let value = b.int(Ty::vector(elem, lanes), pattern);
                b.store(value, c, i);
                Vec::new()
            });
        }
    }))
}
