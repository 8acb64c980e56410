//! What compiles and is suspicious: unused declarations, reads before writes, in-place use.

use airlink_diag::{Finding, Findings, codes};
use indexmap::IndexSet;

use crate::effects::Effect;
use crate::ranges::Ranges;
use crate::{Buffer, Launch, LaunchGraph, Operand, Role, Step};

/// AL0212: declared buffers and views that no step uses and no `[[elf]]` lists.
pub fn report_unused(graph: &LaunchGraph, used: &IndexSet<String>, findings: &mut Findings) {
    let listed: IndexSet<&str> =
        graph.cuts.iter().filter_map(|c| c.args.as_ref()).flat_map(|a| &a.value).map(|a| a.value.as_str()).collect();
    let is_used = |name: &String| used.contains(name) || listed.contains(name.as_str());
    let through_views: IndexSet<usize> = graph.views.values().filter(|v| is_used(&v.name)).map(|v| v.of.0).collect();
    let idle_views = graph.views.values().filter(|v| !is_used(&v.name)).map(|v| ("view", &v.name, v.span));
    let buffers = graph.buffers.values().enumerate();
    let idle_buffers = buffers
        .filter(|(i, b)| b.is_declared && !is_used(&b.name) && !through_views.contains(i))
        .map(|(_, b)| ("buffer", &b.name, b.span));
    for (kind, name, span) in idle_buffers.chain(idle_views) {
        let table = if kind == "view" { "[[view]]" } else { "[[buffer]]" };
        findings.push(
            Finding::warning(codes::AL0212, format!("nothing uses {kind} `{name}`")).at(span, "declared here").remedy(
                format!("remove the `{table}`, or list `{name}` in the `args` of an `[[elf]]` to keep its place"),
            ),
        );
    }
}

/// AL0219: a step reads what only a later one writes.
pub fn report_order(graph: &LaunchGraph, findings: &mut Findings) {
    for (buffer, effects) in graph.buffers.values().zip(graph.effects()) {
        // These roles say that the host fills the buffer first.
        let is_filled =
            matches!(buffer.declared_role.as_ref().map(|r| r.value), Some(Role::Input | Role::Static | Role::Inout));
        if let Some((read, write)) = early_read(&effects).filter(|_| !is_filled) {
            findings.push(read_before_write(graph, buffer, &read, &write));
        }
    }
}

/// The first read of bytes that nothing has written so far and that a later step writes, with that write.
fn early_read(effects: &[Effect]) -> Option<(Effect, Effect)> {
    let mut written = Ranges::default();
    let mut exposed: Vec<Effect> = Vec::new();
    for effect in effects {
        if effect.is_write {
            let is_early = |e: &&Effect| e.step_index < effect.step_index && e.range.overlaps(effect.range);
            if let Some(read) = exposed.iter().find(is_early) {
                return Some((*read, *effect));
            }
            written.add(effect.range);
        } else {
            for range in written.missing(effect.range) {
                // Many steps may read one input: the first of each range tells all.
                if !exposed.iter().any(|e| e.range.contains(range)) {
                    exposed.push(Effect { range, ..*effect });
                }
            }
        }
    }
    None
}

fn read_before_write(graph: &LaunchGraph, buffer: &Buffer, read: &Effect, write: &Effect) -> Finding {
    let name = |e: &Effect| graph.step_name(graph.steps[e.step_index]).value.as_str();
    Finding::warning(
        codes::AL0219,
        format!("`{}` reads `{}` before `{}` writes it", name(read), buffer.name, name(write)),
    )
    .at(read.span, "read here")
    .also(write.span, "written only here, later in program order")
    .maybe_also(read.op_span, "the first read in the kernel")
    .maybe_also(write.op_span, "the first write in the kernel")
    .remedy(format!(
        "move `{}` in front of `{}`; if the old value is meant, declare `{}` with `role = \"inout\"`",
        name(write),
        name(read),
        buffer.name
    ))
}

/// AL0220: one launch reaches the same bytes through two arguments and writes them through one.
pub fn report_in_place(graph: &LaunchGraph, findings: &mut Findings) {
    for launch in &graph.launches {
        for (index, first) in launch.operands.iter().enumerate() {
            let shares = |o: &&Operand| o.buffer == first.buffer && o.range.overlaps(first.range);
            let clash = |o: &&Operand| (first.is_written() && touches(o)) || (o.is_written() && touches(first));
            if let Some(second) = launch.operands[index + 1..].iter().filter(shares).find(clash) {
                findings.push(in_place(graph, launch, first, second));
            }
        }
    }
}

fn touches(operand: &Operand) -> bool {
    operand.is_read() || operand.is_written()
}

fn in_place(graph: &LaunchGraph, launch: &Launch, first: &Operand, second: &Operand) -> Finding {
    let buffer = &graph.buffer(first.buffer).name;
    let does = |o: &Operand| match (o.is_read(), o.is_written()) {
        (true, true) => "reads and writes",
        (true, false) => "reads",
        _ => "writes",
    };
    let headline = if does(first) == does(second) {
        format!("launch `{}` {} `{buffer}` through two arguments", launch.name.value, does(first))
    } else {
        format!("launch `{}` {} and {} `{buffer}` through two arguments", launch.name.value, does(first), does(second))
    };
    let op = |o: &Operand| o.accesses.iter().find_map(|a| a.write.or(a.read));
    Finding::warning(codes::AL0220, headline)
        .at(second.span, format!("{} it here", does(second)))
        .also(first.span, format!("{} it here", does(first)))
        .maybe_also(op(first), format!("the kernel {} it", does(first)))
        .maybe_also(op(second), format!("the kernel {} it", does(second)))
        .remedy("pass another buffer for one of them: the NPU orders no two transfers of one launch by their addresses")
}

/// AL0228: a host step reads what no step writes, and no declaration says that the host has it.
pub fn report_unfed(graph: &LaunchGraph, findings: &mut Findings) {
    let effects = graph.effects();
    let written: Vec<&str> = graph
        .buffers
        .values()
        .zip(&effects)
        .filter(|(_, e)| e.iter().any(|e| e.is_write))
        .map(|(b, _)| b.name.as_str())
        .collect();
    for (buffer, effects) in graph.buffers.values().zip(&effects) {
        let is_launch = |e: &&Effect| matches!(graph.steps[e.step_index], Step::Launch(_));
        // What launches read as well is an input like any other.
        if buffer.declared_role.is_some() || effects.iter().any(|e| e.is_write) || effects.iter().any(|e| is_launch(&e))
        {
            continue;
        }
        let Some(read) = effects.first() else { continue };
        let step = &graph.step_name(graph.steps[read.step_index]).value;
        let name = &buffer.name;
        let remedy = match crate::suggest(name, written.iter().copied()) {
            Some(near) => format!("write `{near}`; if the host has it, declare `{name}` with `role = \"input\"`"),
            None => format!("let a step write it; if the host has it, declare `{name}` with `role = \"input\"`"),
        };
        findings.push(
            Finding::warning(codes::AL0228, format!("host step `{step}` reads `{name}`, which no step writes"))
                .at(read.span, "read here")
                .remedy(remedy),
        );
    }
}
