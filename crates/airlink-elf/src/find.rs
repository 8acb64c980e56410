//! Finds the object file behind a `link_with` name.

use std::io;

use airlink_diag::{Finding, codes};
use camino::{Utf8Path, Utf8PathBuf};

use crate::Machine;
use crate::summary::{FileType, ObjectError, ObjectSummary, object_summary};

/// Looks for one object.
///
/// A file that the user named must be there and be an object of `machine`. Otherwise the folders are searched in
/// order; files of another machine and files that are no objects are passed over.
///
/// Errors: AL0801, AL0709 and AL0715 by [`FindError::finding`].
pub fn find_object(query: &ObjectQuery<'_>) -> Result<ObjectSearch, FindError> {
    let mut search = ObjectSearch::default();
    if let Some(path) = query.explicit {
        let bytes = read(path).map_err(|e| unreadable(path, e))?;
        let object = judge(path, bytes, query.machine);
        search.found =
            Some(object.map_err(|(unfit, _)| FindError::Unfit { path: path.into(), unfit, target: query.machine })?);
        return Ok(search);
    }
    for folder in query.folders {
        // An absolute name leaves the folder aside, as it does for compilers; `./mv.o` is called `mv.o`.
        let path = if folder == "." { Utf8PathBuf::from(query.name) } else { folder.join(query.name) };
        if query.name.is_empty() || !path.is_file() || search.passed_over.iter().any(|p| p.path == path) {
            continue;
        }
        let bytes = read(&path).map_err(|e| unreadable(&path, e))?;
        match judge(&path, bytes, query.machine) {
            Ok(object) => {
                search.found = Some(object);
                break;
            }
            Err((unfit, path)) => search.passed_over.push(PassedOver { path, unfit, target: query.machine }),
        }
    }
    Ok(search)
}

/// What to look for, and where.
#[derive(Clone, Copy, Debug)]
pub struct ObjectQuery<'a> {
    /// The `link_with` name.
    pub name: &'a str,
    /// The file that the user named for it; then nothing else is looked at.
    pub explicit: Option<&'a Utf8Path>,
    /// In the order in which they are searched.
    pub folders: &'a [Utf8PathBuf],
    pub machine: Machine,
}

/// What a search came upon.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectSearch {
    pub found: Option<FoundObject>,
    /// In the order of the search; only files before the one found.
    pub passed_over: Vec<PassedOver>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundObject {
    pub path: Utf8PathBuf,
    pub bytes: Vec<u8>,
    /// BLAKE3 of the bytes, as hexadecimal digits.
    pub hash: String,
    pub summary: ObjectSummary,
}

/// A file of the right name that is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedOver {
    pub path: Utf8PathBuf,
    pub unfit: Unfit,
    pub target: Machine,
}

/// Why a file is not the object that the target takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// An ELF file of another machine, by its name: `AIE2P`.
    Machine { name: String, machine: Machine },
    /// Not a relocatable object; the end of a sentence about the file.
    NoObject { reason: String },
}

#[derive(Debug, thiserror::Error)]
pub enum FindError {
    #[error("`{path}` cannot be read: {error}")]
    Unreadable { path: Utf8PathBuf, error: io::Error },
    #[error("`{path}` is not an object of {target}")]
    Unfit { path: Utf8PathBuf, unfit: Unfit, target: Machine },
}

impl PassedOver {
    /// The note; a place is for the caller to add. Code: AL0708.
    pub fn finding(&self) -> Finding {
        let PassedOver { path, unfit, target } = self;
        match unfit {
            Unfit::Machine { name, .. } => Finding::note(
                codes::AL0708,
                format!("`{path}` is passed over: it is an object for {name}, not {target}"),
            )
            .found(name.as_str())
            .allowed(target.to_string()),
            Unfit::NoObject { reason } => {
                Finding::note(codes::AL0708, format!("`{path}` is passed over: {reason}, not an object for {target}"))
            }
        }
        .remedy(format!("put an object for {target} of that name into a folder that is searched earlier"))
    }
}

impl FindError {
    /// The error; a place is for the caller to add. Codes: AL0801, AL0709, AL0715.
    pub fn finding(&self) -> Finding {
        match self {
            FindError::Unreadable { path, error } => {
                Finding::error(codes::AL0801, format!("`{path}` cannot be read: {error}"))
                    .remedy("name an object file that is there and readable, or drop the entry")
            }
            FindError::Unfit { path, unfit: Unfit::Machine { name, .. }, target } => Finding::error(
                codes::AL0709,
                format!("`{path}` is an object for {name}, and the target takes {target}"),
            )
            .found(name.as_str())
            .allowed(target.to_string())
            .remedy(format!(
                "name an object compiled for {target}, drop the entry, or link nothing: `--emit mlir,map`"
            )),
            FindError::Unfit { path, unfit: Unfit::NoObject { reason }, target } => {
                Finding::error(codes::AL0715, format!("`{path}` is not a kernel object: {reason}"))
                    .remedy(format!("name a relocatable ELF object for {target}, made with `-c`"))
            }
        }
    }
}

/// Reads a regular file; anything else might never end.
fn read(path: &Utf8Path) -> io::Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    std::fs::read(path)
}

fn unreadable(path: &Utf8Path, error: io::Error) -> FindError {
    FindError::Unreadable { path: path.into(), error }
}

fn judge(path: &Utf8Path, bytes: Vec<u8>, target: Machine) -> Result<FoundObject, (Unfit, Utf8PathBuf)> {
    let no_object = |reason: String| (Unfit::NoObject { reason }, path.to_owned());
    let summary = object_summary(&bytes).map_err(|e| match e {
        ObjectError::NotElf { kind } => no_object(format!("it is {kind}")),
        ObjectError::Malformed { what } => no_object(what),
    })?;
    if summary.machine != target {
        return Err((Unfit::Machine { name: summary.machine_name(), machine: summary.machine }, path.to_owned()));
    }
    let kind = match summary.file_type {
        FileType::Relocatable => None,
        FileType::Executable => Some("it is an executable"),
        FileType::Shared => Some("it is a shared object"),
        FileType::Core => Some("it is a core dump"),
        FileType::Other(_) => Some("it is an ELF file of unknown type"),
    };
    if let Some(kind) = kind {
        return Err(no_object(kind.to_string()));
    }
    let hash = blake3::hash(&bytes).to_hex().to_string();
    Ok(FoundObject { path: path.to_owned(), bytes, hash, summary })
}
