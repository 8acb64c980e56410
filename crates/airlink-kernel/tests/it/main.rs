use airlink_kernel::KernelType;

fn memref(text: &str) -> airlink_kernel::MemRefType {
    KernelType::parse(text).unwrap().as_memref().unwrap().clone()
}

#[test]
fn types_print_as_mlir_prints_them() {
    for text in [
        "memref<2048x2048xbf16>",
        "memref<bf16>",
        "memref<8xbf16, 2 : i32>",
        "memref<?x4xf32, strided<[4, 1], offset: ?>, 1>",
        "memref<16xf32, affine_map<(d0) -> (d0 + 1)>>",
        "memref<4xvector<16xbf16>>",
        "index",
        "!air.async.token",
    ] {
        assert_eq!(KernelType::parse(text).unwrap().to_string(), text);
    }
}

#[test]
fn blanks_do_not_matter() {
    assert_eq!(KernelType::parse(" memref< 8xbf16,2 : i32 > "), KernelType::parse("memref<8xbf16, 2 : i32>"));
    assert_eq!(
        KernelType::parse("memref<8xf32,strided<[1],offset: ?>>").unwrap().to_string(),
        "memref<8xf32, strided<[1], offset: ?>>"
    );
}

#[test]
fn spaces_of_another_spelling_differ() {
    assert_ne!(KernelType::parse("memref<8xbf16, 2>"), KernelType::parse("memref<8xbf16, 2 : i32>"));
}

#[test]
fn counts_are_in_elements_and_bytes() {
    assert_eq!(memref("memref<2x2048xbf16>").byte_count(), Some(8192));
    assert_eq!(memref("memref<64x8576xi8>").byte_count(), Some(64 * 8576));
    assert_eq!(memref("memref<3xi1>").byte_count(), Some(1));
    assert_eq!(memref("memref<?xbf16>").byte_count(), None);
    assert_eq!(memref("memref<4xf8E4M3FN>").byte_count(), Some(4));
    assert_eq!(memref("memref<99999999999x99999999999xf32>").byte_count(), None);
}

#[test]
fn broken_memrefs_are_none() {
    for text in ["", "memref<8x>", "memref<8", "memref<8x8>", "memref<>"] {
        assert_eq!(KernelType::parse(text), None, "{text}");
    }
}
