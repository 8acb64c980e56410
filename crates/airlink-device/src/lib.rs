//! Device tables with their sources and the limit algorithms. Pure functions over plain numbers.
//!
//! A [`Device`] says what the hardware has, a [`Profile`] what a version of the tools does. The checks answer with
//! [`Fault`]s; what becomes of them, and where in a program they point, the caller decides.

mod check;
mod device;
mod elf;
mod factor;
mod fault;
mod gemv;
mod ksplit;
mod launch;
mod live;
mod pattern;
mod place;
mod ports;
mod profile;
mod shim;
mod tile;

pub use check::{
    TileBd, WriteBd, check_element_width, check_iteration, check_length, check_packet, check_push, check_runs,
    check_shim_bd, check_tile_bd, check_writebd,
};
pub use device::{Arch, Device, Limit, TileKind, TileLimits};
pub use elf::{
    Container, Load, TxnBytes, check_container, check_mixed_dma, check_odd_trips, check_pdi_parity, check_task_count,
    pdi_loads, repeated_names, task_bytes,
};
pub use factor::{largest_aligned_factor, largest_factor};
pub use fault::{Bound, Fault, Rule};
pub use gemv::{Gemv, GemvNeeds, Suggestion, check_gemv, suggest};
pub use ksplit::{K_UNSPLIT_MAX, k_split_best, k_split_nearest, k_split_parts};
pub use launch::{LaunchFlow, LaunchUse, check_launch};
pub use live::{
    ChannelTasks, Direction, ShimChannel, Simulation, Step, TileLive, check_live, check_queue, live_bds, simulate,
    steps,
};
pub use pattern::{Canon, Pattern, granule};
pub use place::{
    Cell, Demand, Herd, L2Bucket, Placement, ShimFlow, ShimTile, ShimTiles, Stream, check_demand, check_l2_buckets,
    check_shim_flows, demand, l2_columns, place, shim_tiles,
};
pub use ports::Ports;
pub use profile::{Profile, Switch};
pub use shim::{Loop, Shape, ShimTask, Transfer, UnrollReason, Unrolled, decompose, shape, shim_task};
pub use tile::{
    BdTask, ChannelOp, ChannelProgram, TileBuffer, TileChannel, buffer_copies, channel_program, check_channel_pin,
    check_channels, check_l1, check_l2, check_lock_value, check_locks, check_program, check_program_runs,
    check_tile_bds, l1_bytes, l2_bytes, lock_count,
};
