//! End to end, through the binary.

mod bad;
mod command;
mod failures;
mod gemv;
mod kernels_in_c;
mod limits;
mod mistakes;
mod npu;
mod odd;
mod oracle;
mod project;
mod shared;
mod snapshots;
mod splits;
mod tidy;
mod tools;
mod verify;
