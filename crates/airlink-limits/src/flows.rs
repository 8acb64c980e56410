//! From the transfers of a launch to its flows between host memory and the array.

use airlink_device::{Direction, Loop, Pattern, ShimTask, Transfer as ShimTransfer, shim_task};
use airlink_kernel::{BufferRef, LoopKind, Memory, Place, Side, Traffic, Transfer, TransferKind};

use crate::setup::Setup;
use crate::split::Split;

/// Flows that one transfer makes, all alike.
#[derive(Clone, Debug)]
pub(crate) struct FlowGroup {
    /// By position in the traffic.
    pub transfer: usize,
    pub direction: Direction,
    /// One flow each: the column of its other end, if that is known and matters.
    pub columns: Vec<Option<u64>>,
    pub is_broadcast: bool,
    pub is_packet: bool,
    /// Flows of one channel and index are one flow: the channel and the constant index, for puts and gets.
    pub key: Option<(usize, Vec<i64>)>,
    /// What each flow takes; none where sizes, strides or loops are not constant.
    pub task: Option<ShimTask>,
    /// The tools may pace it.
    pub is_reorderable: bool,
}

/// The flows of a launch. `tiling` is the runtime tiling that holds for it.
pub(crate) fn flow_groups(traffic: &Traffic, splits: &[Split], tiling: &[u64], setup: &Setup) -> Vec<FlowGroup> {
    let mut groups: Vec<FlowGroup> = Vec::new();
    for (index, transfer) in traffic.transfers.iter().enumerate() {
        if traffic.is_dma(transfer) {
            groups.extend(group(traffic, splits, tiling, setup, index));
        }
    }
    fit_budget(&mut groups, traffic, tiling, setup);
    groups
}

/// The flows of one transfer; none if it does not touch host memory.
fn group(traffic: &Traffic, splits: &[Split], tiling: &[u64], setup: &Setup, index: usize) -> Option<FlowGroup> {
    let transfer = &traffic.transfers[index];
    let (side, is_read) = transfer.side_in(Memory::L3)?;
    let direction = if is_read { Direction::Mm2s } else { Direction::S2mm };
    let mut group = FlowGroup {
        transfer: index,
        direction,
        columns: vec![None],
        is_broadcast: false,
        is_packet: false,
        key: None,
        task: None,
        is_reorderable: transfer.flags.is_empty(),
    };
    let mut parts = 1;
    match &transfer.kind {
        TransferKind::Dma => match transfer.place {
            Place::Herd(herd) => tiles(traffic, side, herd, is_read, &mut group),
            _ => parts = memtiles(transfer, side, splits, &mut group),
        },
        TransferKind::Put { channel, indices } | TransferKind::Get { channel, indices } => {
            let used = &traffic.channels[*channel];
            group.is_packet = used.is_packet();
            group.is_broadcast = !used.broadcast_shape.is_empty();
            let constants: Option<Vec<i64>> = indices.iter().map(|i| i.as_ref()?.as_constant()).collect();
            let count = parallel_count(traffic, transfer);
            let position = (0..used.size.len()).find(|d| used.size[*d] > 1);
            let column = position.and_then(|d| constants.as_ref()?.get(d).copied()).and_then(|c| u64::try_from(c).ok());
            group.columns = match (count, column) {
                (1, column) => vec![column.filter(|_| !group.is_broadcast)],
                (n, _) => (0..n).map(Some).collect(),
            };
            group.key = constants.map(|c| (*channel, c));
        }
    }
    group.task = shim_transfer(traffic, transfer, side, parts).map(|t| task(&t, tiling, setup));
    Some(group)
}

fn task(transfer: &ShimTransfer, tiling: &[u64], setup: &Setup) -> ShimTask {
    shim_task(transfer, Some(tiling), &setup.device, &setup.profile)
}

/// One flow per tile that the access depends on; what several tiles read alike is broadcast.
fn tiles(traffic: &Traffic, side: &Side, herd: usize, is_read: bool, group: &mut FlowGroup) {
    let herd = &traffic.herds[herd];
    let pin = herd.pin[0].and_then(|p| u64::try_from(p).ok()).unwrap_or(0);
    let depends = |position: usize| {
        let Some(tile_loop) = herd.tile_loops.get(position) else { return false };
        side.offset.as_ref().is_none_or(|o| o.step(*tile_loop) != 0)
    };
    let count = |position: usize| herd.size[position].unwrap_or(1);
    let (by_x, by_y) = match is_read {
        true => (depends(0), depends(1)),
        false => (true, true),
    };
    group.is_broadcast = (!by_x && count(0) > 1) || (!by_y && count(1) > 1);
    let rows = if by_y { count(1) } else { 1 };
    let columns: Vec<Option<u64>> = if by_x { (0..count(0)).map(|x| Some(pin + x)).collect() } else { vec![None] };
    group.columns = columns.into_iter().flat_map(|c| (0..rows).map(move |_| c)).collect();
}

/// One flow per memtile that holds a part of the L2 buffer. Returns the number of parts.
fn memtiles(transfer: &Transfer, side: &Side, splits: &[Split], group: &mut FlowGroup) -> u64 {
    let local = transfer.sides().find_map(|s| match (s.memory, s.buffer) {
        (Memory::L2, BufferRef::Local(i)) => Some(splits[i]),
        _ => None,
    });
    let Some(split) = local.filter(|s| s.axis.is_some()) else { return 1 };
    // Parts are runs of the outermost dimension; where that does not divide, the buffer stays whole.
    let outermost = side.sizes.iter().find(|s| **s != Some(1)).copied().flatten();
    if outermost.is_none_or(|n| n % split.parts != 0) {
        return 1;
    }
    group.columns = (0..split.parts).map(|i| Some(split.first_column + i)).collect();
    split.parts
}

fn parallel_count(traffic: &Traffic, transfer: &Transfer) -> u64 {
    let parallel = transfer.loops.iter().map(|l| &traffic.loops[*l]).filter(|l| l.kind == LoopKind::Parallel);
    parallel.fold(1u64, |n, l| n.saturating_mul(l.trip.unwrap_or(1))).min(1 << 10)
}

/// The transfer as `airlink-device` takes it; none where something is not constant.
pub(crate) fn shim_transfer(traffic: &Traffic, transfer: &Transfer, side: &Side, parts: u64) -> Option<ShimTransfer> {
    let sizes: Option<Vec<u64>> = side.sizes.iter().copied().collect();
    let strides: Option<Vec<i64>> = side.strides.iter().copied().collect();
    let (mut sizes, strides) = (sizes?, strides?);
    if sizes.len() != strides.len() {
        return None;
    }
    if let Some(outermost) = sizes.iter_mut().find(|s| **s != 1).filter(|_| parts > 1) {
        *outermost /= parts;
    }
    let offset = side.offset.as_ref()?;
    let mut loops = Vec::new();
    let mut launch_loops = 0;
    for index in &transfer.loops {
        let l = &traffic.loops[*index];
        if matches!(l.kind, LoopKind::Tile | LoopKind::Parallel) {
            continue;
        }
        launch_loops += usize::from(l.kind == LoopKind::Launch);
        loops.push(Loop { trip: l.trip?, step: offset.step(*index) });
    }
    Some(ShimTransfer {
        loops,
        launch_loops,
        pattern: Pattern::new(&sizes, &strides),
        offset: Some(offset.constant),
        element_bits: side.element_bits?,
        buffer_elements: side.buffer_elements.unwrap_or(0),
        is_foldable: is_alone(traffic, transfer),
    })
}

/// Whether the innermost loop of a put or get in the launch's body holds no other of its channel. DMAs, and what goes
/// through other channels, get loops of their own before loops are folded.
fn is_alone(traffic: &Traffic, transfer: &Transfer) -> bool {
    let innermost = transfer.loops.iter().rev().find(|l| traffic.loops[**l].kind == LoopKind::For);
    let (Some(innermost), false) = (innermost, transfer.kind == TransferKind::Dma) else { return true };
    let channel = |t: &Transfer| match &t.kind {
        TransferKind::Put { channel, .. } | TransferKind::Get { channel, .. } => Some(*channel),
        TransferKind::Dma => None,
    };
    let rivals = traffic.transfers.iter().filter(|t| t.place == transfer.place && t.loops.contains(innermost));
    rivals.filter(|t| channel(t) == channel(transfer)).count() == 1
}

/// The compiler splits L2 buffers only as far as there are shim channels: where the parts are too many, buffers go whole,
/// the last ones first.
fn fit_budget(groups: &mut [FlowGroup], traffic: &Traffic, tiling: &[u64], setup: &Setup) {
    let device = &setup.device;
    for (direction, per_tile) in [(Direction::Mm2s, device.shim.mm2s_count), (Direction::S2mm, device.shim.s2mm_count)]
    {
        let budget = per_tile.value.saturating_mul(device.columns.value);
        loop {
            let of = |g: &&FlowGroup| g.direction == direction && !g.is_packet;
            let count: u64 = groups.iter().filter(of).map(|g| g.columns.len() as u64).sum();
            let is_split = |g: &FlowGroup| {
                let t = &traffic.transfers[g.transfer];
                let is_memtile = t.kind == TransferKind::Dma && !matches!(t.place, Place::Herd(_));
                g.direction == direction && is_memtile && g.columns.len() > 1
            };
            let Some(last) = groups.iter_mut().rev().find(|g| is_split(g)).filter(|_| count > budget) else { break };
            last.columns = vec![None];
            let transfer = &traffic.transfers[last.transfer];
            let side = transfer.side_in(Memory::L3).map(|(s, _)| s);
            last.task = side.and_then(|s| shim_transfer(traffic, transfer, s, 1)).map(|t| task(&t, tiling, setup));
        }
    }
}
