//! Guarded buffers: the arguments of a host ELF, each between pages that nobody may touch.
//!
//! The data of a buffer starts at a multiple of 64 bytes, as vector code and the DMA engines of the NPU want it. Where
//! the size is a multiple of 64 too, the data ends exactly at the guard behind, and the first byte beyond faults. For
//! other sizes alignment wins over precision: up to 63 bytes lie between the end and the guard. They, and the slack in
//! front of the data, are *margins*: filled with a pattern that [`BufferSet::damaged_margins`] compares after a call,
//! so that a write there is found as well, though later and without the instruction. [`Placement::Start`] puts the
//! data right behind the front guard instead, for a second run that catches what reads before the start.

mod mapping;
mod set;

pub(crate) use mapping::Mapping;
pub(crate) use mapping::page_bytes;
use mapping::round_up;
pub use set::{BufferSet, MarginDamage, Place, Side};

use std::io;

use crate::Role;

/// Alignment of a buffer's first byte.
const ALIGN_BYTES: usize = 64;

/// Memory for one argument, with its name, so that a fault can be told.
#[derive(Debug)]
pub struct Buffer {
    name: String,
    role: Role,
    size_bytes: usize,
    /// From the first byte of the run to the first byte of data.
    front_margin_bytes: usize,
    protection: Protection,
    mapping: Mapping,
}

/// Which end of the pages the data lies at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// Up against the guard behind: running past the end faults.
    #[default]
    End,
    /// Up against the guard in front: reading before the start faults.
    Start,
}

/// What may be done with a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    ReadWrite,
    ReadOnly,
    Closed,
}

/// What memory holds that nobody has written yet. Running with both tells reads of unwritten memory apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poison {
    /// Bytes 0xff: a NaN in every float type, -1 in every signed integer type.
    Nan,
    Zero,
}

impl Poison {
    pub fn byte(self) -> u8 {
        match self {
            Poison::Nan => 0xff,
            Poison::Zero => 0,
        }
    }
}

/// Memory for arguments could not be had.
#[derive(Debug, thiserror::Error)]
pub enum BufferError {
    #[error("no memory for the {size_bytes} bytes of `{name}`: {source}")]
    Map { name: String, size_bytes: u64, source: io::Error },
    #[error("the protection of `{name}` cannot be changed: {source}")]
    Protect { name: String, source: io::Error },
    #[error("two buffers are called `{0}`")]
    Duplicate(String),
}

impl Buffer {
    /// A buffer of zeros that can be read and written.
    pub fn new(name: &str, size_bytes: u64, role: Role, placement: Placement) -> Result<Buffer, BufferError> {
        let failed = |source| BufferError::Map { name: name.to_string(), size_bytes, source };
        let too_large = || failed(io::ErrorKind::OutOfMemory.into());
        let size = usize::try_from(size_bytes).map_err(|_| too_large())?;
        let aligned = round_up(size, ALIGN_BYTES).ok_or_else(too_large)?;
        let mapping = Mapping::guarded(aligned).map_err(failed)?;
        let front_margin_bytes = match placement {
            Placement::End => mapping.run_bytes() - aligned,
            Placement::Start => 0,
        };
        let mut buffer = Buffer {
            name: name.to_string(),
            role,
            size_bytes: size,
            front_margin_bytes,
            protection: Protection::ReadWrite,
            mapping,
        };
        buffer.fill_margins();
        Ok(buffer)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn role(&self) -> Role {
        self.role
    }

    pub fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    pub fn protection(&self) -> Protection {
        self.protection
    }

    /// The content; `None` while the buffer is closed.
    pub fn bytes(&self) -> Option<&[u8]> {
        if self.protection == Protection::Closed {
            return None;
        }
        // SAFETY: the range lies in our mapping, which is readable, initialised (anonymous memory is zero) and not
        // written while `&self` lives: writers, calls included, hold `&mut` to the buffer or its set.
        Some(unsafe { std::slice::from_raw_parts(self.as_ptr(), self.size_bytes) })
    }

    /// The content for writing; `None` unless the buffer can be read and written.
    pub fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        if self.protection != Protection::ReadWrite {
            return None;
        }
        // SAFETY: as in `bytes`, and `&mut self` makes the slice the only one.
        Some(unsafe { std::slice::from_raw_parts_mut(self.as_ptr(), self.size_bytes) })
    }

    /// Changes what the ELF and we may do with the content, which stays.
    pub fn protect(&mut self, protection: Protection) -> Result<(), BufferError> {
        if protection == self.protection {
            return Ok(());
        }
        let flags = match protection {
            Protection::ReadWrite => libc::PROT_READ | libc::PROT_WRITE,
            Protection::ReadOnly => libc::PROT_READ,
            Protection::Closed => libc::PROT_NONE,
        };
        self.mapping.protect(flags).map_err(|source| BufferError::Protect { name: self.name.clone(), source })?;
        self.protection = protection;
        Ok(())
    }

    /// Overwrites the whole content; whether it could be written to.
    pub fn poison(&mut self, poison: Poison) -> bool {
        self.bytes_mut().map(|b| b.fill(poison.byte())).is_some()
    }

    /// The first byte of data; one past the end of the run where there is none.
    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.mapping.run().wrapping_add(self.front_margin_bytes)
    }

    fn fill_margins(&mut self) {
        let end = self.front_margin_bytes + self.size_bytes;
        for at in (0..self.front_margin_bytes).chain(end..self.mapping.run_bytes()) {
            // SAFETY: `at` lies in the run, which is writable: only `new` calls this, before anything is protected.
            unsafe { self.mapping.run().add(at).write(margin_byte(at)) };
        }
    }

    /// The margin byte nearest to the data that is not what it was, as an offset in the run, and how many there are.
    fn damage(&self, margin: std::ops::Range<usize>, nearest_last: bool) -> Option<(usize, usize)> {
        if self.protection == Protection::Closed {
            return None;
        }
        // SAFETY: `at` lies in the run, which is readable unless closed.
        let damaged = margin.filter(|&at| unsafe { self.mapping.run().add(at).read() } != margin_byte(at));
        let (first, last, count) =
            damaged.fold((None, None, 0), |(first, _, count), at| (first.or(Some(at)), Some(at), count + 1));
        Some((if nearest_last { last? } else { first? }, count))
    }
}

/// The pattern of the margins: neither zero nor a NaN nor constant, so that few stray writes repeat it.
pub(crate) const fn margin_byte(at: usize) -> u8 {
    0x5a ^ (at as u8).wrapping_mul(29)
}

/// The pattern repeats after so many bytes.
const MARGIN_PERIOD: usize = 256;

/// Two periods of it: a whole one from any byte of the first on.
static MARGIN: [u8; 2 * MARGIN_PERIOD] = {
    let mut pattern = [0; 2 * MARGIN_PERIOD];
    let mut at = 0;
    while at < pattern.len() {
        pattern[at] = margin_byte(at);
        at += 1;
    }
    pattern
};

/// Whether bytes that lie at `at` are all as the margins are. Tiles end by the thousand, and each has margins.
pub(crate) fn is_margin(bytes: &[u8], at: usize) -> bool {
    let period = &MARGIN[at % MARGIN_PERIOD..][..MARGIN_PERIOD];
    bytes.chunks(MARGIN_PERIOD).all(|chunk| chunk == &period[..chunk.len()])
}
