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
