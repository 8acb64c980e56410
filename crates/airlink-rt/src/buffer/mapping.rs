//! One run of pages between two runs that nobody may touch.

use std::io;
use std::ptr;

/// Of x86-64, and of AArch64 with pages of 4 KiB.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Bytes without access on each side of a run. The first page would do for a loop that runs on; a strided access that
/// misses by a row jumps further, and untouched address space costs nothing.
const GUARD_BYTES: usize = 1 << 20;

/// Pages with guards in front and behind, unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: *mut u8,
    run_bytes: usize,
    guard_bytes: usize,
}

// SAFETY: the mapping belongs to this value alone, and `&Mapping` only hands out raw pointers; whoever turns them into
// references answers for that.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

/// The machine's page size in bytes.
pub(crate) fn page_bytes() -> usize {
    // SAFETY: sysconf reads a constant of the system.
    let found = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(found).unwrap_or(4096)
}

/// `size` rounded up to a multiple of `unit`, a power of two.
pub(super) fn round_up(size: usize, unit: usize) -> Option<usize> {
    Some(size.checked_add(unit - 1)? & !(unit - 1))
}

impl Mapping {
    /// A run of at least `size_bytes`, readable, writable and zero, with at least `guard_bytes` on each side.
    pub(crate) fn new(size_bytes: usize, guard_bytes: usize) -> io::Result<Mapping> {
        let too_large = || io::Error::from(io::ErrorKind::OutOfMemory);
        let run_bytes = round_up(size_bytes, page_bytes()).ok_or_else(too_large)?;
        let guard_bytes = round_up(guard_bytes, page_bytes()).ok_or_else(too_large)?;
        let total = guard_bytes.checked_mul(2).and_then(|g| g.checked_add(run_bytes)).ok_or_else(too_large)?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new anonymous mapping at an address of the kernel's choice touches no memory that exists.
        let base = unsafe { libc::mmap(ptr::null_mut(), total, libc::PROT_NONE, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let mapping = Mapping { base: base.cast(), run_bytes, guard_bytes };
        mapping.protect(libc::PROT_READ | libc::PROT_WRITE)?;
        mapping.ask_for_huge_pages();
        Ok(mapping)
    }

    /// Weights are read once, from one end to the other or in parts that jump from row to row: with small pages, a good
    /// part of that is looking up pages. Where the system has no others, nothing changes.
    fn ask_for_huge_pages(&self) {
        #[cfg(target_os = "linux")]
        if self.run_bytes >= 2 * HUGE_PAGE_BYTES {
            // SAFETY: advice about our own mapping, which does not change what it holds.
            unsafe { libc::madvise(self.run().cast(), self.run_bytes, libc::MADV_HUGEPAGE) };
        }
    }

    /// With the usual guards of a buffer.
    pub(crate) fn guarded(size_bytes: usize) -> io::Result<Mapping> {
        Mapping::new(size_bytes, GUARD_BYTES)
    }

    /// Sets what may be done with the run; the guards stay closed.
    pub(crate) fn protect(&self, protection: libc::c_int) -> io::Result<()> {
        if self.run_bytes == 0 {
            return Ok(());
        }
        // SAFETY: the run lies inside our own mapping. References into it are the owner's: a `Buffer` changes its
        // protection through `&mut self` only.
        match unsafe { libc::mprotect(self.run().cast(), self.run_bytes, protection) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The first byte of the run.
    pub(crate) fn run(&self) -> *mut u8 {
        self.base.wrapping_add(self.guard_bytes)
    }

    pub(crate) fn run_bytes(&self) -> usize {
        self.run_bytes
    }

    /// Addresses of everything mapped, guards included.
    pub(crate) fn addresses(&self) -> std::ops::Range<usize> {
        let start = self.base as usize;
        start..start + 2 * self.guard_bytes + self.run_bytes
    }

    /// Addresses of the front guard.
    pub(crate) fn front_guard(&self) -> std::ops::Range<usize> {
        let start = self.base as usize;
        start..start + self.guard_bytes
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: base and length are those of the mmap above, and nothing borrowed from the mapping outlives it.
        unsafe { libc::munmap(self.base.cast(), self.addresses().len()) };
    }
}
