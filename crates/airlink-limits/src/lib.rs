//! What a launch takes of a device, and what it takes too much of.
//!
//! [`judge_launch`] goes from the traffic of a kernel's launch to flows, descriptors, channels, memory and places, and
//! judges each by `airlink-device`; [`judge_program`] judges what adds up over the launches of one ELF. Findings point
//! into the kernel's file; a remedy with numbers has been tried on the same model before it is printed.
//!
//! What only the compiler knows (which column it takes, whether the router finds a way) is a necessary condition or a
//! risk here, never a promise.

mod advice;
mod bds;
mod codes;
mod cores;
mod flows;
mod launch;
mod log;
mod memory;
mod program;
mod remedy;
mod render;
mod resource;
mod routing;
mod setup;
mod shim;
mod split;
mod wide;

pub use advice::advise;
pub use launch::{LaunchUse, judge_launch, measure};
pub use log::classify;
pub use program::{LAUNCHES_ADVISED, LAUNCHES_SOURCE, ProgramUse, args_fault, judge_names, judge_program};
pub use render::render;
pub use resource::{Resource, ResourceKind};
pub use setup::{CompilerOptions, ObjectSize, Setup};
pub use wide::{Narrow, Panel, Wide, factors, widen};
