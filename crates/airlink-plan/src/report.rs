//! The plan for people who were not there: a page, a drawing for Graphviz, the log of what came out.

mod diagram;
mod dot;
mod flow;
mod log;
mod markup;
mod names;
mod page;
mod resources;
mod splits;
mod tables;

pub use dot::dot;
pub use log::{Outcome, OutputFile, log};
pub use page::html;

use airlink_diag::render::{JsonFinding, to_json};
use airlink_diag::{Findings, Severity};
use airlink_graph::{LaunchGraph, LaunchIdx};
use indexmap::IndexSet;

use crate::cuts::{Costs, CutLimits};
use crate::{Objective, Plan, RenameKind};

/// What a plan comes to, beside what the program is without it: each launch in a call of its own.
pub(crate) struct Totals {
    pub launch_count: usize,
    pub elf_count: usize,
    /// How often a run of the program calls an ELF.
    pub call_count: usize,
    /// Bytes that the host hands over and takes back in a run; static buffers are handed over once and don't count.
    pub crossing_bytes: u64,
    pub crossing_bytes_apart: u64,
    /// Object files that the kernels name.
    pub objects_named: usize,
    /// Object files after renaming.
    pub object_count: usize,
    pub externs_renamed: usize,
    pub locals_renamed: usize,
}

impl Totals {
    pub fn of(plan: &Plan, graph: &LaunchGraph) -> Totals {
        // Of all that costs hold, only the bytes are asked for: these do not depend on the objective or the device.
        let costs = Costs::new(graph, Objective::Bytes, None, CutLimits::none(graph));
        let crossing = |launches: &[LaunchIdx]| costs.part(launches).crossing_bytes;
        let calls = || plan.elfs.iter().flat_map(|e| &e.calls);
        let renames = || plan.elfs.iter().flat_map(|e| &e.renames);
        let named: IndexSet<&String> = plan.objects.iter().filter_map(|o| o.link_with.as_ref()).collect();
        let files: IndexSet<&String> = plan.objects.iter().filter_map(|o| o.file.as_ref()).collect();
        let symbols = plan.objects.iter().flat_map(|o| &o.symbols);
        Totals {
            launch_count: graph.launches.len(),
            elf_count: plan.elfs.len(),
            call_count: calls().count(),
            crossing_bytes: calls().map(|c| crossing(&c.launches)).fold(0, u64::saturating_add),
            crossing_bytes_apart: (0..graph.launches.len())
                .map(|l| crossing(&[LaunchIdx(l)]))
                .fold(0, u64::saturating_add),
            objects_named: named.len(),
            object_count: files.len(),
            externs_renamed: symbols.filter(|(from, to)| **from != to.symbol).count(),
            locals_renamed: renames().filter(|r| matches!(r.kind, RenameKind::Local(_))).count(),
        }
    }
}

/// The findings for a file that others read: errors first, then in file order, and places as seen from the folder of
/// the graph, so that it does not matter where that is.
pub(crate) fn findings_shown(findings: &Findings, graph_path: &str) -> Vec<JsonFinding> {
    let mut list = findings.in_file_order();
    list.sort_by_key(|f| match f.severity {
        Severity::Error => 0,
        Severity::Warning => 1,
        Severity::Note => 2,
    });
    let mut list: Vec<JsonFinding> = list.into_iter().map(|f| to_json(f, &findings.sources)).collect();
    let folder = graph_path.rsplit_once('/').map_or("", |(folder, _)| if folder.is_empty() { "/" } else { folder });
    for span in list.iter_mut().flat_map(|f| &mut f.spans) {
        span.file = seen_from(folder, &span.file);
    }
    list
}

/// A path as seen from a folder, by text alone; the path itself where it cannot be said.
fn seen_from(folder: &str, path: &str) -> String {
    let parts = |path: &str| {
        let mut parts: Vec<String> = Vec::new();
        for part in path.split('/').filter(|p| !p.is_empty() && *p != ".") {
            match parts.last() {
                Some(last) if part == ".." && last != ".." => drop(parts.pop()),
                _ => parts.push(part.to_string()),
            }
        }
        parts
    };
    let (from, to) = (parts(folder), parts(path));
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    if folder.starts_with('/') != path.starts_with('/') || from[shared..].iter().any(|p| p == "..") {
        return path.to_string();
    }
    let up = std::iter::repeat_n("..", from.len() - shared);
    up.chain(to[shared..].iter().map(String::as_str)).collect::<Vec<_>>().join("/")
}

/// `2 errors, 1 warning`, or `none`.
pub(crate) fn finding_counts(findings: &Findings) -> String {
    let severities = [Severity::Error, Severity::Warning, Severity::Note];
    let counts = severities.map(|s| (findings.count(s), s.as_str()));
    let text: Vec<String> = counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| count(*n, what, "s")).collect();
    if text.is_empty() { "none".to_string() } else { text.join(", ") }
}

/// `1 launch`, `2 launches`.
pub(crate) fn count(n: usize, one: &str, plural: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}{plural}") }
}
