//! The packed 4-bit matrix-vector products.

use super::call::{Arg, Kernel};
use super::random::Random;
use super::twins::{bf16, f32_of, int4_row};

/// A packed block with scales of ordinary size and zero points mostly below 16.
fn packed(random: &mut Random, (m, k, group): (usize, usize, usize)) -> Vec<u8> {
    let mut bytes = random.bytes(m * k / 2);
    bytes.extend(random.ordinary(m * k / group).iter().flat_map(|s| s.to_le_bytes()));
    bytes.extend(random.bytes(m * k / group).iter().map(|z| if z % 16 == 0 { *z } else { z & 15 }));
    bytes
}

#[test]
fn int4_gemv_equals_its_twin() {
    for extents in [(8usize, 2048usize, 128usize), (8, 256, 64), (3, 96, 32), (1, 512, 256)] {
        let (m, k, group) = extents;
        let mut random = Random::new(40);
        let block = packed(&mut random, extents);
        let types = [format!("memref<{}xi8>", block.len()), format!("memref<{k}xbf16>"), format!("memref<{m}xbf16>")];
        for (name, accumulate) in [("int4_gemv", true), ("int4_gemv_store", false)] {
            let kernel = Kernel::new(name, &types.each_ref().map(|s| &s[..]));
            let (mut a, mut b, mut c) = (block.clone(), random.ordinary(k), random.ordinary(m));
            let expected: Vec<u16> = (0..m)
                .map(|row| {
                    let sum = int4_row(&a, &b, extents, row);
                    bf16(if accumulate { f32_of(c[row]) + sum } else { sum })
                })
                .collect();
            kernel.call(&mut [Arg::Bytes(&mut a), Arg::Bf16(&mut b), Arg::Bf16(&mut c)]);
            assert_eq!(c, expected, "{name} {m} {k} {group}");
        }
    }
}

#[test]
fn int4_gemv_reads_b_at_its_offset() {
    let extents = (8, 2048, 128);
    let kernel = Kernel::new("int4_gemv_offset", &["memref<8576xi8>", "memref<8192xbf16>", "i32", "memref<8xbf16>"]);
    let mut random = Random::new(41);
    for offset in [0usize, 2048, 6144] {
        let (mut a, mut b, mut c) = (packed(&mut random, extents), random.ordinary(8192), vec![0; 8]);
        kernel.call(&mut [Arg::Bytes(&mut a), Arg::Bf16(&mut b), Arg::I32(offset as i32), Arg::Bf16(&mut c)]);
        let expected: Vec<u16> = (0..8).map(|row| bf16(int4_row(&a, &b[offset..], extents, row))).collect();
        assert_eq!(c, expected, "{offset}");
    }
}

#[test]
fn int4_gemv_is_within_the_bound_of_an_exact_sum() {
    let extents @ (m, k, group) = (8, 2048, 128);
    let mut random = Random::new(42);
    let (a, b) = (packed(&mut random, extents), random.ordinary(k));
    for row in 0..m {
        let (mut exact, mut magnitude) = (0.0f64, 0.0f64);
        for (j, b) in b.iter().enumerate() {
            let at = j / group * m + row;
            let scale = f32_of(u16::from_le_bytes([a[m * k / 2 + 2 * at], a[m * k / 2 + 2 * at + 1]]));
            let zero = a[m * k / 2 + k / group * m * 2 + at];
            let q = (a[row * k / 2 + j / 2] >> (j % 2 * 4)) & 15;
            let product = (f64::from(q) - f64::from(zero as i8)) * f64::from(scale) * f64::from(f32_of(*b));
            exact += product;
            magnitude += product.abs();
        }
        let found = f64::from(int4_row(&a, &b, extents, row));
        // Each group's 32 partial sums are rounded to bf16.
        assert!((found - exact).abs() <= magnitude / 256.0, "{row}: {found} {exact}");
    }
}
