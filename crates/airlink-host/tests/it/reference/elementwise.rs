//! Kernels that treat every element alike, and fills.

use airlink_host::HostOptions;
use airlink_rt::CpuLevel;

use super::call::{Arg, Kernel};
use super::random::Random;
use super::twins::{bf16, dot, f32_of, greater, silu_and_mul};

const N: usize = 4096 + 13;

fn types(list: &[&str]) -> Vec<String> {
    list.iter().map(|t| t.replace("N", &N.to_string())).collect()
}

fn kernel(name: &str, list: &[&str]) -> Kernel {
    let types = types(list);
    Kernel::new(name, &types.iter().map(|s| &s[..]).collect::<Vec<_>>())
}

fn any(seed: u64) -> Vec<u16> {
    let mut random = Random::new(seed);
    let mut numbers = random.ordinary(N / 2);
    numbers.extend(random.patterns(N - N / 2));
    numbers
}

#[test]
fn silu_and_mul_equals_its_twin_for_every_gate() {
    let kernel = Kernel::new("silu_and_mul", &["memref<1024xbf16>", "memref<1024xbf16>", "memref<1024xbf16>", "i32"]);
    let mut gate: Vec<u16> = (0..=u16::MAX).collect();
    let mut up = Random::new(5).ordinary(gate.len());
    let mut out = vec![0; gate.len()];
    kernel.call(&mut [Arg::Bf16(&mut gate), Arg::Bf16(&mut up), Arg::Bf16(&mut out), Arg::I32(1 << 16)]);
    let expected: Vec<u16> = gate.iter().zip(&up).map(|(g, u)| silu_and_mul(*g, *u)).collect();
    assert_eq!(out, expected);
}

/// Code for a CPU without AVX2 and fused multiply-adds, and the same bits.
#[test]
fn every_cpu_level_computes_the_same() {
    for cpu in [CpuLevel::V1, CpuLevel::V2, CpuLevel::V3] {
        let options = HostOptions { cpu, ..HostOptions::default() };
        let types = ["memref<1024xbf16>", "memref<1024xbf16>", "memref<1024xbf16>", "i32"];
        let silu = Kernel::with("silu_and_mul", &types, options.clone());
        let (mut gate, mut up, mut out) = (any(17), any(18), vec![0; N]);
        silu.call(&mut [Arg::Bf16(&mut gate), Arg::Bf16(&mut up), Arg::Bf16(&mut out), Arg::I32(N as i32)]);
        assert_eq!(out, gate.iter().zip(&up).map(|(g, u)| silu_and_mul(*g, *u)).collect::<Vec<_>>(), "{cpu:?}");

        let types = ["memref<8x512xbf16>", "memref<512xbf16>", "memref<8xbf16>"];
        let gemv = Kernel::with("gemv64_accumulate", &types, options);
        let mut random = Random::new(19);
        let (mut a, mut b, mut c) = (random.patterns(4096), random.patterns(512), random.ordinary(8));
        a.iter_mut().chain(&mut b).for_each(|x| *x &= 0xbfff);
        let expected: Vec<u16> = a.chunks(512).zip(&c).map(|(row, c)| bf16(f32_of(*c) + dot(row, &b, 64))).collect();
        gemv.call(&mut [Arg::Bf16(&mut a), Arg::Bf16(&mut b), Arg::Bf16(&mut c)]);
        assert_eq!(c, expected, "{cpu:?}");
    }
}

#[test]
fn silu_and_mul_takes_exactly_n_elements() {
    let kernel = Kernel::new("silu_and_mul", &["memref<1024xbf16>", "memref<1024xbf16>", "memref<1024xbf16>", "i32"]);
    for n in [0, 1, 15, 16, 17, 40] {
        let (mut gate, mut up, mut out) = (any(6)[..48].to_vec(), any(7)[..48].to_vec(), vec![0x7777; 48]);
        kernel.call(&mut [Arg::Bf16(&mut gate), Arg::Bf16(&mut up), Arg::Bf16(&mut out), Arg::I32(n)]);
        for i in 0..48 {
            let expected = if (i as i32) < n { silu_and_mul(gate[i], up[i]) } else { 0x7777 };
            assert_eq!(out[i], expected, "{n} {i}");
        }
    }
}

/// The steps of SiLU in f64 without roundings: the roundings cost at most a few units of the last place of bf16.
#[test]
fn silu_and_mul_is_near_the_true_function() {
    for gate in (0..=u16::MAX).filter(|g| f32_of(*g).abs() < 80.0 && f32_of(*g).abs() > 1e-30) {
        let x = f64::from(f32_of(gate));
        let exact = x / (1.0 + (-x).exp());
        let found = f64::from(f32_of(silu_and_mul(gate, 0x3f80)));
        // 1 + tanh cancels for negative x, so the error there is absolute: of the sigmoid, 2^-9 or so.
        let bound = exact.abs() / 64.0 + x.abs() / 256.0 * f64::from(u8::from(x < 0.0));
        assert!((found - exact).abs() <= bound, "{x}: {found} {exact}");
    }
}

#[test]
fn two_buffer_kernels_equal_their_twins() {
    let cases: [(&str, fn(f32, f32) -> f32); 4] =
        [("add_into", |a, c| c + a), ("add_3", |a, _| a + 3.0), ("greater_into", greater), ("copy", |a, _| a)];
    for (name, twin) in cases {
        let kernel = kernel(name, &["memref<Nxbf16>", "memref<Nxbf16>"]);
        let (mut a, mut c) = (any(8), any(9));
        let expected: Vec<u16> = a
            .iter()
            .zip(&c)
            .map(|(a, c)| match name {
                "copy" => *a,
                _ => bf16(twin(f32_of(*a), f32_of(*c))),
            })
            .collect();
        kernel.call(&mut [Arg::Bf16(&mut a), Arg::Bf16(&mut c)]);
        assert_eq!(c, expected, "{name}");
    }
}

#[test]
fn three_buffer_kernels_equal_their_twins() {
    let kernel_of = kernel("scale_add", &["memref<Nxbf16>", "memref<Nxbf16>", "memref<Nxbf16>"]);
    let (mut p, mut r, mut s) = (any(10), any(11), any(12));
    let expected: Vec<u16> = (0..N).map(|i| bf16(f32_of(p[i]).mul_add(f32_of(r[i]), f32_of(s[i])))).collect();
    kernel_of.call(&mut [Arg::Bf16(&mut p), Arg::Bf16(&mut r), Arg::Bf16(&mut s)]);
    assert_eq!(s, expected);

    let kernel_of = Kernel::new("add_slice", &["memref<8xbf16>", "memref<2048xbf16>", "i32", "memref<8xbf16>"]);
    for offset in [0usize, 8, 2040, 3] {
        let (mut p, mut r, mut d) = (any(13)[..8].to_vec(), any(14)[..2048].to_vec(), vec![0; 8]);
        kernel_of.call(&mut [Arg::Bf16(&mut p), Arg::Bf16(&mut r), Arg::I32(offset as i32), Arg::Bf16(&mut d)]);
        let expected: Vec<u16> = (0..8).map(|i| bf16(f32_of(p[i]) + f32_of(r[offset + i]))).collect();
        assert_eq!(d, expected);
    }
}

#[test]
fn copies_and_conversions() {
    let copy = Kernel::new("copy_to_offset", &["i32", "memref<33xbf16>", "memref<100xbf16>"]);
    let (mut a, mut c) = (any(15)[..33].to_vec(), vec![7; 100]);
    copy.call(&mut [Arg::I32(60), Arg::Bf16(&mut a), Arg::Bf16(&mut c)]);
    let expected: Vec<u16> = (0..100).map(|i| if (60..93).contains(&i) { a[i - 60] } else { 7 }).collect();
    assert_eq!(c, expected);

    let convert = kernel("round_to_bf16", &["memref<Nxf32>", "memref<Nxbf16>"]);
    let mut random = Random::new(16);
    let mut x: Vec<f32> = (0..N).map(|_| f32::from_bits(random.bits() as u32)).collect();
    x[..3].copy_from_slice(&[f32::from_bits(0x3f80_8000), f32::from_bits(0x3f81_8000), f32::MAX]);
    let mut c = vec![0; N];
    convert.call(&mut [Arg::F32(&mut x), Arg::Bf16(&mut c)]);
    assert_eq!(c, x.iter().map(|x| bf16(*x)).collect::<Vec<_>>());
    assert_eq!(c[..3], [0x3f80, 0x3f82, 0x7f80]);
}

#[test]
fn fills_take_the_extent_of_their_type() {
    for n in [1usize, 2, 4, 8, 16, 31, 4096] {
        for (name, pattern) in [("zero_fill", 0), ("lowest_fill", 0xff7f)] {
            let fill = Kernel::new(name, &[&format!("memref<{n}xbf16, 2 : i32>")]);
            let mut c = vec![0x5555; n + 3];
            fill.call(&mut [Arg::Bf16(&mut c)]);
            assert_eq!(c, [vec![pattern; n], vec![0x5555; 3]].concat());
        }
    }
    let fill = Kernel::new("zero_fill_f32", &["memref<5x7xf32>"]);
    let mut c = vec![1.5; 36];
    fill.call(&mut [Arg::F32(&mut c)]);
    assert_eq!(c, [vec![0.0; 35], vec![1.5]].concat());
}
