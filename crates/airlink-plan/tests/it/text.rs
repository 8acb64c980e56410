//! The plan as people and programs read it.

use airlink_kernel::{EntryKind, LocalKind};
use airlink_plan::{plan_json, render};

use crate::support::{Kernel, copy, elf, gemv, host, kernel, launch, object, plan_of, plan_with};

/// A decode layer in small: a bare add, two K, attention on the host.
pub fn layer() -> (String, Vec<Kernel>) {
    let add = kernel("kernels/add_256.air.mlir", &["memref<256xbf16> r", "memref<256xbf16> r", "memref<256xbf16> w"])
        .bare(EntryKind::BareHerd, 1)
        .local(LocalKind::Herd, "add");
    let norm =
        kernel("kernels/rms_norm_256.air.mlir", &["memref<256xbf16> r", "memref<256xbf16> r", "memref<256xbf16> w"])
            .local(LocalKind::Launch, "norm")
            .local(LocalKind::Segment, "norm")
            .local(LocalKind::Channel, "partial sums");
    let types = ["memref<64xbf16, 2 : i32>", "memref<64xbf16, 2 : i32>", "memref<64xbf16, 2 : i32>", "i32"];
    let rope = kernel("kernels/rope_256.air.mlir", &["memref<256xbf16> r", "memref<64xbf16> r", "memref<256xbf16> w"])
        .calls("rope", &types, None)
        .herd_link("rope.o");
    let silu = kernel("kernels/silu_512.air.mlir", &["memref<512xbf16> r", "memref<512xbf16> r", "memref<512xbf16> w"])
        .calls("silu", &["memref<64xbf16, 2 : i32>"], None);
    let text = [
        "[[buffer]]\nname = \"wq\"\nrole = \"static\"\n[[buffer]]\nname = \"w_norm\"\nrole = \"static\"\n\
         [[buffer]]\nname = \"wo\"\nrole = \"static\"\n[[buffer]]\nname = \"w_up\"\nrole = \"static\"\n\
         [[buffer]]\nname = \"w_down\"\nrole = \"static\"\n"
            .to_string(),
        launch("norm", "kernels/rms_norm_256.air.mlir", &["x", "w_norm", "normed"]),
        launch("q", "kernels/gemv_256x256_t8.air.mlir", &["wq", "normed", "q"]),
        launch("rope", "kernels/rope_256.air.mlir", &["q", "angles", "q_turned"]),
        host("attention", &["q_turned"], &["attn_out"]),
        launch("o", "kernels/gemv_256x256_t8.air.mlir", &["wo", "attn_out", "proj"]),
        launch("add1", "kernels/add_256.air.mlir", &["proj", "x", "res"]),
        launch("up", "kernels/gemv_512x256_t8.air.mlir", &["w_up", "res", "up_out"]),
        launch("silu", "kernels/silu_512.air.mlir", &["up_out", "up_out", "act"]),
        launch("down", "kernels/gemv_256x512_t2.air.mlir", &["w_down", "act", "down_out"]),
        launch("add2", "kernels/add_256.air.mlir", &["down_out", "res", "y"]),
    ];
    let kernels = vec![
        add,
        norm,
        rope,
        silu,
        gemv("kernels/gemv_256x256_t8.air.mlir", 256, 256, 4, 8),
        gemv("kernels/gemv_512x256_t8.air.mlir", 512, 256, 4, 8),
        gemv("kernels/gemv_256x512_t2.air.mlir", 256, 512, 1, 2),
    ];
    (text.concat(), kernels)
}

#[test]
fn a_decode_layer_fits_one_screen() {
    let (text, kernels) = layer();
    let planned = plan_of(&text, &kernels);
    let text = render(&planned.plan.unwrap(), &planned.graph);
    assert!(text.lines().count() <= 45, "{} lines", text.lines().count());
    assert!(text.lines().all(|l| l.chars().count() <= 120 && !l.ends_with(' ')));
    insta::assert_snapshot!(text);
}

#[test]
fn json_has_the_shape_that_the_manual_fixes() {
    let (text, kernels) = layer();
    let planned = plan_of(&text, &kernels);
    let json =
        serde_json::to_string_pretty(&plan_json(&planned.plan.unwrap(), &planned.graph, &planned.findings)).unwrap();
    insta::assert_snapshot!(json);
}

#[test]
fn what_is_odd_is_said_in_the_text() {
    let kernel = copy("a_kernel_with_a_name_that_is_too_long_for_a_table.mlir").local(LocalKind::Channel, "x");
    let other = copy("b.mlir").calls("a_x", &["i32"], None).bare(EntryKind::Launch, 2);
    let calls = |path: &str, ty: &str| copy(path).calls("f", &[ty], Some("o.o"));
    let view = "[[view]]\nname = \"part\"\nof = \"big\"\noffsets = [0]\nsizes = [16]\nstrides = [1]\ntype = \"memref<16xf32>\"\n";
    let text = [
        "[[buffer]]\nname = \"spare\"\ntype = \"memref<1024x1024xf32>\"\n[[buffer]]\nname = \"t\"\nrole = \"static\"\n\
         [[buffer]]\nname = \"big\"\ntype = \"memref<32xf32>\"\n",
        view,
        &launch("a", "a_kernel_with_a_name_that_is_too_long_for_a_table.mlir", &["part", "t"]),
        &launch("b", "b.mlir", &["t", "u"]),
        &launch("c", "c.mlir", &["u", "v"]),
        &launch("d", "d.mlir", &["v", "y"]),
        &elf("g", &["a", "b", "c", "d"]),
        "args = [\"spare\", \"big\", \"t\", \"u\", \"v\", \"y\"]\n",
    ]
    .concat();
    let found = [("c", "o.o", object("build/o.o", "1", &["f"])), ("d", "o.o", object("build/o.o", "1", &["f"]))];
    let planned = plan_with(&text, &[kernel, other, calls("c.mlir", "i32"), calls("d.mlir", "i64")], &found);
    insta::assert_snapshot!(render(&planned.plan.unwrap(), &planned.graph));
}
