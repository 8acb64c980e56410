//! Rotary embeddings.

use super::call::{Arg, Kernel};
use super::random::Random;
use super::twins::{f32_of, rotate, rotate_rounded};

const UNTOUCHED: u16 = 0x4242;

fn kernel(name: &str, scalars: usize) -> Kernel {
    let mut types = vec!["memref<64xbf16, 2 : i32>"; 3];
    types.extend(vec!["i32"; scalars]);
    Kernel::new(name, &types)
}

/// x, table and what the kernel makes of them.
fn run(kernel: &Kernel, n: usize, scalars: &[i32]) -> (Vec<u16>, Vec<u16>, Vec<u16>) {
    let mut random = Random::new(n as u64 + 20);
    let (mut x, mut table, mut out) = (random.ordinary(n), random.ordinary(n), vec![UNTOUCHED; n]);
    let mut args = vec![Arg::Bf16(&mut x), Arg::Bf16(&mut table), Arg::Bf16(&mut out)];
    args.extend(scalars.iter().map(|s| Arg::I32(*s)));
    kernel.call(&mut args);
    (x, table, out)
}

#[test]
fn halfsplit_equals_its_twin() {
    let kernel = kernel("rope_halfsplit", 1);
    for n in [64usize, 128, 2, 50, 33, 1, 0] {
        let (x, table, out) = run(&kernel, n, &[n as i32]);
        let h = n / 2;
        let mut expected = vec![UNTOUCHED; n];
        for i in 0..h {
            (expected[i], expected[i + h]) = rotate(x[i], x[i + h], table[i], table[i + h]);
        }
        assert_eq!(out, expected, "{n}");
    }
}

#[test]
fn interleaved_equals_its_twin() {
    let kernel = kernel("rope_interleaved", 1);
    for n in [64usize, 128, 2, 50, 33, 1, 0] {
        let (x, table, out) = run(&kernel, n, &[n as i32]);
        let mut expected = vec![UNTOUCHED; n];
        for i in 0..n / 2 {
            (expected[2 * i], expected[2 * i + 1]) =
                rotate_rounded(x[2 * i], x[2 * i + 1], table[2 * i], table[2 * i + 1]);
        }
        assert_eq!(out, expected, "{n}");
    }
}

/// The two meanings of `rope` are two functions.
#[test]
fn halfsplit_and_interleaved_differ() {
    let halves = run(&kernel("rope_halfsplit", 1), 64, &[64]).2;
    let pairs = run(&kernel("rope_interleaved", 1), 64, &[64]).2;
    assert!(halves.iter().zip(&pairs).filter(|(a, b)| a != b).count() > 50);
}

#[test]
fn partial_rotates_the_head_and_copies_the_rest() {
    let kernel = kernel("rope_partial", 2);
    for (n, r) in [(128usize, 96usize), (64, 64), (50, 34), (20, 0)] {
        let (x, table, out) = run(&kernel, n, &[n as i32, r as i32]);
        let mut expected = x.clone();
        for i in 0..r / 2 {
            (expected[i], expected[i + r / 2]) = rotate(x[i], x[i + r / 2], table[i], table[i + r / 2]);
        }
        assert_eq!(out, expected, "{n} {r}");
    }
}

#[test]
fn in_place_rotates_one_head() {
    let kernel = Kernel::new("rope_in_place", &["i32", "memref<32xbf16>", "memref<32xbf16>", "memref<6x64xbf16>"]);
    let mut random = Random::new(30);
    let (mut cos, mut sin, mut x) = (random.ordinary(32), random.ordinary(32), random.ordinary(384));
    let mut expected = x.clone();
    for i in 0..32 {
        (expected[192 + i], expected[224 + i]) = rotate(x[192 + i], x[224 + i], cos[i], sin[i]);
    }
    kernel.call(&mut [Arg::I32(192), Arg::Bf16(&mut cos), Arg::Bf16(&mut sin), Arg::Bf16(&mut x)]);
    assert_eq!(x, expected);
}

/// A rotation by a unit vector keeps the length of each pair up to rounding.
#[test]
fn a_rotation_keeps_lengths() {
    let kernel = kernel("rope_halfsplit", 1);
    let n = 64;
    let angle = |i: usize| 0.37 * (i as f64 + 1.0);
    let mut x = Random::new(31).ordinary(n);
    let nearest = |v: f64| super::twins::bf16(v as f32);
    let mut table: Vec<u16> =
        (0..n).map(|i| nearest(if i < 32 { angle(i).cos() } else { angle(i - 32).sin() })).collect();
    let mut out = vec![0; n];
    kernel.call(&mut [Arg::Bf16(&mut x), Arg::Bf16(&mut table), Arg::Bf16(&mut out), Arg::I32(n as i32)]);
    for i in 0..32 {
        let length = |v: &[u16]| f32_of(v[i]).hypot(f32_of(v[i + 32]));
        assert!((length(&x) - length(&out)).abs() <= length(&x) / 64.0, "{i}");
    }
}
