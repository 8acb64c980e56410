//! NPU ELFs, control code and configurations.

mod linking;
mod lints;
mod made;
mod shared_files;
