//! Channels that keep what was put last.
//!
//! On the NPU the host writes such a payload into the memories of the tiles before they start. So a put is done at once,
//! whoever gets, and a get copies what the last put has left, as often as anybody wants, and takes nothing away.

use std::rc::Rc;

use super::StreamFault;
use super::abi;
use super::channels::Bytes;
use super::engine::Engine;
use super::races::Clock;

/// What a put has left.
pub(crate) struct Latched {
    bytes: Rc<Bytes>,
    /// What had happened when it was put, where races are looked for.
    sent: Option<Clock>,
    element_bytes: usize,
}

impl Engine {
    pub(super) fn is_latch(&self, member: usize) -> bool {
        self.channels.channels[self.channels.members[member].channel].is_latch
    }

    /// Lets the puts of a member leave what they put, each in the place of the one before.
    pub(super) fn latch(&mut self, number: usize) {
        while let Some(mut putter) = self.channels.members[number].putters.pop_front() {
            let count = putter.cursor.left();
            // SAFETY: what a put reads was checked when it was issued or called, and its owner waits.
            let bytes = self.spare.take(count, |bytes| unsafe { putter.cursor.gather(bytes, count) });
            let sent = self.races.send(putter.who);
            let member = &mut self.channels.members[number];
            member.put_bytes += count as u64;
            let now = Latched { bytes, sent, element_bytes: putter.element_bytes };
            if let Some(before) = member.latched.replace(now) {
                self.spare.give_back(before.bytes);
            }
            if !self.check_memory(number) {
                return;
            }
            self.transfer_done(putter.who);
        }
        let destinations = self.channels.members[number].destinations.clone();
        destinations.iter().for_each(|&fifo| self.copy_latched(fifo));
    }

    /// Hands what was put last to who waits for it.
    pub(super) fn copy_latched(&mut self, number: usize) {
        let member = self.channels.fifos[number].member;
        let Some(latched) = &self.channels.members[member].latched else { return };
        let (bytes, sent, put_bytes) = (latched.bytes.clone(), latched.sent.clone(), latched.element_bytes);
        while let Some(mut getter) = self.channels.fifos[number].getters.pop_front() {
            // SAFETY: a text of the ELF.
            let place = || unsafe { abi::text(getter.place) };
            let (got_bytes, wanted) = (getter.element_bytes, getter.cursor.left());
            if got_bytes != put_bytes {
                let channel = self.channels.fifo_name(number);
                return self.fail(StreamFault::ElementSize { channel, put_bytes, got_bytes, place: place() });
            }
            if wanted != bytes.len() {
                let (written, read) = ((wanted / put_bytes) as u64, (bytes.len() / put_bytes) as u64);
                return self.fail(StreamFault::Unequal { written, read, place: place() });
            }
            self.races.receive(getter.who, sent.as_ref());
            // SAFETY: what a get writes was checked when it was issued or called, and its owner waits.
            unsafe { getter.cursor.scatter(&bytes) };
            self.channels.fifos[number].got_bytes += bytes.len() as u64;
            self.transfer_done(getter.who);
        }
    }
}
