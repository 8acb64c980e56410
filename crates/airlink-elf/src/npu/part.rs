//! What a linker takes: one control-code stream with everything that it refers to.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::control::{ControlHeader, OpKind, control_code};
use super::derive::{DeriveError, Naming, derive};
use super::image::{Instance, Kernel, NpuElf, OsAbi, Section, SectionKind, SymbolUse};

/// A compiled kernel, from a full ELF, from a partial one with its PDI, or from a bare stream with its PDI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub code: Section,
    pub data: Option<Section>,
    /// What saves the array's state on preemption, and what restores it.
    pub preemption: Option<(Section, Section)>,
    /// Configurations by the symbol that stands for them.
    pub pdis: BTreeMap<Arc<str>, Arc<[u8]>>,
    /// Control packets for program memory, likewise.
    pub pm_packets: BTreeMap<Arc<str>, Arc<[u8]>>,
    pub header: ControlHeader,
    /// What the signature takes; without one, one more than the highest that a relocation names.
    pub argument_count: usize,
}

/// Why an ELF or a stream cannot be linked, as the end of a sentence about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartError {
    #[error("it is for {family}")]
    Family { family: OsAbi },
    #[error("its control code cannot be used: {0}")]
    Code(#[from] DeriveError),
    #[error("its kernel has no control code")]
    NoCode,
    #[error("it holds {0}, and none is `main`")]
    WhichInstance(String),
    #[error("it holds no kernel")]
    NoKernel,
    #[error("it is a partial ELF (ABI {abi}), which needs the PDI that configures the array")]
    NoPdi { abi: String },
    #[error("it has a configuration of its own")]
    SecondPdi,
    #[error("it refers to `{symbol}`, which it does not hold")]
    Missing { symbol: Arc<str> },
    #[error("it refers to `{symbol}`, which no loader knows")]
    Symbol { symbol: Arc<str> },
    #[error("it saves the array's state and does not restore it, or the other way round")]
    HalfPreemption,
}

/// The kernel that full ELFs of mlir-air are opened by.
pub const MAIN_KERNEL: &str = "main";

impl Part {
    /// The one instance of a full ELF, or that of its kernel `main`.
    ///
    /// Errors: another family, several instances, a partial ELF, a reference to what is not there.
    pub fn of_elf(elf: &NpuElf) -> Result<Part, PartError> {
        check_family(elf)?;
        if !elf.abi.is_grouped() {
            return Err(PartError::NoPdi { abi: elf.abi.to_string() });
        }
        let (kernel, instance) = only_instance(elf)?;
        let part = Part::of_instance(elf, kernel, instance)?;
        part.check_references()?;
        Ok(part)
    }

    /// A partial ELF, and the configuration that it runs on.
    pub fn of_partial_elf(elf: &NpuElf, pdi: &[u8]) -> Result<Part, PartError> {
        check_family(elf)?;
        if elf.abi.is_grouped() {
            return Err(PartError::SecondPdi);
        }
        let (kernel, instance) = only_instance(elf)?;
        let mut part = Part::of_instance(elf, kernel, instance)?;
        let base = elf.argument_base();
        let sections = [Some(&mut part.code), part.data.as_mut()];
        for relocation in sections.into_iter().flatten().flat_map(|s| &mut s.relocations) {
            if let SymbolUse::Argument(number) = SymbolUse::of(&relocation.symbol, base) {
                relocation.symbol = number.to_string().into();
            }
        }
        part.prepend_load(pdi)?;
        part.check_references()?;
        Ok(part)
    }

    /// A stream as mlir-aie writes it beside an xclbin, and the configuration that it runs on.
    pub fn of_stream(code: &[u8], pdi: &[u8]) -> Result<Part, PartError> {
        let mut bytes = code.to_vec();
        let naming = Naming { is_aperture_folded: true, ..Naming::default() };
        let relocations = derive(&mut bytes, &naming)?;
        let header = control_code(code).map_err(DeriveError::from)?.header;
        let kind = SectionKind::ControlText;
        let code = Section { kind, name: kind.stem().to_string(), bytes, relocations };
        let (pdis, pm_packets) = (BTreeMap::new(), BTreeMap::new());
        let mut part = Part { code, data: None, preemption: None, pdis, pm_packets, header, argument_count: 0 };
        part.argument_count = part.argument_end();
        part.prepend_load(pdi)?;
        part.check_references()?;
        Ok(part)
    }

    fn of_instance(elf: &NpuElf, kernel: &Kernel, instance: &Instance) -> Result<Part, PartError> {
        let code = instance.section(SectionKind::ControlText).ok_or(PartError::NoCode)?.clone();
        let header = control_code(&code.bytes).map_err(DeriveError::from)?.header;
        let of_kind = |kind| instance.section(kind).cloned();
        let preemption = match (of_kind(SectionKind::PreemptSave), of_kind(SectionKind::PreemptRestore)) {
            (Some(save), Some(restore)) => Some((save, restore)),
            (None, None) => None,
            _ => return Err(PartError::HalfPreemption),
        };
        let common = |kind: SectionKind, symbol: fn(&str) -> String| {
            let list = elf.common.iter().chain(&instance.sections).filter(|s| s.kind == kind);
            list.map(|s| (symbol(&s.name).into(), s.bytes.as_slice().into())).collect()
        };
        let mut part = Part {
            pdis: common(SectionKind::Pdi, str::to_string),
            // The loader finds `.ctrlpkt.pm.N` by the symbol `ctrlpkt-pm-N`.
            pm_packets: common(SectionKind::PmPackets, |name| name.trim_start_matches('.').replace('.', "-")),
            data: of_kind(SectionKind::ControlData),
            code,
            preemption,
            header,
            argument_count: 0,
        };
        let from_signature = kernel.signature.as_ref().map(|s| s.arguments.len());
        part.argument_count = from_signature.unwrap_or_else(|| {
            let base = elf.argument_base() as usize;
            part.argument_end().saturating_sub(base)
        });
        Ok(part)
    }

    /// One more than the highest argument that its code uses.
    pub fn used_argument_count(&self) -> usize {
        self.argument_end()
    }

    /// One more than the highest argument that a relocation names by number.
    fn argument_end(&self) -> usize {
        let number = |symbol: &str| match SymbolUse::of(symbol, 0) {
            SymbolUse::Argument(n) => n as usize + 1,
            _ => 0,
        };
        self.sections().flat_map(|s| &s.relocations).map(|r| number(&r.symbol)).max().unwrap_or(0)
    }

    /// Control code and its packets.
    pub fn sections(&self) -> impl Iterator<Item = &Section> {
        std::iter::once(&self.code).chain(&self.data)
    }

    /// Puts a load of `pdi` in front of a stream that loads nothing.
    fn prepend_load(&mut self, pdi: &[u8]) -> Result<(), PartError> {
        let code = control_code(&self.code.bytes).map_err(DeriveError::from)?;
        if code.operations().flatten().any(|o| matches!(o.kind, OpKind::LoadPdi { .. })) {
            return Err(PartError::SecondPdi);
        }
        let symbol: Arc<str> = ".pdi.1".into();
        let load = super::emit::load_pdi(1);
        let header = super::emit::header(&self.header, self.header.op_count + 1, self.code.bytes.len() + load.len());
        let header = header.ok_or(PartError::NoCode)?;
        let start = header.len();
        let body = self.code.bytes.split_off(start);
        self.code.bytes = [&header[..], &load[..], &body[..]].concat();
        self.header = control_code(&self.code.bytes).map_err(DeriveError::from)?.header;
        for relocation in &mut self.code.relocations {
            relocation.offset += load.len() as u32;
        }
        self.code.relocations.insert(0, super::emit::load_relocation(start, symbol.clone()));
        self.pdis.insert(symbol, pdi.into());
        Ok(())
    }

    /// Every symbol stands for something that is there.
    fn check_references(&self) -> Result<(), PartError> {
        for symbol in self.sections().flat_map(|s| &s.relocations).map(|r| &r.symbol) {
            let is_there = match SymbolUse::of(symbol, 0) {
                SymbolUse::Argument(_) | SymbolUse::ScratchControl | SymbolUse::ScratchMemory => true,
                SymbolUse::Pdi => self.pdis.contains_key(symbol),
                SymbolUse::PmPackets => self.pm_packets.contains_key(symbol),
                SymbolUse::ControlData => self.data.is_some(),
                SymbolUse::Unknown => return Err(PartError::Symbol { symbol: symbol.clone() }),
            };
            if !is_there {
                return Err(PartError::Missing { symbol: symbol.clone() });
            }
        }
        Ok(())
    }
}

fn check_family(elf: &NpuElf) -> Result<(), PartError> {
    if elf.os_abi == OsAbi::AIE2P { Ok(()) } else { Err(PartError::Family { family: elf.os_abi }) }
}

fn only_instance(elf: &NpuElf) -> Result<(&Kernel, &Instance), PartError> {
    let all: Vec<_> = elf.instances().collect();
    let name = |kernel: &Kernel| kernel.signature.as_ref().map(|s| s.name.clone()).unwrap_or_default();
    match &all[..] {
        [] => Err(PartError::NoKernel),
        [one] => Ok(*one),
        _ => {
            let main: Vec<_> = all.iter().filter(|(k, _)| name(k) == MAIN_KERNEL).collect();
            let list = || all.iter().map(|(k, i)| format!("`{}:{}`", name(k), i.id)).collect::<Vec<_>>().join(", ");
            if let [one] = main[..] { Ok(*one) } else { Err(PartError::WhichInstance(list())) }
        }
    }
}
