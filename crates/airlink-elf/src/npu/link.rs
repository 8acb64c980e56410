//! Fuses compiled kernels: their control code one after the other, as one kernel of one ELF.
//!
//! The firmware caches the address of the configuration that it loaded last, and skips a load of the same: the reset
//! with it. So neighbours never share a section, even where their configurations are equal, and neither do the last
//! load and the first, since a program is run more than once. Source: github.com/Xilinx/mlir-aie, pull request 3622.

mod stream;

use std::sync::Arc;

use super::bytes::align_up;
use super::image::{
    ElfAbi, Instance, Kernel, NpuElf, OsAbi, Relocation, Scheme, Section, SectionKind, Signature, SymbolUse, UidForm,
};
use super::part::{MAIN_KERNEL, Part};
use super::pdi::empty_pdi;
use stream::Stream;

/// One kernel invocation of the fused program.
#[derive(Clone, Debug)]
pub struct LinkedLaunch<'p> {
    pub name: String,
    pub part: &'p Part,
    /// Per argument of the part.
    pub bindings: Vec<Binding>,
}

/// What a part's argument is in the fused program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    pub argument: u32,
    /// From that argument's start; a multiple of four.
    pub offset_bytes: u64,
}

/// How the fused ELF is called and written.
#[derive(Clone, Debug)]
pub struct LinkOptions {
    /// The instance's id: a host program opens `main:<instance>`.
    pub instance: String,
    pub argument_count: usize,
    pub abi: ElfAbi,
    /// Rules to break, so that tests can show who notices.
    pub omit: Omit,
}

/// Rules that a linker must not forget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Omit {
    /// Equal configurations share one section.
    pub alternation: bool,
    /// The last load may be the first.
    pub closing_reset: bool,
}

/// A fused ELF and where each launch's operations stand in its control code.
#[derive(Clone, Debug)]
pub struct Linked {
    pub elf: NpuElf,
    /// Byte ranges of `.ctrltext`, per launch.
    pub ranges: Vec<std::ops::Range<u32>>,
    /// Whether a load was appended that makes the last differ from the first.
    pub has_closing_reset: bool,
}

/// Why launches cannot be linked. `launch` is a position in the list of launches.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    #[error("the control code of launch {launch} has another header than that of the first")]
    Header { launch: usize },
    #[error("launch {launch} does not begin with a load of its configuration")]
    NoReset { launch: usize },
    #[error("launch {launch} takes {taken} arguments, and {given} are bound")]
    ArgumentCount { launch: usize, taken: usize, given: usize },
    #[error("launch {launch} refers to argument {argument}, which it does not have")]
    Argument { launch: usize, argument: u32 },
    #[error("argument {argument} of launch {launch} starts at byte {offset_bytes}, which no descriptor can say")]
    Offset { launch: usize, argument: u32, offset_bytes: u64 },
    #[error("the preemption code of launch {launch} is another than that of launch {first}")]
    Preemption { launch: usize, first: usize },
    #[error("launch {launch} can be preempted and has no code that saves the array's state")]
    NoPreemption { launch: usize },
    #[error("launch {launch} wants a scratchpad of {bytes} bytes, launch {first} one of {first_bytes}")]
    Scratchpad { launch: usize, bytes: u32, first: usize, first_bytes: u32 },
    #[error("launches {first} and {launch} both keep state in the scratchpad")]
    State { launch: usize, first: usize },
    #[error("a relocation of launch {launch} at {offset:#x} is in no operation that can be moved")]
    Relocation { launch: usize, offset: u32 },
    #[error("the control code of launch {launch} cannot be used: {what}")]
    Code { launch: usize, what: String },
    #[error("the fused program has more {what} than {max}")]
    TooMany { what: &'static str, max: u32 },
    #[error("there is nothing to link")]
    Nothing,
}

impl LinkError {
    /// The launch that it is about, and the one with which that does not agree.
    pub fn launches(&self) -> (Option<usize>, Option<usize>) {
        match *self {
            LinkError::Header { launch } => (Some(launch), Some(0)),
            LinkError::Preemption { launch, first }
            | LinkError::Scratchpad { launch, first, .. }
            | LinkError::State { launch, first } => (Some(launch), Some(first)),
            LinkError::NoReset { launch }
            | LinkError::ArgumentCount { launch, .. }
            | LinkError::Argument { launch, .. }
            | LinkError::Offset { launch, .. }
            | LinkError::NoPreemption { launch }
            | LinkError::Relocation { launch, .. }
            | LinkError::Code { launch, .. } => (Some(launch), None),
            LinkError::TooMany { .. } | LinkError::Nothing => (None, None),
        }
    }
}

/// From one part's control packets to the next one's.
const DATA_ALIGNMENT: usize = 32;

/// What aiebu takes. Source: `aie2_blob_preprocessor_input.h` of github.com/Xilinx/aiebu.
const ARGUMENTS_MAX: usize = 512;

/// Links `launches` in order.
///
/// Errors: what the parts must agree in, all of them at once.
pub fn link(launches: &[LinkedLaunch<'_>], options: &LinkOptions) -> Result<Linked, Vec<LinkError>> {
    let first = launches.first().ok_or_else(|| vec![LinkError::Nothing])?;
    if options.argument_count > ARGUMENTS_MAX {
        return Err(vec![LinkError::TooMany { what: "arguments", max: ARGUMENTS_MAX as u32 }]);
    }
    let errors = preconditions(launches);
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut stream = Stream::new(first.part.header, options);
    let (mut data, mut data_relocations, mut ranges) = (Vec::new(), Vec::new(), Vec::<std::ops::Range<u32>>::new());
    for (position, launch) in launches.iter().enumerate() {
        let data_base = add_data(position, launch, &mut data, &mut data_relocations).map_err(|e| vec![e])?;
        ranges.push(stream.append(position, launch, data_base).map_err(|e| vec![e])?);
    }
    let has_closing_reset = stream.close(&empty_pdi().into()).map_err(|e| vec![e])?;
    // A launch may have begun in place of the reset that ended the one before.
    for later in (1..ranges.len()).rev() {
        ranges[later - 1].end = ranges[later - 1].end.min(ranges[later].start);
    }
    let (code, relocations, mut common) = stream.finish().map_err(|e| vec![e])?;
    // As AMD's tool orders them, so that ten stands before two.
    common.sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
    let mut sections = Vec::new();
    let mut add = |kind: SectionKind, bytes, relocations| {
        sections.push(Section { kind, name: format!("{}.0", kind.stem()), bytes, relocations });
    };
    if !data.is_empty() {
        add(SectionKind::ControlData, data, data_relocations);
    }
    add(SectionKind::ControlText, code, relocations);
    if let Some((save, restore)) = launches.iter().find_map(|l| l.part.preemption.as_ref()) {
        add(SectionKind::PreemptRestore, restore.bytes.clone(), restore.relocations.clone());
        add(SectionKind::PreemptSave, save.bytes.clone(), save.relocations.clone());
    }
    let signature = Some(Signature::of_buffers(MAIN_KERNEL, options.argument_count));
    let instance = Instance { id: options.instance.clone(), sections };
    let elf = NpuElf {
        os_abi: OsAbi::AIE2P,
        abi: options.abi,
        common,
        kernels: vec![Kernel { signature, instances: vec![instance] }],
        column_count: Some(u32::from(first.part.header.column_count)),
        uid: UidForm::Raw,
        stated_uid: None,
        extra: Vec::new(),
    };
    Ok(Linked { elf, ranges, has_closing_reset })
}

/// What can be said of parts without looking at their operations.
fn preconditions(launches: &[LinkedLaunch<'_>]) -> Vec<LinkError> {
    let mut errors = Vec::new();
    let fixed = |l: &LinkedLaunch<'_>| {
        let h = l.part.header;
        (h.major, h.minor, h.generation, h.row_count, h.column_count, h.memtile_row_count)
    };
    let preempting = launches.iter().enumerate().find_map(|(i, l)| Some((i, l.part.preemption.as_ref()?)));
    for (launch, l) in launches.iter().enumerate() {
        if fixed(l) != fixed(&launches[0]) {
            errors.push(LinkError::Header { launch });
        }
        let (taken, given) = (l.part.argument_count, l.bindings.len());
        if taken != given {
            errors.push(LinkError::ArgumentCount { launch, taken, given });
        }
        for (argument, binding) in l.bindings.iter().enumerate().filter(|(_, b)| b.offset_bytes % 4 != 0) {
            let offset_bytes = binding.offset_bytes;
            errors.push(LinkError::Offset { launch, argument: argument as u32, offset_bytes });
        }
        if let (Some((first, wanted)), Some(own)) = (preempting, l.part.preemption.as_ref()) {
            let same = |a: &Section, b: &Section| a.bytes == b.bytes && a.relocations == b.relocations;
            if !same(&wanted.0, &own.0) || !same(&wanted.1, &own.1) {
                errors.push(LinkError::Preemption { launch, first });
            }
        }
    }
    errors
}

/// Appends a part's control packets; the place where they start.
fn add_data(
    launch: usize,
    l: &LinkedLaunch<'_>,
    data: &mut Vec<u8>,
    relocations: &mut Vec<Relocation>,
) -> Result<u32, LinkError> {
    let Some(own) = &l.part.data else { return Ok(0) };
    let too_many = LinkError::TooMany { what: "bytes of control packets", max: u32::MAX };
    let base = align_up(data.len(), DATA_ALIGNMENT).ok_or(too_many.clone())?;
    let base_word = u32::try_from(base).map_err(|_| too_many)?;
    data.resize(base, 0);
    data.extend_from_slice(&own.bytes);
    for relocation in &own.relocations {
        let moved = relocated(launch, l, relocation)?;
        // Nothing can be written into a packet's address beforehand: what the array holds there is not an offset.
        let addend = u32::try_from(moved.addend).map_err(|_| moved.out_of_range(launch))?;
        relocations.push(Relocation { offset: relocation.offset + base_word, addend, ..moved.relocation });
    }
    Ok(base_word)
}

/// A relocation against the fused program's symbols, whose addend may not fit it yet.
struct Moved {
    relocation: Relocation,
    addend: u64,
    argument: u32,
}

impl Moved {
    fn out_of_range(&self, launch: usize) -> LinkError {
        LinkError::Offset { launch, argument: self.argument, offset_bytes: self.addend }
    }
}

/// Names arguments anew and adds their offsets; other symbols are kept.
fn relocated(launch: usize, l: &LinkedLaunch<'_>, relocation: &Relocation) -> Result<Moved, LinkError> {
    let SymbolUse::Argument(argument) = SymbolUse::of(&relocation.symbol, 0) else {
        return Ok(Moved { relocation: relocation.clone(), addend: relocation.addend.into(), argument: 0 });
    };
    let binding = l.bindings.get(argument as usize).ok_or(LinkError::Argument { launch, argument })?;
    let symbol: Arc<str> = binding.argument.to_string().into();
    let addend = u64::from(relocation.addend).saturating_add(binding.offset_bytes);
    let moved = Moved { relocation: Relocation { symbol, ..relocation.clone() }, addend, argument };
    // The loader leaves the addend of such a word out.
    if relocation.scheme == Scheme::SCALAR_32 && binding.offset_bytes != 0 {
        return Err(moved.out_of_range(launch));
    }
    Ok(moved)
}
