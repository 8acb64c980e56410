//! Control code as an ELF of its own, with the packets or the configurations that it needs.
//!
//! Source: `aie2_blob_preprocessor_input.cpp` of github.com/Xilinx/aiebu (`aiecompiler_json_parser`).

use std::sync::Arc;

use serde::Deserialize;

use super::control::control_code;
use super::derive::{DeriveError, Naming, derive};
use super::image::{
    ElfAbi, Instance, Kernel, NpuElf, OsAbi, PARTIAL_ARGUMENT_BASE, Relocation, Scheme, Section, SectionKind,
    Signature, UidForm,
};

/// Which buffers a stream knows, and where its control packets hold their addresses.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct ExternalBuffers {
    #[serde(default)]
    pub external_buffers: indexmap::IndexMap<String, ExternalBuffer>,
}

/// One entry of `external_buffers`.
#[derive(Clone, Debug, Deserialize)]
pub struct ExternalBuffer {
    /// The argument's index.
    pub xrt_id: u32,
    /// Whether it is the buffer of the control packets themselves.
    #[serde(default)]
    pub ctrl_pkt_buffer: bool,
    #[serde(default)]
    pub control_packet_patch_locations: Vec<PatchLocation>,
    /// Buffers that share this argument.
    #[serde(default)]
    pub coalesed_buffers: Vec<CoalescedBuffer>,
}

/// A part of an argument.
#[derive(Clone, Debug, Deserialize)]
pub struct CoalescedBuffer {
    #[serde(default)]
    pub offset_in_bytes: u32,
    #[serde(default)]
    pub control_packet_patch_locations: Vec<PatchLocation>,
}

/// Where an address stands.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct PatchLocation {
    /// Of the address words, in the control packets.
    pub offset: u32,
}

/// Why a stream cannot be packed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PackError {
    #[error("the control code cannot be used: {0}")]
    Code(#[from] DeriveError),
    #[error("a patch location at {offset:#x} lies outside the {bytes:#x} bytes of control packets")]
    Location { offset: u32, bytes: usize },
}

/// The older layout (ABI 0.2) of one control-code stream.
pub fn pack(code: &[u8], packets: Option<&[u8]>, buffers: &ExternalBuffers) -> Result<NpuElf, PackError> {
    let mut sections = Vec::new();
    let mut naming = Naming { argument_base: PARTIAL_ARGUMENT_BASE, ..Naming::default() };
    for buffer in buffers.external_buffers.values() {
        if buffer.ctrl_pkt_buffer {
            naming.names.entry(buffer.xrt_id).or_insert_with(|| "control-packet".into());
        }
    }
    if let Some(packets) = packets {
        let relocations = packet_relocations(buffers, packets.len())?;
        let kind = SectionKind::ControlData;
        sections.push(Section { kind, name: kind.stem().to_string(), bytes: packets.to_vec(), relocations });
    }
    let mut bytes = code.to_vec();
    let relocations = derive(&mut bytes, &naming)?;
    let kind = SectionKind::ControlText;
    sections.push(Section { kind, name: kind.stem().to_string(), bytes, relocations });
    let instance = Instance { id: String::new(), sections };
    Ok(NpuElf {
        os_abi: OsAbi::AIE2P,
        abi: ElfAbi::V0_2,
        common: Vec::new(),
        kernels: vec![Kernel { signature: None, instances: vec![instance] }],
        column_count: None,
        uid: UidForm::Hex,
        stated_uid: None,
        extra: Vec::new(),
    })
}

/// What goes into a full ELF of one kernel.
#[derive(Clone, Copy, Debug)]
pub struct FullParts<'p> {
    pub kernel: &'p str,
    pub instance: &'p str,
    pub argument_count: usize,
    pub code: &'p [u8],
    /// Each becomes `.pdi.N` with N from 1, in order.
    pub pdis: &'p [&'p [u8]],
}

/// The newer layout (ABI 1.0) of one control-code stream and the configurations that it loads.
///
/// Errors: code whose relocations cannot be derived.
pub fn pack_full(parts: &FullParts<'_>) -> Result<NpuElf, PackError> {
    let mut bytes = parts.code.to_vec();
    let relocations = derive(&mut bytes, &Naming::default())?;
    let header = control_code(&bytes).map_err(DeriveError::from)?.header;
    let kind = SectionKind::ControlText;
    let code = Section { kind, name: format!("{}.0", kind.stem()), bytes, relocations };
    let pdi = |(i, content): (usize, &&[u8])| Section {
        kind: SectionKind::Pdi,
        name: format!("{}.{}", SectionKind::Pdi.stem(), i + 1),
        bytes: content.to_vec(),
        relocations: Vec::new(),
    };
    let mut common: Vec<Section> = parts.pdis.iter().enumerate().map(pdi).collect();
    common.sort_by(|a, b| a.name.cmp(&b.name));
    let instance = Instance { id: parts.instance.to_string(), sections: vec![code] };
    let signature = Some(Signature::of_buffers(parts.kernel, parts.argument_count));
    Ok(NpuElf {
        os_abi: OsAbi::AIE2P,
        abi: ElfAbi::V1_0,
        common,
        kernels: vec![Kernel { signature, instances: vec![instance] }],
        column_count: Some(u32::from(header.column_count)),
        uid: UidForm::Raw,
        stated_uid: None,
        extra: Vec::new(),
    })
}

fn packet_relocations(buffers: &ExternalBuffers, packet_bytes: usize) -> Result<Vec<Relocation>, PackError> {
    let mut relocations = Vec::new();
    for buffer in buffers.external_buffers.values() {
        let symbol: Arc<str> = buffer.xrt_id.saturating_add(PARTIAL_ARGUMENT_BASE).to_string().into();
        let parts = buffer.coalesed_buffers.iter().map(|c| (c.offset_in_bytes, &c.control_packet_patch_locations));
        let parts: Vec<_> = match buffer.coalesed_buffers.is_empty() {
            true => vec![(0, &buffer.control_packet_patch_locations)],
            false => parts.collect(),
        };
        for (addend, location) in parts.iter().flat_map(|(addend, list)| list.iter().map(move |l| (*addend, l))) {
            let outside = PackError::Location { offset: location.offset, bytes: packet_bytes };
            // A relocation counts the two words in front of the address, as in a descriptor.
            let offset = location.offset.checked_sub(8).ok_or(outside.clone())?;
            if location.offset as usize + 8 > packet_bytes {
                return Err(outside);
            }
            let scheme = Scheme::CONTROL_PACKET_48;
            relocations.push(Relocation { offset, scheme, addend, symbol: symbol.clone(), size: 0 });
        }
    }
    Ok(relocations)
}
