//! Choices of the host target.

use std::path::PathBuf;

use airlink_rt::CpuLevel;

/// The machine that code is made for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Machine {
    #[default]
    X86_64,
    /// Objects only: they are for an AArch64 linker, and were never run.
    Aarch64,
}

impl Machine {
    /// What `--cpu` calls the other machine.
    pub const AARCH64: &'static str = "aarch64";

    pub(crate) fn triple(self) -> &'static str {
        match self {
            Machine::X86_64 => "x86_64-unknown-linux-gnu",
            Machine::Aarch64 => "aarch64-unknown-linux-gnu",
        }
    }
}

/// How host ELFs are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostOptions {
    pub machine: Machine,
    /// What the code may use on x86-64; the manifest records it.
    pub cpu: CpuLevel,
    /// The linker that the user asks for (`AIRLINK_LD`), before those that are looked for.
    pub linker: Option<PathBuf>,
    /// Run the points of each launch, and the tiles of each herd, from the last to the first. For `verify`: they have no order, so a program whose
    /// result changes is wrong.
    pub reverse_points: bool,
    /// Fill each fresh buffer with this byte. For `verify`: a program whose result depends on it reads what nobody
    /// wrote.
    pub poison: Option<u8>,
}

impl Default for HostOptions {
    fn default() -> HostOptions {
        HostOptions { machine: Machine::X86_64, cpu: CpuLevel::V3, linker: None, reverse_points: false, poison: None }
    }
}

impl HostOptions {
    /// What LLVM calls the processor. Every AArch64 has what the code needs: a fused multiply-add.
    pub(crate) fn processor(&self) -> &'static str {
        match self.machine {
            Machine::X86_64 => self.cpu.name(),
            Machine::Aarch64 => "generic",
        }
    }

    /// The machine in the manifest of an ELF.
    pub(crate) const TARGET: &'static str = "x86_64-linux";
}
