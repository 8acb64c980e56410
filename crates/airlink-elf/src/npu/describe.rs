//! What an ELF says of itself: a note that no loader looks at, with the arguments and the launches of a fused program.

use serde::{Deserialize, Serialize};

use super::image::{ExtraSection, NpuElf};
use super::write::note;

/// The section's name: none of those that the loader looks for is a part of it.
pub const DESCRIPTION_SECTION: &str = ".note.airlink";
/// The version of the JSON in it.
pub const DESCRIPTION_SCHEMA: u32 = 1;

const OWNER: &str = "airlink";
const NOTE_TYPE: u32 = 1;

/// Arguments and launches of a fused ELF.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// [`DESCRIPTION_SCHEMA`]
    pub schema: u32,
    /// Of the ELF; what a host program opens is `main:<name>`.
    pub name: String,
    pub graph: String,
    pub arguments: Vec<DescribedArgument>,
    pub launches: Vec<DescribedLaunch>,
    /// Whether the control code ends with a reset that is no launch's.
    pub has_closing_reset: bool,
}

/// One argument, in the order of the signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DescribedArgument {
    pub index: usize,
    /// The buffer's name in the launch graph.
    pub name: String,
    /// As MLIR prints it.
    #[serde(rename = "type")]
    pub ty: String,
    /// Extents in elements; null where dynamic.
    pub shape: Vec<Option<u64>>,
    pub role: String,
    /// Null where an extent is dynamic.
    pub bytes: Option<u64>,
}

/// One launch and the part of the control code that is its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DescribedLaunch {
    pub name: String,
    /// The compiled kernel, as the graph spells its path.
    pub elf: String,
    /// First byte in `.ctrltext`.
    pub start: u32,
    /// One past the last.
    pub end: u32,
    /// Per argument of the kernel.
    pub arguments: Vec<DescribedOperand>,
}

/// What a kernel's argument is in the fused program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DescribedOperand {
    pub argument: u32,
    pub offset_bytes: u64,
}

/// The description in an ELF; none where there is none.
///
/// The error is the end of a sentence about the section.
pub fn description(elf: &NpuElf) -> Result<Option<Description>, String> {
    let Some(section) = elf.extra.iter().find(|s| s.name == DESCRIPTION_SECTION) else { return Ok(None) };
    let content = super::read::note_content(&section.bytes, DESCRIPTION_SECTION)?;
    let text = serde_json::from_slice(content).map_err(|e| format!("it cannot be read: {e}"))?;
    Ok(Some(text))
}

/// Puts a description into an ELF, in place of the one that is there.
pub fn describe(elf: &mut NpuElf, description: &Description) {
    // Plain data with string keys: it always serialises.
    let text = serde_json::to_vec(description).unwrap_or_default();
    elf.extra.retain(|s| s.name != DESCRIPTION_SECTION);
    elf.extra.push(ExtraSection {
        name: DESCRIPTION_SECTION.to_string(),
        kind: object::elf::SHT_NOTE.0,
        flags: 0,
        alignment: 4,
        bytes: note(OWNER, NOTE_TYPE, &text),
    });
}
