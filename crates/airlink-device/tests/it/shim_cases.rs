//! Validation cases of shim descriptors and the tasks that transfers become.

use airlink_device::{
    Loop, Pattern, Rule, ShimTask, Transfer, UnrollReason, check_packet, check_push, check_shim_bd, check_writebd,
    decompose, shape, shim_task,
};
use airlink_device::{TileKind, WriteBd};

use crate::support::{dims, npu2, pattern, pinned, plain, rules, tiles};

/// The rules that one shim BD of rank 4 breaks.
fn bd(sizes: &[u64], strides: &[i64], bits: u64, offset: i64) -> Vec<Rule> {
    rules(&check_shim_bd(&pattern(sizes, strides), bits, Some(offset), &npu2()))
}

fn task(transfer: &Transfer) -> ShimTask {
    shim_task(transfer, None, &npu2(), &pinned())
}

#[test]
fn case_01_iteration_of_128() {
    let faults = check_shim_bd(&pattern(&[128, 2, 2, 8], &[0, 16, 8, 1]), 32, Some(0), &npu2());
    assert_eq!(rules(&faults), [Rule::S7]);
    assert_eq!(dims(&faults, Rule::S7), [3]);
}

#[test]
fn case_02_stride_of_dimension_1_too_long() {
    let faults = check_shim_bd(&pattern(&[1, 1, 2, 2], &[0, 0, 2097152, 1]), 32, Some(0), &npu2());
    assert_eq!(rules(&faults), [Rule::S8]);
    assert_eq!(dims(&faults, Rule::S8), [1]);
}

#[test]
fn case_03_offset_of_one_byte() {
    assert_eq!(bd(&[1, 1, 1, 8], &[0, 0, 0, 1], 8, 1), [Rule::S9]);
}

#[test]
fn case_04_stride_of_two_bytes_with_size_1() {
    assert_eq!(bd(&[1, 1, 1, 8], &[0, 0, 2, 1], 8, 0), [Rule::S4]);
}

#[test]
fn case_05_two_bytes() {
    assert_eq!(bd(&[1, 1, 1, 2], &[0, 0, 0, 1], 8, 0), [Rule::S2]);
}

#[test]
fn case_06_innermost_stride_of_two_bytes() {
    let faults = check_shim_bd(&pattern(&[1, 1, 1, 8], &[0, 0, 0, 2]), 8, Some(0), &npu2());
    assert_eq!(rules(&faults), [Rule::S4]);
    assert_eq!(dims(&faults, Rule::S4), [0]);
}

#[test]
fn case_07_three_halves() {
    assert_eq!(bd(&[1, 1, 1, 3], &[0, 0, 0, 1], 16, 0), [Rule::S2]);
}

#[test]
fn case_08_long_iteration_stride() {
    assert_eq!(bd(&[1, 1, 1, 8], &[1_572_864, 0, 0, 1], 32, 0), []);
    assert_eq!(bd(&[2, 1, 1, 8], &[1_572_864, 0, 0, 1], 32, 0), [Rule::S8]);
}

#[test]
fn case_09_packet_fields() {
    assert_eq!(check_packet(31, 7, &npu2()), []);
    assert_eq!(rules(&check_packet(32, 7, &npu2())), [Rule::S11]);
    assert_eq!(rules(&check_packet(31, 8, &npu2())), [Rule::S11]);
}

#[test]
fn case_10_bytes_in_512_words() {
    assert_eq!(bd(&[1, 1, 2, 2048], &[0, 0, 4, 1], 8, 0), []);
}

#[test]
fn case_11_pushes() {
    assert_eq!(rules(&check_push(16, 0, TileKind::Shim, &npu2())), [Rule::BdId]);
    assert_eq!(rules(&check_push(17, 0, TileKind::Shim, &npu2())), [Rule::BdId]);
    assert_eq!(rules(&check_push(0, 256, TileKind::Shim, &npu2())), [Rule::Repeat]);
    assert_eq!(check_push(15, 255, TileKind::Shim, &npu2()), []);
}

#[test]
fn case_12_fields_of_a_written_descriptor() {
    let wrong = [
        WriteBd { sizes_words: [0, 1024, 0], ..WriteBd::default() },
        WriteBd { steps_words: [1 << 20, 0, 0], ..WriteBd::default() },
        WriteBd { iteration: 64, ..WriteBd::default() },
        WriteBd { has_padding: true, ..WriteBd::default() },
        WriteBd { sizes_words: [0, 0, 2], ..WriteBd::default() },
    ];
    for fields in wrong {
        assert_eq!(rules(&check_writebd(&fields, TileKind::Shim, &npu2())), [Rule::Field], "{fields:?}");
    }
    let full = WriteBd {
        sizes_words: [1023, 1023, 0],
        steps_words: [(1 << 20) - 1; 3],
        iteration: 63,
        iteration_step_words: (1 << 20) - 1,
        has_padding: false,
    };
    assert_eq!(check_writebd(&full, TileKind::Shim, &npu2()), []);
}

#[test]
fn case_23_contiguous_image_and_its_padded_twin() {
    assert_eq!(bd(&[1, 1, 1080, 1920], &[0, 0, 1920, 1], 32, 0), []);
    let padded = pattern(&[1, 1, 1080, 1921], &[0, 0, 1921, 1]);
    assert!(padded.is_contiguous());
    let gaps = pattern(&[1, 1, 1080, 1920], &[0, 0, 1921, 1]);
    assert!(rules(&check_shim_bd(&gaps, 32, Some(0), &npu2())).contains(&Rule::S5));
    let parts = decompose(&gaps, 32, &npu2(), &pinned()).expect("few parts");
    assert!(parts.len() <= 16);
    for part in &parts {
        assert_eq!(check_shim_bd(part, 32, Some(0), &npu2()), []);
    }
    let made = task(&plain(gaps, 32, 1080 * 1921));
    assert_eq!((made.bds_per_chunk, made.faults.as_slice()), (1, [].as_slice()));
}

#[test]
fn case_24_prime_rows_are_sliced() {
    let prime = pattern(&[1, 1, 1031, 2], &[0, 0, 3, 1]);
    assert_eq!(decompose(&prime, 32, &npu2(), &pinned()).expect("few parts").len(), 2);
    let made = task(&plain(prime, 32, 3093));
    assert_eq!((made.bds_per_chunk, made.faults.as_slice()), (2, [].as_slice()));
    assert_eq!(made.unrolled_by[0].reason, UnrollReason::TakenApart);
}

#[test]
fn case_25_a_large_row_splits_by_its_granule() {
    let row = pattern(&[2, 1, 1, 131136], &[131137, 0, 0, 1]);
    let half = shape(&row, 16, 262273, &pinned()).expect("has factors");
    assert_eq!(half.pattern, pattern(&[2, 1, 683, 192], &[131137, 0, 192, 1]));
    let whole = shape(&row, 32, 262273, &pinned()).expect("has factors");
    assert_eq!(whole.pattern, pattern(&[2, 1, 192, 683], &[131137, 0, 683, 1]));
    assert_eq!((whole.bds(), whole.runs), (1, 2));
}

#[test]
fn case_26_an_odd_row_of_halves() {
    let fault = shape(&pattern(&[2, 1, 1, 2049], &[4096, 0, 0, 1]), 16, 8192, &pinned()).expect_err("no even factor");
    assert_eq!(fault.rule, Rule::NoChunk);
    let made = task(&plain(Pattern::linear(2049), 16, 2049));
    assert_eq!(rules(&made.faults), [Rule::S2]);
}

#[test]
fn case_27_linear_and_repeated() {
    let linear = shape(&pattern(&[1, 1, 1, 131136], &[0, 0, 0, 1]), 16, 131136, &pinned()).expect("linear");
    assert_eq!((linear.bds(), linear.runs), (1, 1));
    let repeated = shape(&pattern(&[8, 1, 1, 2048], &[0, 0, 0, 1]), 16, 2048, &pinned()).expect("linear");
    assert_eq!((repeated.bds(), repeated.runs), (1, 8));
}

#[test]
fn case_28_appending_to_a_key_value_cache() {
    let append = |groups: u64, stride: i64| {
        let transfer = plain(pattern(&[1, 1, groups, 256], &[0, 0, stride, 1]), 16, 0);
        task(&transfer)
    };
    let far = append(2, 4_194_304);
    assert_eq!((far.bds_per_chunk, far.faults.as_slice()), (2, [].as_slice()));
    assert_eq!(far.unrolled_by[0].reason, UnrollReason::LongStride);
    let near = append(2, 1_048_576);
    assert_eq!((near.bds_per_chunk, near.faults.as_slice()), (1, [].as_slice()));
    let many = append(64, 4_194_304);
    assert_eq!((many.bds_per_chunk, rules(&many.faults)), (1, vec![Rule::S8]));
    assert!(many.faults[0].text.contains("2097152 32-bit words (4194304 elements)"), "{}", many.faults[0].text);
}

#[test]
fn case_33_element_wise_tiles_are_not_monotonic() {
    let elements = 16_777_216;
    let bds = |herd, tile| task(&tiles(elements, tile, herd)).bds_per_chunk;
    for (herd, tile) in [(8, 256), (8, 512), (8, 4096), (1, 4096)] {
        assert_eq!(bds(herd, tile), 1, "{herd} {tile}");
    }
    for (herd, tile) in [(8, 1024), (8, 2048), (2, 4096), (4, 4096)] {
        // Three channels of the column hold 48 descriptors.
        assert_eq!(bds(herd, tile), 16, "{herd} {tile}");
    }
}

#[test]
fn case_48_strides_of_a_weight_tile() {
    let stride = |elements: i64| bd(&[1, 4, 8, 64], &[0, elements, 64, 1], 16, 0);
    for fine in [128 * 10240, 256 * 8192] {
        assert_eq!(stride(fine), [], "{fine}");
    }
    for long in [256 * 9728, 256 * 11008] {
        assert_eq!(stride(long), [Rule::S8], "{long}");
    }
    let faults = check_shim_bd(&pattern(&[1, 4, 8, 64], &[0, 2_818_048, 64, 1]), 16, Some(0), &npu2());
    let text = "1409024 32-bit words (2818048 elements), allowed at most 1048576 words (2097152 elements)";
    assert!(faults[0].text.contains(text), "{}", faults[0].text);
}

#[test]
fn loops_that_do_not_fold_become_descriptors() {
    let mut transfer = tiles(16_384, 512, 8);
    transfer.is_foldable = false;
    let made = task(&transfer);
    assert_eq!((made.bds_per_chunk, made.unrolled_by[0].reason), (4, UnrollReason::NotFoldable));
    let five = [(3, 100_000), (3, 20_000), (3, 4000), (3, 800)].map(|(trip, step)| Loop { trip, step });
    let made = task(&Transfer { loops: five.to_vec(), ..plain(pattern(&[3, 8], &[100, 1]), 32, 0) });
    assert_eq!(made.bds_per_chunk, 9);
    let reasons: Vec<_> = made.unrolled_by.iter().map(|u| (u.loop_index, u.reason)).collect();
    let outer = (Some(0), UnrollReason::AroundUnrolled);
    assert_eq!(reasons, [outer, (Some(1), UnrollReason::TooManyDims)]);
}

#[test]
fn runtime_tiling_cuts_the_launch_into_chunks() {
    let loops = vec![Loop { trip: 64, step: 0 }, Loop { trip: 8, step: 0 }];
    let transfer = Transfer { loops, launch_loops: 1, ..plain(Pattern::linear(2048), 16, 2048) };
    let untiled = task(&transfer);
    assert_eq!((untiled.chunks, untiled.runs_per_push, rules(&untiled.faults)), (1, 512, vec![Rule::Repeat]));
    let tiled = shim_task(&transfer, Some(&[4, 4]), &npu2(), &pinned());
    assert_eq!((tiled.chunks, tiled.runs_per_push, tiled.faults.as_slice()), (16, 32, [].as_slice()));
    assert_eq!(shim_task(&transfer, Some(&[0]), &npu2(), &pinned()), untiled);
}
