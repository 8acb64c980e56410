//! Descriptors, locks and memory of core and mem tiles.

mod memory;

use serde::Serialize;

use crate::check::check_runs;
use crate::device::{Device, TileKind};
use crate::fault::{Bound, Fault, Rule, Unit};
use crate::live::Direction;

pub use memory::{
    TileBuffer, buffer_copies, check_l1, check_l2, check_lock_value, check_locks, check_program, l1_bytes, l2_bytes,
    lock_count,
};

/// One transfer of a channel, in program order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ChannelOp {
    /// Equal for transfers of one buffer with one pattern.
    pub op: u64,
    /// How often it runs in a row of its own loop.
    pub trip: u64,
}

/// What the DMA of a tile does for one channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChannelProgram {
    /// One task is an endless ring; several run one after the other.
    pub tasks: Vec<BdTask>,
}

/// A chain of BDs, one for each of `ops`, that runs that often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BdTask {
    pub ops: Vec<u64>,
    pub runs: u64,
}

impl ChannelProgram {
    pub fn bd_count(&self) -> u64 {
        self.tasks.iter().map(|t| t.ops.len() as u64).sum()
    }

    /// Whether the channel goes on for ever, so that no launch end has to reset it.
    pub fn is_ring(&self) -> bool {
        self.tasks.len() <= 1
    }
}

/// Transfers at the end of a sequence that have to be alike for them to become one repeated BD.
const REPEATED_MIN: usize = 4;

/// The tasks that the transfers of a channel become: a repeating sequence, a first transfer and a repeated one, a
/// rotation over buffers, or groups of equal trip counts.
pub fn channel_program(ops: &[ChannelOp]) -> ChannelProgram {
    let is_flat = ops.windows(2).all(|w| w[0].trip == w[1].trip);
    let names: Vec<u64> = ops.iter().map(|o| o.op).collect();
    let ring = |ops: &[u64]| ChannelProgram { tasks: vec![BdTask { ops: ops.to_vec(), runs: 1 }] };
    let (Some(first), true) = (ops.first(), is_flat) else { return ChannelProgram { tasks: grouped(ops) } };
    let period = period(&names);
    if period < names.len() && names.len().is_multiple_of(period) {
        return ring(&names[..period]);
    }
    let suffix = names.iter().rev().take_while(|n| Some(*n) == names.last()).count();
    if suffix >= REPEATED_MIN && suffix + 1 == names.len() {
        let runs = first.trip.saturating_mul(suffix as u64);
        let head = BdTask { ops: vec![names[0]], runs: first.trip };
        return ChannelProgram { tasks: vec![head, BdTask { ops: vec![names[1]], runs }] };
    }
    // A last round that stops early is still a rotation, if there was a whole one before it.
    let is_rotation = names.len() > period && (0..period).all(|i| !names[..i].contains(&names[i]));
    if is_rotation { ring(&names[..period]) } else { ring(&names) }
}

/// The shortest period of a sequence, which may end within one.
fn period(names: &[u64]) -> usize {
    let mut border = vec![0; names.len()];
    for i in 1..names.len() {
        let mut length = border[i - 1];
        while length > 0 && names[i] != names[length] {
            length = border[length - 1];
        }
        border[i] = length + usize::from(names[i] == names[length]);
    }
    names.len() - border.last().copied().unwrap_or(0)
}

fn grouped(ops: &[ChannelOp]) -> Vec<BdTask> {
    let groups = ops.chunk_by(|a, b| a.trip == b.trip);
    groups.map(|g| BdTask { ops: g.iter().map(|o| o.op).collect(), runs: g[0].trip }).collect()
}

/// Whether the runs of every task fit one push; a ring pushes once.
pub fn check_program_runs(program: &ChannelProgram, kind: TileKind, device: &Device) -> Vec<Fault> {
    let tasks = program.tasks.iter().filter(|_| !program.is_ring());
    tasks.filter_map(|t| check_runs(t.runs, device.tile(kind))).collect()
}

/// The BDs of one channel of a core or mem tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TileChannel {
    pub direction: Direction,
    pub index: u64,
    pub bd_count: u64,
}

/// B10 and B11: the BDs of one tile, and that its channels exist.
pub fn check_tile_bds(kind: TileKind, channels: &[TileChannel], device: &Device) -> Vec<Fault> {
    let limits = device.tile(kind);
    let sum = |parity: Option<u64>| {
        let counted = channels.iter().filter(|c| parity.is_none_or(|p| c.index % 2 == p));
        counted.fold(0i128, |n, c| n + i128::from(c.bd_count))
    };
    let mut faults: Vec<_> =
        channels.iter().filter_map(|c| check_channel_pin(kind, c.direction, c.index, device)).collect();
    let name = format!("BDs of a {kind}");
    faults.extend(Fault::above(Rule::B10, &name, sum(None), limits.bd_count, "buffer descriptors"));
    for (parity, name) in [(0, "BDs of the even channels"), (1, "BDs of the odd channels")] {
        let limit = limits.bds_per_parity.unwrap_or(limits.bd_count);
        let found = sum(Some(parity));
        let fault = Fault::above(Rule::B11, name, found, limit, "buffer descriptors");
        faults.extend(fault.filter(|_| limits.bds_per_parity.is_some()));
    }
    faults
}

/// Whether a tile has the channel that something is pinned to.
pub fn check_channel_pin(kind: TileKind, direction: Direction, index: u64, device: &Device) -> Option<Fault> {
    let limit = channel_limit(kind, direction, device);
    let unit = Unit("", limit.source);
    let name = format!("{direction} channel of a {kind}");
    Fault::unless(Rule::ChannelPin, &name, index.into(), Bound::AtMost(i128::from(limit.value) - 1), unit)
}

/// Whether that many distinct circuit flows have a channel each; one more shares silently and dies in the router.
pub fn check_channels(kind: TileKind, mm2s_count: u64, s2mm_count: u64, device: &Device) -> Vec<Fault> {
    let rule = if kind == TileKind::Shim { Rule::ShimChannels } else { Rule::TileChannels };
    let check = |direction, found: u64| {
        let name = format!("{direction} flows of a {kind}");
        Fault::above(rule, &name, found, channel_limit(kind, direction, device), "DMA channels")
    };
    check(Direction::Mm2s, mm2s_count).into_iter().chain(check(Direction::S2mm, s2mm_count)).collect()
}

fn channel_limit(kind: TileKind, direction: Direction, device: &Device) -> crate::device::Limit {
    let limits = device.tile(kind);
    match direction {
        Direction::Mm2s => limits.mm2s_count,
        Direction::S2mm => limits.s2mm_count,
    }
}
