//! Symbols that belong to a renamed function by their C++ name, and how they follow it.
//!
//! A static local of an inline function is a symbol in a COMDAT group of its own: `_ZZ6helperiE1s` of `_Z6helperi`.
//! If only the function changed its name, the old and the new copy would still share that variable once both are
//! linked. So it follows: `_Z6helperi → h2` makes it `_ZZ6helperiE1s.h2`, and renaming back gives back its own name.
//! Mangled names: Itanium C++ ABI, section 5.1 (`<local-name>`, `<special-name>`).

use std::collections::HashMap;

use super::Wanted;
use crate::layout::Symbol;

/// Names longer than this are not taken apart, to bound the time that a made-up file can cost.
const MAX_NAME_BYTES: usize = 4096;
const MAX_NESTING: usize = 8;

/// Old → new for every global definition that follows an entry of `wanted` and is not in it.
pub(super) fn companions(symbols: &[Symbol<'_>], wanted: &Wanted) -> Wanted {
    let mut owners: HashMap<Vec<u8>, &[u8]> = HashMap::new();
    for (old, new) in wanted.iter().filter(|(old, new)| old != new) {
        owners.insert(encoding(old), new);
    }
    let mut found = Wanted::new();
    if owners.is_empty() {
        return found;
    }
    for symbol in symbols {
        let is_candidate = symbol.is_definition() && !symbol.is_local() && symbol.name.len() <= MAX_NAME_BYTES;
        if !is_candidate || owned_part(symbol.name).is_none() || wanted.contains_key(symbol.name) {
            continue;
        }
        if let Some(new) = following_name(symbol.name, wanted, &owners) {
            found.insert(symbol.name.to_vec(), new);
        }
    }
    found
}

fn following_name(name: &[u8], wanted: &Wanted, owners: &HashMap<Vec<u8>, &[u8]>) -> Option<Vec<u8>> {
    for dot in (0..name.len()).filter(|&i| name[i] == b'.') {
        if let Some(new) = wanted.get(&name[dot + 1..]).filter(|new| new[..] != name[dot + 1..]) {
            let base = &name[..dot];
            return Some(followed(base, new, is_owned_by(base, new)));
        }
    }
    let mut new = None;
    for_each_owner(name, |owner| {
        new = new.or_else(|| owners.get(owner).copied());
    });
    new.map(|new| followed(name, new, is_owned_by(name, new)))
}

/// `base` under the owner's new name; bare where that is what a compiler would call it.
pub(super) fn followed(base: &[u8], owner: &[u8], is_natural: bool) -> Vec<u8> {
    if is_natural { base.to_vec() } else { [base, b".", owner].concat() }
}

fn is_owned_by(name: &[u8], owner: &[u8]) -> bool {
    let encoding = encoding(owner);
    let mut is_owned = false;
    for_each_owner(name, |o| is_owned |= o == encoding);
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

/// Calls `visit` with each encoding that may be the owner's, the outermost function first.
///
/// `_ZZ<function>E<entity>`: a local entity; `_ZGV<variable>`: its guard; `_ZGR<variable>_`: a temporary that lives as
/// long; `_ZTH`, `_ZTW`: initialiser and wrapper of a thread-local. Nested ones have several `Z` in front.
fn for_each_owner(name: &[u8], mut visit: impl FnMut(&[u8])) {
    let Some(rest) = owned_part(name) else { return };
    let body = if rest.starts_with(b"Z") { rest } else { &rest[2..] };
    let nesting = body.iter().take(MAX_NESTING).take_while(|&&b| b == b'Z').count();
    for depth in (1..=nesting).rev() {
        let inner = &body[depth..];
        for end in (0..inner.len()).filter(|&i| inner[i] == b'E') {
            visit(&inner[..end]);
        }
    }
    if !rest.starts_with(b"Z") {
        visit(body);
    }
    if let Some(variable) = rest.strip_prefix(b"GR").and_then(|r| r.strip_suffix(b"_")) {
        // A sequence number in base 36 may stand before the underscore.
        let digits = variable.iter().rev().take_while(|b| b.is_ascii_digit() || b.is_ascii_uppercase()).count();
        for cut in (variable.len() - digits)..=variable.len() {
            visit(&variable[..cut]);
        }
    }
}
