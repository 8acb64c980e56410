//! The ELFs of a graph, open in this process.

use std::ops::Range;

use airlink_diag::{Finding, Findings, Reported, codes};
use airlink_rt::{HostElf, Manifest, Role};

use super::{HostWrite, Step, Variant};

/// A step that can be run.
pub(super) enum Part {
    Elf(Program),
    Host { writes: Vec<HostWrite>, index: usize },
}

/// A fused ELF in its variants, and its launches alone.
pub(super) struct Program {
    fused: Vec<(Variant, HostElf)>,
    pub unfused: Vec<HostElf>,
    launch_counts: Vec<usize>,
}

impl Program {
    pub fn fused(&self, variant: Variant) -> Option<&HostElf> {
        self.fused.iter().find(|(v, _)| *v == variant).map(|(_, e)| e)
    }

    /// As it is shipped.
    pub fn plain(&self) -> &HostElf {
        &self.fused[0].1
    }

    /// All ELFs, the fused one first: its manifest knows the roles.
    pub fn all(&self) -> impl Iterator<Item = &HostElf> {
        std::iter::once(self.plain()).chain(&self.unfused)
    }

    /// The launch entries of the fused ELF that make up each launch of the graph: a kernel may hold several, and one may
    /// be cut into several.
    pub fn launch_groups(&self) -> Option<Vec<Range<usize>>> {
        let total = self.plain().manifest().launches.len();
        let mut next = 0;
        let groups: Vec<Range<usize>> = self
            .launch_counts
            .iter()
            .map(|count| {
                let start = next;
                next += count;
                start..next
            })
            .collect();
        (total > 0 && next == total && groups.iter().all(|g| !g.is_empty())).then_some(groups)
    }
}

/// Opens every ELF. They are read from a folder that is gone afterwards.
pub(super) fn load_programs(steps: &[Step], findings: &mut Findings) -> Result<Vec<Part>, Reported> {
    let folder = tempfile::Builder::new().prefix("airlink").tempdir().map_err(|e| cannot_write(&e, findings))?;
    let mut count = 0;
    let mut open = |bytes: &[u8], findings: &mut Findings| {
        count += 1;
        let path = folder.path().join(format!("{count}.elf"));
        std::fs::write(&path, bytes).map_err(|e| cannot_write(&e, findings))?;
        crate::run::load(&path, findings)
    };
    let mut parts = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        match step {
            Step::Host { writes, .. } => parts.push(Part::Host { writes: writes.clone(), index }),
            Step::Elf(elf) => {
                let mut fused = Vec::new();
                for variant in Variant::ALL {
                    let Some((_, bytes)) = elf.fused.iter().find(|(v, _)| *v == variant) else { continue };
                    fused.push((variant, open(bytes, findings)?));
                }
                if fused.first().is_none_or(|(v, _)| *v != Variant::Plain) {
                    let headline = "a fused ELF to verify was not built as it is shipped";
                    return Err(findings.fail(Finding::error(codes::AL0901, headline)));
                }
                let unfused = elf.unfused.iter().map(|b| open(b, findings)).collect::<Result<_, _>>()?;
                parts.push(Part::Elf(Program { fused, unfused, launch_counts: elf.launch_counts.clone() }));
            }
        }
    }
    Ok(parts)
}

fn cannot_write(error: &std::io::Error, findings: &mut Findings) -> Reported {
    findings.fail(
        Finding::error(codes::AL0802, format!("temporary files for running cannot be written: {error}"))
            .remedy("free space in the folder for temporary files"),
    )
}

/// The arguments that a program may write.
pub(super) fn written_args(manifest: &Manifest) -> Vec<&str> {
    let writes = |a: &&airlink_rt::ManifestArg| match manifest.launches.is_empty() {
        false => !a.writers.is_empty(),
        true => !matches!(a.role, Role::Static | Role::Input | Role::Dead),
    };
    manifest.args.iter().filter(writes).map(|a| a.name.as_str()).collect()
}
