//! Flows to and from host memory, on shim tiles.

use serde::Serialize;

use crate::device::{Device, Limit};
use crate::fault::{Fault, Rule};
use crate::live::Direction;

/// A flow between L3 and the array. A broadcast is one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ShimFlow {
    pub direction: Direction,
    /// Column of the tile at its other end; `None` if it does not matter.
    pub column: Option<u64>,
    pub is_broadcast: bool,
    /// Packet flows of one column share a channel.
    pub is_packet: bool,
}

/// What the flows take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShimTiles {
    pub tiles: Vec<ShimTile>,
    /// For each flow: its tile and channel.
    pub channels: Vec<(usize, u64)>,
}

/// A shim tile that is not placed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ShimTile {
    /// The column that its first flow wants.
    pub column: Option<u64>,
    pub mm2s_count: u64,
    pub s2mm_count: u64,
    mm2s_packet: Option<u64>,
    s2mm_packet: Option<u64>,
}

impl ShimTile {
    fn used(&self, direction: Direction) -> u64 {
        match direction {
            Direction::Mm2s => self.mm2s_count,
            Direction::S2mm => self.s2mm_count,
        }
    }

    fn take(&mut self, flow: &ShimFlow) -> u64 {
        let (count, packet) = match flow.direction {
            Direction::Mm2s => (&mut self.mm2s_count, &mut self.mm2s_packet),
            Direction::S2mm => (&mut self.s2mm_count, &mut self.s2mm_packet),
        };
        if let Some(shared) = packet.filter(|_| flow.is_packet) {
            return shared;
        }
        let channel = *count;
        *count += 1;
        if flow.is_packet {
            *packet = Some(channel);
        }
        channel
    }

    fn shares(&self, flow: &ShimFlow) -> bool {
        let packet = match flow.direction {
            Direction::Mm2s => self.mm2s_packet,
            Direction::S2mm => self.s2mm_packet,
        };
        flow.is_packet && packet.is_some()
    }
}

/// Channels of each direction that the compiler gives out per shim tile, whatever the tile has.
const CHANNELS_PER_TILE: Limit = Limit::new(2, "AIRToAIESchedulingUtils.cpp:2377");

/// Spreads flows over shim tiles: those that want a column first, one bucket per column; then the others, each to the
/// emptiest tile that has a channel left.
pub fn shim_tiles(flows: &[ShimFlow], device: &Device) -> ShimTiles {
    let mut result = ShimTiles { tiles: Vec::new(), channels: vec![(0, 0); flows.len()] };
    let is_rigid = |flow: &ShimFlow| !flow.is_broadcast && flow.column.is_some();
    let (rigid, free): (Vec<usize>, Vec<usize>) = (0..flows.len()).partition(|i| is_rigid(&flows[*i]));
    for i in rigid.into_iter().chain(free) {
        let flow = &flows[i];
        let capacity = match flow.direction {
            Direction::Mm2s => device.shim.mm2s_count.value.min(CHANNELS_PER_TILE.value),
            Direction::S2mm => device.shim.s2mm_count.value.min(CHANNELS_PER_TILE.value),
        };
        let has_room = |t: &ShimTile| t.shares(flow) || t.used(flow.direction) < capacity;
        let tiles = result.tiles.iter().enumerate().filter(|(_, t)| has_room(t));
        let found = match is_rigid(flow) {
            // A packet flow of this column may share; else the first tile of the bucket.
            true => tiles.filter(|(_, t)| t.column == flow.column).min_by_key(|(i, t)| (!t.shares(flow), *i)),
            false => tiles.min_by_key(|(i, t)| (t.mm2s_count + t.s2mm_count, *i)),
        };
        let tile = found.map(|(i, _)| i).unwrap_or_else(|| {
            let column = flow.column.filter(|_| is_rigid(flow));
            let [mm2s_packet, s2mm_packet] = [None, None];
            result.tiles.push(ShimTile { column, mm2s_count: 0, s2mm_count: 0, mm2s_packet, s2mm_packet });
            result.tiles.len() - 1
        });
        result.channels[i] = (tile, result.tiles[tile].take(flow));
    }
    result
}

/// Whether the flows fit the shim tiles: the channels of each direction, then the tiles.
pub fn check_shim_flows(flows: &[ShimFlow], device: &Device) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (direction, per_tile) in [(Direction::Mm2s, device.shim.mm2s_count), (Direction::S2mm, device.shim.s2mm_count)]
    {
        let count = flows.iter().filter(|f| f.direction == direction && !f.is_packet).count() as u64;
        let all = Limit { value: per_tile.value.saturating_mul(device.columns.value), ..per_tile };
        let name = format!("{direction} flows to host memory");
        faults.extend(Fault::above(Rule::ShimChannels, &name, count, all, "DMA channels"));
    }
    if faults.is_empty() {
        let count = shim_tiles(flows, device).tiles.len() as u64;
        let name = "shim tiles that the flows open";
        faults.extend(Fault::above(Rule::ShimChannels, name, count, device.columns, "shim tiles"));
    }
    faults
}
