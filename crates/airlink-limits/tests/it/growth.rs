//! A program that fits still fits when any one resource of the device grows, and a remedy mends what it says it does.

use airlink_device::{Device, Limit};
use airlink_diag::{Severity, codes};
use airlink_limits::{CompilerOptions, ObjectSize, Setup, judge_launch};
use proptest::prelude::*;
use proptest::strategy::ValueTree;

use crate::support::{Elementwise, elementwise};

/// Every number of the device that a launch can run out of.
const RESOURCES: &[fn(&mut Device) -> &mut Limit] = &[
    |d| &mut d.columns,
    |d| &mut d.core_rows,
    |d| &mut d.shim.mm2s_count,
    |d| &mut d.shim.s2mm_count,
    |d| &mut d.shim.bd_count,
    |d| &mut d.shim.push_runs_max,
    |d| &mut d.shim.queue_depth,
    |d| &mut d.shim.wrap_bits,
    |d| &mut d.shim.step_bits,
    |d| &mut d.core.data_bytes,
    |d| &mut d.core.bd_count,
    |d| &mut d.core.lock_count,
    |d| &mut d.core.mm2s_count,
    |d| &mut d.core.s2mm_count,
    |d| &mut d.core.length_words_max,
    |d| &mut d.mem.data_bytes,
    |d| &mut d.mem.bd_count,
    |d| &mut d.mem.lock_count,
    |d| &mut d.mem.mm2s_count,
    |d| &mut d.mem.s2mm_count,
];

fn shapes() -> impl Strategy<Value = Elementwise> {
    (1..=3usize, 1..=9u32, 1..=600u64, 1..=8u64, 1..=4u64, 1..=300u64, any::<bool>()).prop_map(
        |(inputs, tile, trips, columns, rows, points, is_shared)| Elementwise {
            inputs,
            tile: 1 << (tile + 3),
            trips,
            columns,
            rows,
            points,
            is_shared,
        },
    )
}

fn setup(tiling: bool, ping_pong: bool) -> Setup {
    let mut setup = Setup::new(*Device::named("npu2").expect("it is known"));
    setup.options = CompilerOptions {
        runtime_tiling: if tiling { vec![16] } else { Vec::new() },
        has_l1_ping_pong: ping_pong,
        ..CompilerOptions::default()
    };
    setup
}

fn fits(shape: &Elementwise, setup: &Setup) -> bool {
    judge_launch("k", &elementwise(shape), setup).findings.iter().all(|f| f.severity != Severity::Error)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, max_global_rejects: 100_000, ..ProptestConfig::default() })]

    #[test]
    fn what_fits_still_fits_when_one_resource_grows(
        shape in shapes(),
        tiling: bool,
        ping_pong: bool,
        which in 0..RESOURCES.len(),
        by in 1..=16u64,
    ) {
        let mut setup = setup(tiling, ping_pong);
        prop_assume!(fits(&shape, &setup));
        RESOURCES[which](&mut setup.device).value += by;
        prop_assert!(fits(&shape, &setup), "{shape:?} with resource {which} grown by {by}");
    }
}

#[test]
fn shapes_on_both_sides_of_the_limits_are_drawn() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let count = 400;
    let mut fitting = 0;
    for _ in 0..count {
        let shape = shapes().new_tree(&mut runner).expect("it draws").current();
        fitting += usize::from(fits(&shape, &setup(false, true)));
    }
    assert!(fitting > count / 20 && fitting < count * 19 / 20, "{fitting} of {count} fit: the property says little");
}

/// The SiLU of case 33: tiles of 1024 need 16 descriptors a channel, tiles of 4096 need one.
#[test]
fn a_remedy_is_tried_before_it_is_printed() {
    let shape = |tile| Elementwise {
        inputs: 2,
        tile,
        trips: 16_777_216 / (8 * tile),
        columns: 8,
        rows: 1,
        points: 1,
        is_shared: false,
    };
    let setup = setup(false, true);
    let used = judge_launch("silu", &elementwise(&shape(1024)), &setup);
    let finding = used.findings.iter().find(|f| f.code == codes::AL0301).expect("16 a channel");
    let remedy = finding.remedy.as_deref().expect("there is one");
    assert!(remedy.contains("tiles 4 times as large") && remedy.contains("3 of 16 instead of 24"), "{remedy}");
    assert!(fits(&shape(4096), &setup));
    assert!(!fits(&shape(2048), &setup));
}

/// An object's code counts against program memory, its data against L1.
#[test]
fn linked_objects_count() {
    let shape = Elementwise { inputs: 1, tile: 64, trips: 1, columns: 1, rows: 1, points: 1, is_shared: false };
    let codes_with = |text_bytes, data_bytes| {
        let mut setup = setup(false, true);
        setup.objects.insert("k.o".into(), ObjectSize { text_bytes, data_bytes });
        let used = judge_launch("k", &elementwise(&shape), &setup);
        used.findings.iter().map(|f| f.code).collect::<Vec<_>>()
    };
    assert_eq!(codes_with(16_384, 0), []);
    assert_eq!(codes_with(16_385, 0), [codes::AL0312]);
    // Stack and two buffers of 128 bytes.
    assert_eq!(codes_with(0, 65_536 - 1_024 - 256), []);
    assert_eq!(codes_with(0, 65_536 - 1_024 - 255), [codes::AL0311]);
}
