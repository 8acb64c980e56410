//! What control code has issued, and what waits for what.

use std::collections::VecDeque;
use std::rc::Rc;

use super::abi::{self, RawHerd, RawSite, TileFunction};
use super::cursor::Pattern;

/// The number of a record, which is also the token that it fires. 0 has always fired.
pub(crate) type Id = u64;

/// A transfer between memory and one end of a channel.
#[derive(Clone)]
pub(crate) struct Transfer {
    pub site: *const RawSite,
    pub start: usize,
    pub pattern: Rc<Pattern>,
    /// The member of a put, the FIFO of a get.
    pub end: usize,
    /// The consumer that a put of a packet names.
    pub destination: Option<u32>,
}

pub(crate) enum Kind {
    Put(Transfer),
    Get(Transfer),
    Copy {
        to: (usize, Rc<Pattern>),
        from: (usize, Rc<Pattern>),
    },
    Herd {
        site: *const RawHerd,
        code: TileFunction,
        size: (i64, i64),
        frame: Vec<i64>,
    },
    /// Gives a buffer back, by the base of its object.
    Free(usize),
    Join,
}

pub(crate) struct Record {
    /// None once it has started.
    pub kind: Option<Kind>,
    pub waits_for: u32,
    /// What it was to wait for, done or not; empty unless somebody wants to know.
    pub waits: Vec<Id>,
    pub dependents: Vec<Id>,
    pub is_done: bool,
    /// For messages.
    pub what: What,
}

#[derive(Clone, Copy)]
pub(crate) enum What {
    Put(usize, *const std::ffi::c_char),
    Get(usize, *const std::ffi::c_char),
    Copy(*const std::ffi::c_char),
    Herd(*const RawHerd),
    Other,
}

impl What {
    /// `kernel.mlir:12:3`; empty if unknown.
    pub(crate) fn place(self) -> String {
        let text = match self {
            What::Put(_, place) | What::Get(_, place) | What::Copy(place) => place,
            // SAFETY: a table of an ELF that is open.
            What::Herd(site) => unsafe { (*site).place },
            What::Other => std::ptr::null(),
        };
        // SAFETY: a text of an ELF that is open, or null.
        unsafe { abi::text(text) }
    }
}

#[derive(Default)]
pub(crate) struct Records {
    list: VecDeque<Record>,
    /// The id of the first in the list; all before it are done.
    first: Id,
    pub pending: usize,
    /// Whether records keep what they wait for.
    pub keeps_waits: bool,
    /// Those that nothing keeps from starting.
    pub ready: VecDeque<Id>,
}

impl Records {
    pub(crate) fn new() -> Records {
        Records { first: 1, ..Records::default() }
    }

    pub(crate) fn is_done(&self, id: Id) -> bool {
        id < self.first || self.list.get((id - self.first) as usize).is_none_or(|r| r.is_done)
    }

    /// The id that the next record gets.
    pub(crate) fn next(&self) -> Id {
        self.first + self.list.len() as u64
    }

    /// Adds a record that starts after all of `waits`.
    pub(crate) fn push(&mut self, kind: Kind, what: What, waits: &[Id]) -> Id {
        let id = self.next();
        let mut count = 0;
        for &wait in waits {
            if !self.is_done(wait)
                && let Some(other) = self.get_mut(wait)
            {
                other.dependents.push(id);
                count += 1;
            }
        }
        self.list.push_back(Record {
            kind: Some(kind),
            waits_for: count,
            waits: if self.keeps_waits { waits.to_vec() } else { Vec::new() },
            dependents: Vec::new(),
            is_done: false,
            what,
        });
        self.pending += 1;
        if count == 0 {
            self.ready.push_back(id);
        }
        id
    }

    pub(crate) fn get(&self, id: Id) -> Option<&Record> {
        self.list.get(id.checked_sub(self.first)? as usize)
    }

    pub(crate) fn get_mut(&mut self, id: Id) -> Option<&mut Record> {
        self.list.get_mut(id.checked_sub(self.first)? as usize)
    }

    /// A record is done: its token fires.
    pub(crate) fn complete(&mut self, id: Id) {
        let Some(record) = self.get_mut(id).filter(|r| !r.is_done) else { return };
        record.is_done = true;
        let dependents = std::mem::take(&mut record.dependents);
        self.pending -= 1;
        for dependent in dependents {
            if let Some(other) = self.get_mut(dependent) {
                other.waits_for -= 1;
                if other.waits_for == 0 {
                    self.ready.push_back(dependent);
                }
            }
        }
        while self.list.front().is_some_and(|r| r.is_done) {
            self.list.pop_front();
            self.first += 1;
        }
    }

    /// Those that are not done, from the oldest on.
    pub(crate) fn unfinished(&self) -> impl Iterator<Item = (Id, &Record)> {
        (self.first..).zip(&self.list).filter(|(_, r)| !r.is_done)
    }
}
