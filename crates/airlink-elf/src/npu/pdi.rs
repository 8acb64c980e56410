//! PDI: a boot image that holds one CDO, which configures the array.
//!
//! Source: `bootgen -arch versal` (github.com/Xilinx/bootgen), whose output for mlir-aie's BIF the empty image equals.

use super::bytes::{u32_at, words};
use super::cdo::{CdoCommand, CdoError, cdo, empty_cdo};

/// Width detection words in front of the image header table.
const MAGIC: [u32; 4] = [0xdd, 0x1122_3344, 0x5566_7788, 0x99aa_bbcc];

const TABLE_AT: usize = 0x10;
const TABLE_WORDS: usize = 32;
const IMAGE_AT: usize = 0x90;
const IMAGE_WORDS: usize = 16;
const PARTITION_AT: usize = 0xd0;
const PARTITION_WORDS: usize = 32;
const CDO_AT: usize = 0x150;

/// A configuration as a boot image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pdi<'d> {
    /// Identifies the silicon: 0x14ca8093 in all that aiecc writes.
    pub id_code: u32,
    /// Of the image: `aie_image`.
    pub name: String,
    pub commands: Vec<CdoCommand<'d>>,
}

/// Why bytes are no PDI that is read here, as the end of a sentence about them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PdiError {
    #[error("it ends within its headers")]
    NoHeaders,
    #[error("it has no boot image's first words")]
    Magic,
    #[error("its {header} has the wrong checksum")]
    Checksum { header: &'static str },
    #[error("its {field} is {found:#x}, and {expected:#x} is what is read here")]
    Field { field: &'static str, found: u32, expected: u32 },
    #[error("its partition says {said} words, and there are {found}")]
    Size { said: u32, found: usize },
    #[error("{0}")]
    Cdo(#[from] CdoError),
}

/// Whether the first bytes are those of a PDI.
pub fn is_pdi(bytes: &[u8]) -> bool {
    words(bytes).take(2).eq(MAGIC[..2].iter().copied())
}

/// Reads an image with one partition to its last byte.
pub fn pdi(bytes: &[u8]) -> Result<Pdi<'_>, PdiError> {
    if !is_pdi(bytes) {
        return Err(PdiError::Magic);
    }
    for (header, at, count) in [
        ("image header table", TABLE_AT, TABLE_WORDS),
        ("image header", IMAGE_AT, IMAGE_WORDS),
        ("partition header", PARTITION_AT, PARTITION_WORDS),
    ] {
        let content = bytes.get(at..at + count * 4).ok_or(PdiError::NoHeaders)?;
        if checksum(words(content).take(count - 1)) != u32_at(content, count * 4 - 4).unwrap_or_default() {
            return Err(PdiError::Checksum { header });
        }
    }
    let word = |at: usize| u32_at(bytes, at).ok_or(PdiError::NoHeaders);
    for (field, at, expected) in [
        ("version", TABLE_AT, 0x0004_0000),
        ("image count", TABLE_AT + 0x4, 1),
        ("place of the image header", TABLE_AT + 0x8, (IMAGE_AT / 4) as u32),
        ("partition count", TABLE_AT + 0xc, 1),
        ("place of the partition header", TABLE_AT + 0x10, (PARTITION_AT / 4) as u32),
        ("place of the partition", PARTITION_AT + 0x20, (CDO_AT / 4) as u32),
    ] {
        let found = word(at)?;
        if found != expected {
            return Err(PdiError::Field { field, found, expected });
        }
    }
    let content = bytes.get(CDO_AT..).ok_or(PdiError::NoHeaders)?;
    let said = word(PARTITION_AT + 8)?;
    if said as usize != content.len().div_ceil(4) || content.len() % 4 != 0 {
        return Err(PdiError::Size { said, found: content.len() / 4 });
    }
    let name = bytes[IMAGE_AT + 0x10..IMAGE_AT + 0x20].split(|b| *b == 0).next().unwrap_or_default();
    Ok(Pdi {
        id_code: word(TABLE_AT + 0x18)?,
        name: String::from_utf8_lossy(name).into_owned(),
        commands: cdo(content)?,
    })
}

impl Pdi<'_> {
    /// Whether loading it resets the array and does nothing more.
    pub fn is_empty(&self) -> bool {
        self.commands.iter().all(|c| matches!(c, CdoCommand::Nop { .. } | CdoCommand::End))
    }
}

/// A configuration without content: loading it resets the array, which is all that a linker needs one for.
pub fn empty_pdi() -> Vec<u8> {
    // One no-op for each of the three files that aiecc gives to bootgen.
    let content = empty_cdo(3);
    let word_count = (content.len() / 4) as u32;
    let mut image = vec![0_u32; CDO_AT / 4];
    image[..4].copy_from_slice(&MAGIC);
    let table: [(usize, u32); 10] = [
        (0x00, 0x0004_0000),
        (0x04, 1),
        (0x08, (IMAGE_AT / 4) as u32),
        (0x0c, 1),
        (0x10, (PARTITION_AT / 4) as u32),
        (0x18, 0x14ca_8093),
        (0x28, u32::from_le_bytes(*b"IDPP")),
        (0x2c, 0x0020_1020),
        (0x30, 0x30),
        (0x44, 1),
    ];
    let header: [(usize, u32); 6] = [
        (0x00, (PARTITION_AT / 4) as u32),
        (0x04, 1),
        (0x10, u32::from_le_bytes(*b"aie_")),
        (0x14, u32::from_le_bytes(*b"imag")),
        (0x18, u32::from(b'e')),
        (0x20, 0x1c00_0000),
    ];
    let partition: [(usize, u32); 8] = [
        (0x00, word_count),
        (0x04, word_count),
        (0x08, word_count),
        (0x18, u32::MAX),
        (0x1c, u32::MAX),
        (0x20, (CDO_AT / 4) as u32),
        (0x24, 0x0200_0006),
        (0x28, 1),
    ];
    for (at, count, fields) in [
        (TABLE_AT, TABLE_WORDS, &table[..]),
        (IMAGE_AT, IMAGE_WORDS, &header[..]),
        (PARTITION_AT, PARTITION_WORDS, &partition[..]),
    ] {
        let header = &mut image[at / 4..at / 4 + count];
        for (offset, value) in fields {
            header[offset / 4] = *value;
        }
        header[count - 1] = checksum(header[..count - 1].iter().copied());
    }
    let mut bytes: Vec<u8> = image.into_iter().flat_map(u32::to_le_bytes).collect();
    bytes.extend(content);
    bytes
}

/// The complement of the sum.
fn checksum(words: impl Iterator<Item = u32>) -> u32 {
    !words.fold(0, u32::wrapping_add)
}
