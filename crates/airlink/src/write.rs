//! Writing: every file appears whole or not at all, and a set of files only when all of them could be made.

use std::io::Write;

use airlink_diag::{Finding, Findings, Reported, codes};
use camino::{Utf8Path, Utf8PathBuf};
use tempfile::NamedTempFile;

use crate::paths;

/// A file to be written.
pub struct Output {
    pub path: Utf8PathBuf,
    pub bytes: Vec<u8>,
}

/// Makes sure that writing `outputs` takes nothing from the user: no file that the run read is replaced by other bytes,
/// and no two outputs have one name. An output that is there already with the very bytes is no loss.
///
/// # Errors
/// AL0806 for each such output.
pub fn spare(outputs: &[Output], inputs: &[Utf8PathBuf], findings: &mut Findings) -> Result<(), Reported> {
    // Through links: two names may mean one file.
    let inputs: Vec<_> = inputs.iter().filter_map(|i| Some((i, i.canonicalize().ok()?))).collect();
    let mut failed = None;
    for (position, output) in outputs.iter().enumerate() {
        let path = &output.path;
        let real = path.canonicalize().ok();
        let is_real = |other: &std::path::PathBuf| real.as_ref() == Some(other);
        let finding = if let Some((input, _)) = inputs.iter().find(|(_, r)| is_real(r)) {
            if std::fs::read(path).is_ok_and(|there| there == output.bytes) {
                continue;
            }
            Finding::error(codes::AL0806, format!("`{path}` would overwrite `{input}`, which this run reads"))
        } else if outputs[..position].iter().any(|o| paths::clean(&o.path) == paths::clean(path)) {
            Finding::error(codes::AL0806, format!("`{path}` would be written twice, with different content"))
        } else {
            continue;
        };
        failed = Some(findings.fail(finding.remedy("give another folder with -o, or another name")));
    }
    failed.map_or(Ok(()), Err)
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
    let folders = path.ancestors().skip(1).filter(|a| !a.as_str().is_empty());
    if let Some(file) = folders.into_iter().find(|a| a.exists()).filter(|a| !a.is_dir()) {
        return findings.fail(
            Finding::error(codes::AL0802, format!("`{file}` is not a folder, so `{path}` cannot be written"))
                .remedy("give a folder with -o, or the name of one that is to be made"),
        );
    }
    findings.fail(
        Finding::error(codes::AL0802, format!("`{path}` cannot be written: {error}"))
            .remedy("check the folder's permissions and the space left, or give another folder with -o"),
    )
}
