//! A matrix-vector product over more columns: each launch point takes the rows of several.
//!
//! With a factor `f`, a herd of `h` x 1 tiles becomes one of `f*h` x 1 and the grid has as many fewer points. Point `q` of
//! the wide launch does what points `q*f .. q*f+f-1` of the narrow one do: its tile `t` is tile `t mod h` of point
//! `q*f + t/h`. Every row is computed by the same code from the same elements in the same order, so no bit changes. That
//! holds where
//!
//! - a tile knows which one it is only by the part of the L2 buffers that it takes, its own `1/h`,
//! - a launch point is known only by the panel that it moves, and panels follow one another in host memory, and
//! - whatever else comes from host memory is the same for all tiles and points.

use airlink_diag::Span;
use airlink_kernel::{
    BufferRef, KernelType, LoopKind, Memory, Place, Side, Traffic, Transfer, TransferKind, WidthObstacle,
};

/// How a launch is widened.
#[derive(Clone, Debug, PartialEq)]
pub struct Wide {
    pub traffic: Traffic,
    /// The dimension of the grid that has fewer points.
    pub dimension: usize,
    /// Launch points along it before.
    pub points: u64,
    /// Columns of the herd before.
    pub columns: u64,
    pub panels: Vec<Panel>,
}

/// A transfer that moves the rows of one launch point between host memory and L2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Panel {
    /// Position among the transfers of the launch, in text order.
    pub transfer: usize,
    /// The dimension of its list in host memory that goes over the rows, counted from the innermost.
    pub l3_dimension: usize,
    /// The same of its list in L2.
    pub l2_dimension: usize,
}

/// Why a launch is not widened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Narrow {
    pub text: String,
    pub span: Span,
}

impl Narrow {
    fn new(span: Span, text: impl Into<String>) -> Narrow {
        Narrow { text: text.into(), span }
    }
}

/// Columns, launch points and their dimension, where a launch has the shape that can be widened, by whatever factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    columns: u64,
    points: u64,
    dimension: usize,
    tile_loop: usize,
}

/// The factors above 1 by which the launch points of a launch divide, up to `columns` of the device in all. `span` is the
/// launch.
///
/// # Errors
/// Why it cannot be widened, whatever the factor.
pub fn factors(traffic: &Traffic, columns: u64, span: Span) -> Result<Vec<u64>, Narrow> {
    let shape = shape(traffic, span)?;
    let most = shape.points.min(columns / shape.columns.max(1));
    let of = |factor: &u64| shape.points.is_multiple_of(*factor);
    // Any factor tells whether the transfers can be widened.
    widen(traffic, 1, span)?;
    Ok((2..=most).filter(of).collect())
}

/// The launch with `factor` times the columns. `span` is the launch.
///
/// # Errors
/// Why it cannot be widened, or not by this factor.
pub fn widen(traffic: &Traffic, factor: u64, span: Span) -> Result<Wide, Narrow> {
    let shape = shape(traffic, span)?;
    if factor == 0 || !shape.points.is_multiple_of(factor) {
        let text = format!("{} launch points are no multiple of {factor}", shape.points);
        return Err(Narrow::new(span, text));
    }
    let too_large = || Narrow::new(span, "the numbers of the wider launch leave 64 bits");
    let mut wide = traffic.clone();
    wide.loops[shape.dimension].trip = Some(shape.points / factor);
    let columns = shape.columns.checked_mul(factor).ok_or_else(too_large)?;
    wide.loops[shape.tile_loop].trip = Some(columns);
    wide.herds[0].size[0] = Some(columns);
    if let Some(shared) = wide.buffers.iter().find(|b| b.memory == Memory::L1 && !matches!(b.place, Place::Herd(_))) {
        return Err(Narrow::new(shared.span, "an L1 buffer is allocated outside of the herd"));
    }
    let is_l2: Vec<bool> = traffic.buffers.iter().map(|b| b.memory == Memory::L2).collect();
    for buffer in wide.buffers.iter_mut().filter(|b| b.memory == Memory::L2) {
        let rows = |ty: &str| -> Option<String> {
            let KernelType::MemRef(ty) = KernelType::parse(ty)? else { return None };
            ty.with_more_rows(factor).map(|ty| KernelType::MemRef(ty).to_string())
        };
        let no_rows = || {
            Narrow::new(
                buffer.span,
                "an L2 buffer has a layout, or no constant outermost dimension that could have more rows",
            )
        };
        buffer.ty = rows(&buffer.ty).ok_or_else(no_rows)?;
        let no_size = || Narrow::new(buffer.span, "the size of an L2 buffer is not known");
        buffer.bytes = Some(buffer.bytes.ok_or_else(no_size)?.checked_mul(factor).ok_or_else(too_large)?);
    }
    let mut panels = Vec::new();
    for (position, transfer) in wide.transfers.iter_mut().enumerate() {
        let kind = kind(transfer, &is_l2, traffic, shape)?;
        let (source, destination) = (&mut transfer.source, &mut transfer.destination);
        let mut dimensions = (0, 0);
        for side in [source, destination].into_iter().flatten() {
            let is_in_l2 = side.memory == Memory::L2;
            if let Kind::Panel = kind {
                let dimension = rows_of(side, shape, transfer.span)?;
                widen_side(side, dimension, factor, shape).ok_or_else(too_large)?;
                let from_innermost = side.sizes.len() - 1 - dimension;
                *(if is_in_l2 { &mut dimensions.1 } else { &mut dimensions.0 }) = from_innermost;
            }
            if is_in_l2 {
                side.buffer_elements =
                    Some(side.buffer_elements.and_then(|n| n.checked_mul(factor)).ok_or_else(too_large)?);
            }
        }
        if let Kind::Panel = kind {
            panels.push(Panel { transfer: position, l3_dimension: dimensions.0, l2_dimension: dimensions.1 });
        }
    }
    if panels.len() < 2 {
        return Err(Narrow::new(span, "it does not move panels of rows into L2 and results out of it"));
    }
    let Shape { columns, points, dimension, .. } = shape;
    Ok(Wide { traffic: wide, dimension, points, columns, panels })
}

fn shape(traffic: &Traffic, span: Span) -> Result<Shape, Narrow> {
    if let Some((obstacle, at)) = traffic.width_obstacle {
        return Err(Narrow::new(at, words(obstacle)));
    }
    let no_herd = || Narrow::new(span, "it has no one herd of constant size with one row of tiles");
    let [herd] = &traffic.herds[..] else { return Err(no_herd()) };
    let ([Some(columns), Some(1)], Some(&tile_loop)) = (herd.size, herd.tile_loops.first()) else {
        return Err(no_herd());
    };
    let grid = traffic.grid();
    let mut long = grid.iter().enumerate().filter(|(_, l)| l.trip != Some(1));
    let (Some((dimension, along)), None) = (long.next(), long.next()) else {
        return Err(Narrow::new(span, "its grid has not exactly one dimension with several points"));
    };
    let Some(points) = along.trip else { return Err(Narrow::new(span, "its grid is not constant")) };
    if let Some(inner) = traffic.loops.iter().find(|l| l.kind == LoopKind::Segment) {
        return Err(Narrow::new(inner.span, "its segment is unrolled"));
    }
    if columns == 0 || points == 0 {
        return Err(Narrow::new(span, "it has no tiles or no launch points"));
    }
    Ok(Shape { columns, points, dimension, tile_loop })
}

fn words(obstacle: WidthObstacle) -> &'static str {
    match obstacle {
        WidthObstacle::Shape => "it is no launch of one segment with one herd",
        WidthObstacle::Beside => "beside the herd stands an op that is no DMA, allocation or index arithmetic",
        WidthObstacle::Async => "tokens may order its launch points",
        WidthObstacle::Placed => "its herd or segment has a place or an extent of its own",
        WidthObstacle::LaunchId => "a launch id goes elsewhere than into the offsets of DMAs",
        WidthObstacle::TileId => "a tile id goes elsewhere than into the offsets of DMAs",
        WidthObstacle::ReadsExtent => "a body uses the extents of its launch, segment or herd",
        WidthObstacle::ComputedExtent => "the extent of the launch or of the herd is no constant of its own",
        WidthObstacle::Buffer => "an L2 buffer is not allocated beside the herd, or goes elsewhere than into DMAs",
    }
}

#[derive(Clone, Copy)]
enum Kind {
    /// Between host memory and L2.
    Panel,
    /// Between L2 and a tile: its own part of the buffer.
    Part,
    /// From host memory to a tile: the same for all tiles and points.
    Shared,
}

/// What a transfer moves, if it is one that a wider launch can have too.
fn kind(transfer: &Transfer, is_l2: &[bool], traffic: &Traffic, shape: Shape) -> Result<Kind, Narrow> {
    let narrow = |text: &str| Narrow::new(transfer.span, text);
    if transfer.kind != TransferKind::Dma {
        return Err(narrow("it uses channels"));
    }
    let (Some(source), Some(destination)) = (&transfer.source, &transfer.destination) else {
        return Err(narrow("a transfer has one side only"));
    };
    if transfer.is_conditional {
        return Err(narrow("a transfer stands below a condition"));
    }
    for side in [source, destination] {
        let is_known = match (side.memory, side.buffer) {
            (Memory::L3, BufferRef::Argument(_)) => true,
            (Memory::L2, BufferRef::Local(b)) => is_l2.get(b) == Some(&true),
            (Memory::L1, BufferRef::Local(_)) => true,
            _ => false,
        };
        if !is_known {
            return Err(narrow("a transfer takes memory that is not known"));
        }
        if side.sizes.iter().any(Option::is_none) || side.strides.iter().any(Option::is_none) {
            return Err(narrow("a size or a stride of a transfer is not constant"));
        }
    }
    match (source.memory, destination.memory) {
        (Memory::L3, Memory::L2) | (Memory::L2, Memory::L3) if !matches!(transfer.place, Place::Herd(_)) => {
            Ok(Kind::Panel)
        }
        (Memory::L2, Memory::L1) | (Memory::L1, Memory::L2) => {
            let (l2, l1) = if source.memory == Memory::L2 { (source, destination) } else { (destination, source) };
            if !is_own_part(l2, traffic, shape) {
                return Err(narrow("a tile does not take the part of an L2 buffer that its number gives it"));
            }
            let is_fixed = moves(l1, shape).is_some_and(|steps| steps == (0, 0));
            is_fixed
                .then_some(Kind::Part)
                .ok_or_else(|| narrow("which elements of L1 a transfer takes is not the same in all tiles"))
        }
        (Memory::L3, Memory::L1) => {
            let is_fixed = [source, destination].iter().all(|s| moves(s, shape).is_some_and(|steps| steps == (0, 0)));
            is_fixed.then_some(Kind::Shared).ok_or_else(|| {
                narrow("what comes from host memory past L2 is not the same for all tiles and launch points")
            })
        }
        _ => Err(narrow("a transfer is none between host memory and L2, L2 and a tile, or from host memory to a tile")),
    }
}

/// What one launch point and one tile add to a side's offset; none where that is not known.
fn moves(side: &Side, shape: Shape) -> Option<(i64, i64)> {
    let offset = side.offset.as_ref().filter(|_| side.dynamic_offset_count == 0)?;
    Some((offset.step(shape.dimension), offset.step(shape.tile_loop)))
}

/// Whether each tile takes elements of its own part of a buffer that has as many parts as the herd has columns.
fn is_own_part(side: &Side, traffic: &Traffic, shape: Shape) -> bool {
    let own = || -> Option<bool> {
        let part = side.buffer_elements?.checked_div(shape.columns)?;
        let is_even = part.checked_mul(shape.columns)? == side.buffer_elements?;
        let (point, tile) = moves(side, shape)?;
        let offset = side.offset.as_ref()?;
        let mut range = (i128::from(offset.constant), i128::from(offset.constant));
        let mut add = |step: i64, count: u64| {
            let far = i128::from(step) * i128::from(count.saturating_sub(1));
            range = (range.0 + far.min(0), range.1 + far.max(0));
        };
        for (size, stride) in side.sizes.iter().zip(&side.strides) {
            add((*stride)?, (*size)?);
        }
        for (inner, step) in offset.steps.iter().filter(|(l, _)| *l != shape.tile_loop) {
            add(*step, traffic.loops.get(*inner)?.trip?);
        }
        let is_within = range.0 >= 0 && range.1 < i128::from(part);
        Some(is_even && point == 0 && tile == i64::try_from(part).ok()? && is_within)
    };
    own().unwrap_or(false)
}

/// The dimension of a panel's list that goes over its rows: the next panel, in host memory, or the end of the buffer, in
/// L2, is where it ends.
fn rows_of(side: &Side, shape: Shape, span: Span) -> Result<usize, Narrow> {
    let found = || -> Option<usize> {
        let (point, tile) = moves(side, shape)?;
        let next = match side.memory {
            Memory::L3 if point > 0 => point,
            Memory::L2 if point == 0 => i64::try_from(side.buffer_elements?).ok()?,
            _ => return None,
        };
        let outer = side.sizes.iter().take_while(|n| **n == Some(1)).count();
        let goes_over = |i: &usize| {
            let size = side.sizes[*i].and_then(|n| i64::try_from(n).ok());
            size.zip(side.strides[*i]).is_some_and(|(size, stride)| size.checked_mul(stride) == Some(next))
        };
        (0..side.sizes.len().min(outer + 1)).find(goes_over).filter(|_| tile == 0)
    };
    let text = match side.memory {
        Memory::L3 if moves(side, shape).is_some_and(|(point, _)| point == 0) => {
            "what goes between host memory and L2 is the same for all launch points"
        }
        Memory::L3 => "the panels of its launch points do not follow one another in host memory",
        _ => "a panel is not the whole of an L2 buffer, row by row",
    };
    found().ok_or_else(|| Narrow::new(span, text))
}

/// As many more rows, and as much further on with each point.
fn widen_side(side: &mut Side, dimension: usize, factor: u64, shape: Shape) -> Option<()> {
    side.sizes[dimension] = Some(side.sizes[dimension]?.checked_mul(factor)?);
    let factor = i64::try_from(factor).ok()?;
    for (_, step) in side.offset.as_mut()?.steps.iter_mut().filter(|(l, _)| *l == shape.dimension) {
        *step = step.checked_mul(factor)?;
    }
    Some(())
}
