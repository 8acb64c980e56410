//! Buffer descriptors of shim tiles that live at once, tokens and queues.

use serde::Serialize;

use crate::device::Device;
use crate::fault::{Bound, Fault, Rule, Unit};
use crate::profile::Profile;

mod pool;

pub use pool::{Simulation, Step, simulate, steps};

/// Which way a DMA channel moves data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Direction {
    /// Memory to stream.
    Mm2s,
    /// Stream to memory.
    S2mm,
}

impl std::fmt::Display for Direction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Direction::Mm2s => "MM2S",
            Direction::S2mm => "S2MM",
        })
    }
}

/// A channel of a shim tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ShimChannel {
    /// The tile: its column, or its number before columns are given out.
    pub tile: u64,
    pub direction: Direction,
    pub index: u64,
}

/// The tasks of one channel between two waits: a whole launch, or one chunk of runtime tiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ChannelTasks {
    pub channel: ShimChannel,
    /// Each is one push.
    pub task_count: u64,
    pub bds_per_task: u64,
    /// Whether the tools may put other channels' tasks between these and pace them.
    pub is_reorderable: bool,
}

/// BDs of one shim tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TileLive {
    pub tile: u64,
    /// BDs of all tasks, as if none ended before the wait.
    pub bd_sum: u64,
    /// BDs that live at once.
    pub bd_peak: u64,
}

/// The BDs of each shim tile in one interval between waits, by tile.
///
/// An MM2S channel with more than [`Profile::burst_tasks_max`] tasks keeps that many; all other tasks live to the wait.
pub fn live_bds(channels: &[ChannelTasks], profile: &Profile) -> Vec<TileLive> {
    let mut tiles: Vec<TileLive> = Vec::new();
    for tasks in channels {
        let tile = tasks.channel.tile;
        let at = tiles.binary_search_by_key(&tile, |t| t.tile).unwrap_or_else(|at| {
            tiles.insert(at, TileLive { tile, bd_sum: 0, bd_peak: 0 });
            at
        });
        let kept = if is_paced(tasks, profile) { profile.burst_tasks_max.value } else { tasks.task_count };
        let live = &mut tiles[at];
        live.bd_sum = live.bd_sum.saturating_add(tasks.task_count.saturating_mul(tasks.bds_per_task));
        live.bd_peak = live.bd_peak.saturating_add(kept.saturating_mul(tasks.bds_per_task));
    }
    tiles
}

/// Shim tiles on which more BDs live at once than there are.
pub fn check_live(channels: &[ChannelTasks], device: &Device, profile: &Profile) -> Vec<Fault> {
    live_bds(channels, profile).iter().filter_map(|live| check_tile_live(live, device)).collect()
}

fn check_tile_live(live: &TileLive, device: &Device) -> Option<Fault> {
    let text = format!(
        "{} buffer descriptors live at once on shim tile {} ({} in all), allowed at most {}",
        live.bd_peak, live.tile, live.bd_sum, device.shim.bd_count.value
    );
    Fault::above(Rule::LiveBds, "live BDs", live.bd_peak, device.shim.bd_count, "buffer descriptors")
        .map(|f| f.saying(text))
}

/// Channels on which more pushes are outstanding than their queue holds, and that nothing paces.
pub fn check_queue(channels: &[ChannelTasks], device: &Device, profile: &Profile) -> Vec<Fault> {
    let waiting = channels.iter().filter(|tasks| !is_paced(tasks, profile));
    let fault = |tasks: &ChannelTasks| {
        let limit = device.shim.queue_depth;
        let unit = Unit("pushes", limit.source);
        let ShimChannel { tile, direction, index } = tasks.channel;
        let name = format!("pushes outstanding on {direction} channel {index} of shim tile {tile}");
        Fault::unless(Rule::Queue, &name, tasks.task_count.into(), Bound::at_most(limit), unit)
    };
    waiting.filter_map(fault).collect()
}

fn is_paced(tasks: &ChannelTasks, profile: &Profile) -> bool {
    let is_feed = tasks.is_reorderable && tasks.channel.direction == Direction::Mm2s;
    is_feed && tasks.task_count > profile.burst_tasks_max.value
}
