//! Tests of the launch graph without MLIR: kernels are summaries made by hand.

mod corpus;
mod fixtures;
mod hazards;
mod read;
mod read_any;
mod read_places;
mod resolve;
mod roles;
mod support;
mod text;
