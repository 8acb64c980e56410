//! Declarations of kernel symbols are those of the plan, and each call reaches one.

use airlink_diag::{Finding, Findings, codes};
use airlink_ir::melior::ir::operation::OperationLike;
use airlink_ir::{OperationRef, attr, children, collect, function_body, name};

use crate::Expected;

pub(crate) fn check<'c>(root: OperationRef<'c, 'c>, expected: &Expected<'_, '_>, findings: &mut Findings) {
    let mut declared = std::collections::BTreeMap::new();
    for op in children(root) {
        if name(op) != "func.func" || function_body(op).is_some() {
            continue;
        }
        let symbol = attr::string(op, "sym_name").unwrap_or_default();
        declared.insert(symbol, op);
        let Some(planned) = expected.elf.externs.iter().find(|e| e.symbol == symbol) else {
            report(op, format!("extern `@{symbol}` is not in the plan"), findings);
            continue;
        };
        let link_with = attr::string(op, "link_with");
        if link_with != planned.link_with.as_deref() {
            let text = format!("extern `@{symbol}` links with {link_with:?}, the plan says {:?}", planned.link_with);
            report(op, text, findings);
        }
        let ty = op.attribute("function_type").map(|t| t.to_string()).unwrap_or_default();
        let types =
            |list: &[airlink_kernel::KernelType]| list.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let results = match &planned.results[..] {
            [one] => one.to_string(),
            many => format!("({})", types(many)),
        };
        let wanted = format!("({}) -> {results}", types(&planned.inputs));
        if ty != wanted {
            report(op, format!("extern `@{symbol}` is `{ty}`, the plan says `{wanted}`"), findings);
        }
    }
    for planned in &expected.elf.externs {
        if !declared.contains_key(planned.symbol.as_str()) {
            let text = format!("extern `@{}` of the plan is not declared in `{}`", planned.symbol, expected.elf.name);
            findings.push(Finding::error(codes::AL0603, text).at(expected.graph.name.span, "the graph"));
        }
    }
    for herd in collect(root, "air.herd") {
        let Some(file) = attr::string(herd, "link_with") else { continue };
        for call in collect(herd, "func.call") {
            let callee = attr::flat_symbol(call, "callee").unwrap_or_default();
            let own = declared.get(callee).and_then(|d| attr::string(*d, "link_with"));
            if own.is_some_and(|own| own != file) && !is_mixed(herd, &declared) {
                report(call, format!("`@{callee}` links with {own:?}, its herd with {file:?}"), findings);
            }
        }
    }
}

/// Whether a herd calls symbols of several objects, so that its own `link_with` can name only one of them.
fn is_mixed<'c>(herd: OperationRef<'c, 'c>, declared: &std::collections::BTreeMap<&str, OperationRef<'c, 'c>>) -> bool {
    let files: std::collections::BTreeSet<_> = collect(herd, "func.call")
        .into_iter()
        .filter_map(|c| declared.get(attr::flat_symbol(c, "callee")?))
        .map(|d| attr::string(*d, "link_with"))
        .collect();
    files.len() > 1
}

fn report(op: OperationRef<'_, '_>, text: String, findings: &mut Findings) {
    let span = airlink_ir::locate(op.location(), &findings.sources);
    findings.push(Finding::error(codes::AL0603, text).maybe_at(span, "declared or used here"));
}
