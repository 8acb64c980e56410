//! Row splits: which launches are cut into several, that it changes no bit, and what cannot be cut.

use crate::project::{airlink, files, fixture};

/// Points 32 elements at a time: `STEP` elements on for each launch point, from `READ` and to `WRITE`.
const KERNEL: &str = "\
#read = affine_map<()[s0] -> (s0 * 32 + READ)>
#write = affine_map<()[s0] -> (s0 * STEP)>
module {
  func.func @k(%x: memref<4096xf32>, %y: memref<4096xf32>) {
    %points = arith.constant 12 : index
    air.launch (%i) in (%n=%points) args(%lx=%x, %ly=%y) : memref<4096xf32>, memref<4096xf32> {
      air.segment @seg args(%at=%i, %sx=%lx, %sy=%ly) : index, memref<4096xf32>, memref<4096xf32> {
        %one = arith.constant 1 : index
        air.herd @herd tile (%tx, %ty) in (%nx=%one, %ny=%one) args(%h=%at, %hx=%sx, %hy=%sy) : index, memref<4096xf32>, memref<4096xf32> {
          %from = affine.apply #read()[%h]
          %to = affine.apply #write()[%h]
          %l1 = memref.alloc() : memref<32xf32, 2 : i32>
          air.dma_memcpy_nd (%l1[] [] [], %hx[%from] [32] [1]) : (memref<32xf32, 2 : i32>, memref<4096xf32>)
          air.dma_memcpy_nd (%hy[%to] [32] [1], %l1[] [] []) : (memref<4096xf32>, memref<32xf32, 2 : i32>)
          memref.dealloc %l1 : memref<32xf32, 2 : i32>
        }
      }
    }
    return
  }
}
";

/// Stitches the kernel with these edits, its arguments and `row_split`; the fused module, or what was said.
fn stitched(edits: &[(&str, &str)], args: &str, row_split: &str) -> Result<String, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let mut kernel = KERNEL.to_string();
    for (from, to) in edits.iter().chain(&[("STEP", "32"), ("READ", "0")]) {
        kernel = kernel.replace(from, to);
    }
    let graph = format!(
        "[graph]\nname = \"g\"\n\n[[launch]]\nname = \"a\"\nkernel = \"k.mlir\"\nargs = {args}\nrow_split = {row_split}\n"
    );
    std::fs::write(folder.path().join("k.mlir"), kernel).expect("written");
    std::fs::write(folder.path().join("g.toml"), graph).expect("written");
    let outcome = airlink(folder.path(), &["stitch", "g.toml", "-o", "out", "--emit", "mlir"]);
    match outcome.code {
        0 => Ok(std::fs::read_to_string(folder.path().join("out/g.mlir")).expect("the module")),
        _ => Err(outcome.stderr),
    }
}

fn launch_count(module: &str) -> usize {
    module.matches("air.launch (").count()
}

#[test]
fn the_fewest_launches_that_fit_are_taken() {
    let args = ["plan", "vocab_prime.toml", "--format", "json", "-q"];
    let json = airlink(&fixture("graphs"), &args).expect(0).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let split = &json["row_splits"][0];
    let counts: Vec<_> = split["pieces"].as_array().expect("pieces").iter().map(|p| p["count"].as_u64()).collect();
    assert_eq!(counts, [Some(174), Some(174), Some(173)], "{split}");
    let runs = |when: &str| {
        let all = split[when].as_array().expect("resources").iter();
        all.filter(|r| r["kind"] == "push_runs").map(|r| r["used"].as_u64().expect("a number")).collect::<Vec<_>>()
    };
    assert_eq!((runs("before"), runs("after")), (vec![521], vec![174]));
    assert_eq!(json["elfs"][0]["resources"]["program"]["launches"].as_u64(), Some(3));
    let text = airlink(&fixture("graphs"), &["plan", "vocab_prime.toml", "-q"]).expect(0).stdout;
    assert!(text.contains("521 launch points into 3 launches of 2 x 174 + 1 x 173"), "{text}");
    assert!(text.contains("runs/push 521 -> 174 of 256"), "{text}");
}

#[test]
fn pieces_have_names_of_their_own_and_start_where_the_last_one_ended() {
    let out = tempfile::tempdir().expect("a folder");
    let target = out.path().to_str().expect("a plain path");
    let emit = |options: &[&str]| {
        let args = [&["stitch", "vocab_prime.toml", "-o", target, "--emit", "mlir,map", "-q"][..], options].concat();
        airlink(&fixture("graphs"), &args).expect(0);
        let read = |ending: &str| {
            let found = files(out.path()).into_iter().find(|(n, _)| n.ends_with(ending));
            String::from_utf8(found.expect("it is written").1).expect("text")
        };
        (read(".mlir"), read(".map.json"))
    };
    let (module, map) = emit(&[]);
    assert_eq!(launch_count(&module), 3, "{module}");
    for what in ["(s0 + 174)", "(s0 + 348)", "@lm_head_gemv_seg_p2 ", "@lm_head_gemv_seg_p3 ", "@lm_head_gemv_herd_p3 "]
    {
        assert!(module.contains(what), "{what} in {module}");
    }
    let map: serde_json::Value = serde_json::from_str(&map).expect("JSON");
    assert_eq!(map["row_splits"][0]["pieces"][2]["first"].as_u64(), Some(348), "{map}");
    assert_eq!(map["resources"]["launches"][1]["name"], "lm_head[2/3]", "{map}");
    let (module, map) = emit(&["--row-split", "off"]);
    assert_eq!(launch_count(&module), 1, "{module}");
    assert!(map.contains("\"row_splits\": []"), "{map}");
}

#[test]
fn what_is_cut_is_bit_exact_against_what_is_not() {
    let outcome = airlink(&fixture("graphs"), &["verify", "vocab_prime.toml"]).expect(0);
    assert!(outcome.stdout.contains("bit-exact: 16672 elements"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("launch by launch"), "{}", outcome.stdout);
}

#[test]
fn a_vocabulary_of_151936_rows_is_bit_exact() {
    let outcome = airlink(&fixture("graphs"), &["verify", "vocab_151936.toml"]).expect(0);
    assert!(outcome.stdout.contains("bit-exact: 151936 elements"), "{}", outcome.stdout);
}

#[test]
fn what_fits_is_not_cut() {
    for graph in ["llama_o_ffn.toml", "llama_decode_layer.toml"] {
        let json = airlink(&fixture("graphs"), &["plan", graph, "--format", "json", "-q"]).expect(0).stdout;
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(json["row_splits"].as_array().map(Vec::len), Some(0), "{graph}");
    }
    // Runtime tiling makes the runs of one push fewer.
    let args = ["plan", "vocab_prime.toml", "--runtime-tiling", "16,16", "--format", "json", "-q"];
    let json = airlink(&fixture("graphs"), &args).expect(0).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["row_splits"].as_array().map(Vec::len), Some(0));
}

#[test]
fn the_number_of_launches_can_be_chosen() {
    for (number, launches) in [("4", 4), ("12", 12), ("1", 1), ("\"off\"", 1), ("\"auto\"", 1)] {
        let module = stitched(&[], "[\"x\", \"y\"]", number);
        assert_eq!(module.map(|m| launch_count(&m)), Ok(launches), "{number}");
    }
    let said = stitched(&[], "[\"x\", \"y\"]", "7").expect_err("12 points are no 7 launches");
    assert!(said.contains("AL0505") && said.contains("allowed 2 to 4, 6, 12"), "{said}");
    let said = stitched(&[], "[\"x\", \"y\"]", "9000000000000000000").expect_err("too many");
    assert!(said.contains("AL0505"), "{said}");
}

#[test]
fn only_a_loop_over_rows_is_cut() {
    let in_place = "[\"x\", \"x\"]";
    let apart = "[\"x\", \"y\"]";
    // What a point writes it may read itself.
    assert_eq!(stitched(&[], in_place, "2").map(|m| launch_count(&m)), Ok(2));
    // It may read whatever nobody writes.
    assert_eq!(stitched(&[("READ", "8")], apart, "2").map(|m| launch_count(&m)), Ok(2));
    let channel = [
        ("module {\n", "module {\n  air.channel @c [1]\n"),
        (
            "air.dma_memcpy_nd (%l1[] [] [], %hx[%from] [32] [1]) : (memref<32xf32, 2 : i32>, memref<4096xf32>)",
            "air.channel.put @c[] (%hx[%from] [32] [1]) : (memref<4096xf32>)\n          air.channel.get @c[] (%l1[] [] []) : (memref<32xf32, 2 : i32>)",
        ),
    ];
    let extent =
        [("%from = affine.apply #read()[%h]", "%from = affine.apply #read()[%h]"), ("args(%at=%i,", "args(%at=%n,")];
    let stored = [(
        "memref.dealloc %l1",
        "%zero = arith.constant 0 : index\n          %v = memref.load %l1[%zero] : memref<32xf32, 2 : i32>\n          memref.store %v, %hy[%to] : memref<4096xf32>\n          memref.dealloc %l1",
    )];
    let cases: [(&[(&str, &str)], &str, &str); 7] = [
        (&[("STEP", "31")], apart, "another may write"),
        (&[("s0 * STEP", "0")], apart, "every launch point writes the same elements"),
        (&[("READ", "8")], in_place, "reads elements that another may write"),
        (&[("s0 * STEP", "(s0 floordiv 2) * 64")], apart, "not linear"),
        (&channel, apart, "the channel `c`"),
        (&extent, apart, "uses the extents"),
        (&stored, apart, "otherwise than in a transfer"),
    ];
    for (edits, args, reason) in cases {
        let said = stitched(edits, args, "2").expect_err(reason);
        assert!(said.contains("AL0506") && said.contains(reason), "{reason}: {said}");
    }
}

/// A graph over copies of 16 elements, `x` and `y` of so many, with these lines in its launch.
fn copied(elements: (u64, u64), lines: &str, more: &str) -> Result<serde_json::Value, String> {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::copy(fixture("bad/AL0509/k.air.mlir"), folder.path().join("k.mlir")).expect("copied");
    let buffer = |name: &str, n: u64| format!("[[buffer]]\nname = \"{name}\"\ntype = \"memref<{n}xf32>\"\n\n");
    let graph = format!(
        "[graph]\nname = \"g\"\n\n{}{}[[launch]]\nname = \"a\"\nkernel = \"k.mlir\"\nargs = [\"x\", \"y\"]\n{lines}\n{more}",
        buffer("x", elements.0),
        buffer("y", elements.1)
    );
    std::fs::write(folder.path().join("g.toml"), graph).expect("written");
    let outcome = airlink(folder.path(), &["stitch", "g.toml", "-o", "out", "--emit", "mlir,map"]);
    if outcome.code != 0 {
        return Err(outcome.stderr);
    }
    let map = std::fs::read_to_string(folder.path().join("out/g.map.json")).expect("the map");
    Ok(serde_json::from_str(&map).expect("JSON"))
}

#[test]
fn a_kernel_for_a_part_of_the_rows_runs_for_each_part() {
    let map = copied((48, 48), "partition = \"auto\"", "").expect("three parts");
    let launches: Vec<_> = map["launches"].as_array().expect("launches").iter().map(|l| l["name"].clone()).collect();
    assert_eq!(launches, ["a_1", "a_2", "a_3"]);
    assert_eq!(map["views"][4]["offsets"], serde_json::json!([32]), "{map}");
    assert!(map["arguments"][0].get("padded_from").is_none(), "{map}");
    let map = copied((40, 40), "partition = 3", "").expect("three parts, the last one padded");
    assert_eq!(map["arguments"][1]["padded_from"], "memref<40xf32>", "{map}");
    assert_eq!(map["arguments"][1]["shape"], serde_json::json!([48]), "{map}");
    // A cut by hand names the launch of the file.
    let map = copied((48, 48), "partition = 3", "[[elf]]\nname = \"g\"\nlaunches = [\"a\"]\nargs = [\"y\", \"x\"]\n");
    assert_eq!(map.expect("three parts")["arguments"][0]["name"], "y");
}

#[test]
fn what_is_no_partition_is_refused() {
    let second = "[[launch]]\nname = \"b\"\nkernel = \"k.mlir\"\nargs = [\"x\", \"z\"]\npartition = \"auto\"\n";
    let cases = [
        ((48, 48), "partition = 2", "", "allowed 3"),
        ((48, 16), "partition = \"auto\"", "", "write the whole of `y`"),
        ((16, 16), "partition = \"auto\"", "", "no buffer with more rows"),
        ((48, 64), "partition = \"auto\"", "", "3 and 4 parts"),
        ((1 << 40, 1 << 40), "partition = \"auto\"", "", "up to 64"),
        ((40, 40), "partition = \"auto\"", second, "other launches use it"),
    ];
    for (elements, line, more, reason) in cases {
        let said = copied(elements, line, more).expect_err(reason);
        assert!(said.contains("AL0509") && said.contains(reason), "{reason}: {said}");
    }
    let said = copied((48, 48), "", "").expect_err("types disagree");
    assert!(said.contains("AL0204"), "{said}");
}

#[test]
fn parts_are_bit_exact() {
    let outcome = airlink(&fixture("graphs"), &["verify", "vocab_parts.toml"]).expect(0);
    assert!(outcome.stdout.contains("4 launches") && outcome.stdout.contains("bit-exact"), "{}", outcome.stdout);
    let plan = airlink(&fixture("graphs"), &["plan", "vocab_parts.toml", "-q"]).expect(0).stdout;
    assert!(plan.contains("logits from memref<1000xbf16> to memref<1024xbf16>"), "{plan}");
}

/// Two launches of one kernel: what is proved of one whose arguments lie apart is not proved of one that works in place.
#[test]
fn a_launch_in_place_is_no_twin_of_one_that_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("k.mlir"), KERNEL.replace("STEP", "32").replace("READ", "8")).expect("written");
    let launch = |name: &str, args: &str| {
        format!("\n[[launch]]\nname = \"{name}\"\nkernel = \"k.mlir\"\nargs = {args}\nrow_split = 2\n")
    };
    let graph = format!("[graph]\nname = \"g\"\n{}{}", launch("a", "[\"x\", \"y\"]"), launch("b", "[\"y\", \"y\"]"));
    std::fs::write(folder.path().join("g.toml"), graph).expect("written");
    let said = airlink(folder.path(), &["plan", "g.toml"]).expect(1).stderr;
    assert!(said.contains("AL0506") && said.contains("launch `b` cannot be cut"), "{said}");
}

/// The grid of pieces is written as constants, and so must the whole be.
#[test]
fn a_grid_that_is_worked_out_is_not_cut() {
    let edits = [(
        "%points = arith.constant 12 : index",
        "%six = arith.constant 6 : index\n    %points = arith.addi %six, %six : index",
    )];
    let said = stitched(&edits, "[\"x\", \"y\"]", "2").expect_err("no constant");
    assert!(said.contains("AL0506") && said.contains("no constant of its own"), "{said}");
}
