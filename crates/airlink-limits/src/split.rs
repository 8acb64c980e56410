//! How L2 buffers are spread over memtiles: `air-split-l2-memref` gives each column its part.

use airlink_kernel::{BufferRef, KernelType, Memory, Place, Side, Traffic, Transfer};

/// Along which dimension of its herd a buffer is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Axis {
    X,
    Y,
}

/// The parts of one L2 buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Split {
    pub axis: Option<Axis>,
    /// 1 where it is not split.
    pub parts: u64,
    /// The tile id has a dimension of the buffer to itself. Otherwise tiles share a dimension (`x * 8 + j`), and whether
    /// the compiler splits it is not certain.
    pub is_explicit: bool,
    /// Column of part 0: the herd's pin.
    pub first_column: u64,
}

const WHOLE: Split = Split { axis: None, parts: 1, is_explicit: true, first_column: 0 };

/// The split of each buffer, by its position in the traffic; L1 buffers are whole.
pub(crate) fn splits(traffic: &Traffic) -> Vec<Split> {
    (0..traffic.buffers.len()).map(|i| split(traffic, i)).collect()
}

fn split(traffic: &Traffic, buffer: usize) -> Split {
    if traffic.buffers[buffer].memory != Memory::L2 {
        return WHOLE;
    }
    let sides = || traffic.transfers.iter().filter_map(move |t| Some((t, side_of(t, buffer)?)));
    for (position, axis) in [(0, Axis::X), (1, Axis::Y)] {
        for (transfer, side) in sides() {
            let Place::Herd(herd) = transfer.place else { continue };
            let herd = &traffic.herds[herd];
            let Some(&tile_loop) = herd.tile_loops.get(position) else { continue };
            let step = side.offset.as_ref().map_or(0, |o| o.step(tile_loop));
            let Some(trip) = traffic.loops[tile_loop].trip.filter(|n| *n > 1) else { continue };
            if step != 0 {
                let first_column = herd.pin[0].and_then(|p| u64::try_from(p).ok()).unwrap_or(0);
                let is_explicit = is_own_dimension(&traffic.buffers[buffer].ty, step, trip);
                return Split { axis: Some(axis), parts: trip, is_explicit, first_column };
            }
        }
    }
    WHOLE
}

/// The side of a transfer that lies in a local buffer.
pub(crate) fn side_of(transfer: &Transfer, buffer: usize) -> Option<&Side> {
    transfer.sides().find(|s| s.buffer == BufferRef::Local(buffer))
}

/// Whether a step of one tile is a step in a dimension that has as many elements as there are tiles.
fn is_own_dimension(ty: &str, step: i64, trip: u64) -> bool {
    let Some(KernelType::MemRef(ty)) = KernelType::parse(ty) else { return false };
    let mut stride = 1u64;
    for extent in ty.shape.iter().rev() {
        let Some(extent) = *extent else { return false };
        if extent == trip && step.unsigned_abs() == stride {
            return true;
        }
        stride = stride.saturating_mul(extent);
    }
    false
}
