//! Resource tables for terminals.

use std::fmt::Write;

use crate::resource::{Resource, ResourceKind};

/// Cells of a bar.
const BAR: u64 = 10;

/// One line per launch: what is used and allowed of the resources that matter most, with a bar for the fullest.
pub fn render<'l>(launches: impl Iterator<Item = (&'l str, &'l [Resource])> + Clone) -> String {
    let mut out = String::new();
    let name_width = launches.clone().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, resources) in launches {
        let Some(fullest) = fullest(resources) else { continue };
        let _ = write!(
            out,
            "  {name:name_width$}  {} {:>4.0} % {:10}",
            bar(fullest),
            100.0 * fullness(fullest),
            fullest.kind.as_str()
        );
        for kind in [
            ResourceKind::ShimBds,
            ResourceKind::PushRuns,
            ResourceKind::ShimMm2s,
            ResourceKind::ShimS2mm,
            ResourceKind::L2Bytes,
            ResourceKind::L1Bytes,
        ] {
            if let Some(r) = resources.iter().find(|r| r.kind == kind) {
                let _ = write!(out, "  {} {}", kind.as_str(), used(r));
            }
        }
        out.push('\n');
    }
    out
}

/// What is over, else the fullest of what comes in degrees: a herd that takes all columns or both channels is not tight.
fn fullest(resources: &[Resource]) -> Option<&Resource> {
    let by_degrees = |k: ResourceKind| k.is_bytes() || matches!(k, ResourceKind::ShimBds | ResourceKind::PushRuns);
    let counts = resources.iter().filter(|r| r.used > r.allowed || by_degrees(r.kind));
    counts.max_by(|a, b| fullness(a).total_cmp(&fullness(b)))
}

fn fullness(resource: &Resource) -> f64 {
    if resource.allowed == 0 { 0.0 } else { resource.used as f64 / resource.allowed as f64 }
}

/// `[####......]`; one that is over has an exclamation mark at its end.
fn bar(resource: &Resource) -> String {
    let full = (resource.used.saturating_mul(BAR)).div_ceil(resource.allowed.max(1)).min(BAR) as usize;
    let mut cells: String = "#".repeat(full) + &".".repeat(BAR as usize - full);
    if resource.used > resource.allowed {
        cells.pop();
        cells.push('!');
    }
    format!("[{cells}]")
}

fn used(resource: &Resource) -> String {
    let more = if resource.is_partial { "+" } else { "" };
    match resource.kind.is_bytes() {
        true => format!("{}{more}/{}K", kib(resource.used), resource.allowed / 1024),
        false => format!("{}{more}/{}", resource.used, resource.allowed),
    }
}

fn kib(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1024.0)
}
