//! K-splits: what is split, that it changes no bit, and that it can be chosen or turned off.

use crate::project::{airlink, files, fixture, shared};

/// The fused module of a graph that stands beside its kernels.
fn fused(graph: &str, options: &[&str]) -> String {
    let out = tempfile::tempdir().expect("a folder");
    let target = out.path().to_str().expect("a plain path");
    let args = [&["stitch", graph, "-o", target, "--emit", "mlir", "-q"][..], options].concat();
    airlink(&fixture("graphs"), &args).expect(0);
    let written = files(out.path());
    let (_, bytes) = written.iter().find(|(n, _)| n.ends_with(".mlir")).expect("a module");
    String::from_utf8(bytes.clone()).expect("text")
}

#[test]
fn long_k_is_split_and_short_k_is_not() {
    let text = fused("llama_nway.toml", &[]);
    let count = |list: &str| text.matches(list).count();
    assert_eq!((count("[16, 512] [512, 1]"), count("[16, 896] [896, 1]")), (1, 1), "{text}");
    assert_eq!(count("[2048] [1]"), 1, "{text}");
    let off = fused("llama_nway.toml", &["--k-split", "off"]);
    assert!(off.contains("[8192] [1]") && off.contains("[14336] [1]"), "{off}");
    assert!(!off.contains("[16, 512]"), "{off}");
}

#[test]
fn the_plan_and_the_map_say_what_is_split() {
    let plan = airlink(&fixture("graphs"), &["plan", "llama_nway.toml", "-q"]).expect(0).stdout;
    assert!(plan.contains("8192 into 16 parts") && plan.contains("14336 into 16 parts"), "{plan}");
    let json = airlink(&fixture("graphs"), &["plan", "llama_nway.toml", "--format", "json", "-q"]).expect(0).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["splits"].as_array().map(Vec::len), Some(2));
    assert_eq!((json["splits"][0]["extent"].as_u64(), json["splits"][0]["parts"].as_u64()), (Some(8192), Some(16)));
}

#[test]
fn the_number_of_parts_can_be_chosen() {
    let folder = tempfile::tempdir().expect("a folder");
    let kernel = fixture("kernels/gemv/2048x8192_t2.air.mlir");
    let run = |parts: &str, exit: i32| {
        let graph = format!(
            "[graph]\nname = \"g\"\n\n[[launch]]\nname = \"down\"\nkernel = \"k.mlir\"\nargs = [\"w\", \"x\", \"y\"]\nk_split = {parts}\n"
        );
        std::fs::copy(&kernel, folder.path().join("k.mlir")).expect("copied");
        std::fs::write(folder.path().join("g.toml"), graph).expect("written");
        airlink(folder.path(), &["stitch", "g.toml", "-o", "out", "--emit", "mlir"]).expect(exit)
    };
    let module = || std::fs::read_to_string(folder.path().join("out/g.mlir")).expect("the module");
    run("64", 0);
    assert!(module().contains("[64, 128] [128, 1]"));
    run("\"off\"", 0);
    assert!(module().contains("[8192] [1]"));
    let said = run("15", 1).stderr;
    assert!(said.contains("AL0503") && said.contains("allowed 16, 32, 64, 128"), "{said}");
}

#[test]
fn a_k_without_a_split_names_the_nearest_that_has_one() {
    let outcome = airlink(&fixture("graphs"), &["check", "k16382.toml", "-q"]).expect(1);
    assert!(outcome.stderr.contains("AL0503") && outcome.stderr.contains("16380 or 16384"), "{}", outcome.stderr);
    let target = tempfile::tempdir().expect("a folder");
    let out = target.path().to_str().expect("a plain path");
    airlink(&fixture("graphs"), &["stitch", "k16382.toml", "-o", out, "--emit", "mlir", "--k-split", "off"]).expect(0);
}

#[test]
fn what_is_split_is_bit_exact_against_what_is_not() {
    let Some(graphs) = shared().map(|s| s.join("corpus/graphs")) else { return };
    let out = tempfile::tempdir().expect("a folder");
    let graph = graphs.join("mission__k14336.toml");
    let outcome = airlink(out.path(), &["verify", &graph.to_string_lossy()]).expect(0);
    assert!(outcome.stdout.contains("bit-exact"), "{}", outcome.stdout);
}

/// Offsets that are left out are those of the outer dimensions, here of a row of one.
#[test]
fn a_short_list_of_offsets_is_split_as_a_whole_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let kernel = std::fs::read_to_string(fixture("kernels/gemv/2048x8192_t2.air.mlir")).expect("the fixture is there");
    let short = kernel.replace("[0] [8192] [1]", "[0] [1, 8192] [8192, 1]");
    assert_ne!(short, kernel);
    std::fs::write(folder.path().join("k.mlir"), short).expect("written");
    let graph =
        "[graph]\nname = \"g\"\n\n[[launch]]\nname = \"d\"\nkernel = \"k.mlir\"\nargs = [\"w\", \"x\", \"y\"]\n";
    std::fs::write(folder.path().join("g.toml"), graph).expect("written");
    airlink(folder.path(), &["stitch", "g.toml", "-o", "out", "--emit", "mlir"]).expect(0);
    let text = std::fs::read_to_string(folder.path().join("out/g.mlir")).expect("the module");
    assert!(text.contains("[0, 0, 0] [1, 16, 512] [8192, 512, 1]"), "{text}");
}

/// The vector comes to all tiles by one channel: what the launch puts is split.
#[test]
fn a_vector_that_goes_through_a_channel_is_split() {
    let kernel = std::fs::read_to_string(fixture("kernels/gemv/2048x8192_t2_channel.air.mlir")).expect("it is there");
    // Fewer rows.
    let edits = [
        ("%steps = arith.constant 128", "%steps = arith.constant 4"),
        ("memref<2048x8192", "memref<64x8192"),
        ("memref<2048xbf16>", "memref<64xbf16>"),
    ];
    let kernel = edits.iter().fold(kernel, |text, (from, to)| {
        assert!(text.contains(from), "`{from}` in {text}");
        text.replace(from, to)
    });
    let folder = tempfile::tempdir().expect("a folder");
    let graph =
        "[graph]\nname = \"g\"\n\n[[launch]]\nname = \"a\"\nkernel = \"k.mlir\"\nargs = [\"w\", \"x\", \"y\"]\n";
    std::fs::write(folder.path().join("k.mlir"), kernel).expect("written");
    std::fs::write(folder.path().join("g.toml"), graph).expect("written");
    airlink(folder.path(), &["stitch", "g.toml", "-o", "out", "--emit", "mlir", "-q"]).expect(0);
    let module = std::fs::read_to_string(folder.path().join("out/g.mlir")).expect("written");
    let put = module.lines().find(|l| l.contains("air.channel.put")).expect("a put");
    assert!(put.contains("[16, 512] [512, 1]"), "{put}");
    let outcome = airlink(folder.path(), &["verify", "g.toml"]).expect(0);
    assert!(outcome.stdout.contains("bit-exact: 64 elements"), "{}", outcome.stdout);
}
