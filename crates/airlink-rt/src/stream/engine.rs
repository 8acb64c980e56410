//! The state of a launch with channels, and the issuing of records.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use corosensei::Yielder;

use super::at_once::{Now, Shortcuts};
use super::channels::{Channels, Spare};
use super::cursor::{Area, Cursor, Pattern};
use super::memory::{BadAccess, Memory, Right};
use super::packets::Packets;
use super::races::Races;
use super::records::{Kind, Records, What};
use super::relays::Relay;
use super::scheduler::{Next, Pools, Tile, Tiles};
use super::{Id, StreamFault, StreamOptions, abi};

/// What one call of an ELF has under way.
pub(crate) struct Engine {
    pub options: StreamOptions,
    pub records: Records,
    pub channels: Channels,
    pub memory: Memory,
    /// Tiles of the current launch point, in the order in which they started.
    pub tiles: Vec<Tile>,
    /// Tiles that can go on.
    pub runnable: VecDeque<usize>,
    /// The tile whose code runs; none for control code.
    pub current: Option<usize>,
    /// What its transfers need of it at once.
    pub now: Now,
    /// Herds whose tiles have run, by what names them.
    pub herd_names: Vec<usize>,
    pub control: Control,
    /// Members whose first putter may be able to go on.
    pub work: VecDeque<usize>,
    /// What issues from here on waits for, per scope.
    pub scopes: Vec<Scope>,
    /// Herds under way: tiles that have not ended.
    pub herds: BTreeMap<Id, HerdRun>,
    /// Per herd symbol, the last record: herds of one name are the same tiles.
    pub last_herds: BTreeMap<usize, Id>,
    pub relays: Vec<Relay>,
    pub races: Races,
    /// By the address of the site's table.
    pub sites: BTreeMap<usize, KnownSite>,
    pub shortcuts: Shortcuts,
    pub packets: Packets,
    /// The memory of what FIFOs hold.
    pub spare: Spare,
    pub sequence: u64,
    pub random: u64,
    pub fault: Option<StreamFault>,
    /// The launch that runs, by its index in the program.
    pub launch: i64,
    pub pools: Pools,
    pub control_yielder: *const Yielder<(), ()>,
    /// Who goes on, where that is known already.
    pub decided: Option<Next>,
}

/// Control code, when it does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    Runs,
    /// Until all of these are done.
    Waits(Vec<Id>),
    /// Until everything is done.
    Ends,
    /// Until others have made progress, or cannot.
    Yields,
    Done,
}

pub(crate) struct Scope {
    pub waits: Vec<Id>,
    /// The first record that was issued in it.
    pub first: Id,
}

pub(crate) struct HerdRun {
    pub left: usize,
    /// What tiles read; it lies still until all have ended.
    #[allow(dead_code, reason = "tiles hold a pointer to it")]
    pub frame: Box<[i64]>,
    pub tiles: Tiles,
    /// Places of tiles that start one after the other, each when the one before it has ended.
    pub queue: VecDeque<(i64, i64)>,
}

/// Records that control code may be ahead of the tiles while these have something to do.
const MAX_AHEAD: usize = 4096;

/// About what a record takes with its pattern and its place among the others, in bytes.
const RECORD_BYTES: u64 = 512;

thread_local! {
    static ENGINE: Cell<*mut Engine> = const { Cell::new(std::ptr::null_mut()) };
}

/// Lets services of this thread find the engine until the result is dropped.
pub(crate) struct Active(*mut Engine);

impl Active {
    /// # Safety
    /// `engine` must stay where it is, and nobody else may use it, until the result is dropped.
    pub(crate) unsafe fn new(engine: *mut Engine) -> Active {
        Active(ENGINE.replace(engine))
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        ENGINE.set(self.0);
    }
}

/// Uses the engine of this thread. Never across a switch of coroutines, and never nested.
pub(crate) fn with<T>(use_it: impl FnOnce(&mut Engine) -> T) -> Option<T> {
    // SAFETY: `Active` keeps the engine in place; services and scheduler take turns on one thread, and none keeps the
    // reference while another runs.
    unsafe { ENGINE.get().as_mut() }.map(use_it)
}

impl Engine {
    pub(crate) fn new(options: StreamOptions) -> Engine {
        let seed = match options.schedule {
            super::Schedule::Seeded(seed) => seed,
            _ => 0,
        };
        Engine {
            options,
            records: Records::new(),
            channels: Channels::default(),
            memory: Memory::new(),
            tiles: Vec::new(),
            runnable: VecDeque::new(),
            current: None,
            now: Now::default(),
            herd_names: Vec::new(),
            control: Control::Runs,
            work: VecDeque::new(),
            scopes: Vec::new(),
            herds: BTreeMap::new(),
            last_herds: BTreeMap::new(),
            relays: Vec::new(),
            races: Races::default(),
            sites: BTreeMap::new(),
            shortcuts: Shortcuts::default(),
            packets: Packets::default(),
            spare: Spare::default(),
            sequence: 0,
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            fault: None,
            launch: 0,
            pools: Pools::default(),
            control_yielder: std::ptr::null(),
            decided: None,
        }
    }

    /// What FIFOs, buffers of segments and records take.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.spare.held_bytes + self.memory.block_bytes + RECORD_BYTES * self.records.pending as u64
    }

    /// A tile is about to run, or none.
    pub(crate) fn set_current(&mut self, tile: Option<usize>) {
        self.current = tile;
        let is_fast = self.options.fifo_bytes.is_none() && !self.races.is_on;
        self.now = tile.map_or_else(Now::default, |number| {
            let tile = &self.tiles[number];
            let scratch = tile.scratch.as_ref().map_or(0, |s| s.start());
            Now { key: if is_fast { tile.key } else { 0 }, scratch }
        });
    }

    pub(crate) fn fail(&mut self, fault: StreamFault) {
        self.fault.get_or_insert(fault);
    }

    /// Issues a record that touches `hulls` and also waits for `waits`; the record's token.
    pub(crate) fn issue(&mut self, kind: Kind, what: What, touched: &[Touched], waits: &[Id], tokens: &[i64]) -> Id {
        let id = self.records.next();
        let mut all: Vec<Id> = tokens.iter().map(|&t| t as Id).chain(waits.iter().copied()).collect();
        self.scopes.iter().for_each(|s| all.extend(&s.waits));
        for touch in touched {
            let waits = self.memory.claim(touch.base, id, touch.area.clone(), touch.writes, &self.records);
            all.extend(waits);
        }
        self.records.push(kind, what, &all);
        self.pump();
        let needed_bytes = self.held_bytes();
        if needed_bytes > self.options.memory_limit_bytes {
            let limit_bytes = self.options.memory_limit_bytes;
            self.fail(StreamFault::MemoryLimit { needed_bytes, limit_bytes, place: what.place() });
        }
        id
    }

    /// Checks an access and says what it touches.
    pub(crate) fn touched(
        &mut self,
        start: usize,
        pattern: &Rc<Pattern>,
        writes: bool,
        via: Via,
        place: *const std::ffi::c_char,
    ) -> Option<Touched> {
        match self.memory.check(start, pattern.hull(start), writes) {
            Ok(base) => base.map(|base| Touched { base, area: Area::of(start, pattern), writes }),
            Err(bad) => {
                self.bad_access(&bad, via, writes, place);
                None
            }
        }
    }

    pub(crate) fn bad_access(&mut self, bad: &BadAccess, via: Via, writes: bool, place: *const std::ffi::c_char) {
        let what = match via {
            Via::Put(member) => format!("a put into {}", self.channels.member_name(member)),
            Via::Get(fifo) => format!("a get from {}", self.channels.fifo_name(fifo)),
            Via::Copy => "a copy".to_string(),
        };
        let does = if writes { "writes" } else { "reads" };
        let what = match bad {
            BadAccess::Nowhere => format!("{does} where no buffer lies, in {what}"),
            BadAccess::Outside { object, before_bytes: 0, after_bytes } => {
                format!("{does} {after_bytes} bytes past the end of {object}, in {what}")
            }
            BadAccess::Outside { object, before_bytes, .. } => {
                format!("{does} {before_bytes} bytes in front of {object}, in {what}")
            }
            BadAccess::Forbidden { object, right: Right::Read } => {
                format!("writes the static argument {object}, in {what}")
            }
            BadAccess::Forbidden { object, .. } => format!("{does} {object}, which the graph calls dead, in {what}"),
        };
        // SAFETY: a text of the ELF, which is open.
        let place = unsafe { abi::text(place) };
        self.fail(StreamFault::Access { what, place });
    }

    /// Starts everything that can start and moves what can move, but for the code of tiles.
    pub(crate) fn pump(&mut self) {
        while self.fault.is_none() {
            if let Some(id) = self.records.ready.pop_front() {
                self.start(id);
            } else if let Some(member) = self.work.pop_front() {
                self.put_some(member);
            } else {
                break;
            }
        }
    }

    fn start(&mut self, id: Id) {
        let Some(record) = self.records.get_mut(id) else { return };
        let Some(kind) = record.kind.take() else { return };
        if self.races.is_on {
            self.races.start_record(id, &std::mem::take(&mut record.waits));
        }
        match kind {
            Kind::Put(transfer) => self.start_put(id, &transfer),
            Kind::Get(transfer) => self.start_get(id, &transfer),
            Kind::Copy { to, from } => {
                self.copy(to, from);
                self.records.complete(id);
            }
            Kind::Herd { site, code, size, frame } => self.start_herd(id, site, code, size, frame),
            Kind::Free(base) => {
                let end = self.memory.get(base).map_or(base, |o| o.base + o.size_bytes);
                self.packets.write(&Area::all(base, end), None);
                self.memory.release(base);
                self.records.complete(id);
            }
            Kind::Join => self.records.complete(id),
        }
    }

    fn copy(&mut self, to: (usize, Rc<Pattern>), from: (usize, Rc<Pattern>)) {
        self.packets.write(&Area::of(to.0, &to.1), None);
        let (target, source) = (self.memory.real(to.0), self.memory.real(from.0));
        let mut source = Cursor::new(from.1, source);
        let mut target = Cursor::new(to.1, target);
        // SAFETY: both were checked to lie in objects that may be used so when the record was issued; no other record
        // that conflicts runs, and control code and tiles stand still.
        unsafe { source.move_to(&mut target, usize::MAX) };
    }

    /// Whether control code should let tiles run before it issues more.
    pub(crate) fn is_far_ahead(&self) -> bool {
        self.records.pending > MAX_AHEAD && !self.runnable.is_empty()
    }

    /// Lets what nobody asks for go into its FIFO, the oldest first; false if there is nothing.
    pub(crate) fn force(&mut self) -> bool {
        if self.options.fifo_bytes.is_some() {
            return false;
        }
        let waiting = self.channels.members.iter().enumerate().filter_map(|(i, m)| {
            let putter = m.putters.front().filter(|p| !p.is_forced)?;
            Some((putter.sequence, i))
        });
        let Some((_, member)) = waiting.min() else { return false };
        if let Some(putter) = self.channels.members[member].putters.front_mut() {
            putter.is_forced = true;
        }
        self.work.push_back(member);
        self.pump();
        true
    }

    /// The end of a launch point: nothing may be left over.
    pub(crate) fn finish_point(&mut self) {
        self.close_all();
        let left: Vec<(String, u64)> = (0..self.channels.fifos.len())
            .filter(|&f| self.channels.fifos[f].length_bytes > 0)
            .map(|f| {
                let fifo = &self.channels.fifos[f];
                (self.channels.fifo_name(f), (fifo.length_bytes / fifo.element_bytes.max(1)) as u64)
            })
            .collect();
        if !left.is_empty() && self.fault.is_none() {
            let fifo = self.channels.fifos.iter().find(|f| f.length_bytes > 0);
            let size = fifo.map_or(1, |f| f.element_bytes.max(1)) as u64;
            let put = fifo.map_or(0, |f| self.channels.members[f.member].put_bytes / size);
            let got = fifo.map_or(0, |f| f.got_bytes / size);
            let place = String::new();
            self.fail(StreamFault::Undrained { streams: left, put, got, place });
        }
        if let Some(race) = self.find_race() {
            self.fail(race);
        }
        self.races.clear();
        self.records.keeps_waits = false;
        self.memory.release_locals();
        self.packets.clear();
        if let Some(damage) = self.memory.damage.take() {
            self.fail(StreamFault::Damage(damage));
        }
        self.channels.reset();
        self.tiles.clear();
        self.relays.clear();
        self.last_herds.clear();
        self.scopes.clear();
        self.work.clear();
        self.spare.held_bytes = 0;
    }
}

/// What accesses memory, for messages.
#[derive(Clone, Copy)]
pub(crate) enum Via {
    /// A put into this member.
    Put(usize),
    /// A get from this FIFO.
    Get(usize),
    Copy,
}

/// What is known of a put or get in the program from its last use.
pub(crate) struct KnownSite {
    /// Sizes and strides.
    pub words: Box<[i64]>,
    pub pattern: Rc<Pattern>,
    pub channel: usize,
}

/// What a record does to an object.
#[derive(Clone)]
pub(crate) struct Touched {
    pub base: usize,
    pub area: Area,
    pub writes: bool,
}
