//! Which finding a broken rule becomes.

use airlink_device::{Fault, Rule};
use airlink_diag::{Code, Finding, Severity, codes};

/// The code of a rule.
pub(crate) fn code(rule: Rule) -> Code {
    match rule {
        Rule::LiveBds | Rule::Leak | Rule::BdId => codes::AL0301,
        Rule::B10 | Rule::B11 => codes::AL0302,
        Rule::ShimChannels => codes::AL0303,
        Rule::TileChannels | Rule::ChannelPin | Rule::B9 => codes::AL0304,
        Rule::HerdPlacement | Rule::Cascade => codes::AL0305,
        Rule::ElementWidth => codes::AL0306,
        Rule::S2 | Rule::S4 | Rule::S9 | Rule::B1 | Rule::B7 | Rule::B8 | Rule::NoChunk | Rule::G3 | Rule::G5 => {
            codes::AL0308
        }
        Rule::Repeat | Rule::RepeatOrder | Rule::G8 => codes::AL0309,
        Rule::L2Bytes | Rule::G4 => codes::AL0310,
        Rule::L1Bytes | Rule::G6 => codes::AL0311,
        Rule::ProgramBytes => codes::AL0312,
        Rule::S8 | Rule::B6 => codes::AL0313,
        Rule::Queue => codes::AL0315,
        Rule::PdiParity => codes::AL0316,
        Rule::Locks | Rule::LockValue => codes::AL0318,
        Rule::HostArgs => codes::AL0319,
        Rule::Token => codes::AL0320,
        Rule::SameName => codes::AL0321,
        Rule::ManyChunks => codes::AL0322,
        Rule::OddTrips => codes::AL0323,
        Rule::FullElf => codes::AL0324,
        Rule::Routing => codes::AL0325,
        Rule::B4 => codes::AL0326,
        Rule::MixedDma => codes::AL0327,
        // Sizes, lengths and ranks: what a descriptor's fields hold.
        Rule::S1 | Rule::S3 | Rule::S5 | Rule::S6 | Rule::S7 | Rule::S10 | Rule::S11 | Rule::S12 => codes::AL0314,
        Rule::B2 | Rule::B3 | Rule::B5 | Rule::B12 | Rule::Iteration | Rule::Field | Rule::TooLarge => codes::AL0314,
        Rule::G1 | Rule::G2 | Rule::G7 => codes::AL0314,
    }
}

/// The finding of a fault, still without a place: its headline names the launch.
pub(crate) fn finding(launch: &str, fault: &Fault) -> Finding {
    let severity = if fault.rule.is_warning() { Severity::Warning } else { Severity::Error };
    Finding::new(severity, code(fault.rule), format!("`{launch}`: {}", fault.text))
        .found(format!("{} {}", fault.found, fault.unit).trim_end().to_string())
        .allowed(format!("{} {}", fault.allowed, fault.unit).trim_end().to_string())
        .source(fault.source)
}
