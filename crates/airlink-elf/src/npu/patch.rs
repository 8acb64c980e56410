//! What the loader does to a section before it runs: addresses put where relocations say.
//!
//! Source: `elf_patcher.cpp` of github.com/Xilinx/XRT.

use super::bytes::{put_u32, u32_at};
use super::image::{Relocation, Scheme};

/// Where the array sees DDR: the loader adds it to every address of a descriptor.
pub const DDR_APERTURE: u64 = 0x8000_0000;

/// Why a relocation cannot be applied, as the end of a sentence about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    #[error("it patches bytes {start:#x} to {end:#x} of a section of {section_bytes:#x}")]
    Outside { start: u64, end: u64, section_bytes: usize },
    #[error("its scheme is {} ({name})", scheme.0, name = scheme.name())]
    Scheme { scheme: Scheme },
}

/// Whether a relocation has a known scheme and patches bytes of a section of that size only.
pub fn check_extent(relocation: &Relocation, section_bytes: usize) -> Result<(), PatchError> {
    let extent = relocation.scheme.extent().ok_or(PatchError::Scheme { scheme: relocation.scheme })?;
    let [start, end] = [extent.start, extent.end].map(|at| u64::from(relocation.offset) + u64::from(at));
    // The loader refuses offsets at or past the end, and so even those whose first bytes are not patched.
    match end <= section_bytes as u64 {
        true => Ok(()),
        false => Err(PatchError::Outside { start, end, section_bytes }),
    }
}

/// Puts `address` where `relocation` says. What is there already is added to, as the loader does.
pub fn apply(section: &mut [u8], relocation: &Relocation, address: u64) -> Result<(), PatchError> {
    check_extent(relocation, section.len())?;
    let at = relocation.offset as usize;
    let value = address.wrapping_add(u64::from(relocation.addend));
    match relocation.scheme {
        Scheme::SCALAR_32 => {
            // Without the addend.
            let mask = relocation.size;
            put(section, at, mask, address as u32);
        }
        Scheme::ADDRESS_64 => {
            put(section, at, u32::MAX, address as u32);
            put(section, at + 4, u32::MAX, (address >> 32) as u32);
        }
        // Word 1 and 2 of a descriptor; in packets a pair of header words is counted too.
        Scheme::SHIM_DMA_48 => add_48(section, at + 4, 0xffff, value),
        Scheme::CONTROL_PACKET_48 => add_48(section, at + 8, 0xfff, value),
        scheme => return Err(PatchError::Scheme { scheme }),
    }
    Ok(())
}

fn add_48(section: &mut [u8], at: usize, high_mask: u32, value: u64) {
    let [low, high] = [at, at + 4].map(|at| u64::from(u32_at(section, at).unwrap_or_default()));
    let sum = ((high & u64::from(high_mask)) << 32 | low).wrapping_add(value).wrapping_add(DDR_APERTURE);
    put(section, at, u32::MAX, sum as u32 & !3);
    put(section, at + 4, 0xffff, (sum >> 32) as u32);
}

fn put(section: &mut [u8], at: usize, mask: u32, value: u32) {
    if let Some(old) = u32_at(section, at) {
        put_u32(section, at, old & !mask | value & mask);
    }
}
