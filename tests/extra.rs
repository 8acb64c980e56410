//! Kernels with channels of the shared corpus, each alone, against what they mean in f64.

use std::collections::BTreeMap;

use crate::oracle::{self, to_f64};
use crate::project::{airlink, files, fixture, shared};
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

/// What `fixtures/bad` shows to hang runs with memtiles that go on, and passes on everything.
#[test]
fn a_memtile_in_a_loop_goes_on_if_asked() {
    let folder = tempfile::tempdir().unwrap();
    for file in ["graph.toml", "k.air.mlir"] {
        std::fs::copy(fixture("bad/AL0717-relay").join(file), folder.path().join(file)).unwrap();
    }
    let hangs = airlink(folder.path(), &["verify", "graph.toml"]).expect(1);
    assert!(hangs.stderr.contains("`--self-loop-relays`"), "{}", hangs.stderr);
    let goes_on = airlink(folder.path(), &["verify", "graph.toml", "--self-loop-relays"]).expect(0);
    assert!(goes_on.stdout.contains("bit-exact: "), "{}", goes_on.stdout);
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

/// One decode step of grouped attention: RMSNorm, six projections per group, rotary positions, the cache's 16 rows and the
/// new one. The memtile passes on one block more than its loop says, and the rows of the cache by a single pair.
#[test]
fn decode_attention_agrees_with_the_oracle() {
    const D: usize = 64;
    let (groups, rows, position) = (2, 128, 16);
    let cache: &[usize] = &[groups, rows, D];
    let inputs: Inputs<'_> = &[(0, &[D, D], 1.0), (1, &[groups, 6, D, D], 0.125), (2, cache, 1.0), (3, cache, 1.0)];
    let Some(b) = run("attn_decode_default", 5, inputs, &["--self-loop-relays"]) else { return };
    let f64s = |bits: &[u16]| bits.iter().map(|&x| to_f64(x)).collect::<Vec<f64>>();
    let (x, gain) = (f64s(&b["a0"][..D]), f64s(&b["a0"][D..2 * D]));
    let scale = (x.iter().map(|x| x * x).sum::<f64>() / D as f64 + 1.00136e-5).sqrt().recip();
    let x: Vec<f64> = x.iter().zip(&gain).map(|(x, g)| x * scale * g).collect();
    for group in 0..groups {
        let project = |head: usize| -> Vec<f64> {
            let matrix = &f64s(&b["a1"])[(group * 6 + head) * D * D..][..D * D];
            (0..D).map(|n| x.iter().enumerate().map(|(k, x)| x * matrix[k * D + n]).sum()).collect()
        };
        let part = |name: &str| f64s(&b[name][group * rows * D..][..rows * D]);
        let (mut keys, mut values) = (part("a2")[..position * D].to_vec(), part("a3")[..position * D].to_vec());
        keys.extend(rotate(&project(4), position));
        values.extend(project(5));
        let expected: Vec<f64> =
            (0..4).flat_map(|head| attend_f64(&rotate(&project(head), position), &keys, &values, 0.125)).collect();
        let found = |name: &str, at: usize, count: usize| b[name][at..at + count].to_vec();
        let new_row = (group * rows + position) * D;
        for (found, expected) in [
            (found("a2.out", new_row, D), &keys[position * D..]),
            (found("a3.out", new_row, D), &values[position * D..]),
            (found("a4.out", group * 4 * D, 4 * D), &expected[..]),
        ] {
            let (l2, cosine) = distance(&found, expected);
            assert!(l2 <= 1.0 / 32.0 && cosine <= 1e-3, "group {group}: relative l2 {l2}, 1 - cosine {cosine}");
        }
    }
}

/// Rotary positions of a head whose halves are rotated against each other, at base 500000.
fn rotate(x: &[f64], position: usize) -> Vec<f64> {
    let half = x.len() / 2;
    let mut out = vec![0.0; x.len()];
    for i in 0..half {
        let (sin, cos) = (position as f64 * 5e5f64.powf(-(i as f64) / half as f64)).sin_cos();
        out[i] = x[i] * cos - x[i + half] * sin;
        out[i + half] = x[i] * sin + x[i + half] * cos;
    }
    out
}

/// One row of attention over bf16 keys and values.
fn attend(q: &[f64], k: &[u16], v: &[u16], scale: f64) -> Vec<f64> {
    let f64s = |bits: &[u16]| bits.iter().map(|&x| to_f64(x)).collect::<Vec<f64>>();
    attend_f64(q, &f64s(k), &f64s(v), scale)
}

/// One row of attention in f64.
fn attend_f64(q: &[f64], k: &[f64], v: &[f64], scale: f64) -> Vec<f64> {
    let d = q.len();
    let score = |row: &[f64]| scale * row.iter().zip(q).map(|(k, q)| k * q).sum::<f64>();
    let scores: Vec<f64> = k.chunks_exact(d).map(score).collect();
    let greatest = scores.iter().copied().fold(f64::MIN, f64::max);
    let weights: Vec<f64> = scores.iter().map(|s| (s - greatest).exp()).collect();
    let sum: f64 = weights.iter().sum();
    let mut out = vec![0.0; d];
    for (row, weight) in v.chunks_exact(d).zip(&weights) {
        out.iter_mut().zip(row).for_each(|(o, &v)| *o += weight / sum * v);
    }
    out
}
