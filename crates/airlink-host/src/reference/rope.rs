//! Rotary position embedding.

use airlink_kernel::KernelType;

use super::elementwise::chunks;
use super::numbers::{floats_to_words, load_bf16, round, store_bf16, words_to_floats};
use super::text::{Body, Elem, I32, I64, PTR, Ty, Value, module};
use super::{Reference, is_scalar, memref};

pub(super) static ROPE_HALFSPLIT: Reference = Reference {
    name: "rope_halfsplit",
    revision: 1,
    symbols: &["rope"],
    signature: "(bf16 x[n], bf16 table[n], bf16 out[n], i32 n)",
    meaning: "Pairs x[i] with x[i + h], h = n / 2; the table has h cosines, then h sines: out[i] = x[i] * cos[i] - \
        x[i + h] * sin[i], out[i + h] = x[i] * sin[i] + x[i + h] * cos[i]. An odd last element is not written. The form \
        that Hugging Face checkpoints expect.",
    rounding: "Products, then their difference or sum in f32 (products of bf16 are exact); once to bf16.",
    build: build_halfsplit,
};

pub(super) static ROPE_INTERLEAVED: Reference = Reference {
    name: "rope_interleaved",
    revision: 1,
    symbols: &["rope"],
    signature: "(bf16 x[n], bf16 table[n], bf16 out[n], i32 n)",
    meaning: "Pairs x[2i] with x[2i + 1]; the table has cosines at even and sines at odd places: out[2i] = x[2i] * \
        table[2i] - x[2i + 1] * table[2i + 1], out[2i + 1] = x[2i] * table[2i + 1] + x[2i + 1] * table[2i]. An odd last \
        element is not written.",
    rounding: "Each product to bf16; their difference or sum to bf16.",
    build: build_interleaved,
};

pub(super) static ROPE_PARTIAL: Reference = Reference {
    name: "rope_partial",
    revision: 1,
    symbols: &["rope_partial"],
    signature: "(bf16 x[n], bf16 table[n], bf16 out[n], i32 n, i32 r)",
    meaning: "The first r elements as in `rope_halfsplit`, with r / 2 cosines and r / 2 sines at the table's start; elements \
        r to n are copied.",
    rounding: "As `rope_halfsplit`.",
    build: build_partial,
};

pub(super) static ROPE_IN_PLACE: Reference = Reference {
    name: "rope_in_place",
    revision: 1,
    symbols: &["shuffle_apply_rope_bf16_64"],
    signature: "(i32 offset, bf16 cos[h], bf16 sin[h], bf16 x[])",
    meaning: "Rotates x[offset + i] with x[offset + i + h] in place, for i < h: x * cos - y * sin and x * sin + y * cos.",
    rounding: "As `rope_halfsplit`.",
    build: build_in_place,
};

fn build_halfsplit(symbol: &str, inputs: &[KernelType]) -> Option<String> {
    let [x, table, out, n] = inputs else { return None };
    takes(&[x, table, out], &[n]).then(|| {
        module(symbol, &[PTR, PTR, PTR, I32], |b, args| {
            let [x, table, out, n] = args else { unreachable!() };
            let half = half_of(b, *n);
            let sin = b.address(*table, Elem::I16, half);
            rotate_halves(b, (*x, *out), (*table, sin), half);
        })
    })
}

fn build_partial(symbol: &str, inputs: &[KernelType]) -> Option<String> {
    let [x, table, out, n, r] = inputs else { return None };
    takes(&[x, table, out], &[n, r]).then(|| {
        module(symbol, &[PTR, PTR, PTR, I32, I32], |b, args| {
            let [x, table, out, n, r] = args else { unreachable!() };
            let half = half_of(b, *r);
            let sin = b.address(*table, Elem::I16, half);
            rotate_halves(b, (*x, *out), (*table, sin), half);
            let (n, r) = (b.extend(*n), b.extend(*r));
            b.loop_over((r, n, 1), &[], |b, i, _| {
                let same = b.load(*x, i, Ty::scalar(Elem::I16));
                b.store(same, *out, i);
                Vec::new()
            });
        })
    })
}

fn build_in_place(symbol: &str, inputs: &[KernelType]) -> Option<String> {
    let [offset, cos, sin, x] = inputs else { return None };
    let half = memref(cos, "bf16")?.element_count()?;
    let same = memref(sin, "bf16")?.element_count()? == half;
    (same && takes(&[x], &[offset])).then(|| {
        module(symbol, &[I32, PTR, PTR, PTR], |b, args| {
            let [offset, cos, sin, x] = args else { unreachable!() };
            let offset = b.extend(*offset);
            let x = b.address(*x, Elem::I16, offset);
            let half = b.int(I64, half as i64);
            rotate_halves(b, (x, x), (*cos, *sin), half);
        })
    })
}

/// Half-split rotation of `2 * half` elements.
fn rotate_halves(b: &mut Body, (x, out): (Value, Value), (cos, sin): (Value, Value), half: Value) {
    chunks(b, half, 16, |b, i, lanes| {
        let j = b.add(i, half);
        let (first, second) = (load_bf16(b, x, i, lanes), load_bf16(b, x, j, lanes));
        let (c, s) = (load_bf16(b, cos, i, lanes), load_bf16(b, sin, i, lanes));
        let products = [(first, c), (second, s), (first, s), (second, c)];
        let [fc, ss, fs, sc] = products.map(|(p, q)| b.op("arith.mulf", &[p, q]));
        let low = b.op("arith.subf", &[fc, ss]);
        let high = b.op("arith.addf", &[fs, sc]);
        store_bf16(b, low, out, i);
        store_bf16(b, high, out, j);
    });
}

fn build_interleaved(symbol: &str, inputs: &[KernelType]) -> Option<String> {
    let [x, table, out, n] = inputs else { return None };
    takes(&[x, table, out], &[n]).then(|| {
        module(symbol, &[PTR, PTR, PTR, I32], |b, args| {
            let [x, table, out, n] = args else { unreachable!() };
            let pairs = half_of(b, *n);
            chunks(b, pairs, 8, |b, i, lanes| {
                let [(even, odd), (cos, sin)] = [*x, *table].map(|p| {
                    let p = b.address(p, Elem::I32, i);
                    let words = b.load_at(p, Ty::vector(Elem::I32, lanes), 2);
                    words_to_floats(b, words)
                });
                let products = [(even, cos), (odd, sin), (even, sin), (odd, cos)];
                let [ec, os, es, oc] = products.map(|(p, q)| {
                    let exact = b.op("arith.mulf", &[p, q]);
                    round(b, exact)
                });
                let low = b.op("arith.subf", &[ec, os]);
                let high = b.op("arith.addf", &[es, oc]);
                let words = floats_to_words(b, low, high);
                let to = b.address(*out, Elem::I32, i);
                b.store_at(words, to, 2);
            });
        })
    })
}

/// Half of an i32 count, towards zero, as i64.
fn half_of(b: &mut Body, count: Value) -> Value {
    let count = b.extend(count);
    let two = b.int(I64, 2);
    b.op("arith.divsi", &[count, two])
}

fn takes(buffers: &[&KernelType], counts: &[&KernelType]) -> bool {
    buffers.iter().all(|t| memref(t, "bf16").is_some()) && counts.iter().all(|t| is_scalar(t, "i32"))
}
