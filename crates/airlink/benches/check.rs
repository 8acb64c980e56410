//! `airlink check MODULE.mlir` as a process: a module of 15 launches, and ten times as many.
//!
//! `cargo bench --workspace --bench check`; the modules are stitched from our own GEMV.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const RUNS: usize = 31;

fn main() {
    let out = tempfile::tempdir().expect("a folder");
    let mut medians = Vec::new();
    for count in [15usize, 150, 1500] {
        let module = fused(out.path(), count);
        let mut times: Vec<Duration> = (0..RUNS).map(|_| check(&module)).collect();
        times.sort();
        let ms = |i: usize| times[i].as_secs_f64() * 1e3;
        let (median, fastest, slowest) = (ms(RUNS / 2), ms(0), ms(RUNS - 1));
        println!("{count:>5} launches: median {median:>7.1} ms, fastest {fastest:.1} ms, slowest {slowest:.1} ms");
        medians.push(median);
    }
    println!("1,500 launches cost {:.1} of 150 (10 is linear)", medians[2] / medians[1]);
}

fn check(module: &Path) -> Duration {
    let start = Instant::now();
    let status = Command::new(env!("CARGO_BIN_EXE_airlink"))
        .arg("check")
        .arg(module)
        .arg("-q")
        .stderr(Stdio::null())
        .status()
        .expect("the binary starts");
    assert!(status.success(), "{} does not fit", module.display());
    start.elapsed()
}

/// A module of that many GEMVs on one vector.
fn fused(folder: &Path, count: usize) -> PathBuf {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/kernels/gemv");
    std::fs::copy(kernels.join("2048x2048_t8.air.mlir"), folder.join("gemv.mlir")).expect("the fixture is there");
    let name = format!("gemv_{count}");
    let mut text = format!("[graph]\nname = \"{name}\"\n");
    for i in 0..count {
        text += &format!("\n[[launch]]\nname = \"g{i}\"\nkernel = \"gemv.mlir\"\nargs = [\"w{i}\", \"x\", \"y{i}\"]\n");
    }
    let graph = folder.join("graph.toml");
    std::fs::write(&graph, text).expect("writable");
    let stitched = Command::new(env!("CARGO_BIN_EXE_airlink"))
        .args(["stitch", "--emit", "mlir", "-q"])
        .arg(&graph)
        .arg("-o")
        .arg(folder)
        .status()
        .expect("the binary starts");
    assert!(stitched.success());
    folder.join(name + ".mlir")
}
