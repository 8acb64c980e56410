//! Where the program is cut into ELFs.

mod given;

use airlink_diag::{Findings, Reported};
use airlink_graph::{ElfEntry, HostIdx, LaunchGraph, LaunchIdx, Step};

use crate::CutReason;

/// The launches of one ELF.
#[derive(Clone, Debug)]
pub(crate) struct Cut<'g> {
    pub name: String,
    /// Neighbours in program order; never empty.
    pub launches: Vec<LaunchIdx>,
    pub reason: CutReason,
    /// The `[[elf]]` that asks for it.
    pub entry: Option<&'g ElfEntry>,
}

/// The cuts that the graph gives by hand, else one at each host step and around each launch that must not be fused.
///
/// Errors: AL0215, AL0218.
pub(crate) fn cut<'g>(graph: &'g LaunchGraph, findings: &mut Findings) -> Result<Vec<Cut<'g>>, Reported> {
    if !graph.cuts.is_empty() {
        return given::given(graph, findings);
    }
    let mut cuts = cut_at_steps(graph);
    let name = &graph.name.value;
    match &mut cuts[..] {
        [only] => only.name.clone_from(name),
        many => many.iter_mut().enumerate().for_each(|(i, c)| c.name = format!("{name}_{}", i + 1)),
    }
    Ok(cuts)
}

fn cut_at_steps(graph: &LaunchGraph) -> Vec<Cut<'_>> {
    let mut cuts: Vec<Cut<'_>> = Vec::new();
    let mut open: Vec<LaunchIdx> = Vec::new();
    let mut close = |open: &mut Vec<LaunchIdx>, reason: CutReason| {
        if !open.is_empty() {
            cuts.push(Cut { name: String::new(), launches: std::mem::take(open), reason, entry: None });
        }
    };
    for step in &graph.steps {
        match *step {
            Step::Host(h) => close(&mut open, CutReason::HostStep(graph.host(h).name.value.clone())),
            Step::Launch(l) => {
                let launch = graph.launch(l);
                let is_alone = |l: LaunchIdx| graph.launch(l).is_fuse_never();
                if launch.is_fuse_never() {
                    close(&mut open, CutReason::FuseNever(launch.name.value.clone()));
                } else if let Some(&before) = open.last().filter(|l| is_alone(**l)) {
                    close(&mut open, CutReason::FuseNever(graph.launch(before).name.value.clone()));
                }
                open.push(l);
            }
        }
    }
    close(&mut open, CutReason::EndOfProgram);
    cuts
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
