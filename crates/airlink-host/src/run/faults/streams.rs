//! What ends launches with channels, as findings.

use airlink_diag::{Code, Finding, Sources, Span, codes};
use airlink_rt::StreamFault;

/// The finding of a fault. Its place is shown in the file where that is known, and told otherwise.
pub(super) fn finding(headline: String, fault: &StreamFault, sources: &Sources) -> Finding {
    let (code, remedy) = code_and_remedy(fault);
    let span = span_of(fault.place(), sources);
    let mut finding = Finding::error(code, headline).maybe_at(span, "");
    let mut found = Vec::new();
    if span.is_none() && !fault.place().is_empty() {
        found.push(format!("at {}", fault.place()));
    }
    match fault {
        StreamFault::Deadlock { waiting, root, reason, fifo_bytes } => {
            if !reason.is_empty() {
                found.push(reason.clone());
            }
            if let Some(bytes) = fifo_bytes {
                finding = finding.allowed(format!("{bytes} bytes in each stream (`--fifo`)"));
            }
            const MOST: usize = 6;
            let others = waiting.iter().enumerate().filter(|(i, _)| i != root);
            for (_, other) in others.clone().take(MOST) {
                let text = format!("{} waits {}", other.who, other.what);
                match span_of(&other.place, sources) {
                    Some(span) => finding = finding.also(span, text),
                    None if other.place.is_empty() => found.push(text),
                    None => found.push(format!("{text}, at {}", other.place)),
                }
            }
            if others.clone().count() > MOST {
                found.push(format!("{} more wait", others.count() - MOST));
            }
        }
        StreamFault::Race { other, other_place, .. } => match span_of(other_place, sources) {
            Some(other_span) if Some(other_span) != span => {
                finding = finding.also(other_span, format!("{other}: here"))
            }
            Some(_) => {}
            None if other_place.is_empty() => {}
            None => found.push(format!("{other} at {other_place}")),
        },
        StreamFault::Undrained { put, got, .. } => found.push(format!("{put} elements put, {got} got")),
        _ => {}
    }
    if !found.is_empty() {
        finding = finding.found(found.join("; "));
    }
    finding.remedy(remedy)
}

fn code_and_remedy(fault: &StreamFault) -> (Code, &'static str) {
    match fault {
        StreamFault::Deadlock { fifo_bytes: Some(_), .. } => {
            (codes::AL0717, "let who waits get what is there first, or give streams more room: `--fifo BYTES`")
        }
        StreamFault::Deadlock { .. } => {
            (codes::AL0717, "put the elements that it waits for, or get fewer of them: `airlink explain AL0717`")
        }
        StreamFault::Undrained { .. } => (codes::AL0718, "get them all, or put fewer"),
        StreamFault::Unequal { .. } => (codes::AL0719, "give both sides sizes with the same product"),
        StreamFault::ElementSize { .. } => (codes::AL0720, "give both ends buffers of one element type"),
        StreamFault::MemoryLimit { .. } => {
            (codes::AL0721, "let somebody get what is put there, or raise the limit: `--memory-limit BYTES`")
        }
        StreamFault::Index { .. } => (codes::AL0722, "give the channel that many streams, or another index"),
        StreamFault::Shared { .. } => {
            (codes::AL0724, "give each of them a stream of its own, or broadcast to them: `broadcast_shape`")
        }
        StreamFault::Mixed { .. } => {
            (codes::AL0729, "move one packet at a time: transfers of as many elements as the put with `dest` has")
        }
        StreamFault::Race { .. } => {
            (codes::AL0725, "give each tile bytes of its own, or let one wait for an element that the other puts")
        }
        StreamFault::Stack(_) => (codes::AL0801, "run on a machine with more memory"),
        StreamFault::Access { .. } | StreamFault::TooLarge { .. } | StreamFault::Damage(_) => {
            (codes::AL0723, "compare the offsets, sizes and strides of the transfer with the buffer's shape")
        }
    }
}

/// The place in a file that was read: `kernel.mlir:12:3`.
fn span_of(place: &str, sources: &Sources) -> Option<Span> {
    let (rest, column) = place.rsplit_once(':')?;
    let (name, line) = rest.rsplit_once(':')?;
    let file = sources.find(name)?;
    Some(sources.word_span(file, line.parse().ok()?, column.parse().ok()?))
}
