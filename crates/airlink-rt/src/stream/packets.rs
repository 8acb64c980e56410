//! Packets on their way over several channels.
//!
//! A put with a destination says which consumer the packet is for. Where its channel has several, that settles it. Where it
//! has one, the choice travels with the data, as the header does on the NPU: through the buffer of a memtile that gets the
//! packet and puts it on, up to a channel that has several consumers. What is computed, copied or sent on by a core is new
//! data, and starts without a destination.

use std::ffi::c_char;

use super::StreamFault;
use super::abi;
use super::cursor::Area;
use super::engine::Engine;
use super::records::Transfer;

/// The packets that lie in buffers of memtiles, and for which destination.
#[derive(Default)]
pub(crate) struct Packets(Vec<(Area, u32)>);

impl Packets {
    /// These bytes are overwritten, with a packet or something else.
    pub(crate) fn write(&mut self, area: &Area, tag: Option<u32>) {
        if !self.0.is_empty() {
            let before = std::mem::take(&mut self.0);
            for (old, tag) in before {
                let rest = if old.meets(area) { old.without(area) } else { vec![old] };
                self.0.extend(rest.into_iter().map(|area| (area, tag)));
            }
        }
        self.0.extend(tag.map(|tag| (area.clone(), tag)));
    }

    /// Which destination these bytes are for; an error if parts of them are for several, or for none.
    fn tag(&self, area: &Area) -> Result<Option<u32>, (Option<u32>, Option<u32>)> {
        let mut found = self.0.iter().filter(|(other, _)| area.meets(other));
        let Some(&(_, tag)) = found.clone().next() else { return Ok(None) };
        if let Some(&(_, other)) = found.find(|(_, other)| *other != tag) {
            return Err((Some(tag), Some(other)));
        }
        let tagged = self.0.iter().filter(|(other, _)| area.meets(other));
        let is_run = area.shape.is_none() && tagged.clone().all(|(other, _)| other.shape.is_none());
        let covered: usize = tagged.map(|(other, _)| other.end.min(area.end) - other.first.max(area.first)).sum();
        if is_run && covered < area.end - area.first {
            return Err((Some(tag), None));
        }
        Ok(Some(tag))
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// What a get has received of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Received {
    #[default]
    Nothing,
    /// All of it for one destination, or without one.
    For(Option<u32>),
    /// Data for these two.
    Mixed(Option<u32>, Option<u32>),
}

impl Received {
    pub(crate) fn add(&mut self, tag: Option<u32>) {
        *self = match *self {
            Received::Nothing => Received::For(tag),
            Received::For(before) if before != tag => Received::Mixed(before, tag),
            same => same,
        };
    }
}

impl Engine {
    /// A get into a memtile's buffer is done; false after a fault.
    pub(crate) fn keep_packet(&mut self, fifo: usize, bytes: &Area, received: Received, place: *const c_char) -> bool {
        match received {
            Received::Nothing => {}
            Received::For(tag) => self.packets.write(bytes, tag),
            Received::Mixed(first, second) => {
                // SAFETY: a text of an ELF that is open.
                let (stream, place) = (self.channels.fifo_name(fifo), unsafe { abi::text(place) });
                self.fail(StreamFault::Mixed { stream, first, second, place });
                return false;
            }
        }
        true
    }

    /// Which of a member's FIFOs a put goes to, if not to all, and what travels with its data; none after a fault.
    pub(crate) fn route(&mut self, transfer: &Transfer) -> Option<(Option<usize>, Option<u32>)> {
        let member = &self.channels.members[transfer.end];
        if !self.channels.channels[member.channel].is_packet {
            return Some((None, None));
        }
        let area = Area::of(transfer.start, &transfer.pattern);
        let tag = match transfer.destination {
            Some(number) => Ok(Some(number)),
            None => self.packets.tag(&area),
        };
        // SAFETY: the site of a transfer lies in an ELF that is open.
        let place = || unsafe { abi::text((*transfer.site).place) };
        match tag {
            Ok(None) => Some((None, None)),
            Ok(tag) if member.destinations.len() == 1 => Some((None, tag)),
            Ok(Some(number)) => {
                if let Some(&fifo) = member.destinations.get(number as usize) {
                    return Some((Some(fifo), None));
                }
                let (index, extents) = (vec![number.into()], vec![member.destinations.len() as i64]);
                let channel = self.channels.channels[member.channel].name.clone();
                self.fail(StreamFault::Index { channel, index, extents, place: place() });
                None
            }
            Err((first, second)) => {
                let stream = self.channels.member_name(transfer.end);
                self.fail(StreamFault::Mixed { stream, first, second, place: place() });
                None
            }
        }
    }
}
