//! Resource tables for terminals.

use std::fmt::Write;

use crate::resource::{Resource, ResourceKind};

/// Cells of a bar.
const BAR: u64 = 10;

/// What stands in the columns, in order.
const COLUMNS: [(ResourceKind, &str); 6] = [
    (ResourceKind::ShimBds, "BDs"),
    (ResourceKind::PushRuns, "runs"),
    (ResourceKind::ShimMm2s, "MM2S"),
    (ResourceKind::ShimS2mm, "S2MM"),
    (ResourceKind::L2Bytes, "L2"),
    (ResourceKind::L1Bytes, "L1"),
];

/// One line per launch: a bar for what is fullest, and what is used of the resources that matter most; what is allowed
/// stands in the head.
pub fn render<'l>(launches: impl Iterator<Item = (&'l str, &'l [Resource])> + Clone) -> String {
    let find = |resources: &'l [Resource], kind| resources.iter().find(move |r| r.kind == kind);
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut head = vec!["launch".to_string(), "fullest".to_string()];
    let mut shown = Vec::new();
    for (kind, label) in COLUMNS {
        if let Some(first) = launches.clone().find_map(|(_, resources)| find(resources, kind)) {
            head.push(format!("{label}/{}", amount(first.kind, first.allowed)));
            shown.push(kind);
        }
    }
    for (name, resources) in launches {
        let fullest = fullest(resources)
            .map_or(String::new(), |r| format!("{} {:.0}% {}", bar(r), 100.0 * fullness(r), r.kind.as_str()));
        let mut row = vec![name.to_string(), fullest];
        row.extend(shown.iter().map(|kind| find(resources, *kind).map_or("-".to_string(), used)));
        rows.push(row);
    }
    let mut out = String::new();
    if rows.is_empty() {
        return out;
    }
    let width = |i: usize| rows.iter().chain([&head]).map(|r| r[i].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    for row in std::iter::once(&head).chain(&rows) {
        let mut line = String::new();
        for (i, cell) in row.iter().enumerate() {
            let width = widths[i];
            // Words to the left, numbers to the right.
            let _ = if i < 2 { write!(line, "  {cell:<width$}") } else { write!(line, "  {cell:>width$}") };
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// What is over, else the fullest of what comes in degrees.
fn fullest(resources: &[Resource]) -> Option<&Resource> {
    let counts = resources.iter().filter(|r| r.used > r.allowed || r.kind.is_gradual());
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

/// `16.1K`; a plus sign says that there may be more.
fn used(resource: &Resource) -> String {
    let more = if resource.is_partial { "+" } else { "" };
    match resource.kind.is_bytes() {
        true => format!("{:.1}K{more}", resource.used as f64 / 1024.0),
        false => format!("{}{more}", resource.used),
    }
}

fn amount(kind: ResourceKind, number: u64) -> String {
    if kind.is_bytes() { format!("{}K", number / 1024) } else { number.to_string() }
}
