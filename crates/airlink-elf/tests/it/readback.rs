//! What other readers make of an object, and which bytes a rename may change.

use std::ops::Range;

use goblin::elf::Elf;
use indexmap::IndexMap;
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget};

/// Symbols as goblin sees them: name, and all else that a symbol has.
pub fn symbols(bytes: &[u8]) -> Vec<(String, String)> {
    let elf = Elf::parse(bytes).unwrap();
    let name = |at| elf.strtab.get_at(at).unwrap().to_string();
    elf.syms
        .iter()
        .map(|s| (name(s.st_name), format!("{} {} {} {} {}", s.st_info, s.st_other, s.st_shndx, s.st_value, s.st_size)))
        .collect()
}

pub fn names(bytes: &[u8]) -> Vec<String> {
    symbols(bytes).into_iter().map(|(name, _)| name).filter(|n| !n.is_empty()).collect()
}

/// Relocations as the `object` crate sees them, by the names of their targets.
pub fn relocations(bytes: &[u8]) -> Vec<String> {
    let file = object::File::parse(bytes).unwrap();
    let mut list = Vec::new();
    for section in file.sections() {
        for (offset, relocation) in section.relocations() {
            let target = match relocation.target() {
                RelocationTarget::Symbol(i) => file.symbol_by_index(i).unwrap().name().unwrap().to_string(),
                other => format!("{other:?}"),
            };
            list.push(format!("{}+{offset} {target} {:?}", section.name().unwrap(), relocation.flags()));
        }
    }
    list
}

/// Asserts that `after` is `before` with names changed by `renames` and nothing else: the same symbols in the same
/// order by two readers, and the same bytes but for `st_name` of those, the string table's header, and what is
/// appended at the end.
pub fn assert_renamed(before: &[u8], after: &[u8], renames: &IndexMap<String, String>) {
    let expected: Vec<(String, String)> = symbols(before)
        .into_iter()
        .map(|(name, rest)| (if is_defined(&rest) { new_name(&name, renames) } else { name }, rest))
        .collect();
    assert_eq!(symbols(after), expected);
    let by_object = |bytes: &[u8]| -> Vec<String> {
        let file = object::File::parse(bytes).unwrap();
        file.symbols().map(|s| s.name().unwrap().to_string()).collect()
    };
    let expected: Vec<String> = expected.into_iter().skip(1).map(|(name, _)| name).collect();
    assert_eq!(by_object(after), expected);

    assert!(after.len() >= before.len());
    let allowed = changeable(before, renames);
    for (at, (b, a)) in before.iter().zip(after).enumerate() {
        assert!(b == a || allowed.iter().any(|r| r.contains(&at)), "byte {at} changed from {b:#x} to {a:#x}");
    }
    assert_eq!(sections(after), sections(before));
}

/// Names and contents of all sections but the symbol table and its strings.
pub fn sections(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let file = object::File::parse(bytes).unwrap();
    let strtab = strtab(&Elf::parse(bytes).unwrap());
    file.sections()
        .filter(|s| s.index().0 != strtab && s.name() != Ok(".symtab"))
        .map(|s| (s.name().unwrap().to_string(), s.data().unwrap().to_vec()))
        .collect()
}

fn is_defined(rest: &str) -> bool {
    rest.split(' ').nth(2) != Some("0")
}

fn new_name(name: &str, renames: &IndexMap<String, String>) -> String {
    renames.get(name).map_or(name, String::as_str).to_string()
}

/// The index of the symbol table's string table.
pub fn strtab(elf: &Elf<'_>) -> usize {
    let symtab = elf.section_headers.iter().find(|s| s.sh_type == goblin::elf::section_header::SHT_SYMTAB);
    symtab.expect("a symbol table").sh_link as usize
}

fn changeable(bytes: &[u8], renames: &IndexMap<String, String>) -> Vec<Range<usize>> {
    let elf = Elf::parse(bytes).unwrap();
    let symtab = elf.section_headers.iter().find(|s| s.sh_type == 2).unwrap();
    let (entry, header, offset, size) = if elf.is_64 { (24, 64, 24, 16) } else { (16, 40, 16, 8) };
    let mut ranges = Vec::new();
    for (i, symbol) in elf.syms.iter().enumerate() {
        if renames.contains_key(elf.strtab.get_at(symbol.st_name).unwrap_or("")) {
            let at = symtab.sh_offset as usize + i * entry;
            ranges.push(at..at + 4);
        }
    }
    let at = elf.header.e_shoff as usize + strtab(&elf) * header + offset;
    ranges.push(at..at + size);
    ranges
}
