//! The signal handler. Everything here runs in the middle of arbitrary code: no allocation, no locks.

use std::sync::OnceLock;

use super::context::Context;
use super::{Exit, INNERMOST, RawFault};

const SIGNALS: [libc::c_int; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL];

/// What the process did on each signal before us.
static BEFORE: OnceLock<[libc::sigaction; SIGNALS.len()]> = OnceLock::new();

/// Installs the handler for the whole process, once; it stays.
///
/// A handler that somebody installs later and that does not pass signals on takes faults away from us: they then do
/// what that handler does.
pub(super) fn install() {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        // Known before the first of our handlers can run.
        BEFORE.get_or_init(|| SIGNALS.map(current_action));
        for signal in SIGNALS {
            // SAFETY: zero is a valid sigaction: the default action with an empty mask.
            let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
            let function: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_fault;
            action.sa_sigaction = function as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            // SAFETY: `on_fault` has the signature that SA_SIGINFO asks for and keeps to what handlers may do.
            unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) };
        }
    });
}

fn current_action(signal: libc::c_int) -> libc::sigaction {
    // SAFETY: zero is a valid sigaction; the call only fills it in.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut action);
        action
    }
}

extern "C" fn on_fault(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel hands a valid siginfo and the ucontext of the interrupted code to an SA_SIGINFO handler.
    let ended = unsafe { end_coroutine(signal, &*info, Context::new(context)) };
    if !ended {
        fall_through(signal, info, context);
    }
}

/// Makes the interrupted coroutine return the fault; false if no coroutine of ours was interrupted.
///
/// # Safety
/// `context` must be that of the interrupted code, which resumes with what is written there.
unsafe fn end_coroutine(signal: libc::c_int, info: &libc::siginfo_t, mut context: Context) -> bool {
    // SAFETY: records live on the stack of `resume` for as long as INNERMOST points to them, on this very thread.
    let Some(record) = (unsafe { INNERMOST.get().as_ref() }) else {
        return false;
    };
    // Positive codes come from the kernel's own fault handling, others from kill and its like. The stack pointer says
    // nothing: while the record stands, this thread runs ELF code, and what that code has done to its stack is no matter.
    if info.si_code <= 0 {
        return false;
    }
    // SAFETY: the record is that of the coroutine that runs on this thread.
    unsafe { record.restore_link() };
    // SAFETY: the signals we install for fill the address in, as far as the machine knows it.
    let address = context.has_address(signal).then(|| unsafe { info.si_addr() } as usize);
    let fault = RawFault {
        signal,
        access: context.access(signal),
        address: address.map(|a| a as u64),
        instruction: context.instruction(),
        overflowed_bytes: address
            .filter(|a| record.stack_guard.contains(a))
            .map(|_| record.stack_base - record.stack_guard.end),
    };
    // SAFETY: the coroutine was interrupted, and the registers go into its context. What the
    // coroutine leaves behind are frames of ELF code, which have nothing to drop; the memory it wrote to is reached by
    // the parent through raw pointers only.
    unsafe { context.set_registers(record.trap.setup_trap_handler(move || Exit::Err(fault))) };
    true
}

/// Does what the process would have done without us.
fn fall_through(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let before = SIGNALS.iter().position(|&s| s == signal).zip(BEFORE.get()).map(|(i, all)| &all[i]);
    match before {
        Some(action) if action.sa_sigaction != libc::SIG_DFL && action.sa_sigaction != libc::SIG_IGN => {
            // SAFETY: the handler that was installed, called as its flags say; both kinds take a prefix of the same
            // arguments.
            unsafe {
                let function: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                    std::mem::transmute(action.sa_sigaction);
                function(signal, info, context);
            }
        }
        _ => {
            // Back to the default action: for a fault the instruction runs again and ends the process as usual, a
            // signal that somebody sent is sent again.
            // SAFETY: both calls are allowed in a handler.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
                if (*info).si_code <= 0 {
                    libc::raise(signal);
                }
            }
        }
    }
}
