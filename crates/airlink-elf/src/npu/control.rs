//! Control code: the flat list of operations that the NPU's firmware carries out. Read, never believed.
//!
//! Source of layouts and sizes: `TxnEncoding.h` of github.com/Xilinx/mlir-aie and `xaie_txn.h` of
//! github.com/Xilinx/aie-codegen for version 0.1, the `_opt` structures there for version 1.0.

use serde::Serialize;

use super::bytes::{u16_at, u32_at, u64_at};

/// Bytes of the header in front of the operations.
pub const CONTROL_HEADER_BYTES: usize = 16;

/// The header of a control-code stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ControlHeader {
    pub major: u8,
    pub minor: u8,
    /// 3 for npu1, 4 for npu2.
    pub generation: u8,
    pub row_count: u8,
    /// Columns of the partition that the code is for.
    pub column_count: u8,
    pub memtile_row_count: u8,
    pub op_count: u32,
    /// Of the whole stream, this header included.
    pub size_bytes: u32,
}

/// A control-code stream whose header was read.
#[derive(Clone, Copy, Debug)]
pub struct ControlCode<'d> {
    pub header: ControlHeader,
    bytes: &'d [u8],
}

/// One operation and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation<'d> {
    /// Of its first byte, in the stream.
    pub offset: usize,
    pub bytes: &'d [u8],
    pub kind: OpKind<'d>,
}

/// What an operation does. Pad bytes, which are garbage in some streams, are no part of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum OpKind<'d> {
    Write {
        address: u32,
        value: u32,
    },
    BlockWrite {
        address: u32,
        #[serde(skip)]
        payload: &'d [u8],
    },
    MaskWrite {
        address: u32,
        value: u32,
        mask: u32,
    },
    /// Waits until the register has the value under the mask.
    MaskPoll {
        address: u32,
        value: u32,
        mask: u32,
        is_busy: bool,
    },
    Noop,
    /// 0 nothing, 1 memtiles, 2 core tiles, 3 registers.
    Preempt {
        level: u8,
    },
    /// Loads a configuration; skipped by the firmware if its address is that of the load before.
    LoadPdi {
        id: u16,
        size_bytes: u32,
        address: u64,
    },
    /// The next operations load program memory.
    LoadPm {
        op_count: u32,
        id: u32,
    },
    CreateScratchpad {
        usage: u8,
        size_bytes: u32,
        address: u64,
    },
    /// `function`: 0 multiply, 1 increment, 2 decrement.
    UpdateState {
        index: u8,
        function: u8,
        operand: u32,
    },
    UpdateRegister {
        index: u8,
        function: u8,
        operand: u32,
        address: u32,
    },
    UpdateScratchpad,
    Sync(Sync),
    /// Where an argument's address goes; inert in an ELF, whose relocations say the same.
    Patch {
        address: u32,
        argument: u32,
        offset_bytes: u64,
    },
    ReadRegisters,
    RecordTimer,
    MergeSync,
}

/// Waits for tokens of DMA channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Sync {
    pub column: u8,
    pub row: u8,
    /// 0 is S2MM, towards memory; 1 is MM2S.
    pub direction: u8,
    pub channel: u8,
    pub column_count: u8,
    pub row_count: u8,
}

/// Why bytes are no control code, as the end of a sentence about them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    #[error("it has {bytes} bytes, fewer than the {CONTROL_HEADER_BYTES} of a header")]
    NoHeader { bytes: usize },
    #[error("its version is {major}.{minor}, and only 0.1 and 1.0 are known")]
    Version { major: u8, minor: u8 },
    #[error("its header says {said} bytes, and there are {found}")]
    Size { said: u32, found: usize },
    #[error("the operation at {offset:#x} has the unknown code {code:#04x}")]
    UnknownOp { offset: usize, code: u8 },
    #[error("the operation with code {code:#04x} at {offset:#x} ends past the stream's end")]
    Truncated { offset: usize, code: u8 },
    #[error("the operation with code {code:#04x} at {offset:#x} says that it has {size} bytes")]
    OpSize { offset: usize, code: u8, size: u32 },
    #[error("its {op_count} operations end at {end:#x}, and the stream ends at {size:#x}")]
    Rest { op_count: u32, end: usize, size: usize },
}

impl ControlHeader {
    /// Whether operations have the short layouts of version 1.0.
    pub fn is_short(&self) -> bool {
        (self.major, self.minor) == (1, 0)
    }
}

/// Reads the header and checks the size that it states.
pub fn control_code(bytes: &[u8]) -> Result<ControlCode<'_>, ControlError> {
    let short = || ControlError::NoHeader { bytes: bytes.len() };
    let op_count = u32_at(bytes, 8).ok_or_else(short)?;
    let size_bytes = u32_at(bytes, 12).ok_or_else(short)?;
    let header = ControlHeader {
        major: bytes[0],
        minor: bytes[1],
        generation: bytes[2],
        row_count: bytes[3],
        column_count: bytes[4],
        memtile_row_count: bytes[5],
        op_count,
        size_bytes,
    };
    if !matches!((header.major, header.minor), (0, 1) | (1, 0)) {
        return Err(ControlError::Version { major: header.major, minor: header.minor });
    }
    if size_bytes as usize != bytes.len() {
        return Err(ControlError::Size { said: size_bytes, found: bytes.len() });
    }
    Ok(ControlCode { header, bytes })
}

impl<'d> ControlCode<'d> {
    /// The operations in order. The iterator ends after the first error; it gives one where the operations that the
    /// header counts do not end where the stream ends.
    pub fn operations(&self) -> Operations<'d> {
        let rest = Some(self.header.op_count);
        Operations { bytes: self.bytes, header: self.header, at: CONTROL_HEADER_BYTES, rest }
    }

    /// All operations.
    ///
    /// Errors: the first operation that is not understood.
    pub fn all(&self) -> Result<Vec<Operation<'d>>, ControlError> {
        self.operations().collect()
    }

    pub fn bytes(&self) -> &'d [u8] {
        self.bytes
    }
}

/// See [`ControlCode::operations`].
#[derive(Clone, Debug)]
pub struct Operations<'d> {
    bytes: &'d [u8],
    header: ControlHeader,
    at: usize,
    /// Operations to come; none once an error was given.
    rest: Option<u32>,
}

impl<'d> Iterator for Operations<'d> {
    type Item = Result<Operation<'d>, ControlError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest?;
        if rest == 0 {
            self.rest = None;
            let (end, size) = (self.at, self.bytes.len());
            let wrong = ControlError::Rest { op_count: self.header.op_count, end, size };
            return (end != size).then_some(Err(wrong));
        }
        match read(self.bytes, self.at, self.header.is_short()) {
            Ok(operation) => {
                self.at += operation.bytes.len();
                self.rest = Some(rest - 1);
                Some(Ok(operation))
            }
            Err(error) => {
                self.rest = None;
                Some(Err(error))
            }
        }
    }
}

fn read(stream: &[u8], offset: usize, is_short: bool) -> Result<Operation<'_>, ControlError> {
    let rest = stream.get(offset..).unwrap_or_default();
    let Some(&code) = rest.first() else { return Err(ControlError::Truncated { offset, code: 0 }) };
    let truncated = ControlError::Truncated { offset, code };
    let size = size(rest, code, is_short).map_err(|what| match what {
        NoSize::Unknown => ControlError::UnknownOp { offset, code },
        NoSize::Truncated => truncated.clone(),
        NoSize::Stated(size) => ControlError::OpSize { offset, code, size },
    })?;
    let bytes = rest.get(..size).ok_or(truncated.clone())?;
    let kind = kind(bytes, code, is_short).ok_or(truncated)?;
    Ok(Operation { offset, bytes, kind })
}

enum NoSize {
    Unknown,
    Truncated,
    Stated(u32),
}

/// Bytes of an operation: stated by those of variable length, and by all of version 0.1 that name a register.
fn size(bytes: &[u8], code: u8, is_short: bool) -> Result<usize, NoSize> {
    // Where the size stands, and the least that holds every field.
    let (at, least) = match (code, is_short) {
        (0x05 | 0x06 | 0x0d, _) => return Ok(4),
        (0x08 | 0x0a, _) => return Ok(16),
        (0x09 | 0x0b, _) => return Ok(8),
        (0x0c, _) => return Ok(12),
        (0x00, true) => return Ok(12),
        (0x03 | 0x04 | 0x07, true) => return Ok(16),
        (0x00, false) => (20, 24),
        (0x01, false) => (12, 16),
        (0x03 | 0x04 | 0x07, false) => (24, 28),
        (0x01, true) => (8, 12),
        (0x80, _) => (4, 16),
        (0x81, _) => (4, 24),
        (0x82..=0x84, _) => (4, 8),
        _ => return Err(NoSize::Unknown),
    };
    let stated = u32_at(bytes, at).ok_or(NoSize::Truncated)?;
    let is_sound = stated >= least && stated % 4 == 0 && (code != 0x81 || stated == 24 || stated >= 48);
    if is_sound { Ok(stated as usize) } else { Err(NoSize::Stated(stated)) }
}

fn kind(bytes: &[u8], code: u8, is_short: bool) -> Option<OpKind<'_>> {
    let word = |index: usize| u32_at(bytes, index * 4);
    // Version 0.1 has a pad word before the register, whose offset has 64 bits, and states the size at the end.
    let (register, value, mask) = if is_short { (1, 2, 3) } else { (2, 4, 5) };
    Some(match code {
        0x00 => OpKind::Write { address: word(register)?, value: word(value)? },
        0x01 => OpKind::BlockWrite { address: word(register)?, payload: bytes.get(if is_short { 12 } else { 16 }..)? },
        0x03 => OpKind::MaskWrite { address: word(register)?, value: word(value)?, mask: word(mask)? },
        0x04 | 0x07 => {
            let (address, value, mask) = (word(register)?, word(value)?, word(mask)?);
            OpKind::MaskPoll { address, value, mask, is_busy: code == 0x07 }
        }
        0x05 => OpKind::Noop,
        0x06 => OpKind::Preempt { level: bytes[1] },
        0x08 => OpKind::LoadPdi { id: u16_at(bytes, 2)?, size_bytes: word(1)?, address: u64_at(bytes, 8)? },
        0x09 => OpKind::LoadPm { op_count: word(0)? >> 8, id: word(1)? },
        0x0a => OpKind::CreateScratchpad { usage: bytes[1], size_bytes: word(1)?, address: u64_at(bytes, 8)? },
        0x0b => OpKind::UpdateState { index: bytes[1], function: bytes[2], operand: word(1)? },
        0x0c => OpKind::UpdateRegister { index: bytes[1], function: bytes[2], operand: word(1)?, address: word(2)? },
        0x0d => OpKind::UpdateScratchpad,
        0x80 => OpKind::Sync(Sync {
            direction: bytes[8],
            row: bytes[9],
            column: bytes[10],
            row_count: bytes[13],
            column_count: bytes[14],
            channel: bytes[15],
        }),
        // 24 bytes in today's short form, 48 in every stream before it.
        0x81 if bytes.len() == 24 => {
            OpKind::Patch { address: word(2)?, argument: u32::from(bytes[12]), offset_bytes: u64_at(bytes, 16)? }
        }
        0x81 => OpKind::Patch { address: word(6)?, argument: word(8)?, offset_bytes: u64_at(bytes, 40)? },
        0x82 => OpKind::ReadRegisters,
        0x83 => OpKind::RecordTimer,
        0x84 => OpKind::MergeSync,
        _ => return None,
    })
}

/// Where an operation that names an argument holds the argument's number and the byte offset (two words), counted from
/// the operation's first byte.
pub(crate) fn patch_fields(size: usize) -> (usize, usize) {
    if size == 24 { (12, 16) } else { (32, 40) }
}
