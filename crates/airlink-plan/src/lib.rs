//! Decides cuts, order, wiring, names and variants. Plain data.
//!
//! The [`Plan`] holds every name and every position that the stitched module will have; whoever carries it out decides
//! nothing. It has a stable order: two plans of equal graphs are equal.

mod allocator;
mod args;
mod cuts;
mod externs;
mod kernel_use;
mod locals;
mod make;
mod plan;
mod variants;

pub use allocator::NameAllocator;
pub use make::plan;
pub use plan::{
    ArgPlan, CutReason, ElfPlan, EntryPlan, ExternPlan, ExternUse, FoundObject, FoundObjects, LaunchPlan, LocalRename,
    ObjectIdx, ObjectInfo, ObjectPlan, ObjectSymbol, OperandPlan, Plan, PlanOptions, Rename, RenameKind, Signature,
    SplitPlan,
};
