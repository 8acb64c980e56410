//! Running host ELFs: guarded buffers, loading, faults, seeded inputs.
//!
//! The way of a run: [`HostElf::load`] checks a file against this machine and opens it, [`BufferSet`] holds its
//! arguments between guard pages, [`inputs::fill`] or [`npy::read`] gives them values, [`Caller::call`] runs the whole
//! program or one launch and turns a fault into a [`CallError`], [`compare`] judges what was written.
//!
//! Nothing here prints, and nothing here is a finding: errors are plain values with a one-line text, and `airlink-host`
//! says which code they get.

mod buffer;
mod call;
pub mod compare;
mod cpu;
mod element;
mod fp_mode;
pub mod inputs;
mod load;
mod local;
mod manifest;
pub mod npy;
mod running;
mod stream;
mod symbols;
mod trap;

pub use buffer::{Buffer, BufferError, BufferSet, MarginDamage, Place, Placement, Poison, Protection, Side};
pub use call::{Argument, Call, CallError, Caller, Entry, Fault, LaunchName};
pub use cpu::CpuLevel;
pub use element::{Element, bf16_from_f32, bf16_to_f32, f16_from_f32, f16_to_f32};
pub use load::{HostElf, LoadError, read_manifest};
pub use local::{LocalDamage, LocalName};
pub use manifest::{
    ENTRY_ABI, FpRules, MANIFEST_SCHEMA, MANIFEST_SECTION, Manifest, ManifestArg, ManifestChannel, ManifestError,
    ManifestKernel, ManifestLaunch, PROGRAM_ENTRY, Role, launch_entry,
};
pub use running::running;
pub use stream::{Schedule, StreamFault, StreamOptions, Waiting};
pub use trap::Access;
