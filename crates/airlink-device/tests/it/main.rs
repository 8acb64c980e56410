//! Tests of the tables and the limit algorithms.

mod array_cases;
mod control_cases;
mod devices;
mod gemv_cases;
mod ksplit;
mod model;
mod props;
mod shim_cases;
mod support;
mod tile_cases;
