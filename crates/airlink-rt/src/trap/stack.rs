//! Stacks: for coroutines that run ELF code, and for the signal handler.

use corosensei::stack::{Stack, StackPointer};
use std::io;
use std::ops::Range;
use std::ptr;

use crate::buffer::Mapping;

/// A coroutine's stack, with a guard below that is as large as the stack.
///
/// A kernel with large local arrays moves the stack pointer far before it touches anything: one page would be jumped
/// over. Pages that are never touched cost nothing.
pub(crate) struct GuardedStack {
    mapping: Mapping,
}

impl GuardedStack {
    pub(crate) fn new(size_bytes: usize) -> io::Result<GuardedStack> {
        let size_bytes = size_bytes.max(corosensei::stack::MIN_STACK_SIZE);
        Ok(GuardedStack { mapping: Mapping::new(size_bytes, size_bytes)? })
    }

    /// One past the last byte.
    pub(crate) fn end(&self) -> usize {
        self.mapping.run() as usize + self.mapping.run_bytes()
    }

    /// Addresses below the stack that fault.
    pub(crate) fn guard(&self) -> Range<usize> {
        self.mapping.front_guard()
    }
}

// SAFETY: the run is writable and at least MIN_STACK_SIZE long, base and limit are page-aligned, and the guard between
// the limit and the run catches an overflow.
unsafe impl Stack for GuardedStack {
    fn base(&self) -> StackPointer {
        // The run of a mapping never starts at address 0.
        StackPointer::new(self.end()).unwrap_or(StackPointer::MAX)
    }

    fn limit(&self) -> StackPointer {
        StackPointer::new(self.guard().start).unwrap_or(StackPointer::MIN)
    }
}

/// Memory for the signal handler, so that it runs when the interrupted stack is full.
pub(crate) struct AltStack {
    mapping: Mapping,
}

/// More than any CPU's register state in a signal frame (11 KiB with AMX), and what the handler itself needs.
const ALT_STACK_BYTES: usize = 64 << 10;

impl AltStack {
    pub(crate) fn new() -> io::Result<AltStack> {
        Ok(AltStack { mapping: Mapping::new(ALT_STACK_BYTES, ALT_STACK_BYTES)? })
    }

    /// Lets this thread's signal handlers run here until the returned value is dropped.
    pub(crate) fn activate(&self) -> io::Result<ActiveAltStack<'_>> {
        let ours = libc::stack_t { ss_sp: self.mapping.run().cast(), ss_flags: 0, ss_size: self.mapping.run_bytes() };
        let mut before = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
        // SAFETY: our memory outlives the returned value, which takes it out of use again.
        match unsafe { libc::sigaltstack(&ours, &mut before) } {
            0 => Ok(ActiveAltStack { before, _stack: self, _this_thread: std::marker::PhantomData }),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// An alternate stack in use by this thread.
pub(crate) struct ActiveAltStack<'a> {
    before: libc::stack_t,
    _stack: &'a AltStack,
    /// Not to be dropped by another thread.
    _this_thread: std::marker::PhantomData<*mut ()>,
}

impl Drop for ActiveAltStack<'_> {
    fn drop(&mut self) {
        // SAFETY: what the thread had before; Rust's own alternate stack lives as long as its thread.
        unsafe { libc::sigaltstack(&self.before, ptr::null_mut()) };
    }
}
