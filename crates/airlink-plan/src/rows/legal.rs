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
#[derive(Clone, Copy)]
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use airlink_diag::{Sources, Span};
    use airlink_kernel::{BufferRef, Linear, LoopKind, LoopUse, Memory, Side, Traffic};

    use super::{Access, Shared, disjoint};

    /// Launch points along the dimension that is cut, and turns of an inner loop.
    const POINTS: i64 = 5;
    const TURNS: i64 = 3;

    fn side(constant: i64, steps: [i64; 2], sizes: [u64; 2], strides: [i64; 2]) -> Side {
        let steps = steps.into_iter().enumerate().filter(|(_, s)| *s != 0).collect();
        Side {
            memory: Memory::L3,
            buffer: BufferRef::Argument(0),
            element: "f32".into(),
            element_bits: Some(32),
            buffer_elements: Some(1 << 20),
            sizes: sizes.map(Some).to_vec(),
            strides: strides.map(Some).to_vec(),
            offset: Some(Linear { constant, steps }),
            dynamic_offset_count: 0,
        }
    }

    /// The elements that one launch point touches.
    fn elements(side: &Side, point: i64) -> Vec<i64> {
        let offset = side.offset.as_ref().expect("linear");
        let mut list = Vec::new();
        for turn in 0..TURNS {
            let first = offset.constant + offset.step(0) * point + offset.step(1) * turn;
            for i in 0..side.sizes[0].unwrap_or(0) as i64 {
                for j in 0..side.sizes[1].unwrap_or(0) as i64 {
                    list.push(first + i * side.strides[0].unwrap_or(0) + j * side.strides[1].unwrap_or(0));
                }
            }
        }
        list
    }

    #[test]
    fn what_is_called_disjoint_is_disjoint() {
        let mut sources = Sources::default();
        let span = Span::file_start(sources.add("k.mlir", String::from(" ")));
        let one = |kind, trip: i64| LoopUse { kind, trip: Some(trip as u64), span };
        let loops = vec![one(LoopKind::Launch, POINTS), one(LoopKind::For, TURNS)];
        let traffic = Traffic { loops, ..Traffic::default() };
        let mut state = 0x5EEDu64;
        let mut below = |n: i64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as i64 % n
        };
        let (mut allowed, mut refused) = (0, 0);
        for _ in 0..20_000 {
            let step = below(41) - 20;
            let mut any = |step| {
                let sizes = [1 + below(3) as u64, 1 + below(4) as u64];
                side(below(30), [step, below(5) - 2], sizes, [below(9) - 4, below(3)])
            };
            let (write, other) = (any(step), any(step));
            let access = |side, is_write| Access { span, side, argument: 0, is_write };
            let accesses = [access(&write, true), access(&other, false)];
            if disjoint(&accesses, 0, &|_, _| Shared::Same, &traffic).is_err() {
                refused += 1;
                continue;
            }
            allowed += 1;
            let mut writer: BTreeMap<i64, i64> = BTreeMap::new();
            for point in 0..POINTS {
                for e in elements(&write, point) {
                    assert_eq!(*writer.entry(e).or_insert(point), point, "{write:?}");
                }
            }
            for point in 0..POINTS {
                let touched = elements(&other, point);
                assert!(touched.iter().all(|e| writer.get(e).is_none_or(|p| *p == point)), "{write:?} {other:?}");
            }
        }
        assert!(allowed > 500 && refused > 500, "{allowed} allowed, {refused} refused");
    }

    #[test]
    fn vast_numbers_are_refused_and_do_not_overflow() {
        let mut sources = Sources::default();
        let span = Span::file_start(sources.add("k.mlir", String::from(" ")));
        let loops = vec![LoopUse { kind: LoopKind::Launch, trip: Some(u64::MAX), span }];
        let traffic = Traffic { loops, ..Traffic::default() };
        let vast = side(i64::MAX, [i64::MIN, 0], [u64::MAX, u64::MAX], [i64::MIN, i64::MAX]);
        let accesses = [Access { span, side: &vast, argument: 0, is_write: true }];
        assert!(disjoint(&accesses, 0, &|_, _| Shared::Same, &traffic).is_err());
    }
}
