//! The floating-point mode of this thread: rounding, flush-to-zero and exception masks.
//!
//! Some libraries switch denormals off for the whole thread; results would then depend on what ran before.

/// The mode before a call, restored when dropped.
pub(crate) struct FpMode {
    before: u64,
}

impl FpMode {
    /// Sets the default mode: round to nearest even, denormals kept, no exception traps.
    pub(crate) fn set_default() -> FpMode {
        let before = control();
        set_control(DEFAULT);
        FpMode { before }
    }

    /// Whether the mode is still the default; flags of exceptions that happened don't count.
    pub(crate) fn is_default() -> bool {
        control() & !STATUS_BITS == DEFAULT
    }
}

impl Drop for FpMode {
    fn drop(&mut self) {
        set_control(self.before);
    }
}

/// MXCSR after reset, and its sticky flags. Source: Intel SDM volume 1, 10.2.3.
#[cfg(target_arch = "x86_64")]
const DEFAULT: u64 = 0x1f80;
#[cfg(target_arch = "x86_64")]
const STATUS_BITS: u64 = 0x3f;

#[cfg(target_arch = "x86_64")]
fn control() -> u64 {
    let mut mxcsr = 0u32;
    // SAFETY: stores four bytes into a local variable.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &mut mxcsr, options(nostack, preserves_flags)) };
    u64::from(mxcsr)
}

#[cfg(target_arch = "x86_64")]
fn set_control(value: u64) {
    let mxcsr = value as u32;
    // SAFETY: `value` is the default, or was read from the register before, so it sets no reserved bit. Rust code that
    // runs in between runs in the default mode, as Rust requires.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &mxcsr, options(nostack, preserves_flags)) };
}

/// FPCR at reset; its flags live in FPSR. Source: Arm ARM, C5.2.8.
#[cfg(target_arch = "aarch64")]
const DEFAULT: u64 = 0;
#[cfg(target_arch = "aarch64")]
const STATUS_BITS: u64 = 0;

#[cfg(target_arch = "aarch64")]
fn control() -> u64 {
    let fpcr: u64;
    // SAFETY: reads a register.
    unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) fpcr, options(nomem, nostack, preserves_flags)) };
    fpcr
}

#[cfg(target_arch = "aarch64")]
fn set_control(value: u64) {
    // SAFETY: `value` is the default, or was read from the register before.
    unsafe { std::arch::asm!("msr fpcr, {}", in(reg) value, options(nomem, nostack, preserves_flags)) };
}
