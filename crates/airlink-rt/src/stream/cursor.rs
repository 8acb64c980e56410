//! Walking the elements of an access in row-major order, as runs of contiguous bytes.

use std::rc::Rc;

use super::channels::Bytes;

/// One run of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Run {
    /// So many bytes from this address.
    Data(usize, usize),
    /// So many bytes of padding.
    Zeros(usize),
}

impl Run {
    pub(crate) fn bytes(self) -> usize {
        match self {
            Run::Data(_, n) | Run::Zeros(n) => n,
        }
    }
}

/// One dimension in bytes; the outermost stands first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dim {
    size: usize,
    stride: isize,
    before: usize,
    after: usize,
}

impl Dim {
    fn extent(&self) -> usize {
        self.before + self.size + self.after
    }
}

/// What a transfer touches: sizes and strides in elements, padding in front of and behind each dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    dims: Vec<Dim>,
    /// Bytes that lie next to each other, element by element.
    run_bytes: usize,
    total_bytes: usize,
    /// Bytes in front of and behind the first element that are touched; equal if nothing is.
    reach: (isize, isize),
}

/// Bytes that a transfer touches.
#[derive(Clone)]
pub(crate) struct Area {
    pub first: usize,
    pub end: usize,
    /// None for all bytes in between.
    pub shape: Option<(usize, Rc<Pattern>)>,
}

impl Area {
    pub(crate) fn of(start: usize, pattern: &Rc<Pattern>) -> Area {
        let (first, end) = pattern.hull(start);
        Area { first, end, shape: (!pattern.is_contiguous()).then(|| (start, pattern.clone())) }
    }

    pub(crate) fn all(first: usize, end: usize) -> Area {
        Area { first, end, shape: None }
    }

    pub(crate) fn meets(&self, other: &Area) -> bool {
        let is_apart = match (&self.shape, &other.shape) {
            (Some((start, mine)), Some((other_start, others))) => mine.is_apart(*start, others, *other_start),
            _ => false,
        };
        self.first < other.end && other.first < self.end && !is_apart
    }

    /// Whether all bytes of `other` are among its own, as far as the ends tell.
    pub(crate) fn covers(&self, other: &Area) -> bool {
        self.shape.is_none() && self.first <= other.first && other.end <= self.end
    }

    /// What is left of it without `other`; all of it where that would take more than two runs.
    pub(crate) fn without(&self, other: &Area) -> Vec<Area> {
        if self.shape.is_some() || other.shape.is_some() {
            let is_same = self.shape.is_some() && self.first == other.first && self.end == other.end;
            return if other.covers(self) || is_same { Vec::new() } else { vec![self.clone()] };
        }
        let rest = [(self.first, self.end.min(other.first)), (self.first.max(other.end), self.end)];
        rest.into_iter().filter(|(first, end)| first < end).map(|(first, end)| Area::all(first, end)).collect()
    }
}

/// Sizes that no memory can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLarge;

impl Pattern {
    /// `padding` is empty or holds, for each dimension, the elements in front and then those behind.
    pub(crate) fn new(
        sizes: &[i64],
        strides: &[i64],
        padding: &[i64],
        element_bytes: usize,
    ) -> Result<Pattern, TooLarge> {
        let rank = sizes.len();
        let (mut dims, mut reach) = (Vec::with_capacity(rank), (0isize, 0isize));
        let (mut total, mut data) = (element_bytes, element_bytes);
        for (i, (&size, &stride)) in sizes.iter().zip(strides).enumerate() {
            let pad = |at: usize| usize::try_from(padding.get(at).copied().unwrap_or(0)).map_err(|_| TooLarge);
            let dim = Dim {
                size: usize::try_from(size).map_err(|_| TooLarge)?,
                stride: isize::try_from(stride)
                    .ok()
                    .and_then(|s| s.checked_mul(element_bytes as isize))
                    .ok_or(TooLarge)?,
                before: pad(i)?,
                after: pad(rank + i)?,
            };
            let extent = dim.before.checked_add(dim.size).and_then(|n| n.checked_add(dim.after)).ok_or(TooLarge)?;
            total = total.checked_mul(extent).filter(|&n| n <= isize::MAX as usize).ok_or(TooLarge)?;
            data = data.saturating_mul(dim.size);
            let far = (dim.size.max(1) as isize - 1).checked_mul(dim.stride).ok_or(TooLarge)?;
            reach.0 = reach.0.checked_add(far.min(0)).ok_or(TooLarge)?;
            reach.1 = reach.1.checked_add(far.max(0)).ok_or(TooLarge)?;
            dims.push(dim);
        }
        reach.1 = reach.1.checked_add(element_bytes as isize).ok_or(TooLarge)?;
        if data == 0 {
            reach = (0, 0);
        }
        let mut pattern = Pattern { dims, run_bytes: element_bytes, total_bytes: total, reach };
        pattern.fold();
        Ok(pattern)
    }

    /// Takes dimensions that only continue what lies inside them into the run, and drops those of one element.
    fn fold(&mut self) {
        self.dims.retain(|d| d.extent() != 1 || d.size != 1);
        while let Some(last) = self.dims.last() {
            if last.before + last.after != 0 || last.stride != self.run_bytes as isize {
                break;
            }
            self.run_bytes *= last.size;
            self.dims.pop();
        }
        let mut folded: Vec<Dim> = Vec::with_capacity(self.dims.len());
        for dim in self.dims.drain(..) {
            match folded.last_mut() {
                Some(outer)
                    if outer.before + outer.after + dim.before + dim.after == 0
                        && dim.stride.checked_mul(dim.size as isize) == Some(outer.stride) =>
                {
                    *outer = Dim { size: outer.size * dim.size, ..dim };
                }
                _ => folded.push(dim),
            }
        }
        self.dims = folded;
    }

    /// Whether it is one run of bytes.
    pub(crate) fn is_contiguous(&self) -> bool {
        self.dims.is_empty()
    }

    /// How many runs of bytes it is.
    pub(crate) fn run_count(&self) -> usize {
        self.total_bytes.checked_div(self.run_bytes).unwrap_or(0)
    }

    pub(crate) fn total_bytes(&self) -> usize {
        self.total_bytes
    }

    /// The addresses touched if the first element lies at `start`: from the first to one past the last.
    pub(crate) fn hull(&self, start: usize) -> (usize, usize) {
        (start.wrapping_add_signed(self.reach.0), start.wrapping_add_signed(self.reach.1))
    }

    /// Whether accesses at two places surely touch no byte in common although their hulls meet: rows of one array whose
    /// columns are apart.
    pub(crate) fn is_apart(&self, start: usize, other: &Pattern, other_start: usize) -> bool {
        let outer = |p: &Pattern| p.dims.iter().map(|d| d.stride.unsigned_abs()).max().unwrap_or(0);
        let period = outer(self).max(outer(other));
        if period == 0 {
            return false;
        }
        let (Some(a), Some(b)) = (self.within(period), other.within(period)) else { return false };
        // Both repeat with the same period; what they touch of it are intervals that may wrap around.
        let (at, to) = (start.wrapping_add_signed(a.0) % period, other_start.wrapping_add_signed(b.0) % period);
        let (a_bytes, b_bytes) = ((a.1 - a.0) as usize, (b.1 - b.0) as usize);
        let distance = (to + period - at) % period;
        a_bytes <= distance && distance + b_bytes <= period
    }

    /// The reach of the dimensions inside `period`, if all others have strides that are multiples of it.
    fn within(&self, period: usize) -> Option<(isize, isize)> {
        let mut reach = (0isize, self.run_bytes as isize);
        for dim in &self.dims {
            let stride = dim.stride.unsigned_abs();
            if stride != 0 && stride % period == 0 {
                continue;
            }
            let far = (dim.size.max(1) as isize - 1) * dim.stride;
            reach = (reach.0 + far.min(0), reach.1 + far.max(0));
        }
        ((reach.1 - reach.0) as usize <= period).then_some(reach)
    }
}

/// A place in an access.
#[derive(Clone, Debug)]
pub(crate) struct Cursor {
    pattern: Rc<Pattern>,
    start: usize,
    /// The index along each dimension, padding included.
    index: Vec<usize>,
    /// Bytes of the current run that are behind us.
    inside: usize,
    left: usize,
}

impl Cursor {
    pub(crate) fn new(pattern: Rc<Pattern>, start: usize) -> Cursor {
        let left = pattern.total_bytes;
        Cursor { index: vec![0; pattern.dims.len()], pattern, start, inside: 0, left }
    }

    /// Bytes that are still ahead.
    pub(crate) fn left(&self) -> usize {
        self.left
    }

    /// The contiguous bytes at the place; nothing at the end.
    pub(crate) fn run(&self) -> Option<Run> {
        if self.left == 0 {
            return None;
        }
        let (mut offset, mut is_zero) = (0isize, false);
        for (dim, &index) in self.pattern.dims.iter().zip(&self.index) {
            is_zero |= index < dim.before || index >= dim.before + dim.size;
            offset += (index as isize - dim.before as isize) * dim.stride;
        }
        let bytes = self.pattern.run_bytes - self.inside;
        Some(match is_zero {
            true => Run::Zeros(bytes),
            false => Run::Data(self.start.wrapping_add_signed(offset) + self.inside, bytes),
        })
    }

    /// Goes on by `bytes`, at most what the current run has left.
    pub(crate) fn advance(&mut self, bytes: usize) {
        self.left -= bytes;
        self.inside += bytes;
        if self.inside < self.pattern.run_bytes {
            return;
        }
        self.inside = 0;
        for (index, dim) in self.index.iter_mut().zip(&self.pattern.dims).rev() {
            *index += 1;
            if *index < dim.extent() {
                return;
            }
            *index = 0;
        }
    }

    /// Moves up to `limit` bytes from here to `to`; how many it were.
    ///
    /// # Safety
    /// The bytes ahead of both cursors must be readable here and writable there, and nobody else may use them meanwhile.
    pub(crate) unsafe fn move_to(&mut self, to: &mut Cursor, limit: usize) -> usize {
        let mut moved = 0;
        while moved < limit {
            let (Some(from), Some(Run::Data(target, room))) = (self.run(), to.run()) else { break };
            let count = from.bytes().min(room).min(limit - moved);
            // SAFETY: by the promise above. The two may overlap where one buffer is copied onto itself.
            unsafe {
                match from {
                    Run::Data(source, _) => std::ptr::copy(source as *const u8, target as *mut u8, count),
                    Run::Zeros(_) => std::ptr::write_bytes(target as *mut u8, 0, count),
                }
            }
            self.advance(count);
            to.advance(count);
            moved += count;
        }
        moved
    }

    /// Appends up to `limit` bytes from here to `out`.
    ///
    /// # Safety
    /// The bytes ahead must be readable, and nobody may write them meanwhile.
    pub(crate) unsafe fn gather(&mut self, out: &mut Bytes, limit: usize) {
        let mut left = limit;
        while let Some(run) = self.run().filter(|_| left > 0) {
            let count = run.bytes().min(left);
            match run {
                // SAFETY: by the promise above.
                Run::Data(source, _) => {
                    out.extend_from_slice(unsafe { std::slice::from_raw_parts(source as *const u8, count) });
                }
                Run::Zeros(_) => out.resize(out.len() + count, 0),
            }
            self.advance(count);
            left -= count;
        }
    }

    /// Writes all of `bytes` from here on; how many found room.
    ///
    /// # Safety
    /// The bytes ahead must be writable, and nobody else may use them meanwhile.
    pub(crate) unsafe fn scatter(&mut self, bytes: &[u8]) -> usize {
        let mut done = 0;
        while done < bytes.len() {
            let Some(Run::Data(target, room)) = self.run() else { break };
            let count = room.min(bytes.len() - done);
            // SAFETY: by the promise above; `bytes` is ours and does not overlap it.
            unsafe { std::ptr::copy_nonoverlapping(bytes[done..].as_ptr(), target as *mut u8, count) };
            self.advance(count);
            done += count;
        }
        done
    }
}
