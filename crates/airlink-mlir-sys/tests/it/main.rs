//! The dialect and the shims, through their C functions.

mod corpus;
mod support;
