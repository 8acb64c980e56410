//! CDO: the list of register writes that a configuration is.
//!
//! Source: `cdo_driver.c` in github.com/Xilinx/bootgen and github.com/Xilinx/mlir-aie; version 2.

use serde::Serialize;

use super::bytes::u32_at;

const HEADER_BYTES: usize = 20;
const HEADER_WORDS: u32 = 4;
/// `CDO` as a word.
const MAGIC: u32 = 0x004f_4443;
const VERSION: u32 = 0x200;

const CMD_END: u32 = 0x100;
const CMD_MASK_POLL: u32 = 0x101;
const CMD_MASK_WRITE: u32 = 0x102;
const CMD_WRITE: u32 = 0x103;
const CMD_DMA_WRITE: u32 = 0x105;
const CMD_MASK_POLL64: u32 = 0x106;
const CMD_MASK_WRITE64: u32 = 0x107;
const CMD_WRITE64: u32 = 0x108;
const CMD_NOP: u32 = 0x111;

/// One command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum CdoCommand<'d> {
    Write {
        address: u64,
        value: u32,
    },
    MaskWrite {
        address: u64,
        mask: u32,
        value: u32,
    },
    MaskPoll {
        address: u64,
        mask: u32,
        value: u32,
    },
    DmaWrite {
        address: u64,
        #[serde(skip)]
        payload: &'d [u8],
    },
    Nop {
        pad_words: u32,
    },
    End,
}

/// Why bytes are no CDO, as the end of a sentence about them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CdoError {
    #[error("its CDO header is cut short")]
    NoHeader,
    #[error("its CDO header has the wrong {field}")]
    Header { field: &'static str },
    #[error("its CDO header says {said} words, and there are {found}")]
    Size { said: u32, found: usize },
    #[error("the CDO command {command:#x} at {offset:#x} is unknown")]
    Unknown { offset: usize, command: u32 },
    #[error("the CDO command {command:#x} at {offset:#x} ends past the CDO's end")]
    Truncated { offset: usize, command: u32 },
    #[error("the CDO command {command:#x} at {offset:#x} has {words} words")]
    Words { offset: usize, command: u32, words: usize },
}

/// Reads the CDO that fills `bytes` to the last, but for zeros that pad it to 16 bytes.
pub fn cdo(bytes: &[u8]) -> Result<Vec<CdoCommand<'_>>, CdoError> {
    let header = [0, 4, 8, 12, 16].map(|at| u32_at(bytes, at));
    let [Some(words), Some(magic), Some(version), Some(length), Some(checksum)] = header else {
        return Err(CdoError::NoHeader);
    };
    let sum = [words, magic, version, length].into_iter().fold(0, u32::wrapping_add);
    let fields = [
        (words == HEADER_WORDS, "length"),
        (magic == MAGIC, "magic"),
        (version == VERSION, "version"),
        (checksum == !sum, "checksum"),
    ];
    if let Some((_, field)) = fields.into_iter().find(|(is_right, _)| !is_right) {
        return Err(CdoError::Header { field });
    }
    let rest = &bytes[HEADER_BYTES..];
    let size = (length as usize).checked_mul(4).filter(|size| *size <= rest.len());
    let size = size.ok_or(CdoError::Size { said: length, found: rest.len() / 4 })?;
    let pad = &rest[size..];
    if pad.len() >= 16 || pad.iter().any(|b| *b != 0) {
        return Err(CdoError::Size { said: length, found: rest.len() / 4 });
    }
    commands(&bytes[..HEADER_BYTES + size])
}

fn commands(bytes: &[u8]) -> Result<Vec<CdoCommand<'_>>, CdoError> {
    let mut list = Vec::new();
    let mut at = HEADER_BYTES;
    while at < bytes.len() {
        let offset = at;
        let head = u32_at(bytes, at).unwrap_or_default();
        // The upper half counts the payload's words; 255 says that the next word does.
        let (command, mut count) = (head & 0xffff, (head >> 16) as usize);
        at += 4;
        let truncated = CdoError::Truncated { offset, command };
        if count == 255 {
            count = u32_at(bytes, at).ok_or(truncated.clone())? as usize;
            at += 4;
        }
        let end = count.checked_mul(4).and_then(|size| at.checked_add(size)).ok_or(truncated.clone())?;
        let payload = bytes.get(at..end).ok_or(truncated)?;
        list.push(one(command, payload, offset)?);
        at = end;
    }
    Ok(list)
}

fn one(command: u32, payload: &[u8], offset: usize) -> Result<CdoCommand<'_>, CdoError> {
    let word = |i: usize| u32_at(payload, i * 4).unwrap_or_default();
    let wide = || u64::from(word(0)) << 32 | u64::from(word(1));
    let count = payload.len() / 4;
    let (expected, parsed) = match command {
        CMD_WRITE => (2, CdoCommand::Write { address: word(0).into(), value: word(1) }),
        CMD_WRITE64 => (3, CdoCommand::Write { address: wide(), value: word(2) }),
        CMD_MASK_WRITE => (3, CdoCommand::MaskWrite { address: word(0).into(), mask: word(1), value: word(2) }),
        CMD_MASK_WRITE64 => (4, CdoCommand::MaskWrite { address: wide(), mask: word(2), value: word(3) }),
        CMD_MASK_POLL => (4, CdoCommand::MaskPoll { address: word(0).into(), mask: word(1), value: word(2) }),
        CMD_MASK_POLL64 => (5, CdoCommand::MaskPoll { address: wide(), mask: word(2), value: word(3) }),
        CMD_DMA_WRITE => {
            (count.max(2), CdoCommand::DmaWrite { address: wide(), payload: payload.get(8..).unwrap_or(&[]) })
        }
        CMD_NOP => (count, CdoCommand::Nop { pad_words: count as u32 }),
        CMD_END => (count, CdoCommand::End),
        _ => return Err(CdoError::Unknown { offset, command }),
    };
    if count == expected { Ok(parsed) } else { Err(CdoError::Words { offset, command, words: count }) }
}

/// The bytes of a CDO that does nothing `nop_count` times, as a configuration without content is written: a CDO must
/// not be empty.
pub(crate) fn empty_cdo(nop_count: u32) -> Vec<u8> {
    let header = [HEADER_WORDS, MAGIC, VERSION, nop_count];
    let checksum = !header.into_iter().fold(0, u32::wrapping_add);
    let nops = std::iter::repeat_n(CMD_NOP, nop_count as usize);
    header.into_iter().chain([checksum]).chain(nops).flat_map(u32::to_le_bytes).collect()
}
