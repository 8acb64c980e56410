//! The proof of a link: the fused program, patched and run twice, does what its launches do one after the other, twice.
//!
//! It knows nothing of how the linker works: it applies relocations as the loader does, follows what the firmware skips,
//! and compares what is left.

use std::collections::BTreeMap;
use std::fmt;

use super::image::{Instance, NpuElf, SectionKind};
use super::link::LinkedLaunch;
use super::normal::{LoadCache, Loaded, NormalOp, Program, argument_address, canonical, operations};

/// The first operation in which the fused program differs from its launches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The launch whose operation is missing or other; none behind all of them.
    pub launch: Option<usize>,
    /// Whether only the second run differs.
    pub is_second_run: bool,
    /// What the launch does; none if it does nothing more.
    pub expected: Option<String>,
    /// What the fused program does, and where in its control code.
    pub found: Option<(usize, String)>,
}

/// Why there is no proof.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    #[error("{0}")]
    Differs(Difference),
    #[error("the fused program cannot be run: {0}")]
    Fused(String),
    #[error("launch {launch} cannot be run: {what}")]
    Launch { launch: usize, what: String },
}

/// How many dispatches are compared: in the second, what the first left in the firmware's cache counts.
const RUN_COUNT: usize = 2;

/// Proves that `elf`, which has one instance, does what `launches` do in order, each from a fresh array.
pub fn prove(elf: &NpuElf, launches: &[LinkedLaunch<'_>]) -> Result<(), ProofError> {
    let expected = expected(launches)?;
    let found = found(elf, launches)?;
    let is_same = |(e, f): (&Expected, &NormalOp)| e.op.kind == f.kind;
    let same = expected.iter().zip(&found).take_while(|pair| is_same(*pair)).count();
    if same == expected.len() && same == found.len() {
        return Ok(());
    }
    let (e, f) = (expected.get(same), found.get(same));
    Err(ProofError::Differs(Difference {
        launch: e.map(|e| e.launch),
        is_second_run: 2 * same >= expected.len(),
        expected: e.map(|e| e.op.kind.to_string()),
        found: f.map(|f| (f.offset, f.kind.to_string())),
    }))
}

struct Expected {
    launch: usize,
    op: NormalOp,
}

/// The launches' own operations. Each is run as if another program had run before it.
fn expected(launches: &[LinkedLaunch<'_>]) -> Result<Vec<Expected>, ProofError> {
    let mut one_run = Vec::new();
    for (launch, l) in launches.iter().enumerate() {
        let part = l.part;
        let (pdis, pm_packets) = (&part.pdis, &part.pm_packets);
        let program = Program { code: &part.code, data: part.data.as_ref(), pdis, pm_packets };
        let address = |number: u32| {
            let binding = l.bindings.get(number as usize)?;
            Some(argument_address(binding.argument) + binding.offset_bytes)
        };
        let list = operations(program, address, &mut LoadCache::default());
        let list = list.map_err(|what| ProofError::Launch { launch, what })?;
        // The place of an operation is of no use here; that of its launch is.
        one_run.extend(list.into_iter().map(|op| NormalOp { offset: launch, ..op }));
    }
    let runs = std::iter::repeat_n(one_run, RUN_COUNT).flatten().collect();
    Ok(canonical(runs).into_iter().map(|op| Expected { launch: op.offset, op }).collect())
}

fn found(elf: &NpuElf, launches: &[LinkedLaunch<'_>]) -> Result<Vec<NormalOp>, ProofError> {
    let mut instances = elf.instances();
    let (Some((_, instance)), None) = (instances.next(), instances.next()) else {
        return Err(ProofError::Fused("it has not one instance".to_string()));
    };
    let contents = Contents::of(elf);
    check_preemption(instance, launches)?;
    let program = contents.program(instance).ok_or_else(|| ProofError::Fused("it has no control code".to_string()))?;
    let loaded = Loaded::of(program, |n| Some(argument_address(n))).map_err(ProofError::Fused)?;
    let mut cache = LoadCache::default();
    let mut list = Vec::new();
    for _ in 0..RUN_COUNT {
        list.extend(loaded.run(&mut cache).map_err(ProofError::Fused)?);
    }
    Ok(canonical(list))
}

/// What saves and restores the array's state depends on the columns alone: it is that of every launch that has some.
fn check_preemption(instance: &Instance, launches: &[LinkedLaunch<'_>]) -> Result<(), ProofError> {
    let of_kind = |kind| instance.section(kind).map(|s| (&s.bytes, &s.relocations));
    let found = (of_kind(SectionKind::PreemptSave), of_kind(SectionKind::PreemptRestore));
    for (save, restore) in launches.iter().filter_map(|l| l.part.preemption.as_ref()) {
        let expected = [save, restore].map(|s| Some((&s.bytes, &s.relocations)));
        if (expected[0], expected[1]) != found {
            return Err(ProofError::Fused("its preemption code is not that of its launches".to_string()));
        }
    }
    Ok(())
}

/// The common sections of an ELF under the symbols that stand for them.
pub(crate) struct Contents {
    pdis: BTreeMap<std::sync::Arc<str>, std::sync::Arc<[u8]>>,
    pm_packets: BTreeMap<std::sync::Arc<str>, std::sync::Arc<[u8]>>,
}

impl Contents {
    pub fn of(elf: &NpuElf) -> Contents {
        let (mut pdis, mut pm_packets) = (BTreeMap::new(), BTreeMap::new());
        for section in elf.sections() {
            match section.kind {
                SectionKind::Pdi => drop(pdis.insert(section.name.as_str().into(), section.bytes.as_slice().into())),
                SectionKind::PmPackets => {
                    let symbol = section.name.trim_start_matches('.').replace('.', "-");
                    pm_packets.insert(symbol.into(), section.bytes.as_slice().into());
                }
                _ => {}
            }
        }
        Contents { pdis, pm_packets }
    }

    pub fn program<'p>(&'p self, instance: &'p Instance) -> Option<Program<'p>> {
        Some(Program {
            code: instance.section(SectionKind::ControlText)?,
            data: instance.section(SectionKind::ControlData),
            pdis: &self.pdis,
            pm_packets: &self.pm_packets,
        })
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let run = if self.is_second_run { "when it is run again, " } else { "" };
        let expected = self.expected.as_deref().unwrap_or("nothing more");
        let found = match &self.found {
            Some((offset, text)) => format!("{text} (at {offset:#x})"),
            None => "nothing more".to_string(),
        };
        match self.launch {
            Some(launch) => write!(f, "{run}launch {launch} does: {expected}; the fused program: {found}"),
            None => write!(f, "{run}the launches do: {expected}; the fused program: {found}"),
        }
    }
}
