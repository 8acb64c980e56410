//! Validation cases of the registry's GEMV.

use airlink_device::{Gemv, Rule, Suggestion, check_gemv, check_task_count, suggest};

use crate::support::{npu2, rules};

/// With herd 8, without ping-pong.
pub fn gemv(m: u64, k: u64, tile_m: u64, m_input: u64, tiling: Option<u64>) -> Gemv {
    Gemv { m, k, tile_m, m_input, herd_m: 8, has_pingpong: false, tiling }
}

fn broken(g: Gemv) -> Vec<Rule> {
    rules(&check_gemv(&g, &npu2()))
}

fn found(g: Gemv, rule: Rule) -> i128 {
    check_gemv(&g, &npu2()).iter().find(|f| f.rule == rule).expect("broken").found
}

#[test]
fn case_36_panels_in_l2() {
    assert_eq!(found(gemv(2048, 2048, 16, 16, Some(4)), Rule::G4), 524_544);
    assert_eq!(found(gemv(2560, 4096, 8, 8, Some(4)), Rule::G4), 524_416);
    assert_eq!(broken(gemv(2560, 4096, 4, 4, Some(4))), []);
}

#[test]
fn case_37_rows_in_l1() {
    assert_eq!(found(gemv(2048, 11008, 2, 2, Some(4)), Rule::G6), 67_076);
    assert_eq!(broken(gemv(2048, 11008, 2, 2, Some(4))), [Rule::G6]);
    assert_eq!(broken(gemv(2048, 11008, 2, 1, Some(4))), []);
}

#[test]
fn case_38_repeats_without_tiling() {
    assert_eq!(found(gemv(2560, 9728, 2, 1, None), Rule::G8), 320);
    assert_eq!(broken(gemv(2560, 9728, 2, 2, None)), []);
    assert_eq!(gemv(2560, 9728, 2, 2, None).needs(0).runs_per_push, 160);
}

#[test]
fn case_39_parts_of_an_output_head() {
    assert_eq!(broken(gemv(8192, 2048, 8, 4, None)), []);
    assert_eq!(gemv(8192, 2048, 8, 4, None).needs(0).runs_per_push, 256);
    assert_eq!(found(gemv(16384, 2048, 8, 4, None), Rule::G8), 512);
    assert_eq!(broken(gemv(16384, 2048, 8, 4, Some(16))), []);
    assert_eq!(gemv(16384, 2048, 8, 4, Some(16)).needs(0).runs_per_push, 32);
}

#[test]
fn case_40_a_prime_number_of_steps() {
    let head = gemv(151_936, 1024, 16, 16, None);
    assert_eq!(found(head, Rule::G8), 1187);
    let tiled = Gemv { tiling: Some(16), ..head };
    assert_eq!((broken(tiled), tiled.chunks()), (vec![], 1187));
    assert_eq!(check_task_count(tiled.chunks()).expect("many").rule, Rule::ManyChunks);
}

#[test]
fn case_41_single_rows() {
    assert_eq!(broken(gemv(2048, 2048, 1, 1, Some(4))), [Rule::G5]);
}

#[test]
fn suggestions_are_legal_and_near() {
    let wide = gemv(2048, 11008, 2, 2, Some(4));
    assert_eq!(suggest(&wide, &npu2()), Some(Suggestion { tile_m: 2, m_input: 1, tiling: Some(4) }));
    let panel = gemv(2560, 4096, 8, 8, Some(4));
    assert_eq!(suggest(&panel, &npu2()), Some(Suggestion { tile_m: 4, m_input: 4, tiling: Some(4) }));
    let single = gemv(2048, 2048, 1, 1, Some(4));
    assert_eq!(suggest(&single, &npu2()), Some(Suggestion { tile_m: 2, m_input: 1, tiling: Some(4) }));
    let head = gemv(151_936, 1024, 16, 16, None);
    assert_eq!(suggest(&head, &npu2()).map(|s| s.tiling), Some(Some(16)));
    let legal = gemv(2048, 2048, 8, 8, Some(4));
    assert_eq!(suggest(&legal, &npu2()), Some(Suggestion { tile_m: 8, m_input: 8, tiling: Some(4) }));
    assert_eq!(suggest(&gemv(2048, 2049, 8, 8, None), &npu2()), None);
}
