//! The manifest section of host ELFs, and the symbols that a shared object needs and offers.

use airlink_diag::{Finding, codes};
use object::{File, Object, ObjectSection, ObjectSymbol};

/// The section in which a host ELF describes its entries and arguments, as JSON.
pub const MANIFEST_SECTION: &str = ".airlink.manifest";

/// The JSON text of the manifest, without the zero bytes that may pad it.
///
/// Errors: AL0710 by [`ManifestError::finding`].
pub fn manifest(bytes: &[u8]) -> Result<&[u8], ManifestError> {
    let file = parse(bytes)?;
    let section = file.section_by_name(MANIFEST_SECTION).ok_or(ManifestError::Missing)?;
    let content = section.data().map_err(|e| ManifestError::Malformed { what: e.to_string() })?;
    let end = content.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
    if end == 0 {
        return Err(ManifestError::Empty);
    }
    Ok(&content[..end])
}

/// The undefined dynamic symbols, weak ones too, in symbol order: what the loader must find elsewhere.
///
/// Errors: AL0710 by [`ManifestError::finding`].
pub fn undefined_symbols(bytes: &[u8]) -> Result<Vec<String>, ManifestError> {
    dynamic_symbols(bytes, |s| s.is_undefined())
}

/// The dynamic symbols that the file defines for others, in symbol order.
///
/// Errors: AL0710 by [`ManifestError::finding`].
pub fn exported_symbols(bytes: &[u8]) -> Result<Vec<String>, ManifestError> {
    dynamic_symbols(bytes, |s| s.is_definition() && !s.is_local())
}

/// Why a file is not a host ELF that can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    #[error("it is {kind}")]
    NotElf { kind: &'static str },
    #[error("reading it fails: {what}")]
    Malformed { what: String },
    #[error("it has no section `{MANIFEST_SECTION}`")]
    Missing,
    #[error("its section `{MANIFEST_SECTION}` is empty")]
    Empty,
}

impl ManifestError {
    /// The finding, with `file` as the ELF's name. Code: AL0710.
    pub fn finding(&self, file: &str) -> Finding {
        Finding::error(codes::AL0710, format!("`{file}` is not a host ELF of airlink: {self}"))
            .remedy("name an ELF that `airlink stitch --target host` wrote")
    }
}

fn dynamic_symbols(
    bytes: &[u8],
    select: impl Fn(&object::Symbol<'_, '_>) -> bool,
) -> Result<Vec<String>, ManifestError> {
    let file = parse(bytes)?;
    let symbols = file.dynamic_symbols().filter(select);
    let names = symbols.map(|s| s.name_bytes().map(|n| String::from_utf8_lossy(n).into_owned()));
    let mut names =
        names.collect::<Result<Vec<_>, _>>().map_err(|e| ManifestError::Malformed { what: e.to_string() })?;
    names.retain(|n| !n.is_empty());
    Ok(names)
}

fn parse(bytes: &[u8]) -> Result<File<'_>, ManifestError> {
    if !bytes.starts_with(b"\x7fELF") {
        return Err(ManifestError::NotElf { kind: crate::file_kind(bytes) });
    }
    File::parse(bytes).map_err(|e| ManifestError::Malformed { what: e.to_string() })
}
