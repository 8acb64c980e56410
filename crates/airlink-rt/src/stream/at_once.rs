//! Transfers of tiles that nothing has to wait for.
//!
//! A tile that puts into a FIFO with room, or gets what is there already, goes on in the same moment. Cascades pass on little
//! and often, so what a transfer costs beyond its bytes decides how fast they are. Everything else goes the long way, which
//! gives the same results.

use super::abi::{self, RawSite};
use super::channels::Piece;
use super::engine::Engine;
use super::transfers::TILE_AHEAD_BYTES;

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
        if self.options.fifo_bytes.is_some() || self.races.is_on || table.flags & abi::HAS_DESTINATION != 0 {
            return false;
        }
        let Some((index, rest)) = all.split_at_checked(table.index_count as usize) else { return false };
        let known = self.sites.get(&(site as usize)).filter(|k| k.words.iter().eq(rest) && k.pattern.is_contiguous());
        let Some((bytes, channel)) = known.map(|k| (k.pattern.total_bytes(), k.channel)) else { return false };
        let scratch = self.current.and_then(|tile| self.tiles[tile].scratch.as_ref());
        let own = scratch.and_then(|s| s.buffer_at(start)).is_some_and(|(_, last, _)| start + bytes <= last);
        let element_bytes = table.element_bytes as usize;
        match is_put {
            _ if !own || bytes == 0 => false,
            // SAFETY: the bytes lie in a buffer of the tile, which stands still.
            true => self
                .channels
                .member(channel, index)
                .is_ok_and(|m| unsafe { self.put_at_once(m, start, bytes, element_bytes) }),
            // SAFETY: as above.
            false => self
                .channels
                .fifo(channel, index)
                .is_ok_and(|f| unsafe { self.get_at_once(f, start, bytes, element_bytes) }),
        }
    }

    /// # Safety
    /// The bytes must be readable, and nobody may write them meanwhile.
    unsafe fn put_at_once(&mut self, member: usize, start: usize, bytes: usize, element_bytes: usize) -> bool {
        let (who, held_bytes) = (self.writer(), self.held_bytes());
        let member = &mut self.channels.members[member];
        let &[fifo] = &member.destinations[..] else { return false };
        let fifo = &mut self.channels.fifos[fifo];
        if !member.putters.is_empty()
            || !fifo.getters.is_empty()
            || fifo.length_bytes >= TILE_AHEAD_BYTES
            || held_bytes + bytes as u64 > self.options.memory_limit_bytes
            || *member.writer.get_or_insert(who) != who
        {
            return false;
        }
        // SAFETY: by the promise above.
        let source = unsafe { std::slice::from_raw_parts(start as *const u8, bytes) };
        let piece = self.spare.take(bytes, |piece| piece.extend_from_slice(source));
        fifo.pieces.push_back(Piece { bytes: piece, sent: None, at: 0 });
        fifo.length_bytes += bytes;
        fifo.element_bytes = element_bytes;
        member.put_bytes += bytes as u64;
        true
    }

    /// # Safety
    /// The bytes must be writable, and nobody else may use them meanwhile.
    unsafe fn get_at_once(&mut self, fifo: usize, start: usize, bytes: usize, element_bytes: usize) -> bool {
        let who = self.writer();
        let fifo = &mut self.channels.fifos[fifo];
        if !fifo.getters.is_empty()
            || fifo.length_bytes < bytes
            || fifo.element_bytes != element_bytes
            // Who waits to put gets room by this.
            || !self.channels.members[fifo.member].putters.is_empty()
            || *fifo.reader.get_or_insert(who) != who
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
}
