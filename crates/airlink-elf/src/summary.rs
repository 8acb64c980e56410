//! What an object is for, defines, needs and weighs.

use object::elf;
use serde::Serialize;

use crate::Machine;
use crate::layout::{self, Layout, Symbol};
use crate::machine::AieGeneration;

/// An ELF file's header, symbols and sizes as plain data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ObjectSummary {
    /// 32 or 64.
    pub class_bits: u8,
    pub is_big_endian: bool,
    pub machine: Machine,
    /// For AIE objects, where `e_flags` names a known one.
    pub aie: Option<AieGeneration>,
    pub e_flags: u32,
    pub file_type: FileType,
    /// Named symbols but for those of sections and files, in symbol order.
    pub symbols: Vec<ObjectSymbol>,
    /// Code: allocated, executable.
    pub text_bytes: u64,
    /// Initialised variables: allocated, writable.
    pub data_bytes: u64,
    /// Constants: allocated, neither.
    pub rodata_bytes: u64,
    /// Zeroed variables: allocated, not in the file. Common symbols are in no section and are counted nowhere.
    pub bss_bytes: u64,
}

/// `e_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileType {
    Relocatable,
    Executable,
    Shared,
    Core,
    Other(u16),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ObjectSymbol {
    /// Invalid UTF-8 is replaced.
    pub name: String,
    pub binding: Binding,
    pub definition: Definition,
    /// The section that defines it.
    pub section: Option<String>,
    pub size_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Binding {
    Local,
    Global,
    /// Gives way to another definition (`STB_WEAK`) or becomes one with it (`STB_GNU_UNIQUE`).
    Weak,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Definition {
    Undefined,
    /// In a section, or absolute.
    Defined,
    /// Tentative: becomes one with equal names of other objects.
    Common,
}

/// Why a file cannot be read as an ELF object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    #[error("it is {kind}")]
    NotElf { kind: &'static str },
    /// The end of a sentence about the file.
    #[error("{what}")]
    Malformed { what: String },
}

impl ObjectSummary {
    /// Global and weak definitions: what `nm` shows as such, and what a rename of the whole object renames.
    pub fn defined(&self) -> impl Iterator<Item = &ObjectSymbol> {
        self.symbols.iter().filter(|s| s.binding != Binding::Local && s.definition != Definition::Undefined)
    }

    pub fn undefined(&self) -> impl Iterator<Item = &ObjectSymbol> {
        self.symbols.iter().filter(|s| s.definition == Definition::Undefined)
    }

    pub fn locals(&self) -> impl Iterator<Item = &ObjectSymbol> {
        self.symbols.iter().filter(|s| s.binding == Binding::Local && s.definition != Definition::Undefined)
    }

    /// Whether other objects can call `name` here.
    pub fn defines(&self, name: &str) -> bool {
        self.defined().any(|s| s.name == name)
    }

    /// `AIE2P`, `x86-64`.
    pub fn machine_name(&self) -> String {
        self.aie.map_or_else(|| self.machine.to_string(), |aie| aie.to_string())
    }
}

/// Reads an object's header, symbols and sizes.
///
/// Errors: files that are no ELF, or whose tables do not lie within the file.
pub fn object_summary(bytes: &[u8]) -> Result<ObjectSummary, ObjectError> {
    let layout = read_elf(bytes)?;
    let machine = Machine::from_elf(layout.machine);
    let sizes = sizes(&layout);
    Ok(ObjectSummary {
        class_bits: if layout.is_64 { 64 } else { 32 },
        is_big_endian: layout.endian == object::Endianness::Big,
        machine,
        aie: (machine == Machine::Aie).then(|| AieGeneration::from_flags(layout.e_flags)).flatten(),
        e_flags: layout.e_flags,
        file_type: match elf::FileType(layout.file_type) {
            elf::ET_REL => FileType::Relocatable,
            elf::ET_EXEC => FileType::Executable,
            elf::ET_DYN => FileType::Shared,
            elf::ET_CORE => FileType::Core,
            elf::FileType(other) => FileType::Other(other),
        },
        symbols: summarise_symbols(&layout),
        text_bytes: sizes[0],
        data_bytes: sizes[1],
        rodata_bytes: sizes[2],
        bss_bytes: sizes[3],
    })
}

pub(crate) fn read_elf(bytes: &[u8]) -> Result<Layout<'_>, ObjectError> {
    if !bytes.starts_with(b"\x7fELF") {
        return Err(ObjectError::NotElf { kind: crate::file_kind(bytes) });
    }
    layout::read(bytes).map_err(|what| ObjectError::Malformed { what })
}

fn summarise_symbols(layout: &Layout<'_>) -> Vec<ObjectSymbol> {
    let list = layout.symbols.as_ref().map_or(&[][..], |s| &s.list);
    let named = list.iter().skip(1).filter(|s| !s.is_marker() && !s.name.is_empty());
    named
        .map(|s| ObjectSymbol {
            name: text(s.name),
            binding: binding(s),
            definition: match (s.is_defined, s.is_common) {
                (false, _) => Definition::Undefined,
                (true, true) => Definition::Common,
                (true, false) => Definition::Defined,
            },
            section: s.section.map(|i| text(layout.sections[i].name)),
            size_bytes: s.size_bytes,
        })
        .collect()
}

fn binding(symbol: &Symbol<'_>) -> Binding {
    match symbol.binding {
        elf::STB_LOCAL => Binding::Local,
        elf::STB_WEAK | elf::STB_GNU_UNIQUE => Binding::Weak,
        _ => Binding::Global,
    }
}

/// Bytes of text, data, rodata and bss. Sizes in a file may be made up, so sums saturate.
fn sizes(layout: &Layout<'_>) -> [u64; 4] {
    let mut sizes = [0_u64; 4];
    for section in &layout.sections {
        let has = |flag: elf::SectionFlags| section.flags & flag.0 != 0;
        if !has(elf::SHF_ALLOC) {
            continue;
        }
        let index = if section.kind == elf::SHT_NOBITS {
            3
        } else if has(elf::SHF_EXECINSTR) {
            0
        } else if has(elf::SHF_WRITE) {
            1
        } else {
            2
        };
        sizes[index] = sizes[index].saturating_add(section.size_bytes);
    }
    sizes
}

fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}
