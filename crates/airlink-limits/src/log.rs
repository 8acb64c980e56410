//! What compilers print when a limit is broken: from their text to a code.

use std::sync::LazyLock;

use airlink_diag::{Code, codes};
use regex::Regex;

/// Texts of aircc, aiecc and the tools they call, most specific first; case does not matter.
///
/// From the mlir-air and mlir-aie sources of August 2026 and the issues that quote older ones.
const TEXTS: &[(&str, Code)] = &[
    (r"too many simultaneously active buffer descriptors", codes::AL0301),
    (r"allocator exhausted available (BD|buffer descriptor) ids? ?\(maximum \d+ available for channel", codes::AL0302),
    (r"allocator exhausted available buffer descriptor ids?", codes::AL0301),
    (r"unassigned (BD )?ids?\b", codes::AL0301),
    (r"has more than (16|48) blocks", codes::AL0302),
    (r"no (ShimNOCTile|ShimTile) has sufficient DMA capacity", codes::AL0303),
    (r"out of shim DMA channels", codes::AL0303),
    (r"failed to map to shim dma channels", codes::AL0303),
    (r"no MemTile has sufficient DMA capacity", codes::AL0304),
    (r"targets same dst as another connect op", codes::AL0304),
    (r"DMA channel .*(out of range|must be in)", codes::AL0304),
    (r"unable to find a legal routing", codes::AL0325),
    (r"used up all arbiter-msel combinations", codes::AL0325),
    (r"slave port packet rules exceed the \d+-slot limit", codes::AL0325),
    (r"no valid placement found", codes::AL0305),
    (r"unplaced herd:", codes::AL0305),
    (r"(column|row) index .*must be less than", codes::AL0305),
    (r"runtime-valued DMA stride", codes::AL0307),
    (r"more than one runtime-valued DMA (size|offset)", codes::AL0307),
    (r"requires a contiguous transfer or a zero outer stride", codes::AL0307),
    (r"for <32b width datatypes, inner-most dim stride must be 1", codes::AL0308),
    (r"stride \d+ is .*not divisible by 4", codes::AL0308),
    (r"transfer sizes must be multiples of 4 bytes", codes::AL0308),
    (r"offset must be 4-byte-aligned", codes::AL0308),
    (r"cannot tile dim .*shim-legal chunks", codes::AL0308),
    (r"repeat count exceeds the \[0:255\] range", codes::AL0309),
    (r"folding this loop into the DMA drops a repeat", codes::AL0309),
    (r"L2 capacity exceeded", codes::AL0310),
    (r"L1 budget exceeded", codes::AL0311),
    (r"stack_?size.*leaves no local memory", codes::AL0311),
    (r"'\.(data|bss)' will not fit in region", codes::AL0311),
    (r"overflow of program memory", codes::AL0312),
    (r"'\.text' will not fit in region", codes::AL0312),
    (r"stride \d+ exceeds the \[1:\d+\] range", codes::AL0313),
    (r"stride may not exceed", codes::AL0313),
    (r"iteration size exceeds the", codes::AL0314),
    (r"size \d+ exceeds the \[\d+:\d+\] range", codes::AL0314),
    (r"size may not exceed 1023", codes::AL0314),
    (r"size \d+ must be a positive integer", codes::AL0314),
    (r"stride \d+ must be a positive integer", codes::AL0314),
    (r"buffer descriptor length does not match", codes::AL0314),
    (r"packet ID field can only hold", codes::AL0314),
    (r"ERT_CMD_STATE_TIMEOUT", codes::AL0315),
    (r"not allocated a lock", codes::AL0318),
    (r"only \d+ locks? available", codes::AL0318),
    (r"exceeds the maximum supported and verified count of 16", codes::AL0319),
    (r"would block here forever", codes::AL0320),
    (r"cannot wait on a BD that is not configured to issue a token", codes::AL0320),
    (r"redefinition of symbol", codes::AL0321),
    (r"already exists in the device with different attributes", codes::AL0321),
    (r"--output-format=elf is not supported for --device=npu1", codes::AL0324),
    (r"airrt\.herd_load. not found|airrt\.herd_load not found", codes::AL0214),
    (r"failed to legalize operation 'airrt\.dma_memcpy_nd'", codes::AL0306),
    (r"dangling signature args", codes::AL0216),
    (r"operand #?\d+ does not dominate this use", codes::AL0502),
];

/// Memory that is full: which, the row of the tile says.
const MEMORY: &str = r"allocated buffers exceeded available memory";

static PATTERNS: LazyLock<Vec<(Regex, Code)>> = LazyLock::new(|| {
    let compiled = |(text, code): &(&str, Code)| (pattern(text), *code);
    TEXTS.iter().map(compiled).collect()
});
static FULL: LazyLock<Regex> = LazyLock::new(|| pattern(MEMORY));
static TILE: LazyLock<Regex> = LazyLock::new(|| pattern(r"tile\w*\W+(\d+)\s*,\s*(\d+)|tile_(\d+)_(\d+)"));

fn pattern(text: &str) -> Regex {
    Regex::new(&format!("(?i){text}")).expect("the patterns are constants that a test compiles")
}

/// The code of what one line of a compiler's output says; `near` are the lines around it, in which a memory's tile may
/// be named.
pub fn classify(line: &str, near: &[&str]) -> Option<Code> {
    if FULL.is_match(line) {
        let own = tile_row(line).or_else(|| line.to_lowercase().contains("memtile").then_some(1));
        // What a note behind the line says is about it; what stands in front may be of the error before.
        let at = near.iter().position(|n| *n == line).unwrap_or(0);
        let around = near[at.min(near.len())..].iter().chain(&near[..at.min(near.len())]);
        let row = own.or_else(|| around.copied().find_map(tile_row));
        return Some(if row == Some(1) { codes::AL0310 } else { codes::AL0311 });
    }
    PATTERNS.iter().find(|(pattern, _)| pattern.is_match(line)).map(|(_, code)| *code)
}

fn tile_row(line: &str) -> Option<u64> {
    let found = TILE.captures(line)?;
    found.get(2).or(found.get(4))?.as_str().parse().ok()
}
