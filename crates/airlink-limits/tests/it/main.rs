//! Tests of the limits that need no IR.

mod growth;
mod log;
mod support;
