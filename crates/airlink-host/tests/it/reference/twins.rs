//! The reference kernels once more in plain Rust: the same steps in the same order, so that results agree in every bit.

/// bf16 of an f32, to nearest even; every NaN is 0x7FC0.
pub fn bf16(x: f32) -> u16 {
    let bits = u64::from(x.to_bits());
    match x.is_nan() {
        true => 0x7fc0,
        false => ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16) as u16,
    }
}

pub fn f32_of(pattern: u16) -> f32 {
    f32::from_bits(u32::from(pattern) << 16)
}

/// A rounding point.
pub fn round(x: f32) -> f32 {
    f32_of(bf16(x))
}

/// Adds lanes by halves.
pub fn tree(lanes: &[f32]) -> f32 {
    let mut lanes = lanes.to_vec();
    while lanes.len() > 1 {
        let half = lanes.len() / 2;
        lanes = (0..half).map(|j| lanes[j] + lanes[j + half]).collect();
    }
    lanes[0]
}

/// The f32 sum of one row in `width` lanes, the tail filled up with zeros.
pub fn dot(a: &[u16], b: &[u16], width: usize) -> f32 {
    let mut lanes = vec![0.0f32; width];
    for (a, b) in a.chunks(width).zip(b.chunks(width)) {
        for (j, lane) in lanes.iter_mut().enumerate() {
            let element = |x: &[u16]| x.get(j).map_or(0.0, |p| f32_of(*p));
            *lane = element(a).mul_add(element(b), *lane);
        }
    }
    tree(&lanes)
}

pub fn expm1_polynomial(r: f32) -> f32 {
    let c = [0x3f00_0000, 0x3e2a_aaab, 0x3d2a_aa75, 0x3c08_8870, 0x3ab6_a192, 0x3950_9279].map(f32::from_bits);
    let q = c[..5].iter().rev().fold(c[5], |q, c| q.mul_add(r, *c));
    (r * r).mul_add(q, r)
}

/// Nearest integer by the addition of 1.5 * 2^23, as f32 and as i32.
fn nearest(shifted: f32) -> (f32, i32) {
    (shifted - 12_582_912.0, (shifted.to_bits() as i32).wrapping_sub(0x4b40_0000))
}

fn power_of_two(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) as u32) << 23)
}

fn reduced(y: f32) -> (f32, i32) {
    let (n, bits) = nearest(y.mul_add(std::f32::consts::LOG2_E, 12_582_912.0));
    let r = (-n).mul_add(f32::from_bits(0x3f31_7218), y);
    ((-n).mul_add(f32::from_bits(0xb102_e308), r), bits)
}

pub fn tanh(x: f32) -> f32 {
    let a = x.abs();
    let z = a * a;
    let c = [0xbeaa_aaab, 0x3e08_8874, 0xbd5d_045a, 0x3cb2_542e, 0xbc08_b170, 0x3b16_3187].map(f32::from_bits);
    let near = (a * z).mul_add(c[..5].iter().rev().fold(c[5], |q, c| q.mul_add(z, *c)), a);
    let (r, n) = reduced(if a + a > 20.0 { 20.0 } else { a + a });
    let (power, p) = (power_of_two(n), expm1_polynomial(r));
    let far = 1.0 - 2.0 / (power.mul_add(p, power) + 1.0);
    let result = if a < 0.625 { near } else { far };
    f32::from_bits(result.to_bits() | (x.to_bits() & 0x8000_0000))
}

fn clamp(x: f32, low: f32, high: f32) -> f32 {
    let x = if x < low { low } else { x };
    if x > high { high } else { x }
}

fn scale(p: f32, n: i32) -> f32 {
    let first = n >> 1;
    (1.0 + p) * power_of_two(first) * power_of_two(n.wrapping_sub(first))
}

pub fn exp2(t: f32) -> f32 {
    let t = clamp(t, -151.0, 129.0);
    let (n, bits) = nearest(t + 12_582_912.0);
    scale(expm1_polynomial((t - n) * f32::from_bits(0x3f31_7218)), bits)
}

pub fn exp(x: f32) -> f32 {
    let (r, n) = reduced(clamp(x, -105.0, 89.0));
    scale(expm1_polynomial(r), n)
}

pub fn sin_or_cos(x: f32, cos: bool) -> f32 {
    let x = if x.abs() <= 1_048_576.0 { x } else { f32::NAN };
    let (n, quadrant) = nearest(x.mul_add(std::f32::consts::FRAC_2_PI, 12_582_912.0));
    let parts = [0x3fc9_0fdb, 0xb33b_bd2e, 0xa6f7_2ced].map(f32::from_bits);
    let r = parts.iter().fold(x, |r, part| (-n).mul_add(*part, r));
    let z = r * r;
    let s = [0xbe2a_aaab, 0x3c08_8887, 0xb950_09d2, 0x3636_de7e].map(f32::from_bits);
    let c = [0x3d2a_aaaa, 0xbab6_0968, 0x37cd_ebc3].map(f32::from_bits);
    let s = s[..3].iter().rev().fold(s[3], |q, c| q.mul_add(z, *c));
    let c = c[..2].iter().rev().fold(c[2], |q, c| q.mul_add(z, *c));
    let (s, c) = ((r * z).mul_add(s, r), (z * z).mul_add(c, (-0.5f32).mul_add(z, 1.0)));
    let quadrant = quadrant.wrapping_add(i32::from(cos));
    let magnitude = if quadrant & 1 == 1 { c } else { s };
    f32::from_bits(magnitude.to_bits() ^ ((quadrant as u32 & 2) << 30))
}

pub fn silu_and_mul(gate: u16, up: u16) -> u16 {
    let x = f32_of(gate);
    let t = round(tanh(round(x * 0.5)));
    let sigmoid = round(0.5 * round(1.0 + t));
    bf16(round(x * sigmoid) * f32_of(up))
}

/// Half-split rotation of one pair.
pub fn rotate(x: u16, y: u16, cos: u16, sin: u16) -> (u16, u16) {
    let [x, y, c, s] = [x, y, cos, sin].map(f32_of);
    (bf16(x * c - y * s), bf16(x * s + y * c))
}

/// Interleaved rotation of one pair.
pub fn rotate_rounded(x: u16, y: u16, cos: u16, sin: u16) -> (u16, u16) {
    let [x, y, c, s] = [x, y, cos, sin].map(f32_of);
    (bf16(round(x * c) - round(y * s)), bf16(round(x * s) + round(y * c)))
}

/// One row of a packed 4-bit block.
pub fn int4_row(packed: &[u8], b: &[u16], (m, k, group): (usize, usize, usize), row: usize) -> f32 {
    let scales = &packed[m * k / 2..];
    let zeros = &packed[m * k / 2 + k / group * m * 2..];
    let mut lanes = [0.0f32; 32];
    for g in 0..k / group {
        let at = g * m + row;
        let scale = f32_of(u16::from_le_bytes([scales[2 * at], scales[2 * at + 1]]));
        let mut sums = [0.0f32; 32];
        for j in g * group..(g + 1) * group {
            let byte = packed[row * k / 2 + j / 2];
            let nibble = if j % 2 == 0 { byte & 15 } else { byte >> 4 };
            let weight = f32::from(i16::from(nibble) - i16::from(zeros[at] as i8));
            sums[j % 32] = weight.mul_add(f32_of(b[j]), sums[j % 32]);
        }
        for (lane, sum) in lanes.iter_mut().zip(sums) {
            *lane = round(sum).mul_add(scale, *lane);
        }
    }
    tree(&lanes)
}

/// Place of element (i, j) in a blocked matrix with `m` rows.
pub fn blocked(i: usize, j: usize, m: usize) -> usize {
    (j / 8 * m + i) * 8 + j % 8
}

/// `2^((x - u) * log2(e) / sqrt(d))` with the rounding points of the softmax kernels.
pub fn shifted_exp(x: f32, u: f32, d: f32) -> u16 {
    let difference = round(x - u);
    let lowest = f32_of(0xff7f);
    let difference = if difference < lowest { lowest } else { difference };
    bf16(exp2(difference * round(std::f32::consts::LOG2_E / d.sqrt())))
}

/// Wherever one is NaN or both are equal, the second.
pub fn greater(x: f32, y: f32) -> f32 {
    if x > y { x } else { y }
}
