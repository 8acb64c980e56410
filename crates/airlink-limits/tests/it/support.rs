//! Launches made by hand: an element-wise kernel with any shape.

use airlink_diag::{Sources, Span};
use airlink_kernel::{
    BufferRef, HerdUse, Linear, LocalBuffer, LoopKind, LoopUse, Memory, Place, SegmentUse, Side, Traffic, Transfer,
    TransferKind,
};

/// `inputs` reads and one write of `tile` elements at each of `trips` turns on `columns` x `rows` tiles, once for each of
/// `points` launch points.
#[derive(Clone, Copy, Debug)]
pub struct Elementwise {
    pub inputs: usize,
    pub tile: u64,
    pub trips: u64,
    pub columns: u64,
    pub rows: u64,
    pub points: u64,
    /// Tiles read the same elements instead of their own.
    pub is_shared: bool,
}

pub fn elementwise(shape: &Elementwise) -> Traffic {
    let file = Sources::default().add("k.air.mlir", String::new());
    let span = Span::new(file, 0..0);
    let one = |kind, trip| LoopUse { kind, trip: Some(trip), span };
    let loops = vec![
        one(LoopKind::Launch, shape.points),
        one(LoopKind::Tile, shape.columns),
        one(LoopKind::Tile, shape.rows),
        one(LoopKind::For, shape.trips),
    ];
    Traffic {
        tile_sizes: None,
        segments: vec![SegmentUse { name: Some("seg".into()), span }],
        herds: vec![HerdUse {
            name: Some("herd".into()),
            span,
            segment: Some(0),
            size: [Some(shape.columns), Some(shape.rows)],
            tile_loops: vec![1, 2],
            pin: [None, None],
            objects: vec!["k.o".into()],
        }],
        loops,
        transfers: (0..=shape.inputs).map(|i| transfer(shape, i, span)).collect(),
        buffers: (0..=shape.inputs).map(|_| buffer(shape, span)).collect(),
        channels: Vec::new(),
        grid_obstacle: None,
        width_obstacle: None,
    }
}

/// The transfer of argument `i`; the last one is the output.
fn transfer(shape: &Elementwise, i: usize, span: Span) -> Transfer {
    let tiles = shape.columns * shape.rows;
    let step = |n: u64| i64::try_from(n).expect("small");
    let own = vec![
        (0, step(shape.tile * tiles * shape.trips)),
        (1, step(shape.tile * shape.rows)),
        (2, step(shape.tile)),
        (3, step(shape.tile * tiles)),
    ];
    let shared = vec![(0, step(shape.tile * shape.trips)), (3, step(shape.tile))];
    let is_read = i < shape.inputs;
    let steps = if is_read && shape.is_shared { shared } else { own };
    let total = shape.tile * tiles * shape.trips * shape.points;
    let local = side(shape, Memory::L1, BufferRef::Local(i), Vec::new(), shape.tile);
    let host = side(shape, Memory::L3, BufferRef::Argument(i), steps, total);
    let (source, destination) = if is_read { (host, local) } else { (local, host) };
    Transfer {
        kind: TransferKind::Dma,
        span,
        place: Place::Herd(0),
        loops: vec![0, 1, 2, 3],
        is_conditional: false,
        source: Some(source),
        destination: Some(destination),
        flags: Vec::new(),
    }
}

fn side(shape: &Elementwise, memory: Memory, buffer: BufferRef, steps: Vec<(usize, i64)>, elements: u64) -> Side {
    Side {
        memory,
        buffer,
        element: "bf16".into(),
        element_bits: Some(16),
        buffer_elements: Some(elements),
        sizes: vec![Some(shape.tile)],
        strides: vec![Some(1)],
        offset: Some(Linear { constant: 0, steps }),
        dynamic_offset_count: 0,
    }
}

fn buffer(shape: &Elementwise, span: Span) -> LocalBuffer {
    LocalBuffer {
        memory: Memory::L1,
        span,
        place: Place::Herd(0),
        loops: vec![0, 1, 2, 3],
        ty: format!("memref<{}xbf16, 2 : i32>", shape.tile),
        bytes: Some(shape.tile * 2),
        tile_bytes: None,
        herds: vec![0],
        is_conditional: false,
    }
}
