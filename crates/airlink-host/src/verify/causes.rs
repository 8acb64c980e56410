//! Why results differ, or are not there: what explains the most is told first.

use std::collections::BTreeSet;

use airlink_diag::{Finding, Reported};
use airlink_rt::compare::{exact, never_written};
use airlink_rt::{Entry, Manifest, Poison};

use super::programs::{Part, Program, written_args};
use super::{Bench, Variant, Written, finding};

/// What a launch of a fused ELF has left in its arguments.
#[derive(PartialEq, Eq)]
struct Left {
    elf: String,
    launch: Option<String>,
    written: Written,
}

impl Bench<'_> {
    /// AL0706 for the first launch whose results depend on what fresh L1 and L2 buffers hold; none if there is none.
    pub(super) fn fresh_memory(&mut self) -> Result<Option<Finding>, Reported> {
        let with_nan = self.by_launch_of(Variant::PoisonNan)?;
        // Kernels that keep something between calls differ without it, and are another check's business.
        if self.by_launch_of(Variant::PoisonNan)? != with_nan {
            return Ok(None);
        }
        let with_zero = self.by_launch_of(Variant::PoisonZero)?;
        for (nan, zero) in with_nan.iter().zip(&with_zero) {
            for (name, bytes) in &nan.written {
                let (Some((element, shape)), Some(other)) = (self.memory.shape(name), zero.written.get(name)) else {
                    continue;
                };
                if let Ok(comparison) = exact(element, &shape, other, bytes)
                    && !comparison.is_equal()
                {
                    let who = match &nan.launch {
                        Some(launch) => format!("launch `{launch}` of `{}`", nan.elf),
                        None => format!("`{}`", nan.elf),
                    };
                    let headline =
                        format!("{who} reads an L1 or L2 buffer that it has not filled, and writes `{name}` by it");
                    return Ok(Some(finding::unfilled(headline, &comparison)));
                }
            }
        }
        Ok(None)
    }

    /// Runs a variant launch by launch, where that can be, and keeps what each left.
    fn by_launch_of(&mut self, variant: Variant) -> Result<Vec<Left>, Reported> {
        self.memory.reset(Poison::Nan);
        let mut list = Vec::new();
        for part in self.parts {
            let program = match part {
                Part::Host { writes, index } => {
                    self.memory.host_step(writes, *index);
                    continue;
                }
                Part::Elf(program) => program,
            };
            let Some(elf) = program.fused(variant) else { return Ok(Vec::new()) };
            let manifest = elf.manifest();
            let names = written_args(manifest);
            let mut left = |bench: &Self, launch| {
                list.push(Left { elf: manifest.name.clone(), launch, written: bench.memory.copies(&names) });
            };
            if program.launch_groups().is_none() {
                self.call(elf, Entry::Program)?;
                left(self, None);
                continue;
            }
            for (k, launch) in manifest.launches.iter().enumerate() {
                self.call(elf, Entry::Launch(k))?;
                left(self, Some(launch.name.clone()));
            }
        }
        Ok(list)
    }

    /// AL0712 for what nobody has written, but for what only passes on such elements.
    pub(super) fn warn_unwritten(&mut self, with_nan: &Written, with_zero: &Written) {
        let mut unwritten = Vec::new();
        for (name, bytes) in with_nan {
            let (Some((element, shape)), Some(zero)) = (self.memory.shape(name), with_zero.get(name)) else { continue };
            let left = never_written(element, &shape, bytes, zero);
            unwritten.extend(left.first.map(|(index, position)| (name.clone(), left.count, index, position)));
        }
        let names: BTreeSet<&str> = unwritten.iter().map(|(name, ..)| name.as_str()).collect();
        let programs: Vec<&Program> = self
            .parts
            .iter()
            .filter_map(|p| match p {
                Part::Elf(program) => Some(program),
                Part::Host { .. } => None,
            })
            .collect();
        for (name, count, index, position) in &unwritten {
            let passes_on = |p: &&Program| crate::run::passes_on(p.plain().manifest(), name, &names);
            if !programs.iter().any(passes_on) {
                let writers = programs.iter().flat_map(|p| writers(p.plain().manifest(), name)).collect::<Vec<_>>();
                self.findings.push(finding::unwritten(name, &writers, *count, *index, position));
            }
        }
    }
}

/// The launches that write an argument.
fn writers<'m>(manifest: &'m Manifest, name: &str) -> Vec<&'m str> {
    let index = manifest.args.iter().position(|a| a.name == name);
    let writes = |l: &&airlink_rt::ManifestLaunch| index.is_some_and(|i| l.writes.contains(&i));
    manifest.launches.iter().filter(writes).map(|l| l.name.as_str()).collect()
}
