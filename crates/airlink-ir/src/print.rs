//! Writing IR text.

use melior::ir::operation::{OperationLike, OperationPrintingFlags};

/// The op as text that ends with a line break; with locations if asked.
pub fn print<'c: 'a, 'a>(op: &impl OperationLike<'c, 'a>, with_locations: bool) -> String {
    let flags = OperationPrintingFlags::new().enable_debug_info(with_locations, false);
    let mut text = op.to_string_with_flags(flags).unwrap_or_default();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}
