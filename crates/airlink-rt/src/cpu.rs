//! The instruction levels of x86-64 that host code is compiled for.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A level of the x86-64 psABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum CpuLevel {
    #[serde(rename = "x86-64")]
    V1,
    #[serde(rename = "x86-64-v2")]
    V2,
    #[serde(rename = "x86-64-v3")]
    V3,
    #[serde(rename = "x86-64-v4")]
    V4,
}

impl CpuLevel {
    pub const ALL: [CpuLevel; 4] = [CpuLevel::V1, CpuLevel::V2, CpuLevel::V3, CpuLevel::V4];

    /// `x86-64-v3`: what LLVM calls the CPU.
    pub fn name(self) -> &'static str {
        match self {
            CpuLevel::V1 => "x86-64",
            CpuLevel::V2 => "x86-64-v2",
            CpuLevel::V3 => "x86-64-v3",
            CpuLevel::V4 => "x86-64-v4",
        }
    }

    pub fn parse(name: &str) -> Option<CpuLevel> {
        Self::ALL.into_iter().find(|l| l.name() == name)
    }

    /// The highest level that this machine runs; `None` if it is no x86-64.
    pub fn of_this_machine() -> Option<CpuLevel> {
        Self::ALL.into_iter().rev().find(|l| l.missing_features().is_empty())
    }

    /// The features of this level and those below that this machine lacks, in the psABI's order.
    ///
    /// Source: x86-64 psABI, "Micro-Architecture Levels". LAHF-SAHF (v2) and OSXSAVE (v3) are left out: the first has
    /// no detection in Rust and every CPU with SSE4.2 has it, the second is part of how AVX is detected.
    pub fn missing_features(self) -> Vec<&'static str> {
        features()
            .into_iter()
            .filter(|&(level, _, present)| level <= self && !present)
            .map(|(_, name, _)| name)
            .collect()
    }
}

#[cfg(target_arch = "x86_64")]
fn features() -> Vec<(CpuLevel, &'static str, bool)> {
    macro_rules! detect {
        ($($level:ident: [$($name:tt)*])*) => {
            vec![$($((CpuLevel::$level, $name, std::arch::is_x86_feature_detected!($name)),)*)*]
        };
    }
    detect! {
        V1: ["sse2"]
        V2: ["cmpxchg16b" "popcnt" "sse3" "sse4.1" "sse4.2" "ssse3"]
        V3: ["avx" "avx2" "bmi1" "bmi2" "f16c" "fma" "lzcnt" "movbe"]
        V4: ["avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl"]
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn features() -> Vec<(CpuLevel, &'static str, bool)> {
    vec![(CpuLevel::V1, "x86-64", false)]
}

impl fmt::Display for CpuLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
