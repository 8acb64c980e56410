//! The blocks in which tiles keep the buffers that they allocate, each buffer between zones that nobody may write.

use std::collections::BTreeMap;
use std::ops::Range;

use super::abi::{self, RawHerd, RawLocal};
use crate::buffer::{is_margin, margin_byte};
use crate::local::LocalName;
use crate::{LocalDamage, Side};

const ALIGNMENT: usize = 64;

/// The block of one tile.
pub(crate) struct Scratch {
    site: *const RawHerd,
    bytes: Vec<u8>,
    start: usize,
    size_bytes: usize,
}

/// Blocks that no tile uses, by herd.
#[derive(Default)]
#[allow(clippy::vec_box, reason = "blocks go to tiles and come back, one word each time")]
pub(crate) struct ScratchPool(BTreeMap<usize, Vec<Box<Scratch>>>);

impl ScratchPool {
    /// A block for a tile of `site`; none if its buffers need none.
    ///
    /// # Safety
    /// `site` must point to a table of an ELF that is open for as long as the block is used.
    pub(crate) unsafe fn take(&mut self, site: *const RawHerd) -> Option<Box<Scratch>> {
        // SAFETY: by the promise above.
        let size_bytes = usize::try_from(unsafe { (*site).scratch_bytes }).ok().filter(|&n| n > 0)?;
        if let Some(scratch) = self.0.get_mut(&(site as usize)).and_then(Vec::pop) {
            return Some(scratch);
        }
        let bytes = vec![0u8; size_bytes + ALIGNMENT];
        let start = (bytes.as_ptr() as usize).next_multiple_of(ALIGNMENT);
        let mut scratch = Box::new(Scratch { site, bytes, start, size_bytes });
        let zones: Vec<Range<usize>> = scratch.zones().map(|(zone, ..)| zone).collect();
        for at in zones.into_iter().flatten() {
            let offset = at - scratch.bytes.as_ptr() as usize;
            scratch.bytes[offset] = margin_byte(at);
        }
        Some(scratch)
    }

    pub(crate) fn give_back(&mut self, scratch: Box<Scratch>) {
        self.0.entry(scratch.site as usize).or_default().push(scratch);
    }

    /// The first zone of any block that is not as it was.
    pub(crate) fn damage(&self) -> Option<LocalDamage> {
        self.0.values().flatten().find_map(|s| s.damage())
    }

    /// Forgets the blocks of an ELF that may be closed.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

impl Scratch {
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    fn locals(&self) -> &[RawLocal] {
        // SAFETY: the table is that of an ELF that is open, by the promise of `take`.
        unsafe { abi::words((*self.site).locals, (*self.site).local_count) }
    }

    /// The zones, each with its buffer and the side of it that it lies on.
    fn zones(&self) -> impl Iterator<Item = (Range<usize>, &RawLocal, Side)> {
        let mut from = self.start;
        let end = self.start + self.size_bytes;
        let locals = self.locals();
        locals.iter().enumerate().flat_map(move |(i, local)| {
            let first = self.start + local.offset as usize;
            let last = first + local.bytes as usize;
            // What lies between two buffers: 256 bytes belong to the second.
            let next = locals.get(i + 1).map_or(end, |l| self.start + l.offset as usize - FRONT_BYTES);
            let front = from..first;
            from = next;
            [(front, local, Side::Before), (last..next, local, Side::After)]
        })
    }

    /// The buffer that holds `address`: its first byte, one past its last, and its entry.
    pub(crate) fn buffer_at(&self, address: usize) -> Option<(usize, usize, &RawLocal)> {
        let local = self.locals().iter().find(|l| {
            let first = self.start + l.offset as usize;
            (first..first + l.bytes.max(1) as usize).contains(&address)
        })?;
        let first = self.start + local.offset as usize;
        Some((first, first + local.bytes as usize, local))
    }

    /// The first zone that is not as it was.
    fn damage(&self) -> Option<LocalDamage> {
        let base = self.bytes.as_ptr() as usize;
        for (zone, local, side) in self.zones() {
            if is_margin(&self.bytes[zone.start - base..zone.end - base], zone.start) {
                continue;
            }
            let is_damaged = |at: &usize| self.bytes[*at - base] != margin_byte(*at);
            let reach = match side {
                Side::After => zone.clone().rev().find(is_damaged).map(|last| last + 1 - zone.start),
                Side::Before => zone.clone().find(is_damaged).map(|first| zone.end - first),
            };
            if let Some(reach) = reach {
                return Some(LocalDamage {
                    launch: None,
                    buffer: name_of(local),
                    side,
                    reach_bytes: reach as u64,
                    is_open_ended: reach == zone.len(),
                });
            }
        }
        None
    }
}

/// Bytes in front of each buffer, as `mlir/lib/Host/Memory.cpp` lays them out.
const FRONT_BYTES: usize = 256;

/// How messages name it.
pub(crate) fn name_of(local: &RawLocal) -> LocalName {
    // SAFETY: a text of an ELF that is open.
    LocalName::parse(&unsafe { abi::text(local.text) })
}
