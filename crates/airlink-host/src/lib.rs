//! The host target: AIR to LLVM to object to shared ELF; reference kernels; running and comparing.
//!
//! The way of an ELF: [`kernel_objects`] makes an object of each variant in the plan, found or from a [`reference`]
//! kernel; [`build`] lowers the checked program, links it with them and writes the manifest into the result. [`run`]
//! calls such an ELF once, [`verify`] compares it with its launches built one by one.

mod build;
mod link;
mod lower;
mod manifest;
mod messages;
mod objects;
mod options;
pub mod reference;
mod run;
mod undefined;
pub mod verify;

pub use build::{build, build_module};
pub use link::Linker;
pub use lower::{lower, lowered_text};
pub use manifest::manifest;
pub use objects::{KernelObject, ObjectInputs, kernel_objects};
pub use options::{HostOptions, Machine};
pub use run::{Entered, Profile, RunInputs, RunOutput, profile, run};
