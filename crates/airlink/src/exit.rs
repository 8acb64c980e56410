//! Exit codes.

/// How a run ends; the numbers are part of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done; warnings too, without `-Werror`.
    Done = 0,
    /// Findings of error level, at run time as well.
    Findings = 1,
    /// Usage, unknown code or variant.
    Usage = 2,
    /// A file could not be read or written.
    File = 3,
    /// An external tool failed or is missing.
    Tool = 4,
    /// A comparison found a difference.
    Differs = 5,
    /// A bug in airlink.
    Bug = 101,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        std::process::ExitCode::from(exit as u8)
    }
}
