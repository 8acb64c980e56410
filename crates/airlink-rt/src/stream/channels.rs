//! The channels of a launch: members that are put into, and a FIFO of bytes for each destination.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use aligned_vec::{AVec, ConstAlign};

use super::Id;
use super::abi::{self, RawChannel};
use super::at_once::Near;
use super::cursor::{Area, Cursor};
use super::latches::Latched;
use super::packets::Received;
use super::races::Clock;

/// Who moves data through an end of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Who {
    /// A transfer that control code issued.
    Record(Id),
    /// A tile that waits in its call, by its number in the launch.
    Tile(usize),
}

/// One transfer on its way into a member.
pub(crate) struct Putter {
    pub who: Who,
    pub cursor: Cursor,
    pub place: *const std::ffi::c_char,
    /// The one destination that gets it; all if none.
    pub only: Option<usize>,
    /// What its data is marked with on its way.
    pub tag: Option<u32>,
    pub element_bytes: usize,
    /// Nothing else can go on: goes into the FIFOs although nobody asks for it yet.
    pub is_forced: bool,
    /// Order of arrival over all members.
    pub sequence: u64,
}

/// One transfer on its way out of a FIFO.
pub(crate) struct Getter {
    pub who: Who,
    pub cursor: Cursor,
    pub place: *const std::ffi::c_char,
    pub element_bytes: usize,
    /// Where it goes to, in a memtile.
    pub bytes: Option<Area>,
    pub received: Received,
}

pub(crate) struct Member {
    pub channel: usize,
    pub putters: VecDeque<Putter>,
    pub destinations: Rc<[usize]>,
    pub last_put: Id,
    /// Whoever has put into it: a herd's tile by herd and place, or control code.
    pub writer: Option<Writer>,
    pub put_bytes: u64,
    /// What the last put has left, if it stays.
    pub latched: Option<Latched>,
}

/// One end of a stream belongs to one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writer {
    Control,
    Tile { herd: usize, x: i64, y: i64 },
}

pub(crate) struct Fifo {
    pub channel: usize,
    pub member: usize,
    pub pieces: VecDeque<Piece>,
    pub length_bytes: usize,
    pub getters: VecDeque<Getter>,
    pub last_get: Id,
    pub reader: Option<Writer>,
    pub got_bytes: u64,
    pub element_bytes: usize,
}

/// On cache lines of their own, as buffers are: code that reads them where they lie should not cross lines.
pub(crate) type Bytes = AVec<u8, ConstAlign<64>>;

/// Bytes in a FIFO, which several destinations may share.
pub(crate) struct Piece {
    pub bytes: Rc<Bytes>,
    /// What had happened when it was put, where races are looked for.
    pub sent: Option<Clock>,
    /// Which destination it is for, said where it was put first: on a packet channel, the header that travels along.
    pub tag: Option<u32>,
    pub at: usize,
}

pub(crate) struct Channel {
    pub name: String,
    pub is_packet: bool,
    /// Keeps what was put last, for whoever gets.
    pub is_latch: bool,
    members: Vec<i64>,
    destinations: Vec<i64>,
    is_broadcast: bool,
    first_member: usize,
    first_fifo: usize,
}

/// An index that no stream has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadIndex {
    pub channel: String,
    pub index: Vec<i64>,
    pub extents: Vec<i64>,
}

/// The memory of what FIFOs hold, and pieces of it that nobody holds any more, for those to come.
#[derive(Default)]
pub(crate) struct Spare {
    list: Vec<Rc<Bytes>>,
    pub held_bytes: u64,
}

impl Spare {
    /// How many pieces wait for the next put, and how large each may be.
    const COUNT: usize = 64;
    const BYTES: usize = 16 << 10;

    /// A piece of what `fill` appends, with room for so many bytes.
    pub(crate) fn take(&mut self, bytes: usize, fill: impl FnOnce(&mut Bytes)) -> Rc<Bytes> {
        let mut piece = self.list.pop().unwrap_or_else(|| Rc::new(Bytes::new(64)));
        let content = Rc::make_mut(&mut piece);
        content.reserve_exact(bytes);
        fill(content);
        self.held_bytes += content.len() as u64;
        piece
    }

    /// A FIFO is done with a piece; others may not be.
    pub(crate) fn give_back(&mut self, mut piece: Rc<Bytes>) {
        let Some(content) = Rc::get_mut(&mut piece) else { return };
        self.held_bytes -= content.len() as u64;
        if content.capacity() <= Spare::BYTES && self.list.len() < Spare::COUNT {
            content.clear();
            self.list.push(piece);
        }
    }
}

#[derive(Default)]
pub(crate) struct Channels {
    by_table: BTreeMap<usize, usize>,
    pub channels: Vec<Channel>,
    pub members: Vec<Member>,
    pub fifos: Vec<Fifo>,
    /// One for each FIFO.
    pub near: Vec<Near>,
    /// How many of them are open.
    pub open_count: usize,
}

/// More streams than any array of tiles has wires; a channel that asks for more is a mistake.
const MAX_STREAMS: i64 = 1 << 16;

impl Channels {
    /// The channel of a table.
    ///
    /// # Safety
    /// `raw` must point to a table of an ELF that is open.
    pub(crate) unsafe fn of(&mut self, raw: *const RawChannel) -> Option<usize> {
        if let Some(&known) = self.by_table.get(&(raw as usize)) {
            return Some(known);
        }
        // SAFETY: by the promise above, also for the arrays in it.
        let table = unsafe { &*raw };
        let (members, destinations) =
            unsafe { (abi::words(table.members, table.rank), abi::words(table.destinations, table.rank)) };
        let product = |extents: &[i64]| extents.iter().try_fold(1i64, |n, &e| n.checked_mul(e));
        let counts = product(members).zip(product(destinations));
        let (member_count, fifo_count) =
            counts.filter(|(m, f)| (0..=MAX_STREAMS).contains(m) && (0..=MAX_STREAMS).contains(f))?;
        let index = self.channels.len();
        self.channels.push(Channel {
            // SAFETY: a C string by the table's layout.
            name: unsafe { abi::text(table.name) },
            is_packet: table.kind == 1,
            is_latch: table.kind == 3,
            members: members.to_vec(),
            destinations: destinations.to_vec(),
            is_broadcast: members != destinations,
            first_member: self.members.len(),
            first_fifo: self.fifos.len(),
        });
        let first_member = self.members.len();
        let mut lists = vec![Vec::new(); member_count as usize];
        for number in 0..fifo_count {
            let member = self.channels[index].member_of(number as usize);
            lists[member - first_member].push(self.fifos.len());
            self.near.push(Near::new());
            self.fifos.push(Fifo {
                channel: index,
                member,
                pieces: VecDeque::new(),
                length_bytes: 0,
                getters: VecDeque::new(),
                last_get: 0,
                reader: None,
                got_bytes: 0,
                element_bytes: 1,
            });
        }
        self.members.extend(lists.into_iter().map(|destinations| Member {
            channel: index,
            putters: VecDeque::new(),
            destinations: destinations.into(),
            last_put: 0,
            writer: None,
            put_bytes: 0,
            latched: None,
        }));
        self.by_table.insert(raw as usize, index);
        Some(index)
    }

    pub(crate) fn member(&self, channel: usize, index: &[i64]) -> Result<usize, BadIndex> {
        let channel = &self.channels[channel];
        Ok(channel.first_member + channel.linear(&channel.members, index)?)
    }

    pub(crate) fn fifo(&self, channel: usize, index: &[i64]) -> Result<usize, BadIndex> {
        let channel = &self.channels[channel];
        if !channel.is_broadcast {
            return Ok(channel.first_fifo + channel.linear(&channel.destinations, index)?);
        }
        // Where all get the same, an extent of 1 is spread over whatever index stands there.
        let mut index = index.to_vec();
        let spread = index.iter_mut().zip(&channel.destinations).filter(|(_, extent)| **extent == 1);
        spread.for_each(|(at, _)| *at = 0);
        Ok(channel.first_fifo + channel.linear(&channel.destinations, &index)?)
    }

    /// `` `@inA[3]` ``
    pub(crate) fn member_name(&self, member: usize) -> String {
        let channel = &self.channels[self.members[member].channel];
        channel.label(&channel.members, member - channel.first_member)
    }

    pub(crate) fn fifo_name(&self, fifo: usize) -> String {
        let channel = &self.channels[self.fifos[fifo].channel];
        channel.label(&channel.destinations, fifo - channel.first_fifo)
    }

    /// Everything as it was before the first transfer, but for what is known of the channels.
    pub(crate) fn reset(&mut self) {
        for member in &mut self.members {
            member.putters.clear();
            (member.last_put, member.writer, member.put_bytes) = (0, None, 0);
            member.latched = None;
        }
        for fifo in &mut self.fifos {
            fifo.pieces.clear();
            fifo.getters.clear();
            (fifo.length_bytes, fifo.last_get, fifo.reader) = (0, 0, None);
            (fifo.got_bytes, fifo.element_bytes) = (0, 1);
        }
        self.near.iter_mut().for_each(Near::reset);
        self.open_count = 0;
    }
}

/// The row-major number of an index, whose places are 0 where they are left out; none if it is outside of the extents.
#[inline]
pub(crate) fn row_major(extents: &[i64], index: &[i64]) -> Option<usize> {
    let mut number = 0;
    for (i, &extent) in extents.iter().enumerate() {
        let at = index.get(i).copied().unwrap_or(0);
        if at < 0 || at >= extent {
            return None;
        }
        number = number * extent as usize + at as usize;
    }
    (index.len() <= extents.len()).then_some(number)
}

impl Channel {
    /// Its extents, its first member and its first FIFO, where each member has one FIFO and there is no more to a transfer
    /// than where it goes.
    pub(crate) fn simple_ends(&self) -> Option<(&[i64], usize, usize)> {
        let is_simple = !self.is_packet && !self.is_broadcast;
        is_simple.then_some((&self.members, self.first_member, self.first_fifo))
    }

    fn linear(&self, extents: &[i64], index: &[i64]) -> Result<usize, BadIndex> {
        let bad = || BadIndex { channel: self.name.clone(), index: index.to_vec(), extents: extents.to_vec() };
        row_major(extents, index).ok_or_else(bad)
    }

    /// The member that feeds a destination: an extent of 1 is spread over that of the destinations.
    fn member_of(&self, number: usize) -> usize {
        let (mut rest, mut scale, mut member) = (number, 1, 0);
        for (&extent, &destinations) in self.members.iter().zip(&self.destinations).rev() {
            let at = rest % destinations.max(1) as usize;
            rest /= destinations.max(1) as usize;
            member += if extent == 1 { 0 } else { at.min(extent as usize - 1) * scale };
            scale *= extent as usize;
        }
        self.first_member + member
    }

    fn label(&self, extents: &[i64], number: usize) -> String {
        let mut rest = number as u64;
        let mut index: Vec<u64> =
            extents.iter().rev().map(|&e| (rest % e.max(1) as u64, rest /= e.max(1) as u64).0).collect();
        index.reverse();
        let index: Vec<String> = index.iter().map(u64::to_string).collect();
        format!("`@{}[{}]`", self.name, index.join(", "))
    }
}
