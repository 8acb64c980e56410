//! Splits over columns: which matrix-vector products get wider herds, that it changes no bit, and what cannot be widened.

use serde_json::Value;

use crate::project::{Outcome, airlink, files, fixture};

const GRAPH: &str = "[graph]\nname = \"g\"\ndevice = \"npu2\"\n\n[[launch]]\nname = \"a\"\nkernel = \"k.mlir\"\nargs = [\"w\", \"x\", \"y\"]\n";

/// A matrix-vector product with a herd of 4 x 1 and 8 launch points.
fn narrow() -> String {
    std::fs::read_to_string(fixture("kernels/gemv/256x256_t8.air.mlir")).expect("the fixture is there")
}

/// The same, written with a herd of 8 x 1 and 4 launch points.
fn wide_by_hand() -> String {
    with(
        &narrow(),
        &[
            ("step * 32", "step * 64"),
            ("32x256xbf16, 1", "64x256xbf16, 1"),
            ("%steps = arith.constant 8", "%steps = arith.constant 4"),
            ("%tiles = arith.constant 4", "%tiles = arith.constant 8"),
            ("[32, 256] [256, 1]", "[64, 256] [256, 1]"),
            ("memref<32xbf16, 1", "memref<64xbf16, 1"),
            ("[32] [1]", "[64] [1]"),
        ],
    )
}

fn with(text: &str, edits: &[(&str, &str)]) -> String {
    edits.iter().fold(text.to_string(), |text, (from, to)| {
        assert!(text.contains(from), "`{from}` in {text}");
        text.replace(from, to)
    })
}

/// Runs airlink on a graph of one launch of the kernel, with more keys for the launch.
fn run(kernel: &str, keys: &str, args: &[&str]) -> Outcome {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("k.mlir"), kernel).expect("written");
    std::fs::write(folder.path().join("g.toml"), format!("{GRAPH}{keys}")).expect("written");
    airlink(folder.path(), args)
}

fn plan(kernel: &str, keys: &str, options: &[&str]) -> Value {
    let args = [&["plan", "g.toml", "--format", "json"][..], options].concat();
    let json = run(kernel, keys, &args).expect(0).stdout;
    serde_json::from_str(&json).expect("JSON")
}

fn resource(plan: &Value, kind: &str) -> u64 {
    let all = plan["elfs"][0]["resources"]["launches"][0]["resources"].as_array().expect("resources").clone();
    all.iter().find(|r| r["kind"] == kind).and_then(|r| r["used"].as_u64()).expect("a number")
}

const KINDS: [(&str, &str); 4] =
    [("push_runs", "runs/push"), ("shim_bds", "shim BDs"), ("shim_mm2s", "shim MM2S"), ("l2_bytes", "L2")];

#[test]
fn the_widest_herd_that_fits_is_taken() {
    let plan = |device: &str| {
        let json = run(&narrow(), "", &["plan", "g.toml", "--format", "json", "--device", device]).expect(0).stdout;
        serde_json::from_str::<Value>(&json).expect("JSON")
    };
    let wide = plan("npu2");
    let split = &wide["n_splits"][0];
    assert_eq!(
        (split["factor"].as_u64(), split["columns"].as_u64(), split["points"].as_u64()),
        (Some(2), Some(4), Some(8))
    );
    let used = |when: &str, kind: &str| {
        let all = split[when].as_array().expect("resources").clone();
        all.iter().find(|r| r["kind"] == kind).and_then(|r| r["used"].as_u64()).expect("a number")
    };
    assert_eq!((used("before", "push_runs"), used("after", "push_runs")), (8, 4));
    assert_eq!((used("before", "l2_bytes"), used("after", "l2_bytes")), (16_448, 32_896));
    // A device with as many columns as the herd.
    assert_eq!(plan("npu2_4col")["n_splits"].as_array().map(Vec::len), Some(0));
    let text = run(&narrow(), "", &["plan", "g.toml", "-q"]).expect(0).stdout;
    assert!(text.contains("4 x 1 tiles, 8 points into 8 x 1 tiles, 4 points: 4 of 8 columns without it"), "{text}");
}

/// Two tiles of 8 rows and a panel of 16: four times the columns, three is no divisor.
#[test]
fn a_herd_of_two_columns_becomes_one_of_eight() {
    let two = with(
        &narrow(),
        &[
            ("step * 32", "step * 16"),
            ("32x256xbf16, 1", "16x256xbf16, 1"),
            ("%steps = arith.constant 8", "%steps = arith.constant 16"),
            ("%tiles = arith.constant 4", "%tiles = arith.constant 2"),
            ("[32, 256] [256, 1]", "[16, 256] [256, 1]"),
            ("memref<32xbf16, 1", "memref<16xbf16, 1"),
            ("[32] [1]", "[16] [1]"),
        ],
    );
    assert_eq!(plan(&two, "", &[])["n_splits"][0]["factor"].as_u64(), Some(4));
    assert!(run(&two, "", &["verify", "g.toml"]).expect(0).stdout.contains("bit-exact: 256 elements"));
    let said = run(&two, "n_split = 3\n", &["plan", "g.toml"]).expect(1).stderr;
    assert!(said.contains("AL0510") && said.contains("allowed 1, 2, 4"), "{said}");
}

/// What the split makes is the program that the same kernel has which was built with the wider herd.
#[test]
fn the_split_is_the_wider_kernel() {
    let (split, built) = (plan(&narrow(), "", &[]), plan(&wide_by_hand(), "", &[]));
    assert_eq!(built["n_splits"].as_array().map(Vec::len), Some(0));
    assert_eq!(split["elfs"][0]["resources"], built["elfs"][0]["resources"]);
}

#[test]
fn no_bit_changes_with_any_other_split_beside_it() {
    let cases = [
        (narrow(), "", 1),
        (narrow(), "n_split = 2\nrow_split = 2\n", 2),
        (narrow(), "n_split = 2\nrow_split = 3\n", 0),
        (narrow(), "n_split = \"off\"\n", 1),
        // Panels that are spelled out.
        (with(&narrow(), &[("(%panel[] [] []", "(%panel[0, 0] [32, 256] [256, 1]")]), "n_split = 2\n", 1),
        (with(&narrow(), &[("(%panel[] [] []", "(%panel[0] [64, 128] [128, 1]")]), "n_split = 2\n", 1),
        (
            with(&narrow(), &[("[%first, 0] [32, 256] [256, 1]", "[0, %first, 0] [1, 32, 256] [0, 256, 1]")]),
            "n_split = 2\n",
            1,
        ),
    ];
    for (kernel, keys, launches) in cases {
        if launches == 0 {
            // Four points are left, and no three launches.
            let said = run(&kernel, keys, &["verify", "g.toml"]).expect(1).stderr;
            assert!(said.contains("AL0505") && said.contains("the 4 launch points"), "{said}");
            continue;
        }
        let outcome = run(&kernel, keys, &["verify", "g.toml"]).expect(0);
        assert!(outcome.stdout.contains("bit-exact: 256 elements"), "{keys}: {}", outcome.stdout);
        assert_eq!(
            plan(&kernel, keys, &[])["elfs"][0]["resources"]["launches"].as_array().map(Vec::len),
            Some(launches)
        );
    }
    // K of 14,336 in 16 parts, with a herd of four columns on eight.
    let k14336 = std::fs::read_to_string(fixture("kernels/gemv/4096x14336_t2.air.mlir")).expect("the fixture is there");
    let k14336 = with(
        &k14336,
        &[
            ("step * 16", "step * 8"),
            ("memref<16x14336xbf16, 1", "memref<8x14336xbf16, 1"),
            ("memref<16xbf16, 1", "memref<8xbf16, 1"),
            ("%tiles = arith.constant 8", "%tiles = arith.constant 4"),
            ("%steps = arith.constant 256", "%steps = arith.constant 32"),
            ("[16, 14336] [14336, 1]", "[8, 14336] [14336, 1]"),
            ("[16] [1]", "[8] [1]"),
            ("4096x14336", "256x14336"),
            ("memref<4096xbf16>", "memref<256xbf16>"),
        ],
    );
    let both = plan(&k14336, "", &[]);
    assert_eq!((both["n_splits"][0]["factor"].as_u64(), both["splits"][0]["parts"].as_u64()), (Some(2), Some(16)));
    assert!(run(&k14336, "", &["verify", "g.toml"]).expect(0).stdout.contains("bit-exact: 256 elements"));
}

#[test]
fn launches_that_repeat_a_push_too_often_may_fit_with_more_columns() {
    let kernel = std::fs::read_to_string(fixture("kernels/gemv/16672x256_t8.air.mlir")).expect("the fixture is there");
    let kernel = with(&kernel, &[("16672", "16384"), ("%steps = arith.constant 521", "%steps = arith.constant 512")]);
    let whole = plan(&kernel, "n_split = \"off\"\n", &[]);
    assert_eq!(whole["row_splits"][0]["pieces"].as_array().map(Vec::len), Some(2), "{whole}");
    let wide = plan(&kernel, "", &[]);
    assert_eq!(
        (wide["n_splits"].as_array().map(Vec::len), wide["row_splits"].as_array().map(Vec::len)),
        (Some(1), Some(0))
    );
    assert_eq!(resource(&wide, "push_runs"), 256);
}

#[test]
fn the_columns_can_be_left_as_they_are() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("k.mlir"), narrow()).expect("written");
    for (keys, options) in [("n_split = \"off\"\n", &[][..]), ("n_split = 1\n", &[]), ("", &["--n-split", "off"])] {
        std::fs::write(folder.path().join("g.toml"), format!("{GRAPH}{keys}")).expect("written");
        let args = [&["stitch", "g.toml", "-o", "out", "--emit", "mlir", "-q"][..], options].concat();
        airlink(folder.path(), &args).expect(0);
        let modules = files(&folder.path().join("out"));
        let module = String::from_utf8(modules[0].1.clone()).expect("text");
        assert!(!module.contains("s0 * 2)") && module.contains("memref<32x256xbf16, 1"), "{keys}{options:?}: {module}");
    }
    // Nobody names a device.
    std::fs::write(folder.path().join("g.toml"), GRAPH.replace("device = \"npu2\"\n", "")).expect("written");
    let json = airlink(folder.path(), &["plan", "g.toml", "--format", "json"]).expect(0).stdout;
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["n_splits"].as_array().map(Vec::len), Some(0));
}

/// What the note says a wider herd would take is what the same kernel takes that was built with one.
#[test]
fn unused_columns_are_told_with_numbers_that_a_wider_kernel_has() {
    let (narrow, wide) =
        (plan(&narrow(), "n_split = \"off\"\n", &[]), plan(&wide_by_hand(), "n_split = \"off\"\n", &[]));
    let advice = |plan: &Value| {
        let findings = plan["findings"].as_array().expect("findings").clone();
        findings.into_iter().find(|f| f["code"] == "AL0507")
    };
    assert!(advice(&wide).is_none(), "{wide}");
    let remedy = advice(&narrow).expect("it uses 4 of 8 columns")["remedy"].as_str().expect("text").to_string();
    let makes = "`n_split = 2` makes it a herd of 8 x 1 with 4 launch points, 2 times the rows";
    assert!(remedy.contains(makes), "{remedy}");
    for (kind, label) in KINDS {
        let text = format!("{label} {} instead of {} of", resource(&wide, kind), resource(&narrow, kind));
        assert!(remedy.contains(&text), "`{text}` in {remedy}");
    }
}

/// Edits that make a program which more columns would change, or whose sameness cannot be shown, and what is said of it.
const NARROW: [(&str, &[(&str, &str)]); 14] = [
    ("a size or a stride of a transfer is not constant", &[("%hx[0] [256] [1]", "%hx[0] [256] [%tx]")]),
    (
        "a tile id goes elsewhere",
        &[(
            "%target = affine.apply #tile_row()[%tx]",
            "%narrow = arith.index_cast %tx : index to i8\n          %eight = arith.constant 8 : i8\n          \
                 %wraps = arith.muli %narrow, %eight : i8\n          %target = arith.index_cast %wraps : i8 to index",
        )],
    ),
    (
        "an L2 buffer is not allocated beside the herd",
        &[(
            "%rows = memref.alloc()",
            "%spare = memref.alloc() : memref<4xbf16, 1 : i32>\n          %rows = memref.alloc()",
        )],
    ),
    (
        "is no constant of its own",
        &[(
            "%tiles = arith.constant 4 : index",
            "%two = arith.constant 2 : index\n        %tiles = arith.muli %two, %two : index",
        )],
    ),
    (
        "a tile id goes elsewhere",
        &[
            ("(%m, %k, %row_offset,", "(%tile, %k, %row_offset,"),
            ("%row_offset = arith", "%tile = arith.index_cast %tx : index to i32\n            %row_offset = arith"),
        ],
    ),
    ("a body uses the extents", &[("#tile_row()[%tx]", "#tile_row()[%nx]")]),
    (
        "a launch id goes elsewhere",
        &[
            ("%hy=%panel_y)", "%hy=%panel_y, %hat=%at)"),
            ("memref<32xbf16, 1 : i32> attributes", "memref<32xbf16, 1 : i32>, index attributes"),
            ("arith.index_cast %row :", "arith.index_cast %hat :"),
        ],
    ),
    (
        "beside the herd stands an op",
        &[(
            "air.dma_memcpy_nd (%panel[]",
            "%c = arith.constant 0.0 : bf16\n        linalg.fill ins(%c : bf16) outs(%panel_y : memref<32xbf16, 1 : i32>)\n        air.dma_memcpy_nd (%panel[]",
        )],
    ),
    (
        "has a place or an extent",
        &[(
            "attributes {link_with = \"mv.o\"} {",
            "attributes {link_with = \"mv.o\", x_loc = 0 : i64, y_loc = 2 : i64} {",
        )],
    ),
    ("do not follow one another", &[("step * 32", "step * 31")]),
    ("does not take the part", &[("(tile * 8)", "(tile * 4)")]),
    ("does not take the part", &[("(tile * 8 + row)", "(tile * 8 + row + 1)")]),
    (
        "is not the same for all tiles",
        &[("%hx[0] [256] [1]", "%hx[%tx] [128] [1]"), ("%vec[] [] []", "%vec[0] [128] [1]")],
    ),
    ("panel is not the whole", &[("(%panel[] [] []", "(%panel[0, 0] [16, 512] [256, 1]")]),
];

#[test]
fn only_what_more_columns_do_not_change_is_widened() {
    for (why, edits) in NARROW {
        let kernel = with(&narrow(), edits);
        let said = run(&kernel, "n_split = 2\n", &["plan", "g.toml"]);
        assert!(
            said.code == 1 && said.stderr.contains("AL0511") && said.stderr.contains(why),
            "{why}: {}",
            said.stderr
        );
        let json = plan(&kernel, "", &[]);
        assert_eq!(json["n_splits"].as_array().map(Vec::len), Some(0), "{why}");
    }
}

/// Where a launch writes what it reads elsewhere, the order of its points shows.
#[test]
fn a_result_over_its_vector_is_not_widened() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("k.mlir"), narrow()).expect("written");
    let in_place = GRAPH.replace("[\"w\", \"x\", \"y\"]", "[\"w\", \"x\", \"x\"]");
    // Its twin in front of it is fine, and says nothing of it.
    let graph = format!(
        "{GRAPH}n_split = 2\n\n{}n_split = 2\n",
        in_place[in_place.find("[[launch]]").expect("a launch")..].replace("\"a\"", "\"b\"")
    );
    std::fs::write(folder.path().join("g.toml"), graph).expect("written");
    let said = airlink(folder.path(), &["plan", "g.toml"]).expect(1).stderr;
    assert!(said.contains("AL0511") && said.contains("launch `b` cannot be spread"), "{said}");
}
