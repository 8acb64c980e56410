//! Coroutines: control code on the caller's stack of a call, each tile on one of its own.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::rc::Rc;
use std::time::Instant;

use corosensei::{Coroutine, CoroutineResult, Yielder};

use super::abi::{RawHerd, TileFunction};
use super::channels::{Bytes, Writer};
use super::engine::{Active, Control, Engine, HerdRun, with};
use super::memory::Right;
use super::scratch::{Scratch, ScratchPool};
use super::{Id, Schedule, StreamFault, StreamOptions, abi};
use crate::load::EntryFunction;
use crate::trap::{self, Completed, Exit, GuardedStack};

/// Stack of a tile. Cores have a few KiB; host code of kernels needs more, and pages that are never touched cost nothing.
const TILE_STACK_BYTES: usize = 256 << 10;

type TileCoroutine = Coroutine<(), (), Exit, GuardedStack>;

/// A coroutine that runs tiles to their ends, one after another. Only one that waits in the middle needs it for itself.
pub(crate) struct Worker {
    coroutine: TileCoroutine,
    /// Addresses below its stack that nobody may touch, and the end of the stack.
    stack: (std::ops::Range<usize>, usize),
}

/// What all tiles of a herd have in common.
#[derive(Clone, Copy)]
pub(crate) struct Tiles {
    site: *const RawHerd,
    name: usize,
    /// The key of tile 0, 0.
    first_key: u64,
    /// Code and frame.
    start: (TileFunction, usize),
}

/// One tile of a herd.
pub(crate) struct Tile {
    pub herd: Id,
    pub site: *const RawHerd,
    pub x: i64,
    pub y: i64,
    /// What names its herd.
    pub name: usize,
    /// Name and place in one word; 0 if they do not fit.
    pub key: u64,
    /// Its code and frame, until it runs for the first time.
    start: Option<(TileFunction, usize)>,
    /// Who runs it, while it waits.
    worker: Option<Box<Worker>>,
    yielder: *const Yielder<(), ()>,
    pub scratch: Option<Box<Scratch>>,
    /// What it reads where it lies, by the get that it came with.
    pub lent: Vec<(usize, Rc<Bytes>)>,
    /// The end of a channel that its call waits at: a FIFO for a get, a member for a put.
    pub waits_in: Option<WaitsIn>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitsIn {
    Get(usize),
    Put(usize),
}

/// What tiles need and calls can share.
#[derive(Default)]
pub(crate) struct Pools {
    stacks: Vec<GuardedStack>,
    scratch: ScratchPool,
}

/// Stacks and memory for programs with channels.
pub(crate) struct Host {
    pub options: StreamOptions,
    pools: Pools,
}

/// An argument: its name, where it is, how large, and what may be done with it.
pub(crate) struct StreamArgument<'a> {
    pub name: &'a str,
    pub start: usize,
    pub size_bytes: usize,
    pub right: Right,
}

/// How a program with channels ended.
pub(crate) struct Ended {
    pub exit: Exit,
    pub fault: Option<StreamFault>,
    /// The launch that ran last, by its index.
    pub launch: i64,
}

impl Host {
    pub(crate) fn new() -> Host {
        Host { options: StreamOptions::default(), pools: Pools::default() }
    }
}

/// Runs an entry and the tiles that it starts until all have ended, or cannot.
pub(crate) fn run(
    host: &mut Host,
    stack: &mut GuardedStack,
    gap: fn(&mut dyn FnMut() -> i32) -> i32,
    function: EntryFunction,
    pointers: &[*mut c_void],
    arguments: &[StreamArgument<'_>],
) -> Ended {
    let mut engine = Box::new(Engine::new(host.options));
    engine.pools = std::mem::take(&mut host.pools);
    for argument in arguments {
        engine.memory.add_argument(argument.name, argument.start, argument.size_bytes, argument.right);
    }
    let engine: *mut Engine = Box::into_raw(engine);
    // SAFETY: the box is ours and stays where it is until it is taken back below.
    let active = unsafe { Active::new(engine) };
    let guard = (stack.guard(), stack.end());
    let (args, count) = (pointers.as_ptr(), pointers.len() as u64);
    let body = move |yielder: &Yielder<(), ()>, ()| {
        with(|e| e.control_yielder = yielder);
        trap::keep_link();
        let start = Instant::now();
        // SAFETY: the entry has this type by its ABI version, and gets one valid pointer for each argument of its
        // manifest; each buffer is at least as large as the manifest says.
        let code = gap(&mut || unsafe { function(args, count) });
        let nanoseconds = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Exit::Ok(Completed { code, nanoseconds })
    };
    // SAFETY: the closure borrows `pointers` through a raw pointer; the coroutine ends, or is reset, before this function
    // returns.
    let mut control = unsafe { Coroutine::with_stack_unchecked(stack, body) };
    let exit = turns(&mut control, &guard);
    if !control.done() {
        // SAFETY: what is left on the stack are frames of ELF code and of our services, which hold nothing to drop.
        unsafe { control.force_reset() };
    }
    drop(active);
    // SAFETY: from the box above; nobody uses the pointer any more.
    let mut engine = unsafe { Box::from_raw(engine) };
    if matches!(exit, Some(Exit::Ok(_))) {
        engine.check_scratch();
    }
    engine.drop_tiles();
    host.pools = std::mem::take(&mut engine.pools);
    // Blocks belong to the tables of an ELF that may be closed by the next call.
    host.pools.scratch.clear();
    let fault = engine.fault.take();
    Ended { exit: exit.unwrap_or(Exit::Ok(Completed { code: 0, nanoseconds: 0 })), fault, launch: engine.launch }
}

/// Lets control code and tiles take turns; how the first of them ended that did not just return 0.
fn turns(
    control: &mut Coroutine<(), (), Exit, &mut GuardedStack>,
    guard: &(std::ops::Range<usize>, usize),
) -> Option<Exit> {
    let mut exit = None;
    loop {
        match with(|e| e.decided.take().unwrap_or_else(|| e.next()))? {
            Next::Control => match trap::resume(control, guard.clone(), ()) {
                CoroutineResult::Yield(()) => {}
                CoroutineResult::Return(Exit::Ok(done)) => {
                    with(|e| e.control = Control::Done);
                    exit = Some(Exit::Ok(done));
                    if done.code != 0 {
                        return exit;
                    }
                }
                CoroutineResult::Return(fault) => return Some(fault),
            },
            Next::Tile(tile) => {
                if let Some(fault) = run_tile(tile) {
                    return Some(Exit::Err(fault));
                }
            }
            Next::End => return exit,
        }
    }
}

/// Lets a tile, and those that start after it, run until one waits or there is something else to do; the fault that ended
/// it.
fn run_tile(number: usize) -> Option<trap::RawFault> {
    let mut worker = with(|e| e.worker_for(number))??;
    let result = trap::resume(&mut worker.coroutine, worker.stack.clone(), ());
    with(|e| {
        let tile = e.current;
        e.set_current(None);
        match (result, tile) {
            (CoroutineResult::Yield(()), Some(tile)) => {
                e.tiles[tile].worker = Some(worker);
                None
            }
            (CoroutineResult::Yield(()), None) => None,
            (CoroutineResult::Return(exit), tile) => {
                // One is left over after a fault only.
                if let Some(tile) = tile {
                    e.tile_ended(tile);
                }
                e.pools.stacks.push(worker.coroutine.into_stack());
                exit.err()
            }
        }
    })?
}

/// Who goes on.
pub(crate) enum Next {
    Control,
    Tile(usize),
    /// Nobody, or there is a fault.
    End,
}

/// Gives the turn away. Called by services that wait.
pub(crate) fn suspend() {
    let yielder = with(|e| match e.current {
        Some(tile) => e.tiles[tile].yielder,
        None => e.control_yielder,
    });
    let Some(yielder) = yielder.filter(|y| !y.is_null()) else { return };
    // SAFETY: the yielder lives on the stack that we run on, for as long as its coroutine.
    unsafe { (*yielder).suspend(()) };
    // Whoever resumed us may be another frame than before.
    trap::keep_link();
}

impl Engine {
    fn next(&mut self) -> Next {
        loop {
            self.pump();
            if self.fault.is_some() {
                return Next::End;
            }
            if self.control_can_go() {
                self.control = Control::Runs;
                return Next::Control;
            }
            if let Some(tile) = self.pick() {
                return Next::Tile(tile);
            }
            if self.control == Control::Done {
                return Next::End;
            }
            self.close_all();
            if self.control != Control::Yields && !self.repeat_relay() && !self.force() {
                self.check_scratch();
                self.report_deadlock();
                return Next::End;
            }
        }
    }

    /// Looks at what lies around the buffers of tiles that have ended. Not after each of them: there are thousands, and what
    /// one has done stays.
    pub(crate) fn check_scratch(&mut self) {
        if let Some(damage) = self.pools.scratch.damage() {
            self.fail(StreamFault::Damage(damage));
        }
    }

    fn control_can_go(&self) -> bool {
        match &self.control {
            Control::Runs => true,
            Control::Waits(ids) => ids.iter().all(|&id| self.records.is_done(id)),
            Control::Ends => self.records.pending == 0,
            Control::Yields => self.runnable.is_empty(),
            Control::Done => false,
        }
    }

    fn pick(&mut self) -> Option<usize> {
        match self.options.schedule {
            Schedule::Oldest => self.runnable.pop_front(),
            Schedule::Newest => self.runnable.pop_back(),
            Schedule::Seeded(_) => {
                let count = self.runnable.len();
                if count == 0 {
                    return None;
                }
                // xorshift64: Marsaglia, Xorshift RNGs, 2003.
                self.random ^= self.random << 13;
                self.random ^= self.random >> 7;
                self.random ^= self.random << 17;
                self.runnable.remove((self.random % count as u64) as usize)
            }
        }
    }

    pub(crate) fn start_herd(
        &mut self,
        id: Id,
        site: *const RawHerd,
        code: TileFunction,
        size: (i64, i64),
        mut frame: Vec<i64>,
    ) {
        // SAFETY: a table of an ELF that is open.
        let table = unsafe { &*site };
        // SAFETY: as above.
        for access in unsafe { abi::words(table.accesses, table.access_count) } {
            if let Some(word) = frame.get_mut(access.word as usize) {
                if let Some(written) = self.herd_access(*word as usize, access.bytes, access.usage).filter(|t| t.writes)
                {
                    self.packets.write(&written.area, None);
                }
                *word = self.memory.real(*word as usize) as i64;
            }
        }
        let left = size.0.max(0).saturating_mul(size.1.max(0)) as usize;
        if left == 0 {
            self.records.complete(id);
            return;
        }
        let frame = frame.into_boxed_slice();
        let words = frame.as_ptr() as usize;
        let name = if table.symbol.is_null() { site as usize } else { table.symbol as usize };
        let known = self.herd_names.iter().position(|&known| known == name).unwrap_or_else(|| {
            self.herd_names.push(name);
            self.herd_names.len() - 1
        });
        let tiles = Tiles { site, name, first_key: (known as u64 + 1) << 32, start: (code, words) };
        // Rows of tiles from the far end of a cascade on, so that who feeds others runs first.
        let rows = (0..size.1).rev().flat_map(|y| (0..size.0).map(move |x| (x, y)));
        let columns = (0..size.0).flat_map(|x| (0..size.1).map(move |y| (x, y)));
        if matches!(table.order, 0 | abi::IS_TASK) {
            self.herds.insert(id, HerdRun { left, frame, tiles, queue: VecDeque::new() });
            return rows.for_each(|place| self.add_tile(id, tiles, place));
        }
        let mut queue: VecDeque<(i64, i64)> =
            if table.order == 1 { columns.collect() } else { columns.rev().collect() };
        let first = queue.pop_front();
        self.herds.insert(id, HerdRun { left, frame, tiles, queue });
        first.into_iter().for_each(|place| self.add_tile(id, tiles, place));
    }

    fn add_tile(&mut self, herd: Id, tiles: Tiles, (x, y): (i64, i64)) {
        self.races.start_tile(herd);
        self.runnable.push_back(self.tiles.len());
        self.tiles.push(Tile {
            herd,
            site: tiles.site,
            x,
            y,
            name: tiles.name,
            key: if x < 1 << 16 && y < 1 << 16 { tiles.first_key | (y as u64) << 16 | x as u64 } else { 0 },
            start: Some(tiles.start),
            worker: None,
            yielder: std::ptr::null(),
            scratch: None,
            lent: Vec::new(),
            waits_in: None,
        });
    }

    /// Who runs a tile that can go on; none after a fault.
    fn worker_for(&mut self, number: usize) -> Option<Box<Worker>> {
        self.set_current(Some(number));
        if self.tiles[number].start.is_none() {
            return self.tiles[number].worker.take();
        }
        let stack = match self.pools.stacks.pop().map_or_else(|| GuardedStack::new(TILE_STACK_BYTES), Ok) {
            Ok(stack) => stack,
            Err(error) => {
                self.fail(StreamFault::Stack(error.to_string()));
                return None;
            }
        };
        let body = move |yielder: &Yielder<(), ()>, ()| {
            trap::keep_link();
            while let Some((code, frame, block, x, y)) = with(|e| e.start_tile(yielder)).flatten() {
                // SAFETY: the function has this type by the layout of the herd's table; the frame and the block of scratch
                // memory stay until the tile has ended.
                unsafe { code(frame as *const i64, block as *mut c_void, x, y) };
                with(Engine::go_on);
            }
            Exit::Ok(Completed { code: 0, nanoseconds: 0 })
        };
        let around = (stack.guard(), stack.end());
        Some(Box::new(Worker { coroutine: Coroutine::with_stack(stack, body), stack: around }))
    }

    /// What the worker of the current tile calls; none if that is no new tile. Its buffers come from the pool only now, so
    /// that the next one gets them, warm, as soon as it has ended.
    fn start_tile(&mut self, yielder: *const Yielder<(), ()>) -> Option<(TileFunction, usize, usize, i64, i64)> {
        let tile = &mut self.tiles[self.current?];
        let (code, frame) = tile.start.take()?;
        // SAFETY: a table of an ELF that is open.
        tile.scratch = unsafe { self.pools.scratch.take(tile.site) };
        tile.yielder = yielder;
        let (x, y) = (tile.x, tile.y);
        self.set_current(self.current);
        Some((code, frame, self.now.scratch, x, y))
    }

    /// The current tile has ended. If a new one is to go on next, its worker takes that; to switch would take longer than
    /// many a tile runs.
    fn go_on(&mut self) {
        if let Some(number) = self.current {
            self.set_current(None);
            self.tile_ended(number);
        }
        match self.next() {
            Next::Tile(number) if self.tiles[number].start.is_some() => self.set_current(Some(number)),
            other => self.decided = Some(other),
        }
    }

    fn tile_ended(&mut self, number: usize) {
        let tile = &mut self.tiles[number];
        let herd = tile.herd;
        tile.lent.drain(..).for_each(|(_, piece)| self.spare.give_back(piece));
        self.races.end_tile(number, herd);
        if let Some(scratch) = tile.scratch.take() {
            self.pools.scratch.give_back(scratch);
        }
        if let Some(run) = self.herds.get_mut(&herd) {
            run.left -= 1;
            let tiles = run.tiles;
            if let Some(place) = run.queue.pop_front() {
                self.add_tile(herd, tiles, place);
            } else if run.left == 0 {
                self.herds.remove(&herd);
                self.records.complete(herd);
            }
        }
    }

    /// After a fault: what tiles have left on their stacks.
    fn drop_tiles(&mut self) {
        for tile in &mut self.tiles {
            if let Some(mut coroutine) = tile.worker.take().map(|w| w.coroutine) {
                // SAFETY: what is left on the stack are frames of ELF code and of our services, which hold nothing that
                // must be dropped.
                unsafe { coroutine.force_reset() };
                self.pools.stacks.push(coroutine.into_stack());
            }
            // The block may be damaged; a new one is cheap.
            tile.scratch = None;
        }
        self.tiles.clear();
    }

    /// Who runs: the tile, by what it is in its herd.
    pub(crate) fn writer(&self) -> Writer {
        self.current.and_then(|t| self.tiles.get(t)).map_or(Writer::Control, |tile| Writer::Tile {
            herd: tile.name,
            x: tile.x,
            y: tile.y,
        })
    }
}
