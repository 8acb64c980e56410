//! COMDAT groups under a rename.
//!
//! A linker keeps the first group of each signature and drops the sections of the others. So a group has to change
//! its identity as a whole: with a new name inside and the old signature, the linker would drop the new name's
//! definition; with a new signature and an old name inside, it would keep two definitions of that name.

use std::borrow::Cow;

use object::Endian;
use object::elf;

use super::companions::followed;
use super::{RenameError, Wanted, symbols, text};
use crate::layout::{Layout, Symbol};

/// A COMDAT group that a rename touches.
struct Group {
    signature: usize,
    /// Symbols defined in its sections, in symbol order.
    defined: Vec<usize>,
}

/// Old → new for signatures that are no symbols of the program: `_ZN1SC5Ev` of the constructors `C1` and `C2`.
///
/// They follow the first renamed symbol of their group.
pub(super) fn signatures<'a>(layout: &Layout<'a>, wanted: &Wanted<'_>) -> Wanted<'a> {
    let symbols = symbols(layout);
    let mut found = Wanted::new();
    for group in touched(layout, wanted) {
        let signature = &symbols[group.signature];
        let is_free = signature.is_local() && signature.is_definition() && !wanted.contains_key(signature.name);
        let leader = group.defined.iter().find_map(|&i| changed(wanted, &symbols[i]));
        let (true, Some((old, new))) = (is_free, leader) else { continue };
        let base = signature.name.strip_suffix(old).and_then(|s| s.strip_suffix(b".")).unwrap_or(signature.name);
        found.insert(Cow::from(signature.name), Cow::from(followed(base, new, is_unified_name(base, new))));
    }
    found
}

/// Groups that `wanted` would tear apart, and definitions that an old-style section ties to its name.
pub(super) fn torn(layout: &Layout<'_>, wanted: &Wanted<'_>) -> Vec<RenameError> {
    let symbols = symbols(layout);
    let mut errors = Vec::new();
    for group in touched(layout, wanted) {
        let signature = &symbols[group.signature];
        let mut kept = Vec::new();
        if changed(wanted, signature).is_none() {
            kept.push(signature_name(layout, signature));
        }
        let others = group.defined.iter().filter(|&&i| i != group.signature).map(|&i| &symbols[i]);
        kept.extend(others.filter(|s| !s.is_local() && changed(wanted, s).is_none()).map(|s| text(s.name)));
        if !kept.is_empty() {
            let renamed = group.defined.iter().chain([&group.signature]).find_map(|&i| changed(wanted, &symbols[i]));
            let renamed = renamed.map_or_else(String::new, |(old, _)| text(old));
            errors.push(RenameError::SplitGroup { renamed, signature: signature_name(layout, signature), kept });
        }
    }
    errors.extend(merged_by_section_name(layout, wanted));
    errors
}

/// Before there were groups, a linker kept the first section of each name that starts so.
fn merged_by_section_name(layout: &Layout<'_>, wanted: &Wanted<'_>) -> Vec<RenameError> {
    let is_merged = |section: usize| layout.sections[section].name.starts_with(b".gnu.linkonce.");
    if !(0..layout.sections.len()).any(is_merged) {
        return Vec::new();
    }
    let renamed = symbols(layout).iter().filter(|s| s.is_definition() && changed(wanted, s).is_some());
    let tied = renamed.filter_map(|s| Some((s, s.section.filter(|&i| is_merged(i))?)));
    let error = |(symbol, section): (&Symbol<'_>, usize)| RenameError::LinkOnce {
        symbol: text(symbol.name),
        section: text(layout.sections[section].name),
    };
    tied.map(error).collect()
}

/// Definitions that keep their names and that a linker merges by name.
pub(super) fn shared(layout: &Layout<'_>, changes: &[(usize, Cow<'_, [u8]>)]) -> Vec<String> {
    let in_group = group_of_section(layout);
    let is_merged = |s: &Symbol<'_>| {
        s.is_common
            || s.binding == elf::STB_WEAK
            || s.binding == elf::STB_GNU_UNIQUE
            || s.section.is_some_and(|i| in_group[i].is_some())
    };
    let kept = symbols(layout).iter().enumerate().filter(|(i, s)| {
        s.is_definition() && !s.is_local() && is_merged(s) && changes.binary_search_by_key(i, |(c, _)| *c).is_err()
    });
    kept.map(|(_, s)| text(s.name)).collect()
}

/// The COMDAT groups with a renamed symbol inside or as their signature, in section order.
fn touched(layout: &Layout<'_>, wanted: &Wanted<'_>) -> Vec<Group> {
    let symbols = symbols(layout);
    let of_section = group_of_section(layout);
    let mut groups: Vec<Option<Group>> = layout.sections.iter().map(|_| None).collect();
    for (slot, section) in groups.iter_mut().zip(&layout.sections) {
        let signature = section.info as usize;
        if is_comdat(layout, section) && signature < symbols.len() {
            *slot = Some(Group { signature, defined: Vec::new() });
        }
    }
    for (i, symbol) in symbols.iter().enumerate().filter(|(_, s)| s.is_definition()) {
        let Some(group) = symbol.section.and_then(|s| of_section[s]) else { continue };
        if let Some(group) = &mut groups[group] {
            group.defined.push(i);
        }
    }
    let is_touched =
        |g: &Group| g.defined.iter().chain([&g.signature]).any(|&i| changed(wanted, &symbols[i]).is_some());
    groups.into_iter().flatten().filter(is_touched).collect()
}

/// For each section the index of the COMDAT group section that lists it.
fn group_of_section(layout: &Layout<'_>) -> Vec<Option<usize>> {
    let mut of_section = vec![None; layout.sections.len()];
    for (index, section) in layout.sections.iter().enumerate().filter(|(_, s)| is_comdat(layout, s)) {
        for member in words(layout, section).skip(1) {
            if let Some(slot) = of_section.get_mut(member as usize) {
                *slot = Some(index);
            }
        }
    }
    of_section
}

fn is_comdat(layout: &Layout<'_>, section: &crate::layout::Section<'_>) -> bool {
    section.kind == elf::SHT_GROUP && words(layout, section).next().is_some_and(|w| w & elf::GRP_COMDAT.0 != 0)
}

fn words<'l>(layout: &'l Layout<'_>, section: &crate::layout::Section<'_>) -> impl Iterator<Item = u32> + use<'l> {
    let (words, _) = layout.bytes[section.range.clone()].as_chunks::<4>();
    words.iter().map(|w| layout.endian.read_u32(*w))
}

/// A group may be called after a section symbol, whose name is the section's.
fn signature_name(layout: &Layout<'_>, signature: &Symbol<'_>) -> String {
    match signature.section.filter(|_| signature.is_marker() && signature.name.is_empty()) {
        Some(section) => text(layout.sections[section].name),
        None => text(signature.name),
    }
}

/// Whether a compiler would call the group of constructor or destructor `member` so: `C5` for `C1`, `C2`; `D5` alike.
fn is_unified_name(signature: &[u8], member: &[u8]) -> bool {
    let mut different = signature.iter().zip(member).filter(|(a, b)| a != b);
    signature.len() == member.len()
        && matches!(different.next(), Some((b'5', b'0'..=b'2')))
        && different.next().is_none()
}

fn changed<'a>(wanted: &'a Wanted<'_>, symbol: &Symbol<'_>) -> Option<(&'a [u8], &'a [u8])> {
    let (old, new) = wanted.get_key_value(symbol.name)?;
    (old != new && !symbol.is_marker()).then_some((&old[..], &new[..]))
}
