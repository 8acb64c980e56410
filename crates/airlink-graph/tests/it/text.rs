//! The text form of a resolved graph, as snapshots.

use crate::support::{kernel, launch, lines, resolve};

#[test]
fn every_kind_of_thing_in_a_graph() {
    let vec = "memref<16xbf16>";
    let kernels = [
        kernel("gemv.mlir", &["memref<16x16xbf16>", vec, vec], &["r,r,w"]),
        kernel("norm.mlir", &[vec, vec, vec], &["r,,w", ",r,rw"]),
        kernel("scale.mlir", &[vec, "i32"], &["rw,"]),
    ];
    let text = r#"device = "npu2_4col"
[[buffer]]
name = "packed"
type = "memref<2x16xbf16>"
role = "static"
[[view]]
name = "w_norm"
of = "packed"
offsets = [1, 0]
sizes = [1, 16]
type = "memref<16xbf16>"
[[block]]
name = "layer"
count = 2
[[block.buffer]]
name = "w_{i}"
role = "static"
[[block.launch]]
name = "norm_{i}"
kernel = "norm.mlir"
args = ["x_{i}", "w_norm", "n_{i}"]
[[block.launch]]
name = "proj_{i}"
kernel = "gemv.mlir"
args = ["w_{i}", "n_{i}", "p_{i}"]
fuse = "never"
[[block.host]]
name = "attention_{i}"
reads = ["p_{i}"]
writes = ["x_{i+1}"]
"#
    .to_string()
        + &launch("scale", "scale.mlir", &["x_2", "factor"])
        + "[[host]]\nname = \"sample\"\nreads = [\"x_2\", \"w_norm\"]\nwrites = [\"token\"]\n"
        + "[[elf]]\nname = \"first\"\nlaunches = [\"norm_0\", \"proj_0\"]\n";
    let (graph, findings) = resolve(&text, &kernels);
    assert_eq!(lines(&findings), Vec::<String>::new());
    insta::assert_snapshot!(airlink_graph::text(&graph.unwrap()));
}
