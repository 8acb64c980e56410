//! K as N x K/N.

use airlink_device::{k_split_best, k_split_nearest, k_split_parts};

#[test]
fn k_of_known_models_splits_as_stated() {
    for (k, parts) in [(8192, 16), (8960, 10), (14_336, 16), (11_008, 43), (9728, 19)] {
        assert_eq!(k_split_best(k, 16), Some(parts), "{k}");
        assert_eq!(k / parts % 64, 0, "{k}");
    }
    assert!(k_split_parts(8960, 16).contains(&70));
    assert!(k_split_parts(14_336, 16).contains(&56));
}

#[test]
fn parts_are_whole_words_and_within_their_fields() {
    for bits in [8, 16, 32] {
        for k in 8161..8700u64 {
            for n in k_split_parts(k, bits) {
                assert!(k % n == 0 && n <= 255 && k / n <= 1023 && (k / n * bits) % 32 == 0, "{k} by {n} of {bits}");
            }
            // A multiple of 64 goes before a smaller number of parts.
            if let Some(best) = k_split_best(k, bits).filter(|n| (k / n) % 64 != 0) {
                assert!(k_split_parts(k, bits).iter().all(|n| (k / n) % 64 != 0 && *n >= best), "{k}");
            }
        }
    }
}

#[test]
fn what_has_no_split_has_neighbours_that_do() {
    assert_eq!(k_split_best(16_382, 16), None);
    assert_eq!(k_split_nearest(16_382, 16), (Some(16_380), Some(16_384)));
    // 255 parts of 1022 elements of bf16 are the most.
    assert_eq!(k_split_nearest(u64::MAX, 16).0, Some(255 * 1022));
    assert_eq!(k_split_nearest(u64::MAX, 16).1, None);
}
