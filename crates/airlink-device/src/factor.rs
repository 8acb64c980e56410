//! Factors of sizes and trip counts.

/// Steps that a search takes at most; what needs more is not a size that a device has.
const STEPS_MAX: u64 = 1 << 16;

/// The largest factor of `n` that is no larger than `max`; `None` if there is none or the search is too long.
pub fn largest_factor(n: u64, max: u64) -> Option<u64> {
    if n == 0 || max == 0 {
        return None;
    }
    if n <= max {
        return Some(n);
    }
    let mut best = 1;
    let mut low = 2;
    while low <= max && low <= n / low {
        if low > STEPS_MAX {
            return None;
        }
        if n.is_multiple_of(low) {
            // `n / low` falls as `low` grows: the first that fits is the largest.
            if n / low <= max {
                return Some(n / low);
            }
            best = low;
        }
        low += 1;
    }
    Some(best)
}

/// The same among the multiples of `granule`.
pub fn largest_aligned_factor(n: u64, max: u64, granule: u64) -> Option<u64> {
    if granule <= 1 {
        return largest_factor(n, max);
    }
    // A multiple of the granule divides `n` only if its quotient by the granule divides that of `n`.
    if !n.is_multiple_of(granule) {
        return None;
    }
    largest_factor(n / granule, max / granule).map(|f| f * granule)
}
