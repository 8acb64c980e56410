//! Which kernel an extern means.

use airlink_host::reference::{candidates, emit, find, variants};
use airlink_kernel::KernelType;

fn names(symbol: &str, types: &[&str]) -> Vec<&'static str> {
    candidates(symbol, &parsed(types)).iter().map(|v| v.name).collect()
}

fn parsed(types: &[&str]) -> Vec<KernelType> {
    types.iter().map(|t| KernelType::parse(t).unwrap()).collect()
}

#[test]
fn types_decide_between_two_meanings_of_one_symbol() {
    let rows =
        ["i32", "i32", "i32", "memref<4x2048xbf16, 2 : i32>", "memref<2048xbf16, 2 : i32>", "memref<8xbf16, 2 : i32>"];
    assert_eq!(names("matvec_vectorized_bf16_bf16", &rows), ["gemv64"]);
    let whole = ["memref<4096xbf16, 2 : i32>", "memref<128xbf16, 2 : i32>", "memref<32xbf16, 2 : i32>"];
    assert_eq!(names("matvec_vectorized_bf16_bf16", &whole), ["gemv_word_transposed"]);
    assert_eq!(names("matvec_vectorized_bf16_bf16", &whole[..2]), [""; 0]);
}

#[test]
fn rope_has_two_meanings() {
    let types = ["memref<64xbf16, 2 : i32>", "memref<64xbf16, 2 : i32>", "memref<64xbf16, 2 : i32>", "i32"];
    assert_eq!(names("rope", &types), ["rope_halfsplit", "rope_interleaved"]);
}

#[test]
fn operands_must_fit() {
    assert_eq!(names("linalg_fill_bf16", &["memref<8xbf16, 2 : i32>"]), ["zero_fill"]);
    for bad in
        ["memref<8xf32, 2 : i32>", "memref<?xbf16>", "memref<8x8xbf16, strided<[16, 1], offset: ?>>", "i32", "bf16"]
    {
        assert_eq!(names("linalg_fill_bf16", &[bad]), [""; 0], "{bad}");
    }
    let row_major = "memref<1x1x16x8x8x8xf32, strided<[32768, 8192, 512, 64, 8, 1], offset: ?>, 2 : i32>";
    assert_eq!(names("zero_f32_mn_m64", &[row_major]), ["zero_fill_f32"]);
    assert_eq!(names("nobody_knows_this", &["memref<8xbf16>"]), [""; 0]);
}

#[test]
fn int4_sizes_must_add_up() {
    let types =
        |bytes: u32, k: u32| [format!("memref<{bytes}xi8>"), format!("memref<{k}xbf16>"), "memref<8xbf16>".into()];
    let found =
        |bytes, k| candidates("matvec_int4_bf16_packed", &parsed(&types(bytes, k).each_ref().map(|s| &s[..]))).len();
    assert_eq!(found(8576, 2048), 1);
    assert_eq!(found(8575, 2048), 0);
    assert_eq!(found(8576, 2050), 0);
    assert_eq!(found(0, 0), 0);
}

#[test]
fn the_catalogue_is_whole() {
    for (i, variant) in variants().iter().enumerate() {
        assert!(std::ptr::eq(find(variant.name).unwrap(), *variant), "{} stands twice", variant.name);
        for text in [variant.signature, variant.meaning, variant.rounding] {
            assert!(!text.is_empty() && !text.contains("  "), "{i}: {text}");
        }
    }
    assert!(find("gemv").is_none());
    assert_eq!(find("gemv64").unwrap().id(), "gemv64@1");
}

#[test]
fn the_symbol_is_the_one_asked_for() {
    let types = parsed(&["memref<8xbf16>"]);
    let zero = find("zero_fill").unwrap();
    for (symbol, spelled) in
        [("linalg_fill_bf16_k8192", "@linalg_fill_bf16_k8192("), ("mv-k", "@\"mv-k\"("), ("a\"b", "@\"a\\22b\"(")]
    {
        let text = emit(zero, symbol, &types).unwrap();
        assert!(text.contains(spelled), "{text}");
    }
}

/// Every extern of the decode kernels in the corpus finds its kernel.
#[test]
fn externs_of_the_corpus() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    if !corpus.is_dir() {
        assert!(std::env::var_os("AIRLINK_REQUIRE_SHARED").is_none(), "{} is missing", corpus.display());
        println!("skipped: no {}", corpus.display());
        return;
    }
    let mut seen = 0;
    for folder in ["kernels", "extra"] {
        let mut files: Vec<_> = std::fs::read_dir(corpus.join(folder)).unwrap().map(|e| e.unwrap().path()).collect();
        files.sort();
        for file in files {
            for (symbol, types) in externs(&std::fs::read_to_string(&file).unwrap()) {
                let found = candidates(&symbol, &types);
                let expected = if symbol == "rope" { 2 } else { 1 };
                assert_eq!(found.len(), expected, "{symbol}{types:?} in {}: {found:?}", file.display());
                assert!(emit(found[0], &symbol, &types).is_some());
                seen += 1;
            }
        }
    }
    assert!(seen > 100, "{seen}");
}

/// Private declarations as the corpus prints them: one a line.
fn externs(text: &str) -> Vec<(String, Vec<KernelType>)> {
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix("func.func private @"));
    lines
        .filter_map(|line| {
            let (symbol, rest) = line.split_once('(')?;
            let (operands, _) = rest.split_once(") attributes")?;
            let wrapped =
                operands.replace("memref<", "\nmemref<").replace("i32,", "\ni32,").replace(", i32", ", \ni32");
            let types = wrapped.split('\n').map(|t| t.trim().trim_end_matches(',')).filter(|t| !t.is_empty());
            Some((symbol.to_string(), types.filter_map(KernelType::parse).collect()))
        })
        .collect()
}
