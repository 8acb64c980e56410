//! One binary: each links MLIR statically and weighs 180 MB.

mod copies;
mod entries;
mod linking;
mod lowering;
mod planted;
mod programs;
mod reference;
mod streams;
mod support;
mod verifying;
