//! NPU ELFs: read, written, judged and linked; with the control code and the configurations that they hold.

mod bd;
mod bytes;
mod cdo;
mod control;
mod derive;
mod image;
mod pack;
mod packets;
mod patch;
mod pdi;
mod read;
mod registers;
mod write;

pub use bd::{BD_BYTES, BufferDescriptor, Dim, Iteration, LockUse, Packet};
pub use cdo::{CdoCommand, CdoError, cdo};
pub use control::{
    CONTROL_HEADER_BYTES, ControlCode, ControlError, ControlHeader, OpKind, Operation, Operations, Sync, control_code,
};
pub use derive::{DeriveError, Naming, derive};
pub use image::{
    ElfAbi, ExtraSection, Instance, Kernel, NpuElf, OsAbi, PARTIAL_ARGUMENT_BASE, Relocation, Scheme, Section,
    SectionKind, Signature, SymbolUse, UidForm,
};
pub use pack::{CoalescedBuffer, ExternalBuffer, ExternalBuffers, PackError, PatchLocation, pack};
pub use packets::{ControlPacket, PACKET_BYTES, PacketError, control_packets};
pub use patch::{DDR_APERTURE, PatchError, apply, check_extent};
pub use pdi::{Pdi, PdiError, empty_pdi, is_pdi, pdi};
pub use read::{NpuElfError, is_npu_elf, read_npu_elf};
pub use registers::{Direction, Meaning, Register, TileKind};
pub use write::{NpuWriteError, uid, write_npu_elf};
