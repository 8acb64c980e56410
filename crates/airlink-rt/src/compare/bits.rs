//! Distances between bit patterns.

use crate::element::Element;

/// Steps from one float to the other through all values between; 0 for 0 and -0. `None` for integers, and if either
/// is NaN.
pub fn ulp_distance(element: Element, a_bits: u64, b_bits: u64) -> Option<u64> {
    if !element.is_float() || is_nan(element, a_bits) || is_nan(element, b_bits) {
        return None;
    }
    Some(u64::try_from((rank(element, a_bits) - rank(element, b_bits)).unsigned_abs()).unwrap_or(u64::MAX))
}

pub(super) fn both_nan(element: Element, a_bits: u64, b_bits: u64) -> bool {
    element.is_float() && is_nan(element, a_bits) && is_nan(element, b_bits)
}

fn is_nan(element: Element, bits: u64) -> bool {
    element.value_of_bits(bits).is_nan()
}

/// The number of a float when all are counted in order from 0.
fn rank(element: Element, bits: u64) -> i128 {
    let sign = 1u64 << (element.bits() - 1);
    let magnitude = i128::from(bits & !sign);
    if bits & sign != 0 { -magnitude } else { magnitude }
}
