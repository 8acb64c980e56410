//! Fused against unfused: the launches of each ELF one by one, each from an ELF of its own, and the fused ELF launch by
//! launch and as a whole, on the same inputs. Everything that is written must be equal bit for bit.
//!
//! What has no right to matter is varied as well: the order of launch points and of tiles, and what unwritten memory holds.

mod against;
mod causes;
mod finding;
mod memory;
mod programs;

use std::ops::Range;
use std::time::Duration;

use airlink_diag::{Finding, Findings, Reported, codes};
use airlink_rt::compare::exact;
use airlink_rt::{Caller, Element, Entry, HostElf, Poison, Schedule, StreamOptions};
use indexmap::IndexMap;

use crate::HostOptions;
pub use against::{Gate, OutputReport, Pair, PairReport, TileRows, against};
use memory::Memory;
use programs::{Part, load_programs};

/// One step of a graph, in program order.
#[derive(Clone, Debug)]
pub enum Step {
    Elf(ElfUnderTest),
    /// A host step: what it writes gets seeded values, the same on both sides.
    Host {
        name: String,
        writes: Vec<HostWrite>,
    },
}

/// Bytes of a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostWrite {
    pub buffer: String,
    pub range: Range<u64>,
}

/// A fused ELF and what it is compared with.
#[derive(Clone, Debug)]
pub struct ElfUnderTest {
    /// The fused ELF, built in each of the ways that [`Variant::ALL`] lists.
    pub fused: Vec<(Variant, Vec<u8>)>,
    /// Each launch of the graph in an ELF of its own, in program order, built plain.
    pub unfused: Vec<Vec<u8>>,
    /// For each of them, how many launches of the fused ELF do its work: more where one is cut into several.
    pub launch_counts: Vec<usize>,
}

/// A way to build an ELF that must not change what it computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    Plain,
    /// Fresh L1 and L2 buffers hold NaN.
    PoisonNan,
    /// Fresh L1 and L2 buffers hold zeros.
    PoisonZero,
    /// Launch points, and the tiles of herds, run from the last to the first.
    Reversed,
}

impl Variant {
    pub const ALL: [Variant; 4] = [Variant::Plain, Variant::PoisonNan, Variant::PoisonZero, Variant::Reversed];

    /// The options that build it.
    pub fn options(self, base: &HostOptions) -> HostOptions {
        let (reverse_points, poison) = match self {
            Variant::Plain => (false, None),
            Variant::PoisonNan => (false, Some(Poison::Nan.byte())),
            Variant::PoisonZero => (false, Some(Poison::Zero.byte())),
            Variant::Reversed => (true, Some(Poison::Nan.byte())),
        };
        HostOptions { reverse_points, poison, ..base.clone() }
    }
}

/// What was compared and how long the calls took. Host times show what dispatch and copies cost; they are no forecast
/// for an NPU.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    pub elfs: Vec<ElfReport>,
    /// What was run, as phrases: `launch by launch`, `as a whole`.
    pub checks: Vec<&'static str>,
}

/// One fused ELF.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ElfReport {
    pub name: String,
    pub launches: Vec<LaunchReport>,
    /// One call of the fused ELF.
    pub fused: Duration,
}

/// One launch of the graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaunchReport {
    pub name: String,
    /// Elements compared, by the name of what it writes.
    pub compared: IndexMap<String, u64>,
    /// One call of the launch alone.
    pub unfused: Duration,
}

/// Runs and compares everything.
///
/// # Errors
/// AL0706 for the first difference of each check, AL0707 for a fault, AL0717 to AL0725 and AL0729 for launches with
/// channels that cannot go on; those of loading an ELF. Warnings: AL0712 for outputs that nobody writes. Notes: AL0717 for
/// launches that need more than [`BOUNDED_FIFO_BYTES`] in a stream.
pub fn verify(steps: &[Step], seed: u64, streams: StreamOptions, findings: &mut Findings) -> Result<Report, Reported> {
    let parts = load_programs(steps, findings)?;
    let memory = Memory::new(&parts, seed, findings)?;
    let caller =
        Caller::new().map_err(|e| findings.fail(Finding::error(codes::AL0801, format!("no stack to run on: {e}"))))?;
    let mut bench = Bench { parts: &parts, memory, caller, findings };
    bench.caller.set_stream_options(streams);
    let mut report = Report::default();
    let expected = bench.unfused(&mut report)?;
    report.checks.push("launch by launch");
    bench.by_launch(&expected)?;
    report.checks.push("as a whole");
    let with_nan = bench.whole(Variant::Plain, Poison::Nan, "as a whole", &expected, Some(&mut report))?;
    let mut failed = None;
    let mut with_zero = None;
    for (what, variant, poison) in [
        ("a second time in one process", Variant::Plain, Poison::Nan),
        ("with zeros in unwritten arguments", Variant::Plain, Poison::Zero),
        ("with NaN in fresh L1 and L2 buffers", Variant::PoisonNan, Poison::Nan),
        ("with zeros in fresh L1 and L2 buffers", Variant::PoisonZero, Poison::Nan),
        ("with launch points and tiles in reverse", Variant::Reversed, Poison::Nan),
    ] {
        if parts.iter().any(|p| matches!(p, Part::Elf(e) if e.fused(variant).is_none())) {
            continue;
        }
        report.checks.push(what);
        match bench.whole(variant, poison, what, &expected, None) {
            Ok(written) if poison == Poison::Zero => with_zero = Some(written),
            Ok(_) => {}
            Err(reported) => failed = Some(reported),
        }
    }
    if let Err(reported) = bench.schedules(streams, &expected, &mut report) {
        failed = Some(reported);
    }
    if let Some(with_zero) = with_zero.filter(|_| failed.is_none()) {
        bench.warn_unwritten(&with_nan, &with_zero);
    }
    failed.map_or(Ok(report), Err)
}

/// What a stream holds in the run that bounds them: the memory of a core.
const BOUNDED_FIFO_BYTES: u64 = 64 << 10;

/// The bytes of what was written, by buffer.
type Written = IndexMap<String, Vec<u8>>;

struct Bench<'a> {
    parts: &'a [Part],
    memory: Memory,
    caller: Caller,
    findings: &'a mut Findings,
}

impl Bench<'_> {
    /// Runs the launches alone; what each wrote, by ELF and launch.
    fn unfused(&mut self, report: &mut Report) -> Result<Vec<Vec<Written>>, Reported> {
        self.memory.reset(Poison::Nan);
        let mut expected = Vec::new();
        for part in self.parts {
            let program = match part {
                Part::Host { writes, index } => {
                    self.memory.host_step(writes, *index);
                    continue;
                }
                Part::Elf(program) => program,
            };
            let (mut launches, mut reports) = (Vec::new(), Vec::new());
            for elf in &program.unfused {
                let duration = self.call(elf, Entry::Program)?;
                let written = self.memory.copies(&programs::written_args(elf.manifest()));
                reports.push(LaunchReport {
                    name: elf.manifest().name.clone(),
                    compared: written.keys().map(|n| (n.clone(), self.memory.element_count(n))).collect(),
                    unfused: duration,
                });
                launches.push(written);
            }
            report.elfs.push(ElfReport {
                name: program.plain().manifest().name.clone(),
                launches: reports,
                fused: Duration::ZERO,
            });
            expected.push(launches);
        }
        Ok(expected)
    }

    /// Launches with channels once more: tiles in other orders, and streams that hold little.
    fn schedules(
        &mut self,
        streams: StreamOptions,
        expected: &[Vec<Written>],
        report: &mut Report,
    ) -> Result<(), Reported> {
        if !self.parts.iter().any(|p| matches!(p, Part::Elf(e) if e.plain().uses_streams())) {
            return Ok(());
        }
        for (what, schedule) in [
            ("with the newest tile first", Schedule::Newest),
            ("with tiles in a random order", Schedule::Seeded(1)),
            ("with tiles in another random order", Schedule::Seeded(2)),
        ] {
            report.checks.push(what);
            self.caller.set_stream_options(StreamOptions { schedule, ..streams });
            self.whole(Variant::Plain, Poison::Nan, what, expected, None)?;
        }
        if streams.fifo_bytes.is_some() {
            // The runs so far were bounded.
            let what = "with unbounded streams";
            report.checks.push(what);
            self.caller.set_stream_options(StreamOptions { fifo_bytes: None, ..streams });
            return self.whole(Variant::Plain, Poison::Nan, what, expected, None).map(drop);
        }
        let what = "with streams of 64 KiB";
        self.caller.set_stream_options(StreamOptions { fifo_bytes: Some(BOUNDED_FIFO_BYTES), ..streams });
        let mut said = Findings::default();
        said.sources = self.findings.sources.clone();
        std::mem::swap(self.findings, &mut said);
        let outcome = self.whole(Variant::Plain, Poison::Nan, what, expected, None);
        std::mem::swap(self.findings, &mut said);
        match outcome {
            Ok(_) => report.checks.push(what),
            // Not everything that runs on the device runs in little memory: that is for the user to judge.
            Err(_) if said.iter().all(|f| f.code == codes::AL0717) => {
                for finding in said.iter() {
                    let note = Finding { severity: airlink_diag::Severity::Note, ..finding.clone() };
                    self.findings.push(note);
                }
            }
            Err(reported) => {
                said.iter().for_each(|f| self.findings.push(f.clone()));
                return Err(reported);
            }
        }
        Ok(())
    }

    /// Runs the fused ELFs by their launch entries and compares after each launch of the graph.
    fn by_launch(&mut self, expected: &[Vec<Written>]) -> Result<(), Reported> {
        self.memory.reset(Poison::Nan);
        let mut expected = expected.iter();
        for part in self.parts {
            let program = match part {
                Part::Host { writes, index } => {
                    self.memory.host_step(writes, *index);
                    continue;
                }
                Part::Elf(program) => program,
            };
            let Some(launches) = expected.next() else { continue };
            let Some(groups) = program.launch_groups() else {
                // This ELF has no launch entries: its launches cannot be run apart.
                self.call(program.plain(), Entry::Program)?;
                continue;
            };
            for (group, written) in groups.into_iter().zip(launches) {
                for launch in group.clone() {
                    self.call(program.plain(), Entry::Launch(launch))?;
                }
                let manifest = program.plain().manifest();
                let name = group.start;
                let who = manifest.launches.get(name).map_or("?", |l| l.name.as_str()).to_string();
                let headline = |arg: &str| {
                    format!("launch `{who}` of `{}` writes other bits to `{arg}` fused than alone", manifest.name)
                };
                self.compare(written, Poison::Nan, headline)?;
            }
        }
        Ok(())
    }

    /// Runs the fused ELFs as a whole and compares after each; what they wrote.
    fn whole(
        &mut self,
        variant: Variant,
        poison: Poison,
        what: &str,
        expected: &[Vec<Written>],
        mut report: Option<&mut Report>,
    ) -> Result<Written, Reported> {
        self.memory.reset(poison);
        let mut all = Written::new();
        let mut elf_index = 0;
        for part in self.parts {
            let program = match part {
                Part::Host { writes, index } => {
                    self.memory.host_step(writes, *index);
                    continue;
                }
                Part::Elf(program) => program,
            };
            elf_index += 1;
            let Some(elf) = program.fused(variant) else { continue };
            let duration = self.call(elf, Entry::Program)?;
            if let Some(report) = report.as_deref_mut().and_then(|r| r.elfs.get_mut(elf_index - 1)) {
                report.fused = duration;
            }
            let mut last = Written::new();
            expected[elf_index - 1].iter().for_each(|w| last.extend(w.iter().map(|(n, b)| (n.clone(), b.clone()))));
            let name = elf.manifest().name.clone();
            self.compare(&last, poison, |arg| {
                format!("`{name}` run {what} writes other bits to `{arg}` than its launches alone")
            })?;
            let names: Vec<&str> = last.keys().map(String::as_str).collect();
            all.extend(self.memory.copies(&names));
        }
        Ok(all)
    }

    fn call(&mut self, elf: &HostElf, entry: Entry) -> Result<Duration, Reported> {
        let args = self.memory.arguments(elf.manifest());
        let call = self.caller.call(elf, entry, self.memory.buffers(), &args);
        call.map(|c| c.duration).map_err(|e| {
            let finding = crate::run::call_error(elf.manifest(), &e, &self.findings.sources);
            self.findings.fail(finding)
        })
    }

    /// Compares the buffers with what was written before; the first that differs is a finding.
    fn compare(
        &mut self,
        expected: &Written,
        poison: Poison,
        headline: impl Fn(&str) -> String,
    ) -> Result<(), Reported> {
        for (name, bytes) in expected {
            let Some((element, shape)) = self.memory.shape(name) else { continue };
            let found = self.memory.bytes(name);
            // Elements that nobody writes hold the poison of their run, and are told as such.
            let bytes = if poison == Poison::Zero { &as_unwritten(element, bytes, found) } else { bytes };
            match exact(element, &shape, bytes, found) {
                Ok(comparison) if comparison.is_equal() => {}
                Ok(comparison) => {
                    let finding = finding::differ(headline(name), &comparison);
                    // Whatever check finds it: what depends on memory that nobody filled differs for that reason.
                    let cause = self.fresh_memory()?;
                    return Err(self.findings.fail(cause.unwrap_or(finding)));
                }
                Err(error) => {
                    let finding = Finding::error(codes::AL0901, headline(name)).found(error.to_string());
                    return Err(self.findings.fail(finding));
                }
            }
        }
        Ok(())
    }
}

/// What a run with NaN expects of a run with zeros: elements that hold the poison in both become zero.
fn as_unwritten(element: Element, expected: &[u8], found: &[u8]) -> Vec<u8> {
    let mut expected = expected.to_vec();
    let size = element.size_bytes();
    for (e, f) in expected.chunks_exact_mut(size).zip(found.chunks_exact(size)) {
        if e.iter().all(|&b| b == Poison::Nan.byte()) && f.iter().all(|&b| b == Poison::Zero.byte()) {
            e.copy_from_slice(f);
        }
    }
    expected
}
