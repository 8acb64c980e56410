//! Sets of bytes as sorted, disjoint ranges.

use crate::ByteRange;

/// A set of bytes of one buffer.
#[derive(Clone, Debug, Default)]
pub struct Ranges(Vec<ByteRange>);

impl Ranges {
    pub fn add(&mut self, range: ByteRange) {
        if range.start >= range.end {
            return;
        }
        // Those that touch the new one melt into it.
        let from = self.0.partition_point(|r| r.end < range.start);
        let to = self.0.partition_point(|r| r.start <= range.end);
        let melted = self.0[from..to]
            .iter()
            .fold(range, |m, r| ByteRange { start: m.start.min(r.start), end: m.end.max(r.end) });
        self.0.splice(from..to, [melted]);
    }

    /// The parts of `range` that the set lacks.
    pub fn missing(&self, range: ByteRange) -> Vec<ByteRange> {
        let from = self.0.partition_point(|r| r.end <= range.start);
        self.0[from..]
            .iter()
            .take_while(|r| r.start < range.end)
            .fold(vec![range], |rest, r| rest.into_iter().flat_map(|piece| subtract(piece, *r)).collect())
    }
}

/// What is left of `range` without `cut`, in order.
pub fn subtract(range: ByteRange, cut: ByteRange) -> impl Iterator<Item = ByteRange> {
    let before = ByteRange { start: range.start, end: range.end.min(cut.start) };
    let after = ByteRange { start: range.start.max(cut.end), end: range.end };
    [before, after].into_iter().filter(|r| r.start < r.end)
}
