//! The one MLIR context of a run.

use std::cell::RefCell;
use std::rc::Rc;

use airlink_mlir_sys as sys;
use melior::Context;
use melior::diagnostic::{Diagnostic, DiagnosticSeverity};
use melior::dialect::{DialectHandle, DialectRegistry};
use melior::utility::{register_all_dialects, register_all_llvm_translations, register_all_passes};

use crate::place;

/// A context with every upstream dialect, ours, and all passes. All modules of a run live in one context, so that ops
/// can move between them.
pub struct Ir {
    context: Context,
    messages: Rc<RefCell<Vec<Message>>>,
}

/// What MLIR said, with the place it said it of.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub text: String,
    pub place: Option<place::Place>,
    pub is_error: bool,
    pub notes: Vec<(String, Option<place::Place>)>,
}

impl Ir {
    /// Makes the context. Threads are off: what airlink runs is small, and starting a pool costs more than it saves.
    pub fn new() -> Ir {
        let registry = DialectRegistry::new();
        register_all_dialects(&registry);
        // SAFETY: the handle is a pointer to a static table of the library that we link.
        let air = unsafe { DialectHandle::from_raw(sys::mlirGetDialectHandle__air__()) };
        air.insert_dialect(&registry);
        let context = Context::new_with_registry(&registry, false);
        context.load_all_available_dialects();
        register_all_llvm_translations(&context);
        let messages = Rc::new(RefCell::new(Vec::new()));
        let sink = Rc::clone(&messages);
        context.attach_diagnostic_handler(move |d| {
            // Remarks are ours to drop; whatever else is kept until the caller turns it into a finding.
            if !matches!(d.severity(), DiagnosticSeverity::Remark) {
                sink.borrow_mut().push(message(&d));
            }
            true
        });
        Ir { context, messages }
    }

    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Registers every pass, upstream's and ours; only code generation needs them, and they cost start-up time.
    pub fn register_passes(&self) {
        register_all_passes();
        // SAFETY: registration guards itself against a second call.
        unsafe {
            sys::airlinkRegisterPasses();
            sys::airlinkRegisterHostPasses();
        }
    }

    /// What MLIR said since the last call.
    pub(crate) fn take_messages(&self) -> Vec<Message> {
        self.messages.take()
    }

    /// The errors that MLIR printed since the last call, as text: for failures that are airlink's own.
    pub fn take_error_text(&self) -> String {
        let lines: Vec<String> = self
            .take_messages()
            .into_iter()
            .flat_map(|m| std::iter::once(m.text).chain(m.notes.into_iter().map(|(text, _)| text)))
            .collect();
        lines.join("\n")
    }
}

impl Default for Ir {
    fn default() -> Ir {
        Ir::new()
    }
}

fn message(d: &Diagnostic<'_>) -> Message {
    let notes = (0..d.note_count())
        .filter_map(|i| d.note(i).ok())
        .map(|n| (n.to_string(), place::place(n.location())))
        .collect();
    Message {
        text: d.to_string(),
        place: place::place(d.location()),
        is_error: matches!(d.severity(), DiagnosticSeverity::Error),
        notes,
    }
}
