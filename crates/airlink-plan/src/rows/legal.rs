//! Whether launches over parts of a grid do what the launch over the whole does.
//!
//! They do where the launch is a pure loop over its points: what one point writes, no other one touches. Each access of
//! an argument covers a range of elements that moves with the launch id; where it moves by more than it and every other
//! access of that memory span together, ranges of different points are disjoint.

use airlink_diag::{Finding, Severity, Span, codes};
use airlink_graph::Launch;
use airlink_kernel::{BufferRef, EntryKind, EntrySummary, GridObstacle, Linear, Memory, Side, Traffic};

/// Where a grid can be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub dimension: usize,
    /// Launch points along it, at least 2.
    pub points: u64,
}

/// Why it cannot.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub text: String,
    pub span: Span,
}

impl Refusal {
    fn new(span: Span, text: impl Into<String>) -> Refusal {
        Refusal { text: text.into(), span }
    }

    pub fn into_finding(self, severity: Severity, headline: String, place: Span) -> Finding {
        Finding::new(severity, codes::AL0506, format!("{headline}: {}", self.text))
            .at(place, "")
            .also(self.span, self.text)
    }
}

/// One access of an argument.
struct Access<'t> {
    span: Span,
    side: &'t Side,
    argument: usize,
    is_write: bool,
}

/// The first dimension of a launch's grid along which it can be cut; else why the first one cannot be.
pub(super) fn dimension(launch: &Launch, entry: &EntrySummary) -> Result<Cut, Refusal> {
    let grid = entry.traffic.grid();
    if entry.kind != EntryKind::Launch || grid.iter().all(|l| l.trip == Some(1)) {
        return Err(Refusal::new(entry.span, "it has one launch point"));
    }
    if grid.iter().any(|l| l.trip.is_none()) {
        return Err(Refusal::new(entry.span, "its grid is not constant"));
    }
    if let Some(span) = entry.first_async {
        return Err(Refusal::new(span, "tokens may order its launch points"));
    }
    if let Some((obstacle, span)) = entry.traffic.grid_obstacle {
        return Err(Refusal::new(span, words(obstacle)));
    }
    if let Some(channel) = entry.traffic.channels.first() {
        let span = channel.span.unwrap_or(entry.span);
        return Err(Refusal::new(span, format!("several launches would use the channel `{}`", channel.name)));
    }
    let accesses = accesses(&entry.traffic)?;
    let mut first = None;
    for (dimension, of) in grid.iter().enumerate() {
        let Some(points) = of.trip.filter(|n| *n > 1) else { continue };
        match disjoint(&accesses, dimension, &|a, b| shared(a, b, launch), &entry.traffic) {
            Ok(()) => return Ok(Cut { dimension, points }),
            Err(refusal) => drop(first.get_or_insert(refusal)),
        }
    }
    Err(first.unwrap_or_else(|| Refusal::new(entry.span, "it has no launch point")))
}

fn words(obstacle: GridObstacle) -> &'static str {
    match obstacle {
        GridObstacle::Nested => "it stands in a loop or below a condition",
        GridObstacle::ReadsExtent => "its body uses the extents of its grid",
        GridObstacle::ComputedExtent => "an extent of its grid is no constant of its own",
        GridObstacle::OtherMemory => "it takes memory that is no argument of the kernel",
        GridObstacle::Direct => "it touches an argument otherwise than in a transfer",
    }
}

fn accesses(traffic: &Traffic) -> Result<Vec<Access<'_>>, Refusal> {
    let mut list = Vec::new();
    for transfer in &traffic.transfers {
        for (side, is_write) in [(&transfer.source, false), (&transfer.destination, true)] {
            let Some(side) = side.as_ref().filter(|s| s.memory == Memory::L3) else { continue };
            let BufferRef::Argument(argument) = side.buffer else {
                return Err(Refusal::new(transfer.span, "a transfer takes host memory that is no known argument"));
            };
            list.push(Access { span: transfer.span, side, argument, is_write });
        }
    }
    Ok(list)
}

/// Whether what points with different ids along `dimension` write is disjoint from all that others touch; `shared` says
/// of two arguments whether they are the same memory.
fn disjoint(
    accesses: &[Access<'_>],
    dimension: usize,
    shared: &dyn Fn(usize, usize) -> Shared,
    traffic: &Traffic,
) -> Result<(), Refusal> {
    for write in accesses.iter().filter(|a| a.is_write) {
        let range = Range::of(write, dimension, traffic)?;
        let step = range.step.abs();
        if step == 0 {
            return Err(Refusal::new(write.span, "every launch point writes the same elements"));
        }
        for other in accesses {
            match shared(write.argument, other.argument) {
                Shared::No => continue,
                Shared::Same => {}
                Shared::Overlap => {
                    let text = "it writes a part of a buffer of which it also takes another, overlapping part";
                    return Err(Refusal::new(write.span, text));
                }
            }
            let against = Range::of(other, dimension, traffic)?;
            let is_apart =
                range.step == against.step && range.high - against.low < step && against.high - range.low < step;
            if !is_apart {
                let what = if other.is_write { "writes" } else { "reads" };
                let text = format!("one launch point {what} elements that another may write");
                return Err(Refusal::new(other.span, text));
            }
        }
    }
    Ok(())
}

/// Whether two arguments of a kernel are the same memory in a launch.
#[derive(Clone, Copy, PartialEq)]
enum Shared {
    No,
    Same,
    Overlap,
}

fn shared(a: usize, b: usize, launch: &Launch) -> Shared {
    let (Some(x), Some(y)) = (launch.operands.get(a), launch.operands.get(b)) else { return Shared::Overlap };
    match () {
        () if a == b => Shared::Same,
        () if x.buffer != y.buffer || !x.range.overlaps(y.range) => Shared::No,
        () if x.view == y.view && x.ty == y.ty => Shared::Same,
        () => Shared::Overlap,
    }
}

/// Whether the arguments of two launches of one kernel share memory in the same way.
pub(super) fn shares_alike(a: &Launch, b: &Launch) -> bool {
    let count = a.operands.len();
    let same = |i: usize, j: usize| shared(i, j, a) == shared(i, j, b);
    count == b.operands.len() && (0..count).all(|i| (i + 1..count).all(|j| same(i, j)))
}

/// Elements that an access covers at the launch point 0: `low..=high`; each further point is `step` elements on.
struct Range {
    low: i128,
    high: i128,
    step: i128,
}

impl Range {
    fn of(access: &Access<'_>, dimension: usize, traffic: &Traffic) -> Result<Range, Refusal> {
        let unknown = || Refusal::new(access.span, "which elements a transfer touches is not linear in the launch id");
        let side = access.side;
        let offset: &Linear = side.offset.as_ref().filter(|_| side.dynamic_offset_count == 0).ok_or_else(unknown)?;
        let mut range =
            Range { low: offset.constant.into(), high: offset.constant.into(), step: offset.step(dimension).into() };
        for (position, step) in offset.steps.iter().filter(|(l, _)| *l != dimension) {
            let trip = traffic.loops.get(*position).and_then(|l| l.trip).ok_or_else(unknown)?;
            range.widen(*step, trip).ok_or_else(unknown)?;
        }
        for (size, stride) in side.sizes.iter().zip(&side.strides) {
            let (size, stride) = (size.ok_or_else(unknown)?, stride.ok_or_else(unknown)?);
            range.widen(stride, size).ok_or_else(unknown)?;
        }
        Ok(range)
    }

    /// Adds a dimension of `count` elements. `None` where the numbers leave 128 bits.
    fn widen(&mut self, step: i64, count: u64) -> Option<()> {
        let far = i128::from(step).checked_mul(i128::from(count.saturating_sub(1)))?;
        self.low = self.low.checked_add(far.min(0))?;
        self.high = self.high.checked_add(far.max(0))?;
        Some(())
    }
}
