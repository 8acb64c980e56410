//! All flows of one launch together.

use serde::Serialize;
use std::collections::BTreeMap;

use crate::device::Device;
use crate::fault::Fault;
use crate::live::{ChannelTasks, ShimChannel, TileLive, check_live, check_queue, live_bds};
use crate::place::{ShimFlow, ShimTiles, check_shim_flows, shim_tiles};
use crate::profile::Profile;
use crate::shim::{ShimTask, Transfer, shim_task};

/// A flow between L3 and the array, and what moves over it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LaunchFlow {
    pub transfer: Transfer,
    pub flow: ShimFlow,
    /// Whether the tools may pace its tasks; see [`ChannelTasks`].
    pub is_reorderable: bool,
}

/// What one launch takes of the shim tiles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LaunchUse {
    /// Of each flow.
    pub tasks: Vec<ShimTask>,
    pub tiles: ShimTiles,
    /// By shim tile, in the order in which the flows open them; these are not yet columns.
    pub live: Vec<TileLive>,
    /// Of single flows.
    pub flow_faults: Vec<(usize, Fault)>,
    /// Of all flows together.
    pub faults: Vec<Fault>,
}

/// Shapes every transfer of a launch, spreads the flows over shim tiles and judges what lives on each at once.
pub fn check_launch(flows: &[LaunchFlow], tiling: Option<&[u64]>, device: &Device, profile: &Profile) -> LaunchUse {
    let tasks: Vec<_> = flows.iter().map(|f| shim_task(&f.transfer, tiling, device, profile)).collect();
    let of_task = |(i, task): (usize, &ShimTask)| task.faults.iter().map(move |f| (i, f.clone())).collect::<Vec<_>>();
    let flow_faults = tasks.iter().enumerate().flat_map(of_task).collect();
    let shim_flows: Vec<_> = flows.iter().map(|f| f.flow).collect();
    let tiles = shim_tiles(&shim_flows, device);
    let channels = channel_tasks(flows, &tasks, &tiles);
    let mut faults = check_shim_flows(&shim_flows, device);
    faults.extend(check_live(&channels, device, profile));
    faults.extend(check_queue(&channels, device, profile));
    LaunchUse { live: live_bds(&channels, profile), tasks, tiles, flow_faults, faults }
}

/// The tasks of each channel; flows that share one add up.
fn channel_tasks(flows: &[LaunchFlow], tasks: &[ShimTask], tiles: &ShimTiles) -> Vec<ChannelTasks> {
    let mut by_channel: BTreeMap<ShimChannel, ChannelTasks> = BTreeMap::new();
    for ((flow, task), (tile, index)) in flows.iter().zip(tasks).zip(&tiles.channels) {
        let channel = ShimChannel { tile: *tile as u64, direction: flow.flow.direction, index: *index };
        let empty = ChannelTasks { channel, task_count: 0, bds_per_task: 1, is_reorderable: true };
        let sum = by_channel.entry(channel).or_insert(empty);
        sum.task_count = sum.task_count.saturating_add(task.bds_per_chunk);
        sum.is_reorderable &= flow.is_reorderable;
    }
    by_channel.into_values().collect()
}
