//! Code generation: `mlir/lib/Shims/Emit.cpp`.

use std::ffi::{c_char, c_void};

use mlir_sys::{MlirOperation, MlirStringRef};

/// What to compile for, and what to write.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AirlinkEmitOptions {
    /// `x86_64-unknown-linux-gnu` or `aarch64-unknown-linux-gnu`; other architectures have no code generator here.
    pub triple: MlirStringRef,
    /// A processor of the triple, such as `x86-64-v3`; empty is the baseline. There is no `native`.
    pub cpu: MlirStringRef,
    /// `+name` and `-name`, separated by commas; may be empty.
    pub features: MlirStringRef,
    /// 0 to 3, as in `-O2`.
    pub opt_level: i32,
    /// One of `AIRLINK_EMIT_*`.
    pub kind: i32,
}

/// A relocatable object, position-independent.
pub const AIRLINK_EMIT_OBJECT: i32 = 0;
/// Assembly text.
pub const AIRLINK_EMIT_ASSEMBLY: i32 = 1;
/// Text of the optimised LLVM module.
pub const AIRLINK_EMIT_LLVM: i32 = 2;

/// The output is complete.
pub const AIRLINK_EMIT_OK: i32 = 0;
/// Unknown triple, processor or feature.
pub const AIRLINK_EMIT_BAD_TARGET: i32 = 1;
/// The module is not all LLVM dialect; MLIR's diagnostics say where.
pub const AIRLINK_EMIT_BAD_MODULE: i32 = 2;
/// A fast-math flag is left.
pub const AIRLINK_EMIT_FAST_MATH: i32 = 3;
/// An `llvm.fmuladd` is left.
pub const AIRLINK_EMIT_FMULADD: i32 = 4;
/// LLVM reported an error while it generated code.
pub const AIRLINK_EMIT_BACKEND: i32 = 5;

/// Receives bytes and their number.
pub type AirlinkBytesCallback = unsafe extern "C" fn(*const c_char, usize, *mut c_void);

unsafe extern "C" {
    /// Compiles `module`, which must be in the LLVM dialect, in a context that has the LLVM translations registered.
    /// Returns `AIRLINK_EMIT_OK` after one call of `sink` with all of the output, or another `AIRLINK_EMIT_*` status
    /// after one call of `error` with its text (UTF-8, no final newline guaranteed). Equal input gives equal bytes.
    pub fn airlinkEmit(
        module: MlirOperation,
        options: *const AirlinkEmitOptions,
        sink: AirlinkBytesCallback,
        sink_data: *mut c_void,
        error: AirlinkBytesCallback,
        error_data: *mut c_void,
    ) -> i32;
}
