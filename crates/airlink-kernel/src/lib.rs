//! What a kernel module says, as plain data: arguments and their types, what each launch reads and writes, externs and
//! the objects they link with, and the names that are local to it.
//!
//! `airlink-ir` fills these from the IR; the graph and the plan read them and so build and test without MLIR.

mod c;
mod summary;
mod traffic;
mod types;

pub use c::c_prototype;
pub use summary::{
    Access, ArgSummary, CallSummary, ChannelSummary, EntryKind, EntrySummary, ExternSummary, FunctionSummary,
    HerdSummary, KernelSummary, LocalKind, LocalName,
};
pub use traffic::{
    BufferRef, ChannelUse, GridObstacle, HerdUse, Linear, LocalBuffer, LoopKind, LoopUse, Memory, Place, SegmentUse,
    Side, Traffic, Transfer, TransferKind, WidthObstacle,
};
pub use types::{KernelType, MemRefType};
