//! Taking a BD apart whose sizes do not fit their fields.

use super::SHIM_RANK;
use crate::device::Device;
use crate::factor::{largest_aligned_factor, largest_factor};
use crate::pattern::{Pattern, granule, reduced};
use crate::profile::Profile;

/// Takes a shim BD with too large inner sizes apart (S12): by factors where a dimension is free, else by slices of the
/// outermost dimension. `None` if that takes too many BDs.
pub fn decompose(pattern: &Pattern, element_bits: u64, device: &Device, profile: &Profile) -> Option<Vec<Pattern>> {
    let granule = granule(element_bits);
    let mut pattern = pattern.padded(SHIM_RANK);
    if pattern.rank() != SHIM_RANK || !pattern.is_computable() {
        return None;
    }
    let words_max = device.shim.wrap_words_max();
    let elements_max = words_max.checked_mul(32)? / element_bits.max(1);
    for (i, max) in [(3, elements_max), (2, words_max)] {
        factor_into_free(&mut pattern, i, max, granule);
    }
    let outermost = (0..SHIM_RANK).find(|i| pattern.sizes[*i] > 1)?;
    let max = match outermost {
        3 => elements_max / granule * granule,
        2 => words_max,
        _ => return Some(vec![pattern]),
    };
    let size = pattern.sizes[outermost];
    if max == 0 || size.div_ceil(max) > profile.decomposed_bds_max.value {
        return None;
    }
    let slices = (0..size.div_ceil(max)).map(|n| {
        let mut slice = pattern.clone();
        slice.sizes[outermost] = max.min(size - n * max);
        slice
    });
    Some(slices.collect())
}

/// Splits size `i` into two by a factor, if the dimension outside it is free.
fn factor_into_free(pattern: &mut Pattern, i: usize, max: u64, granule: u64) {
    let (size, stride) = (pattern.sizes[i], pattern.strides[i]);
    if size <= max {
        return;
    }
    let Some(free) = (1..i).rev().find(|o| pattern.sizes[*o] == 1) else { return };
    let found = if stride == 1 { largest_aligned_factor(size, max, granule) } else { largest_factor(size, max) };
    let Some(inner) = found.filter(|f| *f > 1) else { return };
    pattern.sizes.remove(free);
    pattern.strides.remove(free);
    // Without the free dimension, `i` stands one further out.
    pattern.sizes[i - 1] = inner;
    pattern.sizes.insert(i - 1, size / inner);
    pattern.strides.insert(i - 1, reduced(stride, inner, 0));
}
