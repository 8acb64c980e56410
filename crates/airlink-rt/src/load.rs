//! Opening host ELFs: the file is checked against this machine before any of its code can run.

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use object::read::elf::{ElfFile64, FileHeader};
use object::{Endianness, FileKind, Object, ObjectSection, ObjectSegment, elf};
use std::ffi::c_void;
use std::io;
use std::path::{Path, PathBuf};

use crate::local::{self, LocalBuffer, Row};
use crate::stream::{SERVICES, Services};
use crate::symbols::Functions;
use crate::{CpuLevel, MANIFEST_SECTION, Manifest, ManifestError};

/// A host ELF that is open in this process.
///
/// A host ELF is code: loading one that you do not trust is like running it. Its guards catch mistakes, not malice.
#[derive(Debug)]
pub struct HostElf {
    manifest: Manifest,
    program: EntryFunction,
    launches: Vec<EntryFunction>,
    locals: Vec<LocalBuffer>,
    functions: Functions,
    /// It was given the services for channels, and must run among coroutines.
    uses_streams: bool,
    /// Last, so that nothing above outlives the code.
    _library: Library,
}

/// `int32_t entry(void *const *args, uint64_t n_args)`
pub(crate) type EntryFunction = unsafe extern "C" fn(*const *mut c_void, u64) -> i32;

/// A file that cannot be run here.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("`{path}` cannot be read: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("not an ELF file")]
    NotElf,
    #[error("a damaged ELF file: {0}")]
    Damaged(String),
    #[error("an ELF of kind {found}, this machine runs {allowed}")]
    Machine { found: String, allowed: &'static str },
    #[error("an ELF without a `{MANIFEST_SECTION}` section: airlink did not make it, or it was stripped")]
    NoManifest,
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    #[error("the ELF needs a CPU of level {needs}, this one lacks {}", missing.join(", "))]
    Cpu { needs: CpuLevel, missing: Vec<&'static str> },
    #[error("the ELF cannot be opened: {0}")]
    Open(String),
    #[error("the ELF has no entry `{0}`, which its manifest names")]
    NoEntry(String),
    #[error("the ELF refused the run time: code {0}")]
    Bind(i32),
}

impl HostElf {
    /// Checks the file's kind, its manifest and the CPU that it needs, then opens it.
    ///
    /// # Errors
    /// Everything but [`LoadError::Open`], [`LoadError::NoEntry`] and [`LoadError::Bind`] is found before any code of
    /// the file runs.
    pub fn load(path: &Path) -> Result<HostElf, LoadError> {
        let read_error = |source| LoadError::Read { path: path.to_path_buf(), source };
        let bytes = std::fs::read(path).map_err(read_error)?;
        let manifest = read_manifest(&bytes)?;
        let missing = manifest.cpu.missing_features();
        if !missing.is_empty() {
            return Err(LoadError::Cpu { needs: manifest.cpu, missing });
        }
        // A bare file name would be looked for on the library path.
        let absolute = std::path::absolute(path).map_err(read_error)?;
        // SAFETY: runs the file's initialisers. It says that airlink made it, for this kind of machine; what it holds
        // beyond that is the caller's trust in it, as with any program.
        let library = unsafe { Library::open(Some(absolute), RTLD_NOW | RTLD_LOCAL) }.map_err(open_error)?;
        let uses_streams = bind(&library)?;
        let program = entry(&library, &manifest.entry)?;
        let launches = manifest.launches.iter().map(|l| entry(&library, &l.entry)).collect::<Result<_, _>>()?;
        // SAFETY: the symbol, where it is there, is the table by its name; it lives as long as the library.
        let locals = match unsafe { library.get::<*const Row>("airlink_buffers") } {
            Ok(table) => unsafe { local::read_table(*table) },
            Err(_) => Vec::new(),
        };
        let functions = Functions::of(&bytes);
        Ok(HostElf { manifest, program, launches, locals, functions, uses_streams, _library: library })
    }

    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The L1 and L2 buffers whose zones are to be watched.
    pub(crate) fn locals(&self) -> &[LocalBuffer] {
        &self.locals
    }

    /// The function of this ELF that holds an instruction.
    pub(crate) fn function_at(&self, instruction: u64) -> Option<&str> {
        self.functions.at(instruction, self.program as *const c_void)
    }

    /// Whether a launch of it uses channels.
    pub fn uses_streams(&self) -> bool {
        self.uses_streams
    }

    pub(crate) fn program(&self) -> EntryFunction {
        self.program
    }

    pub(crate) fn launch(&self, index: usize) -> Option<EntryFunction> {
        self.launches.get(index).copied()
    }
}

/// Reads the manifest out of an ELF's bytes without running any of it.
pub fn read_manifest(bytes: &[u8]) -> Result<Manifest, LoadError> {
    let damaged = |e: object::read::Error| LoadError::Damaged(e.to_string());
    match FileKind::parse(bytes) {
        Ok(FileKind::Elf64) => {}
        Ok(FileKind::Elf32) => return Err(wrong_machine("a 32-bit ELF".into())),
        _ => return Err(LoadError::NotElf),
    }
    let file = ElfFile64::<Endianness>::parse(bytes).map_err(damaged)?;
    let header = file.elf_header();
    let (machine, kind) = (header.e_machine(file.endian()), header.e_type(file.endian()));
    if file.endian() != Endianness::Little || machine != MACHINE {
        return Err(wrong_machine(machine_name(machine, file.endian())));
    }
    if kind != elf::ET_DYN {
        return Err(wrong_machine(format!("type {kind} (ET_DYN is {})", elf::ET_DYN)));
    }
    // A truncated file would kill the process later, when its pages are touched.
    file.segments().try_for_each(|s| s.data().map(drop)).map_err(damaged)?;
    let section = file.section_by_name(MANIFEST_SECTION).ok_or(LoadError::NoManifest)?;
    let manifest = Manifest::parse(section.data().map_err(damaged)?)?;
    if manifest.target != TARGET {
        return Err(wrong_machine(format!("target {}", manifest.target)));
    }
    Ok(manifest)
}

#[cfg(target_arch = "x86_64")]
const MACHINE: elf::Machine = elf::EM_X86_64;
#[cfg(target_arch = "x86_64")]
const TARGET: &str = "x86_64-linux";
#[cfg(target_arch = "aarch64")]
const MACHINE: elf::Machine = elf::EM_AARCH64;
#[cfg(target_arch = "aarch64")]
const TARGET: &str = "aarch64-linux";

fn wrong_machine(found: String) -> LoadError {
    LoadError::Machine { found, allowed: TARGET }
}

fn machine_name(machine: elf::Machine, endian: Endianness) -> String {
    let name = match machine {
        elf::EM_X86_64 => "x86-64",
        elf::EM_AARCH64 => "AArch64",
        elf::EM_RISCV => "RISC-V",
        // AMD's AI engines and NPUs. Source: the ELF registry, and LLVM-AIE's ELF.h.
        elf::Machine(264) => "AIE",
        _ => return format!("machine {}", machine.0),
    };
    format!("machine {name}, {} endian", format!("{endian:?}").to_lowercase())
}

/// What the loader said; the crate's own text only says that it failed.
fn open_error(error: libloading::Error) -> LoadError {
    LoadError::Open(std::error::Error::source(&error).map_or_else(|| error.to_string(), |s| s.to_string()))
}

fn entry(library: &Library, symbol: &str) -> Result<EntryFunction, LoadError> {
    // SAFETY: the manifest's ABI version says that entries have this type. The copy does not outlive the library: it
    // stays in the same `HostElf`.
    unsafe { library.get::<EntryFunction>(symbol) }.map(|s| *s).map_err(|_| LoadError::NoEntry(symbol.to_string()))
}

/// Hands the services for channels to an ELF that asks for them; whether it does.
fn bind(library: &Library) -> Result<bool, LoadError> {
    // SAFETY: `airlink_bind` has this type in every version of the ABI.
    let Ok(function) = (unsafe { library.get::<unsafe extern "C" fn(*const Services) -> i32>("airlink_bind") }) else {
        return Ok(false);
    };
    // SAFETY: the table is static, so the ELF may keep the pointer.
    match unsafe { function(&SERVICES) } {
        0 => Ok(true),
        code => Err(LoadError::Bind(code)),
    }
}
