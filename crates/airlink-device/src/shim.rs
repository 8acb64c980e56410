//! From a transfer at L3 to the tasks of its shim channel: buffer descriptors, runs and chunks.

mod decompose;
mod shape;

use serde::Serialize;

use crate::check::{check_element_width, check_runs, check_shim_bd};
use crate::device::Device;
use crate::factor::largest_factor;
use crate::fault::{Bound, Fault, Rule, Unit};
use crate::pattern::{Canon, Pattern, granule, reduced};
use crate::profile::Profile;

pub use decompose::decompose;
pub use shape::{Shape, shape};

/// A loop around a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Loop {
    pub trip: u64,
    /// Elements by which the transfer advances per trip; 0 if it does not depend on the loop.
    pub step: i64,
}

/// One flow between L3 and a shim channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Transfer {
    /// Outermost first, the dimensions of the launch among them.
    pub loops: Vec<Loop>,
    /// How many of the first loops are dimensions of the launch, to which runtime tiling applies.
    pub launch_loops: usize,
    /// What one trip moves, in elements; of rank 0 for the whole buffer.
    pub pattern: Pattern,
    /// First element of the first run; `None` if unknown.
    pub offset: Option<i64>,
    pub element_bits: u64,
    /// Elements of the L3 buffer; 0 if unknown.
    pub buffer_elements: u64,
    /// Whether the loops hold nothing but this transfer, with constant sizes and strides.
    pub is_foldable: bool,
}

/// What the tools make of a [`Transfer`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShimTask {
    /// Parts of the launch that runtime tiling runs one after the other, each with a wait.
    pub chunks: u64,
    /// Buffer descriptors, each in a task of its own, per chunk.
    pub bds_per_chunk: u64,
    /// Runs that one push asks for: the repeat count and one.
    pub runs_per_push: u64,
    /// One BD, of rank 4: the iteration and three dimensions. A repeat without a step is in `runs_per_push` only.
    pub pattern: Pattern,
    /// The dimensions over chunks, in elements.
    pub chunk_dims: Pattern,
    /// The dimensions over the BDs of one chunk, in elements.
    pub bd_dims: Pattern,
    /// Why a chunk takes more than one BD.
    pub unrolled_by: Vec<Unrolled>,
    pub faults: Vec<Fault>,
}

/// A dimension or loop that became several BDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Unrolled {
    /// The loop of the transfer; `None` for a dimension of the pattern that folding left.
    pub loop_index: Option<usize>,
    /// BDs that it makes of one.
    pub count: u64,
    pub reason: UnrollReason,
}

/// Why BDs multiply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum UnrollReason {
    /// The loop holds more than this transfer, or what it moves is not constant.
    NotFoldable,
    /// With the loop the pattern would have more than four dimensions.
    TooManyDims,
    /// The step of the loop is too long for a stride.
    LongStep,
    /// A loop within it is not folded.
    AroundUnrolled,
    /// A size that the iteration or wrap field does not hold was split, and no dimension was free.
    LargeSize,
    /// The stride is too long, and the few steps become BDs.
    LongStride,
    /// The BD was taken apart because a size without factors is too large.
    TakenApart,
}

/// Dimensions of a shim BD, the iteration counted.
pub(crate) const SHIM_RANK: usize = 4;

/// The tasks of one transfer, and what is wrong with them.
///
/// `tiling` are the runtime tiling sizes of the launch; `None`, an empty list and a single 0 turn it off.
pub fn shim_task(transfer: &Transfer, tiling: Option<&[u64]>, device: &Device, profile: &Profile) -> ShimTask {
    let mut task = ShimTask::empty();
    if let Some(fault) = check_element_width(transfer.element_bits) {
        task.faults.push(fault);
        return task;
    }
    if !is_computable(transfer) {
        task.faults.push(Fault::too_large("the span of a transfer at L3"));
        return task;
    }
    if transfer.loops.iter().any(|l| l.trip == 0) {
        task.bds_per_chunk = 0;
        return task;
    }
    let Some(loops) = tiled(transfer, tiling, &mut task) else {
        task.faults.push(Fault::too_large("the search for a factor of a trip count"));
        return task;
    };
    let Some(pattern) = fold(transfer, &loops, profile, &mut task) else {
        task.faults.push(Fault::too_large("the span of a transfer at L3"));
        return task;
    };
    let shaped = shape(&pattern, transfer.element_bits, transfer.buffer_elements, profile);
    finish(transfer, shaped, device, profile, &mut task);
    task
}

impl ShimTask {
    fn empty() -> ShimTask {
        ShimTask {
            chunks: 1,
            bds_per_chunk: 1,
            runs_per_push: 1,
            pattern: Pattern::default(),
            chunk_dims: Pattern::default(),
            bd_dims: Pattern::default(),
            unrolled_by: Vec::new(),
            faults: Vec::new(),
        }
    }

    /// The BDs in all chunks.
    pub fn bds(&self) -> u64 {
        self.chunks.saturating_mul(self.bds_per_chunk)
    }

    fn unroll(&mut self, loop_index: Option<usize>, count: u64, stride: i64, reason: UnrollReason) {
        if count != 1 {
            self.unrolled_by.push(Unrolled { loop_index, count, reason });
            self.bds_per_chunk = self.bds_per_chunk.saturating_mul(count);
        }
        self.bd_dims.sizes.push(count);
        self.bd_dims.strides.push(stride);
    }
}

/// Whether loops and pattern together stay within 63 bits, in elements and in bits.
fn is_computable(transfer: &Transfer) -> bool {
    let mut all = transfer.pattern.clone();
    for l in &transfer.loops {
        all = all.under(l.trip, l.step);
    }
    let longest = i64::MAX / 64;
    let is_short = |n: i64| n.checked_abs().is_some_and(|n| n <= longest);
    all.is_computable()
        && transfer.buffer_elements <= longest as u64
        && all.reach().is_some_and(|(low, high)| is_short(low) && is_short(high))
        && all.dims().all(|(size, stride)| size <= longest as u64 && is_short(stride))
        && transfer.offset.is_none_or(is_short)
}

/// The loops that are left within one chunk, each with its index in the transfer.
fn tiled(transfer: &Transfer, tiling: Option<&[u64]>, task: &mut ShimTask) -> Option<Vec<(usize, Loop)>> {
    let tiles = tiling.filter(|t| *t != [0]).unwrap_or_default();
    let mut loops: Vec<_> = transfer.loops.iter().copied().enumerate().collect();
    let band = transfer.launch_loops.min(loops.len());
    for ((_, l), tile) in loops[..band].iter_mut().zip(tiles) {
        let kept = if *tile == 0 { l.trip } else { largest_factor(l.trip, *tile)? };
        let chunks = l.trip / kept;
        task.chunks = task.chunks.saturating_mul(chunks);
        task.chunk_dims.sizes.push(chunks);
        task.chunk_dims.strides.push(l.step * kept as i64);
        l.trip = kept;
    }
    Some(loops)
}

/// The pattern with the loops that fold into it; the others become BDs.
fn fold(transfer: &Transfer, loops: &[(usize, Loop)], profile: &Profile, task: &mut ShimTask) -> Option<Pattern> {
    let canon = Canon {
        size_max: profile.fold_size_max.value,
        granule: granule(transfer.element_bits),
        modulus: transfer.buffer_elements,
        stride_max: profile.shim_stride_elements_max.value as i64,
    };
    let mut raw = match transfer.pattern.rank() {
        0 => Pattern::linear(transfer.buffer_elements.max(1)),
        _ => transfer.pattern.canonical(&canon)?,
    };
    let mut folded = raw.clone();
    let mut count = 0;
    let mut reason = UnrollReason::NotFoldable;
    for (_, l) in loops.iter().rev().take_while(|_| transfer.is_foldable) {
        if is_long_step(l, &raw, transfer.element_bits, profile) {
            reason = UnrollReason::LongStep;
            break;
        }
        raw = raw.under(l.trip, reduced(l.step, 1, canon.modulus));
        let next = raw.canonical(&canon)?;
        if next.rank() > SHIM_RANK && l.trip > 1 {
            reason = UnrollReason::TooManyDims;
            break;
        }
        folded = next;
        count += 1;
    }
    let left = &loops[..loops.len() - count];
    for (i, (index, l)) in left.iter().enumerate() {
        let is_innermost = i + 1 == left.len() || reason == UnrollReason::NotFoldable;
        task.unroll(Some(*index), l.trip, l.step, if is_innermost { reason } else { UnrollReason::AroundUnrolled });
    }
    Some(folded)
}

/// Whether folding gives up on the step, unless the loop goes on where the outermost dimension ends.
fn is_long_step(l: &Loop, inner: &Pattern, element_bits: u64, profile: &Profile) -> bool {
    let bits = u128::from(l.step.unsigned_abs()) * u128::from(element_bits);
    let goes_on = inner.dims().next().is_some_and(|(size, stride)| stride * size as i64 == l.step);
    bits.div_ceil(32) > u128::from(profile.fold_step_words_max.value) && !goes_on
}

/// Takes the shape over, or its fault, and judges the BD.
fn finish(
    transfer: &Transfer,
    shaped: Result<Shape, Box<Fault>>,
    device: &Device,
    profile: &Profile,
    task: &mut ShimTask,
) {
    let shape = match shaped {
        Ok(shape) => shape,
        Err(fault) => return task.faults.push(*fault),
    };
    for ((count, stride), reason) in shape.bd_dims.dims().zip(shape.reasons) {
        task.unroll(None, count, stride, reason);
    }
    task.pattern = shape.pattern;
    task.runs_per_push = shape.runs;
    take_apart(transfer, device, profile, task);
    let faults = check_shim_bd(&task.pattern, transfer.element_bits, transfer.offset, device);
    // A BD that is taken apart has the sizes of its parts.
    let is_apart = task.unrolled_by.iter().any(|u| u.reason == UnrollReason::TakenApart);
    task.faults.extend(faults.into_iter().filter(|f| !(is_apart && f.rule == Rule::S5)));
    if shape.is_reordered {
        let unit = Unit("runs", "AIRRtToNpuPass.cpp:767-776");
        let text = "a repeat within a moving dimension becomes a repeat of the whole".to_string();
        let bound = Bound::Exactly(1);
        task.faults.push(Fault::new(Rule::RepeatOrder, "runs", shape.runs.into(), bound, unit).saying(text));
    }
    task.faults.extend(check_runs(shape.runs, &device.shim));
}

/// Takes a BD with too large sizes apart where that makes it fit.
fn take_apart(transfer: &Transfer, device: &Device, profile: &Profile, task: &mut ShimTask) {
    let bits = transfer.element_bits;
    let fits = |p: &Pattern| check_shim_bd(p, bits, None, device).iter().all(|f| f.rule != Rule::S5);
    if fits(&task.pattern) {
        return;
    }
    let Some(parts) = decompose(&task.pattern, bits, device, profile).filter(|parts| parts.iter().all(fits)) else {
        return;
    };
    let count = parts.len() as u64;
    if count > 1 {
        task.bds_per_chunk = task.bds_per_chunk.saturating_mul(count);
        task.unrolled_by.push(Unrolled { loop_index: None, count, reason: UnrollReason::TakenApart });
    } else if let Some(only) = parts.into_iter().next() {
        task.pattern = only;
    }
}
