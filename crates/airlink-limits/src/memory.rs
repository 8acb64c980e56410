//! Bytes in L1 and L2.

use airlink_device::{Fault, TileBuffer, buffer_copies, check_l1, check_l2, check_odd_trips, check_program, l1_bytes};
use airlink_diag::{Finding, codes as list};
use airlink_kernel::{BufferRef, LocalBuffer, LoopKind, Memory, Place, Traffic, Transfer};

use crate::codes;
use crate::cores::core_groups;
use crate::launch::LaunchUse;
use crate::resource::ResourceKind;
use crate::setup::Setup;
use crate::split::Split;

/// Copies that an L2 buffer has where an odd number of trips fills it under ping-pong.
///
/// GEMM panels overflow the memtile at 7 and at 37 trips and fit at even counts, where two copies fill it exactly: one
/// more copy explains both (placements; the compiler's reason is not known).
const ODD_COPIES: u64 = 3;
const ODD_SOURCE: &str = "measured placements: GEMM panels at 7 and 37 trips";

/// Judges what buffers take.
pub(crate) fn judge(used: &mut LaunchUse, traffic: &Traffic, splits: &[Split], setup: &Setup) {
    l1(used, traffic, setup);
    l2(used, traffic, splits, setup);
    odd_trips(used, traffic, setup);
}

/// The trips of the loop that fills or drains a buffer: the innermost one in the op that holds the transfer.
fn filling_trip(traffic: &Traffic, buffer: usize) -> u64 {
    let touches = |t: &&Transfer| t.sides().any(|s| s.buffer == BufferRef::Local(buffer));
    let trip = |t: &Transfer| {
        let innermost = t.loops.iter().rev().map(|l| &traffic.loops[*l]).find(|l| l.kind != LoopKind::Parallel);
        innermost.filter(|l| l.kind == LoopKind::For).map_or(1, |l| l.trip.unwrap_or(2))
    };
    // For a buffer of a segment, transfers by its herds drain or fill it tile by tile: the segment's own loops count.
    let own_level = |t: &&Transfer| match traffic.buffers[buffer].memory {
        Memory::L2 => !matches!(t.place, Place::Herd(_)),
        _ => true,
    };
    let moved = traffic.transfers.iter().filter(|t| traffic.is_dma(t));
    moved.filter(touches).filter(own_level).map(trip).max().unwrap_or(1)
}

/// Copies of a buffer under ping-pong.
pub(crate) fn copies(traffic: &Traffic, buffer: usize, setup: &Setup) -> u64 {
    let memory = traffic.buffers[buffer].memory;
    buffer_copies(filling_trip(traffic, buffer), setup.has_ping_pong(memory))
}

fn l1(used: &mut LaunchUse, traffic: &Traffic, setup: &Setup) {
    let mut most = (0, false);
    let mut worst: Option<Finding> = None;
    let mut program = 0;
    for herds in core_groups(traffic) {
        let mut own: Vec<usize> = (0..traffic.buffers.len()).filter(|b| is_on(&traffic.buffers[*b], &herds)).collect();
        let bytes = |b: usize| traffic.buffers[b].tile_bytes.or(traffic.buffers[b].bytes);
        // Of what stands below conditions, a tile has some at a time: the largest is certain.
        let largest = own.iter().copied().filter(|b| traffic.buffers[*b].is_conditional).max_by_key(|b| bytes(*b));
        let all = own.len();
        own.retain(|b| !traffic.buffers[*b].is_conditional || Some(*b) == largest);
        let is_partial = own.len() < all || own.iter().any(|b| bytes(*b).is_none());
        let buffers: Vec<TileBuffer> = own
            .iter()
            .filter_map(|b| Some(TileBuffer { bytes: bytes(*b)?, copies: copies(traffic, *b, setup) }))
            .collect();
        let mut objects: Vec<&str> =
            herds.iter().flat_map(|h| traffic.herds[*h].objects.iter().map(String::as_str)).collect();
        objects.sort_unstable();
        objects.dedup();
        let sizes = || objects.iter().filter_map(|o| setup.objects.get(*o));
        let data_bytes = sizes().map(|s| s.data_bytes).fold(0, u64::saturating_add);
        program = program.max(sizes().map(|s| s.text_bytes).fold(0, u64::saturating_add));
        let stack_bytes = setup.stack_bytes();
        let total = l1_bytes(&buffers, stack_bytes, data_bytes, &setup.device).unwrap_or(u64::MAX);
        if total < most.0 {
            continue;
        }
        most = (total, is_partial);
        worst = check_l1(&buffers, stack_bytes, data_bytes, &setup.device).map(|fault| {
            let span = traffic.herds[herds[0]].span;
            let text = format!("{stack_bytes} bytes of stack, {data_bytes} of objects' data, buffers:");
            let finding = codes::finding(&used.name, &fault).at(span, text);
            with_buffers(finding, traffic, &own, setup, bytes)
        });
    }
    if most.0 > 0 {
        used.take_some(ResourceKind::L1Bytes, most.0, setup.device.core.data_bytes.value, most.1);
    }
    used.findings.extend(worst);
    if program > 0 {
        used.take(ResourceKind::ProgramBytes, program, setup.device.core.program_bytes.value);
        let place = traffic.herds.first().map(|h| h.span);
        let fault = check_program(program, &setup.device);
        used.findings.extend(fault.map(|f| codes::finding(&used.name, &f).maybe_at(place, "links the objects")));
    }
}

/// Whether an L1 buffer lies on the cores of these herds.
fn is_on(buffer: &LocalBuffer, herds: &[usize]) -> bool {
    buffer.memory == Memory::L1 && buffer.herds.iter().any(|h| herds.contains(h))
}

fn with_buffers(
    mut finding: Finding,
    traffic: &Traffic,
    buffers: &[usize],
    setup: &Setup,
    bytes: impl Fn(usize) -> Option<u64>,
) -> Finding {
    for b in buffers {
        let text = match (bytes(*b), copies(traffic, *b, setup)) {
            (Some(bytes), 1) => format!("{bytes} bytes"),
            (Some(bytes), n) => format!("{bytes} bytes x {n} (ping-pong)"),
            (None, _) => "size not constant: not counted".to_string(),
        };
        finding = finding.also(traffic.buffers[*b].span, text);
    }
    finding
}

fn l2(used: &mut LaunchUse, traffic: &Traffic, splits: &[Split], setup: &Setup) {
    let own: Vec<usize> = (0..traffic.buffers.len()).filter(|b| traffic.buffers[*b].memory == Memory::L2).collect();
    if own.is_empty() {
        return;
    }
    let is_partial = own.iter().any(|b| traffic.buffers[*b].bytes.is_none());
    let fullest = fullest_memtile(traffic, splits, &own, setup, |b| copies(traffic, b, setup));
    let allowed = setup.device.mem.data_bytes;
    let panels = panel_bytes(traffic, splits, &own, setup);
    used.take_some(ResourceKind::L2Bytes, fullest.max(panels), allowed.value, is_partial);
    let place = |finding: Finding| {
        let finding = finding.at(traffic.buffers[own[0]].span, "L2 buffers:");
        with_buffers(finding, traffic, &own, setup, |b| traffic.buffers[b].bytes)
    };
    let check = |bytes: u64| check_l2(&[TileBuffer { bytes, copies: 1 }], &setup.device);
    if let Some(fault) = check(fullest) {
        used.findings.push(place(codes::finding(&used.name, &fault)));
    } else if let Some(fault) = check(panels) {
        let text = format!("{} (counted as one memtile: tiles share a dimension)", fault.text);
        used.findings.push(place(codes::finding(&used.name, &Fault { text, ..fault })));
    } else if let Some(bytes) = odd_l2(traffic, splits, &own, setup).filter(|b| check(*b).is_some()) {
        let text = format!(
            "`{}`: L2 of a memtile: {bytes} bytes with the third copy that an odd number of trips takes, {} allowed",
            used.name, allowed.value
        );
        let finding = Finding::error(list::AL0310, text)
            .found(format!("{bytes} bytes"))
            .allowed(format!("at most {} bytes", allowed.value))
            .source(ODD_SOURCE);
        used.findings.push(place(finding));
    }
}

/// Bytes of the fullest memtile: parts in their columns, then whole buffers, the largest first, where most is left.
fn fullest_memtile(
    traffic: &Traffic,
    splits: &[Split],
    own: &[usize],
    setup: &Setup,
    copies: impl Fn(usize) -> u64,
) -> u64 {
    let column_count = usize::try_from(setup.device.columns.value).unwrap_or(1).max(1);
    let mut columns = vec![0u64; column_count];
    let mut whole = Vec::new();
    for b in own {
        let (split, bytes) = (splits[*b], traffic.buffers[*b].bytes.unwrap_or(0).saturating_mul(copies(*b)));
        if split.parts <= 1 {
            whole.push(bytes);
            continue;
        }
        for part in 0..split.parts {
            let column = usize::try_from(split.first_column + part).unwrap_or(0) % column_count;
            columns[column] = columns[column].saturating_add(bytes.div_ceil(split.parts));
        }
    }
    whole.sort_unstable_by_key(|bytes| std::cmp::Reverse(*bytes));
    for bytes in whole {
        if let Some(least) = columns.iter_mut().min() {
            *least = least.saturating_add(bytes);
        }
    }
    columns.into_iter().max().unwrap_or(0)
}

/// Bytes of the buffers whose tiles share a dimension: nothing says that the compiler splits them, so the public builders
/// count them as in one memtile (limits, G4).
fn panel_bytes(traffic: &Traffic, splits: &[Split], own: &[usize], setup: &Setup) -> u64 {
    let shared = own.iter().filter(|b| !splits[**b].is_explicit);
    shared.fold(0, |n, b| {
        let bytes = traffic.buffers[*b].bytes.unwrap_or(0);
        n.saturating_add(bytes.saturating_mul(copies(traffic, *b, setup)))
    })
}

/// As [`fullest_memtile`], with a third copy where an odd number of trips fills a doubled buffer; none where there is none.
fn odd_l2(traffic: &Traffic, splits: &[Split], own: &[usize], setup: &Setup) -> Option<u64> {
    let is_odd = |b: usize| copies(traffic, b, setup) > 1 && filling_trip(traffic, b) % 2 == 1;
    own.iter().any(|b| is_odd(*b)).then(|| {
        let count = |b: usize| if is_odd(b) { ODD_COPIES } else { copies(traffic, b, setup) };
        fullest_memtile(traffic, splits, own, setup, count)
    })
}

/// A loop on the cores that fills a doubled L1 buffer from host memory and writes back there, turn by turn.
fn odd_trips(used: &mut LaunchUse, traffic: &Traffic, setup: &Setup) {
    let streams = |index: usize, is_read: bool| {
        traffic.transfers.iter().find(|t| {
            let is_here = matches!(t.place, Place::Herd(_)) && t.loops.last() == Some(&index);
            is_here && t.side_in(Memory::L3).is_some_and(|(_, read)| read == is_read)
        })
    };
    for (index, l) in traffic.loops.iter().enumerate() {
        let (LoopKind::For, Some(trip)) = (l.kind, l.trip) else { continue };
        let (Some(input), Some(output)) = (streams(index, true), streams(index, false)) else { continue };
        if let Some(fault) = check_odd_trips(trip, setup.options.has_l1_ping_pong) {
            let finding = codes::finding(&used.name, &fault)
                .at(l.span, format!("{trip} trips"))
                .also(input.span, "fills a double buffer")
                .also(output.span, "drains one in the same loop");
            used.findings.push(finding);
        }
    }
}
