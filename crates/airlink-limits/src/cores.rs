//! Cores and memtiles: places of herds, DMA channels, descriptors and locks.

use airlink_device::{
    ChannelOp, Direction, Herd, TileBuffer, TileChannel, TileKind, channel_program, check_channels, check_locks,
    check_program_runs, check_tile_bds, lock_count, place,
};
use airlink_diag::Span;
use airlink_kernel::{BufferRef, Memory, Place, Traffic, Transfer, TransferKind};

use crate::codes;
use crate::launch::LaunchUse;
use crate::memory::copies;
use crate::resource::ResourceKind;
use crate::setup::Setup;
use crate::split::{Axis, Split};

/// Herds that run on the same cores: those of one name in one segment, one after the other.
pub(crate) fn core_groups(traffic: &Traffic) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (i, herd) in traffic.herds.iter().enumerate() {
        let is_same = |g: &&mut Vec<usize>| {
            let first = &traffic.herds[g[0]];
            herd.name.is_some() && first.name == herd.name && first.segment == herd.segment
        };
        match groups.iter_mut().find(is_same) {
            Some(group) => group.push(i),
            None => groups.push(vec![i]),
        }
    }
    groups
}

/// Column and core row of each herd, by its position in the traffic; none where it has no place.
pub(crate) fn place_herds(used: &mut LaunchUse, traffic: &Traffic, setup: &Setup) -> Vec<Option<(u64, u64)>> {
    let mut places = vec![None; traffic.herds.len()];
    let groups = core_groups(traffic);
    let mut segments: Vec<Option<usize>> = traffic.herds.iter().map(|h| h.segment).collect();
    segments.sort_unstable();
    segments.dedup();
    let (mut columns, mut rows) = (0, 0);
    for segment in segments {
        let own: Vec<&Vec<usize>> = groups.iter().filter(|g| traffic.herds[g[0]].segment == segment).collect();
        let herds: Vec<Herd> = own.iter().map(|g| herd_of(traffic, g[0])).collect();
        let cascades: Vec<(usize, usize)> = cascades(traffic, &own);
        let placement = place(&herds, &cascades, &setup.device);
        for (i, group) in own.iter().enumerate() {
            for herd in *group {
                places[*herd] = placement.places.get(i).copied().flatten();
            }
        }
        for (herd, at) in herds.iter().zip(&placement.places) {
            let (column, row) = at.unwrap_or((0, 0));
            columns = columns.max(column + herd.columns);
            rows = rows.max(row + herd.rows);
        }
        for fault in &placement.faults {
            let mut finding = codes::finding(&used.name, fault);
            for (i, group) in own.iter().enumerate() {
                let text = format!("{} columns x {} rows", herds[i].columns, herds[i].rows);
                let span = traffic.herds[group[0]].span;
                let is_unplaced = placement.places[i].is_none();
                finding = if is_unplaced { finding.at(span, text) } else { finding.also(span, text) };
            }
            used.findings.push(finding);
        }
    }
    if columns > 0 {
        used.take(ResourceKind::Columns, columns, setup.device.columns.value);
        used.take(ResourceKind::Rows, rows, setup.device.core_rows.value);
    }
    places
}

/// A herd as `airlink-device` places it: pins are rows of the array, of which core rows are the third on.
fn herd_of(traffic: &Traffic, index: usize) -> Herd {
    const FIRST_CORE_ROW: u64 = 2;
    let herd = &traffic.herds[index];
    let pin = |p: Option<i64>| p.and_then(|p| u64::try_from(p).ok());
    let pin = pin(herd.pin[0]).zip(pin(herd.pin[1]).and_then(|row| row.checked_sub(FIRST_CORE_ROW)));
    Herd { columns: herd.size[0].unwrap_or(1), rows: herd.size[1].unwrap_or(1), pin }
}

/// Which group feeds which through a cascade.
fn cascades(traffic: &Traffic, groups: &[&Vec<usize>]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let users = |channel: usize, is_put: bool| {
        let touches = move |t: &&Transfer| match &t.kind {
            TransferKind::Put { channel: c, .. } => is_put && *c == channel,
            TransferKind::Get { channel: c, .. } => !is_put && *c == channel,
            TransferKind::Dma => false,
        };
        traffic.transfers.iter().filter(touches).filter_map(|t| match t.place {
            Place::Herd(h) => groups.iter().position(|g| g.contains(&h)),
            _ => None,
        })
    };
    for (channel, _) in traffic.channels.iter().enumerate().filter(|(_, c)| c.is_cascade()) {
        for from in users(channel, true) {
            for to in users(channel, false).filter(|to| *to != from) {
                if !pairs.contains(&(from, to)) {
                    pairs.push((from, to));
                }
            }
        }
    }
    pairs
}

/// One channel of a tile: who uses it.
#[derive(Clone, Debug)]
struct TileFlow {
    direction: Direction,
    /// What makes two transfers the same flow: the channel with its index, or the op itself.
    key: Key,
    ops: Vec<ChannelOp>,
    is_packet: bool,
    span: Span,
}

#[derive(Clone, Debug, PartialEq)]
enum Key {
    Channel(usize, Vec<Option<i64>>),
    Op(usize),
}

/// Judges cores and memtiles.
pub(crate) fn judge(used: &mut LaunchUse, traffic: &Traffic, splits: &[Split], setup: &Setup) {
    cores(used, traffic, setup);
    memtiles(used, traffic, splits, setup);
}

fn cores(used: &mut LaunchUse, traffic: &Traffic, setup: &Setup) {
    let kinds = [ResourceKind::CoreS2mm, ResourceKind::CoreMm2s, ResourceKind::CoreBds, ResourceKind::CoreLocks];
    let mut tiles = Vec::new();
    for herds in core_groups(traffic) {
        let mut flows: Vec<TileFlow> = Vec::new();
        for (index, t) in traffic.transfers.iter().enumerate() {
            let Place::Herd(h) = t.place else { continue };
            if herds.contains(&h) && !t.is_conditional {
                add_flow(&mut flows, traffic, index, t, Memory::L1, 1, setup);
            }
        }
        let shared: Vec<TileBuffer> = shared_buffers(traffic, Memory::L1, setup, |b| {
            traffic.buffers[b].herds.iter().any(|h| herds.contains(h)).then_some(1)
        });
        tiles.push((flows, lock_count(&shared, true), traffic.herds[herds[0]].span));
    }
    judge_tiles(used, TileKind::Core, &kinds, &tiles, setup);
}

fn memtiles(used: &mut LaunchUse, traffic: &Traffic, splits: &[Split], setup: &Setup) {
    let kinds = [ResourceKind::MemS2mm, ResourceKind::MemMm2s, ResourceKind::MemBds, ResourceKind::MemLocks];
    let column_count = setup.device.columns.value;
    let mut tiles = Vec::new();
    for column in 0..column_count {
        let mut flows: Vec<TileFlow> = Vec::new();
        for (index, t) in traffic.transfers.iter().enumerate() {
            let Some((side, _)) = t.side_in(Memory::L2).filter(|_| !t.is_conditional) else { continue };
            let BufferRef::Local(buffer) = side.buffer else { continue };
            if let Some(share) = share_in(traffic, t, splits[buffer], column, column_count) {
                add_flow(&mut flows, traffic, index, t, Memory::L2, share, setup);
            }
        }
        let shared = shared_buffers(traffic, Memory::L2, setup, |b| {
            let split = splits[b];
            (split.parts > 1 && (split.first_column..split.first_column + split.parts).contains(&column)).then_some(1)
        });
        if let Some(span) = flows.first().map(|f| f.span) {
            tiles.push((flows, lock_count(&shared, false), span));
        }
    }
    judge_tiles(used, TileKind::Mem, &kinds, &tiles, setup);
}

/// How many flows of a transfer end in the memtile of a column; none if it has no business there.
fn share_in(traffic: &Traffic, t: &Transfer, split: Split, column: u64, column_count: u64) -> Option<u64> {
    let in_parts = (split.first_column..split.first_column.saturating_add(split.parts)).contains(&column);
    match (&t.kind, t.place) {
        (TransferKind::Put { channel, indices } | TransferKind::Get { channel, indices }, _) => {
            // A relay of one channel index stands in the column of that index, as far as that is known.
            let used = &traffic.channels[*channel];
            let position = (0..used.size.len()).find(|d| used.size[*d] > 1);
            let index = position.and_then(|d| indices.get(d)?.as_ref()?.as_constant());
            let at = index.and_then(|i| u64::try_from(i).ok()).map(|i| i % column_count.max(1));
            (at == Some(column)).then_some(1)
        }
        (TransferKind::Dma, Place::Herd(herd)) if split.parts > 1 => {
            let herd = &traffic.herds[herd];
            let (_, is_read) = t.side_in(Memory::L2)?;
            // Along the other axis, tiles share a read of the same elements; each of them writes for itself.
            let other = if split.axis == Some(Axis::X) { 1 } else { 0 };
            let count = herd.size[other].unwrap_or(1);
            let step = herd.tile_loops.get(other).map_or(0, |l| t_step(t, *l));
            in_parts.then_some(if is_read && step == 0 { 1 } else { count })
        }
        _ if split.parts > 1 => in_parts.then_some(1),
        // Whole buffers: nothing says in which column, and they are few.
        _ => None,
    }
}

fn t_step(t: &Transfer, tile_loop: usize) -> i64 {
    t.side_in(Memory::L2).and_then(|(s, _)| s.offset.as_ref()).map_or(1, |o| o.step(tile_loop))
}

fn add_flow(
    flows: &mut Vec<TileFlow>,
    traffic: &Traffic,
    index: usize,
    t: &Transfer,
    memory: Memory,
    share: u64,
    setup: &Setup,
) {
    let Some((side, is_read)) = t.side_in(memory) else { return };
    let (key, is_packet) = match &t.kind {
        TransferKind::Dma => (Key::Op(index), false),
        TransferKind::Put { channel, indices } | TransferKind::Get { channel, indices } => {
            let used = &traffic.channels[*channel];
            if !used.is_dma() {
                return;
            }
            let constants = indices.iter().map(|i| i.as_ref()?.as_constant()).collect();
            (Key::Channel(*channel, constants), used.is_packet())
        }
    };
    let copies = match side.buffer {
        BufferRef::Local(b) => copies(traffic, b, setup),
        _ => 1,
    };
    let trip = t.loops.last().and_then(|l| traffic.loops[*l].trip).unwrap_or(1);
    // Each copy of a double buffer has a descriptor of its own.
    let is_alike = |o: &Transfer| o.kind == t.kind && o.side_in(memory) == t.side_in(memory);
    let first = traffic.transfers.iter().take(index).position(is_alike).unwrap_or(index) as u64;
    let ops = (0..copies).map(|copy| ChannelOp { op: first * 2 + copy, trip });
    let direction = if is_read { Direction::Mm2s } else { Direction::S2mm };
    for turn in 0..share {
        let same = flows.iter_mut().find(|f| turn == 0 && f.key == key && f.direction == direction);
        match same {
            Some(flow) => flow.ops.extend(ops.clone()),
            None => flows.push(TileFlow {
                direction,
                key: key.clone(),
                ops: ops.clone().collect(),
                is_packet,
                span: t.span,
            }),
        }
    }
}

/// Buffers that a DMA shares with a core, with their copies.
fn shared_buffers(
    traffic: &Traffic,
    memory: Memory,
    setup: &Setup,
    is_here: impl Fn(usize) -> Option<u64>,
) -> Vec<TileBuffer> {
    let touches = |t: &Transfer, b: usize| t.sides().any(|s| s.buffer == BufferRef::Local(b));
    let is_moved = |b: usize| traffic.transfers.iter().any(|t| traffic.is_dma(t) && touches(t, b));
    (0..traffic.buffers.len())
        .filter(|b| traffic.buffers[*b].memory == memory && is_moved(*b))
        .filter_map(|b| is_here(b).map(|_| b))
        .map(|b| TileBuffer { bytes: traffic.buffers[b].bytes.unwrap_or(0), copies: copies(traffic, b, setup) })
        .collect()
}

type Tile = (Vec<TileFlow>, u64, Span);

/// Judges tiles of one kind; the busiest stands in the table, and each rule is reported once.
fn judge_tiles(used: &mut LaunchUse, kind: TileKind, kinds: &[ResourceKind; 4], tiles: &[Tile], setup: &Setup) {
    let limits = setup.device.tile(kind);
    let mut most = [0u64; 4];
    let mut seen = Vec::new();
    for (flows, locks, span) in tiles {
        let count = |d: Direction| {
            let circuits = flows.iter().filter(|f| f.direction == d && !f.is_packet).count() as u64;
            circuits + u64::from(flows.iter().any(|f| f.direction == d && f.is_packet))
        };
        let channels: Vec<TileChannel> =
            channels_of(flows, limits.mm2s_count.value.max(1), limits.s2mm_count.value.max(1));
        let bd_count = channels.iter().map(|c| c.bd_count).sum::<u64>();
        let found = [count(Direction::S2mm), count(Direction::Mm2s), bd_count, *locks];
        most.iter_mut().zip(found).for_each(|(m, f)| *m = (*m).max(f));
        let mut faults = check_channels(kind, count(Direction::Mm2s), count(Direction::S2mm), &setup.device);
        if faults.is_empty() {
            faults.extend(check_tile_bds(kind, &channels, &setup.device));
        }
        faults.extend(check_locks(kind, *locks, &setup.device));
        for flow in flows {
            faults.extend(check_program_runs(&channel_program(&flow.ops), kind, &setup.device));
            used.has_reset |= !channel_program(&flow.ops).is_ring();
        }
        for fault in faults {
            if seen.contains(&fault.rule) {
                continue;
            }
            seen.push(fault.rule);
            let mut finding = codes::finding(&used.name, &fault).at(*span, kind.to_string());
            for flow in flows {
                finding = finding.also(flow.span, flow.direction.to_string());
            }
            used.findings.push(finding);
        }
    }
    let allowed = [limits.s2mm_count, limits.mm2s_count, limits.bd_count, limits.lock_count];
    for ((kind, found), allowed) in kinds.iter().zip(most).zip(allowed) {
        if found > 0 {
            used.take(*kind, found, allowed.value);
        }
    }
}

/// Channels in the order in which the compiler gives them out: round-robin.
fn channels_of(flows: &[TileFlow], mm2s_count: u64, s2mm_count: u64) -> Vec<TileChannel> {
    let mut next = [0u64; 2];
    let mut channels = Vec::new();
    for flow in flows {
        let (slot, count) = match flow.direction {
            Direction::Mm2s => (0, mm2s_count),
            Direction::S2mm => (1, s2mm_count),
        };
        let index = next[slot] % count;
        next[slot] += 1;
        let bd_count = channel_program(&flow.ops).bd_count();
        channels.push(TileChannel { direction: flow.direction, index, bd_count });
    }
    channels
}
