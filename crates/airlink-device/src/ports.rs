//! Ports of the stream switches.

use serde::Serialize;

use crate::device::Limit;

/// Stream ports of one tile: `_out` leave its switch (master), `_in` enter it (slave).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Ports {
    pub north_out: Limit,
    /// None in the top row.
    pub north_in: Limit,
    pub south_out: Limit,
    pub south_in: Limit,
    /// Each of east and west, each way; none at the edge of the array.
    pub sideways: Limit,
    pub dma_out: Limit,
    pub dma_in: Limit,
    pub core: Limit,
    pub fifo: Limit,
    pub control: Limit,
    /// Into the switch only.
    pub trace: Limit,
}

const SOURCE: &str = "AIETargetModel.cpp:880-1161";

const fn ports(count: u64) -> Limit {
    Limit::new(count, SOURCE)
}

pub(crate) const SHIM_PORTS: Ports = Ports {
    north_out: ports(6),
    north_in: ports(4),
    south_out: ports(6),
    south_in: ports(8),
    sideways: ports(4),
    dma_out: ports(2),
    dma_in: ports(2),
    core: ports(0),
    fifo: ports(1),
    control: ports(1),
    trace: ports(1),
};

/// Mem tiles have no streams to the side.
pub(crate) const MEM_PORTS: Ports = Ports {
    north_out: ports(6),
    north_in: ports(4),
    south_out: ports(4),
    south_in: ports(6),
    sideways: ports(0),
    dma_out: ports(6),
    dma_in: ports(6),
    core: ports(0),
    fifo: ports(0),
    control: ports(1),
    trace: ports(1),
};

pub(crate) const CORE_PORTS: Ports = Ports {
    north_out: ports(6),
    north_in: ports(4),
    south_out: ports(4),
    south_in: ports(6),
    sideways: ports(4),
    dma_out: ports(2),
    dma_in: ports(2),
    core: ports(1),
    fifo: ports(1),
    control: ports(1),
    trace: ports(2),
};
