//! Which function of a kernel module a launch runs.

use airlink_diag::{Finding, Findings, Span, codes};
use airlink_kernel::{FunctionSummary, KernelSummary};
use indexmap::IndexMap;

use super::Picked;
use crate::words::{count_of, suggest};
use crate::{GraphFile, LaunchEntry, StepEntry};

/// Per launch of `graph`, in order, its function. Findings about a kernel come once, at the first launch that runs it.
pub fn pick<'k>(
    graph: &GraphFile,
    kernels: &'k IndexMap<String, KernelSummary>,
    findings: &mut Findings,
) -> Vec<Option<Picked<'k>>> {
    let mut seen: IndexMap<(&str, Option<&str>), Option<Picked<'k>>> = IndexMap::new();
    let mut picked = Vec::new();
    for step in &graph.steps {
        let StepEntry::Launch(entry) = step else { continue };
        let key = (entry.kernel.value.as_str(), entry.func.as_ref().map(|f| f.value.as_str()));
        let choice = *seen.entry(key).or_insert_with(|| match kernels.get(&entry.kernel.value) {
            Some(summary) => pick_one(entry, summary, findings),
            None => {
                report_unread(entry, findings);
                None
            }
        });
        picked.push(choice);
    }
    picked
}

/// The functions of a kernel file that can be launched, by their positions, for a graph that is yet to be written.
///
/// Errors: AL0209 to AL0211, placed in the kernel. Nothing comes back where there is one.
pub fn kernel_functions(kernel: &str, summary: &KernelSummary, findings: &mut Findings) -> Vec<usize> {
    if let Some(first) = summary.nested_modules.first() {
        findings.push(nested(kernel, None, *first));
        return Vec::new();
    }
    let candidates: Vec<usize> =
        (0..summary.functions.len()).filter(|i| !summary.functions[*i].entries.is_empty()).collect();
    if candidates.is_empty() {
        let (span, label) = match &summary.functions[..] {
            [] => (Span::file_start(summary.file), "no public function with a body"),
            [first, ..] => (first.span, "holds no `air.launch` and no bare `air.herd`"),
        };
        findings.push(no_launch(kernel, None, span, label));
    }
    let returning = candidates.iter().map(|i| &summary.functions[*i]).filter(|f| f.result_count > 0);
    let errors: Vec<Finding> = returning.map(|f| returns(None, f)).collect();
    let is_bad = !errors.is_empty();
    errors.into_iter().for_each(|e| findings.push(e));
    if is_bad { Vec::new() } else { candidates }
}

/// A finding about a kernel: where a launch names it, if one does, and in the kernel.
fn placed(finding: Finding, named_at: Option<Span>, span: Span, label: &str) -> Finding {
    match named_at {
        Some(named_at) => finding.at(named_at, "run here").also(span, label),
        None => finding.at(span, label),
    }
}

fn nested(kernel: &str, named_at: Option<Span>, first: Span) -> Finding {
    let finding = Finding::error(codes::AL0210, format!("kernel `{kernel}` has a module inside its module"));
    placed(finding, named_at, first, "nested module")
        .remedy("take the function that is the kernel out into a file of its own")
}

fn returns(named_at: Option<Span>, function: &FunctionSummary) -> Finding {
    let finding = Finding::error(codes::AL0211, format!("kernel `@{}` returns values", function.name));
    placed(finding, named_at, function.span, "a kernel writes its results through its arguments")
        .found(count_of(function.result_count as u64, "result"))
        .allowed("0")
        .remedy("pass a memref for each result and write to it")
}

fn pick_one<'k>(entry: &LaunchEntry, summary: &'k KernelSummary, findings: &mut Findings) -> Option<Picked<'k>> {
    let kernel = &entry.kernel.value;
    if let Some(first) = summary.nested_modules.first() {
        let finding = nested(kernel, Some(entry.kernel.span), *first);
        findings.push(summary.nested_modules.iter().skip(1).fold(finding, |f, span| f.also(*span, "and here")));
        return None;
    }
    let (index, function) = match &entry.func {
        Some(func) => match summary.functions.iter().position(|f| f.name == func.value) {
            Some(index) => (index, &summary.functions[index]),
            None => {
                findings.push(unknown_function(entry, &func.value, func.span, summary));
                return None;
            }
        },
        None => match &summary.functions[..] {
            [] => {
                findings.push(no_launch(
                    kernel,
                    Some(entry.kernel.span),
                    Span::file_start(summary.file),
                    "no public function with a body",
                ));
                return None;
            }
            [one] => (0, one),
            several => {
                findings.push(which_function(entry, several));
                return None;
            }
        },
    };
    if function.entries.is_empty() {
        findings.push(no_launch(
            kernel,
            Some(entry.kernel.span),
            function.span,
            "holds no `air.launch` and no bare `air.herd`",
        ));
        return None;
    }
    if function.result_count > 0 {
        findings.push(returns(Some(entry.kernel.span), function));
        return None;
    }
    Some((index, function))
}

fn no_launch(kernel: &str, named_at: Option<Span>, span: Span, label: &str) -> Finding {
    let finding = Finding::error(codes::AL0209, format!("kernel `{kernel}` has no launch"));
    placed(finding, named_at, span, label)
        .remedy("wrap the body of the kernel function in `air.launch`, or name another function with `func`")
}

fn which_function(entry: &LaunchEntry, candidates: &[FunctionSummary]) -> Finding {
    let names: Vec<&str> = candidates.iter().map(|f| f.name.as_str()).collect();
    let finding = Finding::error(
        codes::AL0208,
        format!("kernel `{}` has {} public functions", entry.kernel.value, candidates.len()),
    )
    .at(entry.kernel.span, "which one is meant?")
    .found(listed(&names))
    .allowed("one, or `func`");
    let finding = candidates.iter().take(SHOWN_MAX).fold(finding, |f, c| {
        let label = if c.entries.is_empty() { "has no launch" } else { "a candidate" };
        f.also(c.span, label)
    });
    let best = candidates.iter().find(|c| !c.entries.is_empty()).unwrap_or(&candidates[0]);
    finding.remedy(format!("add `func = \"{}\"` to launch `{}`", best.name, entry.name.value))
}

fn unknown_function(entry: &LaunchEntry, func: &str, span: Span, summary: &KernelSummary) -> Finding {
    let names: Vec<&str> = summary.functions.iter().map(|f| f.name.as_str()).collect();
    let finding =
        Finding::error(codes::AL0208, format!("kernel `{}` has no public function `@{func}`", entry.kernel.value))
            .at(span, "not in the kernel");
    let finding = summary.functions.iter().take(SHOWN_MAX).fold(finding, |f, c| f.also(c.span, "there is this one"));
    match (suggest(func, names.iter().copied()), &names[..]) {
        (Some(near), _) => finding.remedy(format!("write `func = \"{near}\"`")),
        (None, []) => finding.remedy("give the function a body and make it public"),
        (None, names) => finding.remedy(format!("name one of {}", listed(names))),
    }
}

/// Places shown of a list that may be long.
const SHOWN_MAX: usize = 8;

fn listed(names: &[&str]) -> String {
    let shown = names.iter().take(SHOWN_MAX).map(|n| format!("`@{n}`")).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN_MAX { format!("{shown} and {} more", names.len() - SHOWN_MAX) } else { shown }
}

/// The caller reads every kernel first and reports those that it could not read.
fn report_unread(entry: &LaunchEntry, findings: &mut Findings) {
    if !findings.has_errors() {
        findings.push(
            Finding::error(codes::AL0901, format!("kernel `{}` was not read", entry.kernel.value))
                .at(entry.kernel.span, "")
                .remedy("report this as a bug of airlink"),
        );
    }
}
