//! `[[block]]`: a part of the graph that repeats.

use airlink_diag::{Finding, codes};
use indexmap::IndexMap;

use super::table::Table;
use super::{EXPANDED_MAX, Reader, entries, in_file_order, names};
use crate::words::count_of;
use crate::{BufferEntry, HostEntry, LaunchEntry, Placed, StepEntry, ViewEntry};

/// `name` and `count` of a block.
pub struct Head {
    pub name: Placed<String>,
    pub count: Placed<u64>,
}

/// What a block repeats, with `{i}` in its strings.
enum Template {
    Buffer(BufferEntry),
    View(ViewEntry),
    Launch(Box<LaunchEntry>),
    Host(HostEntry),
}

impl Reader {
    /// Reads a block and appends what it expands to.
    pub fn block(&mut self, table: &mut Table) {
        let head = entries::block_head(table);
        let arrays = ["buffer", "view", "launch", "host"].map(|key| (key, table.table_array(key)));
        let mut templates = Vec::new();
        for (key, item) in in_file_order(arrays) {
            let mut item = table.at(&item);
            templates.extend(match key {
                "buffer" => entries::buffer_template(&mut item).map(Template::Buffer),
                "view" => entries::view_template(&mut item).map(Template::View),
                "launch" => entries::launch_template(&mut item).map(|l| Template::Launch(Box::new(l))),
                _ => entries::host_template(&mut item).map(Template::Host),
            });
        }
        table.finish();
        let Some(head) = head else { return };
        self.blocks.push(head.name.clone());
        if !self.is_small_enough(&head, templates.len() as u64, table) {
            return;
        }
        templates.retain(|t| is_usable(t, &head, table));
        for index in 0..head.count.value {
            for template in &templates {
                self.push(template, &head.name.value, index);
            }
        }
    }

    fn is_small_enough(&mut self, head: &Head, template_count: u64, table: &mut Table) -> bool {
        let expanded = template_count.checked_mul(head.count.value).and_then(|n| n.checked_add(self.expanded_count));
        if let Some(n) = expanded.filter(|n| *n <= EXPANDED_MAX) {
            self.expanded_count = n;
            return true;
        }
        table.findings.push(
            Finding::error(codes::AL0109, format!("block `{}` expands to too many steps", head.name.value))
                .at(head.count.span, "")
                .found(format!("{}, {}", count_of(template_count, "entry"), count_of(head.count.value, "time")))
                .allowed(format!("{EXPANDED_MAX} entries in all blocks together"))
                .source("a guard of airlink against a slip in `count`")
                .remedy("lower `count`"),
        );
        false
    }

    fn push(&mut self, template: &Template, block: &str, index: u64) {
        let at = |text: &Placed<String>| Placed::new(substitute(&text.value, index).unwrap_or_default(), text.span);
        let all = |list: &[Placed<String>]| list.iter().map(at).collect::<Vec<_>>();
        let map = |map: &IndexMap<String, Placed<String>>| {
            map.iter().map(|(k, v)| (substitute(k, index).unwrap_or_default(), at(v))).collect::<IndexMap<_, _>>()
        };
        let block = Some((block.to_string(), index));
        match template {
            Template::Buffer(b) => {
                self.buffers.push(BufferEntry { name: at(&b.name), ty: b.ty.clone(), role: b.role.clone() });
            }
            Template::View(v) => self.views.push(ViewEntry { name: at(&v.name), of: at(&v.of), ..v.clone() }),
            Template::Launch(l) => self.steps.push(StepEntry::Launch(Box::new(LaunchEntry {
                name: at(&l.name),
                kernel: at(&l.kernel),
                args: Placed::new(all(&l.args.value), l.args.span),
                func: l.func.as_ref().map(at),
                objects: map(&l.objects),
                refs: map(&l.refs),
                elf: l.elf.as_ref().map(at),
                pdi: l.pdi.as_ref().map(at),
                block,
                ..(**l).clone()
            }))),
            Template::Host(h) => {
                let (name, reads, writes) = (at(&h.name), all(&h.reads), all(&h.writes));
                self.steps.push(StepEntry::Host(HostEntry { name, reads, writes, block }));
            }
        }
    }
}

/// Checks a template once for all its copies: names are usable, differ from copy to copy, and no index is negative.
fn is_usable(template: &Template, head: &Head, table: &mut Table) -> bool {
    let (kind, name) = match template {
        Template::Buffer(b) => ("buffer", &b.name),
        Template::View(v) => ("view", &v.name),
        Template::Launch(l) => ("launch", &l.name),
        Template::Host(h) => ("host step", &h.name),
    };
    let negative = texts(template).into_iter().find(|t| substitute(&t.value, 0).is_none());
    if let Some(text) = negative {
        table.findings.push(
            Finding::error(
                codes::AL0109,
                format!("`{}` has no value in the first copy of block `{}`", text.value, head.name.value),
            )
            .at(text.span, "the index would be below 0, or too large")
            .also(head.name.span, "the first copy has index 0")
            .remedy("count from the other end: let a step write `{i+1}` and the next copy read `{i}`"),
        );
        return false;
    }
    if head.count.value > 1 && substitute(&name.value, 0) == substitute(&name.value, 1) {
        table.findings.push(
            Finding::error(
                codes::AL0201,
                format!("{} copies of {kind} `{}` have one name", head.count.value, name.value),
            )
            .at(name.span, "the same in every copy")
            .also(head.count.span, "repeated here")
            .remedy(format!("put the index in: `{}_{{i}}`", name.value)),
        );
        return false;
    }
    // The characters of a name don't depend on the index, so one copy stands for all.
    let mut probe = Reader::default();
    probe.push(template, &head.name.value, 0);
    let findings = &mut *table.findings;
    probe.buffers.iter().all(|b| names::check(&b.name, "buffer", findings))
        && probe.views.iter().all(|v| names::check_view(v, findings))
        && probe.steps.iter().all(|s| match s {
            StepEntry::Launch(l) => names::check_launch(l, findings),
            StepEntry::Host(h) => names::check_host(h, findings),
        })
}

/// Every string that may hold an index.
fn texts(template: &Template) -> Vec<&Placed<String>> {
    match template {
        Template::Buffer(b) => vec![&b.name],
        Template::View(v) => vec![&v.name, &v.of],
        Template::Launch(l) => {
            let optional = [&l.func, &l.elf, &l.pdi].into_iter().flatten();
            let maps = l.objects.values().chain(l.refs.values());
            [&l.name, &l.kernel].into_iter().chain(&l.args.value).chain(optional).chain(maps).collect()
        }
        Template::Host(h) => std::iter::once(&h.name).chain(&h.reads).chain(&h.writes).collect(),
    }
}

/// Replaces `{i}`, `{i+N}` and `{i-N}`; other braces stay. None if an index is negative or overflows.
fn substitute(text: &str, index: u64) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("{i") {
        out.push_str(&rest[..at]);
        let tail = &rest[at + 2..];
        let Some((offset, after)) = tail.split_once('}').and_then(|(o, after)| Some((parse_offset(o)?, after))) else {
            out.push_str("{i");
            rest = tail;
            continue;
        };
        out.push_str(&u64::try_from(i128::from(index) + offset).ok()?.to_string());
        rest = after;
    }
    out.push_str(rest);
    Some(out)
}

/// Nothing, `+N` or `-N`.
fn parse_offset(text: &str) -> Option<i128> {
    let digits = text.strip_prefix(['+', '-']);
    match digits {
        None => text.is_empty().then_some(0),
        Some(d) if !d.is_empty() && d.len() <= 18 && d.bytes().all(|b| b.is_ascii_digit()) => text.parse().ok(),
        Some(_) => None,
    }
}
