//! Edits of IR that the phases above share.
