//! Shim tiles: channels, descriptors, runs and queues.

use airlink_device::{
    ChannelTasks, Direction, Rule, ShimChannel, ShimFlow, UnrollReason, check_queue, check_shim_flows, live_bds,
    shim_tiles,
};
use airlink_diag::Finding;
use airlink_kernel::{Memory, Traffic};

use crate::codes;
use crate::flows::FlowGroup;
use crate::launch::LaunchUse;
use crate::resource::ResourceKind;
use crate::setup::Setup;

/// One flow with its shim channel.
pub(crate) struct AssignedFlow {
    pub flow: ShimFlow,
    /// The groups that share it, by position.
    pub groups: Vec<usize>,
    /// Shim tile, in the order in which the compiler opens them.
    pub tile: usize,
    pub channel: u64,
    /// Column of that tile, as far as it is known.
    pub column: u64,
}

/// Judges the flows of a launch, and gives each its channel.
pub(crate) fn judge(used: &mut LaunchUse, traffic: &Traffic, groups: &[FlowGroup], setup: &Setup) -> Vec<AssignedFlow> {
    for group in groups {
        faults_of(used, traffic, group);
    }
    let flows = assign(groups, setup);
    channels(used, traffic, groups, &flows, setup);
    let runs = groups.iter().filter_map(|g| g.task.as_ref()).map(|t| t.runs_per_push).max().unwrap_or(0);
    let is_partial = groups.iter().any(|g| g.task.is_none());
    used.take_some(ResourceKind::PushRuns, runs, setup.device.shim.push_runs_max.value, is_partial);
    flows
}

/// What is wrong with one transfer whatever else is there.
fn faults_of(used: &mut LaunchUse, traffic: &Traffic, group: &FlowGroup) {
    let transfer = &traffic.transfers[group.transfer];
    let Some(task) = &group.task else { return };
    let mut seen: Vec<Rule> = Vec::new();
    for fault in &task.faults {
        // One finding per rule: the same stride breaks it in one dimension after another.
        if !seen.contains(&fault.rule) {
            seen.push(fault.rule);
            let finding = codes::finding(&used.name, fault).at(transfer.span, describe(traffic, group));
            used.findings.push(finding);
        }
    }
    let chunks = task.chunks;
    if let Some(fault) = airlink_device::check_task_count(chunks.saturating_mul(task.bds_per_chunk)) {
        used.findings.push(codes::finding(&used.name, &fault).at(transfer.span, format!("{chunks} runtime tiles")));
    }
}

/// Gives every flow a shim tile and a channel.
fn assign(groups: &[FlowGroup], setup: &Setup) -> Vec<AssignedFlow> {
    let columns = setup.device.columns.value;
    let mut flows: Vec<ShimFlow> = Vec::new();
    let mut users: Vec<Vec<usize>> = Vec::new();
    let mut keys: Vec<Option<&(usize, Vec<i64>)>> = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        let (direction, is_broadcast, is_packet) = (group.direction, group.is_broadcast, group.is_packet);
        let key = group.key.as_ref();
        for column in &group.columns {
            let shared = (0..flows.len()).find(|i| {
                key.is_some() && group.columns.len() == 1 && keys[*i] == key && flows[*i].direction == direction
            });
            match shared {
                Some(i) => users[i].push(index),
                None => {
                    flows.push(ShimFlow {
                        direction,
                        column: column.filter(|c| *c < columns),
                        is_broadcast,
                        is_packet,
                    });
                    users.push(vec![index]);
                    keys.push(key);
                }
            }
        }
    }
    let tiles = shim_tiles(&flows, &setup.device);
    // The first tile that wants a column gets it, the others what is left.
    let mut taken: Vec<u64> = Vec::new();
    for tile in &tiles.tiles {
        let free = (0..).find(|c| !taken.contains(c)).unwrap_or_default();
        taken.push(tile.column.filter(|c| !taken.contains(c)).unwrap_or(free));
    }
    let assigned = flows.into_iter().zip(users).zip(tiles.channels);
    assigned
        .map(|((flow, groups), (tile, channel))| AssignedFlow { flow, groups, tile, channel, column: taken[tile] })
        .collect()
}

/// Channels and live descriptors per shim tile.
fn channels(used: &mut LaunchUse, traffic: &Traffic, groups: &[FlowGroup], assigned: &[AssignedFlow], setup: &Setup) {
    let flows: Vec<ShimFlow> = assigned.iter().map(|a| a.flow).collect();
    for (direction, kind, per_tile) in [
        (Direction::Mm2s, ResourceKind::ShimMm2s, setup.device.shim.mm2s_count.value),
        (Direction::S2mm, ResourceKind::ShimS2mm, setup.device.shim.s2mm_count.value),
    ] {
        let count = flows.iter().filter(|f| f.direction == direction && !f.is_packet).count() as u64;
        used.take(kind, count, per_tile.saturating_mul(setup.device.columns.value));
    }
    // A transfer below a condition may be that of one tile among many: alone it proves nothing.
    let is_certain =
        |a: &&AssignedFlow| a.groups.iter().any(|g| !traffic.transfers[groups[*g].transfer].is_conditional);
    let certain: Vec<ShimFlow> = assigned.iter().filter(is_certain).map(|a| a.flow).collect();
    for fault in check_shim_flows(&certain, &setup.device) {
        let mut finding = codes::finding(&used.name, &fault);
        for (n, group) in groups.iter().enumerate() {
            let span = traffic.transfers[group.transfer].span;
            let text = format!("{} x {}", group.columns.len(), group.direction);
            finding = if n == 0 { finding.at(span, text) } else { finding.also(span, text) };
        }
        used.findings.push(finding);
    }
    let mut tasks: Vec<ChannelTasks> = Vec::new();
    for a in assigned {
        let channel = ShimChannel { tile: a.tile as u64, direction: a.flow.direction, index: a.channel };
        let of = |g: &usize| groups[*g].task.as_ref().map_or(1, |t| t.bds_per_chunk);
        let task_count = a.groups.iter().map(of).fold(0u64, u64::saturating_add);
        let is_reorderable = a.groups.iter().all(|g| groups[*g].is_reorderable);
        match tasks.iter_mut().find(|t| t.channel == channel) {
            Some(same) => same.task_count = same.task_count.saturating_add(task_count),
            None => tasks.push(ChannelTasks { channel, task_count, bds_per_task: 1, is_reorderable }),
        }
    }
    used.task_count = tasks.iter().map(|t| t.task_count).fold(0u64, u64::saturating_add);
    let users = |is_here: &dyn Fn(&AssignedFlow) -> bool| -> Vec<usize> {
        assigned.iter().filter(|a| is_here(a)).flat_map(|a| a.groups.clone()).collect()
    };
    live(used, traffic, groups, &tasks, setup, |tile| users(&|a| a.tile as u64 == tile));
    // Channels of a herd are alike: the longest queue stands for all.
    let waiting = tasks.iter().max_by_key(|t| (check_queue(&[**t], &setup.device, &setup.profile).len(), t.task_count));
    if let Some(tasks) = waiting {
        let ShimChannel { tile, direction, index } = tasks.channel;
        let on = users(&|a| (a.tile as u64, a.flow.direction, a.channel) == (tile, direction, index));
        for fault in check_queue(&[*tasks], &setup.device, &setup.profile) {
            let finding = codes::finding(&used.name, &fault);
            used.findings.push(with_transfers(finding, traffic, groups, on.clone()));
        }
    }
}

/// The transfers of groups as labels, those with the most descriptors first.
fn with_transfers(mut finding: Finding, traffic: &Traffic, groups: &[FlowGroup], mut on: Vec<usize>) -> Finding {
    on.sort_unstable();
    on.dedup();
    on.sort_by_key(|g| std::cmp::Reverse(groups[*g].task.as_ref().map_or(0, |t| t.bds_per_chunk)));
    for (n, g) in on.into_iter().enumerate() {
        let span = traffic.transfers[groups[g].transfer].span;
        let text = describe(traffic, &groups[g]);
        finding = if n == 0 { finding.at(span, text) } else { finding.also(span, text) };
    }
    finding
}

/// Live descriptors: the fullest tile stands for all, since tiles of a herd are alike.
fn live(
    used: &mut LaunchUse,
    traffic: &Traffic,
    groups: &[FlowGroup],
    tasks: &[ChannelTasks],
    setup: &Setup,
    groups_on: impl Fn(u64) -> Vec<usize>,
) {
    let live = live_bds(tasks, &setup.profile);
    let Some(fullest) = live.iter().max_by_key(|t| (t.bd_peak, std::cmp::Reverse(t.tile))) else { return };
    let limit = setup.device.shim.bd_count;
    let is_partial = groups.iter().any(|g| g.task.is_none());
    used.take_some(ResourceKind::ShimBds, fullest.bd_peak, limit.value, is_partial);
    if fullest.bd_peak <= limit.value {
        return;
    }
    let text = format!("{} buffer descriptors live at once on one shim tile, {} allowed", fullest.bd_peak, limit.value);
    let finding = Finding::error(airlink_diag::codes::AL0301, format!("`{}`: {text}", used.name))
        .found(format!("{} buffer descriptors", fullest.bd_peak))
        .allowed(format!("{} buffer descriptors", limit.value))
        .source(limit.source);
    used.findings.push(with_transfers(finding, traffic, groups, groups_on(fullest.tile)));
}

/// `16 BDs of [32, 4, 2, 512]: ...` in a few words.
fn describe(traffic: &Traffic, group: &FlowGroup) -> String {
    let Some(task) = &group.task else { return "not constant: not counted".to_string() };
    let bytes = traffic.transfers[group.transfer].side_in(Memory::L3).and_then(|(s, _)| s.byte_count());
    let mut text = match task.bds_per_chunk {
        1 => "1 BD".to_string(),
        n => format!("{n} BDs"),
    };
    text.push_str(&format!(" of {:?}", task.pattern.sizes));
    if let Some(bytes) = bytes {
        text.push_str(&format!(", {bytes} bytes a transfer"));
    }
    for unrolled in &task.unrolled_by {
        let why = match unrolled.reason {
            UnrollReason::NotFoldable => "a loop that holds more than this transfer",
            UnrollReason::TooManyDims => "a fifth dimension",
            UnrollReason::LongStep => "a step too long for a stride",
            UnrollReason::AroundUnrolled => "a loop around one that is unrolled",
            UnrollReason::LargeSize => "a fourth dimension of 64 or more",
            UnrollReason::LongStride => "a stride that is too long",
            UnrollReason::TakenApart => "a size that is too large",
        };
        text.push_str(&format!("; x {}: {why}", unrolled.count));
    }
    text
}
