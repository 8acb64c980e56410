//! Where the program is cut into ELFs.

mod best;
mod cost;
mod given;
mod layers;
mod reason;
mod shape;

use std::collections::BTreeMap;

use airlink_device::Device;
use airlink_diag::{Findings, Reported};
use airlink_graph::{ElfEntry, HostIdx, LaunchGraph, LaunchIdx, Step};

use crate::{CutReason, PlanOptions};
pub(crate) use cost::Costs;
use layers::{Layers, Tag};

/// The launches of one ELF.
#[derive(Clone, Debug)]
pub(crate) struct Cut<'g> {
    pub name: String,
    /// Those of its first call; neighbours in program order, never empty.
    pub launches: Vec<LaunchIdx>,
    /// Those of its further calls, which are the same program on other buffers.
    pub more_calls: Vec<Vec<LaunchIdx>>,
    pub reason: CutReason,
    /// The `[[elf]]` that asks for it.
    pub entry: Option<&'g ElfEntry>,
}

impl Cut<'_> {
    /// The launches of each call.
    pub fn calls(&self) -> impl Iterator<Item = &[LaunchIdx]> {
        std::iter::once(&self.launches[..]).chain(self.more_calls.iter().map(Vec::as_slice))
    }
}

/// What the cutter knows of the device.
pub(crate) struct CutLimits {
    /// None where nobody names a device: then only `--max-launches` limits an ELF.
    pub device: Option<&'static Device>,
    pub has_parity_rule: bool,
    /// By launch.
    pub pdi_loads: Vec<u64>,
    /// By launch: its launch ops, each piece of one that is cut counted.
    pub launch_ops: Vec<u64>,
}

impl CutLimits {
    /// No device, and launches as they stand in their kernels.
    pub fn none(graph: &LaunchGraph) -> CutLimits {
        let launch_ops = graph.launches.iter().map(|l| l.entry_count as u64).collect();
        CutLimits { device: None, has_parity_rule: false, pdi_loads: vec![0; graph.launches.len()], launch_ops }
    }
}

/// The cuts that the graph gives by hand, judged; else the best partition by the objective: never across a host step,
/// around each launch that must not be fused, within the limits, and the same in every iteration of a repeated layer,
/// so that its iterations share their ELFs.
///
/// Errors: AL0215, AL0218, AL0504. Notes: AL0508, where given cuts cost more than the best.
pub(crate) fn cut<'g>(
    graph: &'g LaunchGraph,
    limits: CutLimits,
    options: &PlanOptions,
    findings: &mut Findings,
) -> Result<Vec<Cut<'g>>, Reported> {
    let costs = Costs::new(graph, options.objective, options.max_launches, limits);
    if !graph.cuts.is_empty() {
        let cuts = given::given(graph, findings)?;
        given::judge_cost(&cuts, &best_cuts(graph, &costs, options), &costs, findings)?;
        return Ok(cuts);
    }
    let mut cuts = best_cuts(graph, &costs, options);
    given::judge_single_launches(graph, &costs, options, findings)?;
    let name = &graph.name.value;
    match &mut cuts[..] {
        [only] => only.name.clone_from(name),
        many => many.iter_mut().enumerate().for_each(|(i, c)| c.name = format!("{name}_{}", i + 1)),
    }
    Ok(cuts)
}

/// The best partition, still without names.
fn best_cuts<'g>(graph: &'g LaunchGraph, costs: &Costs, options: &PlanOptions) -> Vec<Cut<'g>> {
    let layers = if options.unrolls { Layers::none(graph) } else { Layers::of(graph) };
    let mut cuts = partition(graph, costs, &layers);
    if !layers.is_empty() {
        let across = partition(graph, costs, &Layers::none(graph));
        reason::complete_layers(graph, &mut cuts, &across);
    }
    cuts
}

/// Launches that nothing but limits and the objective keeps apart.
struct Run {
    launches: Vec<LaunchIdx>,
    tag: Option<Tag>,
    /// Why it ends.
    reason: CutReason,
}

fn partition<'g>(graph: &'g LaunchGraph, costs: &Costs, layers: &Layers) -> Vec<Cut<'g>> {
    let mut cuts: Vec<Cut<'g>> = Vec::new();
    // The cuts of each part of a repeated layer, by the layer and the part's position in its iteration.
    let mut of_layer: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    let mut planned: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    let mut iteration: Option<Tag> = None;
    let (mut run_ordinal, mut part_ordinal) = (0, 0);
    for run in runs(graph, layers) {
        if iteration != run.tag {
            (iteration, run_ordinal, part_ordinal) = (run.tag, 0, 0);
        }
        let ends = match run.tag {
            // Planned once: the first iteration decides for all.
            Some(tag) => {
                let first = planned.entry((tag.layer, run_ordinal)).or_insert_with(|| ends_of(&run, costs));
                if fits(first, &run, costs) { first.clone() } else { ends_of(&run, costs) }
            }
            None => ends_of(&run, costs),
        };
        run_ordinal += 1;
        let mut start = 0;
        for (i, &end) in ends.iter().enumerate() {
            let launches = run.launches[start..end].to_vec();
            let reason = match ends.get(i + 1) {
                None => run.reason.clone(),
                Some(&next) => reason::between(graph, costs, &run.launches[start..next], &run.launches[end..next]),
            };
            let key = run.tag.map(|tag| (tag.layer, part_ordinal));
            part_ordinal += 1;
            start = end;
            if let Some(key) = key {
                let peers = of_layer.entry(key).or_default();
                let twin = peers.iter().find(|p| shape::is_same_program(graph, &cuts[**p].launches, &launches));
                if let Some(&twin) = twin {
                    cuts[twin].more_calls.push(launches);
                    continue;
                }
                peers.push(cuts.len());
            }
            cuts.push(Cut { name: String::new(), launches, more_calls: Vec::new(), reason, entry: None });
        }
    }
    cuts
}

/// The ends of the parts of one run.
fn ends_of(run: &Run, costs: &Costs) -> Vec<usize> {
    if costs.is_whole_best(&costs.part(&run.launches)) {
        return vec![run.launches.len()];
    }
    best::best(run.launches.len(), |start, take| costs.row(&run.launches, start, take))
}

/// Whether the partition of another run is one of this run, and allowed.
fn fits(ends: &[usize], run: &Run, costs: &Costs) -> bool {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let is_allowed = |(start, end): (usize, &usize)| {
        end - start == 1 || costs.refusal(&costs.part(&run.launches[start..*end])).is_none()
    };
    ends.last() == Some(&run.launches.len()) && starts.zip(ends).all(is_allowed)
}

/// The program between what ends an ELF in any case: host steps, launches that must be alone, ends of iterations.
fn runs(graph: &LaunchGraph, layers: &Layers) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut open: Vec<LaunchIdx> = Vec::new();
    let mut open_tag = None;
    let mut close = |open: &mut Vec<LaunchIdx>, tag: Option<Tag>, reason: CutReason| {
        if !open.is_empty() {
            runs.push(Run { launches: std::mem::take(open), tag, reason });
        }
    };
    for (index, step) in graph.steps.iter().enumerate() {
        let tag = layers.tag(index);
        match *step {
            Step::Host(h) => close(&mut open, open_tag, reason::host_step(graph, h)),
            Step::Launch(l) => {
                let launch = graph.launch(l);
                let is_alone = |l: LaunchIdx| graph.launch(l).is_fuse_never();
                if let Some(before) = open_tag.filter(|_| open_tag != tag) {
                    close(&mut open, open_tag, layers.end_of(before));
                } else if let Some(after) = tag.filter(|_| open_tag != tag) {
                    close(&mut open, open_tag, layers.begin_of(after));
                }
                if launch.is_fuse_never() {
                    close(&mut open, open_tag, CutReason::FuseNever(launch.name.value.clone()));
                } else if let Some(&before) = open.last().filter(|l| is_alone(**l)) {
                    close(&mut open, open_tag, CutReason::FuseNever(graph.launch(before).name.value.clone()));
                }
                open.push(l);
                open_tag = tag;
            }
        }
    }
    close(&mut open, open_tag, CutReason::EndOfProgram);
    runs
}

/// Per launch: the first host step between it and the next launch.
pub(crate) fn hosts_after(graph: &LaunchGraph) -> Vec<Option<HostIdx>> {
    let mut after = vec![None; graph.launches.len()];
    let mut last = None;
    for step in &graph.steps {
        match *step {
            Step::Launch(LaunchIdx(l)) => last = Some(l),
            Step::Host(h) => {
                if let Some(l) = last {
                    after[l] = after[l].or(Some(h));
                }
            }
        }
    }
    after
}
