//! The buffers of a run, by name and by address.

use std::ops::Range;

use super::{Buffer, BufferError, Placement, Protection};
use crate::{Manifest, Role};

/// All buffers that the calls of a run share.
#[derive(Debug, Default)]
pub struct BufferSet {
    buffers: Vec<Buffer>,
    placement: Placement,
}

/// Before or after a buffer's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Before,
    After,
}

/// Bytes next to a buffer that a call has overwritten without a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarginDamage {
    pub buffer: String,
    pub side: Side,
    /// Distance of the nearest damaged byte: 0 after is the first byte past the end, 1 before the last in front of it.
    pub offset_bytes: u64,
    /// Damaged bytes on this side.
    pub count_bytes: u64,
}

/// Where an address lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// `offset_bytes` past the end of a buffer: 0 is the first byte past it.
    After {
        buffer: String,
        offset_bytes: u64,
    },
    /// `offset_bytes` before the start of a buffer: 1 is the last byte in front of it.
    Before {
        buffer: String,
        offset_bytes: u64,
    },
    /// In a buffer that may not be touched like this.
    Inside {
        buffer: String,
        offset_bytes: u64,
        role: Role,
        protection: Protection,
    },
    /// In the first 64 KiB of the address space: a null pointer, perhaps with an offset.
    Null,
    Elsewhere,
}

impl BufferSet {
    pub fn new(placement: Placement) -> BufferSet {
        BufferSet { buffers: Vec::new(), placement }
    }

    /// One buffer for each argument, in the manifest's order, so that buffer `i` is argument `i`.
    pub fn for_manifest(manifest: &Manifest, placement: Placement) -> Result<BufferSet, BufferError> {
        let mut set = BufferSet::new(placement);
        for arg in &manifest.args {
            set.add(&arg.name, arg.bytes, arg.role)?;
        }
        Ok(set)
    }

    /// Adds a buffer of zeros and returns its index.
    pub fn add(&mut self, name: &str, size_bytes: u64, role: Role) -> Result<usize, BufferError> {
        if self.find(name).is_some() {
            return Err(BufferError::Duplicate(name.to_string()));
        }
        self.buffers.push(Buffer::new(name, size_bytes, role, self.placement)?);
        Ok(self.buffers.len() - 1)
    }

    pub fn find(&self, name: &str) -> Option<usize> {
        self.buffers.iter().position(|b| b.name == name)
    }

    pub fn get(&self, index: usize) -> Option<&Buffer> {
        self.buffers.get(index)
    }

    pub fn get_mut(&mut self, index: usize) -> Option<&mut Buffer> {
        self.buffers.get_mut(index)
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Buffer> {
        self.buffers.iter()
    }

    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, Buffer> {
        self.buffers.iter_mut()
    }

    pub fn len(&self) -> usize {
        self.buffers.len()
    }

    pub fn is_empty(&self) -> bool {
        self.buffers.is_empty()
    }

    /// After initialisation: static buffers become read-only, dead ones closed, so that a stray access faults.
    pub fn seal(&mut self) -> Result<(), BufferError> {
        self.buffers.iter_mut().try_for_each(|b| {
            b.protect(match b.role {
                Role::Static => Protection::ReadOnly,
                Role::Dead => Protection::Closed,
                _ => Protection::ReadWrite,
            })
        })
    }

    /// Makes every buffer readable and writable again.
    pub fn unseal(&mut self) -> Result<(), BufferError> {
        self.buffers.iter_mut().try_for_each(|b| b.protect(Protection::ReadWrite))
    }

    /// Which buffer an address belongs to, guards and margins included.
    pub fn locate(&self, address: u64) -> Place {
        const NULL_BYTES: u64 = 64 << 10;
        if address < NULL_BYTES {
            return Place::Null;
        }
        let Some(b) = self.buffers.iter().find(|b| b.mapping.addresses().contains(&(address as usize))) else {
            return Place::Elsewhere;
        };
        let buffer = b.name.clone();
        let start = b.as_ptr() as u64;
        let end = start + b.size_bytes as u64;
        match address {
            a if a < start => Place::Before { buffer, offset_bytes: start - a },
            a if a >= end => Place::After { buffer, offset_bytes: a - end },
            a => Place::Inside { buffer, offset_bytes: a - start, role: b.role, protection: b.protection },
        }
    }

    /// Margins that no longer hold their pattern, in the order of the buffers. Those of closed buffers count as whole.
    pub fn damaged_margins(&self) -> Vec<MarginDamage> {
        self.buffers
            .iter()
            .flat_map(|b| [side_damage(b, Side::Before), side_damage(b, Side::After)])
            .flatten()
            .collect()
    }

    /// Writes the pattern of damaged margins anew.
    pub(crate) fn mend_margins(&mut self) {
        for b in self.buffers.iter_mut().filter(|b| b.protection == Protection::ReadWrite) {
            b.fill_margins();
        }
    }
}

fn side_damage(b: &Buffer, side: Side) -> Option<MarginDamage> {
    let end = b.front_margin_bytes + b.size_bytes;
    let margin: Range<usize> = match side {
        Side::Before => 0..b.front_margin_bytes,
        Side::After => end..b.mapping.run_bytes(),
    };
    let (at, count) = b.damage(margin, side == Side::Before)?;
    let offset = match side {
        Side::Before => b.front_margin_bytes - at,
        Side::After => at - end,
    };
    Some(MarginDamage { buffer: b.name.clone(), side, offset_bytes: offset as u64, count_bytes: count as u64 })
}
