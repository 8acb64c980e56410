//! What one launch moves, holds and occupies: the numbers that the limits of a device are about.
//!
//! Everything is as the kernel's text has it, before any pass of a compiler: a DMA in a herd stands once, whatever the
//! number of tiles. Sizes and strides are in elements, outermost first.

use airlink_diag::Span;

/// The traffic of one entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traffic {
    /// The launch's own runtime tiling: `air.shim_dma_tile_sizes`.
    pub tile_sizes: Option<Vec<u64>>,
    pub segments: Vec<SegmentUse>,
    pub herds: Vec<HerdUse>,
    /// Loops that enclose transfers and buffers, the launch's own dimensions first; referred to by position.
    pub loops: Vec<LoopUse>,
    /// DMAs, puts and gets in text order.
    pub transfers: Vec<Transfer>,
    /// Allocations in L2 and L1, in text order.
    pub buffers: Vec<LocalBuffer>,
    /// Channel declarations that the transfers name, in order of first use.
    pub channels: Vec<ChannelUse>,
    /// The first thing besides its transfers that keeps its grid from being cut into several launches.
    pub grid_obstacle: Option<(GridObstacle, Span)>,
    /// The first thing besides its transfers that keeps its herd from taking the rows of several launch points at once.
    pub width_obstacle: Option<(WidthObstacle, Span)>,
}

/// Why launches over parts of a grid would not be the launch over the whole, or cannot be shown to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GridObstacle {
    /// The launch stands in a loop or below a condition.
    Nested,
    /// Its body uses the extents of the grid.
    ReadsExtent,
    /// An extent of the grid is no constant of its own.
    ComputedExtent,
    /// It takes memory that is no argument of the kernel function.
    OtherMemory,
    /// An op that is no DMA, put or get touches an argument.
    Direct,
}

/// Why a herd with more columns would not do for one launch point what it does for several, or cannot be shown to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WidthObstacle {
    /// It is no launch of one segment with one herd in it.
    Shape,
    /// An op beside the herd is no DMA, allocation or index arithmetic.
    Beside,
    /// An op has a token.
    Async,
    /// The herd or its segment has a place or an extent of its own.
    Placed,
    /// A launch id goes elsewhere than into the offsets of DMAs.
    LaunchId,
    /// A tile id goes elsewhere than into the offsets of DMAs.
    TileId,
    /// A body uses the extents of its launch, segment or herd.
    ReadsExtent,
    /// The extent of the launch or of the herd is no constant of its own.
    ComputedExtent,
    /// An L2 buffer is allocated elsewhere than beside the herd, or goes elsewhere than into DMAs.
    Buffer,
}

impl Traffic {
    /// The loops that are the dimensions of the launch: the first ones.
    pub fn grid(&self) -> &[LoopUse] {
        let count = self.loops.iter().take_while(|l| l.kind == LoopKind::Launch).count();
        &self.loops[..count]
    }

    /// Whether a transfer goes through DMA channels: cascades and register writes do not.
    pub fn is_dma(&self, transfer: &Transfer) -> bool {
        match &transfer.kind {
            TransferKind::Dma => true,
            TransferKind::Put { channel, .. } | TransferKind::Get { channel, .. } => self.channels[*channel].is_dma(),
        }
    }
}

/// A segment of the launch.
#[derive(Clone, Debug, PartialEq)]
pub struct SegmentUse {
    pub name: Option<String>,
    pub span: Span,
}

/// A herd of the launch.
#[derive(Clone, Debug, PartialEq)]
pub struct HerdUse {
    pub name: Option<String>,
    pub span: Span,
    /// The segment that holds it, by position; none for a bare herd.
    pub segment: Option<usize>,
    /// Tiles in x and y, where constant; a dimension that is not given has one.
    pub size: [Option<u64>; 2],
    /// The loops that its tile ids are, by position.
    pub tile_loops: Vec<usize>,
    /// `x_loc` and `y_loc`, as written.
    pub pin: [Option<i64>; 2],
    /// Objects that its cores link: its own `link_with`, then those of the externs that it calls.
    pub objects: Vec<String>,
}

/// What makes a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopKind {
    /// A dimension of the launch.
    Launch,
    /// A dimension of a segment.
    Segment,
    /// A dimension of a herd: its turns run on tiles side by side.
    Tile,
    /// `scf.for` or `affine.for`.
    For,
    /// `scf.parallel` or `scf.forall`: unrolled.
    Parallel,
}

/// One loop.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopUse {
    pub kind: LoopKind,
    /// Turns, where constant.
    pub trip: Option<u64>,
    pub span: Span,
}

/// A level of the memory hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Memory {
    L3,
    L2,
    L1,
}

impl Memory {
    pub fn as_str(self) -> &'static str {
        match self {
            Memory::L3 => "L3",
            Memory::L2 => "L2",
            Memory::L1 => "L1",
        }
    }
}

/// Which op holds another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Launch,
    /// By position in [`Traffic::segments`].
    Segment(usize),
    /// By position in [`Traffic::herds`].
    Herd(usize),
}

/// A channel that the launch uses.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelUse {
    pub name: String,
    /// Where it is declared.
    pub span: Option<Span>,
    pub size: Vec<u64>,
    pub broadcast_shape: Vec<u64>,
    /// `npu_dma_stream`, `npu_dma_packet`, `npu_cascade`, ...
    pub kind: String,
}

impl ChannelUse {
    /// Whether its data goes through DMA channels.
    pub fn is_dma(&self) -> bool {
        matches!(self.kind.as_str(), "npu_dma_stream" | "npu_dma_packet")
    }

    pub fn is_packet(&self) -> bool {
        self.kind == "npu_dma_packet"
    }

    pub fn is_cascade(&self) -> bool {
        self.kind == "npu_cascade"
    }
}

/// A number that is linear in the enclosing loops' turns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Linear {
    pub constant: i64,
    /// Loop by position, and what one turn adds; sorted by loop, no zeros.
    pub steps: Vec<(usize, i64)>,
}

impl Linear {
    pub fn constant(constant: i64) -> Linear {
        Linear { constant, steps: Vec::new() }
    }

    /// What one turn of `loop_index` adds.
    pub fn step(&self, loop_index: usize) -> i64 {
        self.steps.iter().find(|(l, _)| *l == loop_index).map_or(0, |(_, s)| *s)
    }

    pub fn as_constant(&self) -> Option<i64> {
        self.steps.is_empty().then_some(self.constant)
    }

    /// `None` where a number leaves 64 bits.
    pub fn add(&self, other: &Linear) -> Option<Linear> {
        let mut sum = Linear::constant(self.constant.checked_add(other.constant)?);
        let mut loops: Vec<usize> = self.steps.iter().chain(&other.steps).map(|(l, _)| *l).collect();
        loops.sort_unstable();
        loops.dedup();
        for l in loops {
            let step = self.step(l).checked_add(other.step(l))?;
            if step != 0 {
                sum.steps.push((l, step));
            }
        }
        Some(sum)
    }

    /// `None` where a number leaves 64 bits.
    pub fn scale(&self, factor: i64) -> Option<Linear> {
        let steps: Option<Vec<_>> = self.steps.iter().map(|(l, s)| Some((*l, s.checked_mul(factor)?))).collect();
        let steps = steps?.into_iter().filter(|(_, s)| *s != 0).collect();
        Some(Linear { constant: self.constant.checked_mul(factor)?, steps })
    }
}

/// What a transfer is.
#[derive(Clone, Debug, PartialEq)]
pub enum TransferKind {
    /// Both sides in one op.
    Dma,
    /// One side, and a channel by position in [`Traffic::channels`] with its indices; an index is none where it is not
    /// linear in the loops.
    Put {
        channel: usize,
        indices: Vec<Option<Linear>>,
    },
    Get {
        channel: usize,
        indices: Vec<Option<Linear>>,
    },
}

/// A DMA, a put or a get.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfer {
    pub kind: TransferKind,
    pub span: Span,
    pub place: Place,
    /// The enclosing loops by position, outermost first: of the launch, the segment, the herd, and plain ones.
    pub loops: Vec<usize>,
    /// It stands below a condition, so it may not happen at every tile and turn.
    pub is_conditional: bool,
    /// What it reads; none for a get.
    pub source: Option<Side>,
    /// What it writes; none for a put.
    pub destination: Option<Side>,
    /// Attributes with an influence on how it is compiled, by name.
    pub flags: Vec<String>,
}

impl Transfer {
    /// The side in `memory`, and whether the transfer reads it.
    pub fn side_in(&self, memory: Memory) -> Option<(&Side, bool)> {
        let of = |side: &Option<Side>| side.as_ref().is_some_and(|s| s.memory == memory);
        match (of(&self.source), of(&self.destination)) {
            (true, _) => self.source.as_ref().map(|s| (s, true)),
            (_, true) => self.destination.as_ref().map(|s| (s, false)),
            _ => None,
        }
    }

    pub fn sides(&self) -> impl Iterator<Item = &Side> {
        [&self.destination, &self.source].into_iter().flatten()
    }
}

/// What a side accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferRef {
    /// An argument of the kernel function.
    Argument(usize),
    /// By position in [`Traffic::buffers`].
    Local(usize),
    Unknown,
}

/// One side of a transfer. An empty access list is spelled out.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    pub memory: Memory,
    pub buffer: BufferRef,
    pub element: String,
    pub element_bits: Option<u64>,
    /// Elements of the whole buffer, of which the memref may be a part.
    pub buffer_elements: Option<u64>,
    /// Extents; none where dynamic.
    pub sizes: Vec<Option<u64>>,
    /// Strides in elements; none where dynamic.
    pub strides: Vec<Option<i64>>,
    /// Elements from the start of the buffer; none where not linear in the loops.
    pub offset: Option<Linear>,
    /// Offsets of the list that are neither constant nor linear.
    pub dynamic_offset_count: usize,
}

impl Side {
    /// Elements that one transfer moves.
    pub fn element_count(&self) -> Option<u64> {
        self.sizes.iter().try_fold(1u64, |n, s| n.checked_mul((*s)?))
    }

    /// Bytes that one transfer moves.
    pub fn byte_count(&self) -> Option<u64> {
        self.element_count()?.checked_mul(self.element_bits?).map(|bits| bits.div_ceil(8))
    }
}

/// An allocation in L2 or L1.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalBuffer {
    pub memory: Memory,
    pub span: Span,
    pub place: Place,
    /// The enclosing loops by position, outermost first.
    pub loops: Vec<usize>,
    /// As printed: `memref<64x2048xbf16, 1 : i32>`.
    pub ty: String,
    /// Bytes of the whole allocation; none where an extent is dynamic.
    pub bytes: Option<u64>,
    /// For an L1 buffer of a segment: the bytes that one tile touches, where its herds take views of it by tile id.
    pub tile_bytes: Option<u64>,
    /// Herds that use it, by position.
    pub herds: Vec<usize>,
    /// It stands below a condition, so not every tile may have it.
    pub is_conditional: bool,
}
