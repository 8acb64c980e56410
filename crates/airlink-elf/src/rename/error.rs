//! Why an object cannot be renamed, and how that is told.

use airlink_diag::{Finding, codes};
use object::elf;

use super::text;
use crate::layout::{Layout, Symbol};

/// What keeps a rename from being done. Names are shown as the object has them, invalid UTF-8 replaced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RenameError {
    #[error("`{name}` is not defined here")]
    UnknownSymbol {
        name: String,
        /// The object uses the name without defining it.
        is_referenced: bool,
        /// A definition that may be meant, or some that there are.
        nearest: Option<String>,
    },
    #[error("`{from}` cannot become `{to}`: the object {by} that name")]
    NameTaken { from: String, to: String, by: Taken },
    #[error("`{first}` and `{second}` would both become `{to}`")]
    TwoToOne { first: String, second: String, to: String },
    #[error("`{from}` cannot become `{to}`: {reason}")]
    BadName { from: String, to: String, reason: &'static str },
    #[error("it is {kind}")]
    NotElf { kind: &'static str },
    #[error("it is {kind}, and only relocatable objects are renamed")]
    NotRelocatable { kind: &'static str },
    #[error("its section `{section}` shows the Chess compiler's work")]
    Chess { section: String },
    #[error("its section `{section}` holds code for link-time optimisation, which has its own symbol names")]
    LinkTimeCode { section: String },
    #[error("{what}")]
    Malformed { what: String },
    #[error("its COMDAT group `{signature}` also holds {}", quoted(.kept))]
    SplitGroup { renamed: String, signature: String, kept: Vec<String> },
    #[error("`{symbol}` lies in `{section}`, which linkers merge by the section's name")]
    LinkOnce { symbol: String, section: String },
    #[error("it would grow to {size_bytes} bytes")]
    TooLarge { size_bytes: u64 },
}

/// How the object holds a name already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    Defined,
    Local,
    Referenced,
    /// It has a symbol that belongs to a function or variable of that name: a static local, a guard.
    Owner,
}

impl std::fmt::Display for Taken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Taken::Defined => "defines",
            Taken::Local => "has a local symbol of",
            Taken::Referenced => "calls something else by",
            Taken::Owner => "has a static local or guard that belongs to",
        })
    }
}

impl RenameError {
    /// The finding, with `file` as the object's name; a place is for the caller to add.
    ///
    /// Codes: AL0403 for names that are not there, AL0401 for new names that are taken, AL0404 for all else.
    pub fn finding(&self, file: &str) -> Finding {
        let finding = match self {
            RenameError::UnknownSymbol { name, .. } => {
                Finding::error(codes::AL0403, format!("`{file}` does not define `{name}`, so it cannot be renamed"))
            }
            RenameError::NameTaken { from, to, by } => {
                Finding::error(codes::AL0401, format!("`{from}` cannot become `{to}`: `{file}` {by} that name"))
            }
            RenameError::TwoToOne { first, second, to } => {
                Finding::error(codes::AL0401, format!("`{first}` and `{second}` of `{file}` cannot both become `{to}`"))
            }
            RenameError::BadName { from, to, reason } => Finding::error(
                codes::AL0404,
                format!("`{from}` of `{file}` cannot become `{}`: {reason}", to.escape_debug()),
            ),
            RenameError::SplitGroup { renamed, .. } => {
                Finding::error(codes::AL0404, format!("`{renamed}` of `{file}` cannot be renamed alone: {self}"))
            }
            _ => Finding::error(codes::AL0404, format!("`{file}` cannot be renamed: {self}")),
        };
        self.with_numbers(finding).remedy(self.remedy())
    }

    fn with_numbers(&self, finding: Finding) -> Finding {
        match self {
            RenameError::UnknownSymbol { is_referenced: true, .. } => {
                finding.found("an undefined symbol of that name, which keeps it")
            }
            RenameError::TooLarge { size_bytes } => {
                let limit = format!("{} bytes", u32::MAX);
                finding.found(format!("{size_bytes} bytes")).allowed(limit).source("the ELF format's 32-bit offsets")
            }
            _ => finding,
        }
    }

    fn remedy(&self) -> String {
        match self {
            RenameError::UnknownSymbol { nearest: Some(nearest), .. } => format!("rename what it defines: {nearest}"),
            RenameError::UnknownSymbol { .. } => "look at what it defines: `airlink inspect`".to_string(),
            RenameError::NameTaken { to, .. } => format!("choose a new name other than `{to}`"),
            RenameError::TwoToOne { second, .. } => format!("give `{second}` a name of its own"),
            RenameError::BadName { from, .. } => format!("give `{from}` a new name of at least one character"),
            RenameError::NotElf { .. } => {
                "name a relocatable ELF object, as the kernel's compiler writes it with `-c`".to_string()
            }
            RenameError::NotRelocatable { .. } => "name the object from before linking, made with `-c`".to_string(),
            RenameError::Chess { .. } => {
                "compile the kernel with Peano, or give this variant its name in the source, `-Dold=new`".to_string()
            }
            RenameError::LinkTimeCode { .. } => "compile the kernel with `-fno-lto`".to_string(),
            RenameError::Malformed { .. } => "compile the object again".to_string(),
            RenameError::SplitGroup { kept, .. } => format!("rename {} in the same step", quoted(kept)),
            RenameError::LinkOnce { symbol, .. } => format!("give `{symbol}` its name in the source, `-D{symbol}=NEW`"),
            RenameError::TooLarge { .. } => "choose shorter names".to_string(),
        }
    }
}

/// Refuses what is an ELF file but not one whose names can be changed by its symbol table alone.
pub(super) fn refuse_kind(layout: &Layout<'_>) -> Result<(), RenameError> {
    let kind = match elf::FileType(layout.file_type) {
        elf::ET_REL => None,
        elf::ET_EXEC => Some("an executable (ET_EXEC)"),
        elf::ET_DYN => Some("a shared object or position-independent executable (ET_DYN)"),
        elf::ET_CORE => Some("a core dump (ET_CORE)"),
        _ => Some("an ELF file of unknown type"),
    };
    if let Some(kind) = kind {
        return Err(RenameError::NotRelocatable { kind });
    }
    for section in &layout.sections {
        // The Chess compiler's tables (end of line, run time, type annotations) know symbols in ways of their own;
        // llvm-objcopy is known to break such objects.
        if layout.machine == crate::machine::EM_AIE && CHESS_SECTIONS.contains(&section.name) {
            return Err(RenameError::Chess { section: text(section.name) });
        }
        if section.name.starts_with(b".gnu.lto_") || section.name == b".llvm.lto" {
            return Err(RenameError::LinkTimeCode { section: text(section.name) });
        }
    }
    Ok(())
}

const CHESS_SECTIONS: &[&[u8]] = &[b".eoltab", b".rtstab", b".chesstypeannotationtab", b".tctmemtab", b".tctmemstrtab"];

/// What may be meant by a name that is not defined: its mangled form, one that differs in case or by a suffix, else
/// some of the definitions.
pub(super) fn nearest(symbols: &[Symbol<'_>], name: &str) -> Option<String> {
    let defined: Vec<String> =
        symbols.iter().filter(|s| s.is_definition() && !s.is_local()).map(|s| text(s.name)).collect();
    let inside = format!("{}{name}", name.len());
    let close = |d: &&String| {
        (d.starts_with("_Z") && d.contains(&inside))
            || d.eq_ignore_ascii_case(name)
            || (!name.is_empty() && (d.starts_with(name) || name.starts_with(d.as_str())))
    };
    if let Some(one) = defined.iter().find(close) {
        return Some(format!("`{one}`"));
    }
    let list = defined.get(..defined.len().min(3)).filter(|l| !l.is_empty())?;
    let more = if defined.len() > list.len() { ", ..." } else { "" };
    Some(format!("{}{more}", quoted(list)))
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
}
