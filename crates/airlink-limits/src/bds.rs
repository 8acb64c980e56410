//! Descriptors of cores and memtiles: lengths, dimensions, granules, and that accesses stay in their buffers.

use airlink_device::{Bound, Canon, Fault, Pattern, Rule, TileBd, TileKind, check_tile_bd, granule};
use airlink_diag::{Finding, codes as list};
use airlink_kernel::{BufferRef, Linear, LoopKind, Memory, Place, Side, Traffic, Transfer};

use crate::codes;
use crate::launch::LaunchUse;
use crate::setup::Setup;
use crate::split::Split;

/// Judges the L1 and L2 sides of all transfers, and the reach of every side.
pub(crate) fn judge(used: &mut LaunchUse, traffic: &Traffic, splits: &[Split], setup: &Setup) {
    for transfer in &traffic.transfers {
        let mut seen: Vec<Rule> = Vec::new();
        for side in transfer.sides() {
            let faults = match (side.memory, traffic.is_dma(transfer)) {
                (_, false) => Vec::new(),
                (Memory::L3, _) => tile_offsets(traffic, transfer, side),
                _ => side_faults(traffic, transfer, side, splits, setup),
            };
            for fault in faults.into_iter().filter(|f| f.rule != Rule::B4) {
                if !seen.contains(&fault.rule) {
                    seen.push(fault.rule);
                    let text = format!("{} side", side.memory.as_str());
                    used.findings.push(codes::finding(&used.name, &fault).at(transfer.span, text));
                }
            }
            // What never runs reaches nothing.
            let runs = transfer.loops.iter().all(|l| traffic.loops[*l].trip != Some(0));
            if runs && !transfer.is_conditional {
                used.findings.extend(reach(&used.name, traffic, transfer, side));
            }
        }
    }
    lock_races(used, traffic, setup);
}

/// One BD of a tile, its unit dimensions dropped and neighbours merged as the compiler does.
fn side_faults(traffic: &Traffic, transfer: &Transfer, side: &Side, splits: &[Split], setup: &Setup) -> Vec<Fault> {
    let kind = if side.memory == Memory::L1 { TileKind::Core } else { TileKind::Mem };
    let (Some(sizes), Some(strides)) = (constant(&side.sizes), constant(&side.strides)) else { return Vec::new() };
    let (Some(element_bits), Some(buffer_elements)) = (side.element_bits, side.buffer_elements) else {
        return Vec::new();
    };
    if sizes.len() != strides.len() {
        return Vec::new();
    }
    let mut sizes = sizes;
    // A part of a split buffer is moved by a descriptor of its own; runs of the outermost dimension go to one memtile.
    if let BufferRef::Local(b) = side.buffer
        && !matches!(transfer.place, Place::Herd(_))
        && let Some(outermost) = sizes.iter_mut().find(|n| **n != 1).filter(|n| **n % splits[b].parts == 0)
    {
        *outermost /= splits[b].parts;
    }
    let canon = Canon {
        size_max: setup.profile.fold_size_max.value,
        granule: granule(element_bits),
        modulus: 0,
        stride_max: i64::MAX,
    };
    let Some(mut pattern) = Pattern::new(&sizes, &strides).canonical(&canon) else { return Vec::new() };
    if pattern.rank() == 0 {
        pattern = Pattern::linear(1);
    }
    let bd = TileBd { kind, pattern, element_bits, buffer_elements, offset: 0, is_own_buffer: true };
    let mut faults = check_tile_bd(&bd, &setup.device, &setup.profile);
    faults.extend(offset_faults(traffic, transfer, side));
    faults
}

/// Granules of the offset: of its constant part and of what each loop adds.
fn offset_faults(traffic: &Traffic, transfer: &Transfer, side: &Side) -> Vec<Fault> {
    let (Some(offset), Some(bits)) = (&side.offset, side.element_bits) else { return Vec::new() };
    let runs = |l: &usize| transfer.loops.contains(l) && traffic.loops[*l].trip != Some(1);
    let steps = offset.steps.iter().filter(|(l, _)| runs(l)).map(|(_, step)| *step);
    std::iter::once(offset.constant).chain(steps).filter_map(|n| whole_words(n, bits)).take(1).collect()
}

/// At L3 the constant part is judged with the shim BD: here is what tiles and parallel loops add.
fn tile_offsets(traffic: &Traffic, transfer: &Transfer, side: &Side) -> Vec<Fault> {
    let (Some(offset), Some(bits)) = (&side.offset, side.element_bits) else { return Vec::new() };
    let is_side_by_side = |l: usize| matches!(traffic.loops[l].kind, LoopKind::Tile | LoopKind::Parallel);
    let runs = |l: usize| transfer.loops.contains(&l) && traffic.loops[l].trip != Some(1);
    let steps = offset.steps.iter().filter(|(l, _)| is_side_by_side(*l) && runs(*l));
    steps.filter_map(|(_, step)| whole_words(*step, bits)).take(1).collect()
}

fn whole_words(elements: i64, bits: u64) -> Option<Fault> {
    let found = i128::from(elements).saturating_mul(bits.into());
    let bound = Bound::MultipleOf(32);
    (!bound.holds(found)).then(|| Fault {
        rule: Rule::B8,
        dim: None,
        found,
        allowed: bound,
        unit: "bits",
        source: "AIEDialect.cpp:2503-2510",
        text: format!("an offset that moves by {elements} elements of {bits} bits is not whole 32-bit words"),
    })
}

/// Whether an access stays in its buffer at every turn of its loops.
fn reach(launch: &str, traffic: &Traffic, transfer: &Transfer, side: &Side) -> Option<Finding> {
    let (sizes, strides) = (constant(&side.sizes)?, constant(&side.strides)?);
    let (low, high) = Pattern::new(&sizes, &strides).reach()?;
    let (first, last) = extremes(traffic, side.offset.as_ref()?)?;
    let (low, high) = (first.checked_add(low)?, last.checked_add(high)?);
    let count = i64::try_from(side.buffer_elements?).ok()?;
    if low >= 0 && high < count {
        return None;
    }
    let (found, allowed) = if high >= count { (high, count - 1) } else { (low, 0) };
    let text = format!(
        "`{launch}`: an access reaches element {found} of a buffer of {count} elements in {}",
        side.memory.as_str()
    );
    Some(
        Finding::error(list::AL0326, text)
            .at(transfer.span, format!("{} side: elements {low} to {high}", side.memory.as_str()))
            .found(format!("element {found}"))
            .allowed(if high >= count { format!("at most element {allowed}") } else { "at least element 0".into() })
            .source("AIEDialect.cpp:2422-2427")
            .remedy(format!(
                "change the sizes, strides, offsets or the loop's bounds by {} elements",
                if high >= count { found - allowed } else { -found }
            )),
    )
}

/// The least and the greatest value of an offset.
fn extremes(traffic: &Traffic, offset: &Linear) -> Option<(i64, i64)> {
    let (mut low, mut high) = (offset.constant, offset.constant);
    for (l, step) in &offset.steps {
        let turns = i64::try_from(traffic.loops[*l].trip?.saturating_sub(1)).ok()?;
        let by = step.checked_mul(turns)?;
        if by < 0 {
            low = low.checked_add(by)?;
        } else {
            high = high.checked_add(by)?;
        }
    }
    Some((low, high))
}

/// Several ops that fill one L2 buffer from elsewhere share a lock pair unless the fix is on.
fn lock_races(used: &mut LaunchUse, traffic: &Traffic, setup: &Setup) {
    if setup.options.has_lock_fix {
        return;
    }
    for (index, buffer) in traffic.buffers.iter().enumerate().filter(|(_, b)| b.memory == Memory::L2) {
        let fills = |t: &&Transfer| t.destination.as_ref().is_some_and(|d| d.buffer == BufferRef::Local(index));
        let fillers: Vec<&Transfer> = traffic.transfers.iter().filter(fills).collect();
        let [first, second, ..] = fillers[..] else { continue };
        let text = format!(
            "`{}`: {} transfers fill one L2 buffer and share a lock pair: it may deadlock",
            used.name,
            fillers.len()
        );
        used.findings.push(
            Finding::warning(list::AL0317, text)
                .at(buffer.span, "this buffer")
                .also(first.span, "filled here")
                .also(second.span, "and here")
                .found(format!("{} transfers", fillers.len()))
                .allowed("1 transfer, or the lock fix")
                .source("mlir-air#1478")
                .remedy("set `lock_fix = true` in [graph.compiler] and pass the option to the compiler"),
        );
    }
}

fn constant<T: Copy>(list: &[Option<T>]) -> Option<Vec<T>> {
    list.iter().copied().collect()
}
