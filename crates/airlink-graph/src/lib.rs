//! The launch graph: TOML to buffers, views, launches, host steps; effects and roles.
//!
//! [`GraphFile`] is what the file says, with places; [`LaunchGraph`] is what it means once the kernels are known.

mod effects;
mod file;
mod graph;
mod ranges;
mod read;
mod reorder;
mod resolve;
mod roles;
mod text;
mod words;

pub use effects::{DataflowEdge, Dependence, Effect};
pub use file::{
    BufferEntry, CompilerOptions, ElfEntry, Fuse, GraphFile, HostEntry, KSplit, LaunchEntry, NSplit, Partition,
    PingPong, Placed, Role, RowSplit, StepEntry, ViewEntry,
};
pub use graph::{
    Buffer, BufferIdx, ByteRange, HostIdx, HostOperand, HostStep, Launch, LaunchGraph, LaunchIdx, Move, Operand, Step,
    View, ViewIdx,
};
pub use ranges::{Ranges, subtract};
pub use read::{EXPANDED_MAX, read};
pub use reorder::reorder;
pub use resolve::{kernel_functions, resolve};
pub use roles::{BufferRole, ElfRoles, IndexLists, index_lists, roles};
pub use text::text;
pub use words::suggest;
