//! What a program is compiled with and for.

use std::collections::BTreeMap;

use airlink_device::{Device, Profile};
use airlink_kernel::Memory;

/// Device, tools, options and objects.
#[derive(Clone, Debug)]
pub struct Setup {
    pub device: Device,
    pub profile: Profile,
    pub options: CompilerOptions,
    /// Sizes of the kernel objects that are known, by the name under which herds link with them.
    pub objects: BTreeMap<String, ObjectSize>,
}

/// Options of the compiler that limits depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompilerOptions {
    pub has_l1_ping_pong: bool,
    pub has_l2_ping_pong: bool,
    /// Largest tile of each launch dimension; empty where runtime tiling is off.
    pub runtime_tiling: Vec<u64>,
    /// None is the device's own.
    pub stack_bytes: Option<u64>,
    pub has_lock_fix: bool,
}

/// As the compiler does without options: ping-pong on both levels, no runtime tiling (mlir-air, `aircc`).
impl Default for CompilerOptions {
    fn default() -> CompilerOptions {
        CompilerOptions {
            has_l1_ping_pong: true,
            has_l2_ping_pong: true,
            runtime_tiling: Vec::new(),
            stack_bytes: None,
            has_lock_fix: false,
        }
    }
}

/// Bytes that an object brings to each core that links it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectSize {
    /// Code.
    pub text_bytes: u64,
    /// Initialised and zeroed data, and constants.
    pub data_bytes: u64,
}

impl Setup {
    /// The default tools and options for a device.
    pub fn new(device: Device) -> Setup {
        Setup { device, profile: Profile::default(), options: CompilerOptions::default(), objects: BTreeMap::new() }
    }

    pub(crate) fn has_ping_pong(&self, memory: Memory) -> bool {
        match memory {
            Memory::L1 => self.options.has_l1_ping_pong,
            Memory::L2 => self.options.has_l2_ping_pong,
            Memory::L3 => false,
        }
    }

    pub(crate) fn stack_bytes(&self) -> u64 {
        self.options.stack_bytes.unwrap_or(self.device.core.stack_bytes.value)
    }
}
