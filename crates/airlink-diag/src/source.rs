//! The files that findings point into, and places in them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Every file that was read, by [`FileId`], under the name that the user would write.
///
/// Cloning is cheap: the texts are shared.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: Vec<Arc<SourceFile>>,
    /// Names under which the IR knows a file, where they are not the user's: paths relative to the graph.
    location_names: BTreeMap<String, FileId>,
}

#[derive(Debug)]
struct SourceFile {
    name: String,
    text: String,
    /// Byte offset at which each line starts.
    line_starts: Vec<usize>,
}

/// Index of a file in [`Sources`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(u32);

/// A byte range in one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    pub file: FileId,
    /// First byte.
    pub start: usize,
    /// One past the last byte; `start` for a mere position.
    pub end: usize,
}

/// A place as editors show it: both count from 1, the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineColumn {
    pub line: usize,
    pub column: usize,
}

impl Sources {
    /// Adds a file. The same name may be added twice; each gets its own id.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> FileId {
        let text = text.into();
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect();
        let name = name.into();
        let id = FileId(self.files.len() as u32);
        self.location_names.entry(name.clone()).or_insert(id);
        self.files.push(Arc::new(SourceFile { name, text, line_starts }));
        id
    }

    /// The name under which `file` was added.
    pub fn name(&self, file: FileId) -> &str {
        &self.files[file.0 as usize].name
    }

    /// The whole text of `file`.
    pub fn text(&self, file: FileId) -> &str {
        &self.files[file.0 as usize].text
    }

    /// The id of the file that was first added as `name`, or to which [`Sources::name_in_locations`] gave it.
    pub fn find(&self, name: &str) -> Option<FileId> {
        self.location_names.get(name).copied()
    }

    /// Gives `file` a further name, under which locations in the IR speak of it.
    pub fn name_in_locations(&mut self, file: FileId, name: impl Into<String>) {
        self.location_names.insert(name.into(), file);
    }

    /// Line and column of byte `offset`, which is clamped to the end of the file.
    pub fn line_column(&self, file: FileId, offset: usize) -> LineColumn {
        let f = &self.files[file.0 as usize];
        let offset = floor_char_boundary(&f.text, offset);
        let line = f.line_starts.partition_point(|&s| s <= offset) - 1;
        let column = f.text[f.line_starts[line]..offset].chars().count() + 1;
        LineColumn { line: line + 1, column }
    }

    /// Byte offset of a line and a column that counts *bytes* from 1, as MLIR locations do; both are clamped.
    pub fn offset_of_byte_column(&self, file: FileId, line: usize, column: usize) -> usize {
        let f = &self.files[file.0 as usize];
        let Some(&start) = f.line_starts.get(line.saturating_sub(1)) else { return f.text.len() };
        let end = f.line_starts.get(line).map_or(f.text.len(), |&e| e - 1);
        floor_char_boundary(&f.text, (start + column.saturating_sub(1)).min(end.max(start)))
    }

    /// A span from MLIR's line and byte column that covers the word which starts there: a symbol, an SSA name, an
    /// operation name or a quoted string. Other characters are covered alone.
    pub fn word_span(&self, file: FileId, line: usize, column: usize) -> Span {
        let start = self.offset_of_byte_column(file, line, column);
        let text = &self.text(file)[start..];
        Span { file, start, end: start + word_len(text) }
    }

    /// The text that `span` covers.
    pub fn snippet(&self, span: Span) -> &str {
        &self.text(span.file)[self.whole_characters(span)]
    }

    /// The bytes of the characters that `span` touches, whatever it is: inside the file, in order, and never a part of a
    /// character.
    pub fn whole_characters(&self, span: Span) -> Range<usize> {
        let text = self.text(span.file);
        let start = floor_char_boundary(text, span.start);
        let mut end = span.end.clamp(start, text.len());
        while !text.is_char_boundary(end) {
            end += 1;
        }
        start..end
    }
}

impl Span {
    pub fn new(file: FileId, range: Range<usize>) -> Span {
        Span { file, start: range.start, end: range.end }
    }

    /// The start of a file, for findings that concern all of it.
    pub fn file_start(file: FileId) -> Span {
        Span { file, start: 0, end: 0 }
    }
}

fn floor_char_boundary(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

fn word_len(text: &str) -> usize {
    let mut chars = text.char_indices();
    let Some((_, first)) = chars.next() else { return 0 };
    if first == '"' {
        return text[1..].find(['"', '\n']).map_or(1, |i| i + 2);
    }
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '-');
    if !is_word(first) && !matches!(first, '@' | '%' | '#' | '!' | '^') {
        return if first == '\n' || first == '\r' { 0 } else { first.len_utf8() };
    }
    chars.find(|&(_, c)| !is_word(c)).map_or(text.len(), |(i, _)| i)
}
