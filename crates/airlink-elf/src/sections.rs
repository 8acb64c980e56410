//! The sections of an ELF file, for people who look into it.

use object::elf;
use serde::Serialize;

use crate::summary::{ObjectError, read_elf};

/// One section but the null one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SectionSummary {
    /// Invalid UTF-8 is replaced.
    pub name: String,
    /// In the running program, which for zeroed variables is not in the file.
    pub size_bytes: u64,
    /// What the flags make of it: `code`, `data`, `constants`, `zeroed`, or `other` if it is not loaded.
    #[serde(rename = "use")]
    pub use_: SectionUse,
}

/// What a section holds at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SectionUse {
    Code,
    Data,
    Constants,
    Zeroed,
    /// Symbols, relocations, notes and the like.
    Other,
}

impl SectionUse {
    pub fn as_str(self) -> &'static str {
        match self {
            SectionUse::Code => "code",
            SectionUse::Data => "data",
            SectionUse::Constants => "constants",
            SectionUse::Zeroed => "zeroed",
            SectionUse::Other => "",
        }
    }
}

/// The sections in the order of the file.
///
/// Errors: files that are no ELF, or whose tables do not lie within the file.
pub fn object_sections(bytes: &[u8]) -> Result<Vec<SectionSummary>, ObjectError> {
    let layout = read_elf(bytes)?;
    let sections = layout.sections.iter().skip(1).map(|s| {
        let has = |flag: elf::SectionFlags| s.flags & flag.0 != 0;
        let use_ = if !has(elf::SHF_ALLOC) {
            SectionUse::Other
        } else if s.kind == elf::SHT_NOBITS {
            SectionUse::Zeroed
        } else if has(elf::SHF_EXECINSTR) {
            SectionUse::Code
        } else if has(elf::SHF_WRITE) {
            SectionUse::Data
        } else {
            SectionUse::Constants
        };
        SectionSummary { name: String::from_utf8_lossy(s.name).into_owned(), size_bytes: s.size_bytes, use_ }
    });
    Ok(sections.collect())
}
