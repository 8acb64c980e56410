//! What a launch leaves unused, and what a rebuild would make of it: tried on the same model, like remedies.

use airlink_diag::{Finding, Severity, codes};
use airlink_kernel::{BufferRef, KernelType, LoopKind, Memory, Side, Traffic, TransferKind};

use crate::launch::{LaunchUse, measure};
use crate::resource::ResourceKind;
use crate::setup::Setup;
use crate::split::{Axis, splits};

/// What a note shows of the wider launch.
const SHOWN: [ResourceKind; 4] =
    [ResourceKind::PushRuns, ResourceKind::ShimBds, ResourceKind::ShimMm2s, ResourceKind::L2Bytes];

/// A note where a matrix-vector product that fits uses fewer columns than the device has, and fits as well with the rows
/// of each launch point spread over more: the widest such herd. `used` is what [`crate::judge_launch`] says of it.
pub fn advise(used: &LaunchUse, traffic: &Traffic, setup: &Setup) -> Option<Finding> {
    let fits = |u: &LaunchUse| u.findings.iter().all(|f| f.severity != Severity::Error);
    let [herd] = &traffic.herds[..] else { return None };
    let [Some(columns), Some(1)] = herd.size else { return None };
    let all = setup.device.columns.value;
    if columns == 0 || columns >= all || !fits(used) {
        return None;
    }
    let most = all / columns;
    let (factor, after) = (2..=most).rev().find_map(|factor| {
        let after = measure(&used.name, &widen(traffic, factor)?, setup);
        fits(&after).then_some((factor, after))
    })?;
    let changes: Vec<String> = SHOWN.iter().filter_map(|kind| change(*kind, used, &after)).collect();
    let points = traffic.grid()[0].trip?;
    let text = format!("`{}` uses {columns} of {all} columns", used.name);
    Some(
        Finding::note(codes::AL0507, text)
            .at(herd.span, format!("a herd of {columns} x 1, {points} launch points"))
            .found(format!("{columns} columns"))
            .allowed(format!("{all} columns"))
            .source(setup.device.columns.source)
            .remedy(format!(
                "rebuild the kernel with a herd of {} x 1 and {} launch points, {factor} times the rows in each: {}",
                columns * factor,
                points / factor,
                changes.join(", ")
            )),
    )
}

fn change(kind: ResourceKind, before: &LaunchUse, after: &LaunchUse) -> Option<String> {
    let of = |u: &LaunchUse| u.resources.iter().find(|r| r.kind == kind).copied();
    let (before, after) = (of(before)?, of(after)?);
    let unit = if kind.is_bytes() { " bytes" } else { "" };
    Some(format!("{} {} instead of {} of {}{unit}", kind.as_str(), after.used, before.used, after.allowed))
}

/// The traffic of a matrix-vector product whose herd has `factor` times the columns, whose L2 panels have as many more
/// rows and whose grid as many fewer points. `None` where it has another shape: each tile takes rows of its own from panels
/// in L2, the vector comes to all tiles from host memory, and results go back through L2.
fn widen(traffic: &Traffic, factor: u64) -> Option<Traffic> {
    let [grid] = traffic.grid() else { return None };
    let points = grid.trip.filter(|n| *n > 0 && n.is_multiple_of(factor))?;
    let tile_loop = *traffic.herds[0].tile_loops.first()?;
    let columns = traffic.loops.get(tile_loop)?.trip?;
    let panels: Vec<bool> = traffic.buffers.iter().map(|b| b.memory == Memory::L2).collect();
    let is_by_rows = |(buffer, split): (usize, &crate::split::Split)| {
        !panels[buffer] || (split.axis == Some(Axis::X) && split.parts == columns)
    };
    if !splits(traffic).iter().enumerate().all(is_by_rows) || !has_vector(traffic, tile_loop) {
        return None;
    }
    let mut wide = traffic.clone();
    wide.loops[0].trip = Some(points / factor);
    wide.loops[tile_loop].trip = Some(columns.checked_mul(factor)?);
    wide.herds[0].size[0] = Some(columns.checked_mul(factor)?);
    for buffer in wide.buffers.iter_mut().filter(|b| b.memory == Memory::L2) {
        let KernelType::MemRef(mut ty) = KernelType::parse(&buffer.ty)? else { return None };
        let rows = ty.shape.first_mut()?;
        *rows = Some((*rows)?.checked_mul(factor)?);
        buffer.ty = KernelType::MemRef(ty).to_string();
        buffer.bytes = Some(buffer.bytes?.checked_mul(factor)?);
    }
    let mut panel_transfers = 0;
    for transfer in &mut wide.transfers {
        let is_panel = |s: &Option<Side>| {
            s.as_ref().is_some_and(|s| matches!(s.buffer, BufferRef::Local(b) if panels.get(b) == Some(&true)))
        };
        let is_host = |s: &Option<Side>| s.as_ref().is_some_and(|s| s.memory == Memory::L3);
        let (source, destination) = (&mut transfer.source, &mut transfer.destination);
        let goes_through = (is_host(source) && is_panel(destination)) || (is_panel(source) && is_host(destination));
        for side in [source, destination].into_iter().flatten() {
            if matches!(side.buffer, BufferRef::Local(b) if panels.get(b) == Some(&true)) {
                side.buffer_elements = Some(side.buffer_elements?.checked_mul(factor)?);
            }
            if goes_through {
                widen_side(side, factor)?;
            }
        }
        panel_transfers += usize::from(goes_through);
    }
    (panel_transfers >= 2).then_some(wide)
}

/// Whether the tiles all take the same elements from host memory, and nothing else goes past L2.
fn has_vector(traffic: &Traffic, tile_loop: usize) -> bool {
    let mut vectors = 0;
    for transfer in &traffic.transfers {
        if transfer.kind != TransferKind::Dma || transfer.is_conditional {
            return false;
        }
        let (Some(source), Some(destination)) = (&transfer.source, &transfer.destination) else { return false };
        match (source.memory, destination.memory) {
            (Memory::L3, Memory::L1) => {
                let Some(offset) = &source.offset else { return false };
                if offset.step(0) != 0 || offset.step(tile_loop) != 0 {
                    return false;
                }
                vectors += 1;
            }
            (Memory::L1, Memory::L3) => return false,
            _ => {}
        }
    }
    vectors == 1 && traffic.loops.iter().all(|l| l.kind != LoopKind::Segment)
}

/// A side that moves a panel, one after the other in host memory: as many more rows.
fn widen_side(side: &mut Side, factor: u64) -> Option<()> {
    let outermost = side.sizes.iter().position(|n| *n != Some(1))?;
    let rows = side.sizes[outermost]?;
    if side.memory == Memory::L3 {
        let offset = side.offset.as_mut()?;
        let step = offset.step(0);
        // The next point's panel follows this one's.
        let panel = side.strides[outermost]?.checked_mul(i64::try_from(rows).ok()?)?;
        if step != panel || step == 0 {
            return None;
        }
        let wider = step.checked_mul(i64::try_from(factor).ok()?)?;
        offset.steps.iter_mut().filter(|(l, _)| *l == 0).for_each(|(_, s)| *s = wider);
    }
    side.sizes[outermost] = Some(rows.checked_mul(factor)?);
    Some(())
}
