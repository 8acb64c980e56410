//! Decides cuts, order, wiring, names and variants. Plain data.
//!
//! The [`Plan`] holds every name and every position that the stitched module will have; whoever carries it out decides
//! nothing. It has a stable order: two plans of equal graphs are equal.

mod allocator;
mod args;
mod cuts;
mod externs;
mod json;
mod kernel_use;
mod limits;
mod locals;
mod make;
mod map;
mod plan;
mod render;
mod rows;
mod splits;
mod variants;

pub use allocator::NameAllocator;
pub use json::{ArgJson, ElfJson, PlanJson, plan_json};
pub use make::plan;
pub use map::{LinkMap, MapArgument, MapCut, MapLaunch, MapObject, MapView, link_map};
pub use plan::{
    ArgPlan, CutReason, ElfPlan, ElfResources, EntryPlan, ExternPlan, ExternUse, FoundObject, FoundObjects, LaunchPlan,
    LaunchResources, LocalRename, ObjectIdx, ObjectInfo, ObjectPlan, ObjectSymbol, OperandPlan, Plan, PlanOptions,
    Rename, RenameKind, RowPiece, RowSplitPlan, Signature, SplitPlan,
};
pub use render::render;
