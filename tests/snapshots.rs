//! Each stage's own text over our graphs, so that a failure names its stage: plan, fused module, link map.

use crate::project::{airlink, fixture};

/// The graphs whose stages are kept; small, so that a difference can be read.
const GRAPHS: &[&str] =
    &["small_o_ffn", "nway", "decode_layer", "views", "views_offset", "blocks", "two_launches", "channels"];

/// The small kernels have four columns, the named device eight: one graph shows what is made of them, the others are kept as
/// they are written.
fn splits_of(name: &str) -> [&'static str; 2] {
    ["--n-split", if name == "two_launches" { "auto" } else { "off" }]
}

#[test]
fn plans_are_as_kept() {
    for name in GRAPHS {
        let (graph, [option, value]) = (format!("{name}.toml"), splits_of(name));
        let outcome = airlink(&fixture("graphs"), &["plan", &graph, option, value, "-q"]).expect(0);
        insta::assert_snapshot!(format!("plan_{name}"), outcome.stdout);
    }
}

#[test]
fn plans_as_json_are_as_kept() {
    let outcome =
        airlink(&fixture("graphs"), &["plan", "nway.toml", "--n-split", "off", "--format", "json", "-q"]).expect(0);
    insta::assert_snapshot!("plan_nway_json", outcome.stdout);
}

#[test]
fn fused_modules_and_maps_are_as_kept() {
    for name in GRAPHS {
        let out = tempfile::tempdir().expect("a folder");
        let target = out.path().to_str().expect("a plain path");
        let graph = format!("{name}.toml");
        let args = ["stitch", &graph, "-o", target, "--emit", "mlir,map", "--message-format", "short"];
        let outcome = airlink(&fixture("graphs"), &[&args, &splits_of(name)[..]].concat()).expect(0);
        let mut text = format!("findings:\n{}", outcome.stderr);
        for (file, bytes) in crate::project::files(out.path()) {
            text += &format!("==== {file}\n{}", String::from_utf8(bytes).expect("text"));
        }
        insta::assert_snapshot!(format!("stitch_{name}"), text);
    }
}
