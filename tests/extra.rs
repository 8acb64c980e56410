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
