//! Comparisons: exact, within bounds, what was never written.

use airlink_rt::compare::*;
use airlink_rt::*;

fn bf16(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|&v| bf16_from_f32(v).to_le_bytes()).collect()
}

fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

#[test]
fn the_first_difference_is_told_with_its_position() {
    let a = bf16(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let b = bf16(&[1.0, 2.0, 3.0, 4.0, 5.03125, -6.0]);
    let found = exact(Element::Bf16, &[2, 3], &a, &b).unwrap();
    assert_eq!((found.element_count, found.differing_count), (6, 2));
    assert!(!found.is_equal());
    assert_eq!(found.differing_share(), 2.0 / 6.0);
    let first = found.first.unwrap();
    assert_eq!((first.index, &first.position[..]), (4, &[1u64, 1][..]));
    assert_eq!(first.to_string(), "[1, 1]: 5.03125 instead of 5");
    assert!(exact(Element::Bf16, &[2, 3], &a, &a).unwrap().is_equal());
}

#[test]
fn indices_hold_across_blocks_and_at_the_ragged_end() {
    for element in [Element::I8, Element::Bf16, Element::F64] {
        let size = element.size_bytes();
        let expected = vec![0u8; 1537 * size];
        for index in [0, 511, 512, 1300, 1535, 1536] {
            let mut found = expected.clone();
            found[index * size] = 1;
            let result = exact(element, &[1537], &expected, &found).unwrap();
            assert_eq!((result.differing_count, result.first.unwrap().index), (1, index as u64), "{element}");
            let mut bounds = vec![0.0; 1537];
            assert_eq!(within(element, &[1537], &expected, &found, &bounds).unwrap().beyond_count(), 1);
            bounds[index] = 1.0;
            assert_eq!(within(element, &[1537], &expected, &found, &bounds).unwrap().beyond_count(), 0);
        }
    }
}

#[test]
fn every_nan_equals_every_nan_but_zeros_of_two_signs_differ() {
    let a = [0x7fc0_0000u32, 0xffc0_0001, 0x7f80_0000, 0].map(u32::to_le_bytes).concat();
    let b = [0xffc0_0000u32, 0x7fc0_1234, 0x7f80_0000, 0x8000_0000].map(u32::to_le_bytes).concat();
    let found = exact(Element::F32, &[4], &a, &b).unwrap();
    assert_eq!(found.differing_count, 1);
    assert_eq!(found.max_ulp, Some(0));
    assert_eq!(found.first.unwrap().to_string(), "[3]: -0 instead of 0");
    // The same bits as integers differ.
    assert_eq!(exact(Element::I32, &[4], &a, &b).unwrap().differing_count, 3);
    let one_nan = exact(Element::F32, &[1], &a[..4], &f32s(&[1.0])).unwrap();
    assert_eq!((one_nan.differing_count, one_nan.max_ulp), (1, None));
}

#[test]
fn large_integers_that_round_to_one_f64_show_their_bits() {
    let (a, b) = (i64::MAX.to_le_bytes(), (i64::MAX - 1).to_le_bytes());
    let first = exact(Element::I64, &[1], &a, &b).unwrap().first.unwrap();
    assert!(first.to_string().ends_with("(bits 0x7ffffffffffffffe instead of 0x7fffffffffffffff)"), "{first}");
}

#[test]
fn ulps_count_the_values_between() {
    let ulp = |a: f32, b: f32| ulp_distance(Element::F32, a.to_bits().into(), b.to_bits().into());
    assert_eq!(ulp(1.0, 1.0f32.next_up().next_up()), Some(2));
    assert_eq!(ulp(0.0, -0.0), Some(0));
    assert_eq!(ulp(f32::from_bits(1), -f32::from_bits(1)), Some(2));
    assert_eq!(ulp(f32::MAX, f32::INFINITY), Some(1));
    assert_eq!(ulp(f32::NAN, 1.0), None);
    assert_eq!(ulp_distance(Element::Bf16, 0x3f80, 0x3f7f), Some(1));
    assert_eq!(ulp_distance(Element::F64, f64::MAX.to_bits(), (-f64::MAX).to_bits()), Some(2 * f64::MAX.to_bits()));
    assert_eq!(ulp_distance(Element::I32, 1, 2), None);
}

#[test]
fn bounds_are_per_element() {
    let (a, b) = (f32s(&[1.0, 1.0, 1.0, 1.0]), f32s(&[1.0, 1.5, 0.5, 1.0]));
    let found = within(Element::F32, &[4], &a, &b, &[0.0, 0.5, 0.25, 0.0]).unwrap();
    assert_eq!((found.beyond_count(), found.differing_count(), found.worst_ratio), (1, 2, 2.0));
    assert_eq!(found.first.as_ref().unwrap().index, 2);
    assert!(!found.is_within());
    assert_eq!(found.differing_share(), 0.5);
    // Without a bound, only equal values pass.
    assert_eq!(within(Element::F32, &[4], &a, &b, &[]).unwrap().beyond_count(), 2);
    assert!(within(Element::F32, &[4], &a, &a, &[]).unwrap().is_within());
}

#[test]
fn no_bound_allows_a_nan_for_a_number() {
    let (a, b) = (f32s(&[1.0, f32::NAN, f32::NAN, f32::INFINITY]), f32s(&[f32::NAN, 1.0, -f32::NAN, f32::INFINITY]));
    let found = within(Element::F32, &[4], &a, &b, &[1e30, f64::INFINITY, 0.0, f64::NAN]).unwrap();
    assert_eq!((found.beyond_count(), found.worst_ratio), (2, f64::INFINITY));
    let nan_bound = within(Element::F32, &[1], &f32s(&[1.0]), &f32s(&[2.0]), &[f64::NAN]).unwrap();
    assert!(!nan_bound.is_within());
}

#[test]
fn similarity_is_a_number_for_reports() {
    let (a, b) = (f32s(&[3.0, 4.0]), f32s(&[4.0, 3.0]));
    let s = similarity(Element::F32, &a, &b);
    assert_eq!((s.cosine, s.max_abs_difference, s.rms_expected), (Some(24.0 / 25.0), 1.0, 12.5f64.sqrt()));
    assert_eq!(similarity(Element::F32, &a, &f32s(&[0.0, 0.0])).cosine, None);
    let nan = similarity(Element::F32, &a, &f32s(&[f32::NAN, 4.0]));
    assert!(nan.cosine.is_none() && nan.max_abs_difference.is_nan());
}

#[test]
fn what_nobody_wrote_is_found() {
    let mut bytes = bf16(&[1.0; 12]);
    bytes[10..14].fill(0xff);
    let left = poison_left(Element::Bf16, &[3, 4], &bytes, Poison::Nan);
    assert_eq!(left, Unwritten { count: 2, first: Some((5, vec![1, 1])) });
    // One byte of an element is not the element.
    bytes[10] = 0;
    assert_eq!(poison_left(Element::Bf16, &[3, 4], &bytes, Poison::Nan).count, 1);
    assert_eq!(poison_left(Element::Bf16, &[3, 4], &bf16(&[1.0; 12]), Poison::Nan).first, None);
}

#[test]
fn two_poisons_tell_minus_one_and_zero_from_unwritten() {
    let with_nan = [0xff, 0xff, 0x00, 0x07];
    let with_zero = [0xff, 0x00, 0x00, 0x07];
    let left = never_written(Element::I8, &[4], &with_nan, &with_zero);
    assert_eq!(left, Unwritten { count: 1, first: Some((1, vec![1])) });
}

#[test]
fn sizes_that_do_not_fit_are_errors() {
    let error = exact(Element::F32, &[4], &[0; 16], &[0; 12]).unwrap_err();
    assert_eq!(error.to_string(), "12 bytes to compare with 16 bytes of f32, for a shape of 16 bytes");
    exact(Element::F32, &[u64::MAX, 2], &[], &[]).unwrap_err();
    assert_eq!(exact(Element::F32, &[0, 4], &[], &[]).unwrap().differing_share(), 0.0);
}

/// The faults that a cosine of 0.99 lets pass: 32 rows of 2048 never written, a tile of 8 rows, swapped rows.
#[test]
fn faults_that_keep_the_cosine_are_found_exactly_and_by_bound() {
    const ROWS: usize = 2048;
    let mut expected = vec![0; ROWS * 2];
    inputs::fill(Element::Bf16, Role::Input, 11, "y", &mut expected);
    let bounds: Vec<f64> = Element::Bf16.values(&expected).map(|y| bf16_product_bound(y, 1.0)).collect();
    let mut unwritten = expected.clone();
    unwritten[..64].fill(0);
    let mut swapped = expected.clone();
    swapped.chunks_exact_mut(2 * ROWS / 128).take(8).for_each(|rows| rows.rotate_left(2));
    for fault in [&unwritten, &swapped] {
        let s = similarity(Element::Bf16, &expected, fault);
        assert!(exact(Element::Bf16, &[ROWS as u64], &expected, fault).unwrap().differing_count >= 32);
        assert!(within(Element::Bf16, &[ROWS as u64], &expected, fault, &bounds).unwrap().beyond_count() >= 24);
        assert!(s.cosine.unwrap() > 0.9, "{s:?}");
    }
}
