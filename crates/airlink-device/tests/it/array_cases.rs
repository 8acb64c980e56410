//! Validation cases of herds, flows and streams on the array.

use airlink_device::{
    Cell, Device, Direction, Herd, L2Bucket, Rule, ShimFlow, Stream, check_demand, check_l2_buckets, check_shim_flows,
    demand, l2_columns, place, shim_tiles,
};

use crate::support::{herd_flows, npu2, rules};

fn herd(columns: u64, rows: u64) -> Herd {
    Herd { columns, rows, pin: None }
}

#[test]
fn case_31_herds_that_do_not_fit() {
    let one_column = Device::named("npu1_1col").expect("in the table");
    assert_eq!(rules(&place(&[herd(4, 4)], &[], one_column).faults), [Rule::HerdPlacement]);
    assert_eq!(rules(&place(&[herd(1, 5)], &[], &npu2()).faults), [Rule::HerdPlacement]);
    let npu1 = Device::named("npu1").expect("in the table");
    assert_eq!(
        rules(&place(&[herd(4, 2), herd(2, 2), herd(2, 2), herd(2, 1)], &[], npu1).faults),
        [Rule::HerdPlacement]
    );
    let fits = place(&[herd(2, 2), herd(4, 2), herd(2, 2)], &[], npu1);
    assert_eq!(fits.places, [Some((0, 2)), Some((0, 0)), Some((2, 2))]);
    assert_eq!(fits.faults, []);
}

#[test]
fn case_35_shim_channels_of_a_herd() {
    let verdict = |columns, rows, inputs| {
        let flows = herd_flows(columns, rows, inputs, 1);
        rules(&check_shim_flows(&flows, &npu2()))
    };
    for (columns, rows) in [(8, 2), (4, 4), (8, 4)] {
        assert_eq!(verdict(columns, rows, 2), [Rule::ShimChannels], "{columns}x{rows}");
    }
    assert_eq!(verdict(8, 1, 2), []);
    assert_eq!(verdict(2, 4, 2), []);
    assert_eq!(verdict(8, 2, 1), []);
    assert_eq!(verdict(4, 4, 1), []);
    assert_eq!(verdict(8, 4, 1), [Rule::ShimChannels]);
}

#[test]
fn case_49_five_cascade_rows() {
    assert_eq!(rules(&place(&[herd(8, 5)], &[], &npu2()).faults), [Rule::HerdPlacement]);
    assert_eq!(place(&[herd(8, 4)], &[], &npu2()).faults, []);
}

#[test]
fn cascades_go_east_or_south() {
    let chain = [(0, 1), (1, 2), (2, 3)];
    let placed = place(&[herd(1, 1); 4], &chain, &npu2());
    assert_eq!(placed.faults, []);
    let column = Device::named("npu2_1col").expect("in the table");
    let down = place(&[herd(1, 1); 4], &chain, column);
    assert_eq!(down.places, [Some((0, 3)), Some((0, 2)), Some((0, 1)), Some((0, 0))]);
    let longer = [(0, 1), (1, 2), (2, 3), (3, 4)];
    assert_eq!(rules(&place(&[herd(1, 1); 5], &longer, column).faults), [Rule::Cascade]);
}

#[test]
fn pins_that_do_not_fit_are_ignored() {
    let pinned = |at| Herd { pin: Some(at), ..herd(2, 2) };
    assert_eq!(place(&[pinned((6, 2))], &[], &npu2()).places, [Some((6, 2))]);
    assert_eq!(place(&[pinned((7, 2))], &[], &npu2()).places, [Some((0, 0))]);
}

#[test]
fn broadcasts_and_packets_share() {
    let flow =
        |is_broadcast, is_packet| ShimFlow { direction: Direction::Mm2s, column: Some(1), is_broadcast, is_packet };
    let packets = shim_tiles(&[flow(false, true); 5], &npu2());
    assert_eq!((packets.tiles.len(), packets.tiles[0].mm2s_count), (1, 1));
    let mixed = shim_tiles(&[flow(false, false), flow(false, false), flow(true, false)], &npu2());
    assert_eq!(mixed.channels, [(0, 0), (0, 1), (1, 0)]);
}

#[test]
fn streams_over_the_boundaries() {
    let shim = |column| Cell { column, row: 0 };
    let down: Vec<_> = (0..5).map(|_| Stream { from: Cell { column: 2, row: 2 }, to: vec![shim(2)] }).collect();
    let faults = check_demand(&down, &npu2());
    assert_eq!(faults.len(), 2);
    assert!(faults.iter().all(|f| f.rule == Rule::Routing && f.found == 5));
    let cores = (2..6).map(|row| Cell { column: 0, row }).collect();
    let broadcast = Stream { from: shim(0), to: cores };
    let crossed = demand(&[broadcast], &npu2());
    assert!(crossed.iter().all(|d| d.stream_count == 1 && d.towards == "north"));
    assert_eq!(crossed.len(), 5);
    let across: Vec<_> = (0..5).map(|_| Stream { from: shim(0), to: vec![Cell { column: 1, row: 1 }] }).collect();
    assert_eq!(check_demand(&across, &npu2()).len(), 1);
    assert_eq!(demand(&across, &npu2())[0].stream_count, 5);
}

#[test]
fn buckets_of_l2_buffers() {
    let bucket = |column| L2Bucket { bytes: 300_000, column };
    assert_eq!(l2_columns(&[bucket(Some(5)), bucket(Some(2))], &npu2()), [5, 2]);
    assert_eq!(l2_columns(&[bucket(Some(5)), bucket(Some(5)), bucket(None)], &npu2()), [0, 1, 2]);
    assert_eq!(check_l2_buckets(&[bucket(None); 8], &npu2()), []);
    assert_eq!(rules(&check_l2_buckets(&[bucket(None); 9], &npu2())), [Rule::L2Bytes]);
}
