//! NPU ELFs: read, written, judged and linked; with the control code and the configurations that they hold.

mod bd;
mod bytes;
mod cdo;
mod control;
mod derive;
mod describe;
mod diff;
mod disassemble;
mod emit;
mod image;
mod link;
mod lint;
mod normal;
mod pack;
mod packets;
mod part;
mod patch;
mod pdi;
mod proof;
mod read;
mod registers;
mod write;

pub use bd::{BD_BYTES, BufferDescriptor, Dim, Iteration, LockUse, Packet};
pub use cdo::{CdoCommand, CdoError, cdo};
pub use control::{
    CONTROL_HEADER_BYTES, ControlCode, ControlError, ControlHeader, OpKind, Operation, Operations, Sync, control_code,
};
pub use derive::{DeriveError, Naming, derive};
pub use describe::{
    DESCRIPTION_SCHEMA, DESCRIPTION_SECTION, DescribedArgument, DescribedLaunch, DescribedOperand, Description,
    describe, description,
};
pub use diff::{ElfDifference, diff};
pub use disassemble::mnemonic;
pub use emit::{ControlWriter, ShimTransfer};
pub use image::{
    ElfAbi, ExtraSection, Instance, Kernel, NpuElf, OsAbi, PARTIAL_ARGUMENT_BASE, Relocation, Scheme, Section,
    SectionKind, Signature, SymbolUse, UidForm,
};
pub use link::{Binding, LinkError, LinkOptions, Linked, LinkedLaunch, Omit, link};
pub use lint::{lint, lint_stream};
pub use normal::{LoadCache, NormalKind, NormalOp, Program, argument_address, canonical, operations};
pub use pack::{
    CoalescedBuffer, ExternalBuffer, ExternalBuffers, FullParts, PackError, PatchLocation, pack, pack_full,
};
pub use packets::{ControlPacket, PACKET_BYTES, PacketError, control_packets};
pub use part::{MAIN_KERNEL, Part, PartError};
pub use patch::{DDR_APERTURE, PatchError, apply, check_extent};
pub use pdi::{Pdi, PdiError, empty_pdi, is_pdi, pdi};
pub use proof::{Difference, ProofError, prove};
pub use read::{NpuElfError, is_npu_elf, read_npu_elf};
pub use registers::{Direction, Meaning, Register, TileKind};
pub use write::{NpuWriteError, uid, write_npu_elf};
