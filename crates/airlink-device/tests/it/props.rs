//! What holds of any numbers.

use airlink_device::{
    ChannelTasks, Device, Direction, Herd, Limit, Loop, Pattern, ShimFlow, Step, TileKind, Transfer, check_gemv,
    check_iteration, check_live, check_shim_bd, check_shim_flows, check_tile_bd, decompose, live_bds, place, shape,
    shim_task, simulate, steps, suggest,
};
use proptest::prelude::*;

use crate::gemv_cases::gemv;
use crate::support::{canon_for, channel, elements, npu2, pinned, plain, tile_bd};

/// Small dimensions, many of which merge, repeat or have size 1.
fn small_dims(rank: usize) -> impl Strategy<Value = Pattern> {
    let size = prop_oneof![Just(1u64), Just(2), Just(4), 1..7u64];
    let stride = prop_oneof![Just(0i64), Just(1), Just(2), Just(4), Just(8), Just(16), Just(64), -4..40i64];
    proptest::collection::vec((size, stride), 0..=rank).prop_map(|dims| {
        let (sizes, strides): (Vec<_>, Vec<_>) = dims.into_iter().unzip();
        Pattern::new(&sizes, &strides)
    })
}

fn any_size() -> impl Strategy<Value = u64> {
    prop_oneof![0..20u64, 1000..1100u64, Just(u64::MAX), Just(1 << 63), Just(i64::MAX as u64), any::<u64>()]
}

fn any_stride() -> impl Strategy<Value = i64> {
    prop_oneof![-2..20i64, Just(i64::MIN), Just(i64::MAX), Just(1 << 20), any::<i64>()]
}

fn any_pattern() -> impl Strategy<Value = Pattern> {
    proptest::collection::vec((any_size(), any_stride()), 0..7).prop_map(|dims| {
        let (sizes, strides): (Vec<_>, Vec<_>) = dims.into_iter().unzip();
        Pattern::new(&sizes, &strides)
    })
}

fn any_transfer() -> impl Strategy<Value = Transfer> {
    let loops = proptest::collection::vec((any_size(), any_stride()), 0..4);
    let bits = prop_oneof![Just(8u64), Just(16), Just(32), any::<u64>()];
    let offset = proptest::option::of(any_stride());
    (loops, 0..6usize, any_pattern(), offset, bits, any_size(), any::<bool>()).prop_map(
        |(loops, launch_loops, pattern, offset, element_bits, buffer_elements, is_foldable)| {
            let loops = loops.into_iter().map(|(trip, step)| Loop { trip, step }).collect();
            Transfer { loops, launch_loops, pattern, offset, element_bits, buffer_elements, is_foldable }
        },
    )
}

/// Transfers of sizes that programs have, so that many fit.
fn likely_transfer() -> impl Strategy<Value = Transfer> {
    let size = prop_oneof![1..9u64, Just(16u64), Just(64), Just(100), Just(512), Just(1031), Just(2048), Just(4096)];
    let stride = prop_oneof![Just(0i64), Just(64i64), Just(512), Just(2048), Just(32768), Just(1 << 20), Just(3 << 20)];
    let dims = proptest::collection::vec((size.clone(), stride.clone()), 0..3);
    let loops = proptest::collection::vec((size.clone(), stride), 0..3);
    let bits = prop_oneof![Just(8u64), Just(16), Just(32)];
    (dims, size, loops, bits, any::<bool>()).prop_map(|(dims, inner, loops, bits, is_foldable)| {
        let (mut sizes, mut strides): (Vec<_>, Vec<_>) = dims.into_iter().unzip();
        sizes.push(inner);
        strides.push(1);
        let loops: Vec<_> = loops.into_iter().map(|(trip, step)| Loop { trip, step }).collect();
        let launch_loops = loops.len();
        Transfer { loops, launch_loops, is_foldable, ..plain(Pattern::new(&sizes, &strides), bits, 0) }
    })
}

/// One resource of the device, larger by a factor or, if it counts bits, by a few.
fn grow(device: &Device, resource: usize, by: u64) -> Device {
    let mut grown = *device;
    let more = |l: &mut Limit| l.value = l.value.saturating_mul(by + 1);
    match resource {
        0 => more(&mut grown.columns),
        1 => more(&mut grown.core_rows),
        2 => grown.shim.wrap_bits.value += by,
        3 => grown.shim.step_bits.value += by,
        4 => more(&mut grown.shim.iteration_max),
        5 => more(&mut grown.shim.push_runs_max),
        6 => more(&mut grown.shim.bd_count),
        7 => more(&mut grown.shim.mm2s_count),
        8 => more(&mut grown.shim.s2mm_count),
        9 => more(&mut grown.core.data_bytes),
        10 => more(&mut grown.mem.data_bytes),
        11 => more(&mut grown.core.length_words_max),
        12 => more(&mut grown.mem.length_words_max),
        13 => grown.mem.nd_dims.value += by,
        _ => more(&mut grown.shim.length_words_max),
    }
    grown
}

const RESOURCES: std::ops::Range<usize> = 0..15;

/// The elements of a transfer, loops around the pattern.
fn all_elements(transfer: &Transfer) -> Vec<i64> {
    let (trips, steps): (Vec<_>, Vec<_>) = transfer.loops.iter().map(|l| (l.trip, l.step)).unzip();
    let sizes: Vec<_> = trips.into_iter().chain(transfer.pattern.sizes.iter().copied()).collect();
    let strides: Vec<_> = steps.into_iter().chain(transfer.pattern.strides.iter().copied()).collect();
    elements(&Pattern { sizes, strides })
}

/// `outer` around `repeats` around `inner`.
fn nested(outer: &Pattern, repeats: u64, inner: &Pattern) -> Pattern {
    let sizes = [outer.sizes.as_slice(), &[repeats], &inner.sizes].concat();
    let strides = [outer.strides.as_slice(), &[0], &inner.strides].concat();
    Pattern { sizes, strides }
}

proptest! {
    #[test]
    fn a_canonical_pattern_addresses_the_same_elements(pattern in small_dims(5), max in 2..9u64, far in any::<bool>()) {
        let stride_max = if far { 10 } else { 1 << 20 };
        let canon = airlink_device::Canon { size_max: max, stride_max, ..canon_for(16) };
        let canonical = pattern.canonical(&canon).expect("small");
        prop_assert_eq!(elements(&pattern), elements(&canonical));
    }

    #[test]
    fn descriptors_and_runs_move_the_elements_of_the_loops(
        pattern in small_dims(4).prop_filter("not the whole buffer", |p| p.rank() > 0),
        loops in proptest::collection::vec((1..6u64, prop_oneof![Just(0i64), Just(16), Just(256), 0..99i64]), 0..4),
        tile in 0..4u64,
        is_foldable in any::<bool>(),
    ) {
        let loops: Vec<_> = loops.into_iter().map(|(trip, step)| Loop { trip, step }).collect();
        let transfer = Transfer { loops, launch_loops: 1, is_foldable, ..plain(pattern, 32, 0) };
        // Small bounds, so that small numbers are split.
        let mut profile = pinned();
        profile.fold_size_max.value = 7;
        profile.shim_outer_bound.value = 4;
        profile.shim_size_bound.value = 8;
        profile.shim_stride_elements_max.value = 300;
        let task = shim_task(&transfer, Some(&[tile]), &npu2(), &profile);
        let is_reordered = task.faults.iter().any(|f| f.rule == airlink_device::Rule::RepeatOrder);
        prop_assert_eq!(task.bd_dims.sizes.iter().product::<u64>(), task.bds_per_chunk);
        let outer = nested(&task.chunk_dims, 1, &task.bd_dims);
        let made = nested(&outer, task.runs_per_push / task.pattern.sizes[0], &task.pattern);
        let (mut expected, mut made) = (all_elements(&transfer), elements(&made));
        if is_reordered {
            expected.sort_unstable();
            made.sort_unstable();
        }
        prop_assert_eq!(expected, made);
    }

    #[test]
    fn parts_of_a_descriptor_move_its_elements(
        few in 1..9u64, many in 1..2100u64, is_tall in any::<bool>(), gap in 0..3i64,
    ) {
        let (rows, inner) = if is_tall { (many, few) } else { (few, many) };
        let pattern = Pattern::new(&[1, 1, rows, inner], &[0, 0, inner as i64 + gap, 1]);
        if let Some(parts) = decompose(&pattern, 32, &npu2(), &pinned()) {
            let mut base = 0;
            let mut made = Vec::new();
            for part in &parts {
                made.extend(elements(part).into_iter().map(|e| e + base));
                base += part.dims().find(|(size, _)| *size > 1).map_or(1, |(size, stride)| size as i64 * stride);
            }
            prop_assert!(made == elements(&pattern), "{parts:?}");
        }
    }

    #[test]
    fn no_numbers_are_too_large(
        transfer in any_transfer(),
        tiling in proptest::option::of(proptest::collection::vec(any_size(), 0..3)),
        size in any_size(),
        stride in any_stride(),
        bits in any_size(),
    ) {
        let device = npu2();
        let _ = shim_task(&transfer, tiling.as_deref(), &device, &pinned());
        let _ = check_shim_bd(&transfer.pattern, bits, transfer.offset, &device);
        let _ = shape(&transfer.pattern, bits, size, &pinned());
        let _ = decompose(&transfer.pattern, bits, &device, &pinned());
        for kind in [TileKind::Shim, TileKind::Mem, TileKind::Core] {
            let (sizes, strides) = (&transfer.pattern.sizes, &transfer.pattern.strides);
            let _ = check_tile_bd(&tile_bd(kind, sizes, strides, bits, size), &device, &pinned());
            let _ = check_iteration(size, stride, bits, kind, &device);
        }
    }

    #[test]
    fn no_gemv_is_too_large(m in any_size(), k in any_size(), t in any_size(), i in any_size(), h in any_size(),
                            tiling in proptest::option::of(any_size())) {
        let g = airlink_device::Gemv { herd_m: h, ..gemv(m, k, t, i, tiling) };
        let _ = check_gemv(&g, &npu2());
        let _ = g.chunks();
        if let Some(s) = suggest(&g, &npu2()) {
            let better = airlink_device::Gemv { tile_m: s.tile_m, m_input: s.m_input, tiling: s.tiling, ..g };
            prop_assert_eq!(check_gemv(&better, &npu2()), vec![]);
        }
    }

    #[test]
    fn a_transfer_that_fits_fits_a_larger_device(t in likely_transfer(), resource in RESOURCES, by in 1..4u64) {
        let before = shim_task(&t, None, &npu2(), &pinned());
        if before.faults.is_empty() {
            let after = shim_task(&t, None, &grow(&npu2(), resource, by), &pinned());
            prop_assert_eq!(&after.faults, &vec![]);
            prop_assert!(after.bds() <= before.bds());
        }
    }

    #[test]
    fn a_program_that_fits_fits_a_larger_device(
        herds in proptest::collection::vec((1..5u64, 1..4u64), 1..5),
        flows in proptest::collection::vec((any::<bool>(), 0..8u64, any::<bool>(), any::<bool>()), 0..30),
        tasks in proptest::collection::vec((any::<bool>(), 0..3u64, 0..2u64, 0..9u64, 1..3u64, any::<bool>()), 0..8),
        mkt in (0..9u64, 1..9u64, 1..9u64, 1..9u64),
        resource in RESOURCES,
        by in 1..4u64,
    ) {
        let grown = grow(&npu2(), resource, by);
        let direction = |is_feed| if is_feed { Direction::Mm2s } else { Direction::S2mm };
        let herds: Vec<_> = herds.into_iter().map(|(columns, rows)| Herd { columns, rows, pin: None }).collect();
        // The tools scan along rows, so that another width is another placement, not a better one.
        if resource != 0 && place(&herds, &[], &npu2()).faults.is_empty() {
            prop_assert_eq!(place(&herds, &[], &grown).faults, vec![]);
        }
        let flows: Vec<_> = flows.into_iter().map(|(is_feed, column, is_broadcast, is_packet)| ShimFlow {
            direction: direction(is_feed), column: Some(column), is_broadcast, is_packet,
        }).collect();
        if check_shim_flows(&flows, &npu2()).is_empty() {
            prop_assert_eq!(check_shim_flows(&flows, &grown), vec![]);
        }
        let tasks: Vec<_> = tasks.into_iter().map(|(is_feed, tile, index, task_count, bds_per_task, is_reorderable)| {
            ChannelTasks { channel: channel(tile, direction(is_feed), index), task_count, bds_per_task, is_reorderable }
        }).collect();
        if check_live(&tasks, &npu2(), &pinned()).is_empty() {
            prop_assert_eq!(check_live(&tasks, &grown, &pinned()), vec![]);
        }
        let (m, k, tile, input) = mkt;
        let g = gemv(m * 512, k * 512, tile * 2, input, Some(4));
        if check_gemv(&g, &npu2()).is_empty() {
            prop_assert_eq!(check_gemv(&g, &grown), vec![]);
        }
    }

    #[test]
    fn a_tile_descriptor_that_fits_fits_a_larger_device(
        pattern in small_dims(4), bits in prop_oneof![Just(16u64), Just(32)], resource in RESOURCES, by in 1..4u64,
    ) {
        for kind in [TileKind::Mem, TileKind::Core] {
            let bd = tile_bd(kind, &pattern.sizes, &pattern.strides, bits, 300);
            if check_tile_bd(&bd, &npu2(), &pinned()).is_empty() {
                prop_assert_eq!(check_tile_bd(&bd, &grow(&npu2(), resource, by), &pinned()), vec![]);
            }
        }
    }

    #[test]
    fn the_closed_form_is_what_the_steps_need(
        counts in proptest::collection::btree_map((0..3u64, any::<bool>(), 0..2u64), (1..9u64, 1..4u64, any::<bool>()), 0..9),
    ) {
        let tasks: Vec<_> = counts.into_iter().map(|((tile, is_feed, index), (task_count, bds_per_task, is_reorderable))| {
            let direction = if is_feed { Direction::Mm2s } else { Direction::S2mm };
            ChannelTasks { channel: channel(tile, direction, index), task_count, bds_per_task, is_reorderable }
        }).collect();
        let list = steps(&tasks, &pinned()).expect("few");
        let result = simulate(&list, &npu2());
        prop_assert_eq!(&result.tiles, &live_bds(&tasks, &pinned()));
        prop_assert_eq!(result.faults, check_live(&tasks, &npu2(), &pinned()));
        let ends = list.iter().filter(|s| !matches!(s, Step::Configure { .. })).count();
        prop_assert_eq!(ends * 2, list.len());
    }
}
