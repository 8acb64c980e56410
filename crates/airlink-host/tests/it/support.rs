//! From the text of a fused module to results.

use airlink_diag::{Findings, Severity};
use airlink_host::{HostOptions, KernelObject, build_module, lowered_text};
use airlink_ir::{Ir, Module, parse};
use airlink_kernel::KernelType;
use airlink_rt::{
    Argument, BufferSet, CallError, Caller, Element, Entry, FpRules, HostElf, Manifest, ManifestArg, ManifestLaunch,
    Placement, Role, StreamOptions, launch_entry,
};

/// An argument of a test program: its name, its type, and its role.
pub type Arg = (&'static str, &'static str, Role);

pub fn parsed<'c>(ir: &'c Ir, text: &str, findings: &mut Findings) -> Module<'c> {
    let file = findings.sources.add("fused.mlir", text);
    match parse(ir, file, "fused.mlir", findings) {
        Ok(module) => module,
        Err(_) => panic!("{}", said(findings)),
    }
}

/// A manifest with `launches` launches that read and write everything.
pub fn manifest(name: &str, args: &[Arg], launches: usize) -> Manifest {
    let all: Vec<usize> = (0..args.len()).collect();
    let of_role = |roles: &[Role]| all.iter().copied().filter(|i| roles.contains(&args[*i].2)).collect::<Vec<_>>();
    let writes = of_role(&[Role::Output, Role::Inout, Role::Intermediate]);
    let arg = |index: usize, &(name, ty, role): &Arg| {
        let parsed = KernelType::parse(ty).unwrap();
        let memref = parsed.as_memref().unwrap();
        let element = Element::from_mlir(&memref.element).unwrap();
        let every: Vec<usize> = (0..launches).collect();
        ManifestArg {
            index,
            name: name.into(),
            ty: ty.into(),
            element,
            element_bits: element.bits(),
            shape: memref.shape.iter().map(|d| d.unwrap()).collect(),
            bytes: memref.byte_count().unwrap(),
            role,
            readers: every.clone(),
            writers: if writes.contains(&index) { every } else { Vec::new() },
        }
    };
    let launch = |index: usize| ManifestLaunch {
        index,
        name: format!("l{index}"),
        entry: launch_entry(index),
        kernel: "test.mlir".into(),
        kernel_hash: String::new(),
        reads: all.clone(),
        writes: writes.clone(),
        points: Vec::new(),
        uses_channels: false,
    };
    Manifest {
        schema: airlink_rt::MANIFEST_SCHEMA,
        abi: airlink_rt::ENTRY_ABI,
        target: "x86_64-linux".into(),
        name: name.into(),
        cpu: airlink_rt::CpuLevel::V3,
        fp: FpRules::default(),
        module_hash: String::new(),
        entry: airlink_rt::PROGRAM_ENTRY.into(),
        args: args.iter().enumerate().map(|(i, a)| arg(i, a)).collect(),
        launches: (0..launches).map(launch).collect(),
        channels: Vec::new(),
        kernels: Vec::new(),
    }
}

/// Lowers and links; panics with what was said if that fails.
pub fn build(text: &str, args: &[Arg], launches: usize, objects: &[&KernelObject], options: &HostOptions) -> Vec<u8> {
    let (ir, mut findings) = (Ir::new(), Findings::default());
    let module = parsed(&ir, text, &mut findings);
    match build_module(&ir, &module, manifest("test", args, launches), objects, options, &mut findings) {
        Ok(elf) => elf,
        Err(_) => panic!("{}", said(&findings)),
    }
}

/// What lowering says of a module: `error AL0701 line 3: headline`, one line per finding.
pub fn complaints(text: &str) -> String {
    let (ir, mut findings) = (Ir::new(), Findings::default());
    let module = parsed(&ir, text, &mut findings);
    let result = lowered_text(&ir, &module, &HostOptions::default(), &mut findings);
    assert_eq!(result.is_err(), findings.has_errors());
    said(&findings)
}

/// The module after AIR is gone.
pub fn lowered(text: &str, options: &HostOptions) -> String {
    let (ir, mut findings) = (Ir::new(), Findings::default());
    let module = parsed(&ir, text, &mut findings);
    match lowered_text(&ir, &module, options, &mut findings) {
        Ok(text) => text,
        Err(_) => panic!("{}", said(&findings)),
    }
}

pub fn said(findings: &Findings) -> String {
    let mut text = String::new();
    for f in findings.in_file_order() {
        let line = f
            .primary_span()
            .map_or(String::new(), |s| format!(" line {}", findings.sources.line_column(s.file, s.start).line));
        let level = if f.severity == Severity::Error { "error" } else { f.severity.as_str() };
        text += &format!("{level} {}{line}: {}", f.code, f.headline);
        text += &f.found.as_ref().map_or(String::new(), |found| format!(" [{found}]"));
        text += "\n";
    }
    text
}

/// An ELF open in this process with one buffer per argument.
pub struct Running {
    elf: HostElf,
    pub buffers: BufferSet,
}

impl Running {
    pub fn new(elf: &[u8]) -> Running {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.elf");
        std::fs::write(&path, elf).unwrap();
        let elf = HostElf::load(&path).unwrap();
        let buffers = BufferSet::for_manifest(elf.manifest(), Placement::End).unwrap();
        Running { elf, buffers }
    }

    pub fn manifest(&self) -> &Manifest {
        self.elf.manifest()
    }

    pub fn set(&mut self, name: &str, values: &[u16]) {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.bytes_mut(name).copy_from_slice(&bytes);
    }

    pub fn get(&self, name: &str) -> Vec<u16> {
        let index = self.buffers.find(name).unwrap();
        let bytes = self.buffers.get(index).unwrap().bytes().unwrap();
        bytes.chunks_exact(2).map(|b| u16::from_le_bytes([b[0], b[1]])).collect()
    }

    pub fn bytes_mut(&mut self, name: &str) -> &mut [u8] {
        let index = self.buffers.find(name).unwrap();
        self.buffers.get_mut(index).unwrap().bytes_mut().unwrap()
    }

    pub fn call(&mut self, entry: Entry) -> Result<(), CallError> {
        let args = Argument::in_order(&self.buffers);
        Caller::new().unwrap().call(&self.elf, entry, &mut self.buffers, &args).map(drop)
    }

    pub fn call_with(&mut self, options: StreamOptions) -> Result<(), CallError> {
        let args = Argument::in_order(&self.buffers);
        let mut caller = Caller::new().unwrap();
        caller.set_stream_options(options);
        caller.call(&self.elf, Entry::Program, &mut self.buffers, &args).map(drop)
    }

    pub fn run(&mut self) {
        self.call(Entry::Program).unwrap();
    }
}

/// Numbers that look random, small enough that sums of products stay finite.
pub fn numbers(seed: u64, count: usize) -> Vec<u16> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        airlink_rt::bf16_from_f32((state >> 40) as f32 / (1 << 23) as f32 - 1.0)
    };
    (0..count).map(|_| next()).collect()
}
