//! The fused control code while it grows.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::npu::bytes::{put_u16, put_u32};
use crate::npu::control::{CONTROL_HEADER_BYTES, ControlHeader, OpKind, Operation, control_code, patch_fields};
use crate::npu::derive::{Naming, Site, bake_shim_address, sites};
use crate::npu::emit;
use crate::npu::image::{Relocation, Scheme, Section, SectionKind, SymbolUse};
use crate::npu::pdi::pdi;

use super::{LinkError, LinkOptions, LinkedLaunch, Omit, relocated};

/// Operations, their relocations, and the configurations that they load.
pub(super) struct Stream {
    header: ControlHeader,
    /// Header included, whose counts are filled in at the end.
    bytes: Vec<u8>,
    op_count: u32,
    relocations: Vec<Relocation>,
    pdis: Pool,
    pm_packets: Pool,
    /// Loads so far, in order.
    loads: Vec<Load>,
    /// Where the launch that is being appended begins.
    start: usize,
    /// The launch that made the scratchpad, and its size.
    scratchpad: Option<(usize, u32)>,
    /// The launch that keeps state there.
    state: Option<usize>,
    /// What stands in for the argument that holds control packets.
    packet_argument: u32,
    omit: Omit,
}

struct Load {
    /// Of the operation, in `bytes`.
    at: usize,
    id: u16,
    is_empty: bool,
}

/// More than any program needs, and few enough for the proof to give each an address of its own.
const CONFIGURATIONS_MAX: u16 = 4096;

/// Contents under numbers, counted from 1.
#[derive(Default)]
struct Pool {
    contents: Vec<Arc<[u8]>>,
    /// Whether a configuration does nothing but reset the array; kept with its content.
    is_empty: Vec<bool>,
    by_hash: BTreeMap<[u8; 32], Vec<u16>>,
}

impl Pool {
    /// A number of `content` for which `is_fit` holds; a new one where none is.
    fn number(&mut self, content: &Arc<[u8]>, is_fit: impl Fn(u16) -> bool) -> Result<u16, LinkError> {
        let numbers = self.by_hash.entry(*blake3::hash(content).as_bytes()).or_default();
        if let Some(number) = numbers.iter().copied().find(|n| is_fit(*n)) {
            return Ok(number);
        }
        let too_many = LinkError::TooMany { what: "configurations", max: CONFIGURATIONS_MAX.into() };
        let number = u16::try_from(self.contents.len() + 1).ok().filter(|n| *n <= CONFIGURATIONS_MAX);
        let number = number.ok_or(too_many)?;
        numbers.push(number);
        self.contents.push(content.clone());
        self.is_empty.push(pdi(content).is_ok_and(|p| p.is_empty()));
        Ok(number)
    }

    fn sections(&self, kind: SectionKind) -> impl Iterator<Item = Section> + '_ {
        self.contents.iter().enumerate().map(move |(i, content)| Section {
            kind,
            name: format!("{}.{}", kind.stem(), i + 1),
            bytes: content.to_vec(),
            relocations: Vec::new(),
        })
    }
}

/// What is known of a launch while its operations are appended.
struct Appending<'l, 'p> {
    position: usize,
    launch: &'l LinkedLaunch<'p>,
    data_base: u32,
    /// By offset in the part's code; each is taken out once it is placed.
    relocations: BTreeMap<u32, Vec<&'p Relocation>>,
    /// Per `DDR_PATCH`, by its offset, the relocation that it is about.
    patches: BTreeMap<usize, &'p Relocation>,
    /// The part's own number of the configuration that it loaded last.
    last_own: Option<u16>,
    has_loaded: bool,
}

impl Stream {
    pub fn new(header: ControlHeader, options: &LinkOptions) -> Stream {
        Stream {
            header,
            bytes: vec![0; CONTROL_HEADER_BYTES],
            op_count: 0,
            relocations: Vec::new(),
            pdis: Pool::default(),
            pm_packets: Pool::default(),
            loads: Vec::new(),
            start: CONTROL_HEADER_BYTES,
            scratchpad: None,
            state: None,
            packet_argument: options.argument_count as u32,
            omit: options.omit,
        }
    }

    /// Appends a launch's operations; where they stand.
    pub fn append(
        &mut self,
        position: usize,
        launch: &LinkedLaunch<'_>,
        data_base: u32,
    ) -> Result<Range<u32>, LinkError> {
        let part = launch.part;
        let unusable = |what: String| LinkError::Code { launch: position, what };
        let mut relocations: BTreeMap<u32, Vec<&Relocation>> = BTreeMap::new();
        for relocation in &part.code.relocations {
            relocations.entry(relocation.offset).or_default().push(relocation);
        }
        let pm_ids = part.pm_packets.keys().filter_map(|k| k.rsplit('-').next()?.parse().ok()).collect();
        let found = sites(&part.code.bytes, &Naming { pm_ids, ..Naming::default() });
        let found = found.map_err(|e| unusable(e.to_string()))?;
        let about = |s: &Site| Some((s.patch_at?, *relocations.get(&s.relocation.offset)?.first()?));
        let patches = found.iter().filter_map(about).collect();
        let mut own =
            Appending { position, launch, data_base, relocations, patches, last_own: None, has_loaded: false };
        self.start = self.bytes.len();
        self.bytes.reserve(part.code.bytes.len());
        for operation in control_code(&part.code.bytes).map_err(|e| unusable(e.to_string()))?.operations() {
            self.operation(&operation.map_err(|e| unusable(e.to_string()))?, &mut own)?;
        }
        if !own.has_loaded {
            return Err(LinkError::NoReset { launch: position });
        }
        if let Some(offset) = own.relocations.keys().next() {
            return Err(LinkError::Relocation { launch: position, offset: *offset });
        }
        u32::try_from(self.bytes.len())
            .map(|end| self.start as u32..end)
            .map_err(|_| LinkError::TooMany { what: "bytes of control code", max: u32::MAX })
    }

    fn operation(&mut self, operation: &Operation<'_>, own: &mut Appending<'_, '_>) -> Result<(), LinkError> {
        let launch = own.position;
        match &operation.kind {
            OpKind::LoadPdi { id, .. } => return self.load(operation, *id, own),
            OpKind::CreateScratchpad { size_bytes, .. } => match self.scratchpad {
                None => self.scratchpad = Some((launch, *size_bytes)),
                Some((first, first_bytes)) if first_bytes != *size_bytes => {
                    return Err(LinkError::Scratchpad { launch, bytes: *size_bytes, first, first_bytes });
                }
                Some(_) => {
                    // There is one for all: made once.
                    own.relocations.retain(|at, _| !range_of(operation).contains(at));
                    return Ok(());
                }
            },
            OpKind::Noop => {}
            _ if !own.has_loaded => return Err(LinkError::NoReset { launch }),
            OpKind::UpdateState { .. } | OpKind::UpdateRegister { .. } | OpKind::UpdateScratchpad => {
                let first = *self.state.get_or_insert(launch);
                if first != launch {
                    return Err(LinkError::State { launch, first });
                }
            }
            OpKind::Preempt { .. } if own.launch.part.preemption.is_none() => {
                return Err(LinkError::NoPreemption { launch });
            }
            _ => {}
        }
        let at = self.push(operation.bytes);
        match &operation.kind {
            OpKind::LoadPm { id, .. } => self.number_pm(at, *id, own)?,
            OpKind::Patch { argument, offset_bytes, .. } => {
                self.patch(at, operation, (*argument, *offset_bytes), own)?;
            }
            _ => {}
        }
        self.place_relocations(at, operation, own)
    }

    /// Appends an operation's bytes; where they start.
    fn push(&mut self, bytes: &[u8]) -> usize {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.op_count += 1;
        at
    }

    /// A load of another section than the one before. Two loads of one section that the part itself has in a row stay so.
    fn load(&mut self, operation: &Operation<'_>, id: u16, own: &mut Appending<'_, '_>) -> Result<(), LinkError> {
        let unplaced = |offset: usize| LinkError::Relocation { launch: own.position, offset: offset as u32 };
        let relocation = own.relocations.remove(&(operation.offset as u32 + 8)).unwrap_or_default();
        let [relocation] = relocation[..] else { return Err(unplaced(operation.offset)) };
        let content = own.launch.part.pdis.get(&relocation.symbol).ok_or_else(|| unplaced(operation.offset))?;
        let is_repeated = own.last_own == Some(id);
        if !is_repeated {
            self.drop_reset_before_load();
        }
        let last = self.loads.last().map(|l| l.id);
        let alternates = !self.omit.alternation;
        let number = self.pdis.number(content, |n| match is_repeated {
            true => Some(n) == last,
            false => !alternates || Some(n) != last,
        })?;
        own.last_own = Some(id);
        own.has_loaded = true;
        let at = self.push(operation.bytes);
        self.place_load(at, number, relocation.size);
        Ok(())
    }

    fn place_load(&mut self, at: usize, number: u16, size: u32) {
        put_u16(&mut self.bytes, at + 2, number);
        let relocation = emit::load_relocation(at, format!(".pdi.{number}").into());
        self.relocations.push(Relocation { size, ..relocation });
        let is_empty = self.pdis.is_empty[usize::from(number) - 1];
        self.loads.push(Load { at, id: number, is_empty });
    }

    /// A reset that the next load makes anyway is taken out: what ends one launch and what begins the next.
    fn drop_reset_before_load(&mut self) {
        let is_last = |load: &Load| load.is_empty && load.at + emit::LOAD_BYTES == self.bytes.len();
        let Some(load) = self.loads.pop_if(|load| is_last(load)) else { return };
        self.bytes.truncate(load.at);
        self.relocations.pop();
        self.op_count -= 1;
        self.start = self.start.min(load.at);
    }

    fn number_pm(&mut self, at: usize, id: u32, own: &Appending<'_, '_>) -> Result<(), LinkError> {
        if let Some(content) = own.launch.part.pm_packets.get(format!("ctrlpkt-pm-{id}").as_str()) {
            let number = self.pm_packets.number(content, |_| true)?;
            put_u32(&mut self.bytes, at + 4, number.into());
        }
        Ok(())
    }

    /// Keeps the operation in step with its relocation, so that deriving the relocations anew gives the same.
    fn patch(
        &mut self,
        at: usize,
        operation: &Operation<'_>,
        (argument, offset_bytes): (u32, u64),
        own: &Appending<'_, '_>,
    ) -> Result<(), LinkError> {
        let launch = own.position;
        let relocation = own.patches.get(&operation.offset).copied();
        let symbol = relocation.map(|r| SymbolUse::of(&r.symbol, 0));
        let (number, offset_bytes) = match symbol {
            Some(SymbolUse::ControlData) => (self.packet_argument, offset_bytes.saturating_add(own.data_base.into())),
            Some(SymbolUse::Argument(own_argument)) => {
                let binding = own.launch.bindings.get(own_argument as usize);
                let binding = binding.ok_or(LinkError::Argument { launch, argument: own_argument })?;
                // The relocation says what is patched, and in a stream for an xclbin its addend differs from this.
                let is_wide = u32::try_from(offset_bytes).is_err();
                let addend = relocation.filter(|_| !is_wide).map_or(offset_bytes, |r| r.addend.into());
                (binding.argument, addend.saturating_add(binding.offset_bytes))
            }
            _ => (argument, offset_bytes),
        };
        let (number_at, offset_at) = patch_fields(operation.bytes.len());
        let too_many = LinkError::TooMany { what: "arguments", max: 255 };
        match operation.bytes.len() {
            24 => self.bytes[at + number_at] = u8::try_from(number).map_err(|_| too_many)?,
            _ => drop(put_u32(&mut self.bytes, at + number_at, number)),
        }
        put_u32(&mut self.bytes, at + offset_at, offset_bytes as u32);
        put_u32(&mut self.bytes, at + offset_at + 4, (offset_bytes >> 32) as u32);
        Ok(())
    }

    /// Moves the relocations of one operation along with it.
    fn place_relocations(
        &mut self,
        at: usize,
        operation: &Operation<'_>,
        own: &mut Appending<'_, '_>,
    ) -> Result<(), LinkError> {
        while let Some((offset, list)) = own.relocations.range(range_of(operation)).next() {
            let offset = *offset;
            for relocation in list.clone() {
                let mut moved = relocated(own.position, own.launch, relocation)?;
                let place = at + (offset as usize - operation.offset);
                match SymbolUse::of(&relocation.symbol, 0) {
                    SymbolUse::ControlData => moved.addend += u64::from(own.data_base),
                    SymbolUse::PmPackets => {
                        let content = own.launch.part.pm_packets.get(&relocation.symbol);
                        let unplaced = LinkError::Relocation { launch: own.position, offset };
                        let number = self.pm_packets.number(content.ok_or(unplaced)?, |_| true)?;
                        moved.relocation.symbol = format!("ctrlpkt-pm-{number}").into();
                    }
                    _ => {}
                }
                let addend = match u32::try_from(moved.addend) {
                    Ok(addend) => addend,
                    Err(_) if moved.relocation.scheme == Scheme::SHIM_DMA_48 => {
                        bake_shim_address(&mut self.bytes, place, moved.addend);
                        0
                    }
                    Err(_) => return Err(moved.out_of_range(own.position)),
                };
                self.relocations.push(Relocation { offset: place as u32, addend, ..moved.relocation });
            }
            own.relocations.remove(&offset);
        }
        Ok(())
    }

    /// Appends a load that differs from the first and the last, where these are one; whether it did.
    pub fn close(&mut self, empty: &Arc<[u8]>) -> Result<bool, LinkError> {
        let (Some(first), Some(last)) = (self.loads.first(), self.loads.last()) else { return Ok(false) };
        if first.id != last.id || self.omit.closing_reset {
            return Ok(false);
        }
        let taken = first.id;
        let number = self.pdis.number(empty, |n| n != taken)?;
        let at = self.push(&emit::load_pdi(number));
        self.place_load(at, number, 0);
        Ok(true)
    }

    /// The code with its header, its relocations, and the sections that it refers to.
    pub fn finish(mut self) -> Result<(Vec<u8>, Vec<Relocation>, Vec<Section>), LinkError> {
        let too_many = LinkError::TooMany { what: "bytes of control code", max: u32::MAX };
        let header = emit::header(&self.header, self.op_count, self.bytes.len()).ok_or(too_many)?;
        self.bytes[..CONTROL_HEADER_BYTES].copy_from_slice(&header);
        let common = self.pdis.sections(SectionKind::Pdi).chain(self.pm_packets.sections(SectionKind::PmPackets));
        let common = common.collect();
        Ok((self.bytes, self.relocations, common))
    }
}

fn range_of(operation: &Operation<'_>) -> Range<u32> {
    operation.offset as u32..(operation.offset + operation.bytes.len()) as u32
}
