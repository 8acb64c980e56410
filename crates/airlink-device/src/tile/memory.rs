//! Bytes and locks of one tile.

use serde::Serialize;

use crate::device::{Device, TileKind};
use crate::fault::{Fault, Rule};

/// A buffer in L1 or L2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TileBuffer {
    /// Of one copy.
    pub bytes: u64,
    /// 2 under ping-pong.
    pub copies: u64,
}

/// Copies of a buffer that a loop with that many trips fills.
pub fn buffer_copies(trip: u64, has_pingpong: bool) -> u64 {
    if has_pingpong && trip > 1 { 2 } else { 1 }
}

/// Bytes of one core's memory: stack, aligned buffers and the data of its objects. `None` beyond 64 bits.
pub fn l1_bytes(buffers: &[TileBuffer], stack_bytes: u64, data_bytes: u64, device: &Device) -> Option<u64> {
    let align = device.core.buffer_align_bytes.value.max(1);
    sum(buffers, align)?.checked_add(stack_bytes)?.checked_add(data_bytes)
}

/// Bytes of one mem tile. `None` beyond 64 bits.
pub fn l2_bytes(buffers: &[TileBuffer], device: &Device) -> Option<u64> {
    sum(buffers, device.mem.buffer_align_bytes.value.max(1))
}

fn sum(buffers: &[TileBuffer], align: u64) -> Option<u64> {
    let of = |b: &TileBuffer| b.bytes.checked_next_multiple_of(align)?.checked_mul(b.copies);
    buffers.iter().try_fold(0u64, |n, b| n.checked_add(of(b)?))
}

/// Whether the memory of one core holds all that.
pub fn check_l1(buffers: &[TileBuffer], stack_bytes: u64, data_bytes: u64, device: &Device) -> Option<Fault> {
    let Some(bytes) = l1_bytes(buffers, stack_bytes, data_bytes, device) else {
        return Some(Fault::too_large("the L1 buffers of a core"));
    };
    Fault::above(Rule::L1Bytes, "L1 of a core with its stack", bytes, device.core.data_bytes, "bytes")
}

/// Whether one mem tile holds all that.
pub fn check_l2(buffers: &[TileBuffer], device: &Device) -> Option<Fault> {
    let Some(bytes) = l2_bytes(buffers, device) else {
        return Some(Fault::too_large("the L2 buffers of a mem tile"));
    };
    Fault::above(Rule::L2Bytes, "L2 of a memtile", bytes, device.mem.data_bytes, "bytes")
}

/// Whether the program memory of a core holds that much code.
pub fn check_program(bytes: u64, device: &Device) -> Option<Fault> {
    Fault::above(Rule::ProgramBytes, "program of a core", bytes, device.core.program_bytes, "bytes")
}

/// Locks of one tile: two per copy of a buffer that a DMA shares, one for the operands of a herd.
pub fn lock_count(shared: &[TileBuffer], has_operands: bool) -> u64 {
    let of_buffers = shared.iter().fold(0u64, |n, b| n.saturating_add(b.copies.saturating_mul(2)));
    of_buffers.saturating_add(has_operands.into())
}

/// Whether a tile has that many locks.
pub fn check_locks(kind: TileKind, count: u64, device: &Device) -> Option<Fault> {
    let name = format!("locks of a {kind}");
    Fault::above(Rule::Locks, &name, count, device.tile(kind).lock_count, "locks")
}

/// Whether a lock counts that far.
pub fn check_lock_value(kind: TileKind, value: u64, device: &Device) -> Option<Fault> {
    Fault::above(Rule::LockValue, "value of a lock", value, device.tile(kind).lock_value_max, "credits")
}
