//! What the cuts make of the dataflow.

use airlink_diag::{Finding, Findings, Span, codes};
use airlink_graph::{Buffer, Effect, LaunchGraph, LaunchIdx, Role, Step};
use petgraph::graph::NodeIndex;

use crate::cuts::Cut;

/// What the launches of one ELF do to one another.
///
/// Warnings: AL0226, AL0227.
pub(crate) fn report(graph: &LaunchGraph, cuts: &[Cut<'_>], findings: &mut Findings) {
    report_overwritten(graph, cuts, findings);
    report_unawaited(graph, cuts, findings);
}

/// AL0226: a launch overwrites what an earlier one of the same ELF reads.
fn report_overwritten(graph: &LaunchGraph, cuts: &[Cut<'_>], findings: &mut Findings) {
    // Per launch: its ELF. Further calls are the same program, which was judged with the first.
    let mut elf_of: Vec<Option<usize>> = vec![None; graph.launches.len()];
    for (elf, cut) in cuts.iter().enumerate() {
        cut.launches.iter().for_each(|l| elf_of[l.0] = Some(elf));
    }
    for (buffer, effects) in graph.buffers.values().zip(graph.effects()) {
        // Declared so: a state that launches hand on.
        if buffer.declared_role.as_ref().is_some_and(|r| r.value == Role::Inout) {
            continue;
        }
        if let Some((read, write, elf)) = overwritten(graph, &effects, &elf_of) {
            findings.push(overwrite(graph, buffer, &read, &write, &cuts[elf]));
        }
    }
}

/// The first read of a launch that a later launch of its ELF overwrites.
fn overwritten(graph: &LaunchGraph, effects: &[Effect], elf_of: &[Option<usize>]) -> Option<(Effect, Effect, usize)> {
    let elf = |e: &Effect| match graph.steps[e.step_index] {
        Step::Launch(LaunchIdx(l)) => elf_of[l],
        Step::Host(_) => None,
    };
    let mut reads: Vec<(Effect, usize)> = Vec::new();
    for effect in effects {
        let Some(own) = elf(effect) else { continue };
        // What another ELF read is done: calls follow one another.
        reads.retain(|(_, e)| *e == own);
        if !effect.is_write {
            reads.push((*effect, own));
        } else if let Some((read, _)) =
            reads.iter().find(|(r, _)| r.step_index < effect.step_index && r.range.overlaps(effect.range))
        {
            return Some((*read, *effect, own));
        }
    }
    None
}

fn overwrite(graph: &LaunchGraph, buffer: &Buffer, read: &Effect, write: &Effect, cut: &Cut<'_>) -> Finding {
    let name = |e: &Effect| graph.step_name(graph.steps[e.step_index]).value.as_str();
    let place: Option<Span> = cut.entry.map(|e| e.name.span);
    let (reader, writer, what) = (name(read), name(write), &buffer.name);
    Finding::warning(codes::AL0226, format!("`{writer}` overwrites `{what}`, which `{reader}` of the same ELF reads"))
        .at(write.span, "overwritten here")
        .also(read.span, "read here")
        .maybe_also(read.op_span, "the read in the kernel")
        .maybe_also(write.op_span, "the write in the kernel")
        .maybe_also(place, "both are in this ELF")
        .remedy(format!(
            "give `{writer}` a buffer of its own; if `{what}` is a state that launches hand on, declare it with \
             `role = \"inout\"`"
        ))
}

/// AL0227: an async launch whose token nothing uses, and a later launch of its ELF that depends on it.
fn report_unawaited(graph: &LaunchGraph, cuts: &[Cut<'_>], findings: &mut Findings) {
    if graph.launches.iter().all(|l| l.unawaited.is_none()) {
        return;
    }
    let flow = graph.dataflow();
    for cut in cuts {
        for (at, &first) in cut.launches.iter().enumerate() {
            let Some(op_span) = graph.launch(first).unawaited else { continue };
            let step = |l: LaunchIdx| graph.steps.iter().position(|s| *s == Step::Launch(l));
            let Some(from) = step(first) else { continue };
            let depends = |l: &&LaunchIdx| {
                step(**l).is_some_and(|to| flow.find_edge(NodeIndex::new(from), NodeIndex::new(to)).is_some())
            };
            let Some(&second) = cut.launches[at + 1..].iter().find(depends) else { continue };
            let (first, second) = (graph.launch(first), graph.launch(second));
            let (one, two) = (&first.name.value, &second.name.value);
            let shared =
                second.operands.iter().find(|o| first.operands.iter().any(|f| f.buffer == o.buffer && f.is_written()));
            let headline = format!("nobody waits for the async launch `{one}`, on which `{two}` depends");
            findings.push(
                Finding::warning(codes::AL0227, headline)
                    .at(op_span, "its token has no use")
                    .also(first.name.span, "this launch")
                    .also(shared.map_or(second.name.span, |o| o.span), "needs what it writes")
                    .remedy("end the kernel with `air.wait_all [%token]`, or make the launch synchronous"),
            );
        }
    }
}
