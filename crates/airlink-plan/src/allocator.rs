//! Names that are still free.

use std::collections::{HashMap, HashSet};

/// Gives out names that nobody has yet: the stem itself, else `<stem>_2`, `<stem>_3`, ...
///
/// It remembers the next suffix of each stem, so that n requests for one stem take n steps.
#[derive(Clone, Debug, Default)]
pub struct NameAllocator {
    // Looked up, never iterated.
    taken: HashSet<String>,
    next_suffix: HashMap<String, u64>,
}

impl NameAllocator {
    /// An allocator that never gives out these names.
    pub fn with_taken<S: Into<String>>(names: impl IntoIterator<Item = S>) -> NameAllocator {
        NameAllocator { taken: names.into_iter().map(Into::into).collect(), next_suffix: HashMap::new() }
    }

    /// The first free name for `stem`, which is taken from then on.
    pub fn allocate(&mut self, stem: &str) -> String {
        if self.taken.insert(stem.to_string()) {
            return stem.to_string();
        }
        let next = self.next_suffix.entry(stem.to_string()).or_insert(2);
        loop {
            let name = format!("{stem}_{next}");
            *next += 1;
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}
