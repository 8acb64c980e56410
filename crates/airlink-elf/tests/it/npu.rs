//! NPU ELFs, control code and configurations.

mod linking;
mod made;
mod shared_files;
