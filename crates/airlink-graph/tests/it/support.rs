//! What the tests share.

use airlink_diag::{Findings, render};
use airlink_graph::GraphFile;

/// Reads `text` as `graph.toml`.
pub fn read(text: &str) -> (Option<GraphFile>, Findings) {
    let mut findings = Findings::default();
    let file = findings.sources.add("graph.toml", text);
    let graph = airlink_graph::read(file, &mut findings).ok();
    (graph, findings)
}

/// Reads `text`, which must be free of findings.
pub fn read_ok(text: &str) -> GraphFile {
    let (graph, findings) = read(text);
    assert_eq!(lines(&findings), Vec::<String>::new());
    graph.unwrap()
}

/// The findings in file order, one line each.
pub fn lines(findings: &Findings) -> Vec<String> {
    let short = |f| render::short(f, &findings.sources).trim_end().to_string();
    findings.in_file_order().into_iter().map(short).collect()
}

/// The codes in file order, as in `error AL0106`.
pub fn codes(findings: &Findings) -> Vec<String> {
    findings.in_file_order().iter().map(|f| format!("{} {}", f.severity.as_str(), f.code)).collect()
}
