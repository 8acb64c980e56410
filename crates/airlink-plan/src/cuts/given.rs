//! Cuts that the graph gives by hand: kept, and judged.

use std::collections::HashMap;

use airlink_diag::{Finding, Findings, Reported, codes};
use airlink_graph::{ElfEntry, HostIdx, LaunchGraph, LaunchIdx, Placed};

use super::best::{Cost, add};
use super::cost::{Costs, Refusal};
use super::{Cut, hosts_after};
use crate::{CutReason, PlanOptions};

/// How many launches a finding lists by name.
const NAMES_LISTED_MAX: usize = 5;

pub(super) fn given<'g>(graph: &'g LaunchGraph, findings: &mut Findings) -> Result<Vec<Cut<'g>>, Reported> {
    let mut judge = Judge {
        graph,
        launches: graph.launches.iter().enumerate().map(|(i, l)| (l.name.value.as_str(), LaunchIdx(i))).collect(),
        hosts_after: hosts_after(graph),
        owners: vec![None; graph.launches.len()],
        failure: None,
        findings,
    };
    let mut cuts: Vec<Cut<'g>> = graph.cuts.iter().filter_map(|entry| judge.take(entry)).collect();
    for cut in &cuts {
        judge.judge(cut);
    }
    judge.judge_rest();
    if let Some(reported) = judge.failure {
        return Err(reported);
    }
    cuts.sort_by_key(|c| c.launches[0]);
    Ok(cuts)
}

/// What the given cuts cost, beside the best.
///
/// Errors: AL0504. Notes: AL0508.
pub(super) fn judge_cost(
    cuts: &[Cut<'_>],
    best: &[Cut<'_>],
    costs: &Costs,
    findings: &mut Findings,
) -> Result<(), Reported> {
    let mut failed = None;
    for (cut, entry) in cuts.iter().filter_map(|c| Some((c, c.entry?))) {
        if let Some(Refusal::MaxLaunches { found, allowed }) = costs.refusal(&costs.part(&cut.launches)) {
            failed = Some(
                findings.fail(
                    Finding::error(codes::AL0504, format!("ELF `{}` has {found} launches", cut.name))
                        .at(entry.name.span, "given here")
                        .found(format!("{found} launches"))
                        .allowed(format!("{allowed} launches"))
                        .source("--max-launches")
                        .remedy(format!("cut it into ELFs of at most {allowed} launches, or remove all `[[elf]]`")),
                ),
            );
        }
    }
    if let Some(reported) = failed {
        return Err(reported);
    }
    let sum = |cuts: &[Cut<'_>]| {
        let calls = cuts.iter().flat_map(Cut::calls);
        calls.map(|c| costs.cost(&costs.part(c))).fold([0; 4], |sum: Cost, c| add(sum, c))
    };
    let (given, least) = (sum(cuts)[0], sum(best)[0]);
    if given <= least {
        return Ok(());
    }
    // The first cut that the best partition does not have tells what to do.
    let best_ends: Vec<Option<&LaunchIdx>> = best.iter().flat_map(Cut::calls).map(<[_]>::last).collect();
    let pair = cuts.windows(2).find(|p| !best_ends.contains(&p[0].launches.last()));
    let unit = costs.objective.units()[0];
    let headline = format!("the cuts given cost {given} {unit}, the best {least}");
    let finding = Finding::note(codes::AL0508, headline).found(format!("{given} {unit}")).allowed(least.to_string());
    findings.push(match pair.and_then(|p| Some((&p[0], &p[1], p[0].entry?, p[1].entry?))) {
        Some((one, two, first, second)) => finding
            .at(second.name.span, "could be one ELF")
            .also(first.name.span, "with this one")
            .remedy(format!("join `{}` and `{}`, or remove all `[[elf]]` so that airlink cuts", one.name, two.name)),
        None => finding
            .maybe_at(cuts.first().and_then(|c| c.entry).map(|e| e.name.span), "cut otherwise")
            .remedy("remove all `[[elf]]` so that airlink cuts"),
    });
    Ok(())
}

/// AL0504 for each launch that alone has more launch ops than `--max-launches` allows in an ELF.
pub(super) fn judge_single_launches(
    graph: &LaunchGraph,
    costs: &Costs,
    options: &PlanOptions,
    findings: &mut Findings,
) -> Result<(), Reported> {
    let Some(max) = options.max_launches else { return Ok(()) };
    let mut failed = None;
    for (launch, ops) in graph.launches.iter().zip(&costs.launch_ops).filter(|(_, ops)| **ops > max) {
        failed = Some(
            findings.fail(
                Finding::error(codes::AL0504, format!("launch `{}` alone has {ops} launches", launch.name.value))
                    .at(launch.kernel.span, "this kernel")
                    .found(format!("{ops} launches"))
                    .allowed(format!("{max} launches"))
                    .source("--max-launches")
                    .remedy("split the kernel, or allow more launches"),
            ),
        );
    }
    failed.map_or(Ok(()), Err)
}

struct Judge<'g, 'f> {
    graph: &'g LaunchGraph,
    launches: HashMap<&'g str, LaunchIdx>,
    hosts_after: Vec<Option<HostIdx>>,
    /// Per launch: where an `[[elf]]` names it.
    owners: Vec<Option<(&'g ElfEntry, &'g Placed<String>)>>,
    failure: Option<Reported>,
    findings: &'f mut Findings,
}

impl<'g> Judge<'g, '_> {
    fn fail(&mut self, finding: Finding) {
        self.failure = Some(self.findings.fail(finding));
    }

    /// Binds the names of one `[[elf]]`; none if nothing is left of it.
    fn take(&mut self, entry: &'g ElfEntry) -> Option<Cut<'g>> {
        let mut launches = Vec::with_capacity(entry.launches.value.len());
        for name in &entry.launches.value {
            let Some(&launch) = self.launches.get(name.value.as_str()) else {
                self.unknown(entry, name);
                continue;
            };
            match self.owners[launch.0] {
                None => {
                    self.owners[launch.0] = Some((entry, name));
                    launches.push(launch);
                }
                Some((other, first)) => self.fail(
                    Finding::error(
                        codes::AL0215,
                        if std::ptr::eq(other, entry) {
                            format!("launch `{}` stands twice in ELF `{}`", name.value, entry.name.value)
                        } else {
                            let (one, two) = (&other.name.value, &entry.name.value);
                            format!("launch `{}` stands in two ELFs, `{one}` and `{two}`", name.value)
                        },
                    )
                    .at(name.span, "here again")
                    .also(first.span, "first here")
                    .remedy("remove one of the two, or add a second `[[launch]]` for a second run"),
                ),
            }
        }
        if launches.is_empty() {
            if entry.launches.value.is_empty() {
                self.fail(
                    Finding::error(codes::AL0215, format!("ELF `{}` has no launches", entry.name.value))
                        .at(entry.launches.span, "empty")
                        .remedy("name its launches, or remove this `[[elf]]`"),
                );
            }
            return None;
        }
        let (name, more_calls) = (entry.name.value.clone(), Vec::new());
        Some(Cut { name, launches, more_calls, reason: CutReason::Given, entry: Some(entry) })
    }

    fn unknown(&mut self, entry: &'g ElfEntry, name: &'g Placed<String>) {
        let known = self.graph.launches.iter().map(|l| l.name.value.as_str());
        let near = airlink_graph::suggest(&name.value, known);
        let is_host = self.graph.hosts.iter().find(|h| h.name.value == name.value);
        let mut finding = Finding::error(
            codes::AL0218,
            format!("ELF `{}` names an unknown launch `{}`", entry.name.value, name.value),
        )
        .at(name.span, "no `[[launch]]` has this name");
        if let Some(host) = is_host {
            finding =
                finding.also(host.name.span, "a host step, which no ELF can hold").remedy("remove it from the list");
        } else if let Some(near) = near {
            finding = finding.remedy(format!("write `{near}`"));
        } else {
            finding = finding.remedy("name a `[[launch]]` of this graph");
        }
        self.fail(finding);
    }

    /// Neighbours, in program order, without a host step between them, and all of them willing.
    fn judge(&mut self, cut: &Cut<'g>) {
        let (graph, elf) = (self.graph, &cut.name);
        let name = |l: LaunchIdx| &graph.launch(l).name;
        for pair in cut.launches.windows(2) {
            let (a, b) = (pair[0], pair[1]);
            if b.0 == a.0 + 1 {
                let Some(host) = self.hosts_after[a.0].map(|h| &graph.host(h).name) else { continue };
                self.fail(
                    Finding::error(codes::AL0215, format!("host step `{}` stands inside ELF `{elf}`", host.value))
                        .at(self.place(b), format!("runs after `{}`", host.value))
                        .also(host.span, "runs on the host, between the launches")
                        .remedy(format!("end the ELF at `{}` and start another at `{}`", name(a).value, name(b).value)),
                );
            } else if b < a {
                let headline = format!("launches of ELF `{elf}` contradict the program order");
                self.fail(
                    Finding::error(codes::AL0215, headline)
                        .at(self.place(b), format!("`{}` runs before `{}`", name(b).value, name(a).value))
                        .also(name(b).span, "first")
                        .also(name(a).span, "later")
                        .remedy("list them in the order of the `[[launch]]` tables, or move the tables"),
                );
            } else {
                let between = LaunchIdx(a.0 + 1);
                let headline = format!("launches of ELF `{elf}` are no neighbours in the program");
                self.fail(
                    Finding::error(codes::AL0215, headline)
                        .at(self.place(b), format!("`{}` runs before it", name(between).value))
                        .also(name(between).span, "stands between them and is not in its place in this ELF")
                        .remedy(format!("list `{}` before `{}`, or split the ELF", name(between).value, name(b).value)),
                );
            }
            break;
        }
        if cut.launches.len() > 1
            && let Some(&alone) = cut.launches.iter().find(|l| graph.launch(**l).is_fuse_never())
        {
            let launch = graph.launch(alone);
            let never = launch.fuse.as_ref().map_or(launch.name.span, |f| f.span);
            self.fail(
                Finding::error(
                    codes::AL0215,
                    format!("launch `{}` must not be fused, but shares ELF `{elf}`", launch.name.value),
                )
                .at(self.place(alone), "shares an ELF here")
                .also(never, "must not")
                .remedy("remove `fuse = \"never\"`, or give it an `[[elf]]` of its own"),
            );
        }
    }

    /// Where the `[[elf]]` names a launch.
    fn place(&self, launch: LaunchIdx) -> airlink_diag::Span {
        self.owners[launch.0].map_or(self.graph.launch(launch).name.span, |(_, name)| name.span)
    }

    /// Every launch must be in an ELF.
    fn judge_rest(&mut self) {
        let rest: Vec<&Placed<String>> =
            self.graph.launches.iter().zip(&self.owners).filter(|(_, o)| o.is_none()).map(|(l, _)| &l.name).collect();
        let Some(first) = rest.first() else { return };
        let listed: Vec<String> = rest.iter().take(NAMES_LISTED_MAX).map(|n| format!("`{}`", n.value)).collect();
        let more = match rest.len().saturating_sub(NAMES_LISTED_MAX) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let headline = match rest.len() {
            1 => format!("launch {} is in no ELF", listed[0]),
            _ => format!("launches {}{more} are in no ELF", listed.join(", ")),
        };
        self.fail(
            Finding::error(codes::AL0215, headline)
                .at(first.span, "in no `[[elf]]`")
                .maybe_also(self.graph.cuts.first().map(|e| e.name.span), "with one `[[elf]]`, all launches need one")
                .remedy("add it to an `[[elf]]`, or remove all `[[elf]]` so that airlink cuts"),
        );
    }
}
