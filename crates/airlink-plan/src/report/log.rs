//! The outcome log: what was applied, skipped or refused, why, and what it changed, in Markdown.

use std::collections::BTreeSet;
use std::fmt::Write;

use airlink_diag::Findings;
use airlink_diag::render::JsonFinding;
use airlink_graph::{KSplit, LaunchGraph, NSplit, RowSplit};
use indexmap::IndexSet;

use super::names::{extern_renames, local_renames, objects, origin};
use super::splits::splits_shown;
use super::{Totals, count, finding_counts, findings_shown};
use crate::plan::bytes;
use crate::{CutReason, ElfPlan, Plan, PlanOptions};

/// How a run came out.
pub struct Outcome<'a> {
    /// `stitch` or `plan`.
    pub command: &'a str,
    /// The graph's file, as the user wrote it.
    pub path: &'a str,
    /// What the run came to know before it ended.
    pub graph: Option<&'a LaunchGraph>,
    pub plan: Option<&'a Plan>,
    pub options: &'a PlanOptions,
    pub findings: &'a Findings,
    /// What it writes besides the log; none where it failed.
    pub files: &'a [OutputFile],
}

/// A file that a run writes.
pub struct OutputFile {
    /// Without the folder.
    pub name: String,
    pub size_bytes: u64,
}

/// The log as Markdown: a table per kind of decision. A run that failed says what failed.
pub fn log(outcome: &Outcome<'_>) -> String {
    let mut out = String::new();
    let failed = outcome.findings.has_errors();
    let verdict = if failed { "failed" } else { "done" };
    let findings = finding_counts(outcome.findings);
    let file = outcome.path.rsplit('/').next().unwrap_or_default();
    let name = outcome.graph.map_or(file, |g| &g.name.value);
    let _ = writeln!(out, "# {} of {}: {verdict}\n", outcome.command, code(name));
    let device = outcome.plan.and_then(|p| p.device.as_deref()).map_or(String::new(), |d| format!("For {d}. "));
    let wrote = match (failed, outcome.command) {
        (true, "stitch") => " Nothing was written but this log.",
        _ => "",
    };
    let _ = writeln!(out, "{device}Findings: {findings}.{wrote}");
    if failed {
        all_findings(&mut out, outcome);
    }
    if let (Some(plan), Some(graph)) = (outcome.plan, outcome.graph) {
        numbers(&mut out, &Totals::of(plan, graph));
        fusion(&mut out, plan);
        moves(&mut out, plan);
        renames(&mut out, plan);
        splits(&mut out, outcome, plan, graph);
    }
    if !failed {
        all_findings(&mut out, outcome);
    }
    let files: Vec<[String; 2]> = outcome.files.iter().map(|f| [code(&f.name), f.size_bytes.to_string()]).collect();
    if !files.is_empty() {
        out.push_str("\n## Files\n");
        table(&mut out, ["file", "bytes"], &files);
    }
    out
}

/// Each number beside what it would be with one launch a call and the kernels' own names.
fn numbers(out: &mut String, totals: &Totals) {
    out.push_str("\n## Numbers\n");
    let change = |before: usize, after: usize| match before.cmp(&after) {
        std::cmp::Ordering::Equal => "0".to_string(),
        std::cmp::Ordering::Greater => format!("-{}", before - after),
        std::cmp::Ordering::Less => format!("+{}", after - before),
    };
    let counted = |what: &str, before: usize, after: usize| {
        [what.to_string(), before.to_string(), after.to_string(), change(before, after)]
    };
    let (apart, together) = (totals.crossing_bytes_apart, totals.crossing_bytes);
    let percent = match u128::from(apart.abs_diff(together)) * 100 / u128::from(apart.max(1)) {
        0 => "0 %".to_string(),
        n => format!("{}{n} %", if together < apart { "-" } else { "+" }),
    };
    let rows = [
        counted("calls a run", totals.launch_count, totals.call_count),
        counted("ELFs", totals.launch_count, totals.elf_count),
        ["bytes that cross a run, static ones aside".to_string(), bytes(apart), bytes(together), percent],
        counted("kernel objects", totals.objects_named, totals.object_count),
        counted("symbols of objects renamed", 0, totals.externs_renamed),
        counted("local names renamed", 0, totals.locals_renamed),
    ];
    table(out, ["", "one launch a call", "as planned", "change"], &rows);
}

fn fusion(out: &mut String, plan: &Plan) {
    out.push_str("\n## Fusion\n");
    let row = |elf: &ElfPlan| {
        let fused = match elf.launches.len() {
            1 => "not fused: one launch".to_string(),
            n => format!("applied: {n} launches in one call"),
        };
        let names: Vec<String> = elf.launches.iter().map(|l| code(&l.name)).collect();
        let next = match &elf.cut {
            CutReason::Given => "as the graph says",
            CutReason::HostStep { .. } | CutReason::FuseNever(_) => "skipped",
            CutReason::Iteration { .. } | CutReason::BeforeLayer { .. } => "skipped: ELFs are shared",
            CutReason::Limit { .. } => "refused: a limit",
            CutReason::Objective { .. } => "refused: worse by the objective",
            CutReason::EndOfProgram => "nothing follows",
        };
        [
            code(&elf.name),
            fused,
            elf.calls.len().to_string(),
            names.join(" "),
            next.to_string(),
            prose(&elf.cut.to_string()),
        ]
    };
    let rows: Vec<_> = plan.elfs.iter().map(row).collect();
    table(out, ["ELF", "fusion", "calls", "launches", "merge with what follows", "why it ends"], &rows);
}

fn moves(out: &mut String, plan: &Plan) {
    if plan.moves.is_empty() {
        return;
    }
    out.push_str("\n## Moves\n");
    let row = |m: &airlink_graph::Move| [code(&m.step), code(&m.before), "applied: independent steps".to_string()];
    let rows: Vec<_> = plan.moves.iter().map(row).collect();
    table(out, ["step", "now before", "outcome"], &rows);
}

fn renames(out: &mut String, plan: &Plan) {
    out.push_str("\n## Renames\n");
    let mut externs = Vec::new();
    let mut locals = Vec::new();
    // ELFs share objects: each once.
    let mut files = IndexSet::new();
    for elf in &plan.elfs {
        for r in extern_renames(elf) {
            let file = |f: Option<&str>| f.map_or("none".to_string(), code);
            let launches: Vec<String> = r.launches.iter().map(|l| code(l)).collect();
            externs.push([
                code(&elf.name),
                code(&format!("@{}", r.from)),
                code(&format!("@{}", r.to)),
                file(r.object_from),
                file(r.object_to),
                launches.join(" "),
            ]);
        }
        for (launch, names) in local_renames(elf) {
            let list: Vec<String> =
                names.iter().map(|(_, from, to)| format!("{} → {}", code(from), code(to))).collect();
            locals.push([code(&elf.name), code(launch), names.len().to_string(), list.join(", ")]);
        }
        for object in objects(plan, elf).filter(|o| o.file.is_some()) {
            let file = object.file.as_deref().map_or(String::new(), code);
            files.insert([file, prose(&origin(object)), count(object.symbols.len(), "symbol", "s")]);
        }
    }
    if externs.is_empty() {
        out.push_str("\nNo symbol of an object needed another name.\n");
    } else {
        table(out, ["ELF", "extern", "becomes", "object", "becomes", "launches"], &externs);
    }
    let files: Vec<[String; 3]> = files.into_iter().collect();
    if !files.is_empty() {
        table(out, ["object", "where it comes from", "it defines"], &files);
    }
    if !locals.is_empty() {
        table(out, ["ELF", "launch", "local names", "from and to"], &locals);
    }
}

fn splits(out: &mut String, outcome: &Outcome<'_>, plan: &Plan, graph: &LaunchGraph) {
    out.push_str("\n## Splits\n");
    let mut rows = Vec::new();
    for split in plan.elfs.iter().flat_map(splits_shown) {
        rows.push([
            code(split.launch),
            format!("applied: {}", prose(&split.what)),
            split.before.clone(),
            split.after.clone(),
            split.changes(),
            prose(split.reason),
        ]);
    }
    let no_k = |l: &airlink_graph::Launch| l.k_split.as_ref().is_some_and(|k| k.value == KSplit::Off);
    let no_rows = |l: &airlink_graph::Launch| l.row_split.as_ref().is_some_and(|r| r.value == RowSplit::Off);
    let no_n = |l: &airlink_graph::Launch| l.n_split.as_ref().is_some_and(|n| n.value == NSplit::Off);
    let is_off = |l: &&airlink_graph::Launch| no_k(l) || no_n(l) || no_rows(l);
    for launch in graph.launches.iter().filter(is_off) {
        let kinds = [
            (no_k(launch), "K", "k_split"),
            (no_n(launch), "columns", "n_split"),
            (no_rows(launch), "rows", "row_split"),
        ];
        for (is_off, what, key) in kinds {
            let why = format!("the graph says `{key} = \"off\"`");
            let row =
                [code(&launch.name.value), format!("off: {what}"), String::new(), String::new(), String::new(), why];
            rows.extend(is_off.then_some(row));
        }
    }
    if rows.is_empty() {
        out.push_str("\nNone applied.\n");
    } else {
        table(out, ["launch", "outcome", "before", "after", "resources", "why"], &rows);
    }
    let options = outcome.options;
    let kinds = [
        (options.has_no_k_split, "K is", "k"),
        (options.has_no_n_split, "Columns are", "n"),
        (options.has_no_row_split, "Rows are", "row"),
    ];
    for (_, what, key) in kinds.iter().filter(|(is_off, ..)| *is_off) {
        let _ = writeln!(out, "\n{what} split nowhere: `--{key}-split off`.");
    }
    if kinds.iter().any(|(is_off, ..)| !is_off) {
        let names = |elf: &ElfPlan| splits_shown(elf).iter().map(|s| s.launch.to_string()).collect::<Vec<_>>();
        let split: BTreeSet<String> = plan.elfs.iter().flat_map(names).collect();
        let all = plan.elfs.iter().flat_map(|e| &e.launches).map(|l| graph.launch(l.launch));
        let rest = all.filter(|l| !is_off(l) && !split.contains(&l.name.value)).count();
        let _ = writeln!(out, "\nNot needed: {}.", count(rest, "launch", "es"));
    }
}

fn all_findings(out: &mut String, outcome: &Outcome<'_>) {
    let list = findings_shown(outcome.findings, outcome.path);
    if list.is_empty() {
        return;
    }
    out.push_str("\n## Findings\n");
    let row = |f: JsonFinding| {
        let place = f.spans.iter().find(|s| s.primary).or(f.spans.first());
        let place = place.map_or(String::new(), |s| code(&format!("{}:{}:{}", s.file, s.line, s.column)));
        let text = |t: &Option<String>| t.as_deref().map_or(String::new(), prose);
        [
            f.severity.to_string(),
            f.code.to_string(),
            place,
            prose(&f.headline),
            text(&f.found),
            text(&f.allowed),
            text(&f.remedy),
        ]
    };
    let rows: Vec<_> = list.into_iter().map(row).collect();
    table(out, ["severity", "code", "place", "what", "found", "allowed", "help"], &rows);
}

/// A table; its cells are Markdown already.
fn table<const N: usize>(out: &mut String, head: [&str; N], rows: &[[String; N]]) {
    let _ = writeln!(out, "\n| {} |\n|{}", head.join(" | "), "---|".repeat(N));
    for row in rows {
        let _ = writeln!(out, "| {} |", row.join(" | "));
    }
}

/// A name as code in a cell.
fn code(name: &str) -> String {
    if name.contains('`') { prose(&name.replace('`', "'")) } else { prose(&format!("`{name}`")) }
}

/// Text in which names stand in backticks, for a cell: nothing in it is markup or ends the cell.
fn prose(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let parts: Vec<&str> = text.split('`').collect();
    for (i, part) in parts.iter().enumerate() {
        // A backtick without another is one.
        let is_last_open = i + 1 == parts.len() && i % 2 == 1;
        if i > 0 {
            out.push_str(if is_last_open { "\\`" } else { "`" });
        }
        let is_code = i % 2 == 1 && !is_last_open;
        for c in part.chars() {
            match c {
                '|' => out.push_str("\\|"),
                '<' if !is_code => out.push_str("&lt;"),
                '*' | '[' | '\\' if !is_code => out.extend(['\\', c]),
                c if c.is_control() => out.push(' '),
                c => out.push(c),
            }
        }
    }
    out
}
