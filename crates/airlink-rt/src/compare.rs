//! Comparing what two runs wrote.
//!
//! [`exact`] decides wherever the arithmetic is the same; [`within`] where it is not. [`similarity`] is for reports
//! only: 32 of 2048 rows never written still give a cosine of 0.99.

mod bits;

pub use bits::ulp_distance;

use crate::buffer::Poison;
use crate::element::{Element, Kind};

/// Two buffers that cannot be compared element by element.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{found} bytes to compare with {expected} bytes of {element}, for a shape of {shape_bytes} bytes")]
pub struct SizeError {
    pub element: Element,
    pub expected: u64,
    pub found: u64,
    pub shape_bytes: u64,
}

/// What an exact comparison found.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    pub element_count: u64,
    pub differing_count: u64,
    pub first: Option<Difference>,
    /// The largest distance of a differing pair in units in the last place, for floats; pairs with one NaN don't count.
    pub max_ulp: Option<u64>,
}

/// One element that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// In row-major order.
    pub index: u64,
    /// The index along each axis.
    pub position: Vec<u64>,
    pub expected: f64,
    pub found: f64,
    pub expected_bits: u64,
    pub found_bits: u64,
}

impl Comparison {
    pub fn is_equal(&self) -> bool {
        self.differing_count == 0
    }

    /// Differing elements over all elements; 0 for an empty buffer.
    pub fn differing_share(&self) -> f64 {
        share(self.differing_count, self.element_count)
    }
}

/// Compares bit by bit, except that every NaN equals every NaN: which payload an operation makes differs between CPUs
/// and LLVM does not fix it. 0 and -0 differ.
pub fn exact(element: Element, shape: &[u64], expected: &[u8], found: &[u8]) -> Result<Comparison, SizeError> {
    let element_count = check_sizes(element, shape, expected, found)?;
    let mut comparison = Comparison { element_count, differing_count: 0, first: None, max_ulp: None };
    for (index, a, b) in differing(element, expected, found) {
        comparison.differing_count += 1;
        comparison.max_ulp = comparison.max_ulp.max(ulp_distance(element, a, b));
        if comparison.first.is_none() {
            comparison.first = Some(difference(element, shape, index, a, b));
        }
    }
    Ok(comparison)
}

/// What a comparison within bounds found.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundComparison {
    pub element_count: u64,
    /// Elements further from the expected value than their bound, or NaN on one side only: their indices in row-major order.
    pub beyond: Vec<u64>,
    pub first: Option<Difference>,
    /// The largest |found - expected| / bound; infinite where a bound of 0 is exceeded or one side is NaN.
    pub worst_ratio: f64,
    /// Elements whose bits differ at all, by index. Bounds alone don't see a wrong rounding mode; this does.
    pub differing: Vec<u64>,
}

impl BoundComparison {
    pub fn is_within(&self) -> bool {
        self.beyond.is_empty()
    }

    pub fn beyond_count(&self) -> u64 {
        self.beyond.len() as u64
    }

    pub fn differing_count(&self) -> u64 {
        self.differing.len() as u64
    }

    /// Elements with other bits over all elements; 0 for an empty buffer.
    pub fn differing_share(&self) -> f64 {
        share(self.differing_count(), self.element_count)
    }
}

/// Compares each element with a bound of its own: |found - expected| <= bound. One without a bound must be equal.
pub fn within(
    element: Element,
    shape: &[u64],
    expected: &[u8],
    found: &[u8],
    bounds: &[f64],
) -> Result<BoundComparison, SizeError> {
    let element_count = check_sizes(element, shape, expected, found)?;
    let mut result =
        BoundComparison { element_count, beyond: Vec::new(), first: None, worst_ratio: 0.0, differing: Vec::new() };
    for (index, a, b) in differing(element, expected, found) {
        let bound = bounds.get(index as usize).copied().unwrap_or(0.0);
        result.differing.push(index);
        let distance = (element.value_of_bits(a) - element.value_of_bits(b)).abs();
        let ratio = match distance {
            0.0 => 0.0,
            d if d.is_nan() => f64::INFINITY,
            d => d / bound,
        };
        result.worst_ratio = result.worst_ratio.max(ratio);
        // A distance or a bound that is NaN is beyond.
        if distance > bound || distance.is_nan() || bound.is_nan() {
            result.beyond.push(index);
            if result.first.is_none() {
                result.first = Some(difference(element, shape, index, a, b));
            }
        }
    }
    Ok(result)
}

/// The bound for one element of a bf16 matrix-vector product that is accumulated in f32 in any order and rounded once:
/// one bf16 unit in the last place, and the error of the sum.
///
/// `sum_abs_products` is the sum of |a_i b_i|. Measured: legal orders stay below 0.9 of it on 65536 rows.
pub fn bf16_product_bound(expected: f64, sum_abs_products: f64) -> f64 {
    expected.abs() / 128.0 + 64.0 / f64::from(1 << 24) * sum_abs_products
}

/// How alike two buffers are as vectors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Similarity {
    /// `None` if one of them is all zero or holds a NaN or an infinity.
    pub cosine: Option<f64>,
    pub max_abs_difference: f64,
    /// Root of the mean square of the expected values.
    pub rms_expected: f64,
}

/// Summed in f64 in index order, so equal on all machines.
pub fn similarity(element: Element, expected: &[u8], found: &[u8]) -> Similarity {
    let (mut dot, mut aa, mut bb, mut max, mut count) = (0.0f64, 0.0f64, 0.0f64, 0.0f64, 0u64);
    for (a, b) in element.values(expected).zip(element.values(found)) {
        dot += a * b;
        aa += a * a;
        bb += b * b;
        let distance = (a - b).abs();
        // `f64::max` would drop a NaN.
        max = if distance > max || distance.is_nan() { distance } else { max };
        count += 1;
    }
    let cosine = dot / (aa.sqrt() * bb.sqrt());
    Similarity {
        cosine: cosine.is_finite().then_some(cosine),
        max_abs_difference: max,
        rms_expected: if count == 0 { 0.0 } else { (aa / count as f64).sqrt() },
    }
}

/// Elements that are still as nobody had written them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unwritten {
    pub count: u64,
    /// The first one, in row-major order, and its index along each axis.
    pub first: Option<(u64, Vec<u64>)>,
}

/// Elements that hold nothing but the poison's byte.
///
/// With [`Poison::Nan`] this is certain for floats but for a NaN that was copied from poison, which is a fault too;
/// integers may hold -1 for good reasons, and anything may be 0: [`never_written`] tells these apart.
pub fn poison_left(element: Element, shape: &[u64], bytes: &[u8], poison: Poison) -> Unwritten {
    let left = bytes.chunks_exact(element.size_bytes()).map(|e| e.iter().all(|&b| b == poison.byte()));
    unwritten(shape, left)
}

/// Elements that hold the poison in both of two runs, which had different poisons.
pub fn never_written(element: Element, shape: &[u64], with_nan: &[u8], with_zero: &[u8]) -> Unwritten {
    let holds = |e: &[u8], poison: Poison| e.iter().all(|&b| b == poison.byte());
    let size = element.size_bytes();
    let pairs = with_nan.chunks_exact(size).zip(with_zero.chunks_exact(size));
    unwritten(shape, pairs.map(|(a, b)| holds(a, Poison::Nan) && holds(b, Poison::Zero)))
}

/// The index along each axis of an element, from its index in row-major order.
pub fn position(shape: &[u64], index: u64) -> Vec<u64> {
    let mut rest = index;
    let mut position: Vec<u64> = shape.iter().rev().map(|&n| (rest % n.max(1), rest /= n.max(1)).0).collect();
    position.reverse();
    position
}

fn unwritten(shape: &[u64], left: impl Iterator<Item = bool>) -> Unwritten {
    let indices = (0u64..).zip(left).filter(|&(_, left)| left).map(|(i, _)| i);
    let (first, count) = indices.fold((None, 0), |(first, count), i| (first.or(Some(i)), count + 1));
    Unwritten { count, first: first.map(|i| (i, position(shape, i))) }
}

/// The elements whose bits differ, with their indices. Equal blocks, which are most of them, cost a `memcmp`.
fn differing<'a>(element: Element, a: &'a [u8], b: &'a [u8]) -> impl Iterator<Item = (u64, u64, u64)> + 'a {
    const BLOCK_ELEMENTS: usize = 512;
    let size = element.size_bytes();
    let blocks = a.chunks(BLOCK_ELEMENTS * size).zip(b.chunks(BLOCK_ELEMENTS * size)).enumerate();
    blocks.filter(|(_, (a, b))| a != b).flat_map(move |(block, (a, b))| {
        let bits = move |e: &[u8]| element.bits_of(e);
        let pairs = a.chunks_exact(size).map(bits).zip(b.chunks_exact(size).map(bits));
        let indices = (block * BLOCK_ELEMENTS) as u64..;
        indices
            .zip(pairs)
            .map(|(i, (a, b))| (i, a, b))
            .filter(move |&(_, a, b)| a != b && !bits::both_nan(element, a, b))
    })
}

fn difference(element: Element, shape: &[u64], index: u64, expected_bits: u64, found_bits: u64) -> Difference {
    Difference {
        index,
        position: position(shape, index),
        expected: element.value_of_bits(expected_bits),
        found: element.value_of_bits(found_bits),
        expected_bits,
        found_bits,
    }
}

fn check_sizes(element: Element, shape: &[u64], expected: &[u8], found: &[u8]) -> Result<u64, SizeError> {
    let count = shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d));
    let shape_bytes = count.and_then(|n| n.checked_mul(element.size_bytes() as u64)).unwrap_or(u64::MAX);
    if expected.len() as u64 != shape_bytes || found.len() as u64 != shape_bytes {
        let (expected, found) = (expected.len() as u64, found.len() as u64);
        return Err(SizeError { element, expected, found, shape_bytes });
    }
    Ok(shape_bytes / element.size_bytes() as u64)
}

fn share(count: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { count as f64 / of as f64 }
}

impl std::fmt::Display for Difference {
    /// `[3, 7]: 0.5 instead of 0.25`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let position = self.position.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let (found, expected) = (self.found.to_string(), self.expected.to_string());
        write!(f, "[{position}]: {found} instead of {expected}")?;
        if found == expected {
            write!(f, " (bits {:#x} instead of {:#x})", self.found_bits, self.expected_bits)?;
        }
        Ok(())
    }
}

impl Element {
    /// Whether its values are floating-point numbers.
    pub fn is_float(self) -> bool {
        self.kind() == Kind::Float
    }
}
