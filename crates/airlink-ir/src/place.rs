//! From MLIR locations to spans in the files that the user named.

use airlink_diag::{FileId, Sources, Span};
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

/// The file place that leads in a location: the callee of a call site, the first of fused ones, the child of a name.
pub(crate) fn place(location: Location<'_>) -> Option<Place> {
    if location.is_file_line_col_range() {
        return Some(Place {
            file: attr::identifier_text(location.file_line_col_range_filename()).to_string(),
            line: location.file_line_col_range_start_line(),
            column: location.file_line_col_range_start_column(),
        });
    }
    if location.is_call_site() {
        return place(location.call_site_callee()).or_else(|| place(location.call_site_caller()));
    }
    if location.is_name() {
        return place(location.name_child_location());
    }
    if location.is_fused() {
        return (0..location.fused_num_locations()).find_map(|i| place(location.fused_location(i)));
    }
    None
}
