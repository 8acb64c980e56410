//! Which launches are cut into several over consecutive ranges of their grid, and where.

mod choice;
mod legal;
mod names;

use std::borrow::Cow;
use std::collections::BTreeMap;

use airlink_diag::{Finding, Findings, Reported, Severity, Span, codes};
use airlink_graph::{Launch, LaunchGraph, LaunchIdx, RowSplit};
use airlink_kernel::{EntrySummary, Traffic};
use airlink_limits::{LaunchUse, Resource, ResourceKind, Setup, measure};

use crate::kernel_use::KernelUses;
use crate::limits::Limits;
use crate::{ElfPlan, NSplitPlan, PlanOptions, RowPiece, RowSplitPlan, columns};
use choice::{launch_counts, pieces};
use legal::{Cut, Refusal, dimension, shares_alike};

/// Launches into which one is cut at most. Each is a configuration of the device, and mlir-air's compiler advises 8 in
/// one ELF; the bound keeps a number in a file from becoming as many ops.
const LAUNCHES_MAX: u64 = 64;

/// Resources whose change a split shows.
const SHOWN: [ResourceKind; 4] =
    [ResourceKind::ShimBds, ResourceKind::PushRuns, ResourceKind::L1Bytes, ResourceKind::L2Bytes];

/// The row splits of each launch, as its split over columns leaves it: those that the graph asks for, and those without
/// which it repeats a push too often. Launches of one kernel under the same options are split alike, and say their piece once.
///
/// Errors: AL0505, AL0506. Notes: AL0506.
pub(crate) fn splits(
    graph: &LaunchGraph,
    uses: &KernelUses<'_>,
    n_splits: &[Vec<NSplitPlan>],
    limits: Option<&Limits<'_>>,
    options: &PlanOptions,
    findings: &mut Findings,
) -> Result<Vec<Vec<RowSplitPlan>>, Reported> {
    let mut failed = None;
    let mut all: Vec<Vec<RowSplitPlan>> = Vec::with_capacity(graph.launches.len());
    let choice = |index: usize| graph.launches[index].row_split.as_ref().map(|r| r.value);
    let factors = |index: usize| n_splits[index].iter().map(|s| (s.entry, s.factor)).collect::<Vec<_>>();
    let twins = twins(graph, uses, limits, |a, b| choice(a) == choice(b) && factors(a) == factors(b));
    for (index, launch) in graph.launches.iter().enumerate() {
        if let Some(twin) = twins[index] {
            let rename = |s: &RowSplitPlan| RowSplitPlan { launch: launch.name.value.clone(), ..s.clone() };
            all.push(all[twin].iter().map(rename).collect());
            continue;
        }
        let setup = limits.map(|l| l.setup_of(LaunchIdx(index)));
        let entries = columns::wide_entries(&uses.of(LaunchIdx(index)).function.entries, &n_splits[index]);
        all.push(of_launch(launch, &entries, setup.as_ref(), options, findings).unwrap_or_else(|reported| {
            failed = Some(reported);
            Vec::new()
        }));
    }
    failed.map_or(Ok(all), Err)
}

/// For each launch an earlier one that is split as it is: of the same kernel and under the same options, with arguments that
/// share memory in the same way, and alike by what `is_same` says of two positions.
pub(crate) fn twins(
    graph: &LaunchGraph,
    uses: &KernelUses<'_>,
    limits: Option<&Limits<'_>>,
    is_same: impl Fn(usize, usize) -> bool,
) -> Vec<Option<usize>> {
    // The launches without one, by kernel.
    let mut first: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let twin = |index: usize| {
        let known = first.entry(uses.position(LaunchIdx(index))).or_default();
        let is_twin = |other: &&usize| {
            let (a, b) = (LaunchIdx(**other), LaunchIdx(index));
            is_same(a.0, b.0)
                && shares_alike(graph.launch(a), graph.launch(b))
                && limits.is_none_or(|l| l.are_alike(a, b))
        };
        let found = known.iter().find(is_twin).copied();
        if found.is_none() {
            known.push(index);
        }
        found
    };
    (0..graph.launches.len()).map(twin).collect()
}

/// Gives an ELF the splits of its launches, with names for their pieces.
pub(crate) fn take(elf: &mut ElfPlan, uses: &KernelUses<'_>, all: &[Vec<RowSplitPlan>]) {
    let mut splits: Vec<RowSplitPlan> = elf.launches.iter().flat_map(|l| all[l.launch.0].iter().cloned()).collect();
    names::name_pieces(elf, &mut splits, |plan| &uses.of(plan.launch).function.entries);
    elf.row_splits = splits;
}

/// One per piece: its range of points (none for a whole launch) and its traffic.
pub(crate) fn traffic_of_pieces<'t>(
    traffic: Cow<'t, Traffic>,
    split: Option<&RowSplitPlan>,
) -> Vec<(Option<(u64, u64)>, Cow<'t, Traffic>)> {
    let Some(split) = split else { return vec![(None, traffic)] };
    let of = |p: &RowPiece| part(&traffic, split.dimension, p).map(|t| (Some((p.first, p.count)), Cow::Owned(t)));
    split.pieces.iter().filter_map(of).collect()
}

/// The traffic of one piece: fewer turns, and every offset as much further on as the points before it make. `None` where
/// an offset leaves 64 bits.
fn part(traffic: &Traffic, dimension: usize, piece: &RowPiece) -> Option<Traffic> {
    let mut part = traffic.clone();
    part.loops.get_mut(dimension)?.trip = Some(piece.count);
    let first = i64::try_from(piece.first).ok()?;
    for transfer in &mut part.transfers {
        for side in [&mut transfer.source, &mut transfer.destination].into_iter().flatten() {
            if let Some(offset) = &mut side.offset {
                let shift = offset.step(dimension).checked_mul(first)?;
                offset.constant = offset.constant.checked_add(shift)?;
            }
        }
    }
    Some(part)
}

/// The splits of one launch of the graph, without the names of their pieces.
fn of_launch(
    launch: &Launch,
    entries: &[EntrySummary],
    setup: Option<&Setup>,
    options: &PlanOptions,
    findings: &mut Findings,
) -> Result<Vec<RowSplitPlan>, Reported> {
    let choice = launch.row_split.as_ref().map_or(RowSplit::Auto, |r| r.value);
    match choice {
        _ if options.has_no_row_split => Ok(Vec::new()),
        RowSplit::Off | RowSplit::Launches(1) => Ok(Vec::new()),
        RowSplit::Launches(count) => forced(launch, entries, count, setup).map_err(|f| findings.fail(*f)),
        RowSplit::Auto => {
            let Some(setup) = setup else { return Ok(Vec::new()) };
            let mut splits = Vec::new();
            for (index, entry) in entries.iter().enumerate() {
                match fitting(launch, index, entry, setup) {
                    Ok(split) => splits.extend(split),
                    Err(note) => findings.push(*note),
                }
            }
            Ok(splits)
        }
    }
}

/// Whether a launch is a pure loop over its points, whose order then does not matter.
///
/// # Errors
/// Why it is none, and where.
pub(crate) fn point_loop(launch: &Launch, entry: &EntrySummary) -> Result<(), (String, Span)> {
    dimension(launch, entry).map(drop).map_err(|refusal| (refusal.text, refusal.span))
}

/// Where the grid of a launch can be cut. The offsets of its last point are numbers that the model can hold, and so are
/// those of every piece.
fn cut_of(launch: &Launch, entry: &EntrySummary) -> Result<Cut, Refusal> {
    let cut = dimension(launch, entry)?;
    let last = RowPiece { first: cut.points - 1, count: 1, names: Vec::new() };
    match part(&entry.traffic, cut.dimension, &last) {
        Some(_) => Ok(cut),
        None => Err(Refusal { text: "offsets of its last launch points leave 64 bits".into(), span: entry.span }),
    }
}

/// As many launches as the graph asks for, of every launch op that can be cut.
fn forced(
    launch: &Launch,
    entries: &[EntrySummary],
    count: u64,
    setup: Option<&Setup>,
) -> Result<Vec<RowSplitPlan>, Box<Finding>> {
    let place = launch.row_split.as_ref().map_or(launch.name.span, |r| r.span);
    let mut splits = Vec::new();
    let mut refused: Option<Refusal> = None;
    for (index, entry) in entries.iter().enumerate() {
        let cut = match cut_of(launch, entry) {
            Ok(cut) => cut,
            Err(refusal) => {
                refused.get_or_insert(refusal);
                continue;
            }
        };
        let Some(pieces) = pieces(cut.points, count).filter(|_| count <= LAUNCHES_MAX) else {
            return Err(Box::new(illegal(launch, entry, cut.points, count)));
        };
        let reason = "as the graph says".to_string();
        let mut split = RowSplitPlan {
            launch: launch.name.value.clone(),
            entry: index,
            dimension: cut.dimension,
            points: cut.points,
            pieces,
            before: Vec::new(),
            after: Vec::new(),
            reason,
        };
        if let Some(setup) = setup {
            split.before = shown(&[measure(&launch.name.value, &entry.traffic, setup)]);
            split.after = shown(&measured(&split, entry, setup));
        }
        splits.push(split);
    }
    match refused {
        Some(refusal) if splits.is_empty() => {
            let text = format!("launch `{}` cannot be cut into {count} launches", launch.name.value);
            Err(Box::new(refusal.into_finding(Severity::Error, text, place).remedy("remove the key")))
        }
        _ => Ok(splits),
    }
}

/// The fewest launches that fit, if the whole repeats a push too often and nothing else is wrong with it. The error is a
/// note that says why there are none.
fn fitting(
    launch: &Launch,
    index: usize,
    entry: &EntrySummary,
    setup: &Setup,
) -> Result<Option<RowSplitPlan>, Box<Finding>> {
    let name = &launch.name.value;
    let whole = measure(name, &entry.traffic, setup);
    let runs = whole.resources.iter().find(|r| r.kind == ResourceKind::PushRuns);
    let Some(runs) = runs.filter(|r| r.used > r.allowed && r.allowed > 0) else { return Ok(None) };
    let note = |refusal: Refusal| {
        let text = format!("`{name}` repeats a push too often and is not cut into several launches");
        Box::new(refusal.into_finding(Severity::Note, text, launch.name.span))
    };
    let cut = cut_of(launch, entry).map_err(&note)?;
    let mut split = RowSplitPlan {
        launch: name.clone(),
        entry: index,
        dimension: cut.dimension,
        points: cut.points,
        pieces: Vec::new(),
        before: shown(std::slice::from_ref(&whole)),
        after: Vec::new(),
        reason: format!("{} runs of one push, {} allowed", runs.used, runs.allowed),
    };
    // Fewer launches than this leave more runs in one than are allowed.
    let first = runs.used.div_ceil(runs.allowed).clamp(2, LAUNCHES_MAX);
    for count in first..=LAUNCHES_MAX.min(cut.points) {
        let Some(pieces) = pieces(cut.points, count) else { continue };
        split.pieces = pieces;
        let after = measured(&split, entry, setup);
        if after.iter().all(|l| l.findings.iter().all(|f| f.severity != Severity::Error)) {
            split.after = shown(&after);
            return Ok(Some(split));
        }
    }
    let text = format!("no number of launches up to {LAUNCHES_MAX} makes it fit");
    Err(note(Refusal { text, span: entry.span }))
}

/// What the pieces take. Those of equal size differ in their offsets alone, so the first two and the last tell.
fn measured(split: &RowSplitPlan, entry: &EntrySummary, setup: &Setup) -> Vec<LaunchUse> {
    let last = split.pieces.len().saturating_sub(1);
    let told = split.pieces.iter().enumerate().filter(|(i, _)| *i < 2 || *i == last);
    told.filter_map(|(_, p)| part(&entry.traffic, split.dimension, p))
        .map(|traffic| measure(&split.launch, &traffic, setup))
        .collect()
}

/// The resources that a split shows, each as the launch that takes most takes it.
pub(crate) fn shown(launches: &[LaunchUse]) -> Vec<Resource> {
    let most = |kind| {
        let all = launches.iter().flat_map(|l| &l.resources).filter(|r| r.kind == kind);
        all.max_by_key(|r| r.used).copied()
    };
    SHOWN.into_iter().filter_map(most).collect()
}

fn illegal(launch: &Launch, entry: &EntrySummary, points: u64, count: u64) -> Finding {
    let legal = launch_counts(points, LAUNCHES_MAX);
    let nearest = legal.iter().copied().min_by_key(|n| n.abs_diff(count));
    let text = format!("the {points} launch points of `{}` cannot be {count} launches", launch.name.value);
    Finding::error(codes::AL0505, text)
        .maybe_at(launch.row_split.as_ref().map(|r| r.span), "the number of launches")
        .also(entry.span, format!("{points} launch points"))
        .found(format!("{count} launches"))
        .allowed(choice::ranges(&legal))
        .remedy(match nearest {
            Some(near) => format!("write `row_split = {near}`, or `\"auto\"`"),
            None => "remove the key".to_string(),
        })
}
