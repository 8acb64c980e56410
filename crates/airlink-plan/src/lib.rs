//! Decides cuts, order, wiring, names and variants. Plain data.
//!
//! The [`Plan`] holds every name and every position that the stitched module will have; whoever carries it out decides
//! nothing. It has a stable order: two plans of equal graphs are equal.

mod allocator;
mod args;
mod columns;
mod cuts;
mod externs;
mod hazards;
mod json;
mod kernel_use;
mod limits;
mod locals;
mod make;
mod map;
mod plan;
mod render;
mod report;
mod rows;
mod splits;
mod variants;

pub use allocator::NameAllocator;
pub use json::{ArgJson, ElfJson, MoveJson, PlanJson, plan_json};
pub use make::plan;
pub use map::{LinkMap, MapArgument, MapCut, MapLaunch, MapObject, MapView, link_map};
pub use plan::{
    Across, ArgPlan, CallPlan, CutReason, ElfPlan, ElfResources, EntryPlan, ExternPlan, ExternUse, FoundObject,
    FoundObjects, LaunchPlan, LaunchResources, LocalRename, NSplitPlan, ObjectIdx, ObjectInfo, ObjectPlan,
    ObjectSymbol, Objective, OperandPlan, Plan, PlanOptions, Rename, RenameKind, RowPiece, RowSplitPlan, Signature,
    SplitPlan,
};
pub use render::render;
pub use report::{Outcome, OutputFile, dot, html, log};
