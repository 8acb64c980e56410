//! Seeded values for arguments: the same on every machine, for every order and number of arguments.
//!
//! Element `i` of the argument called `name` depends on `(seed, name, i)` and on nothing else: word `w` of it is
//! `mix(key + (3 i + w + 1) * 0x9e3779b97f4a7c15)`, where `mix` is the output function of SplitMix64 and `key` is made
//! from the seed and the FNV-1a hash of the name. So any part can be made alone and in parallel.
//!
//! Normal values are sums of twelve 16-bit uniform numbers, centred (Irwin-Hall): mean 0, variance 1 to within 2^-32,
//! no value beyond 6. The sum is an integer, so it is exact, and no function of a maths library is involved; what
//! follows is one multiplication by sigma in f64 and one rounding, to f32, from there to 16 bits where needed.

use crate::element::{Element, Kind, bf16_from_f32, f16_from_f32};
use crate::manifest::Role;

/// Standard deviation of the weights: that of a trained layer. Activations have 1.
const STATIC_SIGMA: f64 = 0.02;

/// Fills a whole argument.
///
/// | element | static | other roles |
/// |---|---|---|
/// | float | normal, sigma 0.02 | normal, sigma 1 |
/// | `i8`, `ui8` | uniform over all values (packed 4-bit weights) | the same |
/// | wider integers | uniform over all values (packed weights) | -128 to 127, or 0 to 255, as counts are |
/// | `i1` | 0 or 1 | the same |
///
/// Bytes after the last whole element stay as they are.
pub fn fill(element: Element, role: Role, seed: u64, name: &str, bytes: &mut [u8]) {
    fill_from(element, role, seed, name, 0, bytes);
}

/// Fills a part of an argument that starts at element `first_index`.
pub fn fill_from(element: Element, role: Role, seed: u64, name: &str, first_index: u64, bytes: &mut [u8]) {
    let key = key(seed, name);
    let sigma = if role == Role::Static { STATIC_SIGMA } else { 1.0 };
    let value = move |i: u64| (normal(key, i) * sigma) as f32;
    match element {
        Element::Bf16 => each(first_index, bytes, |i| bf16_from_f32(value(i)).to_le_bytes()),
        Element::F16 => each(first_index, bytes, |i| f16_from_f32(value(i)).to_le_bytes()),
        Element::F32 => each(first_index, bytes, |i| value(i).to_le_bytes()),
        Element::F64 => each(first_index, bytes, |i| (normal(key, i) * sigma).to_le_bytes()),
        Element::I1 => each(first_index, bytes, |i| [word(key, i, 0) as u8 & 1]),
        _ => fill_integers(element, role, key, first_index, bytes),
    }
}

fn fill_integers(element: Element, role: Role, key: u64, first_index: u64, bytes: &mut [u8]) {
    let small = role != Role::Static;
    let signed = element.kind() == Kind::Signed;
    let bits = move |i| match word(key, i, 0) {
        w if small && signed => i64::from(w as u8 as i8) as u64,
        w if small => u64::from(w as u8),
        w => w,
    };
    match element.size_bytes() {
        1 => each(first_index, bytes, |i| [bits(i) as u8]),
        2 => each(first_index, bytes, |i| (bits(i) as u16).to_le_bytes()),
        4 => each(first_index, bytes, |i| (bits(i) as u32).to_le_bytes()),
        _ => each(first_index, bytes, |i| bits(i).to_le_bytes()),
    }
}

fn each<const N: usize>(first_index: u64, bytes: &mut [u8], value: impl Fn(u64) -> [u8; N]) {
    for (i, out) in (first_index..).zip(bytes.chunks_exact_mut(N)) {
        out.copy_from_slice(&value(i));
    }
}

/// A value with mean 0 and variance 1, a multiple of 2^-17.
fn normal(key: u64, index: u64) -> f64 {
    const COUNT: i64 = 12;
    let uniforms = |w: u64| (w & 0xffff) + (w >> 16 & 0xffff) + (w >> 32 & 0xffff) + (w >> 48);
    let sum: u64 = (0..3).map(|w| uniforms(word(key, index, w))).sum();
    // Twice the distance from the mean, which is 6 * 65535.
    let centred = 2 * sum as i64 - COUNT * 65535;
    centred as f64 * (1.0 / 131_072.0)
}

fn word(key: u64, index: u64, word: u64) -> u64 {
    let counter = index.wrapping_mul(3).wrapping_add(word + 1);
    mix(key.wrapping_add(counter.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

fn key(seed: u64, name: &str) -> u64 {
    let fnv = |h: u64, &b: &u8| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3);
    let name_hash = name.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, fnv);
    mix(mix(seed) ^ name_hash)
}

/// The output function of SplitMix64. Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators",
/// with the constants of Vigna's public-domain version.
fn mix(state: u64) -> u64 {
    let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
