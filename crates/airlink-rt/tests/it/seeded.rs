//! Seeded inputs.

use airlink_rt::inputs::{fill, fill_from};
use airlink_rt::*;

fn filled(element: Element, role: Role, seed: u64, name: &str, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count * element.size_bytes()];
    fill(element, role, seed, name, &mut bytes);
    bytes
}

#[test]
fn values_are_fixed_for_all_time() {
    // Computed independently, by the definition on the module's page.
    let f32s = filled(Element::F32, Role::Input, 1, "x", 4);
    let values: Vec<f64> = Element::F32.values(&f32s).collect();
    assert_eq!(values, [1.7072906494140625, -0.4681396484375, 1.7733917236328125, 1.4235992431640625]);
}

#[test]
fn a_part_equals_the_whole() {
    for element in Element::ALL {
        let size = element.size_bytes();
        let whole = filled(element, Role::Static, 7, "wq", 1000);
        let mut part = vec![0; 300 * size];
        fill_from(element, Role::Static, 7, "wq", 500, &mut part);
        assert_eq!(part, whole[500 * size..800 * size], "{element}");
    }
}

#[test]
fn seed_and_name_matter() {
    let base = filled(Element::Bf16, Role::Input, 1, "x", 64);
    assert_eq!(base, filled(Element::Bf16, Role::Input, 1, "x", 64));
    assert_ne!(base, filled(Element::Bf16, Role::Input, 2, "x", 64));
    assert_ne!(base, filled(Element::Bf16, Role::Input, 1, "y", 64));
    assert_ne!(base, filled(Element::Bf16, Role::Input, 0, "x", 64));
}

#[test]
fn floats_are_normal_with_the_sigma_of_their_role() {
    const COUNT: usize = 200_000;
    for (element, role, sigma) in [
        (Element::F32, Role::Input, 1.0),
        (Element::Bf16, Role::Static, 0.02),
        (Element::F16, Role::Inout, 1.0),
        (Element::F64, Role::Static, 0.02),
    ] {
        let bytes = filled(element, role, 3, "w", COUNT);
        let values: Vec<f64> = element.values(&bytes).map(|v| v / sigma).collect();
        let moment = |n: i32| values.iter().map(|v| v.powi(n)).sum::<f64>() / COUNT as f64;
        assert!(moment(1).abs() < 0.01, "mean {}", moment(1));
        assert!((moment(2) - 1.0).abs() < 0.02, "variance {}", moment(2));
        assert!(moment(3).abs() < 0.05, "skew {}", moment(3));
        // Irwin-Hall of 12: 3 - 0.1, close to the normal distribution's 3.
        assert!((moment(4) - 2.9).abs() < 0.1, "kurtosis {}", moment(4));
        let neighbours = values.windows(2).map(|w| w[0] * w[1]).sum::<f64>() / COUNT as f64;
        assert!(neighbours.abs() < 0.01, "correlation {neighbours}");
        assert!(values.iter().all(|v| v.abs() <= 6.1));
    }
}

#[test]
fn integers_cover_what_their_role_needs() {
    let range = |element: Element, role| {
        let bytes = filled(element, role, 5, "q", 20_000);
        element.values(&bytes).fold((f64::MAX, f64::MIN), |(lo, hi), v| (lo.min(v), hi.max(v)))
    };
    assert_eq!(range(Element::I8, Role::Static), (-128.0, 127.0));
    assert_eq!(range(Element::I8, Role::Input), (-128.0, 127.0));
    assert_eq!(range(Element::Ui8, Role::Static), (0.0, 255.0));
    assert_eq!(range(Element::I32, Role::Input), (-128.0, 127.0));
    assert_eq!(range(Element::Ui64, Role::Input), (0.0, 255.0));
    assert_eq!(range(Element::I1, Role::Static), (0.0, 1.0));
    let (lo, hi) = range(Element::I32, Role::Static);
    assert!(lo < -2e9 && hi > 2e9);
}
