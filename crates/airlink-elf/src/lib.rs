//! ELF bytes: kernel objects and the manifest section of host ELFs.
//!
//! Everything here takes bytes that a stranger may have written: no input panics, and no length in a file is believed
//! before it is compared with the file's size.

mod find;
mod kind;
mod layout;
mod machine;
mod manifest;
pub mod npu;
mod rename;
mod sections;
mod summary;

pub use find::{FindError, FoundObject, ObjectQuery, ObjectSearch, PassedOver, Unfit, find_object};
pub use kind::{binary_kind, file_kind};
pub use machine::{AieGeneration, Machine};
pub use manifest::{MANIFEST_SECTION, ManifestError, exported_symbols, manifest, undefined_symbols};
pub use rename::{RenameError, RenameOptions, RenamePlan, Taken, plan_rename, rename};
pub use sections::{SectionSummary, SectionUse, object_sections};
pub use summary::{Binding, Definition, FileType, ObjectError, ObjectSummary, ObjectSymbol, object_summary};
