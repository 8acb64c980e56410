//! `verify --against`: another order of additions is within bounds, and the faults of a kernel are not.

use crate::project::{Outcome, airlink, fixture, shared};

/// The products of a row in turn in one f32, where the reference adds in 64 lanes.
const IN_TURN: &str = "\
            %zero = arith.constant 0 : index
            %one_index = arith.constant 1 : index
            %four = arith.constant 4 : index
            %elements = arith.constant 256 : index
            %none = arith.constant 0.0 : f32
            scf.for %r = %zero to %four step %one_index {
              %sum = scf.for %j = %zero to %elements step %one_index iter_args(%so_far = %none) -> (f32) {
                %e = memref.load %rows[%r, %j] : memref<4x256xbf16, 2 : i32>
                %f = memref.load %vec[%j] : memref<256xbf16, 2 : i32>
                %e32 = arith.extf %e : bf16 to f32
                %f32 = arith.extf %f : bf16 to f32
                %product = arith.mulf %e32, %f32 : f32
                %next = arith.addf %so_far, %product : f32
                scf.yield %next : f32
              }
              %rounded = arith.truncf %sum : f32 to bf16
              %place = arith.addi %row, %r : index
              memref.store %rounded, %acc[%place] : memref<8xbf16, 2 : i32>
            }
";

/// Truncation in place of rounding to nearest.
const TRUNCATED: &str = "\
              %bits = arith.bitcast %sum : f32 to i32
              %sixteen = arith.constant 16 : i32
              %high = arith.shrui %bits, %sixteen : i32
              %half = arith.trunci %high : i32 to i16
              %rounded = arith.bitcast %half : i16 to bf16
";

/// K in two halves, each added to the bf16 that is there.
const BY_HALVES: &str = "\
          %half = arith.constant 128 : index
          %k_elements = arith.constant 256 : index
          %begin = arith.constant 0 : index
          %first_row = affine.apply #tile_row()[%tx]
          scf.for %from = %begin to %k_elements step %half {
            air.dma_memcpy_nd (%vec[] [] [], %hx[%from] [128] [1]) : (memref<128xbf16, 2 : i32>, memref<256xbf16>)
            air.dma_memcpy_nd (%rows[] [] [], %hp[%first_row, %from] [8, 128] [256, 1]) : (memref<8x128xbf16, 2 : i32>, memref<32x256xbf16, 1 : i32>)
            func.call @matvec_vectorized_bf16(%rows, %vec, %acc) : (memref<8x128xbf16, 2 : i32>, memref<128xbf16, 2 : i32>, memref<8xbf16, 2 : i32>) -> ()
          }
";

fn reference() -> String {
    std::fs::read_to_string(fixture("kernels/gemv/128x256_t8.air.mlir")).expect("the fixture is there")
}

/// The text with what stands from the line with `from` to before the line with `to` replaced.
fn between(text: &str, from: &str, to: &str, by: &str) -> String {
    let line = |what: &str| {
        let at = text.find(what).unwrap_or_else(|| panic!("`{what}` in {text}"));
        text[..at].rfind('\n').map_or(0, |n| n + 1)
    };
    format!("{}{by}{}", &text[..line(from)], &text[line(to)..])
}

fn in_turn() -> String {
    let reference = reference();
    let call = "func.call @matvec_vectorized_bf16_bf16(";
    let at = reference.find(call).expect("the call");
    let end = at + reference[at..].find('\n').expect("its end") + 1;
    let start = reference[..at].rfind('\n').expect("a line before") + 1;
    format!("{}{IN_TURN}{}", &reference[..start], &reference[end..])
}

fn by_halves() -> String {
    let text = reference()
        .replace("memref<4x256xbf16, 2", "memref<8x128xbf16, 2")
        .replace("memref<256xbf16, 2", "memref<128xbf16, 2");
    let text = between(&text, "air.dma_memcpy_nd (%vec", "%target = affine.apply", BY_HALVES);
    let declared = "  func.func private @matvec_vectorized_bf16(memref<8x128xbf16, 2 : i32>, memref<128xbf16, 2 : i32>, memref<8xbf16, 2 : i32>)";
    let is_old = |line: &str| line.contains("func.func private @matvec_vectorized_bf16_bf16");
    text.lines().map(|line| format!("{}\n", if is_old(line) { declared } else { line })).collect()
}

fn graph(kernel: &str, args: &str) -> String {
    format!("[graph]\nname = \"g\"\n\n[[launch]]\nname = \"a\"\nkernel = \"{kernel}\"\nargs = {args}\n")
}

fn compare(kernel: &str, options: &[&str]) -> Outcome {
    let args = "[\"w\", \"x\", \"y\"]";
    compare_graphs(kernel, &graph("k.mlir", args), &graph("ref.mlir", args), options)
}

fn compare_graphs(kernel: &str, found: &str, expected: &str, options: &[&str]) -> Outcome {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in [("k.mlir", kernel), ("ref.mlir", &reference()), ("g.toml", found), ("ref.toml", expected)] {
        std::fs::write(folder.path().join(name), text).expect("written");
    }
    airlink(folder.path(), &[&["verify", "g.toml", "--against", "ref.toml"][..], options].concat())
}

fn with(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "`{from}` in {text}");
    text.replace(from, to)
}

#[test]
fn another_order_is_within_bounds() {
    let outcome = compare(&in_turn(), &[]).expect(0);
    assert!(outcome.stdout.contains("within bounds of ref.toml"), "{}", outcome.stdout);
    assert!(
        outcome.stdout.contains("y (128)") && outcome.stdout.contains("cosine 1.000000, of herd tile"),
        "{}",
        outcome.stdout
    );
    // The kernel itself: equal to the bit.
    let outcome = compare(&reference(), &[]).expect(0);
    assert!(outcome.stdout.contains("0 differ, at most 0.00 of their bounds"), "{}", outcome.stdout);
}

#[test]
fn partial_sums_in_bf16_are_told_by_their_number() {
    let outcome = compare(&by_halves(), &[]).expect(5);
    assert!(outcome.stderr.contains("AL0741"), "{}", outcome.stderr);
    let outcome = compare(&by_halves(), &["--bf16-partials", "2"]).expect(0);
    assert!(outcome.stdout.contains("within bounds of ref.toml"), "{}", outcome.stdout);
}

/// What a cosine of 0.99 lets pass.
#[test]
fn each_fault_is_beyond_its_gate() {
    let good = in_turn();
    let faults = [
        ("one tile takes the rows of its neighbour", with(&good, "(tile * 8 + row)", "((tile floordiv 2) * 16 + row)"), "herd tiles 1, 3"),
        ("rows are swapped", with(&good, "arith.addi %row, %r", "arith.subi %last, %r").replace(
            "%rounded = arith.truncf",
            "%three = arith.constant 3 : index\n              %last = arith.addi %row, %three : index\n              %rounded = arith.truncf",
        ), "beyond their bounds"),
        ("the end of K is missed", with(&good, "%elements = arith.constant 256", "%elements = arith.constant 192"), "beyond their bounds"),
        ("truncation", between(&good, "%rounded = arith.truncf", "%place = arith.addi", TRUNCATED), "elements differ"),
        ("rows that are not written", with(&good, "%four = arith.constant 4", "%four = arith.constant 3"), "beyond their bounds"),
    ];
    for (what, kernel, said) in faults {
        let outcome = compare(&kernel, &["-q"]);
        let text = format!("{what}: {} {}", outcome.stdout, outcome.stderr);
        assert!(outcome.code == 5 && outcome.stderr.contains("launch `a` writes"), "{text}");
        assert!(outcome.stderr.contains("AL0741") && outcome.stderr.contains(said), "{text}");
    }
}

/// The rows are 128 of 65,536 elements: what is not written has no say in shares and cosines, and tiles count from the view.
#[test]
fn a_result_in_a_view_is_judged_by_what_is_written() {
    let of = |kernel: &str| {
        let parts = "[[buffer]]\nname = \"p\"\ntype = \"memref<512x128xbf16>\"\n\n[[view]]\nname = \"y\"\nof = \"p\"\n\
            offsets = [3, 0]\nsizes = [1, 128]\nstrides = [1, 1]\ntype = \"memref<128xbf16>\"\n\n";
        graph(kernel, "[\"w\", \"x\", \"y\"]").replace("[[launch]]", &format!("{parts}[[launch]]"))
    };
    let good = compare_graphs(&in_turn(), &of("k.mlir"), &of("ref.mlir"), &[]).expect(0);
    assert!(
        good.stdout.contains("p (128)") && good.stdout.contains("cosine 1.000000, of herd tile"),
        "{}",
        good.stdout
    );
    let truncated = between(&in_turn(), "%rounded = arith.truncf", "%place = arith.addi", TRUNCATED);
    let bad = compare_graphs(&truncated, &of("k.mlir"), &of("ref.mlir"), &["-q"]).expect(5);
    assert!(bad.stderr.contains("of 128 elements differ"), "{}", bad.stderr);
    let shifted = with(&in_turn(), "#tile_row()[%tx]", "#tile_row()[%ty]");
    let bad = compare_graphs(&shifted, &of("k.mlir"), &of("ref.mlir"), &["-q"]);
    assert!(bad.code == 5, "{}", bad.stderr);
}

#[test]
fn launches_that_take_other_buffers_are_not_compared() {
    let [found, expected] = [("k.mlir", "w2"), ("ref.mlir", "w")]
        .map(|(kernel, weights)| graph(kernel, &format!("[\"{weights}\", \"x\", \"y\"]")));
    let outcome = compare_graphs(&reference(), &found, &expected, &["-q"]).expect(1);
    assert!(outcome.stderr.contains("AL0742") && outcome.stderr.contains("takes `w2`"), "{}", outcome.stderr);
}

/// A cascade over four tiles and the plain kernel of the same shape.
#[test]
fn a_cascade_is_within_bounds_of_the_plain_product() {
    let Some(shared) = shared() else { return };
    let extra = shared.join("corpus/extra");
    let folder = tempfile::tempdir().expect("a folder");
    for (name, kernel) in [("g.toml", "matvec_cascade.mlir"), ("ref.toml", "matvec_2048x8192_t2_i1_h8.mlir")] {
        let kernel = extra.join(kernel);
        let text = graph(kernel.to_str().expect("a plain path"), "[\"w\", \"x\", \"y\"]");
        std::fs::write(folder.path().join(name), text).expect("written");
    }
    let outcome = airlink(folder.path(), &["verify", "g.toml", "--against", "ref.toml"]).expect(0);
    assert!(
        outcome.stdout.contains("within bounds of ref.toml") && outcome.stdout.contains("y (2048)"),
        "{}",
        outcome.stdout
    );
}

/// The further calls of an ELF are compared as well: the reference may have another kernel there.
#[test]
fn every_launch_of_a_block_is_compared() {
    let block = "[graph]\nname = \"g\"\n\n[[block]]\nname = \"layer\"\ncount = 2\n\n[[block.launch]]\nname = \"a_{i}\"\n\
        kernel = \"k.mlir\"\nargs = [\"w\", \"x\", \"y_{i}\"]\n\n[[block.host]]\nname = \"h_{i}\"\nreads = [\"y_{i}\"]\nwrites = []\n";
    let launch = |i: usize, kernel: &str| {
        format!("[[launch]]\nname = \"a_{i}\"\nkernel = \"{kernel}\"\nargs = [\"w\", \"x\", \"y_{i}\"]\n")
    };
    let spelled = |second: &str| format!("[graph]\nname = \"g\"\n\n{}{}", launch(0, "ref.mlir"), launch(1, second));
    let good = compare_graphs(&in_turn(), block, &spelled("ref.mlir"), &[]).expect(0);
    assert!(good.stdout.contains("y_0 (128)") && good.stdout.contains("y_1 (128)"), "{}", good.stdout);
    let missing = format!("[graph]\nname = \"g\"\n\n{}", launch(0, "ref.mlir"));
    let bad = compare_graphs(&in_turn(), block, &missing, &["-q"]).expect(1);
    assert!(bad.stderr.contains("AL0742") && bad.stderr.contains("`a_1`"), "{}", bad.stderr);
}
