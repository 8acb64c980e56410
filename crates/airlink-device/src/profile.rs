//! What depends on the version of the tools.

use serde::Serialize;

use crate::device::Limit;

/// A state of mlir-air and mlir-aie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Profile {
    pub name: &'static str,
    /// B5: largest size of any dimension of a mem- or core-tile BD, in elements. The message of the tool says 1023.
    pub tile_dim_elements_max: Limit,
    /// B6: strides of mem- and core-tile BDs stay below this, in elements. The message of the tool says 2^20.
    pub tile_stride_elements_bound: Limit,
    /// Whether an odd number of PDI loads leaves the next dispatch without a reset.
    pub has_pdi_parity_rule: Switch,
    /// Whether an outermost dimension that is too large is rebalanced with its neighbour instead of unrolled.
    pub has_outer_rebalance: Switch,
    /// Whether a program that is too large is found before the device configuration is written.
    pub has_program_memory_check: Switch,
    /// Largest size that folding makes, in elements.
    pub fold_size_max: Limit,
    /// Loops with a longer step are not folded into a shim BD, in 32-bit words.
    pub fold_step_words_max: Limit,
    /// A shim BD's iteration size is split at this size.
    pub shim_outer_bound: Limit,
    /// A shim BD's other sizes are split at this size, in elements.
    pub shim_size_bound: Limit,
    /// Strides above it are avoided when a shim BD is shaped, in elements whatever their width.
    pub shim_stride_elements_max: Limit,
    /// A dimension with a longer stride becomes that many BDs if its size is no larger than this.
    pub stride_unroll_max: Limit,
    /// Tasks of an MM2S shim channel that are kept in flight when more stand in a row.
    pub burst_tasks_max: Limit,
    /// BDs into which one BD with too large sizes is taken apart (S12).
    pub decomposed_bds_max: Limit,
}

/// A behaviour that a version of the tools has or has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Switch {
    pub is_on: bool,
    pub source: &'static str,
}

impl Profile {
    /// The profile of this name.
    pub fn named(name: &str) -> Option<&'static Profile> {
        PROFILES.iter().find(|p| p.name == name)
    }

    /// All profiles; the first is the default.
    pub fn all() -> &'static [Profile] {
        &PROFILES
    }
}

impl Default for Profile {
    fn default() -> Profile {
        PINNED
    }
}

const fn on(source: &'static str) -> Switch {
    Switch { is_on: true, source }
}

const fn off(source: &'static str) -> Switch {
    Switch { is_on: false, source }
}

const PARITY: &str = "mlir-aie#3622 (af819a8)";
const REBALANCE: &str = "mlir-air#1937";
const PROGRAM: &str = "mlir-aie#3618";

const PINNED: Profile = Profile {
    name: "mlir-aie-7e00b57",
    tile_dim_elements_max: Limit::new(512, "AIEDialect.cpp:2450"),
    tile_stride_elements_bound: Limit::new(1 << 19, "AIEDialect.cpp:2443-2453"),
    has_pdi_parity_rule: on("AIEExpandLoadPdi.cpp:133"),
    has_outer_rebalance: off(REBALANCE),
    has_program_memory_check: off(PROGRAM),
    fold_size_max: Limit::new(1023, "AIRDependencyScheduleOpt.cpp"),
    fold_step_words_max: Limit::new(1 << 20, "AIRDependencyScheduleOpt.cpp"),
    shim_outer_bound: Limit::new(64, "AIRRtToNpuPass.cpp:1649-1818"),
    shim_size_bound: Limit::new(1024, "AIRRtToNpuPass.cpp:1649-1818"),
    shim_stride_elements_max: Limit::new(1 << 20, "AIRRtToNpuPass.cpp:1651"),
    stride_unroll_max: Limit::new(16, "AIRRtToNpuPass.cpp:2012-2203"),
    burst_tasks_max: Limit::new(4, "AIRRtToNpuPass.cpp:2935-3110"),
    decomposed_bds_max: Limit::new(16, "AIEDecomposeLargeDmaBd.cpp:344-463"),
};

static PROFILES: [Profile; 4] = [
    PINNED,
    Profile { name: "mlir-aie-af819a8", has_pdi_parity_rule: off(PARITY), ..PINNED },
    Profile { name: "mlir-air-1937", has_outer_rebalance: on(REBALANCE), ..PINNED },
    Profile {
        name: "newest-known",
        has_pdi_parity_rule: off(PARITY),
        has_outer_rebalance: on(REBALANCE),
        has_program_memory_check: on(PROGRAM),
        ..PINNED
    },
];
