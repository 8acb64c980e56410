//! How fast host ELFs read weights: GEMVs against a plain read of as many bytes on one thread, a GEMV over channels
//! against a plain one, and fused against unfused. `cargo bench -p airlink --bench run`, on a machine with nothing else
//! to do.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use airlink_rt::{Buffer, Placement, Role};

const GRAPH: &str = r#"
[graph]
name = "g"
device = "npu2"
"#;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let kernels = root.join("fixtures/kernels/gemv");
    let folder = tempfile::tempdir().expect("a folder");
    for (name, m, k) in [("2048x2048_t8", 2048usize, 2048usize), ("8192x2048_t8", 8192, 2048)] {
        let launch = launch("gemv", &kernels.join(format!("{name}.air.mlir")), "w", "x", "y");
        read_weights(name, folder.path(), &launch, 2 * m * k);
    }
    compare(folder.path(), &root);
    let one = launch("a", &kernels.join("2048x2048_t8.air.mlir"), "w", "x", "y");
    let two = launch("b", &kernels.join("2048x2048_t8.air.mlir"), "v", "y", "z");
    let number = |v: &serde_json::Value| v.as_f64().unwrap_or(f64::MAX);
    let (mut fused, mut unfused) = (f64::MAX, f64::MAX);
    for _ in 0..ROUNDS {
        let ledger = profile(folder.path(), &format!("{one}{two}"));
        fused = fused.min(number(&ledger["whole_us"]));
        unfused = unfused.min(number(&ledger["one_by_one_us"]));
    }
    println!("two launches: fused {fused:.0} us, one by one {unfused:.0} us, {:.2} times", fused / unfused);
}

/// What is compared takes turns so often, and the fastest of each counts: what else the machine does meets all of it.
const ROUNDS: usize = 7;

/// GEMVs of one shape: plain, with the vector over a channel, and as a cascade where the shared inputs are there.
fn compare(folder: &Path, root: &Path) {
    let kernels = root.join("fixtures/kernels/gemv");
    let all = [
        ("plain", kernels.join("2048x8192_t2.air.mlir")),
        ("vector over a channel", kernels.join("2048x8192_t2_channel.air.mlir")),
        ("cascade over four rows of tiles", root.join("../shared/corpus/extra/matvec_cascade.mlir")),
    ];
    let mut best = [f64::MAX; 3];
    for _ in 0..ROUNDS {
        for (best, (_, kernel)) in best.iter_mut().zip(&all).filter(|(_, (_, kernel))| kernel.exists()) {
            *best = best.min(time(folder, &launch("gemv", kernel, "w", "x", "y"), "gemv"));
        }
    }
    for (us, (name, _)) in best.iter().zip(&all).skip(1).filter(|(us, _)| **us < f64::MAX) {
        println!("2048x8192: plain {:.0} us, {name} {us:.0} us, {:.2} times", best[0], us / best[0]);
    }
}

fn launch(name: &str, kernel: &Path, w: &str, x: &str, y: &str) -> String {
    format!("[[launch]]\nname = \"{name}\"\nkernel = \"{}\"\nargs = [\"{w}\", \"{x}\", \"{y}\"]\n", kernel.display())
}

/// The fastest call of a launch, in microseconds.
fn time(folder: &Path, launches: &str, name: &str) -> f64 {
    let ledger = profile(folder, launches);
    let found = ledger["launches"].as_array().and_then(|l| l.iter().find(|l| l["name"] == name)).cloned();
    found.and_then(|l| l["time_us"].as_f64()).expect("the launch was timed")
}

/// The ledger of a graph with these launches.
fn profile(folder: &Path, launches: &str) -> serde_json::Value {
    std::fs::write(folder.join("g.toml"), format!("{GRAPH}{launches}")).expect("written");
    airlink(folder, &["stitch", "g.toml", "-o", ".", "--emit", "elf", "-q"]);
    let text = airlink(folder, &["run", "g.elf", "-o", "out", "--profile", "--format", "json"]);
    serde_json::from_str(&text).expect("a ledger")
}

fn airlink(folder: &Path, args: &[&str]) -> String {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_airlink"));
    let output = Command::new(program).args(args).current_dir(folder).output().expect("the binary starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Compares a GEMV with a plain read of as many bytes.
fn read_weights(name: &str, folder: &Path, launch: &str, bytes: usize) {
    // In the same kind of memory: large buffers have large pages.
    let mut buffer = Buffer::new("plain", bytes as u64, Role::Inout, Placement::End).expect("memory");
    buffer.bytes_mut().expect("writable").fill(1);
    let (mut us, mut plain) = (f64::MAX, f64::MAX);
    for _ in 0..ROUNDS {
        us = us.min(time(folder, launch, "gemv"));
        plain = plain.min(plain_read(buffer.bytes().expect("readable")));
    }
    let rate = |us: f64| bytes as f64 / us / 1e3;
    println!(
        "{name}: {us:.0} us, {:.1} GB/s; a plain read {:.1} GB/s; {:.0} %",
        rate(us),
        rate(plain),
        100.0 * plain / us
    );
}

/// The best of several, in microseconds.
fn plain_read(bytes: &[u8]) -> f64 {
    let read = |_| {
        let start = Instant::now();
        // Eight sums, so that the read and not the addition takes the time.
        let mut sums = [0u64; 8];
        for chunk in std::hint::black_box(bytes).as_chunks::<8>().0.chunks_exact(8) {
            sums.iter_mut().zip(chunk).for_each(|(s, w)| *s = s.wrapping_add(u64::from_ne_bytes(*w)));
        }
        std::hint::black_box(sums);
        start.elapsed().as_secs_f64() * 1e6
    };
    (0..20).map(read).fold(f64::MAX, f64::min)
}
