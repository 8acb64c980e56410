//! Control code and its operations to bytes: version 0.1, as mlir-aie writes it.

use std::sync::Arc;

use super::bd::BD_BYTES;
use super::control::{CONTROL_HEADER_BYTES, ControlHeader, Sync};
use super::image::{Relocation, Scheme};
use super::registers::Direction;

/// Writes a control-code stream operation by operation.
#[derive(Clone, Debug)]
pub struct ControlWriter {
    header: ControlHeader,
    bytes: Vec<u8>,
    op_count: u32,
}

impl ControlWriter {
    /// A stream for npu2 with this many columns.
    pub fn npu2(column_count: u8) -> ControlWriter {
        let (major, minor, generation, row_count, memtile_row_count) = (0, 1, 4, 6, 1);
        let (op_count, size_bytes) = (0, 0);
        let header = ControlHeader {
            major,
            minor,
            generation,
            row_count,
            column_count,
            memtile_row_count,
            op_count,
            size_bytes,
        };
        ControlWriter { header, bytes: vec![0; CONTROL_HEADER_BYTES], op_count: 0 }
    }

    fn push(&mut self, words: &[u32]) -> &mut ControlWriter {
        self.bytes.extend(words.iter().flat_map(|w| w.to_le_bytes()));
        self.op_count += 1;
        self
    }

    pub fn write(&mut self, address: u32, value: u32) -> &mut ControlWriter {
        self.push(&[0x00, 0, address, 0, value, 24])
    }

    pub fn mask_write(&mut self, address: u32, value: u32, mask: u32) -> &mut ControlWriter {
        self.push(&[0x03, 0, address, 0, value, mask, 28])
    }

    pub fn mask_poll(&mut self, address: u32, value: u32, mask: u32) -> &mut ControlWriter {
        self.push(&[0x04, 0, address, 0, value, mask, 28])
    }

    pub fn block_write(&mut self, address: u32, words: &[u32]) -> &mut ControlWriter {
        let size = 16 + 4 * words.len() as u32;
        self.push(&[&[0x01, 0, address, size], words].concat())
    }

    pub fn noop(&mut self) -> &mut ControlWriter {
        self.push(&[0x05])
    }

    pub fn preempt(&mut self, level: u8) -> &mut ControlWriter {
        self.push(&[0x06 | u32::from(level) << 8])
    }

    pub fn load_pdi(&mut self, id: u16) -> &mut ControlWriter {
        self.bytes.extend(load_pdi(id));
        self.op_count += 1;
        self
    }

    pub fn load_pm(&mut self, id: u32, op_count: u32) -> &mut ControlWriter {
        self.push(&[0x09 | op_count << 8, id])
    }

    pub fn create_scratchpad(&mut self, size_bytes: u32) -> &mut ControlWriter {
        self.push(&[0x0a, size_bytes, 0, 0])
    }

    pub fn update_state(&mut self, index: u8, operand: u32) -> &mut ControlWriter {
        self.push(&[0x0b | u32::from(index) << 8, operand])
    }

    pub fn sync(&mut self, s: Sync) -> &mut ControlWriter {
        let [direction, row, column] = [s.direction, s.row, s.column].map(u32::from);
        let [row_count, column_count, channel] = [s.row_count, s.column_count, s.channel].map(u32::from);
        let (place, counts) = (direction | row << 8 | column << 16, row_count << 8 | column_count << 16);
        self.push(&[0x80, 16, place, counts | channel << 24])
    }

    /// Where an argument's address goes, `offset_bytes` from its start.
    pub fn patch(&mut self, address: u32, argument: u32, offset_bytes: u64) -> &mut ControlWriter {
        let (low, high) = (offset_bytes as u32, (offset_bytes >> 32) as u32);
        self.push(&[0x81, 48, 0, 0, 0, 0, address, 0, argument, 0, low, high])
    }

    /// A shim transfer of `words` contiguous words of an argument: descriptor, address, push.
    pub fn transfer(&mut self, transfer: &ShimTransfer) -> &mut ControlWriter {
        let column = u32::from(transfer.column) << 25;
        let bd = column | (0x1_d000 + transfer.bd * BD_BYTES);
        let channels = if transfer.direction == Direction::S2MM { 0x1_d200 } else { 0x1_d210 };
        // AXI cache bits, and the valid bit.
        self.block_write(bd, &[transfer.words, 0, 0, 0, 0x8000_0000, 0x0200_0000, 0, 0x0200_0000])
            .patch(bd + 4, transfer.argument, transfer.offset_bytes)
            .write(column | (channels + transfer.channel * 8 + 4), transfer.bd | u32::from(transfer.has_token) << 31)
    }

    /// The stream; none where it does not fit its header.
    pub fn finish(&self) -> Option<Vec<u8>> {
        let header = header(&self.header, self.op_count, self.bytes.len())?;
        let mut bytes = self.bytes.clone();
        bytes[..CONTROL_HEADER_BYTES].copy_from_slice(&header);
        Some(bytes)
    }
}

/// A transfer between an argument and the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShimTransfer {
    pub column: u8,
    pub direction: Direction,
    pub channel: u32,
    pub bd: u32,
    pub argument: u32,
    pub offset_bytes: u64,
    pub words: u32,
    pub has_token: bool,
}

/// Bytes of a load.
pub(crate) const LOAD_BYTES: usize = 16;

/// The operation that loads configuration `id`, whose address the loader fills.
pub(crate) fn load_pdi(id: u16) -> [u8; LOAD_BYTES] {
    let mut bytes = [0; LOAD_BYTES];
    bytes[0] = 0x08;
    bytes[2..4].copy_from_slice(&id.to_le_bytes());
    bytes
}

/// The relocation of a load at `offset` in its section.
pub(crate) fn load_relocation(offset: usize, symbol: Arc<str>) -> Relocation {
    Relocation { offset: offset as u32 + 8, scheme: Scheme::ADDRESS_64, addend: 0, symbol, size: 0 }
}

/// A stream's header with other counts; none where the size does not fit it.
pub(crate) fn header(like: &ControlHeader, op_count: u32, size_bytes: usize) -> Option<[u8; CONTROL_HEADER_BYTES]> {
    let size = u32::try_from(size_bytes).ok()?;
    let mut bytes = [0; CONTROL_HEADER_BYTES];
    let fixed = [like.major, like.minor, like.generation, like.row_count, like.column_count, like.memtile_row_count];
    bytes[..6].copy_from_slice(&fixed);
    bytes[8..12].copy_from_slice(&op_count.to_le_bytes());
    bytes[12..16].copy_from_slice(&size.to_le_bytes());
    Some(bytes)
}
