//! Which machine an object is for.

use std::fmt;

/// AMD AI engines; not in the `object` crate. Source: llvm-aie's `BinaryFormat/ELF.h`.
pub const EM_AIE: u16 = 264;
const EM_X86_64: u16 = 62;
const EM_AARCH64: u16 = 183;

/// The machine of an ELF file, `e_machine`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Machine {
    X86_64,
    Aarch64,
    Aie,
    Other(u16),
}

impl Machine {
    /// From `e_machine`.
    pub fn from_elf(e_machine: u16) -> Machine {
        match e_machine {
            EM_X86_64 => Machine::X86_64,
            EM_AARCH64 => Machine::Aarch64,
            EM_AIE => Machine::Aie,
            other => Machine::Other(other),
        }
    }

    /// The machine that this build of airlink runs on, and so the one of host objects.
    pub fn host() -> Machine {
        if cfg!(target_arch = "x86_64") {
            Machine::X86_64
        } else if cfg!(target_arch = "aarch64") {
            Machine::Aarch64
        } else {
            Machine::Other(0)
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Machine::X86_64 => f.write_str("x86-64"),
            Machine::Aarch64 => f.write_str("AArch64"),
            Machine::Aie => f.write_str("AIE"),
            Machine::Other(3) => f.write_str("32-bit x86"),
            Machine::Other(40) => f.write_str("32-bit Arm"),
            Machine::Other(243) => f.write_str("RISC-V"),
            Machine::Other(n) => write!(f, "ELF machine {n}"),
        }
    }
}
