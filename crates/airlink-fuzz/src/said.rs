//! What holds of any findings.

use airlink_diag::{Findings, render};

/// Every finding points into its file and renders in each form.
pub fn check(findings: &Findings) {
    for finding in findings.iter() {
        assert!(!finding.headline.is_empty() && !finding.headline.contains('\n'), "headline {:?}", finding.headline);
        for label in &finding.labels {
            let text = findings.sources.text(label.span.file);
            let (start, end) = (label.span.start, label.span.end);
            assert!(start <= end && end <= text.len(), "{start}..{end} of {} bytes", text.len());
            assert!(text.is_char_boundary(start) && text.is_char_boundary(end), "{start}..{end} splits a character");
        }
        assert!(render::human(finding, &findings.sources, false, 100).contains(finding.code.name()));
        assert!(render::short(finding, &findings.sources).ends_with('\n'));
        let json: Result<serde_json::Value, _> = serde_json::from_str(&render::json(finding, &findings.sources));
        assert!(json.is_ok_and(|j| j["code"] == finding.code.name()));
    }
}

/// The findings as one text, to compare two runs by.
pub fn text(findings: &Findings) -> String {
    findings.in_file_order().into_iter().map(|f| render::json(f, &findings.sources)).collect()
}
