//! The tables of the page.

use std::collections::BTreeSet;

use airlink_graph::{BufferIdx, LaunchGraph, LaunchIdx, Role};

use super::count;
use super::markup::Markup;
use super::names::{extern_renames, local_renames, objects, origin};
use super::splits::{SplitShown, splits_shown};
use crate::plan::bytes;
use crate::{ArgPlan, CallPlan, ElfPlan, ObjectPlan, Plan};

/// A cell of a table.
pub(crate) enum Cell {
    Code(String),
    Number(String),
    /// With names in backticks.
    Prose(String),
}

/// A table that scrolls in a box of its own where it is too wide. The first cell of a row is its header.
pub(crate) fn table(out: &mut Markup, label: &str, head: &[&str], rows: &[Vec<Cell>]) {
    out.element("div", &[("class", "scroll"), ("tabindex", "0"), ("role", "region"), ("aria-label", label)], |out| {
        out.element("table", &[], |out| {
            table_head(out, head, rows.first().map_or(&[], Vec::as_slice));
            out.element("tbody", &[], |out| rows.iter().for_each(|row| table_row(out, row)));
        });
    });
}

fn table_head(out: &mut Markup, head: &[&str], first: &[Cell]) {
    out.element("thead", &[], |out| {
        out.element("tr", &[], |out| {
            for (i, name) in head.iter().enumerate() {
                let class = if matches!(first.get(i), Some(Cell::Number(_))) { "number" } else { "word" };
                out.leaf("th", &[("scope", "col"), ("class", class)], name);
            }
        });
    });
}

fn table_row(out: &mut Markup, row: &[Cell]) {
    out.element("tr", &[], |out| {
        for (i, cell) in row.iter().enumerate() {
            let (class, text) = match cell {
                Cell::Code(text) => ("code", text),
                Cell::Number(text) => ("number", text),
                Cell::Prose(text) => ("word", text),
            };
            let (name, attributes) = match i {
                0 => ("th", &[("scope", "row"), ("class", class)][..]),
                _ => ("td", &[("class", class)][..]),
            };
            out.element(name, attributes, |out| {
                let _ = match cell {
                    Cell::Code(_) => out.leaf("code", &[], text),
                    Cell::Number(_) => out.text(text),
                    Cell::Prose(_) => out.prose(text),
                };
            });
        }
    });
}

/// Which launches share an ELF, how it is called, and why it ends.
pub(crate) fn cuts(out: &mut Markup, plan: &Plan, graph: &LaunchGraph) {
    let row = |elf: &ElfPlan| {
        let names: Vec<String> = elf.launches.iter().map(|l| format!("`{}`", l.name)).collect();
        vec![
            Cell::Code(elf.name.clone()),
            Cell::Prose(elf.cut.to_string()),
            Cell::Number(elf.launches.len().to_string()),
            Cell::Number(elf.calls.len().to_string()),
            Cell::Number(elf.args.len().to_string()),
            Cell::Prose(names.join(", ")),
        ]
    };
    let rows: Vec<_> = plan.elfs.iter().map(row).collect();
    let head = ["ELF", "ends here, since", "launches", "calls", "arguments", "launches in order"];
    table(out, "ELFs and cuts", &head, &rows);
    for elf in plan.elfs.iter().filter(|e| e.calls.len() > 1) {
        out.leaf("h3", &[], &format!("Calls of {}", elf.name));
        calls(out, elf, graph);
    }
}

/// What each call passes, as far as calls differ.
fn calls(out: &mut Markup, elf: &ElfPlan, graph: &LaunchGraph) {
    let passed = |call: usize, arg: usize| elf.calls[call].args.get(arg).copied();
    let varies = |a: &&ArgPlan| (1..elf.calls.len()).any(|c| passed(c, a.index) != passed(0, a.index));
    let varying: Vec<&ArgPlan> = elf.args.iter().filter(varies).collect();
    let head: Vec<String> = varying.iter().map(|a| format!("argument {} ({})", a.index, a.role.as_str())).collect();
    let head: Vec<&str> = ["call"].into_iter().chain(head.iter().map(String::as_str)).collect();
    let name = |buffer: Option<BufferIdx>| buffer.map_or(String::new(), |b| graph.buffer(b).name.clone());
    let row = |call: usize| {
        let first = [Cell::Number((call + 1).to_string())];
        first.into_iter().chain(varying.iter().map(|a| Cell::Code(name(passed(call, a.index))))).collect()
    };
    let rows: Vec<Vec<Cell>> = (0..elf.calls.len()).map(row).collect();
    table(out, &format!("Calls of {}", elf.name), &head, &rows);
}

/// Arguments by role, with sizes.
pub(crate) fn arguments(out: &mut Markup, plan: &Plan, graph: &LaunchGraph) {
    for elf in &plan.elfs {
        out.leaf("h3", &[], &elf.name);
        let label = format!("Arguments of {}", elf.name);
        let region = [("class", "scroll"), ("tabindex", "0"), ("role", "region"), ("aria-label", label.as_str())];
        out.element("div", &region, |out| {
            out.element("table", &[], |out| {
                let head = ["argument", "position", "size", "type", "written by", "read by"];
                let kinds = [Cell::Code(String::new()), Cell::Number(String::new()), Cell::Number(String::new())];
                table_head(out, &head, &kinds);
                for (_, role) in Role::ALL {
                    arguments_of(out, elf, role, graph);
                }
            });
        });
    }
}

fn arguments_of(out: &mut Markup, elf: &ElfPlan, role: Role, graph: &LaunchGraph) {
    let args: Vec<&ArgPlan> = elf.args.iter().filter(|a| a.role == role).collect();
    if args.is_empty() {
        return;
    }
    let sum = args.iter().try_fold(0u64, |sum, a| sum.checked_add(a.size_bytes?));
    let size = sum.map_or(String::new(), |b| format!(", {}", bytes(b)));
    let title = format!("{}: {}{size}", role.as_str(), count(args.len(), "argument", "s"));
    let names = |launches: &[LaunchIdx]| {
        launches.iter().map(|l| format!("`{}`", graph.launch(*l).name.value)).collect::<Vec<_>>().join(", ")
    };
    out.element("tbody", &[], |out| {
        out.element("tr", &[("class", "role")], |out| {
            out.leaf("th", &[("colspan", "6"), ("scope", "rowgroup"), ("class", role.as_str())], &title);
        });
        for arg in args {
            let other = arg.dataflow_if_other().map_or(String::new(), |d| format!(" (used as {d})"));
            let row = [
                Cell::Prose(format!("`{}`{other}", arg.name)),
                Cell::Number(arg.index.to_string()),
                Cell::Number(arg.size_bytes.map_or(String::new(), bytes)),
                Cell::Code(arg.ty.to_string()),
                Cell::Prose(names(&arg.writers)),
                Cell::Prose(names(&arg.readers)),
            ];
            table_row(out, &row);
        }
    });
}

/// Objects, externs that are renamed, local names.
pub(crate) fn names(out: &mut Markup, plan: &Plan, graph: &LaunchGraph) {
    for elf in &plan.elfs {
        out.leaf("h3", &[], &elf.name);
        let of = |calls: &[CallPlan]| calls.iter().flat_map(|c| c.launches.clone()).collect::<BTreeSet<LaunchIdx>>();
        let (first, more) = elf.calls.split_at(elf.calls.len().min(1));
        let (first, more) = (of(first), of(more));
        let rows: Vec<_> = objects(plan, elf).map(|o| object_row(o, graph, &first, &more)).collect();
        if !rows.is_empty() {
            let head = ["object", "where it comes from", "symbols", "used by"];
            table(out, &format!("Objects of {}", elf.name), &head, &rows);
        }
        let externs = extern_renames(elf);
        let renamed = externs.iter().map(|r| {
            let file = |f: Option<&str>| f.map_or("no file".to_string(), |f| format!("`{f}`"));
            vec![
                Cell::Code(format!("@{}", r.from)),
                Cell::Code(format!("@{}", r.to)),
                Cell::Prose(format!("{} → {}", file(r.object_from), file(r.object_to))),
                Cell::Prose(listed(r.launches.iter().copied())),
            ]
        });
        let rows: Vec<_> = renamed.collect();
        if !rows.is_empty() {
            let head = ["extern in the kernel", "in the ELF", "object", "launches"];
            table(out, &format!("Renamed externs of {}", elf.name), &head, &rows);
        }
        let local = |(launch, list): (&str, Vec<(&str, &str, &str)>)| {
            let names: Vec<String> = list.iter().map(|(kind, from, to)| format!("{kind} `{from}` → `{to}`")).collect();
            vec![Cell::Code(launch.to_string()), Cell::Prose(names.join(", "))]
        };
        let rows: Vec<_> = local_renames(elf).into_iter().map(local).collect();
        if !rows.is_empty() {
            table(out, &format!("Local names of {}", elf.name), &["launch", "local names"], &rows);
        }
    }
}

/// `first` and `more` are the launches of the first call and of further ones.
fn object_row(
    object: &ObjectPlan,
    graph: &LaunchGraph,
    first: &BTreeSet<LaunchIdx>,
    more: &BTreeSet<LaunchIdx>,
) -> Vec<Cell> {
    let symbols: Vec<String> = object.symbols.values().map(|s| format!("`@{}`", s.symbol)).collect();
    let users = object.launches.iter().filter(|l| first.contains(l)).map(|l| graph.launch(*l).name.value.as_str());
    let more = match object.launches.iter().filter(|l| more.contains(l)).count() {
        0 => String::new(),
        n => format!(" and in {} of further calls", count(n, "launch", "es")),
    };
    vec![
        Cell::Prose(object.file.as_ref().map_or("no file".to_string(), |f| format!("`{f}`"))),
        Cell::Prose(origin(object)),
        Cell::Prose(symbols.join(", ")),
        Cell::Prose(listed(users) + &more),
    ]
}

/// Names in backticks.
fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names.map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
}

/// What is split, and what that changes.
pub(crate) fn splits(out: &mut Markup, plan: &Plan) {
    let row = |s: &SplitShown<'_>| {
        vec![
            Cell::Code(s.launch.to_string()),
            Cell::Prose(s.what.clone()),
            Cell::Number(s.before.clone()),
            Cell::Number(s.after.clone()),
            Cell::Prose(s.reason.to_string()),
            Cell::Prose(s.changes()),
        ]
    };
    let rows: Vec<_> = plan.elfs.iter().flat_map(splits_shown).map(|s| row(&s)).collect();
    table(out, "Splits", &["launch", "what", "before", "after", "why", "resources"], &rows);
}

/// Steps that run earlier than the file says.
pub(crate) fn moves(out: &mut Markup, plan: &Plan) {
    let row = |m: &airlink_graph::Move| vec![Cell::Code(m.step.clone()), Cell::Code(m.before.clone())];
    let rows: Vec<_> = plan.moves.iter().map(row).collect();
    table(out, "Moves", &["step", "now runs before, on which it does not depend"], &rows);
}
