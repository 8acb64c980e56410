//! From MLIR locations to spans in the files that the user named.

use airlink_diag::{FileId, Sources, Span};
use airlink_mlir_sys as sys;
use melior::ir::Location;
use melior::ir::operation::OperationLike;

use crate::attr;

/// A file, line and byte column as MLIR counts them, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub file: String,
    pub line: usize,
    pub column: usize,
}

/// The span of a location: the word at its start. `None` where the location names no file that was read.
pub fn locate(location: Location<'_>, sources: &Sources) -> Option<Span> {
    place(location).and_then(|p| span(&p, sources))
}

/// The span of an op, in `file` if its location names none: an op that a pass made still belongs to the file.
pub fn span_of<'c: 'a, 'a>(op: &impl OperationLike<'c, 'a>, file: FileId, sources: &Sources) -> Span {
    locate(op.location(), sources).unwrap_or(Span::file_start(file))
}

pub(crate) fn span(place: &Place, sources: &Sources) -> Option<Span> {
    Some(sources.word_span(sources.find(&place.file)?, place.line, place.column))
}

/// The first place in a file that a location contains.
pub(crate) fn place(location: Location<'_>) -> Option<Place> {
    let mut range = sys::AirlinkFileRange { file: attr::raw(""), line: 0, column: 0, end_line: 0, end_column: 0 };
    // SAFETY: the location is valid; what it gives lives in the context.
    unsafe {
        sys::airlinkLocationResolve(location.to_raw(), &mut range).then(|| Place {
            file: attr::text(range.file).to_string(),
            line: range.line as usize,
            column: range.column as usize,
        })
    }
}
