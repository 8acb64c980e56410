//! exp, exp2, tanh, sin, cos and a soft fma: in bits against their twins, in units of the last place against f64.

use airlink_host::reference::{math_function, soft_fma};

use super::call::Function;
use super::random::Random;
use super::twins;

type Twin = fn(f32) -> f32;

const OPS: [(&str, Twin); 5] = [
    ("math.exp", twins::exp),
    ("math.exp2", twins::exp2),
    ("math.tanh", twins::tanh),
    ("math.sin", |x| twins::sin_or_cos(x, false)),
    ("math.cos", |x| twins::sin_or_cos(x, true)),
];

/// Every 4099th pattern, so all exponents, both signs, infinities and NaN; and the edges.
fn patterns() -> Vec<f32> {
    let mut x: Vec<f32> = (0..u32::MAX).step_by(4099).map(f32::from_bits).collect();
    x.extend([0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX, f32::MIN, 1e-45, -1e-45]);
    x.truncate(x.len() / 16 * 16);
    x
}

#[test]
fn compiled_functions_equal_their_twins() {
    for (op, twin) in OPS {
        for lanes in [1, 8, 16] {
            let text = math_function(op, "f", lanes).unwrap();
            let x = patterns();
            let y = Function::new(&text, "f", lanes).call(std::slice::from_ref(&x));
            for (x, y) in x.iter().zip(&y) {
                let expected = twin(*x);
                let same = expected.to_bits() == y.to_bits() || expected.is_nan() && y.is_nan();
                assert!(same, "{op} of {x:e} ({:#x}): {y:e}, not {expected:e}", x.to_bits());
            }
        }
    }
}

/// The greatest error of a function over a grid, in units of the last place of the true result (of the smallest normal
/// number for those below it).
fn worst_ulp(twin: Twin, exact: fn(f64) -> f64, grid: impl Iterator<Item = f32>) -> (f64, f32) {
    let error = |x: f32| {
        let true_value = exact(f64::from(x));
        let exponent = true_value.abs().max(f64::from(f32::MIN_POSITIVE)).log2().floor();
        (f64::from(twin(x)) - true_value).abs() / (exponent - 23.0).exp2()
    };
    grid.map(|x| (error(x), x)).fold((0.0, 0.0), |worst, e| if e.0 > worst.0 { e } else { worst })
}

/// Evenly spaced points.
fn grid(low: f32, high: f32) -> impl Iterator<Item = f32> {
    const POINTS: u32 = 1 << 20;
    (0..=POINTS).map(move |i| low + (high - low) * (i as f32 / POINTS as f32))
}

/// All patterns of a positive range, thinned out, and their negatives.
fn across_exponents(low: f32, high: f32) -> impl Iterator<Item = f32> {
    (low.to_bits()..high.to_bits()).step_by(1021).map(f32::from_bits).flat_map(|x| [x, -x])
}

#[test]
fn errors_are_as_documented() {
    let cases: [(&str, Twin, fn(f64) -> f64, f32, f32, f64); 4] = [
        ("exp", twins::exp, f64::exp, -87.3, 88.7, 1.0),
        ("exp2", twins::exp2, f64::exp2, -126.0, 127.99, 1.1),
        ("tanh", twins::tanh, f64::tanh, -10.0, 10.0, 1.3),
        ("exp near 0", twins::exp, f64::exp, -1.0, 1.0, 1.0),
    ];
    for (name, twin, exact, low, high, bound) in cases {
        let (worst, at) = worst_ulp(twin, exact, grid(low, high));
        assert!(worst < bound, "{name}: {worst} ulp at {at:e}");
    }
    for (name, cos, exact) in [("sin", false, f64::sin as fn(f64) -> f64), ("cos", true, f64::cos)] {
        let twin: Twin = if cos { |x| twins::sin_or_cos(x, true) } else { |x| twins::sin_or_cos(x, false) };
        for high in [10.0, 4096.0, 1_048_576.0] {
            let (worst, at) = worst_ulp(twin, exact, grid(-high, high));
            assert!(worst < 2.0, "{name} up to {high}: {worst} ulp at {at:e}");
        }
    }
    let (worst, at) = worst_ulp(twins::tanh, f64::tanh, across_exponents(1e-44, 12.0));
    assert!(worst < 1.3, "tanh: {worst} ulp at {at:e}");
}

/// For bf16 arguments the rounded tanh is the correctly rounded one, all 65,536 of them.
#[test]
fn tanh_to_bf16_is_correctly_rounded() {
    for pattern in 0..=u16::MAX {
        let x = twins::f32_of(pattern);
        let exact = f64::from(x).tanh();
        // f64 to bf16 by way of f32 would round twice: truncate to f32 towards odd first.
        let near = exact as f32;
        let odd = match f64::from(near) == exact {
            true => near,
            false => {
                let towards_zero =
                    if f64::from(near).abs() > exact.abs() { f32::from_bits(near.to_bits() - 1) } else { near };
                f32::from_bits(towards_zero.to_bits() | 1)
            }
        };
        assert_eq!(twins::bf16(twins::tanh(x)), twins::bf16(odd), "{x:e}");
    }
}

#[test]
fn edges() {
    let tanh = [(0.0, 0.0), (f32::INFINITY, 1.0), (f32::NEG_INFINITY, -1.0), (9.5, 1.0), (1e-40, 1e-40)];
    for (x, y) in tanh {
        assert_eq!(twins::tanh(x), y);
    }
    assert!(twins::tanh(-0.0).is_sign_negative());
    assert_eq!(
        [f32::NEG_INFINITY, -200.0, f32::INFINITY, 89.0, 0.0].map(twins::exp),
        [0.0, 0.0, f32::INFINITY, f32::INFINITY, 1.0]
    );
    assert_eq!(
        [f32::NEG_INFINITY, -149.0, 128.0, 127.0, 0.0].map(twins::exp2),
        [0.0, 1e-45, f32::INFINITY, 127f32.exp2(), 1.0]
    );
    for (op, twin) in OPS {
        assert!(twin(f32::NAN).is_nan(), "{op}");
    }
}

/// Against the processor's own, or an exact one of the standard library's.
#[test]
#[allow(clippy::needless_range_loop, reason = "one number in three arrays")]
fn soft_fma_rounds_once() {
    let text = soft_fma().replace("func.func @fmaf", "func.func private @fmaf");
    let mut random = Random::new(70);
    let mut x: [Vec<f32>; 3] =
        std::array::from_fn(|_| (0..1 << 16).map(|_| f32::from_bits(random.bits() as u32)).collect());
    for i in 0..1 << 15 {
        // Sums near a tie, cancellations, subnormal results.
        let tiny = f32::from_bits((random.bits() >> 33) as u32 & 0x00ff_ffff);
        match i % 4 {
            0 => (x[1][i], x[2][i]) = (1.0 + f32::EPSILON, tiny),
            1 => x[2][i] = -(x[0][i] * x[1][i]),
            2 => (x[0][i], x[1][i], x[2][i]) = (tiny, 0.5, tiny),
            _ => x[2][i] = x[0][i] * x[1][i] * f32::EPSILON / 2.0,
        }
    }
    let y = Function::new(&text, "fmaf", 1).call(&x);
    for (i, y) in y.iter().enumerate() {
        let expected = x[0][i].mul_add(x[1][i], x[2][i]);
        let same = expected.to_bits() == y.to_bits() || expected.is_nan() && y.is_nan();
        assert!(same, "{:e} * {:e} + {:e}: {y:e}, not {expected:e}", x[0][i], x[1][i], x[2][i]);
    }
}
