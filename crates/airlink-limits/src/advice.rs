//! What a launch leaves unused, and what a rebuild would make of it: tried on the same model, like remedies.

use airlink_diag::{Finding, Severity, codes};
use airlink_kernel::Traffic;

use crate::launch::{LaunchUse, measure};
use crate::resource::ResourceKind;
use crate::setup::Setup;
use crate::wide::{factors, widen};

/// What a note shows of the wider launch.
const SHOWN: [ResourceKind; 4] =
    [ResourceKind::PushRuns, ResourceKind::ShimBds, ResourceKind::ShimMm2s, ResourceKind::L2Bytes];

/// A note where a matrix-vector product that fits uses fewer columns than the device has, and fits as well with the rows
/// of each launch point spread over more: the widest such herd. `used` is what [`crate::judge_launch`] says of it.
pub fn advise(used: &LaunchUse, traffic: &Traffic, setup: &Setup) -> Option<Finding> {
    let fits = |u: &LaunchUse| u.findings.iter().all(|f| f.severity != Severity::Error);
    let herd = traffic.herds.first().filter(|_| fits(used))?;
    let all = setup.device.columns.value;
    let (wide, factor, after) = factors(traffic, all, herd.span).ok()?.into_iter().rev().find_map(|factor| {
        let wide = widen(traffic, factor, herd.span).ok()?;
        let after = measure(&used.name, &wide.traffic, setup);
        fits(&after).then_some((wide, factor, after))
    })?;
    let changes: Vec<String> = SHOWN.iter().filter_map(|kind| change(*kind, used, &after)).collect();
    let (columns, points) = (wide.columns, wide.points);
    let text = format!("`{}` uses {columns} of {all} columns", used.name);
    Some(
        Finding::note(codes::AL0507, text)
            .at(herd.span, format!("a herd of {columns} x 1, {points} launch points"))
            .found(format!("{columns} columns"))
            .allowed(format!("{all} columns"))
            .source(setup.device.columns.source)
            .remedy(format!(
                "`n_split = {factor}` makes it a herd of {} x 1 with {} launch points, {factor} times the rows in each: {}",
                columns * factor,
                points / factor,
                changes.join(", ")
            )),
    )
}

fn change(kind: ResourceKind, before: &LaunchUse, after: &LaunchUse) -> Option<String> {
    let of = |u: &LaunchUse| u.resources.iter().find(|r| r.kind == kind).copied();
    let (before, after) = (of(before)?, of(after)?);
    let unit = if kind.is_bytes() { " bytes" } else { "" };
    Some(format!("{} {} instead of {} of {}{unit}", kind.as_str(), after.used, before.used, after.allowed))
}
