//! Host ELFs: they run, equal their unfused launches bit for bit, and agree with an oracle that shares nothing with the
//! lowering.

use std::collections::BTreeMap;
use std::path::Path;

use object::{Object, ObjectSymbol};

use crate::oracle::{self, PostAttention};
use crate::project::{airlink, files, fixture, shared};

#[test]
fn fused_equals_unfused_bit_for_bit() {
    for graph in [
        "small_o_ffn",
        "nway",
        "decode_layer",
        "views",
        "views_offset",
        "blocks",
        "two_launches",
        "channels",
        "llama_o_ffn",
    ] {
        let outcome = airlink(&fixture("graphs"), &["verify", &format!("{graph}.toml")]).expect(0);
        assert!(outcome.stdout.contains("bit-exact: "), "{graph}: {}", outcome.stdout);
    }
}

/// A view at an offset, read and written, against the same kernels over buffers of their own.
#[test]
fn views_at_an_offset_compute_what_separate_buffers_do() {
    let view = |name: &str, row: usize| {
        format!(
            "[[view]]\nname = \"{name}\"\nof = \"packed\"\noffsets = [{row}, 0]\nsizes = [1, 256]\nstrides = [1, 1]\n\
             type = \"memref<256xbf16>\"\n"
        )
    };
    let kernels = fixture("kernels");
    let launches = |sum: &str, weight: &str| {
        format!(
            "[[launch]]\nname = \"add\"\nkernel = \"{0}/add/256.air.mlir\"\nargs = [\"a\", \"b\", \"{sum}\"]\n\
             [[launch]]\nname = \"norm\"\nkernel = \"{0}/rms_norm/256.air.mlir\"\nargs = [\"{sum}\", \"{weight}\", \"y\"]\n",
            kernels.display()
        )
    };
    let head = "[graph]\nname = \"g\"\ndevice = \"npu2\"\n";
    let packed = "[[buffer]]\nname = \"packed\"\ntype = \"memref<3x256xbf16>\"\n";
    let graphs = [
        format!("{head}{packed}{}{}{}", view("sum", 2), view("weight", 1), launches("sum", "weight")),
        format!("{head}{}", launches("sum", "weight")),
    ];
    let results = graphs.map(|graph| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("g.toml"), &graph).unwrap();
        let weight = noise(3, 256, 1.0);
        let mut three_rows = noise(9, 768, 1.0);
        three_rows[256..512].copy_from_slice(&weight);
        let arrays = [("a", noise(1, 256, 1.0)), ("b", noise(2, 256, 1.0)), ("weight", weight), ("packed", three_rows)];
        airlink(folder.path(), &["stitch", "g.toml", "-o", ".", "--emit", "elf", "-q"]).expect(0);
        let mut args = vec!["run".to_string(), "g.elf".into(), "-o".into(), "out".into()];
        for (name, values) in
            arrays.iter().filter(|(name, _)| graph.contains("packed") == (*name == "packed") || name.len() == 1)
        {
            let shape: &[usize] = if *name == "packed" { &[3, 256] } else { &[256] };
            std::fs::write(folder.path().join(format!("{name}.npy")), npy(shape, values)).unwrap();
            args.extend(["--arg".to_string(), format!("{name}={name}.npy")]);
        }
        airlink(folder.path(), &args.iter().map(String::as_str).collect::<Vec<_>>()).expect(0);
        values(&std::fs::read(folder.path().join("out/y.npy")).unwrap())
    });
    assert_eq!(results[0], results[1]);
    assert!(results[0].iter().any(|v| *v != 0));
}

#[test]
fn three_k_and_two_tile_m_are_renamed_by_name() {
    let out = tempfile::tempdir().unwrap();
    let target = out.path().to_str().unwrap();
    airlink(&fixture("graphs"), &["stitch", "nway.toml", "-o", target, "-q"]).expect(0);
    let written = files(out.path());
    let names: Vec<&str> = written.iter().map(|(n, _)| n.as_str()).collect();
    assert_eq!(names, ["mv.o", "mv_k512.o", "mv_k768.o", "nway.elf", "nway.map.json", "nway.mlir"]);
    for (object, suffix) in [("mv.o", ""), ("mv_k512.o", "_k512"), ("mv_k768.o", "_k768")] {
        let bytes = &written.iter().find(|(n, _)| n == object).unwrap().1;
        let wanted = [format!("linalg_fill_bf16{suffix}"), format!("matvec_vectorized_bf16_bf16{suffix}")];
        assert_eq!(defined(bytes), wanted, "{object}");
    }
    let elf = &written.iter().find(|(n, _)| n == "nway.elf").unwrap().1;
    let file = object::File::parse(&**elf).unwrap();
    let undefined: Vec<&str> =
        file.dynamic_symbols().filter(|s| s.is_undefined()).filter_map(|s| s.name().ok()).collect();
    let allowed = ["memcpy", "memmove", "memset", ""];
    assert!(undefined.iter().all(|s| allowed.contains(s)), "{undefined:?}");
}

/// Global symbols that an object defines, sorted.
fn defined(bytes: &[u8]) -> Vec<String> {
    let file = object::File::parse(bytes).unwrap();
    let mut names: Vec<String> = file
        .symbols()
        .filter(|s| s.is_global() && s.is_definition())
        .filter_map(|s| s.name().ok().map(String::from))
        .collect();
    names.sort();
    names
}

#[test]
fn same_inputs_give_the_same_bytes_from_any_folder() {
    let (a, b) =
        (tempfile::tempdir().unwrap(), tempfile::Builder::new().prefix("a path with blanks ").tempdir().unwrap());
    let graph = fixture("graphs/small_o_ffn.toml");
    airlink(&fixture("graphs"), &["stitch", "small_o_ffn.toml", "-o", a.path().to_str().unwrap(), "-q"]).expect(0);
    airlink(b.path(), &["stitch", graph.to_str().unwrap(), "-o", "out", "-q"]).expect(0);
    let (first, second) = (files(a.path()), files(&b.path().join("out")));
    assert_eq!(first.len(), 6);
    assert!(first == second, "files differ");
    // A second run over the same folder changes nothing.
    airlink(&fixture("graphs"), &["stitch", "small_o_ffn.toml", "-o", a.path().to_str().unwrap(), "-q"]).expect(0);
    assert!(first == files(a.path()));
    for (name, bytes) in &first {
        let text = String::from_utf8_lossy(bytes);
        assert!(!text.contains(fixture("").to_str().unwrap()), "{name} holds a path of this machine");
    }
}

/// Buffers of a layer half: as the oracle names them, in the order of its fields.
const OURS: [&str; 15] = [
    "wo",
    "attn_out",
    "proj",
    "x",
    "res",
    "w_ffn_norm",
    "normed",
    "w_gate",
    "gate_out",
    "w_up",
    "up_out",
    "act",
    "w_down",
    "down_out",
    "y",
];
/// The same as the shared eight-launch graph names them.
const SHARED: [&str; 15] = [
    "wo",
    "attn_out",
    "proj",
    "x",
    "res1",
    "ffn_norm_w",
    "normed2",
    "wgate",
    "gate",
    "wup",
    "up",
    "swiglu",
    "wdown",
    "down",
    "y",
];

/// The layer half at both sizes, each launch judged on what it read.
#[test]
fn a_layer_half_agrees_with_the_oracle() {
    judge(&fixture("graphs/small_o_ffn.toml"), OURS, (256, 512), oracle::rms_norm);
    judge(&fixture("graphs/llama_o_ffn.toml"), OURS, (2048, 8192), oracle::rms_norm);
}

/// Real kernels at full size; their norm rounds to bf16 after every operation.
#[test]
fn the_shared_eight_launches_agree_with_the_oracle() {
    let Some(shared) = shared() else { return };
    let graph = shared.join("corpus/graphs/mission__o_gemv_ffn_8launch.toml");
    judge(&graph, SHARED, (2048, 8192), oracle::rms_norm_bf16);
}

fn judge(graph: &Path, names: [&str; 15], size: (usize, usize), norm: fn(&[u16], &[u16]) -> oracle::Expected) {
    let folder = tempfile::tempdir().unwrap();
    airlink(folder.path(), &["stitch", graph.to_str().unwrap(), "-o", ".", "--emit", "elf", "-q"]).expect(0);
    let buffers = run_all(folder.path(), names, size);
    let [wo, attn_out, proj, x, res, w_ffn_norm, normed, w_gate, gate_out, w_up, up_out, act, w_down, down_out, y] =
        names.map(|name| buffers.get(name).unwrap_or_else(|| panic!("no buffer `{name}`")).as_slice());
    let half = PostAttention {
        wo,
        attn_out,
        proj,
        x,
        res,
        w_ffn_norm,
        normed,
        w_gate,
        gate_out,
        w_up,
        up_out,
        act,
        w_down,
        down_out,
        y,
    };
    for (launch, agreement) in half.judge(norm) {
        assert!(agreement.holds(), "{}: launch {launch}: {agreement:?}", graph.display());
    }
}

/// Runs the ELF in a folder on our own inputs and returns every buffer as bf16 bits.
fn run_all(folder: &Path, names: [&str; 15], (emb, hidden): (usize, usize)) -> BTreeMap<String, Vec<u16>> {
    let given = [
        (names[0], vec![emb, emb], 0.02),
        (names[1], vec![emb], 1.0),
        (names[3], vec![emb], 1.0),
        (names[5], vec![emb], 1.0),
        (names[7], vec![hidden, emb], 0.02),
        (names[9], vec![hidden, emb], 0.02),
        (names[12], vec![emb, hidden], 0.02),
    ];
    let elf = files(folder).into_iter().find(|(n, _)| n.ends_with(".elf")).expect("an ELF").0;
    let mut args = vec!["run".to_string(), elf, "-o".into(), "out".into(), "--all".into()];
    let mut buffers = BTreeMap::new();
    for (seed, (name, shape, scale)) in given.into_iter().enumerate() {
        let values = noise(seed as u64 + 1, shape.iter().product(), scale);
        let file = format!("{name}.npy");
        std::fs::write(folder.join(&file), npy(&shape, &values)).unwrap();
        args.extend(["--arg".to_string(), format!("{name}={file}")]);
        buffers.insert(name.to_string(), values);
    }
    airlink(folder, &args.iter().map(String::as_str).collect::<Vec<_>>()).expect(0);
    for (file, bytes) in files(&folder.join("out")) {
        buffers.insert(file.trim_end_matches(".npy").to_string(), values(&bytes));
    }
    buffers
}

/// Values in [-scale, scale] as bf16 bits, from a generator of this test's own.
pub(crate) fn noise(seed: u64, count: usize, scale: f32) -> Vec<u16> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let unit = (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0;
            ((unit * scale).to_bits() >> 16) as u16
        })
        .collect()
}

/// A `.npy` file of version 1.0 with 16-bit elements.
pub(crate) fn npy(shape: &[usize], values: &[u16]) -> Vec<u8> {
    let shape: String = shape.iter().map(|n| format!("{n},")).collect();
    let mut header = format!("{{'descr': '<u2', 'fortran_order': False, 'shape': ({shape}), }}");
    header.push_str(&" ".repeat(63 - (10 + header.len()) % 64));
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()));
    bytes
}

pub(crate) fn values(npy: &[u8]) -> Vec<u16> {
    let header = u16::from_le_bytes([npy[8], npy[9]]) as usize;
    npy[10 + header..].chunks_exact(2).map(|c| u16::from_le_bytes([c[0], c[1]])).collect()
}
