//! Control packets: register writes that control code sends as data, each in 32 bytes.

use serde::Serialize;

use super::bytes::{u32_at, words};

/// A packet starts at a multiple of this, and pads to it.
pub const PACKET_BYTES: usize = 32;

/// One control packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ControlPacket {
    /// Of its first byte.
    pub offset: usize,
    /// The packet id in the stream header: which tile it goes to is a matter of routing.
    pub packet_id: u32,
    /// 0 writes, 1 reads, 2 writes with increment.
    pub operation: u32,
    /// Of the register in its tile.
    pub address: u32,
    pub words: Vec<u32>,
}

/// Why bytes are no control packets, as the end of a sentence about them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    #[error("its {bytes} bytes are not whole packets of {PACKET_BYTES}")]
    Rest { bytes: usize },
    #[error("the packet at {offset:#x} has a {which} header of even parity")]
    Parity { offset: usize, which: &'static str },
    #[error("the packet at {offset:#x} is not followed by zeros up to the next")]
    Pad { offset: usize },
}

/// Reads packets of one to four words, each padded to [`PACKET_BYTES`], as the control code's transfers expect.
///
/// Source: the control packet's header in `aie-rt` (odd parity in bit 31, operation in bits 23:22, words less one in
/// bits 21:20, address in bits 19:0), read off `ctrl_pkt0` of github.com/Xilinx/aiebu.
pub fn control_packets(bytes: &[u8]) -> Result<Vec<ControlPacket>, PacketError> {
    if !bytes.len().is_multiple_of(PACKET_BYTES) {
        return Err(PacketError::Rest { bytes: bytes.len() });
    }
    bytes.chunks_exact(PACKET_BYTES).enumerate().map(|(i, chunk)| packet(chunk, i * PACKET_BYTES)).collect()
}

fn packet(chunk: &[u8], offset: usize) -> Result<ControlPacket, PacketError> {
    let [stream, control] = [0, 4].map(|at| u32_at(chunk, at).unwrap_or_default());
    for (which, header) in [("stream", stream), ("control", control)] {
        if header.count_ones() % 2 == 0 {
            return Err(PacketError::Parity { offset, which });
        }
    }
    let count = (control >> 20 & 3) as usize + 1;
    let mut data: Vec<u32> = words(&chunk[8..]).collect();
    if data[count..].iter().any(|w| *w != 0) {
        return Err(PacketError::Pad { offset });
    }
    data.truncate(count);
    Ok(ControlPacket {
        offset,
        packet_id: stream & 0x1f,
        operation: control >> 22 & 3,
        address: control & 0xf_ffff,
        words: data,
    })
}
