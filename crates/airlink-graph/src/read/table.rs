//! A TOML table that is asked for its keys, remembers what it was asked for, and reports the rest as unknown.

use airlink_diag::{FileId, Finding, Findings, Span, codes};
use indexmap::IndexMap;
use toml::de::{DeTable, DeValue};

use crate::Placed;
use crate::words::{printable, quoted_list, suggest, with_article};

/// A table under reading. Ask for every key that it may have, then call [`Table::finish`].
pub struct Table<'t, 'f> {
    pub file: FileId,
    pub findings: &'f mut Findings,
    /// The header, or the inline table.
    pub span: Span,
    table: &'t DeTable<'t>,
    /// As the user writes it: `[[launch]]`.
    title: String,
    known: Vec<&'static str>,
    missing: Vec<&'static str>,
}

/// A table within its parent, with the place of its header.
#[derive(Clone)]
pub struct Item<'t> {
    pub span: Span,
    title: String,
    table: &'t DeTable<'t>,
}

pub type TableArray<'t> = std::vec::IntoIter<Item<'t>>;

type Entry<'t> = (Span, Span, &'t DeValue<'t>);

impl<'t, 'f> Table<'t, 'f> {
    pub fn root(table: &'t DeTable<'t>, file: FileId, findings: &'f mut Findings) -> Table<'t, 'f> {
        let (known, missing) = (Vec::new(), Vec::new());
        Table { file, findings, span: Span::file_start(file), table, title: String::new(), known, missing }
    }

    /// A table below this one.
    pub fn at<'s>(&'s mut self, item: &Item<'t>) -> Table<'t, 's> {
        let Item { span, title, table } = item.clone();
        let (known, missing) = (Vec::new(), Vec::new());
        Table { file: self.file, findings: self.findings, span, table, title, known, missing }
    }

    /// Reports every key that was not asked for and every required one that is missing.
    pub fn finish(&mut self) {
        let mut unknown: Vec<_> = self.table.keys().filter(|k| !self.known.contains(&k.get_ref().as_ref())).collect();
        unknown.sort_by_key(|k| k.span().start);
        for key in unknown {
            let name = key.get_ref().as_ref();
            // A misspelt required key is one slip, not two.
            let near =
                suggest(name, self.missing.iter().copied()).or_else(|| suggest(name, self.known.iter().copied()));
            self.missing.retain(|m| Some(*m) != near);
            let place =
                if self.title.is_empty() { "at the top level".to_string() } else { format!("in `{}`", self.title) };
            let remedy = match near {
                Some(near) if self.table.contains_key(near) => format!("remove it; `{near}` is given already"),
                Some(near) => format!("write `{near}`"),
                None => format!("remove it; known here: {}", quoted_list(&self.known)),
            };
            self.findings.push(
                Finding::error(codes::AL0106, format!("unknown key `{}` {place}", printable(name)))
                    .at(Span::new(self.file, key.span()), "not a key of the launch graph")
                    .remedy(remedy),
            );
        }
        for key in std::mem::take(&mut self.missing) {
            let (headline, remedy) = match self.title.as_str() {
                "" => (format!("the launch graph has no `[{key}]`"), format!("add `[{key}]`")),
                title => (format!("this `{title}` has no `{key}`"), format!("add `{key} = ...`")),
            };
            self.findings.push(Finding::error(codes::AL0108, headline).at(self.span, "needed here").remedy(remedy));
        }
    }

    fn entry(&mut self, key: &'static str) -> Option<Entry<'t>> {
        self.known.push(key);
        let (k, v) = self.table.get_key_value(key)?;
        Some((Span::new(self.file, k.span()), Span::new(self.file, v.span()), v.get_ref()))
    }

    fn required(&mut self, key: &'static str) -> Option<Entry<'t>> {
        let entry = self.entry(key);
        if entry.is_none() {
            self.missing.push(key);
        }
        entry
    }

    pub fn wrong_kind(&mut self, key: &str, span: Span, found: &DeValue, wanted: &str) {
        self.findings.push(
            Finding::error(codes::AL0107, format!("`{key}` is {}, not {wanted}", with_article(found.type_str())))
                .at(span, format!("wanted: {wanted}"))
                .found(with_article(found.type_str()))
                .allowed(wanted)
                .remedy(format!("give `{key}` {wanted}")),
        );
    }

    /// A finding about a value that is of the right kind.
    pub fn out_of_range(&mut self, key: &str, span: Span, found: &str, allowed: &str) {
        self.findings.push(
            Finding::error(codes::AL0109, format!("`{key}` is {found}"))
                .at(span, "")
                .found(found)
                .allowed(allowed)
                .remedy(format!("give `{key}` {allowed}")),
        );
    }

    pub fn string(&mut self, key: &'static str) -> Option<Placed<String>> {
        let (_, span, value) = self.entry(key)?;
        self.as_string(key, span, value)
    }

    pub fn required_string(&mut self, key: &'static str) -> Option<Placed<String>> {
        let (_, span, value) = self.required(key)?;
        self.as_string(key, span, value)
    }

    fn as_string(&mut self, key: &str, span: Span, value: &DeValue) -> Option<Placed<String>> {
        match value.as_str() {
            None => self.wrong_kind(key, span, value, "a string"),
            Some("") => self.out_of_range(key, span, "empty", "a text that is not empty"),
            Some(text) => return Some(Placed::new(text.to_string(), span)),
        }
        None
    }

    pub fn boolean(&mut self, key: &'static str) -> Option<Placed<bool>> {
        let (_, span, value) = self.entry(key)?;
        let found = value.as_bool();
        if found.is_none() {
            self.wrong_kind(key, span, value, "true or false");
        }
        found.map(|b| Placed::new(b, span))
    }

    /// One of a few words.
    pub fn choice<T: Copy>(&mut self, key: &'static str, choices: &[(&'static str, T)]) -> Option<Placed<T>> {
        let text = self.string(key)?;
        let found = choices.iter().find(|(name, _)| *name == text.value);
        if found.is_none() {
            let names: Vec<&str> = choices.iter().map(|c| c.0).collect();
            self.unknown_word(key, &text, &names);
        }
        found.map(|(_, value)| Placed::new(*value, text.span))
    }

    pub fn unknown_word(&mut self, key: &str, text: &Placed<String>, names: &[&str]) {
        let remedy = match suggest(&text.value, names.iter().copied()) {
            Some(near) => format!("write `{near}`"),
            None => format!("write one of {}", quoted_list(names)),
        };
        self.findings.push(
            Finding::error(codes::AL0109, format!("unknown {key} `{}`", printable(&text.value)))
                .at(text.span, "")
                .allowed(quoted_list(names))
                .remedy(remedy),
        );
    }

    pub fn integer(&mut self, key: &'static str, min: u64) -> Option<Placed<u64>> {
        let (_, span, value) = self.entry(key)?;
        self.as_integer(key, span, value, min).map(|n| Placed::new(n, span))
    }

    pub fn required_integer(&mut self, key: &'static str, min: u64) -> Option<Placed<u64>> {
        let (_, span, value) = self.required(key)?;
        self.as_integer(key, span, value, min).map(|n| Placed::new(n, span))
    }

    fn as_integer(&mut self, key: &str, span: Span, value: &DeValue, min: u64) -> Option<u64> {
        let Some(digits) = value.as_integer() else {
            self.wrong_kind(key, span, value, "an integer");
            return None;
        };
        // TOML integers have 64 bits and a sign.
        let number = i64::from_str_radix(digits.as_str(), digits.radix()).ok().and_then(|n| u64::try_from(n).ok());
        let in_range = number.filter(|n| *n >= min);
        if in_range.is_none() {
            self.out_of_range(key, span, &digits.to_string(), &format!("a number from {min} up, below 2^63"));
        }
        in_range
    }

    /// An integer or one of a few words; words come back as their position.
    pub fn integer_or_word(
        &mut self,
        key: &'static str,
        min: u64,
        words: &[&str],
    ) -> Option<Placed<Result<u64, usize>>> {
        let (_, span, value) = self.entry(key)?;
        if value.is_integer() {
            return self.as_integer(key, span, value, min).map(|n| Placed::new(Ok(n), span));
        }
        let Some(text) = value.as_str() else {
            self.wrong_kind(key, span, value, &format!("{} or an integer", quoted_list(words)));
            return None;
        };
        let position = words.iter().position(|w| *w == text);
        if position.is_none() {
            self.unknown_word(key, &Placed::new(text.to_string(), span), words);
        }
        position.map(|p| Placed::new(Err(p), span))
    }

    fn as_list(&mut self, key: &str, entry: Entry<'t>, wanted: &str) -> Option<Placed<Vec<(Span, &'t DeValue<'t>)>>> {
        let (_, span, value) = entry;
        let Some(array) = value.as_array() else {
            self.wrong_kind(key, span, value, wanted);
            return None;
        };
        let items = array.iter().map(|v| (Span::new(self.file, v.span()), v.get_ref())).collect();
        Some(Placed::new(items, span))
    }

    pub fn integers(&mut self, key: &'static str, min: u64) -> Option<Placed<Vec<u64>>> {
        let entry = self.entry(key)?;
        self.as_integers(key, entry, min)
    }

    pub fn required_integers(&mut self, key: &'static str, min: u64) -> Option<Placed<Vec<u64>>> {
        let entry = self.required(key)?;
        self.as_integers(key, entry, min)
    }

    fn as_integers(&mut self, key: &str, entry: Entry<'t>, min: u64) -> Option<Placed<Vec<u64>>> {
        let list = self.as_list(key, entry, "an array of integers")?;
        let numbers: Vec<_> = list.value.iter().map(|(span, value)| self.as_integer(key, *span, value, min)).collect();
        numbers.into_iter().collect::<Option<Vec<_>>>().map(|n| Placed::new(n, list.span))
    }

    pub fn strings(&mut self, key: &'static str) -> Option<Placed<Vec<Placed<String>>>> {
        let entry = self.entry(key)?;
        self.as_strings(key, entry)
    }

    pub fn required_strings(&mut self, key: &'static str) -> Option<Placed<Vec<Placed<String>>>> {
        let entry = self.required(key)?;
        self.as_strings(key, entry)
    }

    fn as_strings(&mut self, key: &str, entry: Entry<'t>) -> Option<Placed<Vec<Placed<String>>>> {
        let list = self.as_list(key, entry, "an array of strings")?;
        let texts: Vec<_> = list.value.iter().map(|(span, value)| self.as_string(key, *span, value)).collect();
        texts.into_iter().collect::<Option<Vec<_>>>().map(|t| Placed::new(t, list.span))
    }

    /// A table of strings under free keys, in file order.
    pub fn string_map(&mut self, key: &'static str) -> IndexMap<String, Placed<String>> {
        let Some((_, span, value)) = self.entry(key) else { return IndexMap::new() };
        let Some(table) = value.as_table() else {
            self.wrong_kind(key, span, value, "a table of strings");
            return IndexMap::new();
        };
        let mut pairs: Vec<_> = table.iter().collect();
        pairs.sort_by_key(|(k, _)| k.span().start);
        let mut map = IndexMap::new();
        for (k, v) in pairs {
            let place = format!("{key}.{}", k.get_ref());
            if let Some(text) = self.as_string(&place, Span::new(self.file, v.span()), v.get_ref()) {
                map.insert(k.get_ref().to_string(), text);
            }
        }
        map
    }

    pub fn table(&mut self, key: &'static str) -> Option<Table<'t, '_>> {
        let entry = self.entry(key)?;
        self.as_table(key, entry)
    }

    pub fn required_table(&mut self, key: &'static str) -> Option<Table<'t, '_>> {
        let entry = self.required(key)?;
        self.as_table(key, entry)
    }

    fn as_table(&mut self, key: &str, (_, span, value): Entry<'t>) -> Option<Table<'t, '_>> {
        let title = format!("[{}]", self.path_of(key));
        let Some(table) = value.as_table() else {
            self.wrong_kind(key, span, value, &format!("a table: `{title}`"));
            return None;
        };
        Some(self.at(&Item { span, title, table }))
    }

    /// The elements of an array of tables, in file order; empty if it is absent.
    pub fn table_array(&mut self, key: &'static str) -> TableArray<'t> {
        let Some(entry) = self.entry(key) else { return Vec::new().into_iter() };
        let title = format!("[[{}]]", self.path_of(key));
        if entry.2.is_table() {
            self.single_brackets(key, entry.0, &title);
            return Vec::new().into_iter();
        }
        let wanted = format!("an array of tables: `{title}`");
        let Some(list) = self.as_list(key, entry, &wanted) else { return Vec::new().into_iter() };
        let mut items = Vec::with_capacity(list.value.len());
        for (span, value) in list.value {
            match value.as_table() {
                Some(table) => items.push(Item { span, title: title.clone(), table }),
                None => self.wrong_kind(key, span, value, &format!("a table: `{title}`")),
            }
        }
        items.into_iter()
    }

    /// `[launch]`, which says that there is one and no more.
    fn single_brackets(&mut self, key: &str, span: Span, title: &str) {
        let written = format!("[{}]", self.path_of(key));
        self.findings.push(
            Finding::error(codes::AL0107, format!("`{written}` is one table, and `{key}` is a list of tables"))
                .at(span, format!("wanted: `{title}`"))
                .found("a table")
                .allowed("an array of tables")
                .remedy(format!("write `{title}` with two brackets, once for each")),
        );
    }

    fn path_of(&self, key: &str) -> String {
        let parent = self.title.trim_matches(['[', ']']);
        if parent.is_empty() { key.to_string() } else { format!("{parent}.{key}") }
    }
}
