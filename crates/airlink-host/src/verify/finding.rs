//! Differences in words.

use airlink_diag::{Finding, codes};
use airlink_rt::compare::{Comparison, Difference};

/// AL0706 for a comparison with a difference.
pub(super) fn differ(headline: String, comparison: &Comparison) -> Finding {
    let mut finding = Finding::error(codes::AL0706, headline);
    if let Some(first) = &comparison.first {
        let place = match &first.position[..] {
            [] => String::new(),
            position => format!(" at {position:?}"),
        };
        finding = finding
            .found(format!(
                "{} (bits {:#x}){place}; {} of {} elements differ",
                short(first.found),
                first.found_bits,
                comparison.differing_count,
                comparison.element_count
            ))
            .allowed(format!("{} (bits {:#x})", short(first.expected), first.expected_bits));
    }
    finding.remedy("`airlink explain AL0706` says what each check means and where to look")
}

/// AL0706 for a launch that gives other results with NaN in fresh buffers than with zeros.
pub(super) fn unfilled(headline: String, comparison: &Comparison) -> Finding {
    let mut finding = Finding::error(codes::AL0706, headline);
    if let Some(first) = &comparison.first {
        let count = comparison.differing_count;
        finding = finding
            .found(format!(
                "{} where fresh buffers hold NaN and {} where they hold zeros, at {:?}; {count} of {} elements differ",
                short(first.found),
                short(first.expected),
                first.position,
                comparison.element_count
            ))
            .allowed("results that don't depend on it");
    }
    finding.remedy(
        "fill the buffer before it is read, by a transfer, a store or a fill kernel; where a kernel was to fill it, compare \
         its C signature with the declaration",
    )
}

/// AL0741 for an element beyond its bound.
pub(super) fn beyond(headline: String, first: &Difference, bound: f64, what: &str) -> Finding {
    Finding::error(codes::AL0741, headline)
        .found(format!("{} (bits {:#x}) at {:?}; {what}", short(first.found), first.found_bits, first.position))
        .allowed(format!("{} within {}", short(first.expected), ratio(bound)))
        .remedy("`airlink explain AL0741` says what bounds there are and where to look")
}

/// A bound, or how many times one: three digits tell enough.
pub(super) fn ratio(value: f64) -> String {
    if value.is_finite() { format!("{value:.3e}") } else { "infinitely many".to_string() }
}

/// A number in a few digits; the bits beside it tell it exactly.
fn short(value: f64) -> String {
    let size = value.abs();
    // What an f32 can say needs no more digits than an f32 does.
    let narrow = value as f32;
    let is_narrow = f64::from(narrow) == value;
    match (value == 0.0 || !value.is_finite() || (1e-4..1e9).contains(&size), is_narrow) {
        (true, true) => narrow.to_string(),
        (true, false) => value.to_string(),
        (false, true) => format!("{narrow:e}"),
        (false, false) => format!("{value:e}"),
    }
}

/// AL0712 for elements that hold the poison of both runs.
pub(super) fn unwritten(name: &str, writers: &[&str], count: u64, index: u64, position: &[u64]) -> Finding {
    let elements = if count == 1 { "1 element".to_string() } else { format!("{count} elements") };
    let place = if position.len() > 1 { format!("{position:?}") } else { index.to_string() };
    Finding::warning(codes::AL0712, format!("{elements} of `{name}` were never written"))
        .found(format!("the first is element {place}"))
        .remedy(crate::run::unwritten_remedy(writers))
}
