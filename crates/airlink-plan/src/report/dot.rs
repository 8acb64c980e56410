//! The launch graph for Graphviz.

use std::fmt::Write;

use airlink_graph::{LaunchGraph, Role};
use indexmap::IndexMap;

use super::count;
use super::flow::{Flow, Part, Slot};
use crate::plan::bytes;
use crate::{ElfPlan, Plan};

/// The plan in the language of `dot`: a cluster per ELF with its launches, host steps as boxes between, edges labelled
/// by buffer. What goes from one call of an ELF to the next is dashed; what only the host gives or takes is a node of
/// its own, static buffers aside.
pub fn dot(plan: &Plan, graph: &LaunchGraph) -> String {
    let flow = Flow::of(plan, graph);
    let mut out = String::new();
    let _ = writeln!(out, "digraph {} {{", quoted(&plan.graph));
    out.push_str(
        "  rankdir=TB; node [shape=box, fontname=\"monospace\"]; edge [fontname=\"monospace\", fontsize=10];\n",
    );
    for part in &flow.parts {
        match part {
            Part::Elf { elf, rows } => {
                let elf = &plan.elfs[*elf];
                let _ = writeln!(out, "  subgraph {} {{", quoted(&format!("cluster_{}", elf.name)));
                let _ = writeln!(out, "    label={}; tooltip={};", quoted(&title(elf)), quoted(&elf.cut.to_string()));
                for index in rows.clone() {
                    let _ = writeln!(out, "    s{index} [label={}];", quoted(flow.rows[index].name));
                }
                out.push_str("  }\n");
            }
            Part::Host { row, count } => {
                let times = if *count > 1 { format!("\non the host, {count} times") } else { "\non the host".into() };
                let label = quoted(&format!("{}{times}", flow.rows[*row].name));
                let _ = writeln!(out, "  s{row} [label={label}, style=\"rounded,dashed\"];");
            }
        }
    }
    for edge in &flow.edges {
        let (from, to) = (&flow.rows[edge.from.0], &flow.rows[edge.to.0]);
        let label = quoted(&labelled(&from.writes[edge.from.1]));
        // Program order stands; what goes back must not turn it around.
        let back = if edge.is_back() { ", style=dashed, constraint=false" } else { "" };
        let tooltip = quoted(&format!("{} to {}", from.name, to.name));
        let color = color(flow.role(edge));
        let _ = writeln!(
            out,
            "  s{} -> s{} [label={label}, color={color}, tooltip={tooltip}{back}];",
            edge.from.0, edge.to.0
        );
    }
    outside(&mut out, &flow);
    out.push_str("}\n");
    out
}

/// What comes from outside and what leaves, each buffer once.
fn outside(out: &mut String, flow: &Flow<'_>) {
    let mut ends: IndexMap<(&str, bool), Vec<usize>> = IndexMap::new();
    for (index, row) in flow.rows.iter().enumerate() {
        for slot in row.reads.iter().filter(|s| !s.is_linked && s.role != Some(Role::Static)) {
            ends.entry((slot.name, true)).or_default().push(index);
        }
        for slot in row.writes.iter().filter(|s| !s.is_linked) {
            ends.entry((slot.name, false)).or_default().push(index);
        }
    }
    for ((name, is_in), rows) in ends {
        let node = quoted(&format!("{} {name}", if is_in { "in" } else { "out" }));
        let _ = writeln!(out, "  {node} [label={}, shape=plaintext];", quoted(name));
        for row in rows {
            let _ = if is_in { writeln!(out, "  {node} -> s{row};") } else { writeln!(out, "  s{row} -> {node};") };
        }
    }
}

fn title(elf: &ElfPlan) -> String {
    let calls = if elf.calls.len() > 1 { format!(", called {} times", elf.calls.len()) } else { String::new() };
    format!("{}: {}{calls}", elf.name, count(elf.launches.len(), "launch", "es"))
}

fn labelled(slot: &Slot<'_>) -> String {
    format!("{}{}", slot.name, slot.size_bytes.map_or(String::new(), |b| format!("\n{}", bytes(b))))
}

fn color(role: Role) -> &'static str {
    match role {
        Role::Input => "\"#0550ae\"",
        Role::Output => "\"#953800\"",
        Role::Static | Role::Dead => "\"#57606a\"",
        Role::Intermediate => "\"#116329\"",
        Role::Inout => "\"#6639ba\"",
    }
}

/// A string of the dot language: a quote is escaped, and so is a backslash, which means something in labels.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push(char::REPLACEMENT_CHARACTER),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
