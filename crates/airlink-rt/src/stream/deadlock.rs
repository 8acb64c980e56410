//! Who waits for whom when nobody can go on.

use std::collections::BTreeSet;
use std::ffi::c_char;

use super::channels::{Who, Writer};
use super::engine::Engine;
use super::records::What;
use super::scheduler::WaitsIn;
use super::{StreamFault, Waiting, abi};

/// Records that a report lists at most; the rest waits for these.
const MAX_RECORDS: usize = 8;

impl Engine {
    /// Nobody can go on: says who waits, and who keeps the others waiting.
    pub(crate) fn report_deadlock(&mut self) {
        let mut waiting = Vec::new();
        let mut nodes = Vec::new();
        for (number, tile) in self.tiles.iter().enumerate() {
            if let Some(at) = tile.waits_in {
                nodes.push(Who::Tile(number));
                waiting.push(self.waiting_tile(number, at));
            }
        }
        let started = self.records.unfinished().filter(|(_, r)| r.kind.is_none() && r.waits_for == 0);
        let moving = started.filter(|(_, r)| matches!(r.what, What::Put(..) | What::Get(..)));
        for (id, record) in moving.take(MAX_RECORDS) {
            nodes.push(Who::Record(id));
            waiting.push(self.waiting_record(id, record.what));
        }
        let (root, reason) = self.root(&nodes);
        let fifo_bytes = self.options.fifo_bytes;
        self.fail(StreamFault::Deadlock { waiting, root, reason, fifo_bytes });
    }

    fn waiting_tile(&self, number: usize, at: WaitsIn) -> Waiting {
        let (what, place) = match at {
            WaitsIn::Get(fifo) => self.getting(fifo, Who::Tile(number)),
            WaitsIn::Put(member) => self.putting(member, Who::Tile(number)),
        };
        Waiting { who: self.tile_name(number), what, place }
    }

    fn waiting_record(&self, id: super::Id, what: What) -> Waiting {
        let (what, place) = match what {
            What::Put(member, _) => self.putting(member, Who::Record(id)),
            What::Get(fifo, _) => self.getting(fifo, Who::Record(id)),
            _ => (String::new(), String::new()),
        };
        Waiting { who: "control code".into(), what, place }
    }

    fn getting(&self, number: usize, who: Who) -> (String, String) {
        let fifo = &self.channels.fifos[number];
        let name = self.channels.fifo_name(number);
        let Some(getter) = fifo.getters.iter().find(|g| g.who == who) else {
            return (format!("for {name}"), String::new());
        };
        let size = getter.element_bytes.max(1);
        let what = format!(
            "in a get from {name} for {} more elements; {} were put and {} got so far",
            getter.cursor.left() / size,
            self.channels.members[fifo.member].put_bytes / size as u64,
            fifo.got_bytes / size as u64,
        );
        (what, text(getter.place))
    }

    fn putting(&self, number: usize, who: Who) -> (String, String) {
        let member = &self.channels.members[number];
        let name = self.channels.member_name(number);
        let Some(putter) = member.putters.iter().find(|p| p.who == who) else {
            return (format!("for {name}"), String::new());
        };
        let left = putter.cursor.left() / putter.element_bytes.max(1);
        (format!("in a put into {name} with {left} elements to go"), text(putter.place))
    }

    /// Follows who keeps whom waiting from the first on, to one whom nobody of the others does.
    fn root(&self, nodes: &[Who]) -> (usize, String) {
        let (mut at, mut seen) = (0, BTreeSet::new());
        loop {
            let Some(&who) = nodes.get(at) else { return (0, String::new()) };
            if !seen.insert(who) {
                return (at, "each of them waits for the next, and the last for the first".into());
            }
            let (next, reason) = self.keeper(who);
            match next.and_then(|n| nodes.iter().position(|o| *o == n)) {
                Some(position) => at = position,
                None => return (at, reason),
            }
        }
    }

    /// Who keeps `who` waiting; if nobody who is known, why it waits.
    fn keeper(&self, who: Who) -> (Option<Who>, String) {
        let get = match who {
            Who::Tile(tile) => match self.tiles[tile].waits_in {
                Some(WaitsIn::Get(fifo)) => Ok(fifo),
                Some(WaitsIn::Put(member)) => Err(member),
                None => return (None, String::new()),
            },
            Who::Record(id) => match self.records.get(id).map(|r| r.what) {
                Some(What::Get(fifo, _)) => Ok(fifo),
                Some(What::Put(member, _)) => Err(member),
                _ => return (None, String::new()),
            },
        };
        match get {
            Err(member) => self.keeper_of_put(member),
            Ok(fifo) => self.keeper_of_get(fifo),
        }
    }

    fn keeper_of_put(&self, member: usize) -> (Option<Who>, String) {
        let full =
            self.channels.members[member].destinations.iter().find(|f| self.channels.fifos[**f].length_bytes > 0);
        let Some(&fifo) = full else { return (None, "nobody gets from it".into()) };
        let name = self.channels.fifo_name(fifo);
        match self.channels.fifos[fifo].reader {
            Some(reader @ Writer::Tile { .. }) => {
                let tile = self.tile_of(reader);
                (tile, format!("{} no longer gets from {name}", self.writer_name(reader)))
            }
            Some(Writer::Control) => (None, format!("control code does not get enough from {name}")),
            None => (None, format!("nobody gets from {name}")),
        }
    }

    fn keeper_of_get(&self, number: usize) -> (Option<Who>, String) {
        let member = self.channels.fifos[number].member;
        let name = self.channels.member_name(member);
        if let Some(putter) = self.channels.members[member].putters.front() {
            return (Some(putter.who), String::new());
        }
        // A put that was issued and waits for memory or tokens.
        let blocked = self.records.unfinished().find(|(_, r)| matches!(r.what, What::Put(m, _) if m == member));
        if let Some((id, record)) = blocked {
            let cause = self.blocker(id).filter(|_| record.kind.is_some());
            return (cause, format!("the put into {name} at {} waits for memory that is in use", record.what.place()));
        }
        match self.channels.members[member].writer {
            Some(writer @ Writer::Tile { .. }) => {
                let tile = self.tile_of(writer);
                (tile, format!("{} has ended and puts no more into {name}", self.writer_name(writer)))
            }
            Some(Writer::Control) => (None, self.relay_hint(format!("control code puts no more into {name}"), number)),
            None => (None, format!("nobody has put anything into {name}")),
        }
    }

    /// What a record that has not started waits for, as far as it is a transfer under way.
    fn blocker(&self, id: super::Id) -> Option<Who> {
        let waits_for = |r: &super::records::Record| r.dependents.contains(&id);
        let mut at = self.records.unfinished().find(|(_, r)| waits_for(r))?;
        // Each step goes to an older record.
        while at.1.kind.is_some() {
            let next = at.0;
            at = self.records.unfinished().find(|(_, r)| r.dependents.contains(&next))?;
        }
        Some(Who::Record(at.0))
    }

    fn relay_hint(&self, reason: String, fifo: usize) -> String {
        let member = self.channels.fifos[fifo].member;
        let is_relayed = self.relays.iter().any(|r| r.feeds(member));
        match is_relayed && !self.options.self_loop_relays {
            true => format!("{reason}; a memtile may repeat that put for ever: `--self-loop-relays`"),
            false => reason,
        }
    }

    fn tile_of(&self, writer: Writer) -> Option<Who> {
        let Writer::Tile { herd, x, y } = writer else { return None };
        let is_it = |t: &super::scheduler::Tile| {
            // SAFETY: a table of an ELF that is open.
            let symbol = unsafe { (*t.site).symbol } as usize;
            let key = if symbol == 0 { t.site as usize } else { symbol };
            key == herd && (t.x, t.y) == (x, y) && t.waits_in.is_some()
        };
        self.tiles.iter().position(is_it).map(Who::Tile)
    }

    /// ``tile [1, 0] of herd `@h` ``
    pub(crate) fn tile_name(&self, number: usize) -> String {
        let tile = &self.tiles[number];
        // SAFETY: a text of an ELF that is open.
        format!("tile [{}, {}] of {}", tile.x, tile.y, unsafe { abi::text((*tile.site).name) })
    }

    pub(crate) fn writer_name(&self, writer: Writer) -> String {
        let Writer::Tile { herd, x, y } = writer else { return "control code".into() };
        let is_it = |t: &&super::scheduler::Tile| {
            // SAFETY: a table of an ELF that is open.
            let symbol = unsafe { (*t.site).symbol } as usize;
            (if symbol == 0 { t.site as usize } else { symbol }) == herd
        };
        match self.tiles.iter().find(is_it) {
            // SAFETY: as above.
            Some(tile) => format!("tile [{x}, {y}] of {}", unsafe { abi::text((*tile.site).name) }),
            None => format!("tile [{x}, {y}]"),
        }
    }
}

fn text(place: *const c_char) -> String {
    // SAFETY: a text of an ELF that is open, or null.
    unsafe { abi::text(place) }
}
