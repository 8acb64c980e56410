//! Linking objects into a shared ELF.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use airlink_diag::{Finding, Findings, Reported, codes};

/// Where Debian's `lld-22` puts the linker that matches the LLVM we build with.
const LLVM_LINKER: &str = "/usr/lib/llvm-22/bin/ld.lld";
/// Only entries and the manifest can be seen from outside, so that two ELFs in one process cannot mix up their kernels.
const EXPORTS: &str = "{ global: airlink_*; local: *; };\n";

/// A linker that is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Linker {
    program: PathBuf,
    /// A compiler driver such as `cc`, which takes linker options behind `-Wl,`.
    is_driver: bool,
    /// The first line that it prints when asked for its version.
    version: String,
}

impl Linker {
    /// What is looked for where the user names no linker, in this order.
    pub const CANDIDATES: [&str; 4] = [LLVM_LINKER, "ld.lld-22", "ld.lld", "cc"];

    /// The linker that the user names, else the first of `/usr/lib/llvm-22/bin/ld.lld`, `ld.lld-22`, `ld.lld` and `cc`
    /// that runs.
    ///
    /// # Errors
    /// AL0803 if there is none, or the one that the user names does not run.
    pub fn find(wanted: Option<&Path>, findings: &mut Findings) -> Result<Linker, Reported> {
        if let Some(wanted) = wanted {
            return Linker::probe(wanted).ok_or_else(|| {
                let headline = format!("the linker `{}`, which AIRLINK_LD names, does not run", wanted.display());
                findings.fail(
                    Finding::error(codes::AL0803, headline)
                        .remedy("unset AIRLINK_LD, or let it name an ELF linker such as `ld.lld`"),
                )
            });
        }
        let candidates = Linker::CANDIDATES;
        candidates.iter().find_map(|c| Linker::probe(Path::new(c))).ok_or_else(|| {
            findings.fail(
                Finding::error(codes::AL0803, "no linker for host ELFs is installed")
                    .found(format!("none of {} runs", candidates.join(", ")))
                    .remedy("install lld (Debian: `apt-get install lld-22`), or name a linker in AIRLINK_LD"),
            )
        })
    }

    /// `LLD 22.1.8 (compatible with GNU linkers)`, for `doctor` and the map.
    pub fn version(&self) -> &str {
        &self.version
    }

    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The linker with this path or name, if it runs.
    pub fn probe(program: &Path) -> Option<Linker> {
        let output = Command::new(program).arg("--version").output().ok().filter(|o| o.status.success())?;
        let text = String::from_utf8_lossy(&output.stdout);
        let stem = program.file_name().unwrap_or_default().to_string_lossy();
        let is_driver =
            ["cc", "gcc", "clang", "c++", "g++"].iter().any(|d| stem == *d || stem.starts_with(&format!("{d}-")));
        let version = text.lines().next().unwrap_or_default().trim().to_string();
        Some(Linker { program: program.to_path_buf(), is_driver, version })
    }

    /// Links objects, given by name and content, in this order. Works in a folder of its own under names that it makes
    /// up, so that no path gets into the result.
    ///
    /// # Errors
    /// AL0804 with what the linker said; AL0802 where temporary files cannot be written.
    pub(crate) fn link(&self, objects: &[(&str, &[u8])], findings: &mut Findings) -> Result<Vec<u8>, Reported> {
        let machine = |e: io::Error, findings: &mut Findings| {
            let headline = format!("temporary files for linking cannot be written: {e}");
            findings
                .fail(Finding::error(codes::AL0802, headline).remedy("free space in the folder for temporary files"))
        };
        let folder = tempfile::Builder::new().prefix("airlink").tempdir().map_err(|e| machine(e, findings))?;
        let output = self.link_in(folder.path(), objects).map_err(|e| machine(e, findings))?;
        if !output.status.success() || !folder.path().join(OUTPUT).is_file() {
            return Err(findings.fail(self.failure(objects, &output)));
        }
        std::fs::read(folder.path().join(OUTPUT)).map_err(|e| machine(e, findings))
    }

    fn link_in(&self, folder: &Path, objects: &[(&str, &[u8])]) -> io::Result<Output> {
        std::fs::write(folder.join("exports"), EXPORTS)?;
        let mut command = Command::new(&self.program);
        command.current_dir(folder).args(["-shared", "-o", OUTPUT]);
        if self.is_driver {
            command.args(["-nostdlib", "-nostartfiles"]);
        }
        for option in [
            "-znow",
            "-znoexecstack",
            "--gc-sections",
            "--build-id=sha1",
            "--hash-style=gnu",
            "--version-script=exports",
        ] {
            command.arg(if self.is_driver { format!("-Wl,{option}") } else { option.to_string() });
        }
        for (index, (_, bytes)) in objects.iter().enumerate() {
            let file = object_file(index);
            std::fs::write(folder.join(&file), bytes)?;
            command.arg(file);
        }
        command.output()
    }

    fn failure(&self, objects: &[(&str, &[u8])], output: &Output) -> Finding {
        let mut text = String::from_utf8_lossy(&output.stderr).into_owned();
        // From the last, so that `1.o` does not hit `11.o`.
        for (index, (name, _)) in objects.iter().enumerate().rev() {
            text = text.replace(&object_file(index), name);
        }
        if text.trim().is_empty() {
            text = format!("no message; it ended with {} and wrote no ELF", output.status);
        }
        let name = self.program.file_name().unwrap_or(OsStr::new("the linker")).to_string_lossy();
        Finding::error(codes::AL0804, format!("`{name}` could not link the host ELF"))
            .found(text.trim_end())
            .remedy("compile kernel objects with `-fPIC -ffp-contract=off`, and define each symbol once")
    }
}

const OUTPUT: &str = "out.elf";

fn object_file(index: usize) -> String {
    format!("{index}.o")
}
