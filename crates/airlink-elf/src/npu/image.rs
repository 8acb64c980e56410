//! What an NPU ELF says, as plain data: kernels, their instances, control code, configurations, relocations.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// An ELF that XRT loads on an NPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NpuElf {
    pub os_abi: OsAbi,
    pub abi: ElfAbi,
    /// Configurations and control packets for program memory, which every instance may refer to; in file order.
    pub common: Vec<Section>,
    /// One without a signature in the older layout.
    pub kernels: Vec<Kernel>,
    /// Columns of the partition (`.note.xrt.configuration`): what makes an ELF a full one.
    pub column_count: Option<u32>,
    pub uid: UidForm,
    /// The identity that the file states; the writer computes it anew.
    pub stated_uid: Option<Vec<u8>>,
    /// Sections that no loader looks at, in file order, behind all others.
    pub extra: Vec<ExtraSection>,
}

/// `EI_OSABI`, which names the family of devices. Source: `aie_elf_constants.h` of github.com/Xilinx/aiebu.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OsAbi(pub u8);

impl OsAbi {
    pub const AIE2PS: OsAbi = OsAbi(0x40);
    /// npu2: the one family whose control code is read here.
    pub const AIE2P: OsAbi = OsAbi(0x45);
    pub const AIE2PS_GROUP: OsAbi = OsAbi(0x46);
    pub const AIE4: OsAbi = OsAbi(0x4b);
    pub const AIE4A: OsAbi = OsAbi(0x56);
    pub const AIE4Z: OsAbi = OsAbi(0x69);

    const NAMES: [(OsAbi, &'static str); 6] = [
        (OsAbi::AIE2PS, "aie2ps"),
        (OsAbi::AIE2P, "aie2p"),
        (OsAbi::AIE2PS_GROUP, "aie2ps (groups)"),
        (OsAbi::AIE4, "aie4"),
        (OsAbi::AIE4A, "aie4a"),
        (OsAbi::AIE4Z, "aie4z"),
    ];

    pub fn is_known(self) -> bool {
        OsAbi::NAMES.iter().any(|(abi, _)| *abi == self)
    }
}

/// `EI_ABIVERSION`: the major version in the high half, the minor in the low one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ElfAbi(pub u8);

impl ElfAbi {
    /// Files of 2024: relocations hold their scheme in the addend.
    pub const V0_1: ElfAbi = ElfAbi(0x01);
    /// One kernel, to be used beside an xclbin.
    pub const V0_2: ElfAbi = ElfAbi(0x02);
    /// Kernels and instances in groups, with their configurations. The default of what airlink writes: the layout is
    /// that of 2.1, and more loaders accept it.
    pub const V1_0: ElfAbi = ElfAbi(0x10);
    pub const V2_1: ElfAbi = ElfAbi(0x21);

    pub fn major(self) -> u8 {
        self.0 >> 4
    }

    pub fn minor(self) -> u8 {
        self.0 & 15
    }

    /// Whether kernels stand in groups. Source: `xrt_elf.cpp` of github.com/Xilinx/XRT.
    pub fn is_grouped(self) -> bool {
        self.major() >= 1
    }

    /// `1.0`, `2.1` and the others that can be written.
    pub fn parse(text: &str) -> Option<ElfAbi> {
        [ElfAbi::V0_1, ElfAbi::V0_2, ElfAbi::V1_0, ElfAbi::V2_1].into_iter().find(|abi| abi.to_string() == text)
    }
}

/// How the identity note holds the MD5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UidForm {
    /// 32 hexadecimal digits, as tools wrote until 2025.
    Hex,
    /// 16 bytes, as today's loader insists.
    Raw,
}

/// A function that a host program opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// `_Z4mainPcPc`; none in the older layout.
    pub signature: Option<Signature>,
    pub instances: Vec<Instance>,
}

/// A kernel's name and argument types, as the symbol table spells them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Signature {
    pub name: String,
    /// As written in the mangled name: `Pc` is `char *`, the only type that the loader takes in an ELF.
    pub arguments: Vec<String>,
}

/// One control-code stream of a kernel, opened as `kernel:instance`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    pub id: String,
    /// In file order.
    pub sections: Vec<Section>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    pub kind: SectionKind,
    /// As in the file; the writer numbers those of instances anew.
    pub name: String,
    pub bytes: Vec<u8>,
    /// In file order.
    pub relocations: Vec<Relocation>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SectionKind {
    ControlText,
    /// Control packets, which the control code sends.
    ControlData,
    PreemptSave,
    PreemptRestore,
    Pdi,
    /// Control packets that load program memory.
    PmPackets,
}

/// A word or two that the loader patches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Relocation {
    /// In its section.
    pub offset: u32,
    pub scheme: Scheme,
    /// Bytes from the start of what the symbol stands for.
    pub addend: u32,
    /// An argument's number, `.pdi.N`, or one of the loader's own names.
    #[serde(serialize_with = "as_text")]
    pub symbol: Arc<str>,
    /// The symbol's `st_size`: bytes that a descriptor moves, a mask for [`Scheme::SCALAR_32`].
    pub size: u32,
}

fn as_text<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}

/// How a relocation is applied. Source: `elf_patcher.cpp` of github.com/Xilinx/XRT, `symbol.h` of aiebu.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Scheme(pub u8);

impl Scheme {
    /// A word under a mask.
    pub const SCALAR_32: Scheme = Scheme(3);
    /// The address words of a shim descriptor inside control packets.
    pub const CONTROL_PACKET_48: Scheme = Scheme(4);
    /// The address words of a shim descriptor.
    pub const SHIM_DMA_48: Scheme = Scheme(5);
    /// Two words, low first.
    pub const ADDRESS_64: Scheme = Scheme(8);

    pub fn name(self) -> &'static str {
        match self.0 {
            1 => "uc_dma_remote_ptr",
            2 => "shim_dma_57",
            3 => "scalar_32",
            4 => "control_packet_48",
            5 => "shim_dma_48",
            6 => "shim_dma_57_aie4",
            7 => "control_packet_57",
            8 => "address_64",
            9 => "control_packet_57_aie4",
            _ => "unknown",
        }
    }

    /// The bytes that are patched, counted from the relocation's offset; none for a scheme of another family.
    pub fn extent(self) -> Option<std::ops::Range<u32>> {
        match self {
            Scheme::SCALAR_32 => Some(0..4),
            Scheme::CONTROL_PACKET_48 => Some(8..16),
            Scheme::SHIM_DMA_48 => Some(4..12),
            Scheme::ADDRESS_64 => Some(0..8),
            _ => None,
        }
    }
}

/// A section that the model has no place for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtraSection {
    pub name: String,
    /// `sh_type`.
    pub kind: u32,
    /// `sh_flags`.
    pub flags: u32,
    pub alignment: u32,
    pub bytes: Vec<u8>,
}

/// What the loader puts in place of a symbol.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SymbolUse {
    /// Of the signature, from 0; the names of the older layout have been counted down by the three that come first.
    Argument(u32),
    Pdi,
    ControlData,
    /// Where preemption saves the array's state.
    ScratchMemory,
    ScratchControl,
    PmPackets,
    /// Of no known meaning.
    Unknown,
}

/// Arguments of a kernel beside an xclbin count from here: operation code, instruction buffer and its size come first.
pub const PARTIAL_ARGUMENT_BASE: u32 = 3;

impl NpuElf {
    /// Which argument a symbol's number 0 is.
    pub fn argument_base(&self) -> u32 {
        if self.abi.is_grouped() { 0 } else { PARTIAL_ARGUMENT_BASE }
    }

    /// The common section of that name.
    pub fn common_section(&self, name: &str) -> Option<&Section> {
        self.common.iter().find(|s| s.name == name)
    }

    /// Every kernel with each of its instances, in file order.
    pub fn instances(&self) -> impl Iterator<Item = (&Kernel, &Instance)> {
        self.kernels.iter().flat_map(|k| k.instances.iter().map(move |i| (k, i)))
    }

    /// Sections of instances and common ones, in file order.
    pub fn sections(&self) -> impl Iterator<Item = &Section> {
        self.common.iter().chain(self.instances().flat_map(|(_, i)| &i.sections))
    }
}

impl Instance {
    pub fn section(&self, kind: SectionKind) -> Option<&Section> {
        self.sections.iter().find(|s| s.kind == kind)
    }

    pub fn section_mut(&mut self, kind: SectionKind) -> Option<&mut Section> {
        self.sections.iter_mut().find(|s| s.kind == kind)
    }
}

impl SectionKind {
    pub const ALL: [SectionKind; 6] = [
        SectionKind::ControlText,
        SectionKind::ControlData,
        SectionKind::PreemptSave,
        SectionKind::PreemptRestore,
        SectionKind::Pdi,
        SectionKind::PmPackets,
    ];

    /// How names of such sections begin. The loader looks for these anywhere in a name, so no other section may have
    /// one in its own.
    pub fn stem(self) -> &'static str {
        match self {
            SectionKind::ControlText => ".ctrltext",
            SectionKind::ControlData => ".ctrldata",
            SectionKind::PreemptSave => ".preempt_save",
            SectionKind::PreemptRestore => ".preempt_restore",
            SectionKind::Pdi => ".pdi",
            SectionKind::PmPackets => ".ctrlpkt.pm",
        }
    }

    pub fn of_name(name: &str) -> Option<SectionKind> {
        SectionKind::ALL.into_iter().find(|k| name.contains(k.stem()))
    }

    /// Whether its content is control code.
    pub fn is_control(self) -> bool {
        matches!(self, SectionKind::ControlText | SectionKind::PreemptSave | SectionKind::PreemptRestore)
    }

    /// Whether it belongs to no instance.
    pub fn is_common(self) -> bool {
        matches!(self, SectionKind::Pdi | SectionKind::PmPackets)
    }

    /// Whether the section is mapped to be executed, as far as its flags go; the others are mapped to be written.
    pub(crate) fn is_executable(self, is_grouped: bool) -> bool {
        match self {
            SectionKind::ControlText | SectionKind::Pdi => true,
            SectionKind::PmPackets => is_grouped,
            _ => false,
        }
    }
}

impl SymbolUse {
    /// What the loader takes a symbol for; `base` is [`NpuElf::argument_base`].
    pub fn of(symbol: &str, base: u32) -> SymbolUse {
        if !symbol.is_empty() && symbol.bytes().all(|b| b.is_ascii_digit()) {
            let number = symbol.parse::<u32>().ok().and_then(|n| n.checked_sub(base));
            return number.map_or(SymbolUse::Unknown, SymbolUse::Argument);
        }
        match symbol {
            "control-packet" => SymbolUse::ControlData,
            "scratch-pad-mem" => SymbolUse::ScratchMemory,
            "scratch-pad-ctrl" => SymbolUse::ScratchControl,
            _ if symbol.starts_with("ctrlpkt-pm-") => SymbolUse::PmPackets,
            _ if symbol.starts_with(".pdi.") => SymbolUse::Pdi,
            _ => SymbolUse::Unknown,
        }
    }
}

impl Signature {
    /// A kernel that takes `argument_count` buffers.
    pub fn of_buffers(name: &str, argument_count: usize) -> Signature {
        Signature { name: name.to_string(), arguments: vec!["Pc".to_string(); argument_count] }
    }

    /// Reads `_Z<length><name><types>`, where a type is `P`s and one of `v`, `c`, `i`; none for another form.
    pub fn parse(mangled: &str) -> Option<Signature> {
        let rest = mangled.strip_prefix("_Z")?;
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let length: usize = rest[..digits].parse().ok()?;
        let name = rest[digits..].get(..length)?;
        let mut types = &rest[digits + length..];
        let mut arguments = Vec::new();
        while !types.is_empty() {
            let depth = types.len() - types.trim_start_matches('P').len();
            if !types[depth..].starts_with(['v', 'c', 'i']) {
                return None;
            }
            arguments.push(types[..=depth].to_string());
            types = &types[depth + 1..];
        }
        if arguments == ["v"] {
            arguments.clear();
        }
        Some(Signature { name: name.to_string(), arguments })
    }

    pub fn mangled(&self) -> String {
        format!("_Z{}{}{}", self.name.len(), self.name, self.arguments.concat())
    }
}

impl fmt::Display for OsAbi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match OsAbi::NAMES.iter().find(|(abi, _)| abi == self) {
            Some((_, name)) => f.write_str(name),
            None => write!(f, "OS ABI {:#04x}", self.0),
        }
    }
}

impl fmt::Display for ElfAbi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major(), self.minor())
    }
}
