//! The TOML reader on any text.

use airlink_diag::Findings;
use airlink_graph::{GraphFile, StepEntry, read};

use crate::{Outcome, said};

/// Reads `bytes` as a launch graph: refused with errors or read without, places within the text, the same twice; and
/// what is read resolves and plans with kernels that take as many arguments as its launches pass.
pub fn toml_reader(bytes: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(bytes);
    let (first, findings) = read_text(&text);
    assert_eq!(first.is_none(), findings.has_errors(), "read and refused, or neither");
    said::check(&findings);
    let (second, again) = read_text(&text);
    assert_eq!(said::text(&findings), said::text(&again), "two readings differ in what they say");
    let (Some(graph), Some(second)) = (first, second) else { return Outcome::Refused };
    assert_eq!(format!("{graph:?}"), format!("{second:?}"), "two readings differ");
    // Long programs take long and show nothing that short ones don't.
    if graph.steps.len() <= STEPS_MAX {
        crate::planned::plan_read(graph, findings);
    }
    Outcome::Accepted
}

const STEPS_MAX: usize = 64;

fn read_text(text: &str) -> (Option<GraphFile>, Findings) {
    let mut findings = Findings::default();
    let file = findings.sources.add("graph.toml", text);
    let graph = read(file, &mut findings).ok();
    if let Some(graph) = &graph {
        let launch_count = graph.steps.iter().filter(|s| matches!(s, StepEntry::Launch(_))).count();
        assert!(launch_count > 0, "a graph without launches was read");
    }
    (graph, findings)
}
