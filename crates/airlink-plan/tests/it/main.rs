//! Tests of the plan without MLIR: graphs are TOML, kernels are summaries made by hand.

mod args;
mod best;
mod cuts;
mod externs;
mod local_names;
mod map;
mod objects;
mod props;
mod report;
mod rows;
mod support;
mod text;
mod variants;
