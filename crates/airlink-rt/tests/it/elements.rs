//! Element types and the 16-bit floats.

use airlink_rt::*;

#[test]
fn every_bf16_survives_widening_and_rounding() {
    for bits in 0..=u16::MAX {
        let value = bf16_to_f32(bits);
        let back = bf16_from_f32(value);
        if value.is_nan() {
            assert!(bf16_to_f32(back).is_nan() && back & 0x8000 == bits & 0x8000);
        } else {
            assert_eq!(back, bits);
        }
    }
}

#[test]
fn every_f16_survives_widening_and_rounding() {
    for bits in 0..=u16::MAX {
        let value = f16_to_f32(bits);
        let back = f16_from_f32(value);
        if value.is_nan() {
            assert!(f16_to_f32(back).is_nan() && back & 0x8000 == bits & 0x8000);
        } else {
            assert_eq!(back, bits, "{bits:#x} is {value}");
        }
    }
}

/// Between each pair of neighbours: below the middle down, above it up, on it to the even one.
fn rounds_to_nearest_even(round: fn(f32) -> u16, widen: fn(u16) -> f32, infinity: u16) {
    for low in 0..infinity - 1 {
        let (a, b) = (f64::from(widen(low)), f64::from(widen(low + 1)));
        let middle = ((a + b) / 2.0) as f32;
        let even = low + (low & 1);
        assert_eq!(round(middle), even, "the middle above {low:#x}");
        assert_eq!(round(-middle), even | 0x8000);
        assert_eq!(round(middle.next_down()), low);
        assert_eq!(round(middle.next_up()), low + 1);
    }
    assert_eq!(round(f32::MAX), infinity);
    assert_eq!(round(f32::NEG_INFINITY), infinity | 0x8000);
}

#[test]
fn bf16_rounds_to_nearest_even() {
    rounds_to_nearest_even(bf16_from_f32, bf16_to_f32, 0x7f80);
}

#[test]
fn f16_rounds_to_nearest_even() {
    rounds_to_nearest_even(f16_from_f32, f16_to_f32, 0x7c00);
    assert_eq!(f16_from_f32(65519.9), 0x7bff);
    assert_eq!(f16_from_f32(65520.0), 0x7c00);
}

#[test]
fn mlir_names_give_elements_and_others_none() {
    for e in Element::ALL {
        assert_eq!(Element::from_mlir(e.name()), Some(e));
    }
    assert_eq!(Element::from_mlir("si8"), Some(Element::I8));
    for other in ["i4", "index", "f8E4M3FN", "", "s", "sbf16", "sui8", "si1", "complex<f32>", "i128"] {
        assert_eq!(Element::from_mlir(other), None, "{other}");
    }
}

#[test]
fn values_follow_the_type() {
    let bytes = [0xff, 0x80, 0x3f, 0xc0];
    assert_eq!(Element::I8.values(&bytes).collect::<Vec<_>>(), [-1.0, -128.0, 63.0, -64.0]);
    assert_eq!(Element::Ui16.values(&bytes).collect::<Vec<_>>(), [33023.0, 49215.0]);
    assert_eq!(Element::Bf16.values(&[0x80, 0x3f, 0, 0xc0]).collect::<Vec<_>>(), [1.0, -2.0]);
}

#[test]
fn cpu_levels_are_ordered_and_need_what_those_below_need() {
    let counts = CpuLevel::ALL.map(|l| l.missing_features().len());
    assert!(counts.is_sorted());
    for level in CpuLevel::ALL {
        assert_eq!(CpuLevel::parse(level.name()), Some(level));
        assert_eq!(level.missing_features().is_empty(), CpuLevel::of_this_machine() >= Some(level));
    }
    assert_eq!(CpuLevel::parse("native"), None);
}
