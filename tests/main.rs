//! End to end, through the binary.

mod against;
mod bad;
mod columns;
mod command;
mod control;
mod extra;
mod failures;
mod gemv;
mod kernels_in_c;
mod limits;
mod mistakes;
mod models;
mod npu;
mod odd;
mod oracle;
mod project;
mod report;
mod rows;
mod shared;
mod snapshots;
mod splits;
mod tidy;
mod tools;
mod verify;
