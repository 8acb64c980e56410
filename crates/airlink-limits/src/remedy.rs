//! What mends a finding: tried on the model before it is printed.

use airlink_diag::{Code, Finding, Severity, codes};
use airlink_kernel::{LoopKind, Memory, Place, Traffic};

use crate::launch::{LaunchUse, measure};
use crate::setup::Setup;

/// Runtime tilings that callers use, the coarsest first.
const TILINGS: [&[u64]; 5] = [&[16, 16], &[8, 8], &[4, 4], &[2, 2], &[1, 1]];

/// Factors by which a kernel's tile may grow or shrink in a rebuild.
const TILE_FACTORS: [(u64, u64); 6] = [(2, 1), (4, 1), (8, 1), (1, 2), (1, 4), (1, 8)];

/// Gives each error without a remedy one.
pub(crate) fn add(used: &mut LaunchUse, traffic: &Traffic, setup: &Setup) {
    let open: Vec<Code> = used.findings.iter().filter(|f| f.remedy.is_none()).map(|f| f.code).collect::<Vec<_>>();
    if open.is_empty() {
        return;
    }
    let mut tried: Vec<(Code, String)> = Vec::new();
    for code in open {
        if !tried.iter().any(|(c, _)| *c == code) {
            tried.push((code, find(code, used, traffic, setup)));
        }
    }
    for finding in used.findings.iter_mut().filter(|f| f.remedy.is_none()) {
        finding.remedy = tried.iter().find(|(c, _)| *c == finding.code).map(|(_, r)| r.clone());
    }
}

/// The first edit that takes the code away and brings no new one; else what to look for.
fn find(code: Code, used: &LaunchUse, traffic: &Traffic, setup: &Setup) -> String {
    let candidates: Vec<Attempt> = match code {
        codes::AL0301 | codes::AL0309 => [tilings(), no_tiling(setup), tiles(traffic)].concat(),
        codes::AL0310 | codes::AL0311 => [ping_pong(setup, code), tiles(traffic), stack(setup)].concat(),
        codes::AL0323 => [tiles(traffic), ping_pong(setup, code)].concat(),
        codes::AL0303 | codes::AL0305 => smaller_herds(traffic),
        codes::AL0314 | codes::AL0313 | codes::AL0308 => tiles(traffic),
        _ => Vec::new(),
    };
    // One edit that mends everything goes before one that mends this.
    let mut best: Option<String> = None;
    for attempt in &candidates {
        let mut setup = setup.clone();
        let mut traffic = traffic.clone();
        if !attempt.apply(&mut setup, &mut traffic) {
            continue;
        }
        let after = measure(&used.name, &traffic, &setup);
        if is_mended(code, &used.findings, &after.findings) {
            let mends_all = after.findings.iter().all(|f| f.severity != Severity::Error);
            let text = attempt.text(used, &after, mends_all);
            if mends_all {
                return text;
            }
            best.get_or_insert(text);
        }
    }
    best.unwrap_or_else(|| general(code).to_string())
}

fn is_mended(code: Code, before: &[Finding], after: &[Finding]) -> bool {
    let is_new = |f: &&Finding| f.severity == Severity::Error && !before.iter().any(|b| b.code == f.code);
    !after.iter().any(|f| f.code == code) && !after.iter().any(|f| is_new(&f))
}

/// One edit to try.
#[derive(Clone, Debug)]
enum Attempt {
    Tiling(Vec<u64>),
    PingPong {
        l1: bool,
        l2: bool,
    },
    Stack(u64),
    /// Tiles of the kernel's inner loops grow by the first and shrink by the second.
    Tile(u64, u64),
    /// Columns and rows of every herd are divided by these; the loops inside run as much longer.
    Herd(u64, u64),
}

fn tilings() -> Vec<Attempt> {
    TILINGS.iter().map(|t| Attempt::Tiling(t.to_vec())).collect()
}

fn no_tiling(setup: &Setup) -> Vec<Attempt> {
    (!setup.options.runtime_tiling.is_empty()).then_some(Attempt::Tiling(Vec::new())).into_iter().collect()
}

fn ping_pong(setup: &Setup, code: Code) -> Vec<Attempt> {
    let (l1, l2) = (setup.options.has_l1_ping_pong, setup.options.has_l2_ping_pong);
    match code {
        codes::AL0310 if l2 => vec![Attempt::PingPong { l1, l2: false }],
        codes::AL0310 => Vec::new(),
        _ if l1 => vec![Attempt::PingPong { l1: false, l2 }],
        _ => Vec::new(),
    }
}

fn stack(setup: &Setup) -> Vec<Attempt> {
    let least = setup.device.core.stack_bytes.value;
    (setup.stack_bytes() > least).then_some(Attempt::Stack(least)).into_iter().collect()
}

fn tiles(traffic: &Traffic) -> Vec<Attempt> {
    let has_loop = traffic.transfers.iter().any(|t| inner_loop(traffic, t).is_some());
    if has_loop { TILE_FACTORS.iter().map(|(a, b)| Attempt::Tile(*a, *b)).collect() } else { Vec::new() }
}

fn smaller_herds(traffic: &Traffic) -> Vec<Attempt> {
    if traffic.herds.is_empty() {
        return Vec::new();
    }
    [(1, 2), (1, 4), (2, 1), (4, 1), (2, 2), (2, 4), (8, 1)].iter().map(|(x, y)| Attempt::Herd(*x, *y)).collect()
}

/// The innermost plain loop around a transfer of a herd, if what it moves is one run of elements.
fn inner_loop(traffic: &Traffic, transfer: &airlink_kernel::Transfer) -> Option<usize> {
    let index = transfer.loops.iter().rev().copied().find(|l| traffic.loops[*l].kind == LoopKind::For)?;
    let is_run = |s: &airlink_kernel::Side| s.sizes.iter().filter(|n| **n != Some(1)).count() <= 1;
    (matches!(transfer.place, Place::Herd(_)) && transfer.sides().all(is_run)).then_some(index)
}

impl Attempt {
    /// False where it changes nothing or cannot be done.
    fn apply(&self, setup: &mut Setup, traffic: &mut Traffic) -> bool {
        match self {
            Attempt::Tiling(sizes) => {
                let changes = setup.options.runtime_tiling != *sizes && traffic.tile_sizes.is_none();
                setup.options.runtime_tiling.clone_from(sizes);
                changes
            }
            Attempt::PingPong { l1, l2 } => {
                setup.options.has_l1_ping_pong = *l1;
                setup.options.has_l2_ping_pong = *l2;
                true
            }
            Attempt::Stack(bytes) => {
                setup.options.stack_bytes = Some(*bytes);
                true
            }
            Attempt::Tile(grow, shrink) => scale_tiles(traffic, *grow, *shrink),
            Attempt::Herd(columns, rows) => shrink_herds(traffic, *columns, *rows),
        }
    }

    fn text(&self, before: &LaunchUse, after: &LaunchUse, mends_all: bool) -> String {
        let now = changes(before, after, mends_all);
        match self {
            Attempt::Tiling(sizes) if sizes.is_empty() => format!("leave `runtime_tiling` out: {now}"),
            Attempt::Tiling(sizes) => format!("set `runtime_tiling = {sizes:?}` in [graph.compiler]: {now}"),
            Attempt::PingPong { l1, l2 } => {
                let value = match (l1, l2) {
                    (true, true) => "on",
                    (true, false) => "L1",
                    (false, true) => "L2",
                    (false, false) => "off",
                };
                format!("set `ping_pong = \"{value}\"` in [graph.compiler]: {now}")
            }
            Attempt::Stack(bytes) => format!("set `stack_bytes = {bytes}` in [graph.compiler]: {now}"),
            Attempt::Tile(grow, 1) => format!("rebuild the kernel with tiles {grow} times as large: {now}"),
            Attempt::Tile(_, shrink) => format!("rebuild the kernel with tiles {shrink} times smaller: {now}"),
            Attempt::Herd(columns, rows) => {
                let what = match (columns, rows) {
                    (1, n) => format!("1/{n} of the rows"),
                    (n, 1) => format!("1/{n} of the columns"),
                    (n, m) => format!("1/{n} of the columns and 1/{m} of the rows"),
                };
                format!("rebuild the kernel with {what} of tiles: {now}")
            }
        }
    }
}

/// What the edit brings: the resources that were over and no longer are.
fn changes(before: &LaunchUse, after: &LaunchUse, mends_all: bool) -> String {
    let over = before.resources.iter().filter(|r| r.used > r.allowed);
    let texts: Vec<String> = over
        .filter_map(|r| {
            let now = after.resources.iter().find(|a| a.kind == r.kind && a.used <= a.allowed)?;
            Some(format!("{} {} of {} instead of {}", r.kind.as_str(), now.used, now.allowed, r.used))
        })
        .collect();
    match (texts.is_empty(), mends_all) {
        (false, _) => texts.join(", "),
        (true, true) => "then it fits".to_string(),
        (true, false) => "mends this finding, not the others".to_string(),
    }
}

/// Inner runs and their L1 buffers grow or shrink; the loops around them run fewer or more turns.
fn scale_tiles(traffic: &mut Traffic, grow: u64, shrink: u64) -> bool {
    let scaled: Vec<usize> =
        (0..traffic.transfers.len()).filter(|i| inner_loop(traffic, &traffic.transfers[*i]).is_some()).collect();
    let mut loops: Vec<usize> = scaled.iter().filter_map(|i| inner_loop(traffic, &traffic.transfers[*i])).collect();
    loops.sort_unstable();
    loops.dedup();
    for l in &loops {
        let Some(trip) = traffic.loops[*l].trip else { return false };
        let Some(turns) = trip.checked_mul(shrink).filter(|n| n % grow == 0) else { return false };
        traffic.loops[*l].trip = Some(turns / grow);
    }
    let factor = |n: u64| n.checked_mul(grow).filter(|n| n % shrink == 0).map(|n| n / shrink);
    let mut buffers = Vec::new();
    for i in scaled {
        let transfer = &mut traffic.transfers[i];
        for side in [&mut transfer.source, &mut transfer.destination].into_iter().flatten() {
            if let airlink_kernel::BufferRef::Local(b) = side.buffer {
                buffers.push(b);
                side.buffer_elements = side.buffer_elements.and_then(factor);
            }
            if let Some(last) = side.sizes.iter_mut().rev().find(|s| **s != Some(1)) {
                let Some(size) = last.and_then(factor) else { return false };
                *last = Some(size);
            }
            for (l, step) in side.offset.iter_mut().flat_map(|o| &mut o.steps) {
                if loops.contains(l) {
                    *step = step.saturating_mul(grow as i64) / shrink as i64;
                }
            }
        }
    }
    buffers.sort_unstable();
    buffers.dedup();
    for b in buffers {
        let buffer = &mut traffic.buffers[b];
        if buffer.memory == Memory::L1 {
            buffer.bytes = buffer.bytes.and_then(factor);
        }
    }
    !loops.is_empty()
}

/// Fewer tiles: each does as many turns more, which changes neither its buffers nor its runs.
fn shrink_herds(traffic: &mut Traffic, columns: u64, rows: u64) -> bool {
    for herd in &mut traffic.herds {
        for (position, by) in [columns, rows].into_iter().enumerate() {
            let Some(count) = herd.size[position] else { return false };
            if count % by != 0 {
                return false;
            }
            herd.size[position] = Some(count / by);
            if let Some(l) = herd.tile_loops.get(position) {
                traffic.loops[*l].trip = Some(count / by);
            }
        }
    }
    true
}

/// What to do where no edit was found that the model can try.
fn general(code: Code) -> &'static str {
    match code {
        codes::AL0301 => "choose tiles so that a transfer has at most three dimensions, or an outermost one below 64",
        codes::AL0302 => "put unrolled transfers into an scf.for, or move flows to channels of the other parity",
        codes::AL0303 => "pack inputs into one buffer, broadcast what tiles share, or use fewer tiles",
        codes::AL0304 => "pack inputs into one buffer, or go through L2",
        codes::AL0305 => "put the herds into segments of their own, or reshape them",
        codes::AL0306 => "pass the buffer with elements of 8, 16 or 32 bits",
        codes::AL0308 => {
            "make sizes, strides and offsets even (bf16) or multiples of 4 (i8): pad, or change the layout"
        }
        codes::AL0309 => "split the launch over rows, or rebuild the kernel so that a launch repeats at most 256 times",
        codes::AL0310 => "rebuild the kernel with a smaller tile_m or K chunk",
        codes::AL0311 => "rebuild the kernel with smaller tiles",
        codes::AL0312 => "compile the objects with -Os, or split the kernel over two herds",
        codes::AL0313 => "rebuild the kernel with a smaller tile along K, or store the matrix transposed",
        codes::AL0314 => "factor the dimension: a size that is a product of small numbers splits",
        codes::AL0315 => "put the transfers into an scf.for, so that they fold into one descriptor",
        codes::AL0318 => "use fewer buffers that a DMA fills, or turn ping-pong off",
        codes::AL0322 => "choose row counts that are not prime, so that runtime tiles are few",
        codes::AL0323 => "choose a tile with which the loop runs an even number of turns",
        _ => "change the kernel so that the number fits",
    }
}
