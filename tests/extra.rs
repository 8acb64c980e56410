//! Kernels with channels of the shared corpus, each alone, against what they mean in f64.

use std::collections::BTreeMap;

use crate::oracle::{self, to_f64};
use crate::project::{airlink, files, shared};
use crate::verify::{noise, npy, values};

/// Inputs by position: shape and scale.
type Inputs<'a> = &'a [(usize, &'a [usize], f32)];

/// Verifies a kernel of `corpus/extra` and runs it on our own inputs. Buffers by position, as bf16 bits: `a0`, `a1`, ...
fn run(kernel: &str, count: usize, inputs: Inputs<'_>, options: &[&str]) -> Option<BTreeMap<String, Vec<u16>>> {
    let path = shared()?.join(format!("corpus/extra/{kernel}.mlir"));
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(path, folder.path().join("k.mlir")).unwrap();
    let args: Vec<String> = (0..count).map(|i| format!("\"a{i}\"")).collect();
    let graph = format!(
        "[graph]\nname = \"g\"\ndevice = \"npu2\"\n[[launch]]\nname = \"k\"\nkernel = \"k.mlir\"\nargs = [{}]\n",
        args.join(", ")
    );
    std::fs::write(folder.path().join("g.toml"), graph).unwrap();
    let verified = airlink(folder.path(), &[&["verify", "g.toml"], options].concat()).expect(0);
    assert!(verified.stdout.contains("bit-exact: "), "{}", verified.stdout);
    airlink(folder.path(), &["stitch", "g.toml", "-o", ".", "--emit", "elf", "-q"]).expect(0);
    let mut command: Vec<String> = ["run", "g.elf", "-o", "out", "--all"].map(String::from).to_vec();
    command.extend(options.iter().map(|o| o.to_string()));
    let mut buffers = BTreeMap::new();
    for &(position, shape, scale) in inputs {
        let numbers = noise(position as u64 + 1, shape.iter().product(), scale);
        let file = format!("a{position}.npy");
        std::fs::write(folder.path().join(&file), npy(shape, &numbers)).unwrap();
        command.extend(["--arg".to_string(), format!("a{position}={file}")]);
        buffers.insert(format!("a{position}"), numbers);
    }
    airlink(folder.path(), &command.iter().map(String::as_str).collect::<Vec<_>>()).expect(0);
    for (file, bytes) in files(&folder.path().join("out")) {
        // What is read and written comes back under the same name.
        buffers.insert(format!("{}.out", file.trim_end_matches(".npy")), values(&bytes));
    }
    Some(buffers)
}

/// How far results that were rounded on the way are from exact ones, as vectors: relative l2 and 1 - cosine.
fn distance(found: &[u16], expected: &[f64]) -> (f64, f64) {
    assert_eq!(found.len(), expected.len());
    let (mut difference, mut square, mut dot, mut found_square) = (0.0, 0.0, 0.0, 0.0);
    for (&bits, &value) in found.iter().zip(expected) {
        let result = to_f64(bits);
        difference += (result - value).powi(2);
        square += value * value;
        found_square += result * result;
        dot += result * value;
    }
    ((difference / square).sqrt(), 1.0 - dot / (square.sqrt() * found_square.sqrt()))
}

#[test]
fn a_cascade_gemv_agrees_with_the_oracle() {
    let (m, k) = (2048, 8192);
    let Some(b) = run("matvec_cascade", 3, &[(0, &[m, k], 0.02), (1, &[k], 1.0)], &[]) else { return };
    let agreement = oracle::gemv_f64(&b["a0"], &b["a1"]).compare(&b["a2.out"]);
    assert!(agreement.holds(), "{agreement:?}");
}

#[test]
fn a_cascade_gemv_with_a_residual_agrees_with_the_oracle() {
    let (m, k) = (2048, 8192);
    let inputs: Inputs<'_> = &[(0, &[m, k], 0.02), (1, &[k], 1.0), (2, &[m], 1.0)];
    let Some(b) = run("matvec_cascade_add", 4, inputs, &[]) else { return };
    let agreement = oracle::gemv_add_f64(&b["a0"], &b["a1"], &b["a2"]).compare(&b["a3.out"]);
    assert!(agreement.holds(), "{agreement:?}");
}

/// softmax(Q K^T / sqrt(64)) V per head, with probabilities, partial outputs and their factors in bf16.
#[test]
fn flash_attention_agrees_with_the_oracle() {
    let (heads, rows, d) = (2, 512, 64);
    let shape = [heads, rows, d];
    let inputs: Inputs<'_> = &[(0, &shape, 1.0), (1, &shape, 1.0), (2, &shape, 1.0)];
    let Some(b) = run("flash_attn", 4, inputs, &[]) else { return };
    let mut expected = Vec::new();
    for head in 0..heads {
        let part = |name: &str| b[name][head * rows * d..(head + 1) * rows * d].to_vec();
        let (q, k, v) = (part("a0"), part("a1"), part("a2"));
        for row in q.chunks_exact(d) {
            expected.extend(attend(&row.iter().map(|&x| to_f64(x)).collect::<Vec<_>>(), &k, &v, 0.125));
        }
    }
    let (l2, cosine) = distance(&b["a3.out"], &expected);
    assert!(l2 <= 1.0 / 64.0 && cosine <= 1e-3, "relative l2 {l2}, 1 - cosine {cosine}");
}

/// One row of attention in f64.
fn attend(q: &[f64], k: &[u16], v: &[u16], scale: f64) -> Vec<f64> {
    let d = q.len();
    let score = |row: &[u16]| scale * row.iter().zip(q).map(|(&k, q)| to_f64(k) * q).sum::<f64>();
    let scores: Vec<f64> = k.chunks_exact(d).map(score).collect();
    let greatest = scores.iter().copied().fold(f64::MIN, f64::max);
    let weights: Vec<f64> = scores.iter().map(|s| (s - greatest).exp()).collect();
    let sum: f64 = weights.iter().sum();
    let mut out = vec![0.0; d];
    for (row, weight) in v.chunks_exact(d).zip(&weights) {
        out.iter_mut().zip(row).for_each(|(o, &v)| *o += weight / sum * to_f64(v));
    }
    out
}

/// One decode step of two groups of four heads: norm, projections, rotation at position 16, attention over the cached
/// rows and the new one. Its memtiles repeat the one get and put of a cache row that stand in the segment.
#[test]
fn attention_decode_agrees_with_the_oracle() {
    let (groups, d, length, at) = (2, 64, 128, 16);
    let inputs: Inputs<'_> = &[
        (0, &[d, d], 1.0),
        (1, &[groups, 6, d, d], 0.2),
        (2, &[groups, length, d], 1.0),
        (3, &[groups, length, d], 1.0),
    ];
    let Some(b) = run("attn_decode_default", 5, inputs, &["--self-loop-relays"]) else { return };
    let f = |bits: &[u16]| bits.iter().map(|&x| to_f64(x)).collect::<Vec<f64>>();
    // The first two rows of the first argument are the token and the weights of its norm.
    let (x, weights) = (f(&b["a0"][..d]), f(&b["a0"][d..2 * d]));
    let mean = x.iter().map(|v| v * v).sum::<f64>() / d as f64;
    let normed: Vec<f64> = x.iter().zip(&weights).map(|(v, w)| v * w / (mean + 1e-5).sqrt()).collect();
    let (mut expected, mut rows) = (Vec::new(), Vec::new());
    for group in 0..groups {
        let project = |row: usize| -> Vec<f64> {
            let w = &b["a1"][(group * 6 + row) * d * d..(group * 6 + row + 1) * d * d];
            (0..d).map(|n| (0..d).map(|k| normed[k] * to_f64(w[k * d + n])).sum()).collect()
        };
        let cache = |name: &str| b[name][group * length * d..(group * length + at) * d].to_vec();
        let bits = |row: &[f64]| row.iter().map(|&v| oracle::to_bf16(v)).collect::<Vec<u16>>();
        let (key, value) = (rotate(&project(4), at), project(5));
        let k = [cache("a2"), bits(&key)].concat();
        let v = [cache("a3"), bits(&value)].concat();
        for head in 0..4 {
            expected.extend(attend(&rotate(&project(head), at), &k, &v, 0.125));
        }
        rows.push((key, value));
    }
    let (l2, cosine) = distance(&b["a4.out"], &expected);
    assert!(l2 <= 1.0 / 32.0 && cosine <= 1e-3, "relative l2 {l2}, 1 - cosine {cosine}");
    for (group, (key, value)) in rows.iter().enumerate() {
        for (name, row) in [("a2.out", key), ("a3.out", value)] {
            let first = (group * length + at) * d;
            let (l2, _) = distance(&b[name][first..first + d], row);
            assert!(l2 <= 1.0 / 64.0, "{name}, group {group}: relative l2 {l2}");
        }
    }
}

/// Element i with element i + 32, by the angle at * 500000^(-i / 32).
fn rotate(x: &[f64], at: usize) -> Vec<f64> {
    let half = x.len() / 2;
    let mut out = x.to_vec();
    for i in 0..half {
        let (sin, cos) = (at as f64 * 500_000f64.powf(-(i as f64) / half as f64)).sin_cos();
        out[i] = x[i] * cos - x[i + half] * sin;
        out[i + half] = x[i] * sin + x[i + half] * cos;
    }
    out
}
