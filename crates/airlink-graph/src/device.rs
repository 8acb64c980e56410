//! The names of devices.

/// Devices that a graph may name, as mlir-aie's `AIEDevice` enumeration spells them (`AIEAttrs.td`): it has neither
/// `npu1_4col` nor `npu2_8col`, since these are the whole `npu1` and `npu2`.
pub const DEVICES: &[&str] = &[
    "npu1",
    "npu1_1col",
    "npu1_2col",
    "npu1_3col",
    "npu2",
    "npu2_1col",
    "npu2_2col",
    "npu2_3col",
    "npu2_4col",
    "npu2_5col",
    "npu2_6col",
    "npu2_7col",
];
