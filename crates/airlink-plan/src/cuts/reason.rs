//! Why an ELF ends, in numbers.

use airlink_graph::{HostIdx, HostOperand, LaunchGraph, LaunchIdx};
use indexmap::IndexSet;

use super::Cut;
use super::cost::{Costs, Refusal};
use super::shape::is_same_program;
use crate::{Across, CutReason};

/// A host step, with the bytes that it takes and gives.
pub(super) fn host_step(graph: &LaunchGraph, host: HostIdx) -> CutReason {
    let host = graph.host(host);
    let bytes = |operands: &[HostOperand]| {
        let buffers: IndexSet<_> = operands.iter().map(|o| (o.buffer, o.range)).collect();
        let size = |(b, range): &(airlink_graph::BufferIdx, airlink_graph::ByteRange)| match range.end {
            u64::MAX => graph.buffer(*b).ty.as_ref().and_then(|t| t.as_memref()).and_then(|m| m.byte_count()),
            end => Some(end - range.start),
        };
        buffers.iter().map(size).try_fold(0u64, |sum, bytes| sum.checked_add(bytes?))
    };
    CutReason::HostStep {
        name: host.name.value.clone(),
        read_bytes: bytes(&host.reads),
        written_bytes: bytes(&host.writes),
    }
}

/// Why two neighbouring parts of a run are not one: what the limits say of `merged`, else what the objective does.
pub(super) fn between(graph: &LaunchGraph, costs: &Costs, merged: &[LaunchIdx], after: &[LaunchIdx]) -> CutReason {
    let name = |l: &LaunchIdx| graph.launch(*l).name.value.clone();
    let with = match after {
        [] => String::new(),
        [only] => format!("`{}`", name(only)),
        [first, .., last] => format!("`{}` to `{}`", name(first), name(last)),
    };
    let together = costs.part(merged);
    match costs.refusal(&together) {
        Some(Refusal::MaxLaunches { found, allowed }) => CutReason::Limit {
            with,
            code: None,
            found: format!("{found} launches"),
            allowed: allowed.to_string(),
            source: "--max-launches".to_string(),
        },
        Some(Refusal::Limit { code, found, allowed, source }) => {
            CutReason::Limit { with, code: Some(code), found, allowed, source: source.to_string() }
        }
        None => {
            let before = &merged[..merged.len() - after.len()];
            let apart = super::best::add(costs.cost(&costs.part(before)), costs.cost(&costs.part(after)));
            CutReason::Objective { with, objective: costs.objective, together: costs.cost(&together), apart }
        }
    }
}

/// Tells each end of an iteration what `across`, the plan whose ELFs may cross it, would have.
pub(super) fn complete_layers(graph: &LaunchGraph, cuts: &mut [Cut<'_>], across: &[Cut<'_>]) {
    let calls = |cuts: &[Cut<'_>]| cuts.iter().map(|c| c.calls().count()).sum::<usize>();
    let numbers = Across {
        calls: calls(cuts),
        elfs: cuts.len(),
        calls_across: calls(across),
        elfs_across: program_count(graph, across),
    };
    for cut in cuts {
        if let CutReason::Iteration { across, .. } = &mut cut.reason {
            *across = Some(numbers);
        }
    }
}

/// How many different programs there are among the cuts.
fn program_count(graph: &LaunchGraph, cuts: &[Cut<'_>]) -> usize {
    let mut programs: Vec<&[LaunchIdx]> = Vec::new();
    for cut in cuts {
        if !programs.iter().any(|p| is_same_program(graph, p, &cut.launches)) {
            programs.push(&cut.launches);
        }
    }
    programs.len()
}
