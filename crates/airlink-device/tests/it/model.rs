//! Tables of measured verdicts: element-wise kernels and the GEMV registry.

use airlink_device::{Direction, LaunchFlow, Profile, Rule, check_gemv, check_launch, shim_task};

use crate::gemv_cases::gemv;
use crate::support::{herd_flows, npu2, pattern, pinned, tiles};

#[test]
fn element_wise_kernels_of_the_registry_take_one_descriptor() {
    let silu = [
        2_097_152, 4_194_304, 8_388_608, 6_291_456, 9_961_472, 18_350_080, 12_582_912, 19_922_944, 22_544_384, 655_360,
    ];
    let add = [
        (4_194_304, 256),
        (4_194_304, 512),
        (4_194_304, 1024),
        (4_194_304, 2048),
        (4_194_304, 4096),
        (8_388_608, 2048),
        (1_048_576, 2048),
        (245_760, 1920),
        (6_291_456, 2048),
        (1_835_008, 2048),
    ];
    for (elements, tile) in silu.map(|n| (n, 4096)).into_iter().chain(add) {
        let task = shim_task(&tiles(elements, tile, 8), None, &npu2(), &pinned());
        assert_eq!((task.bds_per_chunk, task.runs_per_push, &task.faults), (1, 1, &vec![]), "{elements} {tile}");
    }
}

#[test]
fn patterns_are_those_of_the_tools() {
    let made = |elements, tile, herd| shim_task(&tiles(elements, tile, herd), None, &npu2(), &pinned()).pattern;
    let n = 16_777_216;
    assert_eq!(made(n, 256, 8), pattern(&[1, 16, 512, 256], &[0, 1_048_576, 2048, 1]));
    assert_eq!(made(n, 512, 8), pattern(&[1, 512, 8, 512], &[0, 32768, 4096, 1]));
    assert_eq!(made(n, 1024, 8), pattern(&[32, 4, 2, 512], &[32768, 8192, 512, 1]));
    assert_eq!(made(n, 4096, 8), pattern(&[1, 512, 8, 512], &[0, 32768, 512, 1]));
    assert_eq!(made(n, 4096, 1), pattern(&[1, 1, 1, n], &[0, 0, 0, 1]));
    assert_eq!(made(245_760, 1920, 8), pattern(&[1, 16, 2, 960], &[0, 15360, 960, 1]));
}

#[test]
fn rebalancing_makes_the_refused_tiles_legal() {
    let newer = Profile::named("mlir-air-1937").expect("in the table");
    for (tile, herd) in [(1024, 8), (2048, 8), (4096, 2), (4096, 4)] {
        let task = shim_task(&tiles(16_777_216, tile, herd), None, &npu2(), newer);
        assert_eq!((task.bds_per_chunk, &task.faults), (1, &vec![]), "{tile} {herd}");
    }
}

/// m, k, tile_m, m_input; herd 8, runtime tiling 4, no ping-pong.
const REGISTRY: [(u64, u64, u64, u64); 35] = [
    (2048, 2048, 8, 8),
    (512, 2048, 8, 8),
    (8192, 2048, 8, 8),
    (2048, 8192, 2, 2),
    (16384, 2048, 8, 8),
    (49152, 2048, 8, 8),
    (2048, 1024, 8, 8),
    (16384, 1024, 16, 16),
    (896, 896, 16, 16),
    (128, 896, 16, 16),
    (4864, 896, 16, 16),
    (896, 4864, 4, 4),
    (16384, 896, 16, 16),
    (1536, 1536, 16, 16),
    (256, 1536, 16, 16),
    (8960, 1536, 16, 16),
    (1536, 8960, 2, 2),
    (16384, 1536, 16, 16),
    (1024, 2048, 8, 8),
    (6144, 2048, 8, 8),
    (2048, 6144, 4, 4),
    (256, 2048, 8, 8),
    (11008, 2048, 8, 8),
    (2048, 11008, 2, 1),
    (4096, 2560, 8, 8),
    (1024, 2560, 8, 8),
    (2560, 4096, 4, 4),
    (9728, 2560, 8, 8),
    (2560, 9728, 2, 2),
    (16384, 2560, 8, 8),
    (3072, 1024, 16, 16),
    (3072, 3072, 8, 8),
    (3072, 8192, 2, 2),
    (8192, 3072, 8, 8),
    (16384, 3072, 8, 8),
];

#[test]
fn every_row_of_the_gemv_registry_is_legal() {
    for (m, k, tile_m, m_input) in REGISTRY {
        assert_eq!(check_gemv(&gemv(m, k, tile_m, m_input, Some(4)), &npu2()), [], "{m}x{k} {tile_m}/{m_input}");
    }
}

/// The rules that an element-wise kernel of this herd breaks at the shim.
fn element_wise(elements: u64, tile: u64, columns: u64, rows: u64, inputs: u64) -> Vec<Rule> {
    let transfer = tiles(elements, tile, columns * rows);
    let flows = herd_flows(columns, rows, inputs, 1).into_iter();
    let flows = flows.map(|flow| LaunchFlow { transfer: transfer.clone(), flow, is_reorderable: true });
    let used = check_launch(&flows.collect::<Vec<_>>(), None, &npu2(), &pinned());
    assert_eq!(used.flow_faults, []);
    let mut rules: Vec<_> = used.faults.iter().map(|f| f.rule).filter(|r| !r.is_warning()).collect();
    rules.dedup();
    rules
}

#[test]
fn whole_launches_of_element_wise_kernels() {
    let n = 16_777_216;
    for (columns, tile) in [(8, 256), (8, 512), (8, 4096), (1, 4096)] {
        assert_eq!(element_wise(n, tile, columns, 1, 2), [], "{columns} {tile}");
    }
    for (columns, tile) in [(8, 1024), (8, 2048), (2, 4096), (4, 4096)] {
        assert_eq!(element_wise(n, tile, columns, 1, 2), [Rule::LiveBds], "{columns} {tile}");
    }
    assert_eq!(element_wise(n, 4096, 8, 2, 2), [Rule::ShimChannels]);
    assert_eq!(element_wise(3_145_728, 4096, 8, 2, 1), []);
    assert_eq!(element_wise(3_145_728, 4096, 8, 4, 1), [Rule::ShimChannels]);
}

#[test]
fn a_launch_counts_what_lives_on_each_tile() {
    let transfer = tiles(16_777_216, 1024, 8);
    let flows = herd_flows(8, 1, 2, 1).into_iter().map(|flow| {
        let is_reorderable = flow.direction == Direction::S2mm;
        LaunchFlow { transfer: transfer.clone(), flow, is_reorderable }
    });
    let used = check_launch(&flows.collect::<Vec<_>>(), None, &npu2(), &pinned());
    assert_eq!(used.live.len(), 8);
    assert!(used.live.iter().all(|l| (l.bd_sum, l.bd_peak) == (48, 48)));
    assert_eq!(used.tiles.tiles.len(), 8);
}
