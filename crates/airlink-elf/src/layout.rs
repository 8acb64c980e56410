//! An ELF file's tables as plain values with the places where they stand in the file, for any class and byte order.

use std::mem::size_of;
use std::ops::Range;

use object::elf;
use object::read::elf::{FileHeader, SectionHeader, SectionTable, Sym};
use object::{Endian, Endianness};

/// Sections and symbols of an ELF file, each checked to lie inside the file.
#[derive(Debug)]
pub(crate) struct Layout<'d> {
    pub bytes: &'d [u8],
    pub endian: Endianness,
    pub is_64: bool,
    pub file_type: u16,
    pub machine: u16,
    pub e_flags: u32,
    /// In the order of the file; index 0 is the null section.
    pub sections: Vec<Section<'d>>,
    /// Index of the section header table's first byte and of the one past its last.
    pub section_headers: Range<usize>,
    pub header_bytes: usize,
    /// The section that holds the names of sections; 0 for none.
    pub section_names: usize,
    pub symbols: Option<Symbols<'d>>,
}

#[derive(Debug)]
pub(crate) struct Section<'d> {
    pub name: &'d [u8],
    pub kind: elf::SectionType,
    pub flags: u64,
    /// Where the content lies in the file; empty for a section without bytes there.
    pub range: Range<usize>,
    /// Size in the running program, which for `.bss` is not in the file.
    pub size_bytes: u64,
    pub info: u32,
    pub alignment: u64,
    /// Where this section's header stands in the file.
    pub header_at: usize,
}

/// The one `SHT_SYMTAB` of the file, with its string table.
#[derive(Debug)]
pub(crate) struct Symbols<'d> {
    pub symtab: usize,
    pub strtab: usize,
    /// In the order of the file; index 0 is the null symbol.
    pub list: Vec<Symbol<'d>>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Symbol<'d> {
    pub name: &'d [u8],
    pub name_offset: u32,
    pub binding: elf::SymbolBind,
    pub kind: elf::SymbolType,
    /// Index of the section that defines it; none for undefined, absolute and common symbols.
    pub section: Option<usize>,
    pub size_bytes: u64,
    pub is_defined: bool,
    /// Defined tentatively (`SHN_COMMON`): equal names of several objects become one.
    pub is_common: bool,
    /// Where this symbol's entry stands in the file; `st_name` is its first field in both classes.
    pub entry_at: usize,
}

impl Symbol<'_> {
    pub fn is_local(&self) -> bool {
        self.binding == elf::STB_LOCAL
    }

    /// Section and file symbols stand for places, not for names that a program can speak of.
    pub fn is_marker(&self) -> bool {
        self.kind == elf::STT_SECTION || self.kind == elf::STT_FILE
    }

    /// A definition with a name of its own.
    pub fn is_definition(&self) -> bool {
        self.is_defined && !self.is_marker() && !self.name.is_empty()
    }
}

/// Reads the tables.
///
/// The error is the end of a sentence that says what is wrong with the file: `its section 3 ends past the file's end`.
pub(crate) fn read(bytes: &[u8]) -> Result<Layout<'_>, String> {
    match bytes.get(4) {
        Some(&c) if c == elf::ELFCLASS32.0 => read_class::<elf::FileHeader32<Endianness>>(bytes),
        Some(&c) if c == elf::ELFCLASS64.0 => read_class::<elf::FileHeader64<Endianness>>(bytes),
        Some(c) => Err(format!("its ELF class is {c}, neither 32-bit (1) nor 64-bit (2)")),
        None => Err("it ends within its first bytes".to_string()),
    }
}

fn read_class<E: FileHeader<Endian = Endianness>>(bytes: &[u8]) -> Result<Layout<'_>, String> {
    let header = E::parse(bytes).map_err(reason)?;
    let endian = header.endian().map_err(reason)?;
    let headers = header.section_headers(endian, bytes).map_err(reason)?;
    let headers_at = position(header.e_shoff(endian).into())?;
    let table = header.sections(endian, bytes).map_err(reason)?;
    let size = size_of::<E::SectionHeader>();
    let mut sections = Vec::with_capacity(headers.len());
    let mut name_bytes = 0;
    for (i, section) in headers.iter().enumerate() {
        let section = read_section::<E>(bytes, endian, &table, i, section, headers_at + i * size)?;
        count_name(&mut name_bytes, section.name, bytes)?;
        sections.push(section);
    }
    Ok(Layout {
        bytes,
        endian,
        is_64: header.is_class_64(),
        file_type: header.e_type(endian).0,
        machine: header.e_machine(endian).0,
        e_flags: header.e_flags(endian).0,
        section_names: header.shstrndx(endian, bytes).map_err(reason)? as usize,
        section_headers: headers_at..headers_at + size_of_val(headers),
        header_bytes: size_of::<E>(),
        symbols: read_symbols::<E>(bytes, endian, &table, &sections)?,
        sections,
    })
}

fn read_section<'d, E: FileHeader<Endian = Endianness>>(
    bytes: &'d [u8],
    endian: Endianness,
    table: &SectionTable<'d, E>,
    index: usize,
    section: &E::SectionHeader,
    header_at: usize,
) -> Result<Section<'d>, String> {
    let kind = section.sh_type(endian);
    // Section 0 is null: where the counts of the file header overflow, its fields hold them instead.
    let is_null = index == 0 || kind == elf::SHT_NULL;
    let name = if is_null { b"" } else { table.section_name(endian, section).map_err(reason)? };
    let range = match section.file_range(endian).filter(|_| !is_null) {
        None => 0..0,
        Some((offset, size)) => {
            let end = offset.checked_add(size).filter(|&end| end <= bytes.len() as u64);
            let end = end.ok_or_else(|| format!("its section {index} ends past the end of the file"))?;
            position(offset)?..position(end)?
        }
    };
    Ok(Section {
        name,
        kind,
        flags: section.sh_flags(endian).0,
        range,
        size_bytes: if is_null { 0 } else { section.sh_size(endian).into() },
        info: section.sh_info(endian),
        alignment: section.sh_addralign(endian).into(),
        header_at,
    })
}

fn read_symbols<'d, E: FileHeader<Endian = Endianness>>(
    bytes: &'d [u8],
    endian: Endianness,
    table: &SectionTable<'d, E>,
    sections: &[Section<'d>],
) -> Result<Option<Symbols<'d>>, String> {
    let mut symtabs = sections.iter().enumerate().filter(|(_, s)| s.kind == elf::SHT_SYMTAB);
    let Some((symtab, section)) = symtabs.next() else { return Ok(None) };
    if symtabs.next().is_some() {
        return Err("it has several symbol tables".to_string());
    }
    let symbols = table.symbols(endian, bytes, elf::SHT_SYMTAB).map_err(reason)?;
    let strtab = symbols.string_section().0;
    if strtab == 0 && !symbols.is_empty() {
        return Err("its symbol table names no string table".to_string());
    }
    let size = size_of::<E::Sym>();
    let mut list = Vec::with_capacity(symbols.len());
    let mut name_bytes = 0;
    for (index, symbol) in symbols.enumerate() {
        let name = symbols.symbol_name(endian, symbol).map_err(reason)?;
        count_name(&mut name_bytes, name, bytes)?;
        let shndx = symbol.st_shndx(endian);
        let defined_in = symbols.symbol_section(endian, symbol, index).map_err(reason)?.map(|s| s.0);
        if defined_in.is_some_and(|s| s >= sections.len()) {
            return Err(format!("its symbol {} lies in a section that does not exist", index.0));
        }
        list.push(Symbol {
            name,
            name_offset: symbol.st_name(endian),
            binding: symbol.st_bind(),
            kind: symbol.st_type(),
            section: defined_in,
            size_bytes: symbol.st_size(endian).into(),
            is_defined: shndx != elf::SHN_UNDEF,
            is_common: shndx == elf::SHN_COMMON || symbol.st_type() == elf::STT_COMMON,
            entry_at: section.range.start + index.0 * size,
        });
    }
    Ok(Some(Symbols { symtab, strtab, list }))
}

impl Layout<'_> {
    /// Overwrites a 32-bit field in the file's byte order.
    pub fn put_u32(&self, out: &mut [u8], at: usize, value: u32) {
        out[at..at + 4].copy_from_slice(&self.endian.write_u32(value));
    }

    /// Overwrites the file offset and the size of a section in its header.
    ///
    /// The caller has checked that both fit the class: 32 bits in ELF32.
    pub fn put_section_place(&self, out: &mut [u8], section: usize, range: Range<usize>) {
        let header_at = self.sections[section].header_at;
        // Elf32_Shdr: name, type, flags, addr of 4 bytes each, then offset, size; Elf64_Shdr: 4, 4, 8, 8, then 8, 8.
        if self.is_64 {
            let field = |v: usize| self.endian.write_u64(v as u64);
            out[header_at + 24..header_at + 32].copy_from_slice(&field(range.start));
            out[header_at + 32..header_at + 40].copy_from_slice(&field(range.len()));
        } else {
            self.put_u32(out, header_at + 16, range.start as u32);
            self.put_u32(out, header_at + 20, range.len() as u32);
        }
    }
}

/// Names may share bytes, but a file in which a million symbols share one long name is made to cost time.
const MAX_NAME_BYTES_PER_FILE_BYTE: usize = 16;

fn count_name(name_bytes: &mut usize, name: &[u8], file: &[u8]) -> Result<(), String> {
    *name_bytes += name.len();
    if *name_bytes > MAX_NAME_BYTES_PER_FILE_BYTE * file.len() {
        return Err("its names overlap without end".to_string());
    }
    Ok(())
}

fn position(offset: u64) -> Result<usize, String> {
    usize::try_from(offset).map_err(|_| format!("it speaks of byte {offset}"))
}

/// `object` says `Invalid ELF section size or offset`; as the end of a sentence about the file.
fn reason(error: object::read::Error) -> String {
    format!("reading it fails: {error}")
}
