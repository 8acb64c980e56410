//! The devices and what one tile of each kind has.

use serde::Serialize;

use crate::ports::{CORE_PORTS, MEM_PORTS, Ports, SHIM_PORTS};

/// A device as MLIR names it.
///
/// Every field is public, so that a test can take a copy and grow one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Device {
    pub name: &'static str,
    pub arch: Arch,
    pub columns: Limit,
    /// Rows of core tiles; the device also has one row of shim and one of mem tiles.
    pub core_rows: Limit,
    /// Whether aircc writes a full ELF for it.
    pub has_full_elf: bool,
    pub shim: TileLimits,
    pub mem: TileLimits,
    pub core: TileLimits,
    /// Host buffers of a kernel in an xclbin.
    pub xclbin_args_max: Limit,
    /// Bits of the unit in which every size, stride, offset and length counts.
    pub address_granule_bits: Limit,
    pub packet_id_max: Limit,
    pub packet_type_max: Limit,
    /// Packet flows through one port.
    pub packet_flows_per_port: Limit,
    /// Packet rules of one slave port.
    pub packet_rules_per_port: Limit,
    /// Arbiters of one tile's stream switch, for packets.
    pub arbiter_count: Limit,
    /// Master selects of one arbiter.
    pub msel_count: Limit,
    /// Bits of one cascade transfer.
    pub cascade_bits: Limit,
}

/// Generation of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Arch {
    Aie2,
    Aie2p,
}

/// A number of the hardware or of the compiler and the place that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Limit {
    pub value: u64,
    /// File and line in mlir-aie or mlir-air, or an issue number.
    pub source: &'static str,
}

impl Limit {
    pub(crate) const fn new(value: u64, source: &'static str) -> Limit {
        Limit { value, source }
    }
}

/// Kind of a tile: its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum TileKind {
    /// Row 0: to host memory (L3).
    Shim,
    /// Row 1: L2.
    Mem,
    /// Rows 2 to 5: L1.
    Core,
}

impl std::fmt::Display for TileKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            TileKind::Shim => "shim tile",
            TileKind::Mem => "memtile",
            TileKind::Core => "core",
        })
    }
}

/// What one tile has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TileLimits {
    pub kind: TileKind,
    /// Data memory; 0 where there is none.
    pub data_bytes: Limit,
    pub bank_count: Limit,
    pub buffer_align_bytes: Limit,
    /// Program memory; 0 where there is none.
    pub program_bytes: Limit,
    /// Stack of a core unless the module says otherwise, part of the data memory.
    pub stack_bytes: Limit,
    pub mm2s_count: Limit,
    pub s2mm_count: Limit,
    /// The first channels of each direction, which also reach buffers of the neighbour tiles in the same row.
    pub neighbour_channel_count: Limit,
    pub bd_count: Limit,
    /// BDs that channels of one parity (even, odd) can use; `None` where all channels share one pool.
    pub bds_per_parity: Option<Limit>,
    pub lock_count: Limit,
    pub lock_value_max: Limit,
    /// Dimensions of one BD, the iteration not counted.
    pub nd_dims: Limit,
    /// Runs of one BD with an address step.
    pub iteration_max: Limit,
    /// Bits of a wrap field, which holds a size in words.
    pub wrap_bits: Limit,
    /// Bits of a step field, which holds a stride in words less one.
    pub step_bits: Limit,
    /// Longest BD, in 32-bit words.
    pub length_words_max: Limit,
    /// Tasks that wait in the queue of one channel.
    pub queue_depth: Limit,
    /// Runs that one push to a queue can ask for.
    pub push_runs_max: Limit,
    pub ports: Ports,
}

impl TileLimits {
    /// Largest size a wrap field holds, in words.
    pub fn wrap_words_max(&self) -> u64 {
        pow2(self.wrap_bits.value) - 1
    }

    /// Largest stride a step field holds, in words.
    pub fn step_words_max(&self) -> u64 {
        pow2(self.step_bits.value)
    }
}

fn pow2(bits: u64) -> u64 {
    1 << bits.min(63)
}

impl Device {
    /// The device that MLIR calls so.
    pub fn named(name: &str) -> Option<&'static Device> {
        DEVICES.iter().find(|d| d.name == name)
    }

    /// The names of all devices.
    pub fn names() -> Vec<&'static str> {
        DEVICES.iter().map(|d| d.name).collect()
    }

    /// All devices, small ones first.
    pub fn all() -> &'static [Device] {
        &DEVICES
    }

    pub fn tile(&self, kind: TileKind) -> &TileLimits {
        match kind {
            TileKind::Shim => &self.shim,
            TileKind::Mem => &self.mem,
            TileKind::Core => &self.core,
        }
    }

    /// Elements of this width whose bits fill whole address granules: 2 for 16 bits.
    pub fn granule(&self, element_bits: u64) -> u64 {
        let whole = self.address_granule_bits.value.max(1);
        whole / gcd(element_bits, whole)
    }
}

pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a.max(1) } else { gcd(b, a % b) }
}

const ENUM: &str = "AIEAttrs.td:115-126";

static DEVICES: [Device; 12] = [
    device("npu1_1col", Arch::Aie2, 1),
    device("npu1_2col", Arch::Aie2, 2),
    device("npu1_3col", Arch::Aie2, 3),
    device("npu1", Arch::Aie2, 4),
    device("npu2_1col", Arch::Aie2p, 1),
    device("npu2_2col", Arch::Aie2p, 2),
    device("npu2_3col", Arch::Aie2p, 3),
    device("npu2_4col", Arch::Aie2p, 4),
    device("npu2_5col", Arch::Aie2p, 5),
    device("npu2_6col", Arch::Aie2p, 6),
    device("npu2_7col", Arch::Aie2p, 7),
    device("npu2", Arch::Aie2p, 8),
];

const fn device(name: &'static str, arch: Arch, columns: u64) -> Device {
    Device {
        name,
        arch,
        columns: Limit::new(columns, ENUM),
        core_rows: Limit::new(4, "AIETargetModel.h:848-965"),
        has_full_elf: matches!(arch, Arch::Aie2p),
        shim: SHIM,
        mem: MEM,
        core: CORE,
        xclbin_args_max: Limit::new(16, "aiecc SidecarFiles.h:84-93"),
        address_granule_bits: Limit::new(32, "AIETargetModel.h:625"),
        packet_id_max: Limit::new(31, "AIEXDialect.cpp:699-705"),
        packet_type_max: Limit::new(7, "AIEXDialect.cpp:699-705"),
        packet_flows_per_port: Limit::new(32, "AIEPathFinder.h:27-28"),
        packet_rules_per_port: Limit::new(4, "AIETargetModel.h:627-628"),
        arbiter_count: Limit::new(6, "AIECreatePathFindFlows.cpp:627-628"),
        msel_count: Limit::new(4, "AIECreatePathFindFlows.cpp:627-628"),
        cascade_bits: Limit::new(512, "AIETargetModel.h:654"),
    }
}

const NONE: Limit = Limit::new(0, "AIETargetModel.h:848-965");
const SHIM_CORE_CHANNELS: Limit = Limit::new(2, "AIETargetModel.cpp:880-1048");
const MEM_CHANNELS: Limit = Limit::new(6, "AIETargetModel.cpp:880-1048");
const SHIM_CORE_BDS: Limit = Limit::new(16, "AIETargetModel.h:667");
const SHIM_CORE_LOCKS: Limit = Limit::new(16, "AIETargetModel.h:658");
const SHIM_CORE_DIMS: Limit = Limit::new(3, "AIETargetModel.h:670");
const SHIM_MEM_WRAP_BITS: Limit = Limit::new(10, "AIETargetModel.h:686");
const LOCK_VALUE_MAX: Limit = Limit::new(63, "AIETargetModel.h:662");
const ITERATION_MAX: Limit = Limit::new(64, "AIEDialect.cpp:2534-2556");
const QUEUE_DEPTH: Limit = Limit::new(4, "AIRRtToNpuPass.cpp:2935-2967, mlir-aie#3734");
const PUSH_RUNS_MAX: Limit = Limit::new(256, "AIEXDialect.cpp:737-740");

const SHIM: TileLimits = TileLimits {
    kind: TileKind::Shim,
    data_bytes: NONE,
    bank_count: NONE,
    buffer_align_bytes: Limit::new(4, "AIEXDialect.cpp:653"),
    program_bytes: NONE,
    stack_bytes: NONE,
    mm2s_count: SHIM_CORE_CHANNELS,
    s2mm_count: SHIM_CORE_CHANNELS,
    neighbour_channel_count: NONE,
    bd_count: SHIM_CORE_BDS,
    bds_per_parity: None,
    lock_count: SHIM_CORE_LOCKS,
    lock_value_max: LOCK_VALUE_MAX,
    nd_dims: SHIM_CORE_DIMS,
    iteration_max: ITERATION_MAX,
    wrap_bits: SHIM_MEM_WRAP_BITS,
    step_bits: Limit::new(20, "AIETargetModel.h:690"),
    length_words_max: Limit::new(u32::MAX as u64, "AIETargetModel.h:674"),
    queue_depth: QUEUE_DEPTH,
    push_runs_max: PUSH_RUNS_MAX,
    ports: SHIM_PORTS,
};

const MEM: TileLimits = TileLimits {
    kind: TileKind::Mem,
    data_bytes: Limit::new(0x80000, "AIETargetModel.h:724"),
    bank_count: Limit::new(8, "AIETargetModel.h:726"),
    buffer_align_bytes: Limit::new(4, "AIETargetModel.h:273"),
    program_bytes: NONE,
    stack_bytes: NONE,
    mm2s_count: MEM_CHANNELS,
    s2mm_count: MEM_CHANNELS,
    neighbour_channel_count: Limit::new(4, "AIEDialect.cpp:2007-2045"),
    bd_count: Limit::new(48, "AIETargetModel.h:667"),
    bds_per_parity: Some(Limit::new(24, "AIETargetModel.h:703-713")),
    lock_count: Limit::new(64, "AIETargetModel.h:658"),
    lock_value_max: LOCK_VALUE_MAX,
    nd_dims: Limit::new(4, "AIETargetModel.h:670"),
    iteration_max: ITERATION_MAX,
    wrap_bits: SHIM_MEM_WRAP_BITS,
    step_bits: Limit::new(17, "AIETargetModel.h:690"),
    length_words_max: Limit::new(0x1ffff, "AIETargetModel.h:674"),
    queue_depth: QUEUE_DEPTH,
    push_runs_max: PUSH_RUNS_MAX,
    ports: MEM_PORTS,
};

const CORE: TileLimits = TileLimits {
    kind: TileKind::Core,
    data_bytes: Limit::new(0x10000, "AIETargetModel.h:653"),
    bank_count: Limit::new(4, "AIETargetModel.h:726"),
    buffer_align_bytes: Limit::new(32, "AIETargetModel.h:655"),
    program_bytes: Limit::new(16_384, "mlir-aie#3618, regdb.py:45"),
    stack_bytes: Limit::new(1024, "AIETargetModel.h:263"),
    mm2s_count: SHIM_CORE_CHANNELS,
    s2mm_count: SHIM_CORE_CHANNELS,
    neighbour_channel_count: NONE,
    bd_count: SHIM_CORE_BDS,
    bds_per_parity: None,
    lock_count: SHIM_CORE_LOCKS,
    lock_value_max: LOCK_VALUE_MAX,
    nd_dims: SHIM_CORE_DIMS,
    iteration_max: ITERATION_MAX,
    wrap_bits: Limit::new(8, "AIETargetModel.h:686"),
    step_bits: Limit::new(13, "AIETargetModel.h:690"),
    length_words_max: Limit::new(0x3fff, "AIETargetModel.h:674"),
    queue_depth: QUEUE_DEPTH,
    push_runs_max: PUSH_RUNS_MAX,
    ports: CORE_PORTS,
};
