//! K written as two dimensions: `[K]` as `[N, K / N]`.

use crate::pattern::granule;

/// K above which older toolchains need the split: 255 runs of 32 elements.
pub const K_UNSPLIT_MAX: u64 = 8160;
/// Outer steps of a split K.
const PARTS_MAX: u64 = 255;
/// Elements of one part: what the wrap field of a shim descriptor holds.
const PART_ELEMENTS_MAX: u64 = 1023;
/// Elements that vector kernels take at a time: parts that are multiples of it are preferred.
const VECTOR_ELEMENTS: u64 = 64;

/// The legal numbers of parts of K elements, ascending.
pub fn k_split_parts(k: u64, element_bits: u64) -> Vec<u64> {
    let granule = granule(element_bits).max(1);
    let is_legal = |n: &u64| k.is_multiple_of(*n) && k / n <= PART_ELEMENTS_MAX && (k / n).is_multiple_of(granule);
    (2..=PARTS_MAX).filter(is_legal).collect()
}

/// The number of parts to take: the smallest whose parts are multiples of 64 elements, else the smallest.
pub fn k_split_best(k: u64, element_bits: u64) -> Option<u64> {
    let legal = k_split_parts(k, element_bits);
    let vectors = legal.iter().find(|n| (k / **n).is_multiple_of(VECTOR_ELEMENTS));
    vectors.or(legal.first()).copied()
}

/// The nearest K that can be split, below and above; none where there is none up to the largest.
pub fn k_split_nearest(k: u64, element_bits: u64) -> (Option<u64>, Option<u64>) {
    let has_split = |k: &u64| k_split_best(*k, element_bits).is_some();
    let largest = PARTS_MAX * PART_ELEMENTS_MAX;
    let below = (1..k.min(largest + 1)).rev().find(has_split);
    let above = (k.saturating_add(1)..=largest).find(has_split);
    (below, above)
}
