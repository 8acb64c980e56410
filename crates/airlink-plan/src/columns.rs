//! Which matrix-vector products are spread over more columns, and over how many.

use std::borrow::Cow;
use std::collections::BTreeSet;

use airlink_device::Device;
use airlink_diag::{Code, Finding, Findings, Reported, Severity, codes};
use airlink_graph::{Launch, LaunchGraph, LaunchIdx, NSplit};
use airlink_kernel::{EntrySummary, Traffic};
use airlink_limits::{LaunchUse, Narrow, Setup, Wide, factors, measure, widen};

use crate::kernel_use::KernelUses;
use crate::limits::Limits;
use crate::rows;
use crate::{NSplitPlan, PlanOptions};

/// The splits of each launch: those that the graph asks for, and where a device is named the widest that break no limit
/// which the launch does not break as it is.
///
/// Errors: AL0510, AL0511.
pub(crate) fn splits(
    graph: &LaunchGraph,
    uses: &KernelUses<'_>,
    limits: Option<&Limits<'_>>,
    options: &PlanOptions,
    findings: &mut Findings,
) -> Result<Vec<Vec<NSplitPlan>>, Reported> {
    let mut failed = None;
    let mut all: Vec<Vec<NSplitPlan>> = Vec::with_capacity(graph.launches.len());
    let choice = |index: usize| graph.launches[index].n_split.as_ref().map(|n| n.value);
    let twins = rows::twins(graph, uses, limits, |a, b| choice(a) == choice(b));
    for (index, launch) in graph.launches.iter().enumerate() {
        if let Some(twin) = twins[index] {
            let rename = |s: &NSplitPlan| NSplitPlan { launch: launch.name.value.clone(), ..s.clone() };
            all.push(all[twin].iter().map(rename).collect());
            continue;
        }
        let setup = limits.map(|l| l.setup_of(LaunchIdx(index)));
        let entries = &uses.of(LaunchIdx(index)).function.entries;
        all.push(of_launch(launch, entries, setup.as_ref(), options).unwrap_or_else(|finding| {
            failed = Some(findings.fail(*finding));
            Vec::new()
        }));
    }
    failed.map_or(Ok(all), Err)
}

/// The entries of a launch's kernel as they are after its splits.
pub(crate) fn wide_entries<'e>(entries: &'e [EntrySummary], splits: &[NSplitPlan]) -> Cow<'e, [EntrySummary]> {
    if splits.is_empty() {
        return Cow::Borrowed(entries);
    }
    let of = |(i, entry): (usize, &EntrySummary)| {
        let traffic = wide_traffic(&entry.traffic, splits.iter().find(|s| s.entry == i)).into_owned();
        EntrySummary { traffic, ..entry.clone() }
    };
    Cow::Owned(entries.iter().enumerate().map(of).collect())
}

/// The traffic of a launch op after its split.
pub(crate) fn wide_traffic<'t>(traffic: &'t Traffic, split: Option<&NSplitPlan>) -> Cow<'t, Traffic> {
    let herd = traffic.herds.first();
    match split.zip(herd).and_then(|(s, herd)| widen(traffic, s.factor, herd.span).ok()) {
        Some(wide) => Cow::Owned(wide.traffic),
        None => Cow::Borrowed(traffic),
    }
}

fn of_launch(
    launch: &Launch,
    entries: &[EntrySummary],
    setup: Option<&Setup>,
    options: &PlanOptions,
) -> Result<Vec<NSplitPlan>, Box<Finding>> {
    match launch.n_split.as_ref().map_or(NSplit::Auto, |n| n.value) {
        _ if options.has_no_n_split => Ok(Vec::new()),
        NSplit::Off | NSplit::Factor(1) => Ok(Vec::new()),
        NSplit::Factor(factor) => forced(launch, entries, factor, setup),
        NSplit::Auto => {
            let Some(setup) = setup else { return Ok(Vec::new()) };
            let widest = |(i, entry): (usize, &EntrySummary)| widest(launch, i, entry, setup);
            Ok(entries.iter().enumerate().filter_map(widest).collect())
        }
    }
}

/// The factors that a launch has, up to the columns of the device, or of the largest one where none is named.
fn legal(launch: &Launch, entry: &EntrySummary, setup: Option<&Setup>) -> Result<Vec<u64>, Narrow> {
    let largest = || Device::all().iter().map(|d| d.columns.value).max().unwrap_or(0);
    let columns = setup.map_or_else(largest, |s| s.device.columns.value);
    let list = factors(&entry.traffic, columns, entry.span)?;
    rows::point_loop(launch, entry).map_err(|(text, span)| Narrow { text, span })?;
    Ok(list)
}

fn forced(
    launch: &Launch,
    entries: &[EntrySummary],
    factor: u64,
    setup: Option<&Setup>,
) -> Result<Vec<NSplitPlan>, Box<Finding>> {
    let mut refused = None;
    let mut splits = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let list = match legal(launch, entry, setup) {
            Ok(list) => list,
            Err(narrow) => {
                refused.get_or_insert(narrow);
                continue;
            }
        };
        let wide = widen(&entry.traffic, factor, entry.span).ok().filter(|_| list.contains(&factor));
        let Some(wide) = wide else { return Err(Box::new(illegal(launch, entry, factor, &list, setup))) };
        let name = &launch.name.value;
        let [before, after] = match setup {
            Some(setup) => [&entry.traffic, &wide.traffic].map(|t| rows::shown(&[measure(name, t, setup)])),
            None => Default::default(),
        };
        let reason = "as the graph says".to_string();
        splits.push(NSplitPlan { before, after, reason, ..plain(launch, index, &wide, factor) });
    }
    match refused {
        Some(narrow) if splits.is_empty() => {
            let text = format!("launch `{}` cannot be spread over {factor} times the columns", launch.name.value);
            Err(Box::new(
                Finding::error(codes::AL0511, format!("{text}: {}", narrow.text))
                    .maybe_at(launch.n_split.as_ref().map(|n| n.span), "")
                    .also(narrow.span, narrow.text)
                    .remedy("remove the key"),
            ))
        }
        _ => Ok(splits),
    }
}

/// The widest split that breaks no limit which the launch does not break without it.
fn widest(launch: &Launch, index: usize, entry: &EntrySummary, setup: &Setup) -> Option<NSplitPlan> {
    let name = &launch.name.value;
    let list = legal(launch, entry, Some(setup)).ok().filter(|l| !l.is_empty())?;
    let whole = measure(name, &entry.traffic, setup);
    let known = faults(&whole);
    list.into_iter().rev().find_map(|factor| {
        let wide = widen(&entry.traffic, factor, entry.span).ok()?;
        let after = measure(name, &wide.traffic, setup);
        faults(&after).is_subset(&known).then_some(())?;
        let all = setup.device.columns.value;
        let reason = format!("{} of {all} columns without it", wide.columns);
        let [before, after] = [&whole, &after].map(|used| rows::shown(std::slice::from_ref(used)));
        Some(NSplitPlan { before, after, reason, ..plain(launch, index, &wide, factor) })
    })
}

fn faults(used: &LaunchUse) -> BTreeSet<Code> {
    used.findings.iter().filter(|f| f.severity != Severity::Note).map(|f| f.code).collect()
}

fn plain(launch: &Launch, entry: usize, wide: &Wide, factor: u64) -> NSplitPlan {
    NSplitPlan {
        launch: launch.name.value.clone(),
        entry,
        factor,
        columns: wide.columns,
        dimension: wide.dimension,
        points: wide.points,
        panels: wide.panels.clone(),
        before: Vec::new(),
        after: Vec::new(),
        reason: String::new(),
    }
}

fn illegal(launch: &Launch, entry: &EntrySummary, factor: u64, list: &[u64], setup: Option<&Setup>) -> Finding {
    let name = &launch.name.value;
    let columns = entry.traffic.herds.first().and_then(|h| h.size[0]).unwrap_or(0);
    let device = setup.map(|s| format!(" of the {} of the device", s.device.columns.value)).unwrap_or_default();
    let numbers: Vec<String> = list.iter().map(u64::to_string).collect();
    let nearest = list.iter().copied().min_by_key(|n| n.abs_diff(factor));
    Finding::error(codes::AL0510, format!("`{name}` cannot have {factor} times its {columns} columns"))
        .maybe_at(launch.n_split.as_ref().map(|n| n.span), "the factor")
        .also(entry.span, format!("{columns} columns{device}"))
        .found(format!("a factor of {factor}"))
        .allowed(if numbers.is_empty() { "1".to_string() } else { format!("1, {}", numbers.join(", ")) })
        .remedy(match nearest {
            Some(near) => format!("write `n_split = {near}`, or `\"auto\"`"),
            None => "remove the key".to_string(),
        })
}
