//! Device tables with their sources and the limit algorithms. Pure functions over plain numbers.
//!
//! A [`Device`] says what the hardware has, a [`Profile`] what a version of the tools does. The checks answer with
//! [`Fault`]s; what becomes of them, and where in a program they point, the caller decides.

mod check;
mod device;
mod factor;
mod fault;
mod pattern;
mod ports;
mod profile;
mod shim;

pub use check::{
    TileBd, WriteBd, check_element_width, check_iteration, check_length, check_packet, check_push, check_runs,
    check_shim_bd, check_tile_bd, check_writebd,
};
pub use device::{Arch, Device, Limit, TileKind, TileLimits};
pub use factor::{largest_aligned_factor, largest_factor};
pub use fault::{Bound, Fault, Rule};
pub use pattern::{Canon, Pattern, granule};
pub use ports::Ports;
pub use profile::{Profile, Switch};
pub use shim::{Loop, Shape, ShimTask, Transfer, UnrollReason, Unrolled, decompose, shape, shim_task};
