//! Renames symbols of a relocatable object by patching its bytes.
//!
//! A rename appends the new name to the string table and overwrites the symbol's `st_name`; nothing else moves, so
//! symbol indices stay and with them relocations, groups, `.llvm_addrsig` and the order of symbols. Where the string
//! table is not the last thing in the file it is copied to the end and only its section header changes.

mod apply;
mod companions;
mod error;
mod groups;
mod strings;

use std::borrow::Cow;

use airlink_diag::{Finding, codes};
use indexmap::IndexMap;

pub use error::{RenameError, Taken};

use crate::layout::{self, Layout, Symbol};

/// What a rename may touch beyond definitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RenameOptions {
    /// Renames undefined symbols as well. For objects that are linked with one in which the definition is renamed
    /// alike; `memcpy` and its kind have their definition elsewhere, so by default references keep their names.
    pub references: bool,
}

/// What a rename does, as names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RenamePlan {
    /// Old → new for every symbol whose name changes, in symbol order; with the companions.
    pub renames: IndexMap<String, String>,
    /// The part of `renames` that the map did not ask for: what belongs to a renamed function (its static locals and
    /// their guards) and signatures of its COMDAT groups. Left alone they would tie the copies together.
    pub companions: IndexMap<String, String>,
    /// Definitions that keep their names although a linker merges them with equal names of other objects (COMDAT,
    /// weak, common), in symbol order; empty where nothing is renamed.
    pub shared: Vec<String>,
}

impl RenamePlan {
    /// The note on definitions that stay shared, with `file` as the object's name. Code: AL0407.
    pub fn shared_finding(&self, file: &str) -> Option<Finding> {
        let first = self.shared.first()?;
        let (subject, them) = match self.shared.len() {
            1 => (format!("`{first}` of `{file}` keeps its name"), "it"),
            n => (format!("`{first}` and {} more of `{file}` keep their names", n - 1), "them"),
        };
        let headline = format!("{subject}, so a linker merges {them} with equal names of other objects");
        let remedy = format!("rename {them} as well if the variants differ: `--map {first}=NEW`");
        Some(Finding::note(codes::AL0407, headline).remedy(remedy))
    }
}

/// Renames the definitions that `map` names, old → new, in a relocatable ELF object of any class, byte order and
/// machine.
///
/// All definitions of a name are renamed, local ones too. Section names, debug information and undefined symbols stay.
/// Swaps and chains (`a → b, b → c`) are one simultaneous step. A map that changes nothing gives the same bytes.
///
/// Errors: the first of what [`plan_rename`] finds.
pub fn rename(bytes: &[u8], map: &IndexMap<String, String>, options: RenameOptions) -> Result<Vec<u8>, RenameError> {
    let layout = read_object(bytes)?;
    let decision = decide(&layout, map, options).map_err(|mut errors| errors.swap_remove(0))?;
    apply::apply(&layout, &decision.changes)
}

/// What [`rename`] would do, or everything that keeps it from doing so.
///
/// Errors: AL0401, AL0403 and AL0404 by [`RenameError::finding`]; never an empty list.
pub fn plan_rename(
    bytes: &[u8],
    map: &IndexMap<String, String>,
    options: RenameOptions,
) -> Result<RenamePlan, Vec<RenameError>> {
    let layout = read_object(bytes).map_err(|e| vec![e])?;
    let decision = decide(&layout, map, options)?;
    let symbols = symbols(&layout);
    let mut plan = RenamePlan::default();
    for (index, new) in &decision.changes {
        let (old, new) = (text(symbols[*index].name), text(new));
        if !map.contains_key(&old) {
            plan.companions.insert(old.clone(), new.clone());
        }
        plan.renames.insert(old, new);
    }
    if !plan.renames.is_empty() {
        plan.shared = groups::shared(&layout, &decision.changes);
    }
    Ok(plan)
}

/// The symbols that change, by index in ascending order, each with its new name.
struct Decision<'a> {
    changes: Vec<(usize, Cow<'a, [u8]>)>,
}

/// Who holds a name: the first symbol of each kind.
#[derive(Default)]
struct Holders {
    definition: Option<usize>,
    reference: Option<usize>,
}

type Names<'d> = IndexMap<&'d [u8], Holders>;

/// Old → new as bytes, since a symbol's name need not be UTF-8.
type Wanted<'a> = IndexMap<Cow<'a, [u8]>, Cow<'a, [u8]>>;

fn decide<'a>(
    layout: &Layout<'a>,
    map: &'a IndexMap<String, String>,
    options: RenameOptions,
) -> Result<Decision<'a>, Vec<RenameError>> {
    let symbols = symbols(layout);
    let names = holders(symbols);
    let mut errors = Vec::new();
    for (old, new) in map {
        let error = check_entry(&names, old, new, options).map(|error| match error {
            // A suggestion looks at every symbol; a map full of strangers needs no suggestion for each.
            RenameError::UnknownSymbol { name, is_referenced, .. } if errors.len() < 20 => {
                RenameError::UnknownSymbol { nearest: error::nearest(symbols, &name), name, is_referenced }
            }
            other => other,
        });
        errors.extend(error);
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let entries = map.iter().map(|(old, new)| (Cow::from(old.as_bytes()), Cow::from(new.as_bytes())));
    let mut wanted: Wanted<'a> = entries.collect();
    wanted.extend(companions::companions(symbols, &wanted));
    wanted.extend(groups::signatures(layout, &wanted));
    errors.extend(collisions(&names, symbols, &wanted));
    errors.extend(groups::torn(layout, &wanted));
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut changes = Vec::new();
    for (index, symbol) in symbols.iter().enumerate().skip(1) {
        let may_change = !symbol.is_marker() && (symbol.is_defined || options.references);
        let new = wanted.get(symbol.name).filter(|new| may_change && new[..] != *symbol.name);
        changes.extend(new.map(|new| (index, new.clone())));
    }
    Ok(Decision { changes })
}

fn check_entry(names: &Names<'_>, old: &str, new: &str, options: RenameOptions) -> Option<RenameError> {
    if new.is_empty() || new.contains('\0') {
        let reason = if new.is_empty() { "it is empty" } else { "it holds a NUL byte, which ends a name in ELF" };
        return Some(RenameError::BadName { from: old.to_string(), to: new.to_string(), reason });
    }
    let held = names.get(old.as_bytes());
    if held.is_some_and(|h| h.definition.is_some() || (options.references && h.reference.is_some())) {
        return None;
    }
    Some(RenameError::UnknownSymbol {
        name: old.to_string(),
        is_referenced: held.is_some_and(|h| h.reference.is_some()),
        nearest: None,
    })
}

/// New names that another symbol has already, or that two symbols would get.
fn collisions(names: &Names<'_>, symbols: &[Symbol<'_>], wanted: &Wanted<'_>) -> Vec<RenameError> {
    let mut errors = Vec::new();
    let mut given: IndexMap<&[u8], &[u8]> = IndexMap::with_capacity(wanted.len());
    for (old, new) in wanted {
        if let Some(first) = given.insert(new, old) {
            errors.push(RenameError::TwoToOne { first: text(first), second: text(old), to: text(new) });
        }
        // A name that is itself renamed in this step is free.
        let Some(held) = names.get(&new[..]).filter(|_| !wanted.contains_key(new)) else { continue };
        let by = match held.definition {
            Some(index) if symbols[index].is_local() => Taken::Local,
            Some(_) => Taken::Defined,
            None => Taken::Referenced,
        };
        errors.push(RenameError::NameTaken { from: text(old), to: text(new), by });
    }
    for (old, new) in companions::adopted(symbols, wanted) {
        errors.push(RenameError::NameTaken { from: text(old), to: text(new), by: Taken::Owner });
    }
    errors
}

fn holders<'d>(symbols: &[Symbol<'d>]) -> Names<'d> {
    let mut names = Names::with_capacity(symbols.len());
    for (i, symbol) in symbols.iter().enumerate().skip(1) {
        if symbol.is_marker() || symbol.name.is_empty() {
            continue;
        }
        let held = names.entry(symbol.name).or_default();
        let slot = if symbol.is_defined { &mut held.definition } else { &mut held.reference };
        slot.get_or_insert(i);
    }
    names
}

fn symbols<'l, 'd>(layout: &'l Layout<'d>) -> &'l [Symbol<'d>] {
    layout.symbols.as_ref().map_or(&[], |s| &s.list)
}

/// Reads the tables of a file that can be renamed at all.
fn read_object(bytes: &[u8]) -> Result<Layout<'_>, RenameError> {
    let kind = crate::file_kind(bytes);
    if !bytes.starts_with(b"\x7fELF") {
        return Err(RenameError::NotElf { kind });
    }
    let layout = layout::read(bytes).map_err(|what| RenameError::Malformed { what })?;
    error::refuse_kind(&layout)?;
    apply::check_places(&layout)?;
    Ok(layout)
}

fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}
