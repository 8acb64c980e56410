//! The safe layer over MLIR: one context, modules parsed under their file names with MLIR's own messages as findings,
//! walking, places, symbols and edits, and the summary of a kernel module.
//!
//! With `airlink-mlir-sys` this is where MLIR's C interface is called.

pub mod attr;
pub mod codegen;
mod context;
pub mod edit;
mod parse;
mod place;
mod print;
mod summary;
mod version;
mod walk;

pub use context::Ir;
pub use parse::{BRACKET_DEPTH_MAX, parse, parse_part, parse_text};
pub use place::{locate, span_of};
pub use print::print;
pub use summary::{hierarchy_args, hierarchy_size_range, summarize};
pub use version::llvm_version;
pub use walk::{Walk, block_argument, children, collect, defining_op, function_body, name, uses, walk};

pub use melior;
pub use melior::ir::{Attribute, BlockRef, Module, OperationRef, Type, Value};
