//! The string table of a rename: which strings it has, and what is appended.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// A string table that only grows.
pub(super) struct Strings<'s> {
    old: &'s [u8],
    /// Offset of the first whole string of each spelling, old or new. Looked up, never iterated.
    whole: HashMap<&'s [u8], usize>,
    /// The old offsets in `whole`, ascending.
    starts: Vec<usize>,
    /// What follows `old`.
    added: Vec<u8>,
    /// Offsets that symbols had before earlier renames, by symbol.
    former: HashMap<usize, Vec<usize>>,
}

/// Begins the string that notes where names stood; see [`Strings::note_former`].
const FORMER: &[u8] = b".airlink.st_name";

impl<'s> Strings<'s> {
    pub fn new(old: &'s [u8]) -> Strings<'s> {
        let (whole, former) = (HashMap::new(), HashMap::new());
        let mut strings = Strings { old, whole, starts: Vec::new(), added: Vec::new(), former };
        let mut at = 0;
        for string in old.split_inclusive(|&b| b == 0) {
            let name = &string[..string.len() - 1];
            if let Entry::Vacant(vacant) = strings.whole.entry(name) {
                vacant.insert(at);
                strings.starts.push(at);
            }
            strings.read_former(name);
            at += string.len();
        }
        strings
    }

    /// The offset of `name` for a symbol: where it stood before, else where the table has it, else appended.
    pub fn offset(&mut self, symbol: usize, name: &'s [u8]) -> usize {
        if let Some(at) = self.known_places(symbol).find(|&at| self.reads(at, name)) {
            return at;
        }
        if self.old.is_empty() && self.added.is_empty() {
            // Offset 0 of a string table is the empty name.
            self.added.push(0);
        }
        let end = self.old.len() + self.added.len();
        let at = *self.whole.entry(name).or_insert(end);
        if at == end {
            self.added.extend_from_slice(name);
            self.added.push(0);
        }
        at
    }

    /// Sees to it that renaming a symbol back gives back its old offset too.
    ///
    /// Linkers share tails: `kern` may stand inside `.text.kern`, or in two places, and a later search could not tell
    /// which one it was. Where it would find another offset, the old one is noted in a string that no symbol uses:
    /// `.airlink.st_name 12=345 13=351`.
    pub fn note_former(&mut self, places: impl Iterator<Item = (usize, usize)>) {
        let mut note = Vec::new();
        for (symbol, at) in places {
            let is_found_again = self.starts.binary_search(&at).is_ok() || self.known_places(symbol).any(|f| f == at);
            if !is_found_again {
                note.extend_from_slice(format!(" {symbol}={at}").as_bytes());
            }
        }
        if !note.is_empty() {
            self.added.extend_from_slice(FORMER);
            self.added.extend_from_slice(&note);
            self.added.push(0);
        }
    }

    pub fn added(self) -> Vec<u8> {
        self.added
    }

    fn read_former(&mut self, string: &[u8]) {
        let Some(list) = string.strip_prefix(FORMER).and_then(|s| std::str::from_utf8(s).ok()) else { return };
        for entry in list.split_ascii_whitespace() {
            let Some((symbol, at)) = entry.split_once('=') else { continue };
            if let (Ok(symbol), Ok(at)) = (symbol.parse(), at.parse()) {
                self.former.entry(symbol).or_default().push(at);
            }
        }
    }

    fn known_places(&self, symbol: usize) -> impl Iterator<Item = usize> {
        self.former.get(&symbol).into_iter().flatten().copied()
    }

    fn reads(&self, at: usize, name: &[u8]) -> bool {
        self.old.get(at..).is_some_and(|s| s.starts_with(name) && s.get(name.len()) == Some(&0))
    }
}
