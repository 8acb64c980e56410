//! Operations of control code as text.

use std::fmt;

use super::bd::{BD_BYTES, BufferDescriptor};
use super::bytes::words;
use super::control::{OpKind, Sync};
use super::registers::{Direction, Meaning, Register};

/// The name of an operation, as listings show it.
pub fn mnemonic(kind: &OpKind<'_>) -> &'static str {
    match kind {
        OpKind::Write { .. } => "write",
        OpKind::BlockWrite { .. } => "block_write",
        OpKind::MaskWrite { .. } => "mask_write",
        OpKind::MaskPoll { is_busy: false, .. } => "mask_poll",
        OpKind::MaskPoll { is_busy: true, .. } => "mask_poll_busy",
        OpKind::Noop => "noop",
        OpKind::Preempt { .. } => "preempt",
        OpKind::LoadPdi { .. } => "load_pdi",
        OpKind::LoadPm { .. } => "load_pm",
        OpKind::CreateScratchpad { .. } => "create_scratchpad",
        OpKind::UpdateState { .. } => "update_state",
        OpKind::UpdateRegister { .. } => "update_register",
        OpKind::UpdateScratchpad => "update_scratchpad",
        OpKind::Sync(_) => "sync",
        OpKind::Patch { .. } => "patch",
        OpKind::ReadRegisters => "read_registers",
        OpKind::RecordTimer => "record_timer",
        OpKind::MergeSync => "merge_sync",
    }
}

/// `write shim(0,0) S2MM 0 queue = 0x80000001 (BD 1, with a token)`.
impl fmt::Display for OpKind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(mnemonic(self))?;
        match self {
            OpKind::Write { address, value } => {
                let register = Register::of(*address);
                write!(f, " {register} = {value:#x}{}", queue_text(register, *value))
            }
            OpKind::MaskWrite { address, value, mask } => {
                write!(f, " {} = {value:#x} & {mask:#x}", Register::of(*address))
            }
            OpKind::MaskPoll { address, value, mask, .. } => {
                write!(f, " {} & {mask:#x} = {value:#x}", Register::of(*address))
            }
            OpKind::BlockWrite { address, payload } => block(f, *address, payload),
            OpKind::Preempt { level } => write!(f, " {level}"),
            OpKind::LoadPdi { id, .. } => write!(f, " {id}"),
            OpKind::LoadPm { op_count, id } => write!(f, " {id}, {op_count} operations"),
            OpKind::CreateScratchpad { usage, size_bytes, .. } => write!(f, " {size_bytes} bytes, usage {usage}"),
            OpKind::UpdateState { index, function, operand } => write!(f, " {index} by {function} with {operand}"),
            OpKind::UpdateRegister { index, function, operand, address } => {
                write!(f, " {} from {index} by {function} with {operand}", Register::of(*address))
            }
            OpKind::Sync(sync) => write!(f, " {sync}"),
            OpKind::Patch { address, argument, offset_bytes } => {
                write!(f, " {} with argument {argument} + {offset_bytes:#x}", Register::of(*address))
            }
            OpKind::Noop
            | OpKind::UpdateScratchpad
            | OpKind::ReadRegisters
            | OpKind::RecordTimer
            | OpKind::MergeSync => Ok(()),
        }
    }
}

impl fmt::Display for Sync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = if self.direction == 0 { Direction::S2MM } else { Direction::MM2S };
        write!(f, "{direction} {} of tile ({},{})", self.channel, self.column, self.row)?;
        if self.column_count > 1 || self.row_count > 1 {
            write!(f, " and {} by {} tiles from there", self.column_count, self.row_count)?;
        }
        Ok(())
    }
}

/// What a word pushed into a queue means: descriptor (6 bits on a memtile, 4 elsewhere), repeats, token.
fn queue_text(register: Register, value: u32) -> String {
    let Meaning::Queue { .. } = register.meaning() else { return String::new() };
    let runs = (value >> 16 & 0xff) + 1;
    let runs = if runs > 1 { format!(", {runs} times") } else { String::new() };
    let token = if value >> 31 == 1 { ", with a token" } else { "" };
    let bd_mask = if register.row == 1 { 0x3f } else { 0xf };
    format!(" (BD {}{runs}{token})", value & bd_mask)
}

fn block(f: &mut fmt::Formatter<'_>, address: u32, payload: &[u8]) -> fmt::Result {
    let register = Register::of(address);
    write!(f, " {register}, {} words", payload.len() / 4)?;
    let list: Vec<u32> = words(payload).take(8).collect();
    match register.meaning() {
        Meaning::BdWord { word: 0, .. } => {
            let count = payload.len().div_ceil(BD_BYTES as usize);
            let rest = if count > 1 { format!(", and {} more BDs", count - 1) } else { String::new() };
            match BufferDescriptor::read(register.tile_kind(), &list) {
                Some(bd) => write!(f, ": {bd}{rest}"),
                None => write!(f, ": {list:x?}"),
            }
        }
        _ if payload.len() <= 32 => write!(f, ": {list:x?}"),
        _ => Ok(()),
    }
}
