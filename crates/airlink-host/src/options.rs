//! Choices of the host target.

use std::path::PathBuf;

use airlink_rt::CpuLevel;

/// How host ELFs are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostOptions {
    /// What the code may use; the manifest records it.
    pub cpu: CpuLevel,
    /// The linker that the user asks for (`AIRLINK_LD`), before those that are looked for.
    pub linker: Option<PathBuf>,
    /// Run the points of each launch, and the tiles of each herd, from the last to the first. For `verify`: they have no order, so a program whose
    /// result changes is wrong.
    pub reverse_points: bool,
    /// Fill each fresh buffer with this byte. For `verify`: a program whose result depends on it reads what nobody
    /// wrote.
    pub poison: Option<u8>,
}

impl Default for HostOptions {
    fn default() -> HostOptions {
        HostOptions { cpu: CpuLevel::V3, linker: None, reverse_points: false, poison: None }
    }
}

impl HostOptions {
    /// The triple that code is made for.
    pub(crate) const TRIPLE: &'static str = "x86_64-unknown-linux-gnu";
    /// The same in the manifest.
    pub(crate) const TARGET: &'static str = "x86_64-linux";
}
