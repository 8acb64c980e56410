//! The dialect, the passes and the shims, through their C functions.

mod corpus;
mod dialect;
mod emit;
mod passes;
mod shims;
mod support;
