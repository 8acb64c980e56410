//! One transfer as the BDs of shim tasks: sizes split to fit their fields, repeats, and what is left over.

use serde::Serialize;

use super::{SHIM_RANK, UnrollReason};
use crate::factor::{largest_aligned_factor, largest_factor};
use crate::fault::{Bound, Fault, Rule, Unit};
use crate::pattern::{Pattern, granule, reduced};
use crate::profile::Profile;

/// A shim BD and how often it is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shape {
    /// The dimensions over BDs, outermost first, in elements.
    pub bd_dims: Pattern,
    /// For each of `bd_dims`.
    pub reasons: Vec<UnrollReason>,
    /// One BD, of rank 4, in elements.
    pub pattern: Pattern,
    /// Runs of one push: the repeat count and one.
    pub runs: u64,
    /// Whether a repeat lies within a dimension that moves, which the hardware does in another order.
    pub is_reordered: bool,
}

impl Shape {
    /// BDs in all.
    pub fn bds(&self) -> u64 {
        self.bd_dims.sizes.iter().fold(1, |n, s| n.saturating_mul(*s))
    }
}

/// Shapes a pattern for a shim channel. `buffer_elements` is 0 if unknown.
///
/// # Errors
/// [`Rule::NoChunk`] if a size has no part that is whole words, [`Rule::TooLarge`] if numbers do not fit 64 bits.
pub fn shape(
    pattern: &Pattern,
    element_bits: u64,
    buffer_elements: u64,
    profile: &Profile,
) -> Result<Shape, Box<Fault>> {
    if !pattern.is_computable() {
        return Err(Box::new(Fault::too_large("the span of a transfer at L3")));
    }
    let mut dims = pattern.padded(SHIM_RANK);
    let is_linear = dims.rank() == SHIM_RANK && dims.is_contiguous_or_repeat();
    if !is_linear {
        if profile.has_outer_rebalance.is_on {
            rebalance_outer(&mut dims, profile);
        }
        split_wraps(&mut dims, granule(element_bits), buffer_elements, profile)?;
    }
    let excess = dims.rank() - SHIM_RANK;
    let inner = Pattern::new(&dims.sizes[excess..], &dims.strides[excess..]);
    let mut shape = Shape {
        bd_dims: Pattern::new(&dims.sizes[..excess], &dims.strides[..excess]),
        reasons: vec![UnrollReason::LargeSize; excess],
        runs: 1,
        is_reordered: false,
        pattern: inner,
    };
    unroll_long_stride(&mut shape, profile);
    take_repeats(&mut shape);
    Ok(shape)
}

/// The largest size that dimension `i` keeps.
fn size_max(i: usize, profile: &Profile) -> u64 {
    let bound = if i == 0 { profile.shim_outer_bound } else { profile.shim_size_bound };
    bound.value.saturating_sub(1)
}

/// Gives part of an outermost size that is too large to its neighbour, if the two are one range.
fn rebalance_outer(dims: &mut Pattern, profile: &Profile) {
    let (outer, next) = (dims.sizes[0], dims.sizes[1]);
    let is_one_range = dims.strides[0] == reduced(dims.strides[1], next, 0);
    if outer <= size_max(0, profile) || !is_one_range {
        return;
    }
    let both = outer * next;
    // The largest outer part keeps the stride between the two short.
    if let Some(outer) = largest_factor(both, size_max(0, profile)).filter(|f| both / f <= size_max(1, profile)) {
        dims.sizes[0] = outer;
        dims.sizes[1] = both / outer;
        dims.strides[0] = reduced(dims.strides[1], both / outer, 0);
    }
}

fn split_wraps(dims: &mut Pattern, granule: u64, modulus: u64, profile: &Profile) -> Result<(), Box<Fault>> {
    let mut next = dims.rank();
    while next > 0 {
        let i = next - 1;
        next = i;
        let (size, stride) = (dims.sizes[i], dims.strides[i]);
        let max = size_max(i, profile);
        if size <= max {
            continue;
        }
        let found = if stride == 1 { largest_aligned_factor(size, max, granule) } else { largest_factor(size, max) };
        let Some(factor) = found else { return Err(Box::new(no_chunk(size, granule, dims.rank() - 1 - i))) };
        if factor == 1 {
            // A prime: whether it fits, or can be taken apart, is judged later.
            continue;
        }
        let is_far = i != 0 && reduced(stride, factor, modulus) > profile.shim_stride_elements_max.value as i64;
        dims.split_at(i, if is_far { size / factor } else { factor }, modulus);
        next = i + 1;
        if let Some(unit) = dims.sizes.iter().position(|s| *s == 1) {
            dims.sizes.remove(unit);
            dims.strides.remove(unit);
            // If that one stood outside, index `i` is now the inner part, which fits, and the outer part comes next.
            next = next.min(dims.rank());
        }
    }
    Ok(())
}

fn no_chunk(size: u64, granule: u64, dim: usize) -> Fault {
    let unit = Unit("elements", "AIRRtToNpuPass.cpp:1649-1818");
    let text = format!("a size of {size} elements has no factor that is a multiple of {granule} and fits a descriptor");
    Fault::new(Rule::NoChunk, "size", size.into(), Bound::MultipleOf(granule.into()), unit).saying(text).at(dim)
}

/// A middle dimension with few steps of a stride that is too long becomes that many BDs.
fn unroll_long_stride(shape: &mut Shape, profile: &Profile) {
    for i in [1, 2] {
        let (size, stride) = (shape.pattern.sizes[i], shape.pattern.strides[i]);
        let is_long = stride > profile.shim_stride_elements_max.value as i64;
        let is_outermost = shape.pattern.sizes[..i].iter().all(|s| *s == 1) && shape.pattern.strides[0] == 0;
        if is_long && is_outermost && size > 1 && size <= profile.stride_unroll_max.value {
            shape.bd_dims.sizes.push(size);
            shape.bd_dims.strides.push(stride);
            shape.reasons.push(UnrollReason::LongStride);
            shape.pattern.sizes[i] = 1;
            shape.pattern.strides[i] = 0;
        }
    }
}

/// The runs of a push: the iteration, and every outer or middle size that only repeats and so leaves the BD.
fn take_repeats(shape: &mut Shape) {
    let Pattern { sizes, strides } = &mut shape.pattern;
    shape.runs = sizes[0];
    if strides[0] == 0 {
        sizes[0] = 1;
    }
    for i in [1, 2] {
        if strides[i] == 0 && sizes[i] > 1 {
            shape.is_reordered |= (0..i).any(|o| sizes[o] > 1);
            shape.runs = shape.runs.saturating_mul(sizes[i]);
            sizes[i] = 1;
        }
    }
}
