//! Reference kernels: compiled by the host pipeline and run between guards, bit for bit against twins in plain Rust and
//! within bounds against f64.

mod attention;
mod blocks;
mod call;
mod catalogue;
mod elementwise;
mod gemv;
mod int4;
mod math;
mod random;
mod rope;
mod twins;
