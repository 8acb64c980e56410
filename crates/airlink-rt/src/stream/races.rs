//! Races between the tiles of a herd: bytes of L2 or L3 that two of them touch, one writing, in no order.
//!
//! Builds that look for mistakes tell of every access of a tile to such memory. What orders two accesses is data: whatever
//! a tile gets comes after all that its sender did before it put that. So each tile has a clock of how often every tile had
//! sent something, as far as word of it has come, and clocks travel with the data, through buffers and tokens of control
//! code as well. Herds and transfers of control code are ordered by the memory that they touch and cannot race.

use std::collections::BTreeMap;
use std::ffi::c_char;
use std::rc::Rc;

use super::channels::Who;
use super::cursor::{Cursor, Pattern};
use super::engine::Engine;
use super::{Id, StreamFault, abi};

/// How often each tile of the launch point had sent something, by its number; 0 beyond the end.
pub(crate) type Clock = Rc<Vec<u32>>;

/// Pairs that are looked at in one launch point. More would take longer than the launch; then some races stay unseen.
const MAX_PAIRS: usize = 1 << 22;
/// Accesses that are kept in one launch point.
const MAX_ACCESSES: usize = 1 << 20;
/// Runs of bytes of two accesses that are compared one by one.
const MAX_RUNS: usize = 1 << 16;

#[derive(Default)]
pub(crate) struct Races {
    pub is_on: bool,
    /// By the tiles' numbers.
    tiles: Vec<Clock>,
    records: BTreeMap<Id, Clock>,
    /// What control code has waited for itself: whatever starts later comes after it.
    waited_for: Clock,
    /// By the base of the object.
    touched: BTreeMap<usize, Touched>,
    count: usize,
}

/// What tiles have done to an object.
struct Touched {
    name: String,
    accesses: Vec<Access>,
}

struct Access {
    tile: usize,
    clock: Clock,
    /// Of the first element from the start of the object.
    offset: usize,
    pattern: Rc<Pattern>,
    writes: bool,
    place: *const c_char,
}

impl Access {
    fn hull(&self) -> (usize, usize) {
        self.pattern.hull(self.offset)
    }

    /// Whether `later` comes after it.
    fn is_before(&self, later: &Access) -> bool {
        let known = later.clock.get(self.tile).copied().unwrap_or(0);
        known >= self.clock[self.tile]
    }

    /// How many bytes both touch.
    fn shared_bytes(&self, other: &Access) -> usize {
        let ((a, a_end), (b, b_end)) = (self.hull(), other.hull());
        if self.pattern.is_contiguous() && other.pattern.is_contiguous() {
            return a_end.min(b_end).saturating_sub(a.max(b));
        }
        let is_apart = self.pattern.is_apart(self.offset, &other.pattern, other.offset);
        if a_end <= b || b_end <= a || is_apart || self.pattern.run_count() + other.pattern.run_count() > MAX_RUNS {
            return 0;
        }
        let (mine, others) = (self.runs(), other.runs());
        let (mut i, mut j, mut bytes) = (0, 0, 0);
        while let (Some(&(a, a_end)), Some(&(b, b_end))) = (mine.get(i), others.get(j)) {
            bytes += a_end.min(b_end).saturating_sub(a.max(b));
            if a_end <= b_end {
                i += 1;
            } else {
                j += 1;
            }
        }
        bytes
    }

    /// Its runs from the lowest address on.
    fn runs(&self) -> Vec<(usize, usize)> {
        let mut runs = Vec::new();
        let mut cursor = Cursor::new(self.pattern.clone(), self.offset);
        while let Some(run) = cursor.run() {
            if let super::cursor::Run::Data(start, bytes) = run {
                runs.push((start, start + bytes));
            }
            cursor.advance(run.bytes());
        }
        runs.sort_unstable();
        runs
    }
}

impl Races {
    /// A record starts, after all of `waits`.
    pub(crate) fn start_record(&mut self, id: Id, waits: &[Id]) {
        let mut clock = self.waited_for.clone();
        for wait in waits {
            if let Some(other) = self.records.get(wait) {
                join(&mut clock, other);
            }
        }
        self.records.insert(id, clock);
    }

    /// Control code has looked at memory, and what it does next may depend on that: on anything that has been done so far.
    pub(crate) fn control_looks(&mut self) {
        for clock in self.records.values() {
            join(&mut self.waited_for, clock);
        }
    }

    /// The tile with the next number starts.
    pub(crate) fn start_tile(&mut self, herd: Id) {
        if self.is_on {
            let mut clock = self.records.get(&herd).cloned().unwrap_or_default();
            tick(&mut clock, self.tiles.len());
            self.tiles.push(clock);
        }
    }

    pub(crate) fn end_tile(&mut self, number: usize, herd: Id) {
        if let Some(clock) = self.tiles.get(number) {
            join(self.records.entry(herd).or_default(), clock);
        }
    }

    /// What travels with the data that `who` puts.
    pub(crate) fn send(&mut self, who: Who) -> Option<Clock> {
        match who {
            _ if !self.is_on => None,
            Who::Record(id) => self.records.get(&id).cloned(),
            Who::Tile(number) => {
                let clock = self.tiles.get_mut(number)?;
                let sent = clock.clone();
                tick(clock, number);
                Some(sent)
            }
        }
    }

    /// Data has come to `who`.
    pub(crate) fn receive(&mut self, who: Who, sent: Option<&Clock>) {
        let Some(sent) = sent else { return };
        let clock = match who {
            Who::Record(id) => Some(self.records.entry(id).or_default()),
            Who::Tile(number) => self.tiles.get_mut(number),
        };
        if let Some(clock) = clock {
            join(clock, sent);
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Races::default();
    }
}

impl Engine {
    /// From here on, until the launch point has ended, accesses of tiles are looked at.
    pub(crate) fn look_for_races(&mut self) {
        self.races.is_on = true;
        self.records.keeps_waits = true;
    }

    /// Notes what a tile does to memory of the launch; its own memory is nobody else's.
    pub(crate) fn note_access(
        &mut self,
        tile: usize,
        start: usize,
        pattern: Rc<Pattern>,
        writes: bool,
        place: *const c_char,
    ) {
        let Some(clock) = self.races.tiles.get(tile).cloned() else { return };
        let Some((base, first)) = self.memory.locate(start) else { return };
        if self.races.count >= MAX_ACCESSES {
            return;
        }
        let touched = self.races.touched.entry(base).or_insert_with(|| Touched {
            name: self.memory.get(base).map_or(String::new(), |o| o.describe()),
            accesses: Vec::new(),
        });
        let access = Access { tile, clock, offset: start - first, pattern, writes, place };
        let is_again = touched.accesses.last().is_some_and(|last| {
            last.tile == tile
                && Rc::ptr_eq(&last.clock, &access.clock)
                && (last.offset, last.writes) == (access.offset, writes)
                && last.pattern == access.pattern
        });
        if !is_again {
            self.races.count += 1;
            touched.accesses.push(access);
        }
    }

    /// The first race of a launch point.
    pub(crate) fn find_race(&self) -> Option<StreamFault> {
        let mut pairs = MAX_PAIRS;
        for touched in self.races.touched.values().filter(|t| t.accesses.iter().any(|a| a.writes)) {
            let mut order: Vec<&Access> = touched.accesses.iter().collect();
            order.sort_by_key(|a| (a.hull().0, a.tile));
            let mut open: Vec<&Access> = Vec::new();
            for access in order {
                open.retain(|o| o.hull().1 > access.hull().0);
                for other in &open {
                    pairs = pairs.checked_sub(1)?;
                    if let Some(bytes) = self.is_race(other, access) {
                        return Some(self.race(&touched.name, other, access, bytes));
                    }
                }
                open.push(access);
            }
        }
        None
    }

    /// How many bytes two accesses race for.
    fn is_race(&self, a: &Access, b: &Access) -> Option<u64> {
        let is_unordered = a.tile != b.tile
            && (a.writes || b.writes)
            && self.tiles[a.tile].herd == self.tiles[b.tile].herd
            && !a.is_before(b)
            && !b.is_before(a);
        let bytes = if is_unordered { a.shared_bytes(b) } else { 0 };
        (bytes > 0).then_some(bytes as u64)
    }

    fn race(&self, object: &str, a: &Access, b: &Access, bytes: u64) -> StreamFault {
        let (first, second) = if a.writes { (a, b) } else { (b, a) };
        // SAFETY: texts of an ELF that is open.
        let place = |access: &Access| unsafe { abi::text(access.place) };
        StreamFault::Race {
            object: object.to_string(),
            bytes,
            writer: self.tile_name(first.tile),
            other: self.tile_name(second.tile),
            both_write: second.writes,
            other_place: place(second),
            place: place(first),
        }
    }
}

fn tick(clock: &mut Clock, tile: usize) {
    let clock = Rc::make_mut(clock);
    if clock.len() <= tile {
        clock.resize(tile + 1, 0);
    }
    clock[tile] += 1;
}

fn join(clock: &mut Clock, other: &Clock) {
    let is_known = other.iter().enumerate().all(|(i, &n)| n <= clock.get(i).copied().unwrap_or(0));
    if is_known {
        return;
    }
    let clock = Rc::make_mut(clock);
    if clock.len() < other.len() {
        clock.resize(other.len(), 0);
    }
    clock.iter_mut().zip(other.iter()).for_each(|(mine, &theirs)| *mine = theirs.max(*mine));
}
