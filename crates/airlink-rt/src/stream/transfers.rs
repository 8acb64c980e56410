//! Moving bytes through channels.

use std::rc::Rc;

use super::abi::{self, RawSite};
use super::channels::{Getter, Piece, Putter, Who, Writer};
use super::cursor::{Area, Cursor, Pattern};
use super::engine::{Engine, KnownSite, Via};
use super::packets::Received;
use super::records::{Kind, Transfer, What};
use super::{Id, StreamFault};

/// Bytes that a tile puts ahead of who gets them before it lets others run. Larger is no faster: it then leaves the cache.
pub(super) const TILE_AHEAD_BYTES: usize = 128 << 10;

impl Engine {
    /// Reads the words of a put or get: its end of the channel and its pattern.
    ///
    /// # Safety
    /// `site` and `words` must be those of a call by an ELF that is open.
    pub(crate) unsafe fn read_transfer(
        &mut self,
        site: *const RawSite,
        start: usize,
        words: *const i64,
        is_put: bool,
    ) -> Option<Transfer> {
        // SAFETY: by the promise above.
        let table = unsafe { &*site };
        let has_destination = is_put && table.flags & abi::HAS_DESTINATION != 0;
        let count = table.index_count + i64::from(has_destination) + 2 * table.rank;
        // SAFETY: as above; the layout says how many words there are.
        let (all, padding) = unsafe { (abi::words(words, count), abi::words(table.padding, 2 * table.rank)) };
        let (index, rest) = all.split_at_checked(table.index_count as usize)?;
        let (destination, rest) = rest.split_at_checked(usize::from(has_destination))?;
        // SAFETY: the channel's table is part of the same ELF.
        let place = || unsafe { abi::text(table.place) };
        // SAFETY: as above.
        let Some((pattern, channel)) = (unsafe { self.known_site(site, rest, padding) }) else {
            self.fail(StreamFault::TooLarge { place: place() });
            return None;
        };
        let end = match is_put {
            true => self.channels.member(channel, index),
            false => self.channels.fifo(channel, index),
        };
        let end = match end {
            Ok(end) => end,
            Err(bad) => {
                let (channel, index, extents) = (bad.channel, bad.index, bad.extents);
                self.fail(StreamFault::Index { channel, index, extents, place: place() });
                return None;
            }
        };
        let destination = match destination.first().map(|&number| u32::try_from(number)) {
            None => None,
            Some(Ok(number)) => Some(number),
            Some(Err(_)) => {
                let (index, extents) =
                    (destination.to_vec(), vec![self.channels.members[end].destinations.len() as i64]);
                let channel = self.channels.channels[channel].name.clone();
                self.fail(StreamFault::Index { channel, index, extents, place: place() });
                return None;
            }
        };
        Some(Transfer { site, start, pattern, end, destination })
    }

    /// The pattern and the channel of a put or get whose sizes and strides are `words`. Most use the same ones each time;
    /// none if no memory can have such sizes.
    ///
    /// # Safety
    /// As for `read_transfer`.
    unsafe fn known_site(
        &mut self,
        site: *const RawSite,
        words: &[i64],
        padding: &[i64],
    ) -> Option<(Rc<Pattern>, usize)> {
        if let Some(known) = self.sites.get(&(site as usize)).filter(|known| *known.words == *words) {
            return Some((known.pattern.clone(), known.channel));
        }
        // SAFETY: by the promise above, also for the channel's table, which is part of the same ELF.
        let (table, channel) = unsafe { (&*site, self.channels.of((*site).channel)?) };
        let (sizes, strides) = words.split_at_checked(table.rank as usize)?;
        let pattern = Rc::new(Pattern::new(sizes, strides, padding, table.element_bytes as usize).ok()?);
        // A site that is known may go the short way, which knows streams alone.
        if !self.channels.channels[channel].is_latch {
            self.sites.insert(site as usize, KnownSite { words: words.into(), pattern: pattern.clone(), channel });
        }
        Some((pattern, channel))
    }

    pub(crate) fn issue_put(&mut self, transfer: Transfer, tokens: &[i64]) -> Id {
        // SAFETY: the site of a transfer lies in an ELF that is open.
        let site = unsafe { &*transfer.site };
        if !self.claim_end(transfer.end, true, Writer::Control, site) {
            return 0;
        }
        let touched = match site.flags & abi::IS_CONSTANT {
            0 => self.touched(transfer.start, &transfer.pattern, false, Via::Put(transfer.end), site.place),
            _ => None,
        };
        let waits = [self.channels.members[transfer.end].last_put];
        let end = transfer.end;
        let what = What::Put(end, site.place);
        self.channels.members[end].last_put = self.records.next();
        self.issue(Kind::Put(transfer), what, touched.as_slice(), &waits, tokens)
    }

    pub(crate) fn issue_get(&mut self, transfer: Transfer, tokens: &[i64]) -> Id {
        // SAFETY: as above.
        let site = unsafe { &*transfer.site };
        if !self.claim_end(transfer.end, false, Writer::Control, site) {
            return 0;
        }
        let touched = self.touched(transfer.start, &transfer.pattern, true, Via::Get(transfer.end), site.place);
        let waits = [self.channels.fifos[transfer.end].last_get];
        let end = transfer.end;
        let what = What::Get(end, site.place);
        self.channels.fifos[end].last_get = self.records.next();
        self.issue(Kind::Get(transfer), what, touched.as_slice(), &waits, tokens)
    }

    /// Whether `who` may use this end of a stream: others that use it must come in an order that the program gives.
    pub(crate) fn claim_end(&mut self, end: usize, is_put: bool, who: Writer, site: &RawSite) -> bool {
        let channels = &mut self.channels;
        let (channel, owner) = match is_put {
            true => (channels.members[end].channel, &mut channels.members[end].writer),
            false => (channels.fifos[end].channel, &mut channels.fifos[end].reader),
        };
        let before = *owner.get_or_insert(who);
        let channel = &channels.channels[channel];
        if before == who || channel.is_packet || (channel.is_latch && !is_put) {
            return true;
        }
        let (stream, name) = match is_put {
            true => (self.channels.member_name(end), "puts into"),
            false => (self.channels.fifo_name(end), "gets from"),
        };
        let (first, second) = (self.writer_name(before), self.writer_name(who));
        // SAFETY: a text of the ELF.
        let place = unsafe { abi::text(site.place) };
        self.fail(StreamFault::Shared { stream, end: name, first, second, place });
        false
    }

    pub(crate) fn start_put(&mut self, id: Id, transfer: &Transfer) {
        // SAFETY: the site of a transfer lies in an ELF that is open.
        let site = unsafe { &*transfer.site };
        let start = self.memory.real(transfer.start);
        let cursor = Cursor::new(transfer.pattern.clone(), start);
        self.add_putter(Who::Record(id), transfer, cursor, site);
    }

    pub(crate) fn add_putter(&mut self, who: Who, transfer: &Transfer, cursor: Cursor, site: &RawSite) {
        let Some((only, tag)) = self.route(transfer) else { return };
        self.sequence += 1;
        for fifo in self.channels.members[transfer.end].destinations.clone().iter() {
            self.close(*fifo);
        }
        let member = &mut self.channels.members[transfer.end];
        member.putters.push_back(Putter {
            who,
            cursor,
            place: site.place,
            only,
            tag,
            element_bytes: site.element_bytes as usize,
            is_forced: false,
            sequence: self.sequence,
        });
        self.work.push_back(transfer.end);
    }

    pub(crate) fn start_get(&mut self, id: Id, transfer: &Transfer) {
        // SAFETY: as above.
        let site = unsafe { &*transfer.site };
        let start = self.memory.real(transfer.start);
        let cursor = Cursor::new(transfer.pattern.clone(), start);
        let bytes = Area::of(transfer.start, &transfer.pattern);
        self.add_getter(Who::Record(id), transfer.end, cursor, Some(bytes), site);
    }

    /// `bytes` are those of a memtile's buffer, where a packet lies that may go on from there.
    pub(crate) fn add_getter(&mut self, who: Who, fifo: usize, cursor: Cursor, bytes: Option<Area>, site: &RawSite) {
        let (place, element_bytes, received) = (site.place, site.element_bytes as usize, Received::Nothing);
        self.close(fifo);
        self.channels.fifos[fifo].getters.push_back(Getter { who, cursor, place, element_bytes, bytes, received });
        self.deliver(fifo);
        let fifo = &self.channels.fifos[fifo];
        if !fifo.getters.is_empty() {
            self.work.push_back(fifo.member);
        }
    }

    /// Hands the bytes of a FIFO to who waits for them.
    fn deliver(&mut self, number: usize) {
        if self.is_latch(self.channels.fifos[number].member) {
            return self.copy_latched(number);
        }
        loop {
            let fifo = &mut self.channels.fifos[number];
            let Some(getter) = fifo.getters.front_mut() else { return };
            if fifo.length_bytes > 0 && fifo.element_bytes != getter.element_bytes {
                let (put_bytes, got_bytes, place) = (fifo.element_bytes, getter.element_bytes, getter.place);
                let channel = self.channels.fifo_name(number);
                // SAFETY: a text of the ELF.
                return self.fail(StreamFault::ElementSize {
                    channel,
                    put_bytes,
                    got_bytes,
                    place: unsafe { abi::text(place) },
                });
            }
            while let Some(piece) = fifo.pieces.front_mut().filter(|_| getter.cursor.left() > 0) {
                self.races.receive(getter.who, piece.sent.as_ref());
                getter.received.add(piece.tag);
                let bytes = &piece.bytes[piece.at..];
                // SAFETY: what a get writes was checked when it was issued or called, and its owner waits.
                let count = unsafe { getter.cursor.scatter(bytes) };
                piece.at += count;
                fifo.length_bytes -= count;
                fifo.got_bytes += count as u64;
                if piece.at == piece.bytes.len()
                    && let Some(piece) = fifo.pieces.pop_front()
                {
                    self.spare.give_back(piece.bytes);
                }
            }
            if getter.cursor.left() > 0 {
                return;
            }
            let (who, bytes, received, place) = (getter.who, getter.bytes.take(), getter.received, getter.place);
            fifo.getters.pop_front();
            let member = fifo.member;
            if let Some(bytes) = bytes
                && !self.keep_packet(number, &bytes, received, place)
            {
                return;
            }
            // There is room again.
            if !self.channels.members[member].putters.is_empty() {
                self.work.push_back(member);
            }
            self.transfer_done(who);
        }
    }

    pub(super) fn transfer_done(&mut self, who: Who) {
        match who {
            Who::Record(id) => self.records.complete(id),
            Who::Tile(tile) => {
                self.tiles[tile].waits_in = None;
                // The tile that runs just goes on.
                if self.current != Some(tile) {
                    self.runnable.push_back(tile);
                }
            }
        }
    }

    /// Lets the first putter of a member go on as far as it can.
    pub(crate) fn put_some(&mut self, number: usize) {
        if self.is_latch(number) {
            return self.latch(number);
        }
        loop {
            let Some(putter) = self.channels.members[number].putters.front() else { return };
            let left = putter.cursor.left();
            let count = self.room(number, left);
            if left > 0 && count == 0 {
                return;
            }
            let fifos: Rc<[usize]> = match putter.only {
                Some(fifo) => [fifo].into(),
                None => self.channels.members[number].destinations.clone(),
            };
            if left > 0 && !self.move_into(number, &fifos, count) {
                return;
            }
            let member = &mut self.channels.members[number];
            if member.putters.front().is_some_and(|p| p.cursor.left() == 0)
                && let Some(done) = member.putters.pop_front()
            {
                self.transfer_done(done.who);
            }
        }
    }

    /// How many bytes may go into the FIFOs of a member now.
    fn room(&self, number: usize, left: usize) -> usize {
        let member = &self.channels.members[number];
        let Some(putter) = member.putters.front() else { return 0 };
        let fifos = || {
            let all = member.destinations.iter().copied();
            all.filter(|f| putter.only.is_none_or(|only| only == *f)).map(|f| &self.channels.fifos[f])
        };
        if let Some(bound) = self.options.fifo_bytes {
            // A getter takes what comes at once, so a FIFO in front of one is empty.
            let bound = usize::try_from(bound).unwrap_or(usize::MAX).max(1);
            return fifos().map(|f| bound.saturating_sub(f.length_bytes)).min().unwrap_or(left).min(left);
        }
        if putter.is_forced {
            return left;
        }
        match putter.who {
            Who::Tile(_) if fifos().all(|f| f.length_bytes < TILE_AHEAD_BYTES) => left,
            _ => {
                let wanted = |f: &super::channels::Fifo| f.getters.front().map_or(0, |g| g.cursor.left());
                fifos().map(wanted).max().unwrap_or(left).min(left)
            }
        }
    }

    /// Moves bytes of a member's first putter into its FIFOs; false if that is a fault.
    fn move_into(&mut self, number: usize, fifos: &[usize], count: usize) -> bool {
        let member = &mut self.channels.members[number];
        let Some(putter) = member.putters.front_mut() else { return false };
        for &fifo in fifos {
            let fifo = &mut self.channels.fifos[fifo];
            fifo.element_bytes = putter.element_bytes;
            if let Some(getter) = fifo.getters.front().filter(|g| g.element_bytes != putter.element_bytes) {
                let (put_bytes, got_bytes) = (putter.element_bytes, getter.element_bytes);
                // SAFETY: a text of the ELF.
                let place = unsafe { abi::text(getter.place) };
                let channel = self.channels.member_name(number);
                self.fail(StreamFault::ElementSize { channel, put_bytes, got_bytes, place });
                return false;
            }
        }
        member.put_bytes += count as u64;
        if let [fifo] = fifos
            && self.channels.fifos[*fifo].length_bytes == 0
            && let Some(getter) = self.channels.fifos[*fifo].getters.front_mut()
        {
            // SAFETY: both sides were checked when they were issued or called, and their owners wait.
            let moved = unsafe { putter.cursor.move_to(&mut getter.cursor, count) };
            let sent = self.races.send(putter.who);
            self.races.receive(getter.who, sent.as_ref());
            getter.received.add(putter.tag);
            self.channels.fifos[*fifo].got_bytes += moved as u64;
            let rest = count - moved;
            if rest > 0 {
                self.gather_into(number, fifos, rest);
            }
        } else {
            self.gather_into(number, fifos, count);
        }
        for &fifo in fifos {
            self.deliver(fifo);
        }
        self.check_memory(number)
    }

    /// Copies bytes of a member's first putter to the ends of its FIFOs.
    fn gather_into(&mut self, number: usize, fifos: &[usize], count: usize) {
        let Some(putter) = self.channels.members[number].putters.front_mut() else { return };
        // SAFETY: what a put reads was checked when it was issued or called, and its owner waits.
        let bytes = self.spare.take(count, |bytes| unsafe { putter.cursor.gather(bytes, count) });
        let (sent, tag) = (self.races.send(putter.who), putter.tag);
        for &fifo in fifos {
            let fifo = &mut self.channels.fifos[fifo];
            fifo.length_bytes += bytes.len();
            fifo.pieces.push_back(Piece { bytes: bytes.clone(), sent: sent.clone(), tag, at: 0 });
        }
    }

    pub(super) fn check_memory(&mut self, member: usize) -> bool {
        let needed_bytes = self.held_bytes();
        let limit_bytes = self.options.memory_limit_bytes;
        if needed_bytes <= limit_bytes {
            return true;
        }
        let place = self.channels.members[member].putters.front().map(|p| p.place);
        // SAFETY: a text of the ELF.
        let place = place.map_or(String::new(), |p| unsafe { abi::text(p) });
        self.fail(StreamFault::MemoryLimit { needed_bytes, limit_bytes, place });
        false
    }
}
