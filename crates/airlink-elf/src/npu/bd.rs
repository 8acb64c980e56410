//! Buffer descriptors as fields.
//!
//! Source of the bit fields: `AIEDmaToNpu.cpp` of github.com/Xilinx/mlir-aie (`WriteBdToBlockWritePattern`).

use std::fmt;

use serde::Serialize;

use super::registers::TileKind;

/// From one descriptor's first register to the next one's; core tiles use 24 bytes of them.
pub const BD_BYTES: u32 = 0x20;

/// What a descriptor moves. Sizes and strides are in 32-bit words, strides as steps: 1 is contiguous.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BufferDescriptor {
    pub tile: TileKind,
    pub length_words: u32,
    /// Of the buffer: bytes in DDR for the shim, words in the tile's memory else.
    pub address: u64,
    /// Innermost first; a size of 0 is as many as there are.
    pub dims: Vec<Dim>,
    pub iteration: Iteration,
    pub packet: Option<Packet>,
    pub next_bd: Option<u32>,
    pub is_valid: bool,
    pub acquire: Option<LockUse>,
    pub release: LockUse,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Dim {
    pub size: u32,
    pub stride_words: u32,
}

/// Each run of the descriptor starts `stride_words` further, `size` times before it starts over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Iteration {
    pub size: u32,
    pub stride_words: u32,
    pub current: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Packet {
    pub id: u32,
    pub kind: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LockUse {
    pub lock: u32,
    /// In two's complement of 7 bits.
    pub value: i32,
}

/// `count` bits of a word from bit `low` up.
fn bits(word: u32, low: u32, count: u32) -> u32 {
    word >> low & ((1 << count) - 1)
}

fn signed(value: u32) -> i32 {
    if value >= 64 { value as i32 - 128 } else { value as i32 }
}

impl BufferDescriptor {
    /// Reads the words of one descriptor; none where there are too few.
    pub fn read(tile: TileKind, words: &[u32]) -> Option<BufferDescriptor> {
        match tile {
            TileKind::Shim => words.first_chunk().map(shim),
            TileKind::Memtile => words.first_chunk().map(memtile),
            TileKind::Core => words.first_chunk().map(core),
        }
    }

    /// Bytes from the first that one run touches to one past the last, at least `length_words` of them where it is
    /// linear. Saturates.
    pub fn span_bytes(&self) -> u64 {
        let mut last_word = 0_u64;
        let mut rest = u64::from(self.length_words);
        for (position, dim) in self.dims.iter().enumerate() {
            let is_outermost = position + 1 == self.dims.len();
            let size = if is_outermost || dim.size == 0 { rest } else { u64::from(dim.size).min(rest) };
            last_word += size.saturating_sub(1) * u64::from(dim.stride_words);
            rest = rest.div_ceil(size.max(1));
            if dim.size == 0 {
                break;
            }
        }
        if self.length_words == 0 { 0 } else { (last_word + 1) * 4 }
    }

    /// As [`BufferDescriptor::span_bytes`] over `run_count` runs.
    pub fn span_of_runs_bytes(&self, run_count: u64) -> u64 {
        let steps = run_count.min(u64::from(self.iteration.size)).saturating_sub(1);
        self.span_bytes().saturating_add(steps * u64::from(self.iteration.stride_words) * 4)
    }
}

fn shim(w: &[u32; 8]) -> BufferDescriptor {
    let dim = |size: u32, stride: u32| Dim { size, stride_words: bits(stride, 0, 20) + 1 };
    BufferDescriptor {
        tile: TileKind::Shim,
        length_words: w[0],
        address: u64::from(bits(w[2], 0, 16)) << 32 | u64::from(w[1]),
        dims: vec![dim(bits(w[3], 20, 10), w[3]), dim(bits(w[4], 20, 10), w[4]), dim(0, w[5])],
        iteration: Iteration {
            size: bits(w[6], 20, 6) + 1,
            stride_words: bits(w[6], 0, 20) + 1,
            current: bits(w[6], 26, 6),
        },
        packet: packet(bits(w[2], 30, 1), bits(w[2], 19, 5), bits(w[2], 16, 3)),
        next_bd: (bits(w[7], 26, 1) == 1).then(|| bits(w[7], 27, 4)),
        is_valid: bits(w[7], 25, 1) == 1,
        acquire: (bits(w[7], 12, 1) == 1).then(|| lock(bits(w[7], 0, 4), bits(w[7], 5, 7))),
        release: lock(bits(w[7], 13, 4), bits(w[7], 18, 7)),
    }
}

fn memtile(w: &[u32; 8]) -> BufferDescriptor {
    let dim = |size: u32, stride: u32| Dim { size, stride_words: bits(stride, 0, 17) + 1 };
    BufferDescriptor {
        tile: TileKind::Memtile,
        length_words: bits(w[0], 0, 17),
        address: u64::from(bits(w[1], 0, 19)),
        dims: vec![
            dim(bits(w[2], 17, 10), w[2]),
            dim(bits(w[3], 17, 10), w[3]),
            dim(bits(w[4], 17, 10), w[4]),
            dim(0, w[5]),
        ],
        iteration: Iteration {
            size: bits(w[6], 17, 6) + 1,
            stride_words: bits(w[6], 0, 17) + 1,
            current: bits(w[6], 23, 6),
        },
        packet: packet(bits(w[0], 31, 1), bits(w[0], 23, 5), bits(w[0], 28, 3)),
        next_bd: (bits(w[1], 19, 1) == 1).then(|| bits(w[1], 20, 6)),
        is_valid: bits(w[7], 31, 1) == 1,
        acquire: (bits(w[7], 15, 1) == 1).then(|| lock(bits(w[7], 0, 8), bits(w[7], 8, 7))),
        release: lock(bits(w[7], 16, 8), bits(w[7], 24, 7)),
    }
}

fn core(w: &[u32; 6]) -> BufferDescriptor {
    let dim = |size: u32, stride: u32| Dim { size, stride_words: stride + 1 };
    BufferDescriptor {
        tile: TileKind::Core,
        length_words: bits(w[0], 0, 14),
        address: u64::from(bits(w[0], 14, 14)),
        dims: vec![
            dim(bits(w[3], 13, 8), bits(w[2], 0, 13)),
            dim(bits(w[3], 21, 8), bits(w[2], 13, 13)),
            dim(0, bits(w[3], 0, 13)),
        ],
        iteration: Iteration {
            size: bits(w[4], 13, 6) + 1,
            stride_words: bits(w[4], 0, 13) + 1,
            current: bits(w[4], 19, 6),
        },
        packet: packet(bits(w[1], 30, 1), bits(w[1], 19, 5), bits(w[1], 16, 3)),
        next_bd: (bits(w[5], 26, 1) == 1).then(|| bits(w[5], 27, 4)),
        is_valid: bits(w[5], 25, 1) == 1,
        acquire: (bits(w[5], 12, 1) == 1).then(|| lock(bits(w[5], 0, 4), bits(w[5], 5, 7))),
        release: lock(bits(w[5], 13, 4), bits(w[5], 18, 7)),
    }
}

fn packet(is_enabled: u32, id: u32, kind: u32) -> Option<Packet> {
    (is_enabled == 1).then_some(Packet { id, kind })
}

fn lock(lock: u32, value: u32) -> LockUse {
    LockUse { lock, value: signed(value) }
}

/// `128 words at 0x80000000, [4:32, 32:1]`: dimensions outermost first, `size:stride`.
impl fmt::Display for BufferDescriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} words at {:#x}", self.length_words, self.address)?;
        let used: Vec<String> =
            self.dims.iter().rev().skip_while(|d| d.size == 0 && d.stride_words == 1).map(dim_text).collect();
        if !used.is_empty() {
            write!(f, ", [{}]", used.join(", "))?;
        }
        if self.iteration.size > 1 || self.iteration.current > 0 {
            write!(f, ", iteration {}:{}", self.iteration.size, self.iteration.stride_words)?;
        }
        if let Some(packet) = self.packet {
            write!(f, ", packet {}", packet.id)?;
        }
        if let Some(acquire) = self.acquire {
            write!(f, ", acquires {} of lock {}", acquire.value, acquire.lock)?;
        }
        if self.release.value != 0 {
            write!(f, ", releases {} of lock {}", self.release.value, self.release.lock)?;
        }
        if let Some(next) = self.next_bd {
            write!(f, ", then BD {next}")?;
        }
        if self.is_valid { Ok(()) } else { f.write_str(", not valid") }
    }
}

fn dim_text(dim: &Dim) -> String {
    let size = if dim.size == 0 { "*".to_string() } else { dim.size.to_string() };
    format!("{size}:{}", dim.stride_words)
}
