//! The L1 and L2 buffers of a host ELF that kernels get pointers into, and the zones around them that nobody may write.
//!
//! The ELF lists them in `airlink_buffers` and does nothing more about them. We fill the zones before each call and look
//! at them after it: what a kernel writes past a buffer is found then, whatever else it did.

use std::ffi::{CStr, c_char};
use std::fmt;

use crate::buffer::{Side, margin_byte, page_bytes};

/// A row of `airlink_buffers`, as `mlir/lib/Host/Memory.cpp` lays it out; the last has a null block, and the guard's size and place.
#[repr(C)]
pub(crate) struct Row {
    block: *mut u8,
    front_bytes: u64,
    size_bytes: u64,
    back_bytes: u64,
    launch: i64,
    text: *const c_char,
}

/// One buffer between its zones.
#[derive(Clone, Debug)]
pub(crate) struct LocalBuffer {
    /// Address of the front zone.
    block: usize,
    front_bytes: usize,
    size_bytes: usize,
    back_bytes: usize,
    /// Index of the launch that it belongs to; none for functions that several launches call.
    launch: Option<usize>,
    name: LocalName,
}

/// What is known of a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalName {
    /// `L1`, `L2` or `local`.
    pub level: String,
    /// Its memref type.
    pub ty: String,
    /// The herd or segment that allocates it: ``herd `@h` ``; empty if unknown.
    pub owner: String,
    /// The kernels that get a pointer into it: `` `@f`, `@g` ``; empty if none does.
    pub kernels: String,
}

impl LocalName {
    /// From the text of an ELF: one on a line.
    pub(crate) fn parse(text: &str) -> LocalName {
        let mut lines = text.split('\n').map(str::to_string);
        let mut next = || lines.next().unwrap_or_default();
        LocalName { level: next(), ty: next(), owner: next(), kernels: next() }
    }
}

/// Bytes beside a buffer that a call has overwritten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalDamage {
    pub launch: Option<usize>,
    pub buffer: LocalName,
    pub side: Side,
    /// How far from the buffer the farthest byte lies that was written, in bytes.
    pub reach_bytes: u64,
    /// The whole zone was written up to its end: the damage may reach further.
    pub is_open_ended: bool,
}

/// Reads the table of an ELF, and closes the guard behind its buffers.
///
/// # Safety
/// `row` must point to the `airlink_buffers` of an ELF that stays open for as long as the result is used.
pub(crate) unsafe fn read_table(mut row: *const Row) -> Vec<LocalBuffer> {
    let mut list = Vec::new();
    // SAFETY: by the promise above, rows follow each other until one with a null block, and texts are C strings.
    while let Some(r) = unsafe { row.as_ref() }.filter(|r| !r.block.is_null()) {
        let text = unsafe { CStr::from_ptr(r.text) }.to_string_lossy();
        list.push(LocalBuffer {
            block: r.block as usize,
            front_bytes: r.front_bytes as usize,
            size_bytes: r.size_bytes as usize,
            back_bytes: r.back_bytes as usize,
            launch: usize::try_from(r.launch).ok(),
            name: LocalName::parse(&text),
        });
        row = row.wrapping_add(1);
    }
    // SAFETY: the row that ended the loop; its guard is memory of the ELF that none of its code has a use for.
    if let Some(end) = unsafe { row.as_ref() } {
        close(end.text as usize, end.size_bytes as usize);
    }
    list
}

/// Takes all access from the whole pages in a range. Where that fails, the guard is not one: nothing else changes.
fn close(start: usize, size_bytes: usize) {
    let page = page_bytes();
    let (first, end) = (start.next_multiple_of(page), (start + size_bytes) / page * page);
    if first < end {
        // SAFETY: the pages hold nothing but the guard, which nobody reads or writes.
        unsafe { libc::mprotect(first as *mut libc::c_void, end - first, libc::PROT_NONE) };
    }
}

impl LocalBuffer {
    fn front(&self) -> std::ops::Range<usize> {
        self.block..self.block + self.front_bytes
    }

    fn back(&self) -> std::ops::Range<usize> {
        let start = self.block + self.front_bytes + self.size_bytes;
        start..start + self.back_bytes
    }

    /// Writes the pattern of both zones.
    pub(crate) fn fill_zones(&self) {
        for at in self.front().chain(self.back()) {
            // SAFETY: the zones are the ELF's own writable memory, and none of its code runs now.
            unsafe { (at as *mut u8).write(margin_byte(at)) };
        }
    }

    /// What a call has done to the zones.
    pub(crate) fn damage(&self) -> Option<LocalDamage> {
        // SAFETY: as above; the memory is initialised.
        let is_damaged = |at: &usize| unsafe { (*at as *const u8).read() } != margin_byte(*at);
        let (side, reach, zone) = if let Some(last) = self.back().rev().find(is_damaged) {
            (Side::After, last + 1 - self.back().start, self.back_bytes)
        } else if let Some(first) = self.front().find(is_damaged) {
            (Side::Before, self.front().end - first, self.front_bytes)
        } else {
            return None;
        };
        Some(LocalDamage {
            launch: self.launch,
            buffer: self.name.clone(),
            side,
            reach_bytes: reach as u64,
            is_open_ended: reach == zone,
        })
    }
}

impl fmt::Display for LocalDamage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LocalName { level, ty, owner, kernels } = &self.buffer;
        let n = self.reach_bytes;
        let reach =
            format!("{n} byte{}{}", if n == 1 { "" } else { "s" }, if self.is_open_ended { " or more" } else { "" });
        let side = match self.side {
            Side::After => "past the end",
            Side::Before => "before the start",
        };
        write!(f, "wrote {reach} {side} of the {level} buffer `{ty}`")?;
        if !owner.is_empty() {
            write!(f, " of {owner}")?;
        }
        match kernels.is_empty() {
            true => Ok(()),
            false => write!(f, ", which {kernels} gets"),
        }
    }
}
