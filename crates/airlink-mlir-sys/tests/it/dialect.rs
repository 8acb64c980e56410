//! The text forms of the dialect: `mlir/test/AIR`.

use std::path::Path;

use melior::ir::operation::{OperationLike, OperationPrintingFlags};

use crate::support::{context, parse, print};

/// Parts of a file of `mlir/test/AIR`, each behind as many empty lines as stand before it in the file, so that lines
/// of findings are those of the file.
fn parts(file: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../mlir/test/AIR").join(file);
    let text = std::fs::read_to_string(path).unwrap();
    let mut line = 0;
    text.split("// -----\n")
        .map(|part| {
            let padded = "\n".repeat(line) + part;
            line += part.lines().count() + 1;
            padded
        })
        .collect()
}

/// Whether the pieces of `pattern` between `{{.*}}` occur in `line` in order.
fn matches(line: &str, pattern: &str) -> bool {
    let mut rest = line;
    pattern.split("{{.*}}").all(|piece| match rest.find(piece) {
        Some(at) => {
            rest = &rest[at + piece.len()..];
            true
        }
        None => false,
    })
}

#[test]
fn every_form_round_trips() {
    for part in parts("roundtrip.mlir") {
        let (context, other) = (context(), context());
        let module = parse(&context, &part, "roundtrip.mlir").unwrap_or_else(|report| panic!("{report}"));
        let printed = print(&module);
        let again = parse(&other, &printed, "printed").unwrap_or_else(|report| panic!("{report}\n{printed}"));
        assert_eq!(printed, print(&again));

        let mut lines = printed.lines();
        for check in part.lines().filter_map(|line| line.strip_prefix("// CHECK: ")) {
            assert!(lines.any(|line| matches(line, check)), "no line matches\n{check}\nin order in\n{printed}");
        }
    }
}

#[test]
fn generic_form_is_read_back() {
    for part in parts("roundtrip.mlir") {
        let context = context();
        let module = parse(&context, &part, "roundtrip.mlir").unwrap();
        let flags = OperationPrintingFlags::new().print_generic_operation_form();
        let generic = module.as_operation().to_string_with_flags(flags).unwrap();
        let again = parse(&context, &generic, "generic").unwrap_or_else(|report| panic!("{report}\n{generic}"));
        assert_eq!(print(&module), print(&again));
    }
}

/// The announcements `// expected-error @+1 {{text}}` of a part, as (line, text). Notes are not compared.
fn announced(part: &str) -> Vec<(usize, &str)> {
    let lines = part.lines().enumerate();
    lines
        .filter_map(|(index, line)| {
            let (_, rest) = line.split_once("expected-error @+")?;
            let (offset, rest) = rest.split_once(" {{")?;
            Some((index + 1 + offset.parse::<usize>().unwrap(), rest.strip_suffix("}}").unwrap()))
        })
        .collect()
}

#[test]
fn every_refusal_has_its_place_and_its_words() {
    for part in parts("invalid.mlir") {
        let context = context();
        let expected = announced(&part);
        assert!(!expected.is_empty(), "nothing announced in\n{part}");
        let report = parse(&context, &part, "invalid.mlir").map(|module| print(&module)).unwrap_err();
        let found: Vec<_> = report.lines().filter(|line| line.starts_with("loc(")).collect();
        assert_eq!(found.len(), expected.len(), "{report}");
        for (line, text) in expected {
            let place = format!("loc(\"invalid.mlir\":{line}:");
            assert!(
                found.iter().any(|found| found.starts_with(&place) && found.contains(text)),
                "not at line {line}: {text}\n{report}"
            );
        }
    }
}

/// Whatever a file is cut to, the answer is a module or a report, never the end of the process.
#[test]
fn truncated_text_is_refused_in_order() {
    for part in parts("roundtrip.mlir") {
        let part = part.trim_start();
        let context = context();
        for end in (0..part.len()).step_by(3).filter(|&end| part.is_char_boundary(end)) {
            if let Err(report) = parse(&context, &part[..end], "cut.mlir") {
                assert!(report.contains("loc("), "no place for a file cut at {end}: {report}");
            }
        }
    }
}
