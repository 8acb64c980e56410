//! The rules of single buffer descriptors.

mod control;
mod shim_bd;
mod tile_bd;

pub use control::{WriteBd, check_packet, check_push, check_runs, check_writebd};
pub use shim_bd::{check_element_width, check_length, check_shim_bd};
pub use tile_bd::{TileBd, check_iteration, check_tile_bd};
