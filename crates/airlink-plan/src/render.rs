//! The plan as people read it: a decode layer fits one screen.

use std::collections::BTreeSet;
use std::fmt::Write;

use airlink_graph::{LaunchGraph, Move, Operand, Role};
use airlink_kernel::EntryKind;
use airlink_limits::Resource;
use indexmap::IndexMap;

use crate::plan::bytes;
use crate::{ArgPlan, ElfPlan, ElfResources, LaunchPlan, ObjectPlan, Plan, RenameKind, RowSplitPlan};

/// Where lists break, in characters.
const WIDTH: usize = 100;
/// Kernel names are cut to this, in characters.
const KERNEL_WIDTH_MAX: usize = 36;

/// The plan as text: per ELF its launches, arguments by role, objects, renamed externs, and why it ends. Local names
/// are counted, not listed: the link map has them all.
pub fn render(plan: &Plan, graph: &LaunchGraph) -> String {
    let mut out = String::new();
    let device = plan.device.as_deref().map_or(String::new(), |d| format!(" for {d}"));
    let call_count: usize = plan.elfs.iter().map(|e| e.calls.len()).sum();
    let counts = [count(graph.launches.len(), "launch", "es"), count(plan.elfs.len(), "ELF", "s")];
    let calls = if call_count > plan.elfs.len() { format!(", {call_count} calls") } else { String::new() };
    line(&mut out, format_args!("graph {}{device}: {} in {}{calls}", plan.graph, counts[0], counts[1]));
    for Move { step, before } in &plan.moves {
        line(&mut out, format_args!("moved: {step} before {before}, on which it does not depend"));
    }
    for elf in &plan.elfs {
        out.push('\n');
        render_elf(&mut out, plan, elf, graph);
    }
    out
}

fn render_elf(out: &mut String, plan: &Plan, elf: &ElfPlan, graph: &LaunchGraph) {
    let counts = [count(elf.launches.len(), "launch", "es"), count(elf.args.len(), "argument", "s")];
    let calls = if elf.calls.len() > 1 { format!(", called {} times", elf.calls.len()) } else { String::new() };
    line(out, format_args!("ELF {}: {}, {}{calls}; ends here: {}", elf.name, counts[0], counts[1], elf.cut));
    let rows: Vec<[String; 3]> = elf.launches.iter().map(|l| launch_row(l, graph)).collect();
    let width = |column: usize| rows.iter().map(|r| r[column].chars().count()).max().unwrap_or(0);
    let (name_width, kernel_width) = (width(0), width(1));
    for [name, kernel, operands] in &rows {
        line(out, format_args!("  {name:name_width$}  {kernel:kernel_width$}  {operands}"));
    }
    for (_, role) in Role::ALL {
        render_args(out, role, elf);
    }
    let padded = |a: &ArgPlan| a.padded_from.as_ref().map(|from| format!("{} from {from} to {}", a.name, a.ty));
    list(out, "padded", &elf.args.iter().filter_map(padded).collect::<Vec<_>>());
    for object in elf.objects.iter().map(|o| &plan.objects[o.0]) {
        render_object(out, elf, object, graph);
    }
    render_renames(out, elf);
    for split in &elf.splits {
        let text = format!("{}: {} into {} parts: {}", split.launch, split.extent, split.parts, split.reason);
        list(out, "split", &[vec![text], changes(&split.before, &split.after)].concat());
    }
    for split in &elf.n_splits {
        let text = format!("{}: {} into {}: {}", split.launch, split.narrow(), split.wide(), split.reason);
        list(out, "columns", &[vec![text], changes(&split.before, &split.after)].concat());
    }
    for split in &elf.row_splits {
        list(out, "rows", &row_split_items(split));
    }
    if let Some(resources) = &elf.resources {
        render_resources(out, resources);
    }
}

/// What is cut and why, then each resource before and after.
fn row_split_items(split: &RowSplitPlan) -> Vec<String> {
    let mut items = vec![format!(
        "{}: {} launch points into {} launches of {}: {}",
        split.launch,
        split.points,
        split.pieces.len(),
        split.sizes(),
        split.reason
    )];
    items.extend(changes(&split.before, &split.after));
    items
}

/// `runs/push 521 -> 174 of 256`, for each resource.
fn changes(before: &[Resource], after: &[Resource]) -> Vec<String> {
    let change = |(before, after): (&Resource, &Resource)| {
        let text = |n: u64| if before.kind.is_bytes() { bytes(n) } else { n.to_string() };
        let (from, to) = (text(before.used), text(after.used));
        format!("{} {from} -> {to} of {}", before.kind.as_str(), text(after.allowed))
    };
    before.iter().zip(after).map(change).collect()
}

/// What each launch takes of the device, and what the ELF takes in all.
fn render_resources(out: &mut String, resources: &ElfResources) {
    let program = &resources.program;
    let text = format!(
        "{}, {}, {} of their control code at least; by {}",
        count(usize::try_from(program.pdi_loads).unwrap_or(usize::MAX), "PDI load", "s"),
        count(usize::try_from(program.shim_tasks).unwrap_or(usize::MAX), "shim task", "s"),
        bytes(program.task_bytes),
        resources.toolchain
    );
    list(out, "device", &[text]);
    let launches = resources.launches.iter().map(|l| (l.name.as_str(), l.resources.as_slice()));
    out.push_str(&airlink_limits::render(launches));
}

/// Name, kernel, operands of a launch.
fn launch_row(launch: &LaunchPlan, graph: &LaunchGraph) -> [String; 3] {
    let mut kernel = kernel_stem(&launch.kernel).to_string();
    if kernel.chars().count() > KERNEL_WIDTH_MAX {
        kernel = kernel.chars().take(KERNEL_WIDTH_MAX - 2).chain("..".chars()).collect();
    }
    let operands = &graph.launch(launch.launch).operands;
    let name = |o: &Operand| match o.view {
        Some(view) => graph.view(view).name.clone(),
        None => graph.buffer(o.buffer).name.clone(),
    };
    let names = |select: &dyn Fn(&Operand) -> bool| {
        operands.iter().filter(|o| select(o)).map(name).collect::<Vec<_>>().join(" ")
    };
    // An operand that nothing touches is shown where it is passed: on the left.
    let mut text = format!("{} -> {}", names(&|o| o.is_read() || !o.is_written()), names(&Operand::is_written));
    if launch.entries.iter().any(|e| e.kind != EntryKind::Launch) {
        text.push_str("  (wrapped)");
    }
    if launch.entries.len() > 1 {
        let _ = write!(text, "  ({} launches)", launch.entries.len());
    }
    [launch.name.clone(), kernel, text]
}

/// The name of a kernel's file, without folder and ending.
pub(crate) fn kernel_stem(kernel: &str) -> &str {
    let file = kernel.rsplit('/').next().unwrap_or(kernel);
    let stem = file.strip_suffix(".mlir").unwrap_or(file);
    stem.strip_suffix(".air").unwrap_or(stem)
}

fn render_args(out: &mut String, role: Role, elf: &ElfPlan) {
    let args: Vec<&ArgPlan> = elf.args.iter().filter(|a| a.role == role).collect();
    let name = |a: &&ArgPlan| match a.dataflow == a.role {
        true => format!("{} {}", a.index, a.name),
        false => format!("{} {} (used as {})", a.index, a.name, a.dataflow.as_str()),
    };
    let mut items: Vec<String> = args.iter().map(name).collect();
    let size_bytes = args.iter().map(|a| a.size_bytes).try_fold(0u64, |sum, b| sum.checked_add(b?));
    if let (Some(last), Some(size_bytes)) = (items.last_mut(), size_bytes) {
        let _ = write!(last, " ({})", bytes(size_bytes));
    }
    list(out, role.as_str(), &items);
}

fn render_object(out: &mut String, elf: &ElfPlan, object: &ObjectPlan, graph: &LaunchGraph) {
    let (Some(first), Some(last)) = (elf.launches.first(), elf.launches.last()) else { return };
    let here = object.launches.iter().filter(|l| (first.launch..=last.launch).contains(*l));
    let launches: Vec<&str> = here.map(|l| graph.launch(*l).name.value.as_str()).collect();
    let Some(file) = &object.file else {
        let symbols: Vec<_> = object.symbols.values().map(|s| format!("@{}", s.symbol)).collect();
        return list(out, "no object", &[format!("{}: {}", symbols.join(" "), launches.join(" "))]);
    };
    let from = match (&object.link_with, &object.found) {
        (_, Some(found)) => format!(" from {}", found.path),
        (Some(link_with), None) if link_with != file => format!(", a variant of {link_with}"),
        _ => String::new(),
    };
    list(out, "object", &[format!("{file}{from}: {}", launches.join(" "))]);
}

fn render_renames(out: &mut String, elf: &ElfPlan) {
    let mut externs: IndexMap<(&str, &str), Vec<&str>> = IndexMap::new();
    let mut local_count = 0;
    let mut others = Vec::new();
    // Those of pieces say nothing that the row split does not.
    let of_pieces: BTreeSet<&str> =
        elf.row_splits.iter().flat_map(|s| &s.pieces).flat_map(|p| &p.names).map(|n| n.to.as_str()).collect();
    for r in elf.renames.iter().filter(|r| !of_pieces.contains(r.to.as_str())) {
        match r.kind {
            RenameKind::Extern if r.from != r.to => externs.entry((&r.from, &r.to)).or_default().push(&r.launch),
            RenameKind::Extern => {}
            RenameKind::Local(_) => {
                local_count += 1;
                // The launch, `_`, the name: whatever else came out is worth a line.
                let is_plain = r.to.strip_prefix(r.launch.as_str()).and_then(|t| t.strip_prefix('_')) == Some(&r.from);
                if !is_plain {
                    others.push(format!("{} {} -> {}", r.kind.as_str(), r.from, r.to));
                }
            }
        }
    }
    for ((from, to), launches) in externs {
        list(out, "rename", &[format!("@{from} -> @{to}: {}", launches.join(" "))]);
    }
    if local_count > 0 {
        list(out, "local", &[format!("{} prefixed with the launch", count(local_count, "name", "s"))]);
    }
    list(out, "but", &others);
}

/// `  label  item, item`, broken where it gets too long; nothing for an empty list.
fn list(out: &mut String, label: &str, items: &[String]) {
    let indent = "  ".len() + 14;
    let mut text = format!("  {label:12}  ");
    for (i, item) in items.iter().enumerate() {
        let separator = if i + 1 < items.len() { "," } else { "" };
        let used = text.chars().count();
        if used > indent && used + 1 + item.chars().count() > WIDTH {
            line(out, format_args!("{text}"));
            text = " ".repeat(indent);
        }
        if text.chars().count() > indent {
            text.push(' ');
        }
        let _ = write!(text, "{item}{separator}");
    }
    if !items.is_empty() {
        line(out, format_args!("{text}"));
    }
}

/// A line without blanks at its end.
fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.push_str(text.to_string().trim_end());
    out.push('\n');
}

fn count(n: usize, one: &str, plural: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}{plural}") }
}
