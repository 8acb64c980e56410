//! Transfers between host memory and the array: whether they end before the program does, and within their buffers.

use std::collections::BTreeMap;

use airlink_diag::{Finding, codes};

use super::{Buffers, Place};
use crate::npu::bd::BufferDescriptor;
use crate::npu::bytes::words;
use crate::npu::control::{OpKind, Operation};
use crate::npu::image::{NpuElf, Relocation, Scheme, SymbolUse};
use crate::npu::registers::{Direction, Meaning, Register, TileKind};

/// Of a queue word. Source: `AIETargetNPU.cpp` of github.com/Xilinx/mlir-aie.
const QUEUE_BD_MASK: u32 = 0xf;
const QUEUE_REPEAT_SHIFT: u32 = 16;
const QUEUE_REPEAT_MASK: u32 = 0xff;

/// A shim channel: column and number.
type Channel = (u8, u32);

/// Reports channels towards host memory that the program does not wait for before it ends or resets the array.
pub(super) fn drains(operations: &[Operation<'_>], what: &str, findings: &mut Vec<Finding>) {
    let mut pending: BTreeMap<Channel, usize> = BTreeMap::new();
    let mut lost: Vec<(Channel, usize, &'static str)> = Vec::new();
    for operation in operations {
        match operation.kind {
            OpKind::Write { address, .. } => {
                let register = Register::of(address);
                if let (TileKind::Shim, Meaning::Queue { direction: Direction::S2MM, channel }) =
                    (register.tile_kind(), register.meaning())
                {
                    pending.insert((register.column, channel), operation.offset);
                }
            }
            OpKind::Sync(s) if s.direction == 0 && s.row == 0 => {
                // A count of 0 is one.
                let columns = s.column..s.column.saturating_add(s.column_count.max(1));
                pending.retain(|(column, channel), _| !(columns.contains(column) && *channel == u32::from(s.channel)));
            }
            OpKind::MaskPoll { address, .. } => {
                let register = Register::of(address);
                if let Meaning::ChannelStatus { direction: Direction::S2MM, channel } = register.meaning() {
                    pending.remove(&(register.column, channel));
                }
            }
            OpKind::LoadPdi { .. } => {
                lost.extend(std::mem::take(&mut pending).into_iter().map(|(c, at)| (c, at, "the next load resets it")));
            }
            _ => {}
        }
    }
    lost.extend(pending.into_iter().map(|(c, at)| (c, at, "the program ends")));
    let Some(((column, channel), at, end)) = lost.first().copied() else { return };
    let more = if lost.len() > 1 { format!(", and {} more", lost.len() - 1) } else { String::new() };
    findings.push(
        Finding::warning(
            codes::AL0642,
            format!("{what} does not wait for the last transfer of S2MM {channel} in column {column} before {end}"),
        )
        .found(format!("the push at {at:#x} with no wait behind it{more}"))
        .allowed("a wait for the channel's token, or for its status, behind its last push")
        .source("`AIRRtToNpuPass.cpp` of github.com/Xilinx/mlir-air, which waits for every channel in an ELF")
        .remedy("compile the kernel with a wait (`npu.dma_wait`) for what it writes"),
    );
}

/// Reports transfers that reach outside the buffers whose sizes are known.
pub(super) fn bounds(
    elf: &NpuElf,
    operations: &[Operation<'_>],
    place: Place<'_>,
    buffers: &Buffers,
    findings: &mut Vec<Finding>,
) {
    let by_offset: BTreeMap<u32, &Relocation> = place.section.relocations.iter().map(|r| (r.offset, r)).collect();
    // What each descriptor of the shim holds, by column and number.
    let mut held: BTreeMap<(u8, u32), (BufferDescriptor, &Relocation)> = BTreeMap::new();
    let mut reported = std::collections::BTreeSet::new();
    let mut judge = |bd: &BufferDescriptor, relocation: &Relocation, runs: u64| {
        if let Some(finding) = outside(elf, bd, relocation, runs, buffers, place) {
            // One per argument: a loop that leaves its buffer leaves it many times.
            if reported.insert(relocation.symbol.clone()) {
                findings.push(finding);
            }
        }
    };
    for operation in operations {
        match operation.kind {
            OpKind::BlockWrite { address, payload } => {
                let start = operation.offset + operation.bytes.len() - payload.len();
                for (at, chunk) in payload.chunks(0x20).enumerate().map(|(i, c)| (i * 0x20, c)) {
                    let register = Register::of(address.wrapping_add(at as u32));
                    let Meaning::BdWord { bd: number, word: 0 } = register.meaning() else { continue };
                    let relocation = by_offset.get(&((start + at) as u32));
                    let bd = BufferDescriptor::read(register.tile_kind(), &words(chunk).collect::<Vec<_>>());
                    let (Some(relocation), Some(bd)) = (relocation, bd) else { continue };
                    judge(&bd, relocation, 1);
                    held.insert((register.column, number), (bd, relocation));
                }
            }
            OpKind::Write { address, value } => {
                let register = Register::of(address);
                if let (TileKind::Shim, Meaning::Queue { .. }) = (register.tile_kind(), register.meaning())
                    && let Some((bd, relocation)) = held.get(&(register.column, value & QUEUE_BD_MASK))
                {
                    let repeats = u64::from(value >> QUEUE_REPEAT_SHIFT & QUEUE_REPEAT_MASK);
                    judge(bd, relocation, repeats + 1);
                }
            }
            _ => {}
        }
    }
}

fn outside(
    elf: &NpuElf,
    bd: &BufferDescriptor,
    relocation: &Relocation,
    run_count: u64,
    buffers: &Buffers,
    place: Place<'_>,
) -> Option<Finding> {
    let SymbolUse::Argument(argument) = SymbolUse::of(&relocation.symbol, elf.argument_base()) else { return None };
    if relocation.scheme != Scheme::SHIM_DMA_48 {
        return None;
    }
    let at = relocation.offset;
    // What the descriptor holds is added to.
    let start = bd.address.saturating_add(relocation.addend.into());
    let finding = |headline: String| {
        Finding::error(codes::AL0644, headline)
            .found(format!("the descriptor at {at:#x} of `{}`: {bd}", place.section.name))
    };
    if start % 4 != 0 {
        let headline = format!("{} starts at byte {start} of argument {argument}", place.instance_text());
        return Some(
            finding(headline)
                .allowed("multiples of 4: the lowest two bits are dropped")
                .source("`elf_patcher.cpp` of github.com/Xilinx/XRT")
                .remedy("move what it reads or writes to a multiple of 4 bytes"),
        );
    }
    let (name, size) = buffers.get(&argument)?;
    let end = start.saturating_add(bd.span_of_runs_bytes(run_count));
    if end <= *size {
        return None;
    }
    let headline = format!("{} reaches byte {end} of argument {argument} `{name}`", place.instance_text());
    Some(
        finding(headline)
            .allowed(format!("{size} bytes: what its description says of `{name}`"))
            .remedy("pass a larger buffer, or a view at a lower offset, and link again"),
    )
}
