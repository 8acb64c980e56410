//! What ELFs with channels call. Each service uses the engine of its thread for a moment; those that wait give the turn
//! away and look again.

use std::ffi::c_char;
use std::rc::Rc;

use super::abi::{self, RawHerd, RawSite, STREAM_ABI, Services, TileFunction};
use super::channels::Who;
use super::cursor::{Area, Cursor, Pattern};
use super::engine::{Control, Engine, Scope, Touched, Via, with};
use super::records::{Kind, What};
use super::scheduler::{WaitsIn, suspend};
use super::scratch::name_of;
use super::{Id, StreamFault};

/// The table that every ELF with channels gets.
pub(crate) static SERVICES: Services = Services {
    version: STREAM_ABI,
    size_bytes: size_of::<Services>() as u64,
    begin,
    end,
    put,
    get,
    copy,
    herd,
    alloc,
    free,
    join,
    fence,
    settle,
    enter,
    leave,
    touch,
    lend,
};

/// Gives the turn away for good: what the fault leaves on this stack is never looked at again.
fn stop_if_failed() {
    while with(|e| e.fault.is_some()).unwrap_or(false) {
        suspend();
    }
}

fn wait_until(control: Control) {
    with(|e| e.control = control);
    suspend();
    stop_if_failed();
}

unsafe extern "C" fn begin(launch: i64) {
    with(|e| {
        if e.launch != launch {
            e.check_scratch();
        }
        if e.fault.is_none() {
            e.launch = launch;
        }
    });
    stop_if_failed();
}

unsafe extern "C" fn end() {
    stop_if_failed();
    wait_until(Control::Ends);
    with(Engine::finish_point);
    stop_if_failed();
}

unsafe extern "C" fn put(site: *const RawSite, start: usize, words: *const i64, tokens: *const i64, count: i64) -> i64 {
    // SAFETY: called by an ELF with its own tables.
    unsafe { transfer(site, start, words, tokens, count, true) }
}

unsafe extern "C" fn get(site: *const RawSite, start: usize, words: *const i64, tokens: *const i64, count: i64) -> i64 {
    // SAFETY: called by an ELF with its own tables.
    unsafe { transfer(site, start, words, tokens, count, false) }
}

/// A get of a tile into a buffer that it only reads; where the data lies.
unsafe extern "C" fn lend(site: *const RawSite, start: usize, words: *const i64) -> usize {
    // SAFETY: called by an ELF with its own tables.
    if let Some(place) = with(|e| unsafe { e.lend(site, words) }).flatten() {
        return place;
    }
    // SAFETY: as above.
    unsafe { transfer(site, start, words, std::ptr::null(), 0, false) };
    start
}

/// # Safety
/// The arguments must be those of a call by an ELF that is open.
unsafe fn transfer(
    site: *const RawSite,
    start: usize,
    words: *const i64,
    tokens: *const i64,
    count: i64,
    is_put: bool,
) -> i64 {
    // SAFETY: by the promise above.
    if with(|e| unsafe { e.at_once(site, start, words, is_put) }) == Some(true) {
        return 0;
    }
    let issued = with(|e| {
        // SAFETY: by the promise above.
        let transfer = unsafe { e.read_transfer(site, start, words, is_put) }?;
        if let Some(tile) = e.current {
            // SAFETY: as above.
            e.tile_transfer(tile, transfer, unsafe { &*site }, is_put);
            return Some(0);
        }
        // SAFETY: as above.
        let (tokens, flags) = unsafe { (abi::words(tokens, count), (*site).flags) };
        if flags & abi::IS_RELAY != 0 {
            e.note_relay(&transfer, is_put);
        }
        Some(if is_put { e.issue_put(transfer, tokens) } else { e.issue_get(transfer, tokens) })
    });
    finish_call();
    issued.flatten().unwrap_or(0) as i64
}

/// What each call ends with: a tile waits for its transfer, control code lets tiles run if it is far ahead.
fn finish_call() {
    loop {
        stop_if_failed();
        let waits = with(|e| match e.current {
            Some(tile) => e.tiles[tile].waits_in.is_some(),
            None => e.is_far_ahead(),
        });
        if waits != Some(true) {
            return;
        }
        with(|e| {
            if e.current.is_none() {
                e.control = Control::Yields;
            }
        });
        suspend();
        if with(|e| e.current.is_none()) == Some(true) {
            stop_if_failed();
            return;
        }
    }
}

impl Engine {
    /// Starts a transfer that a tile waits for.
    fn tile_transfer(&mut self, tile: usize, transfer: super::records::Transfer, site: &RawSite, is_put: bool) {
        let who = self.writer();
        if !self.claim_end(transfer.end, is_put, who, site) {
            return;
        }
        let Some(start) = self.check_tile_access(tile, &transfer, site, !is_put) else { return };
        let cursor = Cursor::new(transfer.pattern.clone(), start);
        match is_put {
            true => {
                self.tiles[tile].waits_in = Some(WaitsIn::Put(transfer.end));
                self.add_putter(Who::Tile(tile), &transfer, cursor, site);
            }
            false => {
                self.tiles[tile].waits_in = Some(WaitsIn::Get(transfer.end));
                self.add_getter(Who::Tile(tile), transfer.end, cursor, None, site);
            }
        }
        self.pump();
    }

    /// Where the bytes of a tile's transfer lie; none if it does not stay in one buffer, of its scratch block or of the
    /// launch.
    fn check_tile_access(
        &mut self,
        tile: usize,
        transfer: &super::records::Transfer,
        site: &RawSite,
        writes: bool,
    ) -> Option<usize> {
        let hull = transfer.pattern.hull(transfer.start);
        if hull.0 == hull.1 {
            return Some(transfer.start);
        }
        let own = self.tiles[tile].scratch.as_ref().and_then(|s| s.buffer_at(transfer.start));
        let via = if writes { Via::Get(transfer.end) } else { Via::Put(transfer.end) };
        let Some((first, last, local)) = own else {
            self.touched(transfer.start, &transfer.pattern, writes, via, site.place)?;
            self.note_access(tile, transfer.start, transfer.pattern.clone(), writes, site.place);
            return Some(self.memory.real(transfer.start));
        };
        if first <= hull.0 && hull.1 <= last {
            return Some(transfer.start);
        }
        let name = name_of(local);
        let object = format!("the {} buffer `{}` of {}", name.level, name.ty, name.owner);
        let bad = super::memory::BadAccess::Outside {
            object,
            before_bytes: first.saturating_sub(hull.0) as u64,
            after_bytes: hull.1.saturating_sub(last) as u64,
        };
        self.bad_access(&bad, via, writes, site.place);
        None
    }
}

unsafe extern "C" fn copy(
    site: *const RawSite,
    to: usize,
    to_words: *const i64,
    from: usize,
    from_words: *const i64,
    tokens: *const i64,
    count: i64,
) -> i64 {
    // SAFETY: called by an ELF with its own tables, whose layout says how many words there are.
    let issued = with(|e| unsafe {
        let table = &*site;
        let pattern = |words: *const i64, rank: i64, padding: &[i64]| {
            let (sizes, strides) = abi::words(words, 2 * rank).split_at(rank.max(0) as usize);
            Pattern::new(sizes, strides, padding, table.element_bytes as usize).ok().map(Rc::new)
        };
        let padding = abi::words(table.padding, 2 * table.index_count);
        let patterns = pattern(to_words, table.rank, &[]).zip(pattern(from_words, table.index_count, padding));
        let Some((to_pattern, from_pattern)) = patterns else {
            e.fail(StreamFault::TooLarge { place: abi::text(table.place) });
            return None;
        };
        let size = table.element_bytes.max(1) as usize;
        let (written, read) = (to_pattern.total_bytes() / size, from_pattern.total_bytes() / size);
        if written != read {
            let (written, read) = (written as u64, read as u64);
            e.fail(StreamFault::Unequal { written, read, place: abi::text(table.place) });
            return None;
        }
        let target = e.touched(to, &to_pattern, true, Via::Copy, table.place);
        let source = e.touched(from, &from_pattern, false, Via::Copy, table.place);
        let touched: Vec<Touched> = target.into_iter().chain(source).collect();
        let kind = Kind::Copy { to: (to, to_pattern), from: (from, from_pattern) };
        Some(e.issue(kind, What::Copy(table.place), &touched, &[], abi::words(tokens, count)))
    });
    finish_call();
    issued.flatten().unwrap_or(0) as i64
}

unsafe extern "C" fn herd(
    site: *const RawHerd,
    code: TileFunction,
    x: i64,
    y: i64,
    frame: *const i64,
    tokens: *const i64,
    count: i64,
) -> i64 {
    // SAFETY: called by an ELF with its own tables.
    let issued = with(|e| unsafe {
        let table = &*site;
        let frame = abi::words(frame, table.frame_words).to_vec();
        let mut touched = Vec::new();
        for access in abi::words(table.accesses, table.access_count) {
            let Some(&start) = frame.get(access.word as usize) else { continue };
            touched.extend(e.herd_access(start as usize, access.bytes, access.usage));
        }
        let symbol = if table.symbol.is_null() { site as usize } else { table.symbol as usize };
        let before = e.last_herds.get(&symbol).copied().filter(|_| table.order != abi::IS_TASK).unwrap_or(0);
        e.last_herds.insert(symbol, e.records.next());
        let kind = Kind::Herd { site, code, size: (x, y), frame };
        e.issue(kind, What::Herd(site), &touched, &[before], abi::words(tokens, count))
    });
    finish_call();
    issued.unwrap_or(0) as i64
}

impl Engine {
    /// What a herd does to a buffer of the outside; nothing if it does not touch it.
    pub(crate) fn herd_access(&self, start: usize, bytes: i64, usage: i64) -> Option<Touched> {
        let base = self.memory.find(start).filter(|_| usage != 0)?;
        let end = self.memory.get(base).map(|o| o.base + o.size_bytes)?;
        let reach = usize::try_from(bytes).map_or(end, |b| start.saturating_add(b).min(end));
        Some(Touched { base, area: Area::all(start, reach), writes: usage & 2 != 0 })
    }
}

unsafe extern "C" fn alloc(text: *const c_char, bytes: i64, poison: i64, needs_address: i64) -> usize {
    let start = with(|e| {
        let size_bytes = usize::try_from(bytes).unwrap_or(0);
        let needed_bytes = e.held_bytes().saturating_add(size_bytes as u64);
        if needed_bytes > e.options.memory_limit_bytes {
            let limit_bytes = e.options.memory_limit_bytes;
            e.fail(StreamFault::MemoryLimit { needed_bytes, limit_bytes, place: String::new() });
            return 0;
        }
        e.memory.allocate(text, size_bytes, u8::try_from(poison).ok(), needs_address != 0)
    });
    stop_if_failed();
    start.unwrap_or(0)
}

unsafe extern "C" fn free(start: usize, tokens: *const i64, count: i64) {
    with(|e| {
        let Some(base) = e.memory.find(start) else { return };
        // What a memtile may repeat stays until the launch has ended.
        if e.keeps_for_relays(base) {
            return;
        }
        let Some(end) = e.memory.get(base).map(|o| o.base + o.size_bytes) else { return };
        let touched = Touched { base, area: Area::all(base, end.max(base + 1)), writes: true };
        // SAFETY: called by an ELF with its own tables.
        e.issue(Kind::Free(base), What::Other, &[touched], &[], unsafe { abi::words(tokens, count) });
    });
    finish_call();
}

unsafe extern "C" fn join(tokens: *const i64, count: i64) -> i64 {
    // SAFETY: called by an ELF with its own tables.
    let issued = with(|e| e.issue(Kind::Join, What::Other, &[], &[], unsafe { abi::words(tokens, count) }));
    finish_call();
    issued.unwrap_or(0) as i64
}

/// Everything that is issued from here on waits for the tokens.
unsafe extern "C" fn fence(tokens: *const i64, count: i64) {
    with(|e| {
        // SAFETY: called by an ELF with its own tables.
        let tokens: Vec<Id> = unsafe { abi::words(tokens, count) }.iter().map(|&t| t as Id).collect();
        if e.scopes.is_empty() {
            e.scopes.push(Scope { waits: Vec::new(), first: 0 });
        }
        if let Some(scope) = e.scopes.last_mut() {
            scope.waits.extend(tokens);
        }
    });
}

/// Code is about to touch memory itself: waits until what was issued before is done with it.
unsafe extern "C" fn settle(start: usize, writes: i64) {
    let waits = with(|e| match e.current {
        Some(_) => Vec::new(),
        None => {
            let base = e.memory.find(start);
            base.map_or(Vec::new(), |base| e.memory.pending(base, writes != 0, &e.records))
        }
    });
    if let Some(waits) = waits.filter(|w| !w.is_empty()) {
        wait_until(Control::Waits(waits));
    }
    with(|e| {
        if e.current.is_none() {
            e.races.control_looks();
        }
    });
}

unsafe extern "C" fn enter(tokens: *const i64, count: i64) {
    with(|e| {
        // SAFETY: called by an ELF with its own tables.
        let waits = unsafe { abi::words(tokens, count) }.iter().map(|&t| t as Id).collect();
        let first = e.records.next();
        e.scopes.push(Scope { waits, first });
    });
}

/// The token of all that was issued in the innermost scope.
unsafe extern "C" fn leave() -> i64 {
    let issued = with(|e| {
        let scope = e.scopes.pop()?;
        let mut waits: Vec<Id> = e.records.unfinished().map(|(id, _)| id).filter(|id| *id >= scope.first).collect();
        waits.extend(scope.waits);
        Some(e.issue(Kind::Join, What::Other, &[], &waits, &[]))
    });
    finish_call();
    issued.flatten().unwrap_or(0) as i64
}

/// A tile is about to copy to or from memory of the launch. Only builds that look for mistakes say so; with a null site,
/// they say that they will in this launch point.
unsafe extern "C" fn touch(site: *const RawSite, start: usize, words: *const i64, writes: i64) {
    with(|e| {
        // SAFETY: called by an ELF with its own tables.
        let Some(table) = (unsafe { site.as_ref() }) else { return e.look_for_races() };
        let Some(tile) = e.current else { return };
        // SAFETY: as above; the layout says how many words there are.
        let (sizes, strides) = unsafe { abi::words(words, 2 * table.rank) }.split_at(table.rank.max(0) as usize);
        // Sizes that no memory can have are the copy's own business.
        if let Ok(pattern) = Pattern::new(sizes, strides, &[], table.element_bytes as usize) {
            e.note_access(tile, start, Rc::new(pattern), writes != 0, table.place);
        }
    });
}
