//! The bf16 matrix-vector products.

use super::call::{Arg, Kernel};
use super::random::Random;
use super::twins::{bf16, dot, f32_of, round};

fn gemv64(k: usize) -> Kernel {
    let types = [
        "i32",
        "i32",
        "i32",
        &format!("memref<4x{k}xbf16, 2 : i32>"),
        &format!("memref<{k}xbf16, 2>"),
        "memref<8xbf16>",
    ];
    Kernel::new("gemv64", &types)
}

/// Runs it and compares all of c.
fn check(kernel: &Kernel, (m, k, offset): (usize, usize, usize), a: Vec<u16>, b: Vec<u16>) {
    let mut expected: Vec<u16> = (0..8).map(|i| 0x1111 * i).collect();
    let mut c = expected.clone();
    for row in 0..m {
        expected[offset + row] = bf16(dot(&a[row * k..(row + 1) * k], &b, 64));
    }
    let (mut a, mut b) = (a, b);
    let [m, k, offset] = [m, k, offset].map(|n| Arg::I32(n as i32));
    kernel.call(&mut [m, k, offset, Arg::Bf16(&mut a), Arg::Bf16(&mut b), Arg::Bf16(&mut c)]);
    assert_eq!(c, expected);
}

#[test]
fn gemv64_equals_its_twin() {
    let kernel = gemv64(2048);
    let mut random = Random::new(1);
    for k in [2048, 64, 128, 192, 896, 1, 2, 63, 65, 127, 1000] {
        for (m, offset) in [(4, 0), (4, 4), (1, 7), (8, 0), (0, 3)] {
            check(&kernel, (m, k, offset), random.ordinary(m * k), random.ordinary(k));
        }
    }
}

#[test]
fn gemv64_keeps_its_order_with_subnormals_infinities_and_nan() {
    let kernel = gemv64(64);
    let mut random = Random::new(2);
    for k in [64, 70, 256] {
        for _ in 0..8 {
            check(&kernel, (4, k, 0), random.patterns(4 * k), random.patterns(k));
            check(&kernel, (4, k, 0), random.patterns(4 * k).iter().map(|x| x & 0x83ff).collect(), random.patterns(k));
        }
    }
}

/// `B = 2^-7 |y| + 64 * 2^-24 * sum |a b|`
#[test]
fn gemv64_is_within_the_bound_of_an_exact_sum() {
    for k in [2048usize, 8192, 4864, 14336] {
        let kernel = gemv64(k);
        let mut random = Random::new(k as u64);
        let (mut a, mut b, mut c) = (random.ordinary(8 * k), random.ordinary(k), vec![0; 8]);
        let exact: Vec<(f64, f64)> = a
            .chunks(k)
            .map(|row| {
                let products = || row.iter().zip(&b).map(|(a, b)| f64::from(f32_of(*a)) * f64::from(f32_of(*b)));
                (products().sum(), products().map(f64::abs).sum())
            })
            .collect();
        let scalars = [8, k, 0].map(|n| Arg::I32(n as i32));
        let [m, kk, offset] = scalars;
        kernel.call(&mut [m, kk, offset, Arg::Bf16(&mut a), Arg::Bf16(&mut b), Arg::Bf16(&mut c)]);
        for ((exact, magnitude), found) in exact.iter().zip(&c) {
            let bound = exact.abs() / 128.0 + 64.0 * magnitude / f64::from(1u32 << 24);
            assert!((f64::from(f32_of(*found)) - exact).abs() <= bound, "{k}: {exact} {}", f32_of(*found));
        }
    }
}

#[test]
fn accumulating_gemv_equals_its_twin() {
    for (m, k) in [(8usize, 512usize), (3, 100), (1, 1)] {
        let types =
            [format!("memref<{}xbf16, 2 : i32>", m * k), format!("memref<{k}xbf16>"), format!("memref<{m}xbf16>")];
        let kernel = Kernel::new("gemv64_accumulate", &types.each_ref().map(|s| &s[..]));
        let mut random = Random::new(3);
        let (mut a, mut b, mut c) = (random.ordinary(m * k), random.ordinary(k), random.ordinary(m));
        let expected: Vec<u16> = a.chunks(k).zip(&c).map(|(row, c)| bf16(f32_of(*c) + dot(row, &b, 64))).collect();
        kernel.call(&mut [Arg::Bf16(&mut a), Arg::Bf16(&mut b), Arg::Bf16(&mut c)]);
        assert_eq!(c, expected, "{m} {k}");
    }
}

#[test]
fn word_transposed_gemv_equals_its_twin() {
    for (m, k) in [(32usize, 128usize), (128, 128), (5, 10), (9, 2)] {
        let types =
            [format!("memref<{}xbf16, 2 : i32>", m * k), format!("memref<{k}xbf16>"), format!("memref<{m}xbf16>")];
        let kernel = Kernel::new("gemv_word_transposed", &types.each_ref().map(|s| &s[..]));
        let mut random = Random::new(4);
        let (mut a, mut b, mut c) = (random.ordinary(m * k), random.ordinary(k), random.ordinary(m));
        let expected: Vec<u16> = (0..m)
            .map(|i| {
                let mut sum = f32_of(c[i]);
                for j in 0..k {
                    sum = f32_of(a[(j / 2 * m + i) * 2 + j % 2]).mul_add(f32_of(b[j]), sum);
                    if j % 8 == 7 {
                        sum = round(sum);
                    }
                }
                bf16(sum)
            })
            .collect();
        kernel.call(&mut [Arg::Bf16(&mut a), Arg::Bf16(&mut b), Arg::Bf16(&mut c)]);
        assert_eq!(c, expected, "{m} {k}");
    }
}
