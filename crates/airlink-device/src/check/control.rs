//! Rules of what control code writes: packets, pushes and the fields of a BD.

use crate::device::{Device, Limit, TileKind, TileLimits};
use crate::fault::{Bound, Fault, Rule, Unit};

/// S11: id and type of a packet flow.
pub fn check_packet(id: u64, packet_type: u64, device: &Device) -> Vec<Fault> {
    let id = Fault::above(Rule::S11, "packet id", id, device.packet_id_max, "");
    let packet_type = Fault::above(Rule::S11, "packet type", packet_type, device.packet_type_max, "");
    id.into_iter().chain(packet_type).collect()
}

/// A push to the queue of a channel: the BD and the repeat count, which is one less than the runs.
pub fn check_push(bd_id: u64, repeat_count: u64, kind: TileKind, device: &Device) -> Vec<Fault> {
    let limits = device.tile(kind);
    let unit = Unit("", limits.bd_count.source);
    let last = Bound::AtMost(i128::from(limits.bd_count.value) - 1);
    let id = Fault::unless(Rule::BdId, "id of a pushed BD", bd_id.into(), last, unit);
    id.into_iter().chain(check_runs(repeat_count.saturating_add(1), limits)).collect()
}

/// Runs of one push.
pub fn check_runs(runs: u64, limits: &TileLimits) -> Option<Fault> {
    let text = format!(
        "one push asks for {runs} runs (repeat count {}), allowed at most {}",
        runs.saturating_sub(1),
        limits.push_runs_max.value
    );
    Fault::above(Rule::Repeat, "runs of one push", runs, limits.push_runs_max, "runs").map(|f| f.saying(text))
}

/// The fields of a BD as control code writes them: sizes in words, steps and iterations less one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteBd {
    /// d0, d1, d2: 0 where a dimension is not used.
    pub sizes_words: [u64; 3],
    /// d0, d1, d2: less one.
    pub steps_words: [u64; 3],
    /// Iterations less one.
    pub iteration: u64,
    /// Less one.
    pub iteration_step_words: u64,
    pub has_padding: bool,
}

/// Judges the fields of one BD.
pub fn check_writebd(bd: &WriteBd, kind: TileKind, device: &Device) -> Vec<Fault> {
    let limits = device.tile(kind);
    let mut faults = Vec::new();
    let wrap = Limit { value: limits.wrap_words_max(), ..limits.wrap_bits };
    for (dim, size) in bd.sizes_words.iter().enumerate() {
        // The length implies the last size of a shim BD.
        let limit = match (dim, kind) {
            (2, TileKind::Shim) => Limit::new(0, "AIEXDialect.cpp:776"),
            _ => wrap,
        };
        let name = format!("size field of dimension {dim}");
        faults.extend(Fault::above(Rule::Field, &name, *size, limit, "32-bit words").map(|f| f.at(dim)));
    }
    let step = Limit { value: limits.step_words_max() - 1, ..limits.step_bits };
    let steps = bd.steps_words.iter().chain([&bd.iteration_step_words]);
    for (dim, found) in steps.enumerate() {
        let name = format!("step field of dimension {dim}");
        faults.extend(Fault::above(Rule::Field, &name, *found, step, "32-bit words").map(|f| f.at(dim)));
    }
    let iteration = Limit { value: limits.iteration_max.value.saturating_sub(1), ..limits.iteration_max };
    faults.extend(Fault::above(Rule::Field, "iteration field", bd.iteration, iteration, "iterations"));
    let found = i128::from(bd.has_padding && kind != TileKind::Mem);
    let unit = Unit("paddings", "AIEXDialect.cpp:778-783");
    faults.extend(Fault::unless(Rule::Field, "padding", found, Bound::Exactly(0), unit));
    faults
}
