//! Faults in host ELFs: a signal inside a coroutine ends that coroutine with a value instead of the process.
//!
//! ELF code runs on coroutines only. [`resume`] notes the innermost coroutine of this thread where the signal handler
//! finds it. A fault on that thread makes it return an [`Exit`] with a [`RawFault`], wherever its stack pointer points:
//! code that has overwritten its own stack runs on with any. Other faults go to the handler that was there before us, the
//! default one included. Signals of this kind are delivered to the thread that caused them, so threads don't see each
//! other's.

mod context;
mod handler;
mod stack;

use corosensei::stack::Stack;
use corosensei::trap::CoroutineTrapHandler;
use corosensei::{Coroutine, CoroutineResult};
use std::cell::Cell;
use std::ops::Range;
use std::ptr;

pub(crate) use stack::{AltStack, GuardedStack};

/// How a coroutine that runs ELF code ends.
pub(crate) type Exit = Result<Completed, RawFault>;

/// It ran to its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completed {
    /// What the entry returned.
    pub(crate) code: i32,
    pub(crate) nanoseconds: u64,
}

/// What the signal said, before anybody has looked at what the address means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawFault {
    pub(crate) signal: libc::c_int,
    pub(crate) access: Access,
    /// `None` where the machine does not tell it: a non-canonical address, a division by zero.
    pub(crate) address: Option<u64>,
    /// The instruction that faulted.
    pub(crate) instruction: u64,
    /// If the address lies in the guard below the coroutine's own stack, how large that stack is, in bytes.
    pub(crate) overflowed_bytes: Option<usize>,
}

/// What code did to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
    /// The instruction itself lay there.
    Execute,
    /// The machine does not say.
    Unknown,
}

/// The coroutine that runs on this thread right now, and the ones that resumed it.
struct Record {
    trap: CoroutineTrapHandler<Exit>,
    stack_guard: Range<usize>,
    /// One past the stack's last byte.
    stack_base: usize,
    /// The way back to who resumed the coroutine, which lies at the base of its stack, in reach of a stray write.
    link: Cell<Option<[u8; LINK_BYTES]>>,
    parent: *const Record,
}

/// What corosensei keeps at the base of a stack: `PARENT_LINK_OFFSET` in its code for each machine.
const LINK_BYTES: usize = 16;

thread_local! {
    // `const` and without a destructor: the handler may read it at any time.
    static INNERMOST: Cell<*const Record> = const { Cell::new(ptr::null()) };
}

/// Resumes a coroutine so that a fault inside it ends it.
///
/// `stack` is the range of addresses below its stack that nobody may touch, and the end of the stack. The thread needs an alternate signal
/// stack (see [`AltStack`]), as a fault may be the stack's overflow.
pub(crate) fn resume<Input, Yield, S: Stack>(
    coroutine: &mut Coroutine<Input, Yield, Exit, S>,
    stack: (Range<usize>, usize),
    input: Input,
) -> CoroutineResult<Yield, Exit> {
    struct Reset(*const Record);
    impl Drop for Reset {
        fn drop(&mut self) {
            INNERMOST.set(self.0);
        }
    }
    handler::install();
    let (stack_guard, stack_base) = stack;
    let parent = INNERMOST.get();
    let trap = coroutine.trap_handler();
    let record = Record { trap, stack_guard, stack_base, link: Cell::new(None), parent };
    // Dropped before `record`, also when the coroutine panics.
    let _reset = Reset(record.parent);
    INNERMOST.set(&record);
    coroutine.resume(input)
}

/// Called by a coroutine before it runs code that may go astray: keeps what the handler needs to end it.
pub(crate) fn keep_link() {
    // SAFETY: records live on the stack of `resume` while its coroutine runs, which is the caller.
    let Some(record) = (unsafe { INNERMOST.get().as_ref() }) else { return };
    let link = (record.stack_base - LINK_BYTES) as *const [u8; LINK_BYTES];
    // SAFETY: the last bytes of the stack that we run on.
    record.link.set(Some(unsafe { link.read_unaligned() }));
}

impl Record {
    /// Puts back what [`keep_link`] saw.
    ///
    /// # Safety
    /// The coroutine must be the one that runs, so that its stack is there.
    unsafe fn restore_link(&self) {
        if let Some(link) = self.link.get() {
            let place = (self.stack_base - LINK_BYTES) as *mut [u8; LINK_BYTES];
            // SAFETY: the last bytes of the running coroutine's stack.
            unsafe { place.write_unaligned(link) };
        }
    }
}
