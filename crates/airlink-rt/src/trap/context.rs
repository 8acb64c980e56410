//! Registers of interrupted code, per machine.

use corosensei::trap::TrapHandlerRegs;

use super::Access;

/// The registers that a signal interrupted.
pub(super) struct Context(*mut libc::ucontext_t);

impl Context {
    /// # Safety
    /// `context` must be the third argument of a running SA_SIGINFO handler; the value must not outlive the handler.
    pub(super) unsafe fn new(context: *mut libc::c_void) -> Context {
        Context(context.cast())
    }
}

#[cfg(target_arch = "x86_64")]
impl Context {
    fn register(&self, index: libc::c_int) -> u64 {
        // SAFETY: valid by the promise of `new`; the indices below are constants within the array.
        unsafe { (&(*self.0).uc_mcontext.gregs)[index as usize] as u64 }
    }

    pub(super) fn instruction(&self) -> u64 {
        self.register(libc::REG_RIP)
    }

    /// Whether the signal comes with the address that was accessed: a general protection fault, which a non-canonical
    /// address raises, does not.
    pub(super) fn has_address(&self, signal: libc::c_int) -> bool {
        const PAGE_FAULT: u64 = 14;
        matches!(signal, libc::SIGSEGV | libc::SIGBUS) && self.register(libc::REG_TRAPNO) == PAGE_FAULT
    }

    /// From the page-fault error code. Source: Intel SDM volume 3, 4.7 (bit 1: write, bit 4: instruction fetch).
    pub(super) fn access(&self, signal: libc::c_int) -> Access {
        if !self.has_address(signal) {
            return Access::Unknown;
        }
        match self.register(libc::REG_ERR) {
            e if e & 0x10 != 0 => Access::Execute,
            e if e & 0x2 != 0 => Access::Write,
            _ => Access::Read,
        }
    }

    pub(super) fn set_registers(&mut self, registers: TrapHandlerRegs) {
        let TrapHandlerRegs { rip, rsp, rbp, rdi, rsi } = registers;
        // SAFETY: valid by the promise of `new`; nothing else refers to it while the handler runs.
        let gregs = unsafe { &mut (*self.0).uc_mcontext.gregs };
        gregs[libc::REG_RIP as usize] = rip as i64;
        gregs[libc::REG_RSP as usize] = rsp as i64;
        gregs[libc::REG_RBP as usize] = rbp as i64;
        gregs[libc::REG_RDI as usize] = rdi as i64;
        gregs[libc::REG_RSI as usize] = rsi as i64;
        // Functions start with the direction flag clear; the interrupted code may have set it.
        const DIRECTION: i64 = 0x400;
        gregs[libc::REG_EFL as usize] &= !DIRECTION;
    }
}

#[cfg(target_arch = "aarch64")]
impl Context {
    pub(super) fn instruction(&self) -> u64 {
        // SAFETY: as above.
        unsafe { (*self.0).uc_mcontext.pc }
    }

    pub(super) fn has_address(&self, signal: libc::c_int) -> bool {
        matches!(signal, libc::SIGSEGV | libc::SIGBUS)
    }

    /// The syndrome register lies in an extension of the context that libc does not describe.
    pub(super) fn access(&self, _signal: libc::c_int) -> Access {
        Access::Unknown
    }

    pub(super) fn set_registers(&mut self, registers: TrapHandlerRegs) {
        let TrapHandlerRegs { pc, sp, x0, x1, x29, lr } = registers;
        // SAFETY: as above; nothing else refers to it while the handler runs.
        let machine = unsafe { &mut (*self.0).uc_mcontext };
        machine.pc = pc;
        machine.sp = sp;
        machine.regs[0] = x0;
        machine.regs[1] = x1;
        machine.regs[29] = x29;
        machine.regs[30] = lr;
    }
}
