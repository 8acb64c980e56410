//! Relocations of control code, from the code itself: what the assembler of NPU ELFs does with `DDR_PATCH`.
//!
//! Source: `aie2_blob_preprocessor_input.cpp` of github.com/Xilinx/aiebu (`process_txn`, `patch_helper`).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::bytes::{put_u32, u32_at};
use super::control::{ControlError, OpKind, control_code};
use super::image::{Relocation, Scheme};
use super::patch::DDR_APERTURE;
use super::registers::{Meaning, Register, TileKind};

/// How control code names what it refers to.
#[derive(Clone, Debug, Default)]
pub struct Naming {
    /// Number of the symbol of argument 0.
    pub argument_base: u32,
    /// Symbols of arguments that are not called by their number: `control-packet`.
    pub names: BTreeMap<u32, Arc<str>>,
    /// Symbol of every patch, where the code is that of preemption.
    pub scratch: Option<Arc<str>>,
    /// Whether addresses above argument 4 hold [`DDR_APERTURE`] already, as in a stream to be used beside an xclbin,
    /// where the firmware adds it for the first five arguments alone. Source: `AIETargetNPU.cpp` of mlir-aie.
    pub is_aperture_folded: bool,
    /// Ids of the control packets for program memory that the ELF holds.
    pub pm_ids: Vec<u32>,
}

/// Why relocations cannot be derived, as the end of a sentence about the control code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeriveError {
    #[error("{0}")]
    Control(#[from] ControlError),
    #[error("its patch at {offset:#x} is of {register}, which no block write before it fills")]
    NoBlockWrite { offset: usize, register: Register },
    #[error("its patch at {offset:#x} is of {register}, which is no address or length of a descriptor")]
    NotPatched { offset: usize, register: Register },
}

/// The last argument to whose addresses the firmware adds [`DDR_APERTURE`] by itself.
const FIRMWARE_ARGUMENT_MAX: u32 = 4;

/// Clears the addresses that the loader fills, and gives the relocations that fill them, in code order.
///
/// An offset that does not fit a relocation is written into the descriptor, to which the loader adds.
pub fn derive(code: &mut [u8], naming: &Naming) -> Result<Vec<Relocation>, DeriveError> {
    let sites = sites(code, naming)?;
    let mut relocations = Vec::with_capacity(sites.len());
    for site in sites {
        if site.relocation.scheme == Scheme::SHIM_DMA_48 {
            clear_shim_address(code, site.relocation.offset as usize);
        }
        relocations.push(match u32::try_from(site.addend) {
            Ok(addend) => Relocation { addend, ..site.relocation },
            Err(_) => {
                bake_shim_address(code, site.relocation.offset as usize, site.addend);
                site.relocation
            }
        });
    }
    Ok(relocations)
}

/// Adds a byte offset to the address words of the shim descriptor at `at`.
pub(crate) fn bake_shim_address(code: &mut [u8], at: usize, offset_bytes: u64) {
    let [low, high] = [at + 4, at + 8].map(|at| u64::from(u32_at(code, at).unwrap_or_default()));
    let sum = ((high & 0xffff) << 32 | low).wrapping_add(offset_bytes);
    put_u32(code, at + 4, sum as u32);
    put_u32(code, at + 8, high as u32 & 0xffff_0000 | (sum >> 32) as u32 & 0xffff);
}

/// The 30 low bits of the word address and its 16 high ones; the two below them are kept.
fn clear_shim_address(code: &mut [u8], at: usize) {
    let [low, high] = [at + 4, at + 8].map(|at| u32_at(code, at).unwrap_or_default());
    put_u32(code, at + 4, low & 3);
    put_u32(code, at + 8, high & 0xffff_0000);
}

/// A relocation whose addend may not fit it yet.
pub(crate) struct Site {
    pub relocation: Relocation,
    pub addend: u64,
    /// Where the `DDR_PATCH` stands that asks for it; none for other operations.
    pub patch_at: Option<usize>,
}

pub(crate) fn sites(code: &[u8], naming: &Naming) -> Result<Vec<Site>, DeriveError> {
    // Where the descriptor at a register was written last: the place of its words, and the bytes that it moves.
    let mut written: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
    let mut sites = Vec::new();
    // Operations yet to come of a sequence that loads program memory, and its packets' id.
    let mut loading: Option<(u32, u32)> = None;
    for operation in control_code(code)?.operations() {
        let operation = operation?;
        let end = operation.offset + operation.bytes.len();
        let pm = loading.filter(|(left, _)| *left > 0).map(|(_, id)| id).filter(|id| naming.pm_ids.contains(id));
        loading = loading.and_then(|(left, id)| Some((left.checked_sub(1)?, id)));
        match operation.kind {
            OpKind::LoadPm { op_count, id } => loading = Some((op_count, id)),
            OpKind::LoadPdi { id, size_bytes, .. } => {
                let symbol = format!(".pdi.{id}").into();
                sites.push(Site::new(operation.offset + 8, Scheme::ADDRESS_64, symbol, size_bytes, 0));
            }
            OpKind::CreateScratchpad { size_bytes, .. } => {
                let symbol = "scratch-pad-ctrl".into();
                sites.push(Site::new(operation.offset + 8, Scheme::ADDRESS_64, symbol, size_bytes, 0));
            }
            OpKind::BlockWrite { address, payload } => {
                let start = end - payload.len();
                if let Some(id) = pm {
                    let bytes = u32_at(payload, 0).unwrap_or_default().wrapping_mul(4);
                    let symbol = format!("ctrlpkt-pm-{id}").into();
                    sites.push(Site::new(start, Scheme::SHIM_DMA_48, symbol, bytes, 0));
                    continue;
                }
                for (at, chunk) in payload.chunks(0x20).enumerate().map(|(i, c)| (i * 0x20, c)) {
                    // Most of what is written is programs: only descriptors are patched.
                    if !Register::of(address.wrapping_add(at as u32)).is_descriptor() {
                        continue;
                    }
                    let length = u32_at(chunk, 0).unwrap_or_default().wrapping_mul(4);
                    written.insert(address.wrapping_add(at as u32), ((start + at) as u32, length));
                }
            }
            OpKind::Patch { address, argument, offset_bytes } => {
                let register = Register::of(address);
                let place = written.get(&(address & !15));
                let (at, length) = *place.ok_or(DeriveError::NoBlockWrite { offset: operation.offset, register })?;
                let (scheme, at, size) = target(register, at, length)
                    .ok_or(DeriveError::NotPatched { offset: operation.offset, register })?;
                let addend = match naming.is_aperture_folded && argument > FIRMWARE_ARGUMENT_MAX {
                    true => offset_bytes.wrapping_sub(DDR_APERTURE),
                    false => offset_bytes,
                };
                let site = Site::new(at as usize, scheme, naming.symbol(argument), size, addend);
                sites.push(Site { patch_at: Some(operation.offset), ..site });
            }
            _ => {}
        }
    }
    Ok(sites)
}

/// What a patched register means: the scheme, where it applies, and what the symbol's size says.
fn target(register: Register, at: u32, length_bytes: u32) -> Option<(Scheme, u32, u32)> {
    match (register.tile_kind(), register.meaning()) {
        (TileKind::Shim, Meaning::BdWord { word: 1, .. }) => Some((Scheme::SHIM_DMA_48, at, length_bytes)),
        (TileKind::Shim, Meaning::BdWord { word: 0, .. }) => Some((Scheme::SCALAR_32, at, u32::MAX)),
        (TileKind::Memtile, Meaning::BdWord { word: 0, .. }) => Some((Scheme::SCALAR_32, at, 0x1_ffff)),
        (TileKind::Memtile, Meaning::BdWord { word: 1, .. }) => Some((Scheme::SCALAR_32, at + 4, 0x7_ffff)),
        _ => None,
    }
}

impl Site {
    fn new(offset: usize, scheme: Scheme, symbol: Arc<str>, size: u32, addend: u64) -> Site {
        let relocation = Relocation { offset: offset as u32, scheme, addend: 0, symbol, size };
        Site { relocation, addend, patch_at: None }
    }
}

impl Naming {
    fn symbol(&self, argument: u32) -> Arc<str> {
        match (&self.scratch, self.names.get(&argument)) {
            (Some(name), _) | (None, Some(name)) => name.clone(),
            (None, None) => argument.saturating_add(self.argument_base).to_string().into(),
        }
    }
}
