//! Why an ELF ends, and how the program calls it.

use std::fmt;

use airlink_diag::Code;
use airlink_graph::{BufferIdx, LaunchIdx};

use crate::Objective;

/// One call of an ELF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallPlan {
    /// The launches of the graph that it runs, in program order.
    pub launches: Vec<LaunchIdx>,
    /// One per argument of the ELF.
    pub args: Vec<BufferIdx>,
}

/// Why an ELF ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CutReason {
    /// An `[[elf]]` says so.
    Given,
    /// The host step of that name follows.
    HostStep {
        name: String,
        /// Sizes of what it reads and writes; none where a buffer has no type.
        read_bytes: Option<u64>,
        written_bytes: Option<u64>,
    },
    /// The launch of that name must not be fused.
    FuseNever(String),
    /// An iteration of a repeated layer ends here.
    Iteration { layer: String, count: u64, across: Option<Across> },
    /// A repeated layer begins.
    BeforeLayer { layer: String, count: u64 },
    /// Together with what follows it would break a limit.
    Limit {
        /// What follows, by the names of launches.
        with: String,
        /// None for a limit that the user set.
        code: Option<Code>,
        found: String,
        allowed: String,
        source: String,
    },
    /// Together with what follows it would be worse by the objective; costs most important number first.
    Objective { with: String, objective: Objective, together: [u64; 4], apart: [u64; 4] },
    /// Nothing follows.
    EndOfProgram,
}

/// The plan beside the one whose ELFs may cross the ends of iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Across {
    pub calls: usize,
    pub elfs: usize,
    pub calls_across: usize,
    pub elfs_across: usize,
}

impl fmt::Display for CutReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CutReason::Given => f.write_str("given by [[elf]]"),
            CutReason::HostStep { name, read_bytes, written_bytes } => {
                write!(f, "host step `{name}` follows")?;
                let moved = [("takes", read_bytes), ("gives", written_bytes)];
                let text: Vec<String> = moved
                    .iter()
                    .filter_map(|(verb, n)| Some((verb, n.filter(|n| *n > 0)?)))
                    .map(|(verb, n)| format!("{verb} {}", bytes(n)))
                    .collect();
                if text.is_empty() { Ok(()) } else { write!(f, ", {}", text.join(" and ")) }
            }
            CutReason::FuseNever(name) => write!(f, "launch `{name}` must not be fused"),
            CutReason::Iteration { layer, count, across } => {
                write!(f, "an iteration of `{layer}` ends: {count} share their ELFs")?;
                match across {
                    Some(a) => write!(
                        f,
                        "; with --unroll {} of {} instead of {} of {}",
                        counted(a.calls_across, "call"),
                        counted(a.elfs_across, "ELF"),
                        counted(a.calls, "call"),
                        counted(a.elfs, "ELF")
                    ),
                    None => Ok(()),
                }
            }
            CutReason::BeforeLayer { layer, count } => {
                write!(f, "`{layer}` begins: its {count} iterations share their ELFs")
            }
            CutReason::Limit { with, code, found, allowed, source } => {
                write!(f, "with {with} {found}, {allowed} allowed ({source}")?;
                code.map_or(Ok(()), |c| write!(f, ", {c}"))?;
                f.write_str(")")
            }
            CutReason::Objective { with, objective, together, apart } => {
                let units = objective.units();
                let at = (0..units.len()).find(|i| together[*i] != apart[*i]).unwrap_or(0);
                write!(f, "with {with} {} {}, apart {}", together[at], units[at], apart[at])
            }
            CutReason::EndOfProgram => f.write_str("end of the program"),
        }
    }
}

impl Objective {
    /// What the numbers of a cost count, in the order of `Costs::cost`.
    pub(crate) fn units(self) -> [&'static str; 4] {
        let odd = "ELFs with an odd number of PDI loads";
        match self {
            Objective::Launches => ["calls", odd, "bytes that cross", "launches squared"],
            Objective::Bytes => ["bytes that cross", "calls", odd, "launches squared"],
            Objective::Compile => ["launches above the 8 advised", "calls", "launches squared", odd],
        }
    }
}

/// `1 call`, `2 calls`.
fn counted(n: usize, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") }
}

/// `4.0 KiB`.
pub(crate) fn bytes(size_bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if size_bytes < 1024 {
        return format!("{size_bytes} B");
    }
    let mut size = size_bytes as f64 / 1024.0;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}
