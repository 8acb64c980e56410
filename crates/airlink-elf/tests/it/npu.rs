//! NPU ELFs, control code and configurations.

mod shared_files;
