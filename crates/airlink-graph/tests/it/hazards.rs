//! What is allowed and suspicious.

use crate::support::{Kernel, kernel, launch, lines, resolve};

const VEC: &str = "memref<16xf32>";
const PAIR: &str = "memref<2x16xf32>";

fn kernels() -> Vec<Kernel> {
    vec![
        kernel("copy.mlir", &[VEC, VEC], &["r,w"]),
        kernel("pair.mlir", &[PAIR, VEC], &["r,w"]),
        kernel("add.mlir", &[VEC, VEC, VEC], &["r,r,w"]),
        kernel("update.mlir", &[VEC], &["rw"]),
    ]
}

/// The findings of a graph that must resolve.
fn found(text: &str) -> Vec<String> {
    let (graph, findings) = resolve(text, &kernels());
    assert!(graph.is_some(), "{:?}", lines(&findings));
    lines(&findings)
}

fn host(name: &str, reads: &[&str], writes: &[&str]) -> String {
    format!("[[host]]\nname = \"{name}\"\nreads = {reads:?}\nwrites = {writes:?}\n")
}

fn buffer(name: &str, role: &str) -> String {
    format!("[[buffer]]\nname = \"{name}\"\nrole = \"{role}\"\n")
}

const ROWS: &str = "[[buffer]]\nname = \"p\"\ntype = \"memref<2x16xf32>\"\n\
    [[view]]\nname = \"row0\"\nof = \"p\"\noffsets = [0, 0]\nsizes = [1, 16]\ntype = \"memref<16xf32>\"\n\
    [[view]]\nname = \"row1\"\nof = \"p\"\noffsets = [1, 0]\nsizes = [1, 16]\ntype = \"memref<16xf32>\"\n";

#[test]
fn a_consumer_in_front_of_its_producer() {
    let text = launch("b", "copy.mlir", &["y", "z"]) + &launch("a", "copy.mlir", &["x", "y"]);
    assert_eq!(found(&text), ["graph.toml:6:9: warning[AL0219]: `b` reads `y` before `a` writes it"]);
    let (_, findings) = resolve(&text, &kernels());
    let finding = findings.iter().next().unwrap();
    let at: Vec<_> = finding.labels.iter().map(|l| findings.sources.snippet(l.span)).collect();
    assert_eq!(at, ["\"y\"", "\"y\"", "read", "write"]);
}

#[test]
fn roles_that_say_that_the_host_fills_a_buffer_first_settle_the_order() {
    let text = launch("b", "copy.mlir", &["y", "z"]) + &launch("a", "copy.mlir", &["x", "y"]);
    assert_eq!(found(&(buffer("y", "inout") + &text)), Vec::<String>::new());
    assert_eq!(found(&(buffer("y", "intermediate") + &text)).len(), 1);
    assert_eq!(found(&(buffer("y", "output") + &text)).len(), 1);
}

#[test]
fn a_host_step_that_writes_too_late_or_in_time() {
    let late = launch("a", "copy.mlir", &["x", "y"]) + &host("h", &["y"], &["x"]);
    assert_eq!(found(&late), ["graph.toml:6:9: warning[AL0219]: `a` reads `x` before `h` writes it"]);
    let in_time = host("h", &[], &["x"]) + &launch("a", "copy.mlir", &["x", "y"]) + &host("i", &["y"], &["x"]);
    assert_eq!(found(&in_time), Vec::<String>::new());
}

#[test]
fn order_is_judged_by_bytes() {
    let other_row =
        ROWS.to_string() + &launch("a", "copy.mlir", &["row0", "y"]) + &launch("b", "copy.mlir", &["y", "row1"]);
    assert_eq!(found(&other_row), Vec::<String>::new());
    let same_row =
        ROWS.to_string() + &launch("a", "copy.mlir", &["row1", "y"]) + &launch("b", "copy.mlir", &["y", "row1"]);
    assert_eq!(found(&same_row).iter().filter(|l| l.contains("AL0219")).count(), 1);
    // Row 0 is written in time; row 1 comes from the host.
    let whole = |late: &str| {
        let text = launch("a", "copy.mlir", &["x", "row0"]) + &launch("b", "pair.mlir", &["p", "y"]);
        found(
            &(ROWS.to_string()
                + &text
                + &launch("c", "copy.mlir", &["row1", "z"])
                + &launch("d", "copy.mlir", &["z", late])),
        )
    };
    assert_eq!(whole("row0"), Vec::<String>::new());
    assert_eq!(whole("row1"), ["graph.toml:25:9: warning[AL0219]: `b` reads `p` before `d` writes it"]);
}

#[test]
fn an_update_of_one_launch_is_no_early_read() {
    assert_eq!(
        found(&(launch("a", "update.mlir", &["x"]) + &launch("b", "update.mlir", &["y"]))),
        Vec::<String>::new()
    );
}

#[test]
fn in_place_use_shows_both_arguments() {
    let text = launch("a", "add.mlir", &["x", "y", "x"]);
    assert_eq!(
        found(&text),
        ["graph.toml:6:19: warning[AL0220]: launch `a` reads and writes `x` through two arguments"]
    );
    assert_eq!(found(&launch("a", "add.mlir", &["x", "x", "y"])), Vec::<String>::new());
    let rows = |args: &[&str]| found(&(ROWS.to_string() + &launch("a", "add.mlir", args)));
    assert_eq!(rows(&["row0", "y", "row1"]), Vec::<String>::new());
    assert_eq!(rows(&["row0", "row1", "row1"]).len(), 1);
    let whole = ROWS.to_string() + &launch("a", "pair.mlir", &["p", "row1"]);
    assert_eq!(found(&whole).iter().filter(|l| l.contains("AL0220")).count(), 1);
}

#[test]
fn declared_and_unused() {
    let text = buffer("idle", "static") + ROWS + &launch("a", "copy.mlir", &["row0", "y"]);
    assert_eq!(
        found(&text),
        [
            "graph.toml:4:8: warning[AL0212]: nothing uses buffer `idle`",
            "graph.toml:16:8: warning[AL0212]: nothing uses view `row1`"
        ]
    );
    let listed = "[[elf]]\nname = \"e\"\nlaunches = [\"a\"]\nargs = [\"p\", \"y\", \"idle\", \"row1\"]\n";
    assert_eq!(found(&(text + listed)), Vec::<String>::new());
}
