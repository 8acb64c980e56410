//! Running pass pipelines and emitting objects.

use std::ffi::{c_char, c_void};

use airlink_diag::{Sources, Span};
use airlink_mlir_sys as sys;
use melior::ir::Module;
use melior::pass::PassManager;
use melior::utility::parse_pass_pipeline;

use crate::{Ir, attr, place};

/// What a pass said of the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassMessage {
    pub text: String,
    /// The place in a file that was read, if the op still knows one.
    pub span: Option<Span>,
    /// Otherwise a warning.
    pub is_error: bool,
    pub notes: Vec<(String, Option<Span>)>,
}

/// Whether a pipeline ran to its end, and what was said on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassOutcome {
    pub is_ok: bool,
    pub messages: Vec<PassMessage>,
}

/// Runs a pipeline such as `builtin.module(canonicalize,cse)`; the passes must be registered
/// ([`Ir::register_passes`]). After a failure the module is good for nothing.
pub fn run_passes(ir: &Ir, module: &mut Module<'_>, pipeline: &str, sources: &Sources) -> PassOutcome {
    drop(ir.take_messages());
    let passes = PassManager::new(ir.context());
    let is_ok = match parse_pass_pipeline(passes.as_operation_pass_manager(), pipeline) {
        Ok(()) => passes.run(module).is_ok(),
        Err(error) => {
            let message = PassMessage { text: error.to_string(), span: None, is_error: true, notes: Vec::new() };
            return PassOutcome { is_ok: false, messages: vec![message] };
        }
    };
    let span = |p: Option<place::Place>| p.and_then(|p| place::span(&p, sources));
    let messages = ir.take_messages().into_iter().map(|m| PassMessage {
        text: m.text,
        span: span(m.place),
        is_error: m.is_error,
        notes: m.notes.into_iter().map(|(text, p)| (text, span(p))).collect(),
    });
    PassOutcome { is_ok, messages: messages.collect() }
}

/// What to compile for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmitOptions<'a> {
    /// `x86_64-unknown-linux-gnu`
    pub triple: &'a str,
    /// A processor that the triple knows, such as `x86-64-v3`.
    pub cpu: &'a str,
    /// 0 to 3.
    pub opt_level: i32,
    pub kind: EmitKind,
}

/// What to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmitKind {
    Object,
    Assembly,
    /// The optimised module.
    LlvmIr,
}

/// Why nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmitStatus {
    /// Unknown triple or processor.
    BadTarget,
    /// The module is not all LLVM dialect.
    BadModule,
    /// A fast-math flag or an `llvm.fmuladd` is left: the result would depend on the optimiser.
    Leftover,
    /// LLVM failed.
    Backend,
}

/// Compiles a module in the LLVM dialect. Equal modules give equal bytes.
///
/// # Errors
/// A status and a text for people.
pub fn emit(ir: &Ir, module: &Module<'_>, options: EmitOptions<'_>) -> Result<Vec<u8>, (EmitStatus, String)> {
    let raw = sys::AirlinkEmitOptions {
        triple: attr::raw(options.triple),
        cpu: attr::raw(options.cpu),
        features: attr::raw(""),
        opt_level: options.opt_level,
        kind: match options.kind {
            EmitKind::Object => sys::AIRLINK_EMIT_OBJECT,
            EmitKind::Assembly => sys::AIRLINK_EMIT_ASSEMBLY,
            EmitKind::LlvmIr => sys::AIRLINK_EMIT_LLVM,
        },
    };
    let (mut bytes, mut text) = (Vec::<u8>::new(), Vec::<u8>::new());
    // SAFETY: the module and the options live through the call, and each callback gets the vector it is made for.
    let status = unsafe {
        sys::airlinkEmit(
            melior::ir::operation::OperationLike::to_raw(&module.as_operation()),
            &raw,
            append,
            (&raw mut bytes).cast(),
            append,
            (&raw mut text).cast(),
        )
    };
    let status = match status {
        sys::AIRLINK_EMIT_OK => return Ok(bytes),
        sys::AIRLINK_EMIT_BAD_TARGET => EmitStatus::BadTarget,
        sys::AIRLINK_EMIT_BAD_MODULE => EmitStatus::BadModule,
        sys::AIRLINK_EMIT_FAST_MATH | sys::AIRLINK_EMIT_FMULADD => EmitStatus::Leftover,
        _ => EmitStatus::Backend,
    };
    let mut text = String::from_utf8_lossy(&text).into_owned();
    let said = ir.take_error_text();
    if !said.is_empty() {
        text = format!("{text}\n{said}");
    }
    Err((status, text))
}

unsafe extern "C" fn append(bytes: *const c_char, length: usize, vector: *mut c_void) {
    if length == 0 {
        return;
    }
    // SAFETY: `airlinkEmit` passes on the vector that it was given with this callback, and `length` readable bytes.
    unsafe {
        let bytes = std::slice::from_raw_parts(bytes.cast::<u8>(), length);
        (*vector.cast::<Vec<u8>>()).extend_from_slice(bytes);
    }
}
