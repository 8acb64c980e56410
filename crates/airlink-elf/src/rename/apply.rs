//! Patches the bytes once it is decided what changes.

use std::borrow::Cow;
use std::ops::Range;

use super::RenameError;
use super::strings::Strings;
use crate::layout::Layout;

/// The file with every symbol of `changes` renamed.
pub(super) fn apply(layout: &Layout<'_>, changes: &[(usize, Cow<'_, [u8]>)]) -> Result<Vec<u8>, RenameError> {
    let Some(symbols) = layout.symbols.as_ref().filter(|_| !changes.is_empty()) else {
        return Ok(layout.bytes.to_vec());
    };
    let range = layout.sections[symbols.strtab].range.clone();
    let old = &layout.bytes[range.clone()];
    let mut strings = Strings::new(old);
    let offsets: Vec<usize> = changes.iter().map(|(symbol, new)| strings.offset(*symbol, new)).collect();
    let places = changes.iter().map(|(i, _)| (*i, symbols.list[*i].name_offset as usize));
    strings.note_former(places);
    let added = strings.added();

    let mut out = Vec::with_capacity(layout.bytes.len() + old.len() + added.len() + 64);
    out.extend_from_slice(layout.bytes);
    if !added.is_empty() {
        let place = grow(&mut out, old, range, &added, layout.sections[symbols.strtab].alignment);
        check_size(layout, &place)?;
        layout.put_section_place(&mut out, symbols.strtab, place);
    }
    for ((symbol, _), offset) in changes.iter().zip(offsets) {
        // `check_size` holds for every offset in the table; without additions they were in the old table.
        layout.put_u32(&mut out, symbols.list[*symbol].entry_at, offset as u32);
    }
    Ok(out)
}

/// Appends to the table where it ends the file; else copies it there, and the old bytes stay where they are, unused.
fn grow(out: &mut Vec<u8>, old: &[u8], range: Range<usize>, added: &[u8], alignment: u64) -> Range<usize> {
    let mut start = range.start;
    if range.end != out.len() {
        // String tables ask for 1; an absurd alignment is not worth an absurd file.
        let alignment = usize::try_from(alignment).ok().filter(|a| a.is_power_of_two() && *a <= 4096).unwrap_or(1);
        out.resize(out.len().next_multiple_of(alignment), 0);
        start = out.len();
        out.extend_from_slice(old);
    }
    out.extend_from_slice(added);
    start..out.len()
}

/// `st_name` has 32 bits in both classes, file offsets have in ELF32.
fn check_size(layout: &Layout<'_>, place: &Range<usize>) -> Result<(), RenameError> {
    let limit = u64::from(u32::MAX);
    let too_large = place.len() as u64 > limit || (!layout.is_64 && place.end as u64 > limit);
    if too_large {
        return Err(RenameError::TooLarge { size_bytes: place.end as u64 });
    }
    Ok(())
}

/// What will be overwritten must belong to the symbol table and to the section headers alone.
pub(super) fn check_places(layout: &Layout<'_>) -> Result<(), RenameError> {
    let Some(symbols) = &layout.symbols else { return Ok(()) };
    let strtab = &layout.sections[symbols.strtab];
    if strtab.flags & object::elf::SHF_COMPRESSED.0 != 0 {
        return Err(malformed("its string table is compressed"));
    }
    if layout.bytes[strtab.range.clone()].last().is_some_and(|&b| b != 0) {
        return Err(malformed("its string table does not end with a NUL byte"));
    }
    // One table in both parts: what a rename writes into it would change the names that are read from it.
    if [symbols.strtab, layout.section_names].contains(&symbols.symtab) {
        return Err(malformed("its symbol table is a string table too"));
    }
    let symtab = &layout.sections[symbols.symtab].range;
    let overlaps = |a: &Range<usize>, b: &Range<usize>| a.start < b.end && b.start < a.end;
    let header = 0..layout.header_bytes;
    if overlaps(symtab, &header) || overlaps(symtab, &layout.section_headers) {
        return Err(malformed("its symbol table overlaps its headers"));
    }
    for (i, section) in layout.sections.iter().enumerate() {
        if i != symbols.symtab && overlaps(symtab, &section.range) {
            return Err(RenameError::Malformed { what: format!("its symbol table overlaps its section {i}") });
        }
        if overlaps(&layout.section_headers, &section.range) {
            return Err(RenameError::Malformed { what: format!("its section {i} overlaps its section headers") });
        }
    }
    Ok(())
}

fn malformed(what: &str) -> RenameError {
    RenameError::Malformed { what: what.to_string() }
}
