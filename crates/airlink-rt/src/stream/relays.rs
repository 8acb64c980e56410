//! Memtiles that pass on what comes for as long as something comes.
//!
//! A segment has a get into an L2 buffer and puts from it, once or in a loop. On the NPU that is a ring of descriptors which
//! nothing ends, so programs may send more through it than the text says. Here the ring goes on, one buffer at a time, when
//! nobody else can: a program that needs no repeats sees none.

use super::Id;
use super::engine::Engine;
use super::records::Transfer;

/// The ring of one stream.
pub(crate) struct Relay {
    /// The FIFO that it gets from.
    fifo: usize,
    /// What the text issues, in its order; equal neighbours are one.
    steps: Vec<Step>,
    /// The step that comes next when the ring goes on.
    next: usize,
    /// The record that was issued last.
    last: Id,
}

/// A buffer on its way through the memtile.
struct Step {
    /// The buffer, by the base of its object.
    object: usize,
    get: Transfer,
    puts: Vec<Transfer>,
}

impl Step {
    /// Whether both do the same, be it with buffers of their own.
    fn repeats(&self, other: &Step) -> bool {
        let is_same = |a: &Transfer, b: &Transfer| {
            a.site == b.site
                && a.start - self.object == b.start - other.object
                && (a.end, a.destination) == (b.end, b.destination)
                && a.pattern == b.pattern
        };
        is_same(&self.get, &other.get)
            && self.puts.len() == other.puts.len()
            && self.puts.iter().zip(&other.puts).all(|(a, b)| is_same(a, b))
    }
}

impl Relay {
    /// Whether it puts into a member.
    pub(crate) fn feeds(&self, member: usize) -> bool {
        self.steps.iter().any(|s| s.puts.iter().any(|p| p.end == member))
    }

    /// Forgets the last step if it only repeats the one before it.
    fn fold(&mut self) {
        if let [.., before, last] = &self.steps[..]
            && last.repeats(before)
        {
            self.steps.pop();
        }
    }
}

impl Engine {
    /// Remembers a part of a ring that is about to be issued.
    pub(crate) fn note_relay(&mut self, transfer: &Transfer, is_put: bool) {
        let Some(object) = self.memory.find(transfer.start) else { return };
        let id = self.records.next();
        if is_put {
            let is_its = |s: &Step| s.object == object;
            let Some(relay) = self.relays.iter_mut().find(|r| r.steps.iter().any(is_its)) else { return };
            relay.last = id;
            let Some(step) = relay.steps.iter_mut().rev().find(|s| is_its(s)) else { return };
            // Who does not repeat only has to know who feeds whom.
            if self.options.self_loop_relays || !step.puts.iter().any(|p| p.site == transfer.site) {
                step.puts.push(transfer.clone());
            }
            return;
        }
        let step = Step { object, get: transfer.clone(), puts: Vec::new() };
        match self.relays.iter_mut().find(|r| r.fifo == transfer.end) {
            Some(relay) if self.options.self_loop_relays => {
                relay.fold();
                relay.steps.push(step);
                relay.last = id;
            }
            Some(_) => {}
            None => self.relays.push(Relay { fifo: transfer.end, steps: vec![step], next: 0, last: id }),
        }
    }

    /// Whether a buffer must stay until the launch has ended, since a ring may use it again.
    pub(crate) fn keeps_for_relays(&mut self, object: usize) -> bool {
        if !self.options.self_loop_relays {
            return false;
        }
        self.relays.iter_mut().any(|relay| {
            relay.fold();
            relay.steps.iter().any(|s| s.object == object)
        })
    }

    /// Lets a ring that has something to get move one more buffer; false if none has.
    pub(crate) fn repeat_relay(&mut self) -> bool {
        if !self.options.self_loop_relays {
            return false;
        }
        let Some(position) = (0..self.relays.len()).find(|&r| self.can_repeat(&self.relays[r])) else { return false };
        let relay = &mut self.relays[position];
        relay.fold();
        let step = &relay.steps[relay.next % relay.steps.len()];
        relay.next += 1;
        let (get, puts) = (step.get.clone(), step.puts.clone());
        let mut last = self.issue_get(get, &[]);
        for put in puts {
            last = self.issue_put(put, &[]);
        }
        self.relays[position].last = last;
        true
    }

    /// Whether a ring stands still and enough has come for one more buffer. A FIFO with a bound may be too small to hold a
    /// buffer, so there the first element is enough.
    fn can_repeat(&self, relay: &Relay) -> bool {
        let fifo = &self.channels.fifos[relay.fifo];
        let coming = self.channels.members[fifo.member].putters.front();
        let coming = coming.filter(|p| p.only.is_none_or(|only| only == relay.fifo)).map_or(0, |p| p.cursor.left());
        let needed = relay.steps[relay.next % relay.steps.len()].get.pattern.total_bytes();
        let enough = if self.options.fifo_bytes.is_some() { needed.min(1) } else { needed };
        needed > 0
            && fifo.length_bytes + coming >= enough
            && fifo.getters.is_empty()
            && self.records.is_done(relay.last)
    }
}
