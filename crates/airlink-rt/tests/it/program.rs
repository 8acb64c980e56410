//! Builds `host/program.c` into a host ELF.

use airlink_rt::*;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Indices of the arguments, as in `program.c`.
pub const REQUEST: usize = 0;
pub const WEIGHTS: usize = 1;
pub const SHORT: usize = 2;
pub const RESULT: usize = 3;

fn arg(
    index: usize,
    name: &str,
    element: Element,
    count: u64,
    role: Role,
    readers: &[usize],
    writers: &[usize],
) -> ManifestArg {
    ManifestArg {
        index,
        name: name.into(),
        ty: format!("memref<{count}x{element}>"),
        element,
        element_bits: element.bits(),
        shape: vec![count],
        bytes: count * element.size_bytes() as u64,
        role,
        readers: readers.to_vec(),
        writers: writers.to_vec(),
    }
}

fn launch(index: usize, name: &str, reads: &[usize], writes: &[usize]) -> ManifestLaunch {
    ManifestLaunch {
        index,
        name: name.into(),
        entry: launch_entry(index),
        kernel: format!("{name}.mlir"),
        kernel_hash: "00".into(),
        reads: reads.to_vec(),
        writes: writes.to_vec(),
        points: vec![1],
        uses_channels: false,
    }
}

/// The manifest of `program.c`.
pub fn manifest() -> Manifest {
    Manifest {
        schema: MANIFEST_SCHEMA,
        abi: ENTRY_ABI,
        target: "x86_64-linux".into(),
        name: "program".into(),
        cpu: CpuLevel::V1,
        fp: FpRules::default(),
        module_hash: "00".into(),
        entry: PROGRAM_ENTRY.into(),
        args: vec![
            arg(REQUEST, "request", Element::I32, 4, Role::Inout, &[0], &[0]),
            arg(WEIGHTS, "weights", Element::F32, 16, Role::Static, &[1], &[]),
            arg(SHORT, "short", Element::Bf16, 100, Role::Intermediate, &[], &[0]),
            arg(RESULT, "result", Element::F32, 1024, Role::Output, &[], &[1]),
            arg(4, "old", Element::F32, 16, Role::Dead, &[], &[]),
        ],
        launches: vec![launch(0, "odd", &[REQUEST], &[REQUEST, SHORT]), launch(1, "double", &[WEIGHTS], &[RESULT])],
        channels: vec![],
        kernels: vec![],
    }
}

/// Compiles the program with this manifest in its section.
pub fn build(folder: &Path, manifest_bytes: &[u8], flags: &[&str]) -> PathBuf {
    let section = folder.join("manifest.json");
    std::fs::write(&section, manifest_bytes).unwrap();
    let elf = folder.join("program.elf");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/host/program.c");
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-fno-optimize-sibling-calls", "-Wno-infinite-recursion"])
        .arg(format!("-DMANIFEST_FILE=\"{}\"", section.display()))
        .args(flags)
        .arg(&source)
        .arg("-o")
        .arg(&elf)
        .status()
        .expect("the tests need `cc`");
    assert!(status.success(), "cc failed on {}", source.display());
    elf
}

/// A loaded program with its buffers, ready to be asked for something.
pub struct Program {
    pub elf: HostElf,
    pub buffers: BufferSet,
    pub caller: Caller,
    _folder: TempDir,
}

impl Program {
    pub fn new(placement: Placement) -> Program {
        let folder = tempfile::tempdir().unwrap();
        let path = build(folder.path(), manifest().to_json().as_bytes(), &[]);
        let elf = HostElf::load(&path).unwrap();
        let mut buffers = BufferSet::for_manifest(elf.manifest(), placement).unwrap();
        for (i, weight) in buffers.get_mut(WEIGHTS).unwrap().bytes_mut().unwrap().chunks_exact_mut(4).enumerate() {
            weight.copy_from_slice(&(i as f32).to_le_bytes());
        }
        buffers.seal().unwrap();
        Program { elf, buffers, caller: Caller::with_stack_bytes(1 << 20).unwrap(), _folder: folder }
    }

    /// Calls an entry with these numbers in `request`.
    pub fn call(&mut self, entry: Entry, request: i32, amount: i32) -> Result<Call, CallError> {
        let numbers = self.buffers.get_mut(REQUEST).unwrap().bytes_mut().unwrap();
        numbers.fill(0);
        numbers[..4].copy_from_slice(&request.to_le_bytes());
        numbers[4..8].copy_from_slice(&amount.to_le_bytes());
        let args = Argument::in_order(&self.buffers);
        self.caller.call(&self.elf, entry, &mut self.buffers, &args)
    }

    /// The fault that launch 0 must end with, as text.
    pub fn fault(&mut self, request: i32, amount: i32) -> String {
        match self.call(Entry::Launch(0), request, amount) {
            Err(e @ CallError::Fault { .. }) => e.to_string(),
            other => panic!("request {request}, {amount}: no fault but {other:?}"),
        }
    }

    pub fn result(&self) -> Vec<f32> {
        let bytes = self.buffers.get(RESULT).unwrap().bytes().unwrap();
        bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
    }
}
