//! Access patterns: sizes and strides, outermost first.

use serde::Serialize;

use crate::device::gcd;
use crate::factor::{largest_aligned_factor, largest_factor};

/// The elements that a transfer touches, in order. Sizes and strides count elements, outermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pattern {
    pub sizes: Vec<u64>,
    /// As long as `sizes`.
    pub strides: Vec<i64>,
}

/// What [`Pattern::canonical`] keeps to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Canon {
    /// Largest size, in elements.
    pub size_max: u64,
    /// Sizes with stride 1 are split into multiples of it, in elements.
    pub granule: u64,
    /// Strides count modulo this many elements, unless it is 0 or 1.
    pub modulus: u64,
    /// Two factors change places if the stride between them would be longer, in elements.
    pub stride_max: i64,
}

/// Elements of this width whose bits fill whole 32-bit words: 4 for 8 bits, 2 for 16, 1 for 32.
pub fn granule(element_bits: u64) -> u64 {
    32 / gcd(element_bits, 32)
}

impl Pattern {
    /// A pattern of sizes and strides; the shorter list decides the rank.
    pub fn new(sizes: &[u64], strides: &[i64]) -> Pattern {
        let rank = sizes.len().min(strides.len());
        Pattern { sizes: sizes[..rank].to_vec(), strides: strides[..rank].to_vec() }
    }

    /// `count` elements in a row.
    pub fn linear(count: u64) -> Pattern {
        Pattern { sizes: vec![count], strides: vec![1] }
    }

    pub fn rank(&self) -> usize {
        self.sizes.len().min(self.strides.len())
    }

    /// Size and stride of each dimension, outermost first.
    pub fn dims(&self) -> impl DoubleEndedIterator<Item = (u64, i64)> + ExactSizeIterator + '_ {
        self.sizes.iter().copied().zip(self.strides.iter().copied())
    }

    /// Elements in all; `None` if that does not fit 64 bits.
    pub fn volume(&self) -> Option<u64> {
        if self.sizes.contains(&0) {
            return Some(0);
        }
        self.sizes.iter().try_fold(1u64, |n, s| n.checked_mul(*s))
    }

    /// Lowest and highest element relative to the offset; `None` if that does not fit 64 bits.
    pub fn reach(&self) -> Option<(i64, i64)> {
        let mut reach = (0i64, 0i64);
        for (size, stride) in self.dims() {
            let last = i64::try_from(size.saturating_sub(1)).ok()?.checked_mul(stride)?;
            let side = if last < 0 { &mut reach.0 } else { &mut reach.1 };
            *side = side.checked_add(last)?;
        }
        Some(reach)
    }

    /// Whether every product of size and stride, and the volume, fits 63 bits.
    pub(crate) fn is_computable(&self) -> bool {
        let fits = |(size, stride): (u64, i64)| i64::try_from(size).ok().and_then(|s| s.checked_mul(stride)).is_some();
        let is_volume_small = self.volume().is_some_and(|v| i64::try_from(v).is_ok());
        is_volume_small && self.dims().all(fits) && self.reach().is_some()
    }

    /// Whether the elements follow each other without gap or repeat.
    pub fn is_contiguous(&self) -> bool {
        self.is_contiguous_from(0)
    }

    /// Whether, under dimensions that only repeat, the elements follow each other.
    pub fn is_contiguous_or_repeat(&self) -> bool {
        let repeats = self.dims().take_while(|(size, stride)| *size == 1 || *stride == 0).count();
        self.is_contiguous_from(repeats)
    }

    fn is_contiguous_from(&self, first: usize) -> bool {
        let mut expected = 1i64;
        for (size, stride) in self.dims().skip(first).rev().filter(|(size, _)| *size != 1) {
            if stride != expected {
                return false;
            }
            expected = expected.saturating_mul(i64::try_from(size).unwrap_or(i64::MAX));
        }
        true
    }

    /// The pattern as the tools bring it into form: sizes split and merged, without dimensions of size 1.
    ///
    /// It addresses the same elements in the same order, up to `canon.modulus`. `None` if numbers do not fit 64 bits.
    pub fn canonical(&self, canon: &Canon) -> Option<Pattern> {
        if !self.is_computable() {
            return None;
        }
        let mut pattern = Pattern::new(&self.sizes, &self.strides);
        if pattern.sizes.contains(&0) {
            return Some(pattern);
        }
        pattern.split_large(canon);
        pattern.drop_units();
        pattern.merge_neighbours(canon);
        Some(pattern)
    }

    fn split_large(&mut self, canon: &Canon) {
        let mut next = self.rank();
        while next > 0 {
            let i = next - 1;
            if self.is_contiguous() {
                return;
            }
            let (size, stride) = (self.sizes[i], self.strides[i]);
            if size > canon.size_max {
                let found = match stride {
                    1 => largest_aligned_factor(size, canon.size_max, canon.granule),
                    _ => largest_factor(size, canon.size_max),
                };
                if let Some(factor) = found.filter(|f| *f > 1) {
                    let is_far = reduced(stride, factor, canon.modulus) > canon.stride_max;
                    self.split_at(i, if is_far { size / factor } else { factor }, canon.modulus);
                    // The outer part now stands at `i` and is looked at next.
                    next = i + 1;
                    continue;
                }
            }
            next = i;
        }
    }

    /// Makes dimension `i` two, the inner one of this size.
    pub(crate) fn split_at(&mut self, i: usize, inner: u64, modulus: u64) {
        let (size, stride) = (self.sizes[i], self.strides[i]);
        self.sizes[i] = inner;
        self.sizes.insert(i, size / inner);
        self.strides.insert(i, reduced(stride, inner, modulus));
    }

    fn drop_units(&mut self) {
        let kept: Vec<_> = self.dims().filter(|(size, _)| *size != 1).collect();
        (self.sizes, self.strides) = kept.into_iter().unzip();
    }

    fn merge_neighbours(&mut self, canon: &Canon) {
        for i in (1..self.rank()).rev() {
            let product = self.sizes[i - 1] * self.sizes[i];
            let step = i64::try_from(self.sizes[i]).ok().and_then(|s| s.checked_mul(self.strides[i]));
            let is_small = product <= canon.size_max || self.is_contiguous();
            if is_small && step == Some(self.strides[i - 1]) {
                self.sizes[i - 1] = product;
                self.strides[i - 1] = self.strides[i];
                self.sizes.remove(i);
                self.strides.remove(i);
            }
        }
    }

    /// The pattern with one more dimension around it.
    pub(crate) fn under(&self, size: u64, stride: i64) -> Pattern {
        let mut pattern = self.clone();
        pattern.sizes.insert(0, size);
        pattern.strides.insert(0, stride);
        pattern
    }

    /// The pattern with dimensions of size 1 in front, up to this rank.
    pub(crate) fn padded(&self, rank: usize) -> Pattern {
        let missing = rank.saturating_sub(self.rank());
        let mut pattern = self.clone();
        pattern.sizes.splice(0..0, std::iter::repeat_n(1, missing));
        pattern.strides.splice(0..0, std::iter::repeat_n(0, missing));
        pattern
    }
}

/// `stride * factor`, modulo the elements of the buffer where they are known.
pub(crate) fn reduced(stride: i64, factor: u64, modulus: u64) -> i64 {
    let product = i128::from(stride) * i128::from(factor);
    let product = if modulus > 1 { product % i128::from(modulus) } else { product };
    // Callers keep `size * stride` within 64 bits, and the factor divides the size.
    i64::try_from(product).unwrap_or(i64::MAX)
}
