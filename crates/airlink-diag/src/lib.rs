//! Findings: what airlink says about its input, the machine, or itself.
//!
//! A [`Finding`] has a code, a severity, one headline that stands alone, labelled spans in the files that the user
//! wrote, the number found, the number allowed and the source of that limit, and one remedy that names an edit.
//! Phases push findings into [`Findings`] and return [`Reported`] when they cannot go on.
//! Nothing here prints: [`render`] returns text.

pub mod codes;
mod finding;
pub mod render;
mod source;

pub use codes::Code;
pub use finding::{Finding, Findings, Label, Reported, Severity};
pub use source::{FileId, LineColumn, Sources, Span};
