//! Names: usable ones, and each once.

use airlink_diag::{Finding, Findings, Span, codes};
use indexmap::IndexMap;

use super::Reader;
use crate::words::{plural, printable};
use crate::{HostEntry, LaunchEntry, Placed, StepEntry, ViewEntry};

/// Whether `name` can prefix a symbol; a finding if not.
pub fn check(name: &Placed<String>, kind: &str, findings: &mut Findings) -> bool {
    let text = name.value.as_str();
    let is_start = |c: char| c.is_ascii_alphabetic() || c == '_';
    let is_usable = text.starts_with(is_start) && text.chars().all(|c| is_start(c) || c.is_ascii_digit());
    if !is_usable {
        let mut mended: String =
            text.chars().take(60).map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        if !mended.starts_with(is_start) {
            mended.insert(0, '_');
        }
        findings.push(
            Finding::error(codes::AL0202, format!("{kind} name `{}` is not usable", printable(text)))
                .at(name.span, "used as (a part of) a symbol")
                .allowed("a letter or `_`, then letters, digits and `_`")
                .remedy(format!("write `{mended}`")),
        );
    }
    is_usable
}

pub fn check_launch(entry: &LaunchEntry, findings: &mut Findings) -> bool {
    let name_ok = check(&entry.name, "launch", findings);
    check_all(&entry.args.value, findings) && name_ok
}

pub fn check_host(entry: &HostEntry, findings: &mut Findings) -> bool {
    let name_ok = check(&entry.name, "host step", findings);
    let reads_ok = check_all(&entry.reads, findings);
    check_all(&entry.writes, findings) && reads_ok && name_ok
}

pub fn check_view(entry: &ViewEntry, findings: &mut Findings) -> bool {
    let name_ok = check(&entry.name, "view", findings);
    check(&entry.of, "buffer", findings) && name_ok
}

fn check_all(names: &[Placed<String>], findings: &mut Findings) -> bool {
    // Not `all`: every bad name is to be reported.
    names.iter().filter(|n| !check(n, "buffer", findings)).count() == 0
}

impl Reader {
    /// Reports names that stand twice: among launches, host steps and blocks; among buffers and views; among ELFs.
    pub fn check_names(&self, findings: &mut Findings) {
        let blocks = self.blocks.iter().map(|b| ("block", b));
        let steps = self.steps.iter().map(|s| match s {
            StepEntry::Launch(l) => ("launch", &l.name),
            StepEntry::Host(h) => ("host step", &h.name),
        });
        report_twice(blocks.chain(steps), findings);
        let buffers = self.buffers.iter().map(|b| ("buffer", &b.name));
        report_twice(buffers.chain(self.views.iter().map(|v| ("view", &v.name))), findings);
        report_twice(self.elfs.iter().map(|e| ("ELF", &e.name)), findings);
    }
}

fn report_twice<'a>(names: impl Iterator<Item = (&'static str, &'a Placed<String>)>, findings: &mut Findings) {
    let mut list: Vec<_> = names.collect();
    list.sort_by_key(|(_, name)| name.span.start);
    let mut first: IndexMap<&str, (&'static str, Span)> = IndexMap::new();
    for (kind, name) in list {
        let Some((first_kind, first_span)) = first.get(name.value.as_str()).copied() else {
            first.insert(&name.value, (kind, name.span));
            continue;
        };
        let who = if first_kind == kind {
            format!("two {} are", plural(kind))
        } else {
            format!("a {first_kind} and a {kind} are")
        };
        findings.push(
            Finding::error(codes::AL0201, format!("{} named `{}`", who, name.value))
                .at(name.span, "second use of the name")
                .also(first_span, "first use")
                .remedy(format!("rename one of them, for example to `{}_2`", name.value)),
        );
    }
}
