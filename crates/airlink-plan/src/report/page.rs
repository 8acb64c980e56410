//! The plan as a page that stands alone: no scripts, no files beside it; for a screen, a phone and paper.

use airlink_diag::Findings;
use airlink_diag::render::{JsonFinding, JsonSpan};
use airlink_graph::LaunchGraph;

use super::markup::Markup;
use super::{Totals, count, diagram, finding_counts, findings_shown, resources, tables};
use crate::Plan;
use crate::plan::bytes;

/// The plan as one page of HTML, which is well-formed XML too: numbers, findings, the launch graph drawn, cuts with
/// their reasons, resources, arguments, objects, renames, splits and moves.
///
/// Equal plans give equal pages.
pub fn html(plan: &Plan, graph: &LaunchGraph, findings: &Findings) -> String {
    let mut out = Markup::html();
    out.element("html", &[("lang", "en"), ("xmlns", "http://www.w3.org/1999/xhtml")], |out| {
        out.element("head", &[], |out| {
            out.void("meta", &[("charset", "utf-8")]);
            out.void("meta", &[("name", "viewport"), ("content", "width=device-width, initial-scale=1")]);
            out.void("meta", &[("name", "color-scheme"), ("content", "light dark")]);
            out.leaf("title", &[], &format!("{}: plan", plan.graph)).style(include_str!("page.css"));
        });
        out.element("body", &[], |out| {
            out.element("main", &[], |out| body(out, plan, graph, findings));
        });
    });
    out.finish()
}

fn body(out: &mut Markup, plan: &Plan, graph: &LaunchGraph, findings: &Findings) {
    out.element("header", &[], |out| {
        out.leaf("h1", &[], &plan.graph);
        out.leaf("p", &[("class", "about")], &about(plan));
        contents(out, plan, findings);
    });
    numbers(out, plan, graph, findings);
    if findings.iter().next().is_some() {
        let list = findings_shown(findings, findings.sources.name(graph.file));
        section(out, "findings", "Findings", |out| list.iter().for_each(|f| one_finding(out, f)));
    }
    section(out, "graph", "Launch graph", |out| diagram::diagram(out, plan, graph));
    section(out, "cuts", "ELFs and cuts", |out| tables::cuts(out, plan, graph));
    if plan.elfs.iter().any(|e| e.resources.is_some()) {
        section(out, "resources", "Resources", |out| resources::resources(out, plan));
    }
    if has_splits(plan) {
        section(out, "splits", "Splits", |out| tables::splits(out, plan));
    }
    if !plan.moves.is_empty() {
        section(out, "moves", "Moves", |out| tables::moves(out, plan));
    }
    section(out, "arguments", "Arguments", |out| tables::arguments(out, plan, graph));
    section(out, "names", "Objects and renames", |out| tables::names(out, plan, graph));
}

fn has_splits(plan: &Plan) -> bool {
    plan.elfs.iter().any(|e| !super::splits::splits_shown(e).is_empty())
}

/// What the plan is for.
fn about(plan: &Plan) -> String {
    let toolchain = plan.elfs.iter().find_map(|e| e.resources.as_ref()).map(|r| r.toolchain.as_str());
    match (&plan.device, toolchain) {
        (Some(device), Some(toolchain)) => format!("Plan for {device}, by the rules of {toolchain}"),
        (Some(device), None) => format!("Plan for {device}"),
        (None, _) => "Plan; no device is named, so no limits are judged".to_string(),
    }
}

fn contents(out: &mut Markup, plan: &Plan, findings: &Findings) {
    let has_resources = plan.elfs.iter().any(|e| e.resources.is_some());
    let links = [
        (findings.iter().next().is_some(), "#findings", "Findings"),
        (true, "#graph", "Launch graph"),
        (true, "#cuts", "ELFs and cuts"),
        (has_resources, "#resources", "Resources"),
        (has_splits(plan), "#splits", "Splits"),
        (!plan.moves.is_empty(), "#moves", "Moves"),
        (true, "#arguments", "Arguments"),
        (true, "#names", "Objects and renames"),
    ];
    out.element("nav", &[("aria-label", "Contents")], |out| {
        for (_, target, text) in links.iter().filter(|(is_there, ..)| *is_there) {
            out.leaf("a", &[("href", target)], text).text(" ");
        }
    });
}

fn section(out: &mut Markup, id: &'static str, title: &str, content: impl FnOnce(&mut Markup)) {
    out.element("section", &[("id", id)], |out| {
        out.leaf("h2", &[], title);
        content(out);
    });
}

/// The numbers that people ask for first, each beside what it would be with one launch a call.
fn numbers(out: &mut Markup, plan: &Plan, graph: &LaunchGraph, findings: &Findings) {
    let totals = Totals::of(plan, graph);
    let program_count = count(totals.elf_count, "ELF", "s");
    let tiles = [
        ("Launches", totals.launch_count.to_string(), format!("and {}", count(graph.hosts.len(), "host step", "s"))),
        (
            "Calls a run",
            totals.call_count.to_string(),
            format!("of {program_count}; {} one by one", totals.launch_count),
        ),
        (
            "Bytes that cross a run",
            bytes(totals.crossing_bytes),
            format!("{} one by one; static ones not counted", bytes(totals.crossing_bytes_apart)),
        ),
        (
            "Symbols renamed",
            totals.externs_renamed.to_string(),
            format!("of objects, and {}", count(totals.locals_renamed, "local name", "s")),
        ),
        ("Findings", findings.iter().count().to_string(), finding_counts(findings)),
    ];
    out.element("dl", &[("class", "numbers")], |out| {
        for (name, number, text) in &tiles {
            out.element("div", &[], |out| {
                out.leaf("dt", &[], name).leaf("dd", &[("class", "big")], number).leaf("dd", &[], text);
            });
        }
    });
}

fn one_finding(out: &mut Markup, finding: &JsonFinding) {
    let class = match finding.severity {
        "error" => "finding error",
        "warning" => "finding warning",
        _ => "finding note",
    };
    out.element("article", &[("class", class)], |out| {
        out.element("h3", &[], |out| {
            out.leaf("span", &[("class", "badge")], &format!("{} {}", finding.severity, finding.code)).text(" ");
            out.prose(&finding.headline);
        });
        let numbers = [("found", &finding.found), ("allowed", &finding.allowed), ("from", &finding.source)];
        if numbers.iter().any(|(_, n)| n.is_some()) {
            out.element("p", &[("class", "limits")], |out| {
                for (name, text) in numbers.iter().filter_map(|(name, n)| Some((name, n.as_ref()?))) {
                    out.element("span", &[], |out| {
                        out.leaf("b", &[], name).text(" ").prose(text);
                    });
                }
            });
        }
        if let Some(remedy) = &finding.remedy {
            out.element("p", &[("class", "remedy")], |out| {
                out.leaf("b", &[], "help").text(" ").prose(remedy);
            });
        }
        if !finding.spans.is_empty() {
            out.element("ul", &[("class", "places")], |out| {
                finding.spans.iter().for_each(|span| place(out, span));
            });
        }
    });
}

fn place(out: &mut Markup, span: &JsonSpan) {
    out.element("li", &[], |out| {
        out.leaf("code", &[], &format!("{}:{}:{}", span.file, span.line, span.column)).text(" ");
        out.prose(&span.label);
    });
}
