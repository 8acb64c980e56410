//! `airlink stitch --emit mlir,map` as a process: the median of a three-launch graph, and 1,000 against 10,000 launches.
//!
//! `cargo bench -p airlink`; the three-launch graph is one of the shared test inputs where they are, else our own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let shared = root.join("../shared/corpus/graphs/llama32_1b__decode__o_gemv_ffn.toml");
    let small = if shared.exists() { shared } else { root.join("fixtures/graphs/channels.toml") };
    let out = tempfile::tempdir().expect("a folder");
    let mut times: Vec<Duration> = (0..31).map(|_| stitch(&small, out.path())).collect();
    times.sort();
    println!("{}", small.file_stem().unwrap_or_default().to_string_lossy());
    println!("  median {:>8.1} ms, fastest {:.1} ms, slowest {:.1} ms", ms(times[15]), ms(times[0]), ms(times[30]));
    let mut per_launch = Vec::new();
    for count in [1_000usize, 10_000] {
        let graph = copies(&root, out.path(), count);
        let time = (0..3).map(|_| stitch(&graph, out.path())).min().expect("three runs");
        println!("{count:>6} launches {:>8.2} s, {:.3} ms a launch", time.as_secs_f64(), ms(time) / count as f64);
        per_launch.push(ms(time) / count as f64);
    }
    println!("a launch of 10,000 costs {:.2} of one of 1,000 (1 is linear)", per_launch[1] / per_launch[0]);
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn stitch(graph: &Path, out: &Path) -> Duration {
    let start = Instant::now();
    let status = Command::new(env!("CARGO_BIN_EXE_airlink"))
        .arg("stitch")
        .arg(graph)
        .args(["--emit", "mlir,map", "-q", "-o"])
        .arg(out)
        .stderr(Stdio::null())
        .status()
        .expect("the binary starts");
    assert!(status.success(), "{} does not stitch", graph.display());
    start.elapsed()
}

/// A chain of additions, each of which adds to what the one before it left.
fn copies(root: &Path, folder: &Path, count: usize) -> PathBuf {
    let kernel = std::fs::read_to_string(root.join("fixtures/kernels/add/256.air.mlir")).expect("the fixture is there");
    std::fs::write(folder.join("add.mlir"), kernel).expect("writable");
    let mut text = String::from("[graph]\nname = \"chain\"\ndevice = \"npu2\"\n");
    for i in 0..count {
        text += &format!(
            "\n[[launch]]\nname = \"a{i}\"\nkernel = \"add.mlir\"\nargs = [\"b{i}\", \"x\", \"b{}\"]\n",
            i + 1
        );
    }
    let path = folder.join("chain.toml");
    std::fs::write(&path, text).expect("writable");
    path
}
