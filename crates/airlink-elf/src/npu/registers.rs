//! Register addresses of AIE2 and AIE2P tiles by name.
//!
//! Source: `aie_registers_aie2.json` of github.com/Xilinx/mlir-aie. Columns are counted from the partition's first.

use std::fmt;

use serde::Serialize;

use super::bd::BD_BYTES;

/// A tile's register: `column << 25 | row << 20 | offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Register {
    pub column: u8,
    pub row: u8,
    pub offset: u32,
}

/// What kind of tile a row holds on the devices whose control code is read here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TileKind {
    Shim,
    Memtile,
    Core,
}

/// The way of a DMA channel: `S2MM` writes memory, `MM2S` reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Direction {
    S2MM,
    MM2S,
}

/// A register that the tools here know by its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Meaning {
    BdWord {
        bd: u32,
        word: u32,
    },
    ChannelControl {
        direction: Direction,
        channel: u32,
    },
    Queue {
        direction: Direction,
        channel: u32,
    },
    ChannelStatus {
        direction: Direction,
        channel: u32,
    },
    Lock {
        lock: u32,
    },
    /// The stream switch; a part of it by name.
    Stream {
        part: &'static str,
        index: u32,
    },
    Mux,
    Demux,
    ProgramMemory {
        offset: u32,
    },
    DataMemory {
        offset: u32,
    },
    CoreControl,
    CoreStatus,
    Other,
}

/// Where a tile's DMA stands.
struct DmaLayout {
    bds: u32,
    bd_count: u32,
    /// First channel registers, S2MM and MM2S: control and queue, 8 bytes a channel.
    channels: [u32; 2],
    channel_counts: [u32; 2],
    /// First status registers, S2MM and MM2S: a word a channel.
    status: [u32; 2],
    locks: u32,
    lock_count: u32,
}

const fn dma(kind: TileKind) -> DmaLayout {
    match kind {
        TileKind::Shim => DmaLayout {
            bds: 0x1d000,
            bd_count: 16,
            channels: [0x1d200, 0x1d210],
            channel_counts: [2, 2],
            status: [0x1d220, 0x1d228],
            locks: 0x14000,
            lock_count: 16,
        },
        TileKind::Memtile => DmaLayout {
            bds: 0xa0000,
            bd_count: 48,
            channels: [0xa0600, 0xa0630],
            channel_counts: [6, 6],
            status: [0xa0660, 0xa0680],
            locks: 0xc0000,
            lock_count: 64,
        },
        TileKind::Core => DmaLayout {
            bds: 0x1d000,
            bd_count: 16,
            channels: [0x1de00, 0x1de10],
            channel_counts: [2, 2],
            status: [0x1df00, 0x1df10],
            locks: 0x1f000,
            lock_count: 16,
        },
    }
}

impl Register {
    pub fn of(address: u32) -> Register {
        Register { column: (address >> 25) as u8, row: (address >> 20 & 0x1f) as u8, offset: address & 0xf_ffff }
    }

    /// Row 0 is the shim, row 1 the memtiles, the others cores: so on every device with one memtile row.
    pub fn tile_kind(self) -> TileKind {
        match self.row {
            0 => TileKind::Shim,
            1 => TileKind::Memtile,
            _ => TileKind::Core,
        }
    }

    /// Whether a word of a buffer descriptor stands here.
    pub fn is_descriptor(self) -> bool {
        let dma = dma(self.tile_kind());
        (dma.bds..dma.bds + dma.bd_count * BD_BYTES).contains(&self.offset)
    }

    pub fn meaning(self) -> Meaning {
        let kind = self.tile_kind();
        let dma = dma(kind);
        let within = |start: u32, count: u32, step: u32| {
            (start..start + count * step).contains(&self.offset).then(|| (self.offset - start) / step)
        };
        if let Some(bd) = within(dma.bds, dma.bd_count, BD_BYTES) {
            return Meaning::BdWord { bd, word: (self.offset - dma.bds) % BD_BYTES / 4 };
        }
        for (i, direction) in [Direction::S2MM, Direction::MM2S].into_iter().enumerate() {
            if let Some(channel) = within(dma.channels[i], dma.channel_counts[i], 8) {
                let is_queue = (self.offset - dma.channels[i]) % 8 >= 4;
                return match is_queue {
                    true => Meaning::Queue { direction, channel },
                    false => Meaning::ChannelControl { direction, channel },
                };
            }
            if let Some(channel) = within(dma.status[i], dma.channel_counts[i], 4) {
                return Meaning::ChannelStatus { direction, channel };
            }
        }
        if let Some(lock) = within(dma.locks, dma.lock_count, 16) {
            return Meaning::Lock { lock };
        }
        self.other_meaning(kind)
    }

    fn other_meaning(self, kind: TileKind) -> Meaning {
        let offset = self.offset;
        let switch = if kind == TileKind::Memtile { 0xb_0000 } else { 0x3_f000 };
        let parts = [("master", 0, 0x100), ("slave", 0x100, 0x100), ("slot", 0x200, 0x200)];
        let part = parts.into_iter().find(|(_, at, size)| (switch + at..switch + at + size).contains(&offset));
        if let Some((part, at, _)) = part {
            return Meaning::Stream { part, index: (offset - switch - at) / 4 };
        }
        match (kind, offset) {
            (TileKind::Shim, 0x1_f000) => Meaning::Mux,
            (TileKind::Shim, 0x1_f004) => Meaning::Demux,
            (TileKind::Core, 0x2_0000..0x2_4000) => Meaning::ProgramMemory { offset: offset - 0x2_0000 },
            (TileKind::Core, 0..0x1_0000) | (TileKind::Memtile, 0..0x8_0000) => Meaning::DataMemory { offset },
            (TileKind::Core, 0x3_2000) => Meaning::CoreControl,
            (TileKind::Core, 0x3_2004) => Meaning::CoreStatus,
            _ => Meaning::Other,
        }
    }
}

impl fmt::Display for TileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TileKind::Shim => "shim",
            TileKind::Memtile => "memtile",
            TileKind::Core => "core",
        })
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Direction::S2MM { "S2MM" } else { "MM2S" })
    }
}

/// `shim(0,0) BD 3 word 1`.
impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({},{}) ", self.tile_kind(), self.column, self.row)?;
        match self.meaning() {
            Meaning::BdWord { bd, word: 0 } => write!(f, "BD {bd}"),
            Meaning::BdWord { bd, word } => write!(f, "BD {bd} word {word}"),
            Meaning::ChannelControl { direction, channel } => write!(f, "{direction} {channel} control"),
            Meaning::Queue { direction, channel } => write!(f, "{direction} {channel} queue"),
            Meaning::ChannelStatus { direction, channel } => write!(f, "{direction} {channel} status"),
            Meaning::Lock { lock } => write!(f, "lock {lock}"),
            Meaning::Stream { part, index } => write!(f, "stream {part} {index}"),
            Meaning::Mux => f.write_str("mux"),
            Meaning::Demux => f.write_str("demux"),
            Meaning::ProgramMemory { offset } => write!(f, "program {offset:#x}"),
            Meaning::DataMemory { offset } => write!(f, "data {offset:#x}"),
            Meaning::CoreControl => f.write_str("core control"),
            Meaning::CoreStatus => f.write_str("core status"),
            Meaning::Other => write!(f, "register {:#x}", self.offset),
        }
    }
}
