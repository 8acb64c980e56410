//! ELF bytes: kernel objects and the manifest section of host ELFs.
//!
//! Everything here takes bytes that a stranger may have written: no input panics, and no length in a file is believed
//! before it is compared with the file's size.

mod kind;
mod layout;
pub mod machine;
pub mod rename;

pub use kind::file_kind;
pub use machine::Machine;
pub use rename::{RenameError, RenameOptions, RenamePlan, plan_rename, rename};
