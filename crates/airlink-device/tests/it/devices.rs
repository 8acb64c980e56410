//! The tables themselves.

use airlink_device::{Arch, Device, Profile, TileKind};

#[test]
fn names_are_unique_and_found() {
    for device in Device::all() {
        assert_eq!(Device::named(device.name), Some(device));
        assert_eq!(device.has_full_elf, device.arch == Arch::Aie2p);
    }
    assert_eq!(Device::all().len(), 12);
    assert_eq!(Device::named("npu1_4col"), None);
    assert_eq!(Device::named("npu2").map(|d| d.columns.value), Some(8));
    for profile in Profile::all() {
        assert_eq!(Profile::named(profile.name), Some(profile));
    }
    assert_eq!(Profile::named("mlir-aie-7e00b57"), Some(&Profile::default()));
}

#[test]
fn fields_hold_what_their_bits_say() {
    let device = Device::named("npu2").expect("in the table");
    let words = |kind| (device.tile(kind).wrap_words_max(), device.tile(kind).step_words_max());
    assert_eq!(words(TileKind::Shim), (1023, 1_048_576));
    assert_eq!(words(TileKind::Mem), (1023, 131_072));
    assert_eq!(words(TileKind::Core), (255, 8192));
    assert_eq!([8, 16, 32].map(|bits| device.granule(bits)), [4, 2, 1]);
}
