//! Numbers of launches, and the points of each.

use crate::RowPiece;

/// `points` in `count` launches of equal size, or with a last one that has fewer; `None` where that gives another number of
/// launches.
pub(super) fn pieces(points: u64, count: u64) -> Option<Vec<RowPiece>> {
    if count == 0 || points == 0 {
        return None;
    }
    let size = points.div_ceil(count);
    if points.div_ceil(size) != count {
        return None;
    }
    let piece = |first: u64| RowPiece { first, count: size.min(points - first), names: Vec::new() };
    Some((0..count).map(|i| piece(i * size)).collect())
}

/// The numbers of launches from 2 to `most` that [`pieces`] has.
pub(super) fn launch_counts(points: u64, most: u64) -> Vec<u64> {
    (2..=most.min(points)).filter(|n| points.div_ceil(points.div_ceil(*n)) == *n).collect()
}

/// `2 to 5, 8`.
pub(super) fn ranges(numbers: &[u64]) -> String {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for &n in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == n => *last = n,
            _ => runs.push((n, n)),
        }
    }
    let text = |(first, last): &(u64, u64)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last}"),
    };
    match &runs[..] {
        [] => "1: it has one launch point".to_string(),
        runs => runs.iter().map(text).collect::<Vec<_>>().join(", "),
    }
}
