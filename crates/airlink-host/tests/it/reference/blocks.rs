//! Products of 8x8 blocks and the running softmax.

use super::call::{Arg, Kernel};
use super::random::Random;
use super::twins::{bf16, blocked, f32_of, greater, round, shifted_exp, tree};

#[test]
fn products_of_blocks_equal_their_twins() {
    for (m, k, n) in [(64usize, 64usize, 64usize), (16, 32, 24), (8, 8, 8)] {
        for (name, transposed) in [("matmul_blocks", false), ("matmul_blocks_transposed", true)] {
            let types = [(m, k), (k, n), (m, n)].map(|(r, c)| format!("memref<{}xbf16, 2 : i32>", r * c));
            let kernel = Kernel::new(name, &types.each_ref().map(|s| &s[..]));
            let mut random = Random::new(60);
            let (mut a, mut b, mut c) = (random.ordinary(m * k), random.ordinary(k * n), random.ordinary(m * n));
            let mut expected = vec![0; m * n];
            for i in 0..m {
                for j in 0..n {
                    let at = blocked(i, j, m);
                    // b[k][n] has its blocks down each block column: a blocked matrix with k rows. b[n][k] has n rows.
                    let b_at = |l: usize| if transposed { blocked(j, l, n) } else { blocked(l, j, k) };
                    let sum =
                        (0..k).fold(f32_of(c[at]), |s, l| f32_of(a[blocked(i, l, m)]).mul_add(f32_of(b[b_at(l)]), s));
                    expected[at] = bf16(sum);
                }
            }
            kernel.call(&mut [Arg::Bf16(&mut a), Arg::Bf16(&mut b), Arg::Bf16(&mut c)]);
            assert_eq!(c, expected, "{name} {m} {k} {n}");
        }
    }
}

#[test]
fn products_may_stay_in_f32() {
    let types = [
        "memref<1x1x4x8x8x8xbf16, 2 : i32>",
        "memref<1x1x16x4x8x8xbf16, 2 : i32>",
        "memref<1x1x16x8x8x8xf32, strided<[32768, 8192, 512, 64, 8, 1], offset: ?>, 2 : i32>",
    ];
    let kernel = Kernel::new("matmul_blocks", &types);
    let (m, k, n) = (64, 32, 128);
    let mut random = Random::new(61);
    let (mut a, mut b) = (random.ordinary(m * k), random.ordinary(k * n));
    let mut c: Vec<f32> = (0..m * n).map(|_| (random.bits() >> 44) as f32 / 1e6).collect();
    let mut expected = c.clone();
    for i in 0..m {
        for j in 0..n {
            let sum = &mut expected[blocked(i, j, m)];
            for l in 0..k {
                *sum = f32_of(a[blocked(i, l, m)]).mul_add(f32_of(b[blocked(l, j, k)]), *sum);
            }
        }
    }
    kernel.call(&mut [Arg::Bf16(&mut a), Arg::Bf16(&mut b), Arg::F32(&mut c)]);
    assert_eq!(c, expected);
}

#[test]
fn rows_are_scaled() {
    for (name, divide) in [("scale_rows", false), ("divide_rows", true)] {
        let kernel = Kernel::new(name, &["memref<64x1xbf16>", "memref<64x64xbf16>"]);
        let mut random = Random::new(62);
        let (mut r, mut c) = (random.ordinary(64), random.ordinary(4096));
        let mut expected = c.clone();
        for (i, &scale) in r.iter().enumerate() {
            let factor = if divide { round(1.0 / f32_of(scale)) } else { f32_of(scale) };
            for j in 0..64 {
                let at = blocked(i, j, 64);
                expected[at] = bf16(f32_of(c[at]) * factor);
            }
        }
        kernel.call(&mut [Arg::Bf16(&mut r), Arg::Bf16(&mut c)]);
        assert_eq!(c, expected, "{name}");
    }
}

#[test]
fn softmax_steps_equal_their_twins() {
    for (d, suffix) in [(64.0, "d64"), (128.0, "d128")] {
        let step = Kernel::new(
            &format!("softmax_step_{suffix}"),
            &["memref<4096xbf16>", "memref<64x1xbf16>", "memref<64x1xbf16>", "memref<64x1xbf16>"],
        );
        let mut random = Random::new(63);
        let (mut g, mut u) = (random.ordinary(4096), random.ordinary(64));
        for x in &mut g {
            // Up to 16 or so, some of them masked.
            *x = if random.bits().is_multiple_of(7) { 0xff80 } else { *x + (4 << 7) };
        }
        (0..64).for_each(|j| g[blocked(9, j, 64)] = 0xff80);
        u[..4].copy_from_slice(&[0xff7f, 0xff80, 0x4200, 0x0000]);
        u[9] = 0xff7f;
        let (mut eg, mut eu, mut es, mut er) = (g.clone(), u.clone(), vec![0; 64], vec![0; 64]);
        for i in 0..64 {
            let row: Vec<f32> = (0..64).map(|j| f32_of(g[blocked(i, j, 64)])).collect();
            let lanes: Vec<f32> =
                (0..8).map(|l| (0..8).fold(f32_of(0xff7f), |best, block| greater(best, row[block * 8 + l]))).collect();
            let best = lanes.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let new = greater(f32_of(u[i]), best);
            (eu[i], er[i]) = (bf16(new), shifted_exp(f32_of(u[i]), new, d));
            let e: Vec<u16> = row.iter().map(|x| shifted_exp(*x, new, d)).collect();
            let sums: Vec<f32> = (0..8).map(|l| (0..8).fold(0.0, |s, block| s + f32_of(e[block * 8 + l]))).collect();
            es[i] = bf16(tree(&sums));
            (0..64).for_each(|j| eg[blocked(i, j, 64)] = e[j]);
        }
        let (mut s, mut r) = (vec![0; 64], vec![0; 64]);
        step.call(&mut [Arg::Bf16(&mut g), Arg::Bf16(&mut u), Arg::Bf16(&mut s), Arg::Bf16(&mut r)]);
        assert_eq!((g, u, s, r), (eg, eu, es, er));

        let rescale = Kernel::new(&format!("softmax_rescale_{suffix}"), &["memref<64x1xbf16>"; 3]);
        let (mut v, mut w, mut r) = (random.ordinary(64), random.ordinary(64), vec![0; 64]);
        let expected: Vec<u16> = v.iter().zip(&w).map(|(v, w)| shifted_exp(f32_of(*v), f32_of(*w), d)).collect();
        rescale.call(&mut [Arg::Bf16(&mut v), Arg::Bf16(&mut w), Arg::Bf16(&mut r)]);
        assert_eq!(r, expected);
    }
}
