//! Where herds and flows go on the array.

mod buckets;
mod demand;
mod flows;

use serde::Serialize;

use crate::device::Device;
use crate::fault::{Bound, Fault, Rule, Unit};

pub use buckets::{L2Bucket, check_l2_buckets, l2_columns};
pub use demand::{Cell, Demand, Stream, check_demand, demand};
pub use flows::{ShimFlow, ShimTile, ShimTiles, check_shim_flows, shim_tiles};

/// A rectangle of cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Herd {
    pub columns: u64,
    pub rows: u64,
    /// Column and core row (0 is the lowest) of its south-west corner; ignored where it does not fit, as the tools do.
    pub pin: Option<(u64, u64)>,
}

/// Where the herds of one segment stand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Placement {
    /// Column and core row of the south-west corner; `None` for a herd without a place.
    pub places: Vec<Option<(u64, u64)>>,
    pub faults: Vec<Fault>,
}

const SOURCE: &str = "AIRHerdPlacementPass.cpp:590-596";

/// Searches end after that many attempts.
const ATTEMPTS_MAX: usize = 100_000;

/// Places the herds of one segment; `cascades` are pairs of producer and consumer.
///
/// Without cascades it goes as the tools do: from the lowest row, west to east, and on each free core the largest herd
/// that fits there. With cascades any placement will do that puts each consumer east or south of its producer.
pub fn place(herds: &[Herd], cascades: &[(usize, usize)], device: &Device) -> Placement {
    let mut grid = Grid::new(device);
    let mut places: Vec<Option<(u64, u64)>> = vec![None; herds.len()];
    let mut faults: Vec<_> = herds.iter().enumerate().filter_map(|(i, h)| too_large_alone(i, h, device)).collect();
    if !faults.is_empty() {
        return Placement { places, faults };
    }
    for (i, herd) in herds.iter().enumerate() {
        if let Some(pin) = herd.pin.filter(|p| grid.is_free(herd, *p)) {
            grid.fill(herd, pin, true);
            places[i] = Some(pin);
        }
    }
    let mut order: Vec<usize> = (0..herds.len()).filter(|i| places[*i].is_none()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(herds[*i].columns.saturating_mul(herds[*i].rows)));
    let edges: Vec<_> = cascades.iter().copied().filter(|(p, c)| p.max(c) < &herds.len() && p != c).collect();
    if edges.is_empty() {
        scan(herds, &order, &mut grid, &mut places);
    } else {
        let order = producers_first(&order, &edges);
        let mut attempts = ATTEMPTS_MAX;
        if !search(herds, &order, &edges, &mut grid, &mut places, &mut attempts) {
            let unit = Unit("placements", "AIRHerdPlacementPass.cpp:447-465");
            let text = "no placement puts every cascade consumer directly east or south of its producer".to_string();
            faults.push(Fault::new(Rule::Cascade, "cascade", 0, Bound::AtLeast(1), unit).saying(text));
        }
    }
    let missing = places.iter().filter(|p| p.is_none()).count();
    if missing > 0 && faults.is_empty() {
        let cores = herds.iter().fold(0u64, |n, h| n.saturating_add(h.columns.saturating_mul(h.rows)));
        let text = format!(
            "{missing} of {} herds ({cores} cores in all) find no place beside the others on {} columns and {} rows",
            herds.len(),
            device.columns.value,
            device.core_rows.value
        );
        let unit = Unit("herds", SOURCE);
        faults.push(Fault::new(Rule::HerdPlacement, "herds", missing as i128, Bound::Exactly(0), unit).saying(text));
    }
    Placement { places, faults }
}

fn too_large_alone(index: usize, herd: &Herd, device: &Device) -> Option<Fault> {
    let columns = Fault::above(Rule::HerdPlacement, "columns of a herd", herd.columns, device.columns, "columns");
    let rows = || Fault::above(Rule::HerdPlacement, "rows of a herd", herd.rows, device.core_rows, "rows");
    columns.or_else(rows).map(|f| f.at(index))
}

/// Which cores are taken.
struct Grid {
    columns: u64,
    rows: u64,
    taken: Vec<bool>,
}

impl Grid {
    fn new(device: &Device) -> Grid {
        // More is no device; less keeps the grid small whatever the table says.
        let (columns, rows) = (device.columns.value.min(256), device.core_rows.value.min(256));
        Grid { columns, rows, taken: vec![false; (columns * rows) as usize] }
    }

    fn is_free(&self, herd: &Herd, (column, row): (u64, u64)) -> bool {
        let is_inside = |at: u64, size: u64, end: u64| at.checked_add(size).is_some_and(|last| last <= end);
        is_inside(column, herd.columns, self.columns)
            && is_inside(row, herd.rows, self.rows)
            && self.cells(herd, (column, row)).all(|i| !self.taken[i])
    }

    fn fill(&mut self, herd: &Herd, at: (u64, u64), is_taken: bool) {
        let cells: Vec<_> = self.cells(herd, at).collect();
        cells.into_iter().for_each(|i| self.taken[i] = is_taken);
    }

    fn cells(&self, herd: &Herd, (column, row): (u64, u64)) -> impl Iterator<Item = usize> + use<> {
        let (width, columns) = (self.columns, herd.columns);
        (row..row + herd.rows).flat_map(move |r| (column..column + columns).map(move |c| (r * width + c) as usize))
    }

    fn corners(&self) -> impl Iterator<Item = (u64, u64)> + use<> {
        let columns = self.columns;
        (0..self.rows).flat_map(move |row| (0..columns).map(move |column| (column, row)))
    }
}

/// One pass over the cores, the largest herd that fits each.
fn scan(herds: &[Herd], order: &[usize], grid: &mut Grid, places: &mut [Option<(u64, u64)>]) {
    let mut left = order.to_vec();
    for corner in grid.corners() {
        if let Some(k) = left.iter().position(|i| grid.is_free(&herds[*i], corner)) {
            let i = left.remove(k);
            grid.fill(&herds[i], corner, true);
            places[i] = Some(corner);
        }
    }
}

/// The herds to place, each after its producers where there is no cycle.
fn producers_first(order: &[usize], edges: &[(usize, usize)]) -> Vec<usize> {
    let mut left = order.to_vec();
    let mut sorted = Vec::new();
    while !left.is_empty() {
        let is_root = |i: &usize| edges.iter().all(|(p, c)| c != i || !left.contains(p));
        let next = left.iter().position(is_root).unwrap_or(0);
        sorted.push(left.remove(next));
    }
    // Herds without cascades go last, so that they don't take what a chain needs.
    sorted.sort_by_key(|i| !edges.iter().any(|(p, c)| p == i || c == i));
    sorted
}

fn search(
    herds: &[Herd],
    order: &[usize],
    edges: &[(usize, usize)],
    grid: &mut Grid,
    places: &mut [Option<(u64, u64)>],
    attempts: &mut usize,
) -> bool {
    let Some((i, rest)) = order.split_first() else { return true };
    for corner in grid.corners() {
        if *attempts == 0 {
            return false;
        }
        if !grid.is_free(&herds[*i], corner) {
            continue;
        }
        *attempts -= 1;
        places[*i] = Some(corner);
        if edges.iter().filter(|(p, c)| p == i || c == i).all(|e| is_beside(herds, *e, places)) {
            grid.fill(&herds[*i], corner, true);
            if search(herds, rest, edges, grid, places, attempts) {
                return true;
            }
            grid.fill(&herds[*i], corner, false);
        }
        places[*i] = None;
    }
    false
}

/// Whether the consumer stands east or south of its producer, or one of them is not placed yet.
fn is_beside(herds: &[Herd], (producer, consumer): (usize, usize), places: &[Option<(u64, u64)>]) -> bool {
    let (Some(from), Some(to)) = (places[producer], places[consumer]) else { return true };
    let is_east = from.0 + herds[producer].columns == to.0 && from.1 == to.1;
    let is_south = from.0 == to.0 && from.1 == to.1 + herds[consumer].rows;
    is_east || is_south
}
