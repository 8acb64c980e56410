//! NPU ELFs from bytes. No size in a file is believed before it is compared with the file's own.

use std::sync::Arc;

use object::LittleEndian as LE;
use object::elf::{self, FileHeader32, SectionHeader32};
use object::read::elf::{FileHeader, SectionHeader, SectionTable, Sym};

use super::bytes::{u16_at, u32_at, words};
use super::image::{
    ElfAbi, ExtraSection, Instance, Kernel, NpuElf, OsAbi, Relocation, Scheme, Section, SectionKind, Signature, UidForm,
};

/// Why a file is no NPU ELF that can be read, as the end of a sentence about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NpuElfError {
    #[error("it is {kind}")]
    NotNpuElf { kind: &'static str },
    #[error("{what}")]
    Malformed { what: String },
}

/// Longest name of a symbol or section, and longest signature: more than any tool writes (512 arguments need 1,024).
const NAME_BYTES_MAX: usize = 4096;

/// `e_machine` of this family.
const EM_M32: u16 = 1;

type Header = FileHeader32<LE>;
type Sections<'d> = SectionTable<'d, Header>;
/// The end of a sentence about the file.
type Result<T> = std::result::Result<T, String>;

/// Whether this is an ELF for the NPU's loader: 32 bits, little-endian, `EM_M32`, one of the loader's OS ABIs.
pub fn is_npu_elf(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x7fELF\x01\x01")
        && bytes.get(7).is_some_and(|abi| OsAbi(*abi).is_known())
        && u16_at(bytes, 18) == Some(EM_M32)
}

/// Reads an NPU ELF of either layout.
///
/// Errors: what is no such ELF, or whose tables contradict each other or the file's size.
pub fn read_npu_elf(bytes: &[u8]) -> std::result::Result<NpuElf, NpuElfError> {
    if !is_npu_elf(bytes) {
        return Err(NpuElfError::NotNpuElf { kind: crate::file_kind(bytes) });
    }
    read(bytes).map_err(|what| NpuElfError::Malformed { what })
}

/// A section as it stands in the file.
struct Raw<'d> {
    name: String,
    header: &'d SectionHeader32<LE>,
    data: &'d [u8],
}

impl Raw<'_> {
    fn kind(&self) -> elf::SectionType {
        self.header.sh_type(LE)
    }
}

fn read(bytes: &[u8]) -> Result<NpuElf> {
    let header = Header::parse(bytes).map_err(reason)?;
    let table = header.sections(LE, bytes).map_err(reason)?;
    let raw = raw_sections(bytes, &table)?;
    let abi = ElfAbi(bytes[8]);
    let mut contents = contents(&raw, abi)?;
    let (kernels, common) = match abi.is_grouped() {
        true => kernels(bytes, &table, &raw, &mut contents)?,
        false => single(&mut contents),
    };
    let note = |name: &str| raw.iter().find(|r| r.name == name).map(|r| note_content(r.data, name)).transpose();
    let column_count = note(CONFIGURATION_NOTE)?.and_then(|d| u32_at(d, 0));
    let stated_uid = note(UID_NOTE)?.map(<[u8]>::to_vec);
    let uid = if stated_uid.as_ref().is_some_and(|u| u.len() == 32) { UidForm::Hex } else { UidForm::Raw };
    let extra = raw.iter().zip(&contents).filter(|(r, _)| is_extra(r)).map(|(r, _)| ExtraSection {
        name: r.name.clone(),
        kind: r.kind().0,
        flags: r.header.sh_flags(LE).0 as u32,
        alignment: r.header.sh_addralign(LE),
        bytes: r.data.to_vec(),
    });
    let extra = extra.collect();
    Ok(NpuElf { os_abi: OsAbi(bytes[7]), abi, common, kernels, column_count, uid, stated_uid, extra })
}

pub(crate) const CONFIGURATION_NOTE: &str = ".note.xrt.configuration";
pub(crate) const UID_NOTE: &str = ".note.xrt.UID";

/// All sections but the null one keep their index; each lies in the file, and together they are no larger than it.
fn raw_sections<'d>(bytes: &'d [u8], table: &Sections<'d>) -> Result<Vec<Raw<'d>>> {
    let mut total = 0_usize;
    let mut raw = Vec::with_capacity(table.len());
    for (index, header) in table.enumerate() {
        if index.0 == 0 || header.sh_type(LE) == elf::SHT_NULL {
            raw.push(Raw { name: String::new(), header, data: &[] });
            continue;
        }
        let name = text(table.section_name(LE, header).map_err(reason)?)?;
        let data = header.data(LE, bytes).map_err(|_| format!("its section `{name}` ends past the file's end"))?;
        total += data.len() + name.len();
        raw.push(Raw { name, header, data });
    }
    // Names may share bytes; contents may not.
    if total > 2 * bytes.len() || raw.iter().map(|r| r.data.len()).sum::<usize>() > bytes.len() {
        return Err("its sections overlap".to_string());
    }
    Ok(raw)
}

fn text(name: &[u8]) -> Result<String> {
    if name.len() > NAME_BYTES_MAX {
        return Err(format!("a name in it has {} bytes", name.len()));
    }
    String::from_utf8(name.to_vec()).map_err(|_| "a name in it is no UTF-8".to_string())
}

fn is_content(raw: &Raw<'_>) -> Option<SectionKind> {
    (raw.kind() == elf::SHT_PROGBITS).then(|| SectionKind::of_name(&raw.name)).flatten()
}

/// Neither content nor one of the tables that the writer makes.
fn is_extra(raw: &Raw<'_>) -> bool {
    const TABLES: [&str; 10] = [
        "",
        ".shstrtab",
        ".strtab",
        ".symtab",
        ".dynstr",
        ".dynsym",
        ".rela.dyn",
        ".dynamic",
        CONFIGURATION_NOTE,
        UID_NOTE,
    ];
    is_content(raw).is_none() && raw.kind() != elf::SHT_GROUP && !TABLES.contains(&raw.name.as_str())
}

/// Per section of the file its content, if it has any, with its relocations.
fn contents(raw: &[Raw<'_>], abi: ElfAbi) -> Result<Vec<Option<Section>>> {
    let content = |r: &Raw<'_>| {
        let kind = is_content(r)?;
        Some(Section { kind, name: r.name.clone(), bytes: r.data.to_vec(), relocations: Vec::new() })
    };
    let mut contents: Vec<Option<Section>> = raw.iter().map(content).collect();
    let by_kind = |kind: elf::SectionType| raw.iter().find(|r| r.kind() == kind);
    let Some(relocations) = by_kind(elf::SHT_RELA) else { return Ok(contents) };
    let symbols = match by_kind(elf::SHT_DYNSYM) {
        Some(section) => dynamic_symbols(raw, section)?,
        None => Vec::new(),
    };
    if relocations.data.len() % RELA_BYTES != 0 {
        return Err("its relocation table ends within an entry".to_string());
    }
    for (index, entry) in relocations.data.chunks_exact(RELA_BYTES).enumerate() {
        let [offset, info, addend] = [0, 4, 8].map(|at| u32_at(entry, at).unwrap_or_default());
        let symbol = symbols.get((info >> 8) as usize).filter(|_| info >> 8 != 0);
        let symbol = symbol.ok_or_else(|| format!("its relocation {index} is against no symbol"))?;
        let (scheme, addend) = match abi {
            // The type is another thing there. Source: `xrt_elf.cpp` of github.com/Xilinx/XRT.
            ElfAbi::V0_1 => (Scheme((addend & 15) as u8), addend >> 4),
            _ => (Scheme(info as u8), addend),
        };
        let section = contents.get_mut(usize::from(symbol.section)).and_then(Option::as_mut);
        let section = section.ok_or_else(|| format!("its relocation {index} is for a section without content"))?;
        let (symbol, size) = (symbol.name.clone(), symbol.size);
        section.relocations.push(Relocation { offset, scheme, addend, symbol, size });
    }
    Ok(contents)
}

const RELA_BYTES: usize = 12;
const SYMBOL_BYTES: usize = 16;

struct DynamicSymbol {
    name: Arc<str>,
    size: u32,
    /// The section that is patched.
    section: u16,
}

fn dynamic_symbols(raw: &[Raw<'_>], section: &Raw<'_>) -> Result<Vec<DynamicSymbol>> {
    let strings = raw.get(section.header.sh_link(LE) as usize).map(|r| r.data).unwrap_or_default();
    // Symbols of one name share it: names may overlap, and must not multiply.
    let mut names: std::collections::BTreeMap<u32, Arc<str>> = std::collections::BTreeMap::new();
    let mut name_bytes = 0_usize;
    let mut symbols = Vec::with_capacity(section.data.len() / SYMBOL_BYTES);
    for entry in section.data.chunks_exact(SYMBOL_BYTES) {
        let [at, _, size] = [0, 4, 8].map(|at| u32_at(entry, at).unwrap_or_default());
        let name = match names.get(&at) {
            Some(name) => name.clone(),
            None => {
                let rest = strings.get(at as usize..).ok_or("a symbol's name lies outside its string table")?;
                let end = rest.iter().position(|b| *b == 0).ok_or("a symbol's name does not end")?;
                name_bytes += end;
                if name_bytes > 16 * strings.len() {
                    return Err("its symbols' names overlap without end".to_string());
                }
                let name: Arc<str> = text(&rest[..end])?.into();
                names.insert(at, name.clone());
                name
            }
        };
        symbols.push(DynamicSymbol { name, size, section: u16_at(entry, 14).unwrap_or_default() });
    }
    Ok(symbols)
}

/// The older layout: one stream, and what belongs to it, in file order.
fn single(contents: &mut [Option<Section>]) -> (Vec<Kernel>, Vec<Section>) {
    let sections = contents.iter_mut().filter_map(Option::take).collect();
    let instance = Instance { id: String::new(), sections };
    (vec![Kernel { signature: None, instances: vec![instance] }], Vec::new())
}

/// The newer layout: groups name an instance, an instance names its kernel by the index of its symbol.
fn kernels<'d>(
    bytes: &'d [u8],
    table: &Sections<'d>,
    raw: &[Raw<'d>],
    contents: &mut [Option<Section>],
) -> Result<(Vec<Kernel>, Vec<Section>)> {
    let symbols = table.symbols(LE, bytes, elf::SHT_SYMTAB).map_err(reason)?;
    let symbol = |index: usize| {
        let symbol = symbols.symbol(object::SymbolIndex(index)).map_err(reason)?;
        Ok::<_, String>((symbol, text(symbols.symbol_name(LE, symbol).map_err(reason)?)?))
    };
    let mut kernels: Vec<(usize, Kernel)> = Vec::new();
    for group in raw.iter().filter(|r| r.kind() == elf::SHT_GROUP) {
        let (instance, id) = symbol(group.header.sh_info(LE) as usize)?;
        let kernel = usize::from(instance.st_shndx(LE).0);
        let mut sections = Vec::new();
        for index in words(group.data).skip(1) {
            let section = contents.get_mut(index as usize).and_then(Option::take);
            let what =
                || format!("its `{}` names section {index}, which is no content or in another group", group.name);
            sections.push(section.ok_or_else(what)?);
        }
        let instance = Instance { id, sections };
        match kernels.iter_mut().find(|(k, _)| *k == kernel) {
            Some((_, kernel)) => kernel.instances.push(instance),
            None => {
                let mangled = symbol(kernel)?.1;
                let what = || format!("its kernel is called `{mangled}`, which is no name of a function");
                let signature = Some(Signature::parse(&mangled).ok_or_else(what)?);
                kernels.push((kernel, Kernel { signature, instances: vec![instance] }));
            }
        }
    }
    let left: Vec<Section> = contents.iter_mut().filter_map(Option::take).collect();
    if let Some(stray) = left.iter().find(|s| !s.kind.is_common()) {
        return Err(format!("its section `{}` is in no group", stray.name));
    }
    Ok((kernels.into_iter().map(|(_, k)| k).collect(), left))
}

/// The description of the first note in a section.
pub(crate) fn note_content<'d>(data: &'d [u8], name: &str) -> Result<&'d [u8]> {
    let whole = || format!("its note `{name}` is cut short");
    let name_bytes = u32_at(data, 0).ok_or_else(whole)? as usize;
    let size = u32_at(data, 4).ok_or_else(whole)? as usize;
    let start = name_bytes.checked_next_multiple_of(4).and_then(|n| n.checked_add(12)).ok_or_else(whole)?;
    data.get(start..start.saturating_add(size)).ok_or_else(whole)
}

fn reason(error: object::read::Error) -> String {
    format!("reading it fails: {error}")
}
