//! Differences in words.

use airlink_diag::{Finding, codes};
use airlink_rt::compare::Comparison;

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
                first.found, first.found_bits, comparison.differing_count, comparison.element_count
            ))
            .allowed(format!("{} (bits {:#x})", first.expected, first.expected_bits));
    }
    finding.remedy("`airlink explain AL0706` says what each check means and where to look")
}

/// AL0712 for elements that hold the poison of both runs.
pub(super) fn unwritten(name: &str, count: u64, index: u64, position: &[u64]) -> Finding {
    let elements = if count == 1 { "1 element".to_string() } else { format!("{count} elements") };
    let place = if position.len() > 1 { format!("{position:?}") } else { index.to_string() };
    Finding::warning(codes::AL0712, format!("{elements} of `{name}` were never written"))
        .found(format!("the first is element {place}"))
        .remedy("compare the launch's offsets and sizes with the shape of the argument")
}
