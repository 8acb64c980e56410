//! The memory that transfers of a launch touch: arguments of the program, and the L1 and L2 buffers of its segments.
//!
//! A buffer of a segment has an address of its own that no memory lies at. It gets memory when the first transfer that
//! touches it starts, and gives it back when the last one is done: control code may issue thousands of loop iterations
//! ahead, each with its own buffer, without using more memory than is in use at a time.

use std::collections::BTreeMap;
use std::ffi::c_char;

use super::abi;
use super::cursor::Area;
use super::{Id, Records};
use crate::buffer::{is_margin, margin_byte};
use crate::local::LocalName;
use crate::{LocalDamage, Side};

/// Where buffers without memory lie: no address of x86-64 or AArch64 starts like this, so that a stray use faults.
const FIRST_VIRTUAL: usize = 0x1000_0000_0000_0000;
/// Zones around each buffer that nobody may write, as around the static ones of an ELF.
const FRONT_BYTES: usize = 256;
const BACK_BYTES: usize = 1024;
const ALIGNMENT: usize = 64;

/// What may be done with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Right {
    Write,
    Read,
    Nothing,
}

pub(crate) struct Object {
    pub(crate) base: usize,
    pub(crate) size_bytes: usize,
    /// Where its bytes are; none as long as nobody needs them.
    real: Option<usize>,
    block: Option<Block>,
    poison: Option<u8>,
    pub(crate) right: Right,
    name: Name,
    accesses: Vec<Access>,
}

/// What messages call an object. Texts of buffers are read only then: there are buffers by the thousand.
#[derive(Clone, Debug)]
enum Name {
    Argument(String),
    /// A text of the ELF, which is open.
    Local(*const c_char),
}

impl Name {
    fn local(&self) -> LocalName {
        match self {
            // SAFETY: by the promise of the variant.
            Name::Local(text) => LocalName::parse(&unsafe { abi::text(*text) }),
            Name::Argument(name) => {
                LocalName { level: "L3".into(), ty: name.clone(), owner: String::new(), kernels: String::new() }
            }
        }
    }
}

/// What an operation that is not done yet does to an object.
struct Access {
    id: Id,
    area: Area,
    writes: bool,
}

/// Memory of one buffer between its zones.
struct Block {
    bytes: Vec<u8>,
    start: usize,
    size_bytes: usize,
}

impl Block {
    fn new(size_bytes: usize) -> Block {
        let bytes = vec![0u8; FRONT_BYTES + size_bytes + BACK_BYTES + ALIGNMENT];
        let start = (bytes.as_ptr() as usize + FRONT_BYTES).next_multiple_of(ALIGNMENT);
        let mut block = Block { bytes, start, size_bytes };
        for at in block.zones().0.chain(block.zones().1) {
            let offset = at - block.bytes.as_ptr() as usize;
            block.bytes[offset] = margin_byte(at);
        }
        block
    }

    fn zones(&self) -> (std::ops::Range<usize>, std::ops::Range<usize>) {
        let end = self.start + self.size_bytes;
        (self.start - FRONT_BYTES..self.start, end..end + BACK_BYTES)
    }

    fn damage(&self, name: &Name) -> Option<LocalDamage> {
        let base = self.bytes.as_ptr() as usize;
        let is_damaged = |at: &usize| self.bytes[*at - base] != margin_byte(*at);
        let (front, back) = self.zones();
        if [&front, &back].iter().all(|z| is_margin(&self.bytes[z.start - base..z.end - base], z.start)) {
            return None;
        }
        let (side, reach, zone) = if let Some(last) = back.clone().rev().find(is_damaged) {
            (Side::After, last + 1 - back.start, BACK_BYTES)
        } else if let Some(first) = front.clone().find(is_damaged) {
            (Side::Before, front.end - first, FRONT_BYTES)
        } else {
            return None;
        };
        Some(LocalDamage {
            launch: None,
            buffer: name.local(),
            side,
            reach_bytes: reach as u64,
            is_open_ended: reach == zone,
        })
    }
}

/// A use of memory that cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BadAccess {
    /// No buffer lies there.
    Nowhere,
    /// Bytes in front of the buffer and behind its end.
    Outside { object: String, before_bytes: u64, after_bytes: u64 },
    /// Writing a static argument, or using one that is dead.
    Forbidden { object: String, right: Right },
}

pub(crate) struct Memory {
    objects: BTreeMap<usize, Object>,
    /// Where the bytes of buffers lie that have addresses of their own: tiles see those.
    places: BTreeMap<usize, usize>,
    next_virtual: usize,
    free: BTreeMap<usize, Vec<Block>>,
    pub(crate) block_bytes: u64,
    /// The first zone that was found damaged.
    pub(crate) damage: Option<LocalDamage>,
}

impl Memory {
    pub(crate) fn new() -> Memory {
        Memory {
            objects: BTreeMap::new(),
            places: BTreeMap::new(),
            next_virtual: FIRST_VIRTUAL,
            free: BTreeMap::new(),
            block_bytes: 0,
            damage: None,
        }
    }

    /// Registers an argument. One that lies in another one is part of that.
    pub(crate) fn add_argument(&mut self, name: &str, base: usize, size_bytes: usize, right: Right) {
        if let Some(object) = self.find(base).and_then(|b| self.objects.get_mut(&b)) {
            object.size_bytes = object.size_bytes.max(base + size_bytes - object.base);
            return;
        }
        self.insert(base, size_bytes, Some(base), None, right, Name::Argument(name.to_string()));
    }

    fn insert(
        &mut self,
        base: usize,
        size_bytes: usize,
        real: Option<usize>,
        poison: Option<u8>,
        right: Right,
        name: Name,
    ) {
        let accesses = Vec::new();
        let object = Object { base, size_bytes, real, block: None, poison, right, name, accesses };
        self.objects.insert(base, object);
    }

    /// A new buffer of a segment, with a text of the ELF that says what it is. `needs_address`: code touches it, not only
    /// transfers.
    pub(crate) fn allocate(
        &mut self,
        text: *const c_char,
        size_bytes: usize,
        poison: Option<u8>,
        needs_address: bool,
    ) -> usize {
        let name = Name::Local(text);
        if needs_address {
            let block = self.block(size_bytes, poison);
            let start = block.start;
            self.insert(start, size_bytes, Some(start), poison, Right::Write, name);
            if let Some(object) = self.objects.get_mut(&start) {
                object.block = Some(block);
            }
            return start;
        }
        let base = self.next_virtual;
        self.next_virtual = self.next_virtual.wrapping_add((size_bytes + (4 << 10)).next_multiple_of(4 << 10));
        self.insert(base, size_bytes, None, poison, Right::Write, name);
        base
    }

    fn block(&mut self, size_bytes: usize, poison: Option<u8>) -> Block {
        let mut block = match self.free.get_mut(&size_bytes).and_then(Vec::pop) {
            Some(block) => block,
            None => {
                self.block_bytes += size_bytes as u64;
                Block::new(size_bytes)
            }
        };
        if let Some(byte) = poison {
            let first = block.start - block.bytes.as_ptr() as usize;
            block.bytes[first..first + size_bytes].fill(byte);
        }
        block
    }

    /// The object that holds an address, by its base.
    pub(crate) fn find(&self, address: usize) -> Option<usize> {
        self.locate(address).map(|(base, _)| base)
    }

    /// The object that holds an address, and the address of its first byte in the same space: its own, or that of its
    /// memory.
    pub(crate) fn locate(&self, address: usize) -> Option<(usize, usize)> {
        let holds = |start: usize, object: &Object| address - start < object.size_bytes.max(1);
        if let Some((&base, object)) = self.objects.range(..=address).next_back()
            && holds(base, object)
        {
            return Some((base, base));
        }
        let (&start, &base) = self.places.range(..=address).next_back()?;
        self.objects.get(&base).filter(|o| holds(start, o)).map(|_| (base, start))
    }

    pub(crate) fn get(&self, base: usize) -> Option<&Object> {
        self.objects.get(&base)
    }

    /// The object that an access stays in.
    pub(crate) fn check(&self, start: usize, hull: (usize, usize), writes: bool) -> Result<Option<usize>, BadAccess> {
        if hull.0 == hull.1 {
            return Ok(None);
        }
        let (base, first) = self.locate(start).or_else(|| self.locate(hull.0)).ok_or(BadAccess::Nowhere)?;
        let object = self.objects.get(&base).ok_or(BadAccess::Nowhere)?;
        let end = first + object.size_bytes;
        if hull.0 < first || hull.1 > end {
            return Err(BadAccess::Outside {
                object: object.describe(),
                before_bytes: first.saturating_sub(hull.0) as u64,
                after_bytes: hull.1.saturating_sub(end) as u64,
            });
        }
        let is_allowed = object.right == Right::Write || (object.right == Right::Read && !writes);
        match is_allowed {
            true => Ok(Some(base)),
            false => Err(BadAccess::Forbidden { object: object.describe(), right: object.right }),
        }
    }

    /// Notes what `id` will do to an object, and returns what it has to wait for.
    pub(crate) fn claim(&mut self, base: usize, id: Id, area: Area, writes: bool, records: &Records) -> Vec<Id> {
        let Some(object) = self.objects.get_mut(&base) else { return Vec::new() };
        let mut waits = Vec::new();
        object.accesses.retain(|a| {
            if records.is_done(a.id) {
                return false;
            }
            if !a.area.meets(&area) || !(a.writes || writes) {
                return true;
            }
            waits.push(a.id);
            // Whoever comes later and meets this one meets us too.
            !(writes && area.covers(&a.area))
        });
        object.accesses.push(Access { id, area, writes });
        waits
    }

    /// What is not done yet with an object.
    pub(crate) fn pending(&self, base: usize, writes: bool, records: &Records) -> Vec<Id> {
        let Some(object) = self.objects.get(&base) else { return Vec::new() };
        let conflicting = object.accesses.iter().filter(|a| (a.writes || writes) && !records.is_done(a.id));
        conflicting.map(|a| a.id).collect()
    }

    /// Where an address lies in memory.
    pub(crate) fn real(&mut self, address: usize) -> usize {
        let Some((base, first)) = self.locate(address) else { return address };
        let Some(object) = self.objects.get(&base).filter(|_| base == first) else { return address };
        if let Some(real) = object.real {
            return real + (address - base);
        }
        let (size_bytes, poison) = (object.size_bytes, object.poison);
        let block = self.block(size_bytes, poison);
        let start = block.start;
        if let Some(object) = self.objects.get_mut(&base) {
            object.real = Some(start);
            object.block = Some(block);
        }
        self.places.insert(start, base);
        start + (address - base)
    }

    /// Takes a buffer away.
    pub(crate) fn release(&mut self, base: usize) {
        if let Some(object) = self.objects.remove(&base)
            && let Some(block) = object.block
        {
            self.places.remove(&block.start);
            self.damage = self.damage.take().or_else(|| block.damage(&object.name));
            self.free.entry(block.size_bytes).or_default().push(block);
        }
    }

    /// Takes all buffers of segments away.
    pub(crate) fn release_locals(&mut self) {
        let locals: Vec<usize> =
            self.objects.values().filter(|o| matches!(o.name, Name::Local(_))).map(|o| o.base).collect();
        locals.into_iter().for_each(|base| self.release(base));
        self.objects.values_mut().for_each(|o| o.accesses.clear());
        self.next_virtual = FIRST_VIRTUAL;
    }
}

impl Object {
    /// ``the L2 buffer `memref<..>` of segment `@s` ``, `` `w` ``.
    pub(crate) fn describe(&self) -> String {
        let name = self.name.local();
        match &self.name {
            Name::Local(_) => format!("the {} buffer `{}` of {}", name.level, name.ty, name.owner),
            Name::Argument(_) => format!("`{}`", name.ty),
        }
    }
}
