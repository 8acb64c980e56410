//! Each text that a compiler is known to print leads to its code.

use airlink_limits::classify;

/// As the tools print them, with the numbers of a real run.
const LINES: &[(&str, &str)] = &[
    (
        "error: 'aie.dma_bd' op Too many simultaneously active buffer descriptors on tile (1,0), which supports up to 16",
        "AL0301",
    ),
    ("error: Allocator exhausted available buffer descriptor IDs.", "AL0301"),
    ("error: 'aie.dma_bd' op Allocator exhausted available BD IDs (maximum 24 available for channel 0).", "AL0302"),
    ("error: 'aie.mem' op has more than 16 blocks", "AL0302"),
    ("error: no ShimNOCTile has sufficient DMA capacity for 1 input/0 output channels", "AL0303"),
    ("error: 'air.channel' op out of shim DMA channels", "AL0303"),
    ("error: failed to map to shim dma channels: out of channels.", "AL0303"),
    ("error: 'aie.connect' op targets same dst as another connect op", "AL0304"),
    ("error: Unable to find a legal routing", "AL0325"),
    ("error: used up all arbiter-msel combinations", "AL0325"),
    ("error: slave port packet rules exceed the 4-slot limit", "AL0325"),
    ("error: No valid placement found.", "AL0305"),
    ("note: Unplaced herd: herd_0", "AL0305"),
    ("error: failed to legalize operation 'airrt.dma_memcpy_nd' that was explicitly marked illegal", "AL0306"),
    ("error: runtime-valued DMA stride is not supported", "AL0307"),
    ("error: For <32b width datatypes, inner-most dim stride must be 1", "AL0308"),
    (
        "error: 'aiex.npu.dma_memcpy_nd' op Stride 1 is 3 elements * 2 bytes = 6 bytes, which is not divisible by 4",
        "AL0308",
    ),
    ("error: cannot tile dim 3 of size 2049 into shim-legal chunks", "AL0308"),
    ("error: 'aiex.npu.push_queue' op Repeat count exceeds the [0:255] range", "AL0309"),
    ("AssertionError: L2 capacity exceeded: A=600000B + C=64B = 600064B > 524288B", "AL0310"),
    ("ValueError: L1 budget exceeded: this herd body has 70.0 KB of live buffers", "AL0311"),
    ("ld.lld: error: section '.data' will not fit in region 'data': overflowed by 512 bytes", "AL0311"),
    ("[AIE ERROR] Overflow of program memory", "AL0312"),
    ("error: 'aiex.npu.dma_memcpy_nd' op Stride 2 exceeds the [1:1048576] range", "AL0313"),
    ("error: Size 0 exceeds the [0:1023] range", "AL0314"),
    ("error: Size may not exceed 1023", "AL0314"),
    ("Command failed: ERT_CMD_STATE_TIMEOUT", "AL0315"),
    ("error: 'aie.lock' op not allocated a lock", "AL0318"),
    ("number of arguments exceeds the maximum supported and verified count of 16", "AL0319"),
    ("error: would block here forever", "AL0320"),
    ("error: Cannot wait on a BD that is not configured to issue a token", "AL0320"),
    ("error: redefinition of symbol named 'herd_0'", "AL0321"),
    ("error: --output-format=elf is not supported for --device=npu1", "AL0324"),
    ("error: operand #1 does not dominate this use", "AL0502"),
];

#[test]
fn each_known_text_has_its_code() {
    for (line, code) in LINES {
        assert_eq!(classify(line, &[]).map(|c| c.to_string()).as_deref(), Some(*code), "{line}");
    }
}

#[test]
fn full_memory_is_told_apart_by_the_row_of_its_tile() {
    let line = "error: 'aie.tile' op allocated buffers exceeded available memory";
    let mem = ["note: see current operation: %1 = aie.tile(3, 1)"];
    let core = ["note: see current operation: %1 = aie.tile(3, 4)"];
    assert_eq!(classify(line, &mem).map(|c| c.to_string()).as_deref(), Some("AL0310"));
    assert_eq!(classify(line, &core).map(|c| c.to_string()).as_deref(), Some("AL0311"));
    assert_eq!(classify(line, &[]).map(|c| c.to_string()).as_deref(), Some("AL0311"));
    // The tile of an error before it is not that of this one.
    let two = ["note: tile (2, 3)", line, "note: see %tile_1_1"];
    assert_eq!(classify(line, &two).map(|c| c.to_string()).as_deref(), Some("AL0310"));
}

#[test]
fn other_lines_are_left_alone() {
    for line in ["", "warning: unused variable", "[1/20] Compiling mv.cc", "stride is 1", "info: placed 8 tiles"] {
        assert_eq!(classify(line, &[]), None, "{line}");
    }
}
