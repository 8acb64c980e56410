//! How full the device is, as bars with numbers.

use airlink_limits::Resource;

use super::count;
use super::markup::Markup;
use crate::plan::bytes;
use crate::{ElfResources, LaunchResources, Plan};

/// From this share on, in percent, something is nearly full.
const TIGHT_PERCENT: u64 = 75;

/// The bars of every launch, the fullest first; launches that take the same stand together.
pub(crate) fn resources(out: &mut Markup, plan: &Plan) {
    out.leaf(
        "p",
        &[("class", "none")],
        "Used of allowed, on the tile or in the transfer that uses most. Bytes, shim BDs and runs are tight from 75 %; \
         columns, rows, channels and locks may be taken whole.",
    );
    for elf in &plan.elfs {
        let Some(resources) = &elf.resources else { continue };
        out.leaf("h3", &[], &elf.name);
        out.leaf("p", &[("class", "about")], &program(resources));
        out.element("div", &[("class", "cards")], |out| {
            for group in groups(&resources.launches) {
                card(out, &group);
            }
        });
    }
}

/// What adds up over the launches of an ELF.
pub(crate) fn program(resources: &ElfResources) -> String {
    let program = &resources.program;
    let n = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    format!(
        "{}, {}, {}, {} of their control code at least",
        count(program.launches, "launch op", "s"),
        count(n(program.pdi_loads), "PDI load", "s"),
        count(n(program.shim_tasks), "shim task", "s"),
        bytes(program.task_bytes)
    )
}

/// Launches that take the same, in order of the first.
pub(crate) fn groups(launches: &[LaunchResources]) -> Vec<Vec<&LaunchResources>> {
    let mut groups: Vec<Vec<&LaunchResources>> = Vec::new();
    for launch in launches {
        match groups.iter_mut().find(|g| g.first().is_some_and(|l| l.resources == launch.resources)) {
            Some(group) => group.push(launch),
            None => groups.push(vec![launch]),
        }
    }
    groups
}

fn card(out: &mut Markup, group: &[&LaunchResources]) {
    let Some(first) = group.first() else { return };
    let names: Vec<&str> = group.iter().map(|l| l.name.as_str()).collect();
    out.element("article", &[("class", "card")], |out| {
        out.leaf("h4", &[], &names.join(", "));
        if first.resources.is_empty() {
            out.leaf("p", &[("class", "none")], "takes nothing that is counted");
            return;
        }
        out.element("table", &[("class", "bars")], |out| {
            out.leaf("caption", &[], &format!("Resources of {}", names.join(", ")));
            out.element("tbody", &[], |out| {
                fullest_first(&first.resources).into_iter().for_each(|r| bar(out, r));
            });
        });
    });
}

fn bar(out: &mut Markup, resource: &Resource) {
    let percent = percent(resource);
    let (class, word) = match percent {
        _ if resource.used > resource.allowed => ("over", " over"),
        TIGHT_PERCENT.. if resource.kind.is_gradual() => ("tight", " tight"),
        _ => ("fine", ""),
    };
    let at_least = if resource.is_partial { "at least " } else { "" };
    let numbers = format!("{at_least}{} / {}", amount(resource, resource.used), amount(resource, resource.allowed));
    out.element("tr", &[("class", class)], |out| {
        out.leaf("th", &[("scope", "row")], resource.kind.as_str());
        out.element("td", &[("class", "track")], |out| {
            let width = format!("width:{}%", percent.min(100));
            out.element("div", &[("class", "track")], |out| {
                out.leaf("div", &[("class", "fill"), ("style", &width)], "");
            });
        });
        out.leaf("td", &[("class", "number")], &numbers);
        out.leaf("td", &[("class", "number percent")], &format!("{percent} %{word}"));
    });
}

/// By share, and where shares are equal in the order of the model.
pub(crate) fn fullest_first(resources: &[Resource]) -> Vec<&Resource> {
    let mut list: Vec<&Resource> = resources.iter().collect();
    let share = |r: &Resource| if r.allowed == 0 { f64::MAX } else { r.used as f64 / r.allowed as f64 };
    list.sort_by(|a, b| share(b).total_cmp(&share(a)));
    list
}

/// Rounded down, so that what is over 100 % is what is over.
pub(crate) fn percent(resource: &Resource) -> u64 {
    let percent = u128::from(resource.used) * 100 / u128::from(resource.allowed.max(1));
    u64::try_from(percent).unwrap_or(u64::MAX)
}

/// A number of what the resource is counted in.
pub(crate) fn amount(resource: &Resource, n: u64) -> String {
    if resource.kind.is_bytes() { bytes(n) } else { n.to_string() }
}
