//! Findings as text: for people, as one line, or as JSON.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use serde::Serialize;

use crate::{FileId, Finding, Label, Severity, Sources, Span};

/// One finding with its source lines, its numbers and its remedy; ends with a line break.
///
/// `color` adds ANSI colours. `width` is the terminal's, in columns.
pub fn human(finding: &Finding, sources: &Sources, color: bool, width: usize) -> String {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let mut group = Group::with_title(level.primary_title(&finding.headline).id(finding.code.name()));
    for (file, labels) in by_file(finding) {
        let mut snippet = Snippet::source(sources.text(file)).path(sources.name(file)).line_start(1).fold(true);
        for label in labels {
            let kind = if label.primary { AnnotationKind::Primary } else { AnnotationKind::Context };
            snippet = snippet.annotation(kind.span(visible(label.span, sources)).label(&label.text));
        }
        group = group.element(snippet);
    }
    for line in numbers(finding) {
        group = group.element(Level::NOTE.message(line));
    }
    if let Some(remedy) = &finding.remedy {
        group = group.element(Level::HELP.message(remedy));
    }
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let mut text = renderer.term_width(width).render(&[group]);
    text.push('\n');
    text
}

/// `file:line:column: severity[code]: headline`; without a place, only what follows it.
pub fn short(finding: &Finding, sources: &Sources) -> String {
    let place = match finding.primary_span() {
        Some(span) => {
            let at = sources.line_column(span.file, span.start);
            format!("{}:{}:{}: ", sources.name(span.file), at.line, at.column)
        }
        None => String::new(),
    };
    format!("{place}{}[{}]: {}\n", finding.severity.as_str(), finding.code, one_line(&finding.headline))
}

/// One JSON object on one line; the shape is fixed by the command's manual.
pub fn json(finding: &Finding, sources: &Sources) -> String {
    let mut text = serde_json::to_string(&to_json(finding, sources)).expect("strings and numbers serialise");
    text.push('\n');
    text
}

/// A finding as the plan's JSON and `--message-format json` show it.
#[derive(Clone, Debug, Serialize)]
pub struct JsonFinding {
    pub code: &'static str,
    pub severity: &'static str,
    pub headline: String,
    pub spans: Vec<JsonSpan>,
    pub found: Option<String>,
    pub allowed: Option<String>,
    pub source: Option<String>,
    pub remedy: Option<String>,
}

/// A place; lines and columns count from 1, the end is exclusive.
#[derive(Clone, Debug, Serialize)]
pub struct JsonSpan {
    pub file: String,
    pub line: usize,
    pub column: usize,
    pub end_line: usize,
    pub end_column: usize,
    pub label: String,
    pub primary: bool,
}

/// The finding as plain data.
pub fn to_json(finding: &Finding, sources: &Sources) -> JsonFinding {
    JsonFinding {
        code: finding.code.name(),
        severity: finding.severity.as_str(),
        headline: finding.headline.clone(),
        spans: finding.labels.iter().map(|l| json_span(l, sources)).collect(),
        found: finding.found.clone(),
        allowed: finding.allowed.clone(),
        source: finding.source.clone(),
        remedy: finding.remedy.clone(),
    }
}

fn json_span(label: &Label, sources: &Sources) -> JsonSpan {
    let Span { file, start, end } = label.span;
    let (from, to) = (sources.line_column(file, start), sources.line_column(file, end));
    JsonSpan {
        file: sources.name(file).to_string(),
        line: from.line,
        column: from.column,
        end_line: to.line,
        end_column: to.column,
        label: label.text.clone(),
        primary: label.primary,
    }
}

/// Labels grouped by file; the file of the primary label first, then in order of mention.
fn by_file(finding: &Finding) -> Vec<(FileId, Vec<&Label>)> {
    let mut groups: Vec<(FileId, Vec<&Label>)> = Vec::new();
    let lead = finding.primary_span().map(|s| s.file);
    let mut labels: Vec<&Label> = finding.labels.iter().collect();
    labels.sort_by_key(|l| Some(l.span.file) != lead);
    for label in labels {
        match groups.iter_mut().find(|(f, _)| *f == label.span.file) {
            Some((_, list)) => list.push(label),
            None => groups.push((label.span.file, vec![label])),
        }
    }
    groups
}

/// The span in whole characters, made at least one wide where the file has one there, and cut at the end of its first
/// line: a table that spans a screen is named by its first line.
fn visible(span: Span, sources: &Sources) -> std::ops::Range<usize> {
    let text = sources.text(span.file);
    let std::ops::Range { start, mut end } = sources.whole_characters(span);
    if let Some(line_end) = text[start..end].find('\n') {
        end = start + line_end;
    }
    if end == start {
        end = text[start..].chars().next().filter(|c| *c != '\n').map_or(start, |c| start + c.len_utf8());
    }
    start..end
}

fn numbers(finding: &Finding) -> Vec<String> {
    let mut lines = Vec::new();
    match (&finding.found, &finding.allowed) {
        (Some(found), Some(allowed)) => lines.push(format!("found {found}, allowed {allowed}")),
        (Some(found), None) => lines.push(format!("found {found}")),
        (None, Some(allowed)) => lines.push(format!("allowed {allowed}")),
        (None, None) => {}
    }
    lines.extend(finding.source.as_ref().map(|s| format!("limit from {s}")));
    lines
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
