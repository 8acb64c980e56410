//! Objects of any class and byte order, made in memory.

use object::write::{Comdat, Object, Relocation, StandardSection, Symbol, SymbolId, SymbolSection};
use object::{
    Architecture, BinaryFormat, ComdatKind, Endianness, RelocationEncoding, RelocationFlags, RelocationKind,
    SectionKind, SymbolFlags, SymbolKind, SymbolScope,
};

/// Classes and byte orders: 64-bit and 32-bit, little and big endian.
pub const TARGETS: &[(&str, Architecture, Endianness)] = &[
    ("x86-64", Architecture::X86_64, Endianness::Little),
    ("32-bit x86", Architecture::I386, Endianness::Little),
    ("PowerPC", Architecture::PowerPc, Endianness::Big),
    ("PowerPC64", Architecture::PowerPc64, Endianness::Big),
    ("SPARC64", Architecture::Sparc64, Endianness::Big),
    ("AArch64", Architecture::Aarch64, Endianness::Little),
];

pub struct Maker {
    pub object: Object<'static>,
}

impl Maker {
    pub fn new(architecture: Architecture, endianness: Endianness) -> Maker {
        Maker { object: Object::new(BinaryFormat::Elf, architecture, endianness) }
    }

    pub fn x86_64() -> Maker {
        Maker::new(Architecture::X86_64, Endianness::Little)
    }

    /// A function in a section of its own, `.text.<name>`.
    pub fn function(&mut self, name: &str, scope: SymbolScope, weak: bool) -> SymbolId {
        self.function_in(&format!(".text.{name}"), name, scope, weak)
    }

    pub fn function_in(&mut self, section: &str, name: &str, scope: SymbolScope, weak: bool) -> SymbolId {
        let section = self.object.add_section(Vec::new(), section.as_bytes().to_vec(), SectionKind::Text);
        self.object.append_section_data(section, &[0x90; 16], 16);
        self.add(name, 16, SymbolKind::Text, scope, weak, SymbolSection::Section(section))
    }

    pub fn variable(&mut self, name: &str, scope: SymbolScope) -> SymbolId {
        let section = self.object.section_id(StandardSection::Data);
        let at = self.object.append_section_data(section, &[7; 8], 8);
        let symbol = self.add(name, 8, SymbolKind::Data, scope, false, SymbolSection::Section(section));
        self.object.symbol_mut(symbol).value = at;
        symbol
    }

    pub fn undefined(&mut self, name: &str) -> SymbolId {
        self.add(name, 0, SymbolKind::Unknown, SymbolScope::Unknown, false, SymbolSection::Undefined)
    }

    pub fn common(&mut self, name: &str) {
        let symbol = self.add(name, 0, SymbolKind::Data, SymbolScope::Linkage, false, SymbolSection::Common);
        self.object.symbol_mut(symbol).size = 64;
        self.object.symbol_mut(symbol).value = 16;
    }

    /// Puts the sections that define `members` into a COMDAT group called after `signature`.
    pub fn group(&mut self, signature: SymbolId, members: &[SymbolId]) {
        let sections = members.iter().filter_map(|&m| self.object.symbol(m).section.id()).collect();
        self.object.add_comdat(Comdat { kind: ComdatKind::Any, symbol: signature, sections });
    }

    /// A 32-bit absolute reference to `to` in the section of `from`.
    pub fn refer(&mut self, from: SymbolId, to: SymbolId) {
        let section = self.object.symbol(from).section.id().expect("a definition");
        let flags = RelocationFlags::Generic {
            kind: RelocationKind::Absolute,
            encoding: RelocationEncoding::Generic,
            size: 32,
        };
        self.object.add_relocation(section, Relocation { offset: 4, symbol: to, addend: 0, flags }).unwrap();
    }

    pub fn write(&self) -> Vec<u8> {
        self.object.write().unwrap()
    }

    fn add(
        &mut self,
        name: &str,
        size: u64,
        kind: SymbolKind,
        scope: SymbolScope,
        weak: bool,
        section: SymbolSection,
    ) -> SymbolId {
        let name = name.as_bytes().to_vec();
        self.object.add_symbol(Symbol { name, value: 0, size, kind, scope, weak, section, flags: SymbolFlags::None })
    }
}

/// A kernel object as compilers make them: two functions of which one calls the other and `memcpy`, a weak one, a
/// table, a local, a common variable, and a COMDAT group.
pub fn kernel(architecture: Architecture, endianness: Endianness) -> Vec<u8> {
    let mut maker = Maker::new(architecture, endianness);
    let local = maker.function("row", SymbolScope::Compilation, false);
    let mv = maker.function("mv", SymbolScope::Dynamic, false);
    let zero = maker.function("zero", SymbolScope::Dynamic, false);
    maker.function("hook", SymbolScope::Dynamic, true);
    let dot = maker.function("_Z3doti", SymbolScope::Dynamic, true);
    maker.group(dot, &[dot]);
    let table = maker.variable("lut", SymbolScope::Dynamic);
    let memcpy = maker.undefined("memcpy");
    maker.common("scratch");
    for (from, to) in [(mv, zero), (zero, memcpy), (mv, local), (local, dot), (dot, table)] {
        maker.refer(from, to);
    }
    maker.write()
}
