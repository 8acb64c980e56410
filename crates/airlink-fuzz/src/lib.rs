//! What holds of any input: the bodies of the fuzz targets.
//!
//! Each function takes the bytes that a fuzzer makes and panics where airlink breaks a promise. The libFuzzer targets
//! in `fuzz/` call them, and so does the bounded run on stable Rust in this crate's test.

mod choices;
mod npu;
mod objects;
mod planned;
mod reader;
mod said;

pub use npu::{configuration, control, npu_elf};
pub use objects::{CHOICES_LEN, object_renamer};
pub use planned::plan;
pub use reader::toml_reader;

/// How far an input came, so that a run can show that it reached what it is meant to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Refused, with findings or an error that say why.
    Refused,
    /// Accepted, and all that must hold of the result does.
    Accepted,
}
