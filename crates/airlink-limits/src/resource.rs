//! How much of what is used.

use serde::Serialize;

/// What there is only so much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResourceKind {
    /// Buffer descriptors that live at once on the fullest shim tile.
    ShimBds,
    /// Runs of one push, of the transfer with the most.
    PushRuns,
    /// Flows from host memory.
    ShimMm2s,
    /// Flows to host memory.
    ShimS2mm,
    /// Columns that the widest row of herds takes.
    Columns,
    /// Rows of cores.
    Rows,
    /// Bytes of the fullest memtile.
    L2Bytes,
    /// Bytes of the fullest core, stack included.
    L1Bytes,
    /// Flows into the busiest core.
    CoreS2mm,
    /// Flows out of the busiest core.
    CoreMm2s,
    /// Flows into the busiest memtile.
    MemS2mm,
    /// Flows out of the busiest memtile.
    MemMm2s,
    /// Buffer descriptors of the busiest core.
    CoreBds,
    /// Buffer descriptors of the busiest memtile.
    MemBds,
    /// Locks of the busiest core.
    CoreLocks,
    /// Locks of the busiest memtile.
    MemLocks,
    /// Code bytes of the objects that one core links.
    ProgramBytes,
}

impl ResourceKind {
    /// The label in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            ResourceKind::ShimBds => "shim BDs",
            ResourceKind::PushRuns => "runs/push",
            ResourceKind::ShimMm2s => "shim MM2S",
            ResourceKind::ShimS2mm => "shim S2MM",
            ResourceKind::Columns => "columns",
            ResourceKind::Rows => "rows",
            ResourceKind::L2Bytes => "L2",
            ResourceKind::L1Bytes => "L1",
            ResourceKind::CoreS2mm => "core S2MM",
            ResourceKind::CoreMm2s => "core MM2S",
            ResourceKind::MemS2mm => "mem S2MM",
            ResourceKind::MemMm2s => "mem MM2S",
            ResourceKind::CoreBds => "core BDs",
            ResourceKind::MemBds => "mem BDs",
            ResourceKind::CoreLocks => "core locks",
            ResourceKind::MemLocks => "mem locks",
            ResourceKind::ProgramBytes => "program",
        }
    }

    /// Whether nearly all of it is nearly too much. A herd that takes all columns or both channels is not tight.
    pub fn is_gradual(self) -> bool {
        self.is_bytes() || matches!(self, ResourceKind::ShimBds | ResourceKind::PushRuns)
    }

    pub fn is_bytes(self) -> bool {
        matches!(self, ResourceKind::L1Bytes | ResourceKind::L2Bytes | ResourceKind::ProgramBytes)
    }
}

/// Used and allowed, of the tile or transfer that uses most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Resource {
    pub kind: ResourceKind,
    pub used: u64,
    pub allowed: u64,
    /// Part of it could not be counted (dynamic sizes, unknown loops): there may be more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_partial: bool,
}
