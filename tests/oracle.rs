//! The numeric oracle: what follows attention in a Llama layer, in plain Rust.
//!
//! It shares nothing with airlink: no IR, no reference kernel, no type of another crate. Inputs and outputs are bf16
//! bits (`u16`), arithmetic is f64. Each function gives for every element the value that exact arithmetic would have and
//! a bound on how far a right result may be from it, so a comparison needs no tolerance picked by hand.
//!
//! The bound is `B = 2^-7 |y| + 64 * 2^-24 * sum_i |a_i b_i|`: one bf16 step for the rounding of the result, and f32
//! summation in any order that keeps several lanes. It was measured on up to 2^17 rows with 4 to 16 chunks of K: every
//! legal order stayed below 0.9 B, while a tile not written, swapped rows or 64 elements of K left out exceed it.
//! It does not see a wrong rounding mode; the share of results that are not the rounded exact value does.

#![allow(dead_code, reason = "each test that includes this module uses a part of it")]

/// What the eight launches read and left behind, named as in `fixtures/graphs/*_o_ffn.toml`. Matrices are row-major.
pub struct PostAttention<'a> {
    pub wo: &'a [u16],
    pub attn_out: &'a [u16],
    pub proj: &'a [u16],
    pub x: &'a [u16],
    pub res: &'a [u16],
    pub w_ffn_norm: &'a [u16],
    pub normed: &'a [u16],
    pub w_gate: &'a [u16],
    pub gate_out: &'a [u16],
    pub w_up: &'a [u16],
    pub up_out: &'a [u16],
    pub act: &'a [u16],
    pub w_down: &'a [u16],
    pub down_out: &'a [u16],
    pub y: &'a [u16],
}

impl PostAttention<'_> {
    /// Judges every launch on what it read, so errors do not add up and the first wrong launch is named. Together the
    /// launches lead from the inputs to `y`. `norm` is [`rms_norm`] or [`rms_norm_bf16`], as the kernel rounds.
    pub fn judge(&self, norm: fn(&[u16], &[u16]) -> Expected) -> Vec<(&'static str, Agreement)> {
        let stages = [
            ("o_proj", gemv_f64(self.wo, self.attn_out), self.proj),
            ("attn_add", add(self.proj, self.x), self.res),
            ("ffn_norm", norm(self.res, self.w_ffn_norm), self.normed),
            ("gate", gemv_f64(self.w_gate, self.normed), self.gate_out),
            ("up", gemv_f64(self.w_up, self.normed), self.up_out),
            ("silu", silu_mul(self.gate_out, self.up_out), self.act),
            ("down", gemv_f64(self.w_down, self.act), self.down_out),
            ("ffn_add", add(self.down_out, self.res), self.y),
        ];
        stages.into_iter().map(|(name, expected, got)| (name, expected.compare(got))).collect()
    }
}

/// Exact results and how far a right bf16 result may be from each.
pub struct Expected {
    pub values: Vec<f64>,
    /// One per value, at least 0.
    pub bounds: Vec<f64>,
    /// The share of results, 0 to 1, that may differ from the exact value rounded once to bf16.
    pub differing_max: f64,
}

/// How results compare with what was expected.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreement {
    pub count: usize,
    /// Indices of results beyond their bound, ascending.
    pub beyond: Vec<usize>,
    /// The greatest distance, in bounds.
    pub worst: f64,
    /// Results that are not the exact value rounded once to nearest even.
    pub differing_count: usize,
    pub differing_max: f64,
}

impl Agreement {
    /// Every result within its bound, and no more than the allowed share of them rounded otherwise.
    pub fn holds(&self) -> bool {
        self.beyond.is_empty() && self.differing_count as f64 <= (self.differing_max * self.count as f64).ceil()
    }
}

impl Expected {
    /// Panics unless there is one result per value.
    pub fn compare(&self, got: &[u16]) -> Agreement {
        assert_eq!(got.len(), self.values.len(), "results and expected values");
        let mut agreement = Agreement {
            count: got.len(),
            beyond: Vec::new(),
            worst: 0.0,
            differing_count: 0,
            differing_max: self.differing_max,
        };
        for (i, ((&bits, &value), &bound)) in got.iter().zip(&self.values).zip(&self.bounds).enumerate() {
            let (result, rounded) = (to_f64(bits), to_f64(to_bf16(value)));
            // Zeros of both signs are equal, and so are all NaN: their payload is nobody's promise.
            if result == rounded || (result.is_nan() && rounded.is_nan()) {
                continue;
            }
            agreement.differing_count += 1;
            let distance = (result - value).abs();
            // NaN on one side only; and the bound of an infinite value is infinite.
            if distance.is_nan() || value.is_infinite() || distance > bound {
                agreement.beyond.push(i);
            }
            let ratio = distance / bound;
            agreement.worst = if ratio.is_nan() { f64::INFINITY } else { agreement.worst.max(ratio) };
        }
        agreement
    }

    fn new(elements: impl Iterator<Item = (f64, f64)>, differing_max: f64) -> Expected {
        // Half a step of subnormal bf16, where 2^-7 |y| is less than the spacing.
        let floor = 2f64.powi(-134);
        let (values, bounds) = elements.map(|(value, bound)| (value, bound + floor)).unzip();
        Expected { values, bounds, differing_max }
    }
}

/// `y = A x` with A row-major: `a.len() / x.len()` values. Legal f32 orders differ in 0.03 % of roundings at most.
pub fn gemv_f64(a: &[u16], x: &[u16]) -> Expected {
    assert!(!x.is_empty() && a.len().is_multiple_of(x.len()), "whole rows");
    let x: Vec<f64> = x.iter().map(|&bits| to_f64(bits)).collect();
    let rows = a.chunks_exact(x.len()).map(|row| {
        // A product of two bf16 is exact in f64, and the sum's error is far below 2^-24 of the sum of magnitudes.
        let (mut sum, mut magnitude) = (0.0, 0.0);
        for (&a, x) in row.iter().zip(&x) {
            let product = to_f64(a) * x;
            sum += product;
            magnitude += product.abs();
        }
        (sum, step(sum) + SUM * magnitude)
    });
    Expected::new(rows, 0.005)
}

/// `y = A x + r`, with the residual added in f32 before the one rounding.
pub fn gemv_add_f64(a: &[u16], x: &[u16], r: &[u16]) -> Expected {
    let mut expected = gemv_f64(a, x);
    for ((value, bound), &r) in expected.values.iter_mut().zip(&mut expected.bounds).zip(r) {
        // The bound is one step at the value, and the error of the sum, in which the residual is one more term.
        *bound += step(*value + to_f64(r)) - step(*value) + SUM * to_f64(r).abs();
        *value += to_f64(r);
    }
    expected
}

/// `y = w x / sqrt(mean(x^2) + 1e-5)`, for kernels that compute in f32 and round the result only.
///
/// The squares are their own magnitudes, so a relative error of 64 * 2^-24 in their sum is at most half of that in y.
/// A few f32 roundings come on top.
pub fn rms_norm(x: &[u16], w: &[u16]) -> Expected {
    let squares: f64 = x.iter().map(|&bits| to_f64(bits).powi(2)).sum();
    let scale = (squares / x.len() as f64 + 1e-5).sqrt().recip();
    let elements = x.iter().zip(w).map(|(&x, &w)| {
        let y = to_f64(x) * scale * to_f64(w);
        (y, step(y) + SUM * y.abs())
    });
    Expected::new(elements, 0.005)
}

/// The same for kernels that keep 16 bf16 lanes and round to bf16 after every operation.
///
/// Rounding errors add up over n / 16 steps, so the exact value says little. This follows the kernel's operations
/// instead; what is left to the bound is the last rounding. The lanes are added in order, in f32, and rounded once; the
/// reciprocal square root is one of f32.
pub fn rms_norm_bf16(x: &[u16], w: &[u16]) -> Expected {
    let round = |value: f64| to_f64(to_bf16(value));
    let mut lanes = [0.0; 16];
    for chunk in x.chunks_exact(16) {
        for (lane, &bits) in lanes.iter_mut().zip(chunk) {
            *lane = round(*lane + round(to_f64(bits).powi(2)));
        }
    }
    let sum = round(f64::from(lanes.iter().fold(0.0f32, |sum, &lane| sum + lane as f32)));
    let mean = round(sum / round(x.len() as f64));
    let shifted = round(mean + round(1e-5)) as f32;
    let scale = round(f64::from(1.0 / shifted.sqrt()));
    let elements = x.iter().zip(w).map(|(&x, &w)| {
        let y = round(to_f64(x) * scale) * to_f64(w);
        (y, step(y))
    });
    Expected::new(elements, 0.005)
}

/// `y = silu(gate) up` with `silu(x) = x / (1 + e^-x)`, for kernels that round to bf16 after each step of
/// `x * 0.5 * (1 + tanh(x / 2)) * up`.
///
/// With u = 2^-8, the relative error of one rounding: tanh is off by `u |tanh|`, which the sum with 1 keeps as it is and
/// the halving halves; the sum and both products add u of y each. The excess of (1 + u)^3 over 1 + 3u is below 2 % of it.
pub fn silu_mul(gate: &[u16], up: &[u16]) -> Expected {
    let unit = 2f64.powi(-8);
    let elements = gate.iter().zip(up).map(|(&gate, &up)| {
        let (x, up) = (to_f64(gate), to_f64(up));
        let y = x / (1.0 + (-x).exp()) * up;
        let cancelled = (x * up).abs() * 0.5 * unit * (x / 2.0).tanh().abs();
        (y, 1.02 * (cancelled + 3.0 * unit * y.abs()))
    });
    Expected::new(elements, 1.0)
}

/// `y = a + b`. A bf16 sum in f32 or bf16 arithmetic is the exact sum rounded once, so nothing may differ.
pub fn add(a: &[u16], b: &[u16]) -> Expected {
    let elements = a.iter().zip(b).map(|(&a, &b)| {
        let y = to_f64(a) + to_f64(b);
        (y, step(y))
    });
    Expected::new(elements, 0.0)
}

/// 64 * 2^-24: f32 summation, relative to the sum of magnitudes.
const SUM: f64 = 64.0 / (1 << 24) as f64;

/// 2^-7 |y|: at most one bf16 step at y.
fn step(y: f64) -> f64 {
    y.abs() / 128.0
}

/// The value of bf16 bits.
pub fn to_f64(bits: u16) -> f64 {
    f64::from(f32::from_bits(u32::from(bits) << 16))
}

/// The nearest bf16, ties to even, in one rounding. Values from 2^127 (2 - 2^-8) on are infinite.
pub fn to_bf16(value: f64) -> u16 {
    if !value.is_finite() || value == 0.0 {
        let bits = (value as f32).to_bits();
        return (bits >> 16) as u16 | if value.is_nan() { 0x40 } else { 0 };
    }
    let exponent = ((value.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    // 8 significant bits, fewer below 2^-126.
    let spacing = 2f64.powi(exponent.max(-126) - 7);
    let rounded = (value / spacing).round_ties_even() * spacing;
    ((rounded as f32).to_bits() >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seeded, roughly normal bf16 with this deviation.
    fn numbers(count: usize, seed: u64, deviation: f64) -> Vec<u16> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut uniform = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        (0..count).map(|_| to_bf16((0..12).map(|_| uniform()).sum::<f64>() * deviation)).collect()
    }

    /// A GEMV as a kernel would do it: `lanes` f32 sums per row, K upwards or downwards, then the lanes in order.
    fn gemv_f32(a: &[u16], x: &[u16], lanes: usize, downwards: bool, narrow: fn(f64) -> u16) -> Vec<u16> {
        let row = |row: &[u16]| {
            let mut sums = vec![0.0f32; lanes];
            for i in 0..row.len() {
                let i = if downwards { row.len() - 1 - i } else { i };
                sums[i % lanes] += (to_f64(row[i]) * to_f64(x[i])) as f32;
            }
            narrow(f64::from(sums.iter().sum::<f32>()))
        };
        a.chunks_exact(x.len()).map(row).collect()
    }

    fn truncate(value: f64) -> u16 {
        ((value as f32).to_bits() >> 16) as u16
    }

    #[test]
    fn every_bf16_rounds_to_itself_and_halves_go_to_even() {
        for bits in 0..=u16::MAX {
            let value = to_f64(bits);
            if value.is_nan() {
                assert!(to_f64(to_bf16(value)).is_nan());
                continue;
            }
            assert_eq!(to_bf16(value), bits);
            let next = to_f64(bits.wrapping_add(1));
            if value.is_finite() && next.is_finite() {
                let even = if bits % 2 == 0 { bits } else { bits + 1 };
                assert_eq!(to_bf16((value + next) / 2.0), even, "between {value:e} and {next:e}");
            }
        }
        let limit = 2f64.powi(127) * (2.0 - 2f64.powi(-8));
        assert_eq!(to_bf16(limit), 0x7f80);
        assert_eq!(to_bf16(limit * (1.0 - 1e-15)), 0x7f7f);
        // Nearest in two roundings would be even at the tie: f32 first drops what tells it from one.
        assert_eq!(to_bf16(1.0 + 2f64.powi(-8) + 2f64.powi(-40)), 0x3f81);
    }

    #[test]
    fn small_results_are_those_worked_out_by_hand() {
        let bits = |values: &[f64]| values.iter().map(|&v| to_bf16(v)).collect::<Vec<_>>();
        assert_eq!(gemv_f64(&bits(&[1.0, 2.0, -3.0, 0.5]), &bits(&[4.0, -1.0])).values, [2.0, -12.5]);
        assert_eq!(add(&bits(&[1.5, -2.0]), &bits(&[0.25, 2.0])).values, [1.75, 0.0]);
        // mean(x^2) = (9 + 16) / 2 = 12.5
        let norm = rms_norm(&bits(&[3.0, 4.0]), &bits(&[1.0, 2.0]));
        assert!((norm.values[0] - 3.0 / 12.50001f64.sqrt()).abs() < 1e-12);
        assert!((norm.values[1] - 8.0 / 12.50001f64.sqrt()).abs() < 1e-12);
        let silu = silu_mul(&bits(&[0.0, 1.0, -1.0]), &bits(&[5.0, 2.0, 2.0]));
        let expected = [0.0, 2.0 * 0.731_058_578_630_004_9, -2.0 * 0.268_941_421_369_995_1];
        assert!(silu.values.iter().zip(expected).all(|(v, e)| (v - e).abs() < 1e-12));
    }

    #[test]
    fn every_order_of_an_f32_sum_holds() {
        for (rows, k) in [(512, 256), (256, 2048), (64, 8192), (64, 14336)] {
            let (a, x) = (numbers(rows * k, 1, 0.02), numbers(k, 2, 1.0));
            let expected = gemv_f64(&a, &x);
            for (lanes, downwards) in [(64, false), (64, true), (16, false), (32, true)] {
                let agreement = expected.compare(&gemv_f32(&a, &x, lanes, downwards, to_bf16));
                assert!(agreement.holds(), "{rows}x{k}, {lanes} lanes: {agreement:?}");
            }
        }
    }

    #[test]
    fn faults_that_a_cosine_lets_pass_do_not_hold() {
        let (rows, k) = (1024, 1024);
        let (a, x) = (numbers(rows * k, 3, 0.02), numbers(k, 4, 1.0));
        let expected = gemv_f64(&a, &x);
        let right = gemv_f32(&a, &x, 64, false, to_bf16);
        assert!(expected.compare(&right).holds());

        let mut unwritten = right.clone();
        unwritten[64..72].fill(0);
        assert_eq!(expected.compare(&unwritten).beyond, (64..72).collect::<Vec<_>>());

        let mut swapped = right.clone();
        swapped.swap(10, 900);
        assert_eq!(expected.compare(&swapped).beyond, [10, 900]);

        let mut shorter = a.clone();
        shorter.chunks_exact_mut(k).take(64).for_each(|row| row[k - 64..].fill(0));
        let shorter = expected.compare(&gemv_f32(&shorter, &x, 64, false, to_bf16));
        assert!(!shorter.holds() && shorter.beyond.iter().all(|&row| row < 64), "{shorter:?}");

        let mut poisoned = right;
        poisoned[5] = 0xffff;
        assert_eq!(expected.compare(&poisoned).beyond, [5]);

        let truncated = expected.compare(&gemv_f32(&a, &x, 64, false, truncate));
        assert!(truncated.beyond.is_empty() && !truncated.holds(), "seen by the share alone: {truncated:?}");
    }

    #[test]
    fn a_norm_in_f32_holds_and_one_with_a_wrong_epsilon_or_weight_does_not() {
        let (x, w) = (numbers(2048, 5, 0.01), numbers(2048, 6, 1.0));
        let norm = |eps: f32, w: &[u16]| {
            let mut lanes = [0.0f32; 16];
            x.chunks_exact(16).for_each(|c| (0..16).for_each(|i| lanes[i] += (to_f64(c[i]) as f32).powi(2)));
            let scale = 1.0 / (lanes.iter().sum::<f32>() / 2048.0 + eps).sqrt();
            let y = |(x, w): (&u16, &u16)| to_bf16(f64::from(to_f64(*x) as f32 * scale * to_f64(*w) as f32));
            x.iter().zip(w).map(y).collect::<Vec<_>>()
        };
        let expected = rms_norm(&x, &w);
        assert!(expected.compare(&norm(1e-5, &w)).holds(), "{:?}", expected.compare(&norm(1e-5, &w)));
        assert!(!expected.compare(&norm(1e-6, &w)).holds());
        let mut rotated = w.clone();
        rotated.rotate_left(16);
        assert!(!expected.compare(&norm(1e-5, &rotated)).holds());
    }

    #[test]
    fn the_norm_in_bf16_is_near_the_exact_one() {
        let (x, w) = (numbers(2048, 7, 1.0), numbers(2048, 8, 1.0));
        let (exact, stepwise) = (rms_norm(&x, &w), rms_norm_bf16(&x, &w));
        let off = exact.values.iter().zip(&stepwise.values).map(|(e, s)| ((e - s) / e).abs());
        let off = off.filter(|o| !o.is_nan()).fold(0.0, f64::max);
        assert!(off > 0.002 && off < 0.05, "a few steps of 2^-8, not more: {off}");
    }

    #[test]
    fn silu_in_bf16_steps_holds_and_the_wrong_operand_does_not() {
        let (gate, up) = (numbers(8192, 9, 3.0), numbers(8192, 10, 1.0));
        let round = |v: f64| to_f64(to_bf16(v));
        let kernel = |gate: &[u16], up: &[u16]| {
            let y = |(gate, up): (&u16, &u16)| {
                let x = to_f64(*gate);
                let half = round(0.5 * round(1.0 + round(round(x * 0.5).tanh())));
                to_bf16(round(x * half) * to_f64(*up))
            };
            gate.iter().zip(up).map(y).collect::<Vec<_>>()
        };
        let expected = silu_mul(&gate, &up);
        let right = expected.compare(&kernel(&gate, &up));
        assert!(right.holds() && right.worst > 0.3, "neither broken nor slack: {right:?}");
        let swapped = expected.compare(&kernel(&up, &gate));
        assert!(swapped.beyond.len() > 7000, "{} beyond", swapped.beyond.len());
    }

    #[test]
    fn sums_are_exact_and_infinities_and_nan_agree_with_themselves() {
        let (a, b) = (numbers(4096, 11, 1.0), numbers(4096, 12, 100.0));
        let sum =
            |narrow: fn(f64) -> u16| a.iter().zip(&b).map(|(&a, &b)| narrow(to_f64(a) + to_f64(b))).collect::<Vec<_>>();
        assert_eq!(add(&a, &b).compare(&sum(to_bf16)).differing_count, 0);
        assert!(!add(&a, &b).compare(&sum(truncate)).holds());

        let (huge, infinite, nan) = (0x7f7f, 0x7f80, 0x7fc0);
        let expected = add(&[huge, infinite, nan, infinite], &[huge, huge, 0, infinite | 0x8000]);
        assert!(expected.compare(&[infinite, infinite, 0xffc0, nan]).holds());
        assert_eq!(expected.compare(&[0, huge, 0, infinite]).beyond, [0, 1, 2, 3]);
    }

    #[test]
    fn a_layer_half_is_judged_launch_by_launch() {
        let (emb, hidden) = (64, 128);
        let wo = numbers(emb * emb, 20, 0.1);
        let (w_gate, w_up) = (numbers(hidden * emb, 21, 0.1), numbers(hidden * emb, 22, 0.1));
        let w_down = numbers(emb * hidden, 23, 0.1);
        let [attn_out, x, w_ffn_norm] = [24, 25, 26].map(|seed| numbers(emb, seed, 1.0));
        let rounded = |expected: Expected| expected.values.into_iter().map(to_bf16).collect::<Vec<_>>();
        let proj = rounded(gemv_f64(&wo, &attn_out));
        let res = rounded(add(&proj, &x));
        let normed = rounded(rms_norm(&res, &w_ffn_norm));
        let (gate_out, up_out) = (rounded(gemv_f64(&w_gate, &normed)), rounded(gemv_f64(&w_up, &normed)));
        let mut act = rounded(silu_mul(&gate_out, &up_out));
        let wrong = |act: &[u16]| {
            let down_out = rounded(gemv_f64(&w_down, act));
            let y = rounded(add(&down_out, &res));
            let run = PostAttention {
                wo: &wo,
                attn_out: &attn_out,
                proj: &proj,
                x: &x,
                res: &res,
                w_ffn_norm: &w_ffn_norm,
                normed: &normed,
                w_gate: &w_gate,
                gate_out: &gate_out,
                w_up: &w_up,
                up_out: &up_out,
                act,
                w_down: &w_down,
                down_out: &down_out,
                y: &y,
            };
            run.judge(rms_norm).into_iter().filter(|(_, a)| !a.holds()).map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert!(wrong(&act).is_empty());
        act[7] = to_bf16(to_f64(act[7]) + 1.0);
        assert_eq!(wrong(&act), ["silu"], "what follows is right for what it read");
    }
}
