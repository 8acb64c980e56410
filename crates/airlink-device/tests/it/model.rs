//! Measured verdicts: element-wise kernels and GEMVs.

use std::collections::BTreeMap;
use std::path::Path;

use airlink_device::{Direction, Gemv, LaunchFlow, Profile, Rule, check_gemv, check_launch, shim_task};

use crate::support::{herd_flows, npu2, pattern, pinned, tiles};

/// A measured placement.
type Row = BTreeMap<String, String>;

/// The measured placements of some kernels; none, and a word, where the shared inputs are absent.
fn placements(kernels: &[&str]) -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/placements/placements.csv");
    if !path.is_file() {
        assert!(std::env::var_os("AIRLINK_REQUIRE_SHARED").is_none(), "the measured placements are absent");
        println!("skipped: the measured placements are absent");
        return Vec::new();
    }
    let mut reader = csv::Reader::from_path(path).expect("readable");
    let rows = reader.deserialize().map(|row: Result<Row, _>| row.expect("a row"));
    rows.filter(|row| kernels.contains(&row["kernel"].as_str())).collect()
}

/// `key=5` in the builder's arguments; a herd such as `8x1` gives the columns.
fn param(row: &Row, key: &str) -> Option<u64> {
    let value = row["params"].split(' ').find_map(|p| p.strip_prefix(key)?.strip_prefix('='))?;
    value.split('x').next()?.parse().ok()
}

#[test]
fn element_wise_kernels_that_place_take_one_descriptor() {
    for row in placements(&["silu_mul_bf16", "eltwise_add_bf16"]) {
        let columns = param(&row, "herd_x").or(param(&row, "herd_shape")).expect("a herd");
        let is_one_row = param(&row, "herd_y").unwrap_or(1) == 1 && !row["params"].contains("herd_shape=8x");
        if row["verdict"] == "error" || !is_one_row {
            continue;
        }
        let (elements, tile) =
            (param(&row, "n").expect("n"), param(&row, "tile_n").or(param(&row, "tile")).expect("tile"));
        let task = shim_task(&tiles(elements, tile, columns), None, &npu2(), &pinned());
        assert_eq!((task.bds_per_chunk, task.runs_per_push, &task.faults), (1, 1, &vec![]), "{}", row["name"]);
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

#[test]
fn every_measured_gemv_has_the_verdict_of_the_rules() {
    for row in placements(&["gemv_bf16"]) {
        let number = |key| param(&row, key).expect("an argument of the builder");
        let gemv = Gemv {
            m: number("m"),
            k: number("k"),
            tile_m: number("tile_m"),
            m_input: number("m_input"),
            herd_m: number("herd_m"),
            has_pingpong: row["pingpong"] == "on",
            tiling: row["runtime_tiling"].split('x').next().and_then(|t| t.parse().ok()),
        };
        let faults = check_gemv(&gemv, &npu2());
        let is_legal = faults.iter().all(|f| f.rule.is_warning());
        assert_eq!(is_legal, row["verdict"] == "ok", "{}: {faults:?}", row["name"]);
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
