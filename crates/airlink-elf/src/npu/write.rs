//! NPU ELFs to bytes, laid out as AMD's tool lays them out, so that what is read is written back byte for byte.
//!
//! Source of the order of sections and strings: `elfwriter.cpp` of github.com/Xilinx/aiebu; of the places in the file:
//! ELFIO's `save`, which that tool uses.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use md5::{Digest as _, Md5};
use object::elf;

use super::bytes::align_up;
use super::image::{ElfAbi, Instance, NpuElf, OsAbi, Relocation, Section, UidForm};
use super::read::{CONFIGURATION_NOTE, UID_NOTE};

/// Why an ELF cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NpuWriteError {
    #[error("ELFs for {family} are read only")]
    Family { family: OsAbi },
    #[error("a kernel without a signature cannot stand in an ELF of ABI {abi}")]
    NoSignature { abi: ElfAbi },
    #[error("an ELF of ABI {abi} holds one kernel without a signature, and there are {kernels}")]
    NotSingle { abi: ElfAbi, kernels: usize },
    #[error("it would not fit an ELF file: {what}")]
    TooLarge { what: &'static str },
}

/// `NT_XRT_PARTITION_COLS` and `NT_XRT_UID`.
const CONFIGURATION_TYPE: u32 = 6;
const UID_TYPE: u32 = 4;

const CONTENT_ALIGNMENT: u32 = 16;
const HEADER_BYTES: usize = 52;
const PROGRAM_HEADER_BYTES: usize = 32;
const SECTION_HEADER_BYTES: usize = 40;

/// Writes `elf` in the layout of its ABI.
///
/// The identity note is computed: MD5 over the contents in file order. Sections of instances are numbered anew.
pub fn write_npu_elf(elf: &NpuElf) -> Result<Vec<u8>, NpuWriteError> {
    if elf.os_abi != OsAbi::AIE2P {
        return Err(NpuWriteError::Family { family: elf.os_abi });
    }
    let is_single = matches!(&elf.kernels[..], [k] if k.signature.is_none() && k.instances.len() == 1);
    if !elf.abi.is_grouped() && !is_single {
        return Err(NpuWriteError::NotSingle { abi: elf.abi, kernels: elf.kernels.len() });
    }
    let mut tables = Tables::new(elf);
    tables.add(".shstrtab", elf::SHT_STRTAB, Out { alignment: 1, ..Out::default() });
    match elf.abi.is_grouped() {
        true => tables.add_grouped(elf)?,
        false => tables.add_single(&elf.kernels[0].instances[0]),
    }
    if let Some(columns) = elf.column_count {
        tables.add_note(CONFIGURATION_NOTE, CONFIGURATION_TYPE, &columns.to_le_bytes());
    }
    let uid = uid(elf);
    tables.add_note(UID_NOTE, UID_TYPE, &uid);
    for extra in &elf.extra {
        let out = Out {
            bytes: Cow::Borrowed(&extra.bytes),
            flags: extra.flags,
            alignment: extra.alignment,
            ..Out::default()
        };
        tables.add(&extra.name, elf::SectionType(extra.kind), out);
    }
    tables.finish()
}

/// The identity that the note of `elf` states once it is written: MD5 over its contents.
pub fn uid(elf: &NpuElf) -> Vec<u8> {
    let mut md5 = Md5::new();
    for section in elf.sections() {
        md5.update(&section.bytes);
    }
    let sum = md5.finalize();
    match elf.uid {
        UidForm::Raw => sum.to_vec(),
        UidForm::Hex => sum.iter().map(|b| format!("{b:02x}")).collect::<String>().into_bytes(),
    }
}

/// A section to be written.
#[derive(Clone, Debug, Default)]
struct Out<'e> {
    name: u32,
    kind: u32,
    flags: u32,
    address: u32,
    bytes: Cow<'e, [u8]>,
    link: u32,
    info: u32,
    alignment: u32,
    entry_bytes: u32,
    /// `p_type` and `p_flags` of the segment that holds it.
    segment: Option<(u32, u32)>,
}

/// Everything in creation order, which is the order of section headers.
struct Tables<'e> {
    abi: ElfAbi,
    /// The null section first.
    sections: Vec<Out<'e>>,
    names: Vec<u8>,
    /// Address of the next content section; running in the newer layout.
    next_address: usize,
    /// Section index of contents and their relocations, in the order in which they were added.
    placed: Vec<(u32, &'e [Relocation])>,
}

impl<'e> Tables<'e> {
    fn new(elf: &'e NpuElf) -> Tables<'e> {
        let sections = vec![Out::default()];
        Tables { abi: elf.abi, sections, names: vec![0], next_address: 0, placed: Vec::new() }
    }

    fn add(&mut self, name: &str, kind: elf::SectionType, out: Out<'e>) -> u32 {
        let at = append_string(&mut self.names, name);
        self.sections.push(Out { name: at, kind: kind.0, ..out });
        self.sections.len() as u32 - 1
    }

    fn add_content(&mut self, section: &'e Section, name: &str) -> u32 {
        let is_executable = section.kind.is_executable(self.abi.is_grouped());
        let access = if is_executable { elf::SHF_EXECINSTR } else { elf::SHF_WRITE };
        let (r, w, x) = (elf::PF_R.0, elf::PF_W.0, elf::PF_X.0);
        let out = Out {
            flags: (elf::SHF_ALLOC | access).0 as u32,
            address: self.next_address as u32,
            bytes: Cow::Borrowed(&section.bytes),
            alignment: CONTENT_ALIGNMENT,
            segment: Some((elf::PT_LOAD.0, r | if is_executable { x } else { w })),
            ..Out::default()
        };
        if self.abi.is_grouped() {
            let end = self.next_address.saturating_add(section.bytes.len());
            self.next_address = align_up(end, CONTENT_ALIGNMENT as usize).unwrap_or(usize::MAX);
        }
        let index = self.add(name, elf::SHT_PROGBITS, out);
        self.placed.push((index, &section.relocations));
        index
    }

    fn add_single(&mut self, instance: &'e Instance) {
        for section in &instance.sections {
            self.add_content(section, &section.name);
        }
        if self.placed.iter().any(|(_, r)| !r.is_empty()) {
            let at = self.reserve_dynamic();
            self.fill_dynamic(at);
        }
    }

    fn add_grouped(&mut self, elf: &'e NpuElf) -> Result<(), NpuWriteError> {
        let strtab = self.add(".strtab", elf::SHT_STRTAB, Out::default());
        let symtab = Out { link: strtab, info: 1, alignment: 4, entry_bytes: 16, ..Out::default() };
        let symtab = self.add(".symtab", elf::SHT_SYMTAB, symtab);
        let (mut strings, mut symbols) = (vec![0], vec![0; 16]);
        for section in &elf.common {
            self.add_content(section, &section.name);
        }
        let has_relocations = elf.sections().any(|s| !s.relocations.is_empty());
        let (mut number, mut dynamic) = (0, None);
        for kernel in &elf.kernels {
            let signature = kernel.signature.as_ref().ok_or(NpuWriteError::NoSignature { abi: elf.abi })?;
            let name = append_string(&mut strings, &signature.mangled());
            let kernel_symbol = symbols.len() as u32 / 16;
            let kernel_index = u16::try_from(kernel_symbol).map_err(|_| TOO_MANY)?;
            symbols.extend(symbol(name, 0, elf::STB_WEAK, elf::STT_FUNC, 0));
            for instance in &kernel.instances {
                let place = |s: &'e Section| self.add_content(s, &format!("{}.{number}", s.kind.stem()));
                let members: Vec<u32> = instance.sections.iter().map(place).collect();
                if dynamic.is_none() && has_relocations && instance.sections.iter().any(|s| !s.relocations.is_empty()) {
                    dynamic = Some(self.reserve_dynamic());
                }
                let name = append_string(&mut strings, &instance.id);
                let info = symbols.len() as u32 / 16;
                symbols.extend(symbol(name, 0, elf::STB_WEAK, elf::STT_OBJECT, kernel_index));
                let words = [elf::GRP_COMDAT.0].into_iter().chain(members);
                let bytes = words.flat_map(u32::to_le_bytes).collect::<Vec<u8>>().into();
                let group = Out { link: symtab, info, alignment: 16, entry_bytes: 4, bytes, ..Out::default() };
                self.add(&format!(".group.{number}"), elf::SHT_GROUP, group);
                number += 1;
            }
        }
        if let Some(at) = dynamic {
            self.fill_dynamic(at);
        }
        self.sections[strtab as usize].bytes = strings.into();
        self.sections[symtab as usize].bytes = symbols.into();
        Ok(())
    }

    /// The four sections that relocations need, yet empty; the index of the first. They stand behind the first content
    /// that has relocations, and are filled when all have been seen.
    fn reserve_dynamic(&mut self) -> usize {
        let is_single = !self.abi.is_grouped();
        // Only the older layout says that they are loaded.
        let flags = if is_single { elf::SHF_ALLOC.0 as u32 } else { 0 };
        let table = Out { flags, alignment: 8, ..Out::default() };
        let dynstr = self.add(".dynstr", elf::SHT_STRTAB, Out::default());
        let dynsym = Out { link: dynstr, info: 1, entry_bytes: 16, ..table.clone() };
        let dynsym = self.add(".dynsym", elf::SHT_DYNSYM, dynsym);
        self.add(".rela.dyn", elf::SHT_RELA, Out { link: dynsym, entry_bytes: 12, ..table.clone() });
        let segment = is_single.then_some((elf::PT_DYNAMIC.0, elf::PF_R.0 | elf::PF_W.0));
        self.add(".dynamic", elf::SHT_DYNAMIC, Out { link: dynstr, entry_bytes: 8, segment, ..table });
        dynstr as usize
    }

    fn fill_dynamic(&mut self, at: usize) {
        let (mut strings, mut symbols, mut entries) = (vec![0], vec![0; 16], Vec::new());
        // One symbol per section, name and size.
        let mut known: BTreeMap<(u32, Arc<str>, u32), u32> = BTreeMap::new();
        for (section, relocations) in &self.placed {
            for relocation in *relocations {
                let key = (*section, relocation.symbol.clone(), relocation.size);
                let index = *known.entry(key).or_insert_with(|| {
                    let name = append_string(&mut strings, &relocation.symbol);
                    let index = symbols.len() as u32 / 16;
                    let size = relocation.size;
                    symbols.extend(symbol(name, size, elf::STB_GLOBAL, elf::STT_OBJECT, *section as u16));
                    index
                });
                let (kind, addend) = match self.abi {
                    ElfAbi::V0_1 => {
                        (V0_1_RELOCATION_TYPE, relocation.addend << 4 | u32::from(relocation.scheme.0 & 15))
                    }
                    _ => (relocation.scheme.0, relocation.addend),
                };
                entries.extend([relocation.offset, index << 8 | u32::from(kind), addend].map(u32::to_le_bytes));
            }
        }
        let rela = at + 2;
        let entries: Vec<u8> = entries.concat();
        // XRT's tools put the section's index where an address belongs; the loader does not read it.
        let dynamic = [elf::DT_RELA.0 as u32, rela as u32, elf::DT_RELASZ.0 as u32, entries.len() as u32];
        let contents = [strings, symbols, entries, dynamic.map(u32::to_le_bytes).concat()];
        for (section, bytes) in self.sections[at..].iter_mut().zip(contents) {
            section.bytes = bytes.into();
        }
    }

    fn add_note(&mut self, name: &str, kind: u32, description: &[u8]) {
        let bytes = note("XRT", kind, description).into();
        self.add(name, elf::SHT_NOTE, Out { bytes, alignment: 1, ..Out::default() });
    }

    /// Places everything: what segments hold first, then the other sections, then the section headers.
    fn finish(mut self) -> Result<Vec<u8>, NpuWriteError> {
        self.sections[1].bytes = std::mem::take(&mut self.names).into();
        let segments: Vec<usize> = (0..self.sections.len()).filter(|i| self.sections[*i].segment.is_some()).collect();
        let others = (1..self.sections.len()).filter(|i| self.sections[*i].segment.is_none());
        let order: Vec<usize> = segments.iter().copied().chain(others).collect();
        let header_count = segments.len() + 1;
        let mut at = HEADER_BYTES + header_count * PROGRAM_HEADER_BYTES;
        let mut offsets = vec![0; self.sections.len()];
        for index in order.iter().copied() {
            let section = &self.sections[index];
            at = align_up(at, section.alignment as usize).ok_or(TOO_LARGE)?;
            offsets[index] = at;
            at = at.checked_add(section.bytes.len()).ok_or(TOO_LARGE)?;
        }
        // Sixteen bytes more where it is aligned already.
        let headers_at = at + 16 - at % 16;
        let size = headers_at + self.sections.len() * SECTION_HEADER_BYTES;
        if u32::try_from(size).is_err() || self.next_address > u32::MAX as usize {
            return Err(TOO_LARGE);
        }
        let section_count = u16::try_from(self.sections.len()).ok().filter(|n| *n < elf::SHN_LORESERVE);
        let mut out = Vec::with_capacity(size);
        out.extend(file_header(
            self.abi,
            headers_at as u32,
            u16::try_from(header_count).map_err(|_| TOO_MANY)?,
            section_count.ok_or(TOO_MANY)?,
        ));
        let headers_bytes = (header_count * PROGRAM_HEADER_BYTES) as u32;
        out.extend(
            [elf::PT_PHDR.0, HEADER_BYTES as u32, 0, 0, headers_bytes, headers_bytes, elf::PF_R.0, 0]
                .map(u32::to_le_bytes)
                .concat(),
        );
        for index in segments {
            let (section, bytes) = (&self.sections[index], self.sections[index].bytes.len() as u32);
            let (kind, flags) = section.segment.unwrap_or_default();
            let header = [kind, offsets[index] as u32, section.address, 0, bytes, bytes, flags, section.alignment];
            out.extend(header.map(u32::to_le_bytes).concat());
        }
        for index in order {
            out.resize(offsets[index], 0);
            out.extend_from_slice(&self.sections[index].bytes);
        }
        out.resize(headers_at, 0);
        for (section, offset) in self.sections.iter().zip(offsets) {
            out.extend(section.header(offset as u32).map(u32::to_le_bytes).concat());
        }
        Ok(out)
    }
}

const TOO_LARGE: NpuWriteError = NpuWriteError::TooLarge { what: "4 GiB are its limit" };
const TOO_MANY: NpuWriteError = NpuWriteError::TooLarge { what: "65,279 sections are its limit" };
/// What files of ABI 0.1 have as the type of every relocation.
const V0_1_RELOCATION_TYPE: u8 = 0x0a;

impl Out<'_> {
    fn header(&self, offset: u32) -> [u32; 10] {
        [
            self.name,
            self.kind,
            self.flags,
            self.address,
            offset,
            self.bytes.len() as u32,
            self.link,
            self.info,
            self.alignment,
            self.entry_bytes,
        ]
    }
}

fn file_header(abi: ElfAbi, headers_at: u32, segment_count: u16, section_count: u16) -> Vec<u8> {
    let mut out = vec![0x7f, b'E', b'L', b'F', 1, 1, 1, OsAbi::AIE2P.0, abi.0, 0, 0, 0, 0, 0, 0, 0];
    // ET_EXEC and EM_M32, as the loader wants them.
    out.extend([2_u16, 1].map(u16::to_le_bytes).concat());
    out.extend([1, 0, HEADER_BYTES as u32, headers_at, 0].map(u32::to_le_bytes).concat());
    let sizes = [HEADER_BYTES as u16, PROGRAM_HEADER_BYTES as u16, segment_count, SECTION_HEADER_BYTES as u16];
    out.extend(sizes.map(u16::to_le_bytes).concat());
    out.extend([section_count, 1].map(u16::to_le_bytes).concat());
    out
}

fn symbol(name: u32, size: u32, bind: elf::SymbolBind, kind: elf::SymbolType, section: u16) -> Vec<u8> {
    let mut out = [name, 0, size].map(u32::to_le_bytes).concat();
    out.extend([bind.0 << 4 | kind.0, 0]);
    out.extend(section.to_le_bytes());
    out
}

/// Appends a string without looking for one that is there already, as ELFIO does.
fn append_string(table: &mut Vec<u8>, text: &str) -> u32 {
    let at = table.len() as u32;
    table.extend_from_slice(text.as_bytes());
    table.push(0);
    at
}

/// A note's bytes; name and description are padded to whole words.
pub(crate) fn note(owner: &str, kind: u32, description: &[u8]) -> Vec<u8> {
    let name_bytes = owner.len() + 1;
    let mut out = [name_bytes as u32, description.len() as u32, kind].map(u32::to_le_bytes).concat();
    out.extend_from_slice(owner.as_bytes());
    out.resize(12 + name_bytes.next_multiple_of(4), 0);
    out.extend_from_slice(description);
    out.resize(out.len().next_multiple_of(4), 0);
    out
}
