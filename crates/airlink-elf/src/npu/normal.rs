//! Operations in normal form: what the array sees of control code once the loader has patched it, whatever numbers and
//! sections it is spelled with.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::bytes::words as words_of;
use super::control::{OpKind, Operation, Sync, control_code};
use super::image::{Section, SymbolUse};
use super::patch::{DDR_APERTURE, apply};
use super::pdi::pdi;
use super::registers::{Meaning, Register, TileKind};

/// One operation, and where it stands.
#[derive(Clone, Debug)]
pub struct NormalOp {
    /// In its control code.
    pub offset: usize,
    pub kind: NormalKind,
}

/// What an operation does to the array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NormalKind {
    /// A load that the firmware carries out: a reset and a configuration, by its content.
    Load {
        content: Option<Digest>,
        is_empty: bool,
    },
    Write {
        address: u32,
        value: u32,
    },
    MaskWrite {
        address: u32,
        value: u32,
        mask: u32,
    },
    MaskPoll {
        address: u32,
        value: u32,
        mask: u32,
        is_busy: bool,
    },
    /// Words as the array gets them.
    Block {
        address: u32,
        words: Vec<u32>,
    },
    /// So many that their digest stands in their place.
    LongBlock {
        address: u32,
        word_count: usize,
        digest: Digest,
    },
    /// A shim descriptor with the address of an argument, or of what `content` is the digest of.
    Descriptor {
        address: u32,
        words: [u32; 8],
        content: Option<Digest>,
    },
    Sync(Sync),
    Preempt {
        level: u8,
    },
    Scratchpad {
        usage: u8,
        size_bytes: u32,
    },
    /// A packet load of program memory, by its content.
    LoadPm {
        op_count: u32,
        content: Option<Digest>,
    },
    State {
        index: u8,
        function: u8,
        operand: u32,
        address: Option<u32>,
    },
    UpdateScratchpad,
    /// An operation whose payload nobody here reads.
    Other {
        code: u8,
        digest: Digest,
    },
}

/// BLAKE3.
pub type Digest = [u8; 32];

/// A stream with what its symbols stand for.
#[derive(Clone, Copy)]
pub struct Program<'p> {
    pub code: &'p Section,
    pub data: Option<&'p Section>,
    pub pdis: &'p BTreeMap<Arc<str>, Arc<[u8]>>,
    pub pm_packets: &'p BTreeMap<Arc<str>, Arc<[u8]>>,
}

/// Addresses that stand for nothing but themselves: each argument has 64 GiB of its own, and all else lies above.
const ARGUMENT_SHIFT: u32 = 36;
const ARGUMENT_COUNT: u64 = 1 << 9;
const DATA_BASE: u64 = 1 << 46;
const PM_BASE: u64 = (1 << 46) + (1 << 45);
const PDI_BASE: u64 = 1 << 47;
const SECTION_SHIFT: u32 = 32;

/// The address of an argument in [`operations`]; low bits too differ from one to the next.
pub fn argument_address(argument: u32) -> u64 {
    let number = u64::from(argument) % ARGUMENT_COUNT + 1;
    number << ARGUMENT_SHIFT | number << 16
}

/// The firmware's memory of what it loaded last, by address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadCache(Option<u64>);

/// The operations of a program with arguments at `address_of`, one dispatch after what left `cache` behind.
///
/// Loads that the firmware skips are left out, and so are operations without effect. The error is the end of a sentence
/// about the program.
pub fn operations(
    program: Program<'_>,
    address_of: impl Fn(u32) -> Option<u64>,
    cache: &mut LoadCache,
) -> Result<Vec<NormalOp>, String> {
    Loaded::of(program, address_of)?.run(cache)
}

/// A program as the loader leaves it in memory.
pub(crate) struct Loaded<'p> {
    places: Places<'p>,
    code: Vec<u8>,
    data: Option<Vec<u8>>,
}

impl<'p> Loaded<'p> {
    pub fn of(program: Program<'p>, address_of: impl Fn(u32) -> Option<u64>) -> Result<Loaded<'p>, String> {
        let places = Places::of(program);
        let code = places.patched(program.code, &address_of)?;
        let data = program.data.map(|d| places.patched(d, &address_of)).transpose()?;
        Ok(Loaded { places, code, data })
    }

    /// One dispatch.
    pub fn run(&self, cache: &mut LoadCache) -> Result<Vec<NormalOp>, String> {
        let mut out = Vec::new();
        for operation in control_code(&self.code).map_err(|e| e.to_string())?.operations() {
            let operation = operation.map_err(|e| e.to_string())?;
            normalise(&operation, &self.places, self.data.as_deref(), cache, &mut out);
        }
        Ok(out)
    }
}

/// What is at which address, but for arguments.
struct Places<'p> {
    by_symbol: BTreeMap<&'p str, u64>,
    by_address: BTreeMap<u64, &'p Arc<[u8]>>,
}

impl<'p> Places<'p> {
    fn of(program: Program<'p>) -> Places<'p> {
        let (mut by_symbol, mut by_address) = (BTreeMap::new(), BTreeMap::new());
        for (base, list) in [(PM_BASE, program.pm_packets), (PDI_BASE, program.pdis)] {
            for (number, (symbol, content)) in list.iter().enumerate() {
                let address = base + ((number as u64 & 0x1fff) << SECTION_SHIFT);
                by_symbol.insert(&**symbol, address);
                by_address.insert(address, content);
            }
        }
        Places { by_symbol, by_address }
    }

    fn patched(&self, section: &Section, address_of: &impl Fn(u32) -> Option<u64>) -> Result<Vec<u8>, String> {
        let mut bytes = section.bytes.clone();
        for relocation in &section.relocations {
            let symbol = &relocation.symbol;
            let address = match SymbolUse::of(symbol, 0) {
                SymbolUse::Argument(number) => address_of(number),
                SymbolUse::ControlData => Some(DATA_BASE),
                SymbolUse::ScratchMemory | SymbolUse::ScratchControl => Some(0),
                SymbolUse::Pdi | SymbolUse::PmPackets => self.by_symbol.get(&**symbol).copied(),
                SymbolUse::Unknown => None,
            };
            let place = || format!("`{}` at {:#x}", section.name, relocation.offset);
            let address = address.ok_or_else(|| format!("{} wants `{symbol}`, which is not there", place()))?;
            apply(&mut bytes, relocation, address).map_err(|e| format!("{} cannot be patched: {e}", place()))?;
        }
        Ok(bytes)
    }

    fn content(&self, address: u64) -> Option<&'p Arc<[u8]>> {
        self.by_address.get(&address).copied()
    }
}

fn digest(bytes: &[u8]) -> Digest {
    *blake3::hash(bytes).as_bytes()
}

fn normalise(
    operation: &Operation<'_>,
    places: &Places<'_>,
    data: Option<&[u8]>,
    cache: &mut LoadCache,
    out: &mut Vec<NormalOp>,
) {
    let offset = operation.offset;
    let mut push = |kind| out.push(NormalOp { offset, kind });
    match operation.kind {
        OpKind::Noop | OpKind::Patch { .. } => {}
        OpKind::LoadPdi { address, .. } => {
            if cache.0.replace(address) == Some(address) {
                return;
            }
            let content = places.content(address);
            let is_empty = content.is_some_and(|c| pdi(c).is_ok_and(|p| p.is_empty()));
            push(NormalKind::Load { content: content.map(|c| digest(c)), is_empty });
        }
        OpKind::Write { address, value } => push(NormalKind::Write { address, value }),
        OpKind::MaskWrite { address, value, mask } => push(NormalKind::MaskWrite { address, value, mask }),
        OpKind::MaskPoll { address, value, mask, is_busy } => {
            push(NormalKind::MaskPoll { address, value, mask, is_busy });
        }
        OpKind::BlockWrite { address, payload } => block(address, payload, places, data, &mut push),
        OpKind::Sync(sync) => push(NormalKind::Sync(sync)),
        OpKind::Preempt { level } => push(NormalKind::Preempt { level }),
        OpKind::CreateScratchpad { usage, size_bytes, .. } => push(NormalKind::Scratchpad { usage, size_bytes }),
        OpKind::LoadPm { op_count, id } => {
            let symbol = format!("ctrlpkt-pm-{id}");
            let content = places.by_symbol.get(symbol.as_str()).and_then(|a| places.content(*a));
            push(NormalKind::LoadPm { op_count, content: content.map(|c| digest(c)) });
        }
        OpKind::UpdateState { index, function, operand } => {
            push(NormalKind::State { index, function, operand, address: None });
        }
        OpKind::UpdateRegister { index, function, operand, address } => {
            push(NormalKind::State { index, function, operand, address: Some(address) });
        }
        OpKind::UpdateScratchpad => push(NormalKind::UpdateScratchpad),
        OpKind::ReadRegisters | OpKind::RecordTimer | OpKind::MergeSync => {
            push(NormalKind::Other { code: operation.bytes[0], digest: digest(&operation.bytes[4..]) });
        }
    }
}

/// Longest block whose words are kept.
const SHORT_BLOCK_BYTES: usize = 32;

/// Shim descriptors one by one, what stands between them as words.
fn block(address: u32, payload: &[u8], places: &Places<'_>, data: Option<&[u8]>, push: &mut impl FnMut(NormalKind)) {
    let register = Register::of(address);
    let is_descriptors = register.tile_kind() == TileKind::Shim
        && matches!(register.meaning(), Meaning::BdWord { word: 0, .. })
        && payload.len().is_multiple_of(0x20);
    if !is_descriptors && payload.len() > SHORT_BLOCK_BYTES {
        return push(NormalKind::LongBlock { address, word_count: payload.len() / 4, digest: digest(payload) });
    }
    if !is_descriptors {
        return push(NormalKind::Block { address, words: words_of(payload).collect() });
    }
    for (i, chunk) in payload.chunks_exact(0x20).enumerate() {
        let mut words = [0; 8];
        words.iter_mut().zip(words_of(chunk)).for_each(|(w, value)| *w = value);
        let at = (u64::from(words[2] & 0xffff) << 32 | u64::from(words[1])).wrapping_sub(DDR_APERTURE);
        // The buffer of control packets is one for all parts: what a descriptor reads of it counts, not where.
        let content = content_at(at, words[0] as usize * 4, places, data);
        if content.is_some() {
            words[1] = 0;
            words[2] &= 0xffff_0000;
        }
        push(NormalKind::Descriptor { address: address.wrapping_add(i as u32 * 0x20), words, content });
    }
}

fn content_at(at: u64, length_bytes: usize, places: &Places<'_>, data: Option<&[u8]>) -> Option<Digest> {
    let part = |bytes: &[u8], start: u64| {
        let rest = bytes.get(usize::try_from(start).ok()?..)?;
        Some(digest(&rest[..length_bytes.min(rest.len())]))
    };
    if (PM_BASE..PDI_BASE).contains(&at) {
        let base = at >> SECTION_SHIFT << SECTION_SHIFT;
        return part(places.content(base)?, at - base);
    }
    if (DATA_BASE..PM_BASE).contains(&at) { part(data?, at - DATA_BASE) } else { None }
}

/// Takes out what two spellings of one program may differ in: a reset directly in front of a load, which resets by
/// itself; a scratchpad made again; a reset at the very end.
pub fn canonical(list: Vec<NormalOp>) -> Vec<NormalOp> {
    let mut out: Vec<NormalOp> = Vec::with_capacity(list.len());
    let mut has_scratchpad = false;
    let is_reset = |op: &NormalOp| matches!(op.kind, NormalKind::Load { is_empty: true, .. });
    for op in list {
        match op.kind {
            NormalKind::Scratchpad { .. } if std::mem::replace(&mut has_scratchpad, true) => continue,
            NormalKind::Load { .. } => drop(out.pop_if(|last| is_reset(last))),
            _ => {}
        }
        out.push(op);
    }
    while out.pop_if(|last| is_reset(last)).is_some() {}
    out
}

impl fmt::Display for NormalKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NormalKind::Load { content: None, .. } => f.write_str("load of nothing that is known"),
            NormalKind::Load { is_empty: true, .. } => f.write_str("reset"),
            NormalKind::Load { content: Some(content), .. } => write!(f, "load of {}", short(content)),
            NormalKind::Write { address, value } => write!(f, "write {} = {value:#x}", Register::of(*address)),
            NormalKind::MaskWrite { address, value, mask } => {
                write!(f, "write {} = {value:#x} & {mask:#x}", Register::of(*address))
            }
            NormalKind::MaskPoll { address, value, mask, .. } => {
                write!(f, "wait for {} & {mask:#x} = {value:#x}", Register::of(*address))
            }
            NormalKind::Block { address, words } => {
                write!(f, "{} words to {}: {words:x?}", words.len(), Register::of(*address))
            }
            NormalKind::LongBlock { address, word_count, digest } => {
                write!(f, "{word_count} words to {}: {}", Register::of(*address), short(digest))
            }
            NormalKind::Descriptor { address, words, content } => {
                write!(f, "{}: {} words ", Register::of(*address), words[0])?;
                match content {
                    Some(content) => write!(f, "of packets {}", short(content)),
                    None => f.write_str(&place_text(u64::from(words[2] & 0xffff) << 32 | u64::from(words[1]))),
                }
            }
            NormalKind::Sync(s) => {
                let way = if s.direction == 0 { "S2MM" } else { "MM2S" };
                write!(f, "wait for a token of {way} {} in column {}, row {}", s.channel, s.column, s.row)
            }
            NormalKind::Preempt { level } => write!(f, "preemption point of level {level}"),
            NormalKind::Scratchpad { size_bytes, .. } => write!(f, "scratchpad of {size_bytes} bytes"),
            NormalKind::LoadPm { content, .. } => {
                write!(f, "program memory {}", content.as_ref().map_or("unknown".to_string(), short))
            }
            NormalKind::State { index, .. } => write!(f, "state {index}"),
            NormalKind::UpdateScratchpad => f.write_str("scratchpad update"),
            NormalKind::Other { code, .. } => write!(f, "operation {code:#04x}"),
        }
    }
}

fn short(digest: &Digest) -> String {
    digest[..6].iter().map(|b| format!("{b:02x}")).collect()
}

/// An address of the normal form in words.
fn place_text(address: u64) -> String {
    let at = address.wrapping_sub(DDR_APERTURE);
    match (at >> ARGUMENT_SHIFT).checked_sub(1).filter(|n| *n < ARGUMENT_COUNT) {
        Some(argument) => {
            let offset = at.wrapping_sub(argument_address(argument as u32));
            format!("at argument {argument} + {offset:#x}")
        }
        None => format!("at {address:#x}"),
    }
}
