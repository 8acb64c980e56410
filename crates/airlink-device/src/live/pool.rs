//! The pool of buffer descriptors, step by step.

use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};

use super::{ChannelTasks, ShimChannel, TileLive, check_tile_live, is_paced};
use crate::device::Device;
use crate::fault::{Bound, Fault, Rule, Unit};
use crate::profile::Profile;

/// Tasks that [`steps`] writes out at most.
const TASKS_MAX: u64 = 1 << 16;

/// What control code does with the descriptors of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Step {
    /// Takes the descriptors of one task and starts it.
    Configure { channel: ShimChannel, bds: u64, has_token: bool },
    /// Waits for the token of the oldest task and gives its descriptors back.
    Await { channel: ShimChannel },
    /// Gives the descriptors of the oldest task back.
    Free { channel: ShimChannel },
}

/// What a run of steps needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Simulation {
    /// By tile; `bd_sum` is what all configures together take.
    pub tiles: Vec<TileLive>,
    pub faults: Vec<Fault>,
}

#[derive(Default)]
struct Tile {
    live: u64,
    peak: u64,
    sum: u64,
}

/// Follows the descriptors of every shim tile through the steps.
pub fn simulate(steps: &[Step], device: &Device) -> Simulation {
    let mut tiles: BTreeMap<u64, Tile> = BTreeMap::new();
    let mut waiting: BTreeMap<ShimChannel, VecDeque<(u64, bool)>> = BTreeMap::new();
    let mut faults = Vec::new();
    for step in steps {
        match *step {
            Step::Configure { channel, bds, has_token } => {
                let tile = tiles.entry(channel.tile).or_default();
                tile.live = tile.live.saturating_add(bds);
                tile.sum = tile.sum.saturating_add(bds);
                tile.peak = tile.peak.max(tile.live);
                waiting.entry(channel).or_default().push_back((bds, has_token));
            }
            Step::Await { channel } | Step::Free { channel } => {
                let oldest = waiting.entry(channel).or_default().pop_front();
                let is_await = matches!(step, Step::Await { .. });
                if oldest.is_none_or(|(_, has_token)| is_await && !has_token) {
                    faults.push(no_token(channel));
                }
                let tile = tiles.entry(channel.tile).or_default();
                tile.live = tile.live.saturating_sub(oldest.map_or(0, |(bds, _)| bds));
            }
        }
    }
    let live = |(tile, t): (&u64, &Tile)| TileLive { tile: *tile, bd_sum: t.sum, bd_peak: t.peak };
    let lives: Vec<_> = tiles.iter().map(live).collect();
    faults.extend(lives.iter().filter_map(|live| check_tile_live(live, device)));
    faults.extend(tiles.iter().filter_map(|(tile, t)| leak(*tile, t.live)));
    Simulation { tiles: lives, faults }
}

fn no_token(channel: ShimChannel) -> Fault {
    let ShimChannel { tile, direction, index } = channel;
    let name = format!("tokens on {direction} channel {index} of shim tile {tile}");
    let unit = Unit("tokens", "AIRRtToNpuPass.cpp:3559-3576");
    let text = format!("{name}: a wait without a token would block for ever");
    Fault::new(Rule::Token, &name, 0, Bound::AtLeast(1), unit).saying(text)
}

fn leak(tile: u64, live: u64) -> Option<Fault> {
    let name = format!("descriptors that shim tile {tile} never gets back");
    let unit = Unit("buffer descriptors", "AIEAssignRuntimeSequenceBDIDs.cpp:266-310");
    Fault::unless(Rule::Leak, &name, live.into(), Bound::Exactly(0), unit)
}

/// The steps of one interval, paced feeds woven round-robin; `None` if they are too many to write out.
///
/// Every task ends: an awaited one with a token where it is paced or stores, a freed one otherwise.
pub fn steps(channels: &[ChannelTasks], profile: &Profile) -> Option<Vec<Step>> {
    let total = channels.iter().try_fold(0u64, |n, c| n.checked_add(c.task_count))?;
    if total > TASKS_MAX {
        return None;
    }
    let (paced, others): (Vec<&ChannelTasks>, Vec<&ChannelTasks>) = channels.iter().partition(|c| is_paced(c, profile));
    let mut list = Vec::new();
    for tasks in &others {
        let has_token = tasks.channel.direction == super::Direction::S2mm;
        let configure = Step::Configure { channel: tasks.channel, bds: tasks.bds_per_task, has_token };
        list.extend((0..tasks.task_count).map(|_| configure));
    }
    let in_flight = profile.burst_tasks_max.value;
    for round in 0..paced.iter().map(|c| c.task_count).max().unwrap_or(0) {
        for tasks in paced.iter().filter(|c| round < c.task_count) {
            let channel = tasks.channel;
            list.extend((round >= in_flight).then_some(Step::Await { channel }));
            list.push(Step::Configure { channel, bds: tasks.bds_per_task, has_token: true });
        }
    }
    for tasks in channels {
        let channel = tasks.channel;
        let is_awaited = is_paced(tasks, profile) || channel.direction == super::Direction::S2mm;
        let left = if is_paced(tasks, profile) { tasks.task_count.min(in_flight) } else { tasks.task_count };
        let end = if is_awaited { Step::Await { channel } } else { Step::Free { channel } };
        list.extend((0..left).map(|_| end));
    }
    Some(list)
}
