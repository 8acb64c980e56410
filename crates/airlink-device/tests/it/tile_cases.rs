//! Validation cases of mem and core tiles.

use airlink_device::{
    BdTask, ChannelOp, Direction, Rule, TileBuffer, TileChannel, TileKind, channel_program, check_channel_pin,
    check_channels, check_iteration, check_l1, check_l2, check_lock_value, check_locks, check_tile_bd, check_tile_bds,
    l1_bytes, lock_count,
};

use crate::support::{npu2, pinned, rules, tile_bd};

fn bd(kind: TileKind, sizes: &[u64], strides: &[i64], bits: u64, buffer: u64) -> Vec<Rule> {
    rules(&check_tile_bd(&tile_bd(kind, sizes, strides, bits, buffer), &npu2(), &pinned()))
}

fn buffers(list: &[(u64, u64)]) -> Vec<TileBuffer> {
    list.iter().map(|(bytes, copies)| TileBuffer { bytes: *bytes, copies: *copies }).collect()
}

#[test]
fn case_13_longest_descriptor_of_a_mem_tile() {
    assert_eq!(bd(TileKind::Mem, &[131_072], &[1], 32, 131_072), [Rule::B2]);
    assert_eq!(bd(TileKind::Mem, &[131_071], &[1], 32, 131_072), []);
}

#[test]
fn case_14_longest_descriptor_of_a_core() {
    assert_eq!(bd(TileKind::Core, &[16_384], &[1], 32, 16_384), [Rule::B2]);
    assert_eq!(bd(TileKind::Core, &[16_383], &[1], 32, 16_384), []);
}

#[test]
fn case_15_every_other_half() {
    assert_eq!(bd(TileKind::Core, &[32], &[2], 16, 64), [Rule::B7]);
}

#[test]
fn case_16_one_past_the_end() {
    assert!(bd(TileKind::Core, &[2], &[128], 32, 128).contains(&Rule::B4));
    assert_eq!(bd(TileKind::Core, &[2], &[127], 32, 128), []);
}

#[test]
fn case_17_too_many_dimensions() {
    let sizes = [2, 2, 2, 2, 2];
    let strides = [256, 128, 64, 16, 1];
    assert_eq!(bd(TileKind::Mem, &sizes, &strides, 32, 1024), [Rule::B3]);
    assert_eq!(bd(TileKind::Mem, &sizes[1..], &strides[1..], 32, 1024), []);
    assert_eq!(bd(TileKind::Core, &sizes[1..], &strides[1..], 32, 1024), [Rule::B3]);
    assert_eq!(bd(TileKind::Shim, &sizes[1..], &strides[1..], 32, 1024), [Rule::B3]);
}

#[test]
fn case_18_iterations() {
    for (size, stride, bits) in [(0, 4, 32), (65, 4, 32), (4, 0, 32), (4, 3, 16)] {
        let faults = check_iteration(size, stride, bits, TileKind::Core, &npu2());
        assert_eq!(rules(&faults), [Rule::Iteration], "{size} {stride} {bits}");
    }
    assert_eq!(check_iteration(64, 4, 16, TileKind::Core, &npu2()), []);
    assert_eq!(check_iteration(1, 0, 16, TileKind::Core, &npu2()), []);
}

#[test]
fn case_19_descriptors_by_parity() {
    let on = |index, bd_count| TileChannel { direction: Direction::Mm2s, index, bd_count };
    let faults = check_tile_bds(TileKind::Mem, &[on(0, 25)], &npu2());
    assert_eq!(rules(&faults), [Rule::B11]);
    assert_eq!((faults[0].found, faults[0].text.contains("at most 24")), (25, true));
    assert_eq!(check_tile_bds(TileKind::Mem, &[on(0, 20), on(2, 4), on(1, 24)], &npu2()), []);
    assert_eq!(rules(&check_tile_bds(TileKind::Core, &[on(0, 9), on(1, 8)], &npu2())), [Rule::B10]);
}

#[test]
fn case_30_pinned_channels() {
    for kind in [TileKind::Core, TileKind::Mem] {
        let fault = check_channel_pin(kind, Direction::Mm2s, 9, &npu2()).expect("no such channel");
        assert_eq!(fault.rule, Rule::ChannelPin);
    }
    assert_eq!(check_channel_pin(TileKind::Core, Direction::Mm2s, 1, &npu2()), None);
    assert_eq!(check_channel_pin(TileKind::Mem, Direction::S2mm, 5, &npu2()), None);
}

#[test]
fn case_34_tile_of_8192_halves() {
    let three = buffers(&[(16_384, 2); 3]);
    assert_eq!(check_l1(&three, 1024, 0, &npu2()).expect("96 KiB").rule, Rule::L1Bytes);
    let half = buffers(&[(8192, 2); 3]);
    assert_eq!(check_l1(&half, 1024, 0, &npu2()), None);
}

#[test]
fn case_42_size_of_600() {
    assert_eq!(bd(TileKind::Mem, &[4, 600], &[1024, 1], 32, 4096), [Rule::B5]);
    assert_eq!(bd(TileKind::Mem, &[4, 512], &[1024, 1], 32, 4096), []);
    // The whole buffer needs no dimensions.
    assert_eq!(bd(TileKind::Mem, &[600], &[1], 32, 4096), []);
}

#[test]
fn case_43_bytes_of_a_tile() {
    assert_eq!(check_l1(&buffers(&[(32_768, 1), (40, 1)]), 1024, 0, &npu2()), None);
    let five = buffers(&[(16_384, 1), (16_384, 1), (16_384, 1), (8192, 1), (8192, 1)]);
    let fault = check_l1(&five, 1024, 0, &npu2()).expect("stack on top of 64 KiB");
    assert_eq!((fault.rule, fault.found), (Rule::L1Bytes, 66_560));
    let fault = check_l2(&buffers(&[(132_000 * 4, 1)]), &npu2()).expect("528 000 bytes");
    assert_eq!((fault.rule, fault.found), (Rule::L2Bytes, 528_000));
    assert_eq!(l1_bytes(&buffers(&[(33, 2)]), 0, 0, &npu2()), Some(128));
}

#[test]
fn descriptors_that_a_sequence_becomes() {
    let flat = |names: &[u64]| names.iter().map(|op| ChannelOp { op: *op, trip: 1 }).collect::<Vec<_>>();
    let count = |names: &[u64]| channel_program(&flat(names)).bd_count();
    assert_eq!(count(&[]), 0);
    assert_eq!(count(&[1, 2, 1, 2, 1, 2]), 2);
    assert_eq!(count(&[1, 2, 2, 2, 2]), 2);
    assert_eq!(count(&[1, 2, 3, 1, 2, 3, 1]), 3);
    assert_eq!(count(&[1, 2, 2, 3]), 4);
    let mixed = [(1, 4), (2, 4), (3, 1)].map(|(op, trip)| ChannelOp { op, trip });
    let program = channel_program(&mixed);
    let tasks = [BdTask { ops: vec![1, 2], runs: 4 }, BdTask { ops: vec![3], runs: 1 }];
    assert_eq!((program.tasks.as_slice(), program.is_ring()), (tasks.as_slice(), false));
}

#[test]
fn locks_and_channels() {
    let count = lock_count(&buffers(&[(64, 2), (64, 2), (64, 2), (64, 2)]), true);
    assert_eq!(check_locks(TileKind::Core, count, &npu2()).expect("17 locks").rule, Rule::Locks);
    assert_eq!(check_locks(TileKind::Mem, count, &npu2()), None);
    assert!(check_lock_value(TileKind::Mem, 64, &npu2()).is_some());
    assert_eq!(rules(&check_channels(TileKind::Core, 2, 3, &npu2())), [Rule::TileChannels]);
    assert_eq!(check_channels(TileKind::Mem, 6, 6, &npu2()), []);
}
