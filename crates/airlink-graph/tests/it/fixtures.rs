//! The project's own graphs are read without a finding.

use airlink_diag::Findings;

use crate::support::lines;

#[test]
fn graphs_of_the_project() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/graphs");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "toml") {
            let mut findings = Findings::default();
            let file = findings.sources.add(path.display().to_string(), std::fs::read_to_string(&path).unwrap());
            let graph = airlink_graph::read(file, &mut findings);
            assert!(graph.is_ok() && findings.iter().count() == 0, "{:?}", lines(&findings));
            count += 1;
        }
    }
    assert!(count >= 10, "{count}");
}

/// Codes that the reader raises without looking at kernels.
const READER_CODES: &[&str] =
    &["AL0101", "AL0103", "AL0104", "AL0106", "AL0107", "AL0108", "AL0109", "AL0201", "AL0202", "AL0221"];

#[test]
fn bad_graphs_get_the_code_of_their_folder() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bad");
    let mut seen = std::collections::BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let code = name.split('-').next().unwrap_or_default().to_string();
        let graph = path.join("graph.toml");
        // A case about a kernel or an option may carry one of these codes too.
        if !READER_CODES.contains(&code.as_str()) || !graph.is_file() || path.join("cmd").is_file() {
            continue;
        }
        let mut findings = Findings::default();
        let file = findings.sources.add("graph.toml", std::fs::read_to_string(graph).unwrap());
        if airlink_graph::read(file, &mut findings).is_err() {
            let found: Vec<_> = findings.iter().map(|f| f.code.name()).collect();
            assert_eq!(found, [code.as_str()], "{name}");
            seen.insert(code);
        }
    }
    assert_eq!(seen.iter().map(String::as_str).collect::<Vec<_>>(), READER_CODES);
}
