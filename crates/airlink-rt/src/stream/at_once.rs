//! Transfers of tiles that nothing has to wait for.
//!
//! A tile that puts into a FIFO with room, or gets what is there already, goes on in the same moment. Cascades pass on little
//! and often, so what a transfer costs beyond its bytes decides how fast they are: mostly the cache lines that it has to
//! look at, between two stretches of code that fill the cache with weights. Everything else goes the long way, which gives
//! the same results.

use std::rc::Rc;

use super::abi::{self, RawSite};
use super::channels::{Piece, row_major};
use super::engine::Engine;
use super::transfers::TILE_AHEAD_BYTES;

/// A FIFO as the tiles at its two ends see it while nobody waits there and little is on its way: all in one place.
///
/// Open ones hold what has come into the FIFO; [`Engine::close`] hands that over to the long way, which closes a FIFO before
/// it looks at it.
#[repr(C, align(64))]
pub(crate) struct Near {
    is_open: bool,
    /// What lies in `data`.
    first: u16,
    end: u16,
    element_bytes: u32,
    /// Who puts and who gets, by their keys; 0 for nobody yet.
    writer: u64,
    reader: u64,
    /// Since it was opened.
    put_bytes: u64,
    got_bytes: u64,
    data: [u8; Near::BYTES],
}

impl Near {
    /// What a cascade passes on in a few steps; with the rest it makes four cache lines.
    const BYTES: usize = 208;

    pub(crate) fn new() -> Near {
        Near {
            is_open: false,
            first: 0,
            end: 0,
            element_bytes: 0,
            writer: 0,
            reader: 0,
            put_bytes: 0,
            got_bytes: 0,
            data: [0; Near::BYTES],
        }
    }

    /// As it was before the first transfer of a launch point.
    pub(crate) fn reset(&mut self) {
        (self.is_open, self.first, self.end) = (false, 0, 0);
        (self.writer, self.reader, self.put_bytes, self.got_bytes) = (0, 0, 0, 0);
    }

    /// # Safety
    /// The bytes must be readable.
    #[inline]
    unsafe fn put(&mut self, start: usize, bytes: usize) -> bool {
        let end = self.end as usize;
        let Some(room) = self.data.get_mut(end..end + bytes) else { return false };
        // SAFETY: by the promise above.
        unsafe { copy_small(start as *const u8, room.as_mut_ptr(), bytes) };
        self.end += bytes as u16;
        self.put_bytes += bytes as u64;
        true
    }

    /// # Safety
    /// The bytes must be writable, and nobody else may use them meanwhile.
    #[inline]
    unsafe fn get(&mut self, start: usize, bytes: usize) -> bool {
        let (first, end) = (self.first as usize, self.end as usize);
        let Some(content) = self.data[..end].get(first..first + bytes) else { return false };
        // SAFETY: by the promise above; the FIFO is memory of its own.
        unsafe { copy_small(content.as_ptr(), start as *mut u8, bytes) };
        self.got_bytes += bytes as u64;
        let is_empty = first + bytes == end;
        (self.first, self.end) = if is_empty { (0, 0) } else { ((first + bytes) as u16, self.end) };
        true
    }
}

/// Copies a few bytes without a call.
///
/// # Safety
/// As for `std::ptr::copy_nonoverlapping`.
#[inline]
unsafe fn copy_small(from: *const u8, to: *mut u8, bytes: usize) {
    const STEP: usize = 32;
    let whole = bytes - bytes % STEP;
    // SAFETY: by the promise above; all of it lies within the first `bytes` bytes.
    unsafe {
        for at in (0..whole).step_by(STEP) {
            to.add(at).cast::<[u64; 4]>().write_unaligned(from.add(at).cast::<[u64; 4]>().read_unaligned());
        }
        if whole < bytes {
            std::ptr::copy_nonoverlapping(from.add(whole), to.add(whole), bytes - whole);
        }
    }
}

/// The tile that runs.
#[derive(Clone, Copy, Default)]
pub(crate) struct Now {
    /// Names its [`Writer`](super::channels::Writer) for as long as a call lasts; 0 for control code, and for tiles whose
    /// transfers all go the long way.
    pub key: u64,
    /// The start of its block of scratch memory.
    pub scratch: usize,
}

/// What is the same each time that a tile comes to a put or get: in one place, and checked already.
#[derive(Clone, Copy, Default)]
struct Shortcut {
    /// The address of the site's table; 0 for none.
    site: usize,
    /// From the start of the tile's scratch block.
    offset: usize,
    bytes: usize,
    element_bytes: usize,
    /// Sizes and strides.
    words: [i64; Shortcut::WORDS],
    /// The extents of the channel's end, and how many of them count.
    extents: [i64; Shortcut::RANK],
    rank: usize,
    /// The first member and the first FIFO of the channel, which has as many of both.
    first_member: usize,
    first_fifo: usize,
}

impl Shortcut {
    const WORDS: usize = 6;
    const RANK: usize = 3;
}

/// By their sites. Of two that want one place, the later has it.
#[derive(Default)]
pub(crate) struct Shortcuts([Shortcut; 16]);

impl Shortcuts {
    fn at(&mut self, site: *const RawSite) -> &mut Shortcut {
        let number = site as usize / size_of::<RawSite>() % self.0.len();
        &mut self.0[number]
    }
}

impl Engine {
    /// Does a transfer of the tile that runs; false if it must go the long way.
    ///
    /// # Safety
    /// As for `read_transfer`.
    pub(crate) unsafe fn at_once(
        &mut self,
        site: *const RawSite,
        start: usize,
        words: *const i64,
        is_put: bool,
    ) -> bool {
        // SAFETY: by the promise above, which includes the number of words.
        let (table, all) = unsafe { (&*site, abi::words(words, (*site).index_count + 2 * (*site).rank)) };
        let Some(offset) = start.checked_sub(self.now.scratch) else { return false };
        if self.now.key == 0 || table.flags & abi::HAS_DESTINATION != 0 {
            return false;
        }
        let Some((index, rest)) = all.split_at_checked(table.index_count as usize) else { return false };
        let known = self.shortcuts.at(site);
        if known.site != site as usize || known.offset != offset || !known.words.iter().zip(rest).all(|(a, b)| a == b) {
            let Some(found) = self.shortcut(site, start, offset, rest) else { return false };
            *self.shortcuts.at(site) = found;
        }
        let known = self.shortcuts.at(site);
        let (bytes, element_bytes) = (known.bytes, known.element_bytes);
        let Some(number) = row_major(&known.extents[..known.rank], index) else { return false };
        let (member, fifo) = (known.first_member + number, known.first_fifo + number);
        let (key, near) = (self.now.key, &mut self.channels.near[fifo]);
        let is_open = near.is_open && near.element_bytes as usize == element_bytes;
        match is_put {
            // SAFETY: the bytes lie in a buffer of the tile, which stands still; also below.
            true if is_open && near.writer == key && unsafe { near.put(start, bytes) } => true,
            true => unsafe { self.put_at_once(member, fifo, start, bytes, element_bytes) },
            false if is_open && near.reader == key && unsafe { near.get(start, bytes) } => true,
            false => unsafe { self.get_at_once(fifo, start, bytes, element_bytes) },
        }
    }

    /// What is to be known of a transfer of the current tile; none if that has to go the long way each time, or this once
    /// because the site is new.
    fn shortcut(&self, site: *const RawSite, start: usize, offset: usize, words: &[i64]) -> Option<Shortcut> {
        let known = self.sites.get(&(site as usize)).filter(|k| *k.words == *words && k.pattern.is_contiguous())?;
        let channel = &self.channels.channels[known.channel];
        let (extents, first_member, first_fifo) = channel.simple_ends()?;
        let bytes = known.pattern.total_bytes();
        let (_, last, _) = self.tiles[self.current?].scratch.as_ref().and_then(|s| s.buffer_at(start))?;
        // SAFETY: the site is one that a call has just come with.
        let element_bytes = unsafe { (*site).element_bytes } as usize;
        let is_large = words.len() > Shortcut::WORDS || extents.len() > Shortcut::RANK;
        if is_large || bytes == 0 || start + bytes > last {
            return None;
        }
        let (site, rank) = (site as usize, extents.len());
        let mut found =
            Shortcut { site, offset, bytes, element_bytes, rank, first_member, first_fifo, ..Shortcut::default() };
        found.words[..words.len()].copy_from_slice(words);
        found.extents[..extents.len()].copy_from_slice(extents);
        Some(found)
    }

    /// # Safety
    /// The bytes must be readable, and nobody may write them meanwhile.
    unsafe fn put_at_once(
        &mut self,
        member: usize,
        fifo: usize,
        start: usize,
        bytes: usize,
        element_bytes: usize,
    ) -> bool {
        let (who, key, number) = (self.writer(), self.now.key, fifo);
        self.close(number);
        let held_bytes = self.held_bytes();
        let member = &mut self.channels.members[member];
        let fifo = &mut self.channels.fifos[number];
        if !member.putters.is_empty()
            || !fifo.getters.is_empty()
            || fifo.length_bytes >= TILE_AHEAD_BYTES
            || held_bytes + bytes as u64 > self.options.memory_limit_bytes
            || *member.writer.get_or_insert(who) != who
        {
            return false;
        }
        if fifo.length_bytes == 0 {
            let near = &mut self.channels.near[number];
            // SAFETY: by the promise above.
            if unsafe { near.put(start, bytes) } {
                (near.is_open, near.element_bytes, near.writer) = (true, element_bytes as u32, key);
                self.channels.open_count += 1;
                return true;
            }
        }
        // SAFETY: by the promise above.
        let source = unsafe { std::slice::from_raw_parts(start as *const u8, bytes) };
        let room = fifo.pieces.back_mut().filter(|p| p.sent.is_none() && p.tag.is_none());
        match room.and_then(|p| Rc::get_mut(&mut p.bytes)).filter(|b| b.capacity() - b.len() >= bytes) {
            Some(content) => {
                content.extend_from_slice(source);
                self.spare.held_bytes += bytes as u64;
            }
            None => {
                let piece = self.spare.take(bytes.max(MIN_PIECE_BYTES), |piece| piece.extend_from_slice(source));
                fifo.pieces.push_back(Piece { bytes: piece, sent: None, tag: None, at: 0 });
            }
        }
        fifo.length_bytes += bytes;
        fifo.element_bytes = element_bytes;
        member.put_bytes += bytes as u64;
        true
    }

    /// # Safety
    /// The bytes must be writable, and nobody else may use them meanwhile.
    unsafe fn get_at_once(&mut self, fifo: usize, start: usize, bytes: usize, element_bytes: usize) -> bool {
        let (who, key, number) = (self.writer(), self.now.key, fifo);
        let fifo = &mut self.channels.fifos[number];
        if *fifo.reader.get_or_insert(who) != who {
            return false;
        }
        let near = &mut self.channels.near[number];
        near.reader = key;
        // SAFETY: by the promise above.
        if near.is_open && near.element_bytes as usize == element_bytes && unsafe { near.get(start, bytes) } {
            return true;
        }
        self.close(number);
        let fifo = &mut self.channels.fifos[number];
        if !fifo.getters.is_empty()
            || fifo.length_bytes < bytes
            || fifo.element_bytes != element_bytes
            // Who waits to put gets room by this.
            || !self.channels.members[fifo.member].putters.is_empty()
        {
            return false;
        }
        let mut done = 0;
        while let Some(piece) = fifo.pieces.front_mut().filter(|_| done < bytes) {
            let count = (bytes - done).min(piece.bytes.len() - piece.at);
            // SAFETY: by the promise above; pieces are memory of their own.
            unsafe {
                let source = piece.bytes.as_ptr().add(piece.at);
                std::ptr::copy_nonoverlapping(source, (start + done) as *mut u8, count);
            }
            piece.at += count;
            done += count;
            if piece.at == piece.bytes.len()
                && let Some(piece) = fifo.pieces.pop_front()
            {
                self.spare.give_back(piece.bytes);
            }
        }
        fifo.length_bytes -= bytes;
        fifo.got_bytes += bytes as u64;
        true
    }

    /// A get of the tile that runs, of data that lies in one piece of its FIFO: where. The tile only reads it, and the piece
    /// stays until the next get at the same place of its code, or until it ends. None if the get must go the long way.
    ///
    /// # Safety
    /// As for `read_transfer`.
    pub(crate) unsafe fn lend(&mut self, site: *const RawSite, words: *const i64) -> Option<usize> {
        // SAFETY: by the promise above, which includes the number of words.
        let (table, all) = unsafe { (&*site, abi::words(words, (*site).index_count + 2 * (*site).rank)) };
        let (index, rest) = all.split_at_checked(table.index_count as usize)?;
        let known = self.sites.get(&(site as usize)).filter(|k| *k.words == *rest && k.pattern.is_contiguous())?;
        let (bytes, channel) = (known.pattern.total_bytes(), known.channel);
        if self.now.key == 0 || self.channels.channels[channel].is_packet {
            return None;
        }
        let number = self.channels.fifo(channel, index).ok()?;
        let who = self.writer();
        self.close(number);
        let fifo = &mut self.channels.fifos[number];
        let piece = fifo.pieces.front_mut().filter(|p| p.bytes.len() - p.at >= bytes)?;
        let is_mine = *fifo.reader.get_or_insert(who) == who;
        if !is_mine || !fifo.getters.is_empty() || fifo.element_bytes != table.element_bytes as usize || bytes == 0 {
            return None;
        }
        let (place, held) = (piece.bytes.as_ptr() as usize + piece.at, piece.bytes.clone());
        // As buffers are.
        if !place.is_multiple_of(64) {
            return None;
        }
        piece.at += bytes;
        if piece.at == piece.bytes.len() {
            fifo.pieces.pop_front();
        }
        fifo.length_bytes -= bytes;
        fifo.got_bytes += bytes as u64;
        // Who waits to put has room again.
        if !self.channels.members[fifo.member].putters.is_empty() {
            self.work.push_back(fifo.member);
        }
        let lent = &mut self.tiles[self.current?].lent;
        match lent.iter_mut().find(|(at, _)| *at == site as usize) {
            Some((_, before)) => self.spare.give_back(std::mem::replace(before, held)),
            None => lent.push((site as usize, held)),
        }
        Some(place)
    }

    /// Gives a FIFO to the long way.
    #[inline]
    pub(crate) fn close(&mut self, fifo: usize) {
        if self.channels.near[fifo].is_open {
            self.close_now(fifo);
        }
    }

    #[cold]
    fn close_now(&mut self, number: usize) {
        let (near, fifo) = (&mut self.channels.near[number], &mut self.channels.fifos[number]);
        near.is_open = false;
        self.channels.open_count -= 1;
        self.channels.members[fifo.member].put_bytes += std::mem::take(&mut near.put_bytes);
        fifo.got_bytes += std::mem::take(&mut near.got_bytes);
        fifo.element_bytes = near.element_bytes as usize;
        let content = &near.data[near.first as usize..near.end as usize];
        (near.first, near.end) = (0, 0);
        if !content.is_empty() {
            let bytes = self.spare.take(content.len().max(MIN_PIECE_BYTES), |piece| piece.extend_from_slice(content));
            fifo.length_bytes += content.len();
            fifo.pieces.push_back(Piece { bytes, sent: None, tag: None, at: 0 });
        }
    }

    pub(crate) fn close_all(&mut self) {
        if self.channels.open_count > 0 {
            (0..self.channels.near.len()).for_each(|fifo| self.close(fifo));
        }
    }
}

/// Room for what a tile puts next, so that it goes behind what it has just put. Streams that are used like this are few.
const MIN_PIECE_BYTES: usize = 1024;
