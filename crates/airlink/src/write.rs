//! Writing: every file appears whole or not at all, and a set of files only when all of them could be made.

use std::io::Write;

use airlink_diag::{Finding, Findings, Reported, codes};
use camino::{Utf8Path, Utf8PathBuf};
use tempfile::NamedTempFile;

/// A file to be written.
pub struct Output {
    pub path: Utf8PathBuf,
    pub bytes: Vec<u8>,
}

/// Writes all files: first each beside its place under a passing name, then, when all bytes are on disk, each under its
/// own. A run that is killed in between leaves earlier files or new ones, never a part of one.
///
/// # Errors
/// AL0802 with the file and the system's reason.
pub fn all(outputs: &[Output], findings: &mut Findings) -> Result<(), Reported> {
    let mut written = Vec::new();
    for output in outputs {
        match write_beside(output) {
            Ok(file) => written.push((file, output)),
            Err(error) => return Err(cannot_write(&output.path, &error, findings)),
        }
    }
    for (file, output) in written {
        if let Err(error) = file.persist(&output.path) {
            return Err(cannot_write(&output.path, &error.error, findings));
        }
    }
    Ok(())
}

/// Writes one file.
///
/// # Errors
/// As [`all`].
pub fn one(path: &Utf8Path, bytes: Vec<u8>, findings: &mut Findings) -> Result<(), Reported> {
    all(&[Output { path: path.to_owned(), bytes }], findings)
}

fn write_beside(output: &Output) -> std::io::Result<NamedTempFile> {
    // Seen only by the last step otherwise, when files before this one have their names already.
    if output.path.is_dir() {
        return Err(std::io::ErrorKind::IsADirectory.into());
    }
    let folder = output.path.parent().filter(|p| !p.as_str().is_empty()).unwrap_or(Utf8Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new().prefix(".airlink-").permissions(mode()).tempfile_in(folder)?;
    file.write_all(&output.bytes)?;
    file.flush()?;
    Ok(file)
}

/// What other programs give their files: everything, less what the user's mask takes.
fn mode() -> std::fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    std::fs::Permissions::from_mode(0o666)
}

fn cannot_write(path: &Utf8Path, error: &std::io::Error, findings: &mut Findings) -> Reported {
    findings.fail(
        Finding::error(codes::AL0802, format!("`{path}` cannot be written: {error}"))
            .remedy("check the folder's permissions and the space left, or give another folder with -o"),
    )
}
