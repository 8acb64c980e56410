//! What passes say, as findings.

use airlink_diag::{Code, Finding, Findings, Reported, codes};
use airlink_ir::codegen::{PassMessage, PassOutcome};

/// Pushes what was said; an error if the passes failed.
pub(crate) fn report(outcome: &PassOutcome, findings: &mut Findings) -> Result<(), Reported> {
    let mut reported = None;
    for message in &outcome.messages {
        // Upstream passes fail with one message after the other for one cause; the first is the one that tells it.
        if message.is_error && reported.is_some() && own_code(message).is_none() {
            continue;
        }
        let Some(finding) = finding(message) else { continue };
        if message.is_error {
            reported = Some(findings.fail(finding));
        } else {
            findings.push(finding);
        }
    }
    match (outcome.is_ok, reported) {
        (true, _) => Ok(()),
        (false, Some(reported)) => Err(reported),
        (false, None) => {
            let headline = "lowering for the host failed and MLIR gave no reason";
            Err(findings.fail(Finding::error(codes::AL0901, headline)))
        }
    }
}

/// Code and text of a message of our own passes: `AL0701: ...`.
fn own_code(message: &PassMessage) -> Option<(Code, &str)> {
    let (name, text) = message.text.split_once(": ")?;
    Some((Code::find(name)?, text))
}

fn finding(message: &PassMessage) -> Option<Finding> {
    let (code, headline) = match own_code(message) {
        Some((code, text)) => (code, text.to_string()),
        // Upstream's warnings are about its own business.
        None if !message.is_error => return None,
        None if message.text.contains("mathematical library") => (codes::AL0902, message.text.clone()),
        None => (codes::AL0701, format!("the host target cannot lower this: {}", message.text)),
    };
    let finding = if message.is_error { Finding::error(code, headline) } else { Finding::warning(code, headline) };
    let mut finding = finding.maybe_at(message.span, "");
    for (text, span) in &message.notes {
        // MLIR attaches the offending op as a note; the span shows it better.
        if !text.starts_with("see current operation") {
            finding = finding.maybe_also(*span, text.as_str());
        }
    }
    Some(match remedy(code) {
        Some(remedy) => finding.remedy(remedy),
        None => finding,
    })
}

fn remedy(code: Code) -> Option<&'static str> {
    Some(match code {
        codes::AL0701 => "fuse it without running it here: `--emit mlir,map`",
        codes::AL0705 => "fuse it without running it here: `--emit mlir,map`, or make the scalar a constant",
        codes::AL0713 => "pass the whole buffer and the distance as a scalar argument of the kernel",
        codes::AL0901 | codes::AL0902 => "this is a bug in airlink: please report it with the graph and the kernels",
        _ => return None,
    })
}
