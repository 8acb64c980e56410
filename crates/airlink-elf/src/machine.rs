//! Which machine an object is for.

use std::fmt;

use serde::{Serialize, Serializer};

/// The machine of an ELF file, `e_machine`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Machine {
    X86_64,
    Aarch64,
    /// AMD AI engines; which generation is in `e_flags`, see [`AieGeneration`].
    Aie,
    Other(u16),
}

/// Not in the `object` crate. Source: `llvm/BinaryFormat/ELF.h` of github.com/Xilinx/llvm-aie.
pub(crate) const EM_AIE: u16 = 264;
const EM_X86_64: u16 = 62;
const EM_AARCH64: u16 = 183;

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

impl Serialize for Machine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The generation of AI engine that an AIE object is compiled for: its code runs on no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AieGeneration {
    Aie1,
    /// npu1.
    Aie2,
    /// npu2.
    Aie2P,
}

impl AieGeneration {
    /// From `e_flags`. Source: as for the machine's number.
    pub fn from_flags(e_flags: u32) -> Option<AieGeneration> {
        match e_flags {
            1 => Some(AieGeneration::Aie1),
            2 => Some(AieGeneration::Aie2),
            3 => Some(AieGeneration::Aie2P),
            _ => None,
        }
    }
}

impl fmt::Display for AieGeneration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AieGeneration::Aie1 => "AIE1",
            AieGeneration::Aie2 => "AIE2",
            AieGeneration::Aie2P => "AIE2P",
        })
    }
}

impl Serialize for AieGeneration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
