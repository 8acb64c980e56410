//! Names of launches, segments and herds of pieces: devices are keyed by segment name, so no two pieces may share one.

use airlink_kernel::{EntrySummary, LocalKind};

use crate::{ElfPlan, LaunchPlan, LocalRename, NameAllocator, Rename, RenameKind, RowSplitPlan};

/// Names every piece but the first, which has the launch's own names, after all that the ELF has.
pub(super) fn name_pieces<'k>(
    elf: &mut ElfPlan,
    splits: &mut [RowSplitPlan],
    entries_of: impl Fn(&LaunchPlan) -> &'k Vec<EntrySummary>,
) {
    if splits.is_empty() {
        return;
    }
    let mut spaces = [LocalKind::Launch, LocalKind::Segment, LocalKind::Herd].map(|kind| {
        let locals = elf.launches.iter().flat_map(|l| &l.locals).filter(|l| l.kind == kind).map(|l| l.to.clone());
        let wrapped = elf.launches.iter().flat_map(|l| &l.entries).filter_map(|e| e.segment.clone());
        (kind, NameAllocator::with_taken(locals.chain(wrapped.filter(|_| kind == LocalKind::Segment))))
    });
    for split in splits {
        let Some(plan) = elf.launches.iter().find(|l| l.name == split.launch) else { continue };
        let Some(entry) = entries_of(plan).get(split.entry) else { continue };
        let own = hierarchy(entry);
        for (number, piece) in split.pieces.iter_mut().enumerate().skip(1) {
            for (kind, from) in &own {
                let first = plan.locals.iter().find(|l| l.kind == *kind && l.from == *from);
                let Some((_, names)) = spaces.iter_mut().find(|(k, _)| k == kind) else { continue };
                let Some(first) = first else { continue };
                let to = names.allocate(&format!("{}_p{}", first.to, number + 1));
                elf.renames.push(Rename {
                    launch: split.launch.clone(),
                    kind: RenameKind::Local(*kind),
                    from: from.clone(),
                    to: to.clone(),
                    object_from: None,
                    object_to: None,
                });
                piece.names.push(LocalRename { kind: *kind, from: from.clone(), to });
            }
        }
    }
}

/// The names at and below a launch op, each once.
fn hierarchy(entry: &EntrySummary) -> Vec<(LocalKind, String)> {
    let launch = entry.name.iter().map(|n| (LocalKind::Launch, n.clone()));
    let segments = entry.traffic.segments.iter().filter_map(|s| Some((LocalKind::Segment, s.name.clone()?)));
    let herds = entry.herds.iter().filter_map(|h| Some((LocalKind::Herd, h.name.clone()?)));
    let mut names: Vec<_> = launch.chain(segments).chain(herds).collect();
    names.sort();
    names.dedup();
    names
}
