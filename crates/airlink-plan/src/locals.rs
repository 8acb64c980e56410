//! New names of what is local to a kernel's module, and of the segments around bare herds.

use airlink_diag::{Finding, Findings, codes};
use airlink_graph::{LaunchGraph, LaunchIdx};
use airlink_kernel::{EntryKind, EntrySummary, LocalKind};

use crate::kernel_use::{KernelUse, KernelUses};
use crate::{EntryPlan, LocalRename, NameAllocator};

/// The local names of one ELF. Launches, segments, herds and resources have name spaces of their own; channels,
/// functions and globals share the symbol table with the externs and the fused function.
pub(crate) struct LocalNames {
    symbols: NameAllocator,
    launches: NameAllocator,
    segments: NameAllocator,
    herds: NameAllocator,
    resources: NameAllocator,
}

impl LocalNames {
    /// Names for a module in which these symbols are taken.
    pub fn new(symbols: NameAllocator) -> LocalNames {
        let empty = NameAllocator::default;
        LocalNames { symbols, launches: empty(), segments: empty(), herds: empty(), resources: empty() }
    }

    /// `<launch>_<name>`, or the next free name, for everything local to a launch's kernel.
    pub fn rename(&mut self, launch: &str, kernel: &KernelUse<'_>) -> Vec<LocalRename> {
        let rename = |local: &&airlink_kernel::LocalName| LocalRename {
            kind: local.kind,
            from: local.name.clone(),
            to: self.space(local.kind).allocate(&format!("{launch}_{}", local.name)),
        };
        kernel.locals.iter().map(rename).collect()
    }

    /// The entries of a launch's kernel, with a segment for each bare herd.
    pub fn wrap(&mut self, launch: &str, kernel: &KernelUse<'_>) -> Vec<EntryPlan> {
        let wrap = |entry: &EntrySummary| EntryPlan {
            kind: entry.kind,
            segment: (entry.kind == EntryKind::BareHerd).then(|| self.segments.allocate(&format!("{launch}_seg"))),
        };
        kernel.function.entries.iter().map(wrap).collect()
    }

    fn space(&mut self, kind: LocalKind) -> &mut NameAllocator {
        match kind {
            LocalKind::Channel | LocalKind::Function | LocalKind::Global => &mut self.symbols,
            LocalKind::Launch => &mut self.launches,
            LocalKind::Segment => &mut self.segments,
            LocalKind::Herd => &mut self.herds,
            LocalKind::Resource => &mut self.resources,
        }
    }
}

/// One note per kernel whose herds or segments stand bare, however many launches run it.
pub(crate) fn note_wrapped(graph: &LaunchGraph, uses: &KernelUses<'_>, findings: &mut Findings) {
    let mut run_counts = vec![0usize; uses.list.len()];
    for launch in 0..graph.launches.len() {
        run_counts[uses.position(LaunchIdx(launch))] += 1;
    }
    for (kernel, run_count) in uses.list.iter().zip(run_counts) {
        let bare = |kind| kernel.function.entries.iter().filter(move |e| e.kind == kind);
        let launch = graph.launch(kernel.first_launch);
        let (name, file) = (&launch.name.value, &launch.kernel.value);
        let who = match run_count {
            1 => format!("launch `{name}`"),
            n => format!("launch `{name}` and {} more", n - 1),
        };
        for (kind, headline) in [
            (EntryKind::BareHerd, format!("bare herd of `{file}` wrapped in a launch and a segment `@{name}_seg`")),
            (EntryKind::BareSegment, format!("bare segment of `{file}` wrapped in a launch")),
        ] {
            let Some(first) = bare(kind).next() else { continue };
            findings.push(
                Finding::note(codes::AL0214, headline)
                    .at(first.span, "stands in no `air.launch`")
                    .also(launch.kernel.span, format!("used by {who}"))
                    .remedy(
                        "nothing to do; to choose the names yourself, write the launch and the segment in the kernel",
                    ),
            );
        }
    }
}
