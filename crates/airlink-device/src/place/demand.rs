//! How many streams cross each boundary between tiles: an estimate, never a proof.

use serde::Serialize;
use std::collections::BTreeMap;

use crate::device::{Device, Limit, TileKind};
use crate::fault::{Bound, Fault, Rule, Unit};

/// A tile of the array: row 0 is shim, 1 mem, from 2 on core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Cell {
    pub column: u64,
    pub row: u64,
}

/// A circuit stream from one tile to others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stream {
    pub from: Cell,
    pub to: Vec<Cell>,
}

/// Where a stream crosses from one tile to its neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
enum Crossing {
    /// From this tile to the one north of it.
    Up(Cell),
    /// To this tile from the one north of it.
    Down(Cell),
    /// From this tile to the one east of it.
    East(Cell),
    /// To this tile from the one east of it.
    West(Cell),
}

/// Streams over one boundary, and how many fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Demand {
    /// The tile south or west of the boundary.
    pub cell: Cell,
    pub towards: &'static str,
    pub stream_count: u64,
    pub port_count: Limit,
}

/// Streams over each boundary that any crosses.
///
/// A stream turns in the row of the core at one of its ends, else in the shim row: mem tiles have no ports to the side.
/// A broadcast crosses a boundary once. Tiles outside the device count as the nearest inside.
pub fn demand(streams: &[Stream], device: &Device) -> Vec<Demand> {
    let mut counts: BTreeMap<Crossing, u64> = BTreeMap::new();
    for stream in streams {
        let from = inside(stream.from, device);
        let mut crossed: Vec<_> = stream.to.iter().flat_map(|to| route(from, inside(*to, device))).collect();
        crossed.sort_unstable();
        crossed.dedup();
        for crossing in crossed {
            *counts.entry(crossing).or_default() += 1;
        }
    }
    counts.into_iter().map(|(crossing, count)| of_crossing(crossing, count, device)).collect()
}

/// Boundaries that more streams cross than there are ports.
pub fn check_demand(streams: &[Stream], device: &Device) -> Vec<Fault> {
    let over = |d: Demand| {
        let Cell { column, row } = d.cell;
        let name = format!("streams {} at column {column}, row {row}", d.towards);
        let bound = Bound::at_most(d.port_count);
        Fault::unless(Rule::Routing, &name, d.stream_count.into(), bound, Unit("streams", d.port_count.source))
    };
    demand(streams, device).into_iter().filter_map(over).collect()
}

fn inside(cell: Cell, device: &Device) -> Cell {
    let last_column = device.columns.value.saturating_sub(1).min(255);
    let last_row = device.core_rows.value.saturating_add(1).min(255);
    Cell { column: cell.column.min(last_column), row: cell.row.min(last_row) }
}

fn route(from: Cell, to: Cell) -> Vec<Crossing> {
    let turn_row = if from.row >= 2 {
        from.row
    } else if to.row >= 2 {
        to.row
    } else {
        0
    };
    let mut crossed = Vec::new();
    if from.column == to.column {
        vertical(from.column, from.row, to.row, &mut crossed);
        return crossed;
    }
    vertical(from.column, from.row, turn_row, &mut crossed);
    let (west, east) = (from.column.min(to.column), from.column.max(to.column));
    let boundary = |column| Cell { column, row: turn_row };
    match from.column < to.column {
        true => crossed.extend((west..east).map(|c| Crossing::East(boundary(c)))),
        false => crossed.extend((west..east).map(|c| Crossing::West(boundary(c)))),
    }
    vertical(to.column, turn_row, to.row, &mut crossed);
    crossed
}

fn vertical(column: u64, from: u64, to: u64, crossed: &mut Vec<Crossing>) {
    crossed.extend((from..to).map(|row| Crossing::Up(Cell { column, row })));
    crossed.extend((to..from).map(|row| Crossing::Down(Cell { column, row })));
}

fn of_crossing(crossing: Crossing, stream_count: u64, device: &Device) -> Demand {
    let ports = |cell: Cell| {
        let kind = match cell.row {
            0 => TileKind::Shim,
            1 => TileKind::Mem,
            _ => TileKind::Core,
        };
        device.tile(kind).ports
    };
    let (cell, towards, port_count) = match crossing {
        Crossing::Up(cell) => (cell, "north", ports(cell).north_out),
        Crossing::Down(cell) => (cell, "south", ports(cell).north_in),
        Crossing::East(cell) => (cell, "east", ports(cell).sideways),
        Crossing::West(cell) => (cell, "west", ports(cell).sideways),
    };
    Demand { cell, towards, stream_count, port_count }
}
