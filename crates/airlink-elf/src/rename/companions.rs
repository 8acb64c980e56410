//! Symbols that belong to a renamed function by their C++ name, and how they follow it.
//!
//! A static local of an inline function is a symbol in a COMDAT group of its own: `_ZZ6helperiE1s` of `_Z6helperi`.
//! If only the function changed its name, the old and the new copy would still share that variable once both are
//! linked. So it follows: `_Z6helperi → h2` makes it `_ZZ6helperiE1s.h2`, and renaming back gives back its own name.
//! Mangled names: Itanium C++ ABI, section 5.1 (`<local-name>`, `<special-name>`).

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

use super::Wanted;
use crate::layout::Symbol;

/// Names longer than this are not taken apart, to bound the time that a made-up file can cost.
const MAX_NAME_BYTES: usize = 4096;
const MAX_NESTING: usize = 8;

/// Old → new for every global definition that follows an entry of `wanted` and is not in it.
pub(super) fn companions<'a>(symbols: &[Symbol<'a>], wanted: &Wanted<'_>) -> Wanted<'a> {
    let mut found = Wanted::new();
    if candidates(symbols, wanted).next().is_none() {
        return found;
    }
    let owners = Owners::new(changed_globals(symbols, wanted));
    for name in candidates(symbols, wanted) {
        if let Some((base, new)) = owners.find(name) {
            found.insert(Cow::from(name), Cow::from(followed(base, new, is_owned_by(base, new))));
        }
    }
    found
}

/// Entries of `wanted` whose new name would make a symbol their companion that was not one before.
///
/// Renaming back would carry the stranger along.
pub(super) fn adopted<'w>(symbols: &[Symbol<'_>], wanted: &'w Wanted<'_>) -> Vec<(&'w [u8], &'w [u8])> {
    if candidates(symbols, wanted).next().is_none() {
        return Vec::new();
    }
    let owners = Owners::new(changed_globals(symbols, wanted).map(|(old, new)| (new, old)));
    let strangers = candidates(symbols, wanted).filter_map(|name| {
        let (_, old) = owners.find(name)?;
        let (old, new) = wanted.get_key_value(old)?;
        Some((&old[..], &new[..]))
    });
    strangers.collect()
}

/// Entries that change a symbol which other objects can see: the static locals of a local function are local too.
fn changed_globals<'w>(symbols: &[Symbol<'_>], wanted: &'w Wanted<'_>) -> impl Iterator<Item = (&'w [u8], &'w [u8])> {
    let globals: HashSet<&[u8]> =
        symbols.iter().filter(|s| s.is_definition() && !s.is_local()).map(|s| s.name).collect();
    let changed = wanted.iter().filter(move |(old, new)| old != new && globals.contains(&old[..]));
    changed.map(|(old, new)| (&old[..], &new[..])).collect::<Vec<_>>().into_iter()
}

/// Names that may belong to another symbol and that nothing is decided about yet.
fn candidates<'s, 'd>(
    symbols: &'s [Symbol<'d>],
    wanted: &'s Wanted<'_>,
) -> impl Iterator<Item = &'d [u8]> + use<'s, 'd> {
    let is_candidate = |s: &&Symbol<'d>| s.is_definition() && !s.is_local() && s.name.len() <= MAX_NAME_BYTES;
    let names = symbols.iter().filter(is_candidate).map(|s| s.name);
    names.filter(|name| owned_part(name).is_some() && !wanted.contains_key(*name))
}

/// Symbols that may have companions, by name and by the form that the name takes inside of theirs.
#[derive(Default)]
struct Owners<'w> {
    by_name: HashMap<&'w [u8], &'w [u8]>,
    name_lengths: BTreeSet<usize>,
    by_encoding: HashMap<Vec<u8>, &'w [u8]>,
    /// Lengths of the encodings: only prefixes of a length that occurs are looked at.
    lengths: BTreeSet<usize>,
}

impl<'w> Owners<'w> {
    fn new(entries: impl Iterator<Item = (&'w [u8], &'w [u8])>) -> Owners<'w> {
        let mut owners = Owners::default();
        for (name, value) in entries {
            owners.by_name.insert(name, value);
            owners.name_lengths.insert(name.len());
            let encoding = encoding(name);
            owners.lengths.insert(encoding.len());
            owners.by_encoding.insert(encoding, value);
        }
        owners
    }

    /// The owner's value, and the companion's name without an owner that it follows already.
    fn find<'n>(&self, name: &'n [u8]) -> Option<(&'n [u8], &'w [u8])> {
        if self.by_name.is_empty() {
            return None;
        }
        for length in self.name_lengths.range(..name.len()).rev() {
            let (base, owner) = name.split_at(name.len() - length);
            if let (Some(base), Some(value)) = (base.strip_suffix(b"."), self.by_name.get(owner)) {
                return Some((base, value));
            }
        }
        let mut value = None;
        for_each_owner(name, &self.lengths, |owner| value = value.or_else(|| self.by_encoding.get(owner).copied()));
        value.map(|value| (name, value))
    }
}

/// `base` under the owner's new name; bare where that is what a compiler would call it.
pub(super) fn followed(base: &[u8], owner: &[u8], is_natural: bool) -> Vec<u8> {
    if is_natural { base.to_vec() } else { [base, b".", owner].concat() }
}

fn is_owned_by(name: &[u8], owner: &[u8]) -> bool {
    let encoding = encoding(owner);
    let mut is_owned = false;
    for_each_owner(name, &BTreeSet::from([encoding.len()]), |o| is_owned |= o == encoding);
    is_owned
}

/// A function's or variable's name as it stands inside other names: `_Z6helperi` → `6helperi`, `kern` → `4kern`.
fn encoding(name: &[u8]) -> Vec<u8> {
    match name.strip_prefix(b"_Z") {
        Some(rest) => rest.to_vec(),
        None => [name.len().to_string().as_bytes(), name].concat(),
    }
}

/// The name after `_Z`, if it is of a kind that belongs to another symbol.
fn owned_part(name: &[u8]) -> Option<&[u8]> {
    let rest = name.strip_prefix(b"_Z")?;
    let is_owned = [&b"Z"[..], b"GV", b"GR", b"TH", b"TW"].iter().any(|kind| rest.starts_with(kind));
    is_owned.then_some(rest)
}

/// Calls `visit` with each encoding of one of `lengths` that may be the owner's, the outermost function first.
///
/// `_ZZ<function>E<entity>`: a local entity; `_ZGV<variable>`: its guard; `_ZGR<variable>_`: a temporary that lives as
/// long; `_ZTH`, `_ZTW`: initialiser and wrapper of a thread-local. Nested ones have several `Z` in front.
fn for_each_owner(name: &[u8], lengths: &BTreeSet<usize>, mut visit: impl FnMut(&[u8])) {
    let Some(rest) = owned_part(name) else { return };
    let body = if rest.starts_with(b"Z") { rest } else { &rest[2..] };
    let nesting = body.iter().take(MAX_NESTING).take_while(|&&b| b == b'Z').count();
    for depth in (1..=nesting).rev() {
        let inner = &body[depth..];
        for &end in lengths.range(..inner.len()).filter(|&&end| inner[end] == b'E') {
            visit(&inner[..end]);
        }
    }
    if !rest.starts_with(b"Z") {
        visit(body);
    }
    if let Some(variable) = rest.strip_prefix(b"GR").and_then(|r| r.strip_suffix(b"_")) {
        // A sequence number in base 36 may stand before the underscore.
        let digits = variable.iter().rev().take_while(|b| b.is_ascii_digit() || b.is_ascii_uppercase()).count();
        for &end in lengths.range(variable.len() - digits..=variable.len()) {
            visit(&variable[..end]);
        }
    }
}
