//! Streams over the array: an estimate of what the router has to do.

use airlink_device::{Cell, Direction, Stream, check_demand};
use airlink_kernel::{BufferRef, Memory, Place, Traffic, TransferKind};

use crate::codes;
use crate::flows::FlowGroup;
use crate::launch::LaunchUse;
use crate::setup::Setup;
use crate::shim::AssignedFlow;
use crate::split::{Axis, Split};

/// Row of shim tiles, of memtiles, and the first of cores.
const SHIM_ROW: u64 = 0;
const MEM_ROW: u64 = 1;
const CORE_ROW: u64 = 2;

/// Warns where more streams go up or down a column than it has ports, counting only those that begin and end in it.
///
/// What crosses columns is left out: measured kernels with six streams to one side of a tile do route.
pub(crate) fn judge(
    used: &mut LaunchUse,
    traffic: &Traffic,
    groups: &[FlowGroup],
    flows: &[AssignedFlow],
    splits: &[Split],
    places: &[Option<(u64, u64)>],
    setup: &Setup,
) {
    let mut streams = Vec::new();
    for flow in flows.iter().filter(|f| !f.flow.is_packet) {
        shim_stream(traffic, &groups[flow.groups[0]], flow, places, &mut streams);
    }
    for transfer in &traffic.transfers {
        let (Place::Herd(herd), TransferKind::Dma) = (transfer.place, &transfer.kind) else { continue };
        let Some((side, is_read)) = transfer.side_in(Memory::L2) else { continue };
        let BufferRef::Local(buffer) = side.buffer else { continue };
        if let Some(place) = places[herd].filter(|_| splits[buffer].parts > 1) {
            memtile_streams(traffic, herd, place, splits[buffer], is_read, &mut streams);
        }
    }
    streams.retain(|s: &Stream| s.to.iter().any(|to| to.column == s.from.column));
    for stream in &mut streams {
        stream.to.retain(|to| to.column == stream.from.column);
    }
    if let Some(fault) = check_demand(&streams, &setup.device).into_iter().next() {
        let place = traffic.herds.first().map(|h| h.span);
        let finding =
            codes::finding(&used.name, &fault).maybe_at(place, "counting streams that stay in their column").remedy(
                "keep transfers in their column: pin herds with x_loc, broadcast what tiles share, or use fewer tiles",
            );
        used.findings.push(finding);
    }
}

fn shim_stream(
    traffic: &Traffic,
    group: &FlowGroup,
    flow: &AssignedFlow,
    places: &[Option<(u64, u64)>],
    streams: &mut Vec<Stream>,
) {
    let Some(column) = flow.flow.column.filter(|_| !group.is_broadcast) else { return };
    let shim = Cell { column: flow.column, row: SHIM_ROW };
    let row = match traffic.transfers[group.transfer].place {
        Place::Herd(herd) => match places[herd] {
            Some((_, row)) => CORE_ROW + row,
            None => return,
        },
        _ => MEM_ROW,
    };
    let other = Cell { column, row };
    streams.push(match group.direction {
        Direction::Mm2s => Stream { from: shim, to: vec![other] },
        Direction::S2mm => Stream { from: other, to: vec![shim] },
    });
}

/// Between the parts of a buffer and the tiles that use them.
fn memtile_streams(
    traffic: &Traffic,
    herd: usize,
    (column, row): (u64, u64),
    split: Split,
    is_read: bool,
    streams: &mut Vec<Stream>,
) {
    let size = |i: usize| traffic.herds[herd].size[i].unwrap_or(1).min(64);
    for part in 0..split.parts.min(64) {
        let mem = Cell { column: split.first_column + part, row: MEM_ROW };
        let tiles: Vec<Cell> = match split.axis {
            Some(Axis::Y) => (0..size(0)).map(|x| Cell { column: column + x, row: CORE_ROW + row + part }).collect(),
            _ => (0..size(1)).map(|y| Cell { column: column + part, row: CORE_ROW + row + y }).collect(),
        };
        match is_read {
            true => streams.push(Stream { from: mem, to: tiles }),
            false => streams.extend(tiles.into_iter().map(|from| Stream { from, to: vec![mem] })),
        }
    }
}
