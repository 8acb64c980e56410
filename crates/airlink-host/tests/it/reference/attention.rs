//! The decode attention group.

use super::call::{Arg, Kernel};
use super::random::Random;
use super::twins::{bf16, dot, f32_of, sin_or_cos};

#[test]
fn scores_equal_their_twin() {
    let types = ["memref<4x64xbf16, 2 : i32>", "memref<64xbf16, 2 : i32>", "i32", "memref<4x128xbf16, 2 : i32>"];
    let kernel = Kernel::new("attn_scores", &types);
    let mut random = Random::new(50);
    for pos in [0usize, 5, 127] {
        let (mut q, mut k, mut out) = (random.ordinary(256), random.ordinary(64), vec![9; 512]);
        let mut expected = out.clone();
        for row in 0..4 {
            expected[row * 128 + pos] = bf16(dot(&q[row * 64..row * 64 + 64], &k, 32));
        }
        kernel.call(&mut [Arg::Bf16(&mut q), Arg::Bf16(&mut k), Arg::I32(pos as i32), Arg::Bf16(&mut out)]);
        assert_eq!(out, expected);
    }
}

#[test]
fn values_equal_their_twin() {
    let types = ["memref<4x128xbf16, 2 : i32>", "memref<64xbf16, 2 : i32>", "i32", "memref<4x64xbf16, 2 : i32>"];
    let kernel = Kernel::new("attn_values", &types);
    let mut random = Random::new(51);
    let (mut p, mut v, mut out) = (random.ordinary(512), random.ordinary(64), random.ordinary(256));
    let expected: Vec<u16> =
        (0..256).map(|i| bf16(f32_of(p[i / 64 * 128 + 77]).mul_add(f32_of(v[i % 64]), f32_of(out[i])))).collect();
    kernel.call(&mut [Arg::Bf16(&mut p), Arg::Bf16(&mut v), Arg::I32(77), Arg::Bf16(&mut out)]);
    assert_eq!(out, expected);
}

#[test]
fn angles_are_position_times_frequency() {
    let kernel = Kernel::new("rope_angles", &["i32", "memref<32xf32>"]);
    for pos in [0, 1, 17, 4095, 131_071] {
        let mut out = vec![0.0; 32];
        kernel.call(&mut [Arg::I32(pos), Arg::F32(&mut out)]);
        for (i, angle) in out.iter().enumerate() {
            let exact = f64::from(pos) * 500_000f64.powf(-(i as f64) / 32.0);
            assert!((f64::from(*angle) - exact).abs() <= exact * 1.2e-7, "{pos} {i}: {angle} {exact}");
        }
    }
}

#[test]
fn sin_and_cos_equal_their_twins() {
    for (name, cos) in [("sin_bf16", false), ("cos_bf16", true)] {
        let kernel = Kernel::new(name, &["memref<10007xf32>", "memref<10007xbf16>"]);
        let mut random = Random::new(52);
        let mut x: Vec<f32> = (0..10_007).map(|_| (random.bits() >> 40) as f32 / 997.0 - 8000.0).collect();
        let edges =
            [0.0, -0.0, f32::MIN_POSITIVE, 1e-40, 1_048_576.0, 1_048_577.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
        x[..edges.len()].copy_from_slice(&edges);
        let mut out = vec![0; x.len()];
        kernel.call(&mut [Arg::F32(&mut x), Arg::Bf16(&mut out)]);
        assert_eq!(out, x.iter().map(|x| bf16(sin_or_cos(*x, cos))).collect::<Vec<_>>());
    }
}
