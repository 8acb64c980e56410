//! A kernel that was built for a part of the rows, run for each part: `partition` in a launch becomes as many launches,
//! each on views of the buffers' rows. What follows sees launches and views like any others.

use airlink_diag::{Finding, Findings, codes};
use airlink_kernel::{FunctionSummary, KernelSummary, KernelType, MemRefType};
use indexmap::{IndexMap, IndexSet};

use super::types;
use crate::{GraphFile, LaunchEntry, Partition, Placed, StepEntry, ViewEntry};

/// Launches that one becomes at most: so that two numbers in a file do not become any number of launches.
const LAUNCHES_MAX: u64 = 64;

/// Buffers that were padded, with the types that the graph gives them.
pub(super) type Padded = IndexMap<String, KernelType>;

/// An argument of which each launch gets its rows.
struct Part {
    /// Position among the launch's arguments.
    position: usize,
    buffer: String,
    whole: MemRefType,
    /// As the kernel takes it.
    ty: MemRefType,
    rows: u64,
    rows_in_all: u64,
}

/// Replaces every launch that has a `partition`.
///
/// Errors: AL0509.
pub(super) fn expand(
    graph: &mut GraphFile,
    kernels: &IndexMap<String, KernelSummary>,
    findings: &mut Findings,
) -> Padded {
    let mut padded = Padded::new();
    if !graph.steps.iter().any(|s| matches!(s, StepEntry::Launch(l) if l.partition.is_some())) {
        return padded;
    }
    let uses = uses(graph);
    let mut taken: IndexSet<String> = names(graph);
    let mut renamed: IndexMap<String, Vec<Placed<String>>> = IndexMap::new();
    for step in std::mem::take(&mut graph.steps) {
        let StepEntry::Launch(mut entry) = step else {
            graph.steps.push(step);
            continue;
        };
        let choice = entry.partition.take();
        let function = function_of(&entry, kernels);
        let (Some(choice), Some(function)) = (choice, function) else {
            // A kernel that was not found is reported where its function is picked.
            graph.steps.push(StepEntry::Launch(entry));
            continue;
        };
        match parts(graph, &entry, function, &choice, &uses) {
            Ok((parts, count)) => {
                let launches = launches(graph, &entry, &parts, count, &mut taken);
                renamed.insert(entry.name.value.clone(), launches.iter().map(|l| l.name.clone()).collect());
                graph.steps.extend(launches.into_iter().map(|l| StepEntry::Launch(Box::new(l))));
                parts.iter().for_each(|p| pad(graph, p, count, &mut padded));
            }
            Err(finding) => findings.push(*finding),
        }
    }
    for elf in &mut graph.elfs {
        let launches = std::mem::take(&mut elf.launches.value);
        let each = |l: Placed<String>| renamed.get(&l.value).cloned().unwrap_or_else(|| vec![l]);
        elf.launches.value = launches.into_iter().flat_map(each).collect();
    }
    padded
}

/// The function that a launch runs, where there is no doubt about it.
fn function_of<'k>(entry: &LaunchEntry, kernels: &'k IndexMap<String, KernelSummary>) -> Option<&'k FunctionSummary> {
    let mut functions = kernels.get(&entry.kernel.value)?.functions.iter().filter(|f| !f.entries.is_empty());
    let function = match &entry.func {
        Some(name) => functions.find(|f| f.name == name.value)?,
        None => functions.next().filter(|_| functions.next().is_none())?,
    };
    (function.args.len() == entry.args.value.len()).then_some(function)
}

/// How many launches pass each buffer.
fn uses(graph: &GraphFile) -> IndexMap<String, usize> {
    let mut uses = IndexMap::new();
    for step in &graph.steps {
        let StepEntry::Launch(entry) = step else { continue };
        let own: IndexSet<&str> = entry.args.value.iter().map(|a| a.value.as_str()).collect();
        for name in own {
            *uses.entry(name.to_string()).or_insert(0) += 1;
        }
    }
    uses
}

/// Names of launches, host steps, buffers and views.
fn names(graph: &GraphFile) -> IndexSet<String> {
    let views = graph.views.iter().map(|v| &v.name);
    let mut names: IndexSet<String> =
        graph.buffers.iter().map(|b| &b.name).chain(views).map(|n| n.value.clone()).collect();
    for step in &graph.steps {
        match step {
            StepEntry::Launch(l) => {
                names.extend(std::iter::once(&l.name).chain(&l.args.value).map(|n| n.value.clone()))
            }
            StepEntry::Host(h) => {
                names.extend([&h.name].into_iter().chain(&h.reads).chain(&h.writes).map(|n| n.value.clone()));
            }
        }
    }
    names
}

/// The arguments that go by rows, and the number of launches.
fn parts(
    graph: &GraphFile,
    entry: &LaunchEntry,
    function: &FunctionSummary,
    choice: &Placed<Partition>,
    uses: &IndexMap<String, usize>,
) -> Result<(Vec<Part>, u64), Box<Finding>> {
    let name = &entry.name.value;
    let wrong = |text: String| Finding::error(codes::AL0509, text).at(choice.span, "asks for a partition");
    let of = |(i, arg): (usize, &Placed<String>)| part(graph, i, &arg.value, &function.args[i].ty);
    let list: Vec<Part> = entry.args.value.iter().enumerate().filter_map(of).collect();
    let Some(count) = list.first().map(|p| p.rows_in_all.div_ceil(p.rows)) else {
        let text = format!("launch `{name}` has a partition, and no buffer with more rows than its kernel takes");
        return Err(wrong(text)
            .also(entry.args.span, "none of them is declared with more rows and the same other extents")
            .remedy("declare each `[[buffer]]` with the `type` that all parts together have, or remove the key")
            .into());
    };
    if let Some(arg) = written_whole(entry, function, &list) {
        let text = format!("launch `{name}` has a partition, and every part would write the whole of `{}`", arg.value);
        return Err(wrong(text)
            .also(arg.span, "written")
            .remedy("declare it with the rows of all parts, or write the launches yourself")
            .into());
    }
    let given = match choice.value {
        Partition::Auto => count,
        Partition::Launches(n) => n,
    };
    if let Some(other) = list.iter().find(|p| p.rows_in_all.div_ceil(p.rows) != count) {
        let text =
            format!("buffers of launch `{name}` are {count} and {} parts", other.rows_in_all.div_ceil(other.rows));
        return Err(wrong(text)
            .also(entry.args.value[other.position].span, "this one")
            .remedy("make them equal")
            .into());
    }
    if given != count || count > LAUNCHES_MAX {
        let text = format!("the {} rows of launch `{name}` are {count} parts of {}", list[0].rows_in_all, list[0].rows);
        let allowed = if count > LAUNCHES_MAX { format!("up to {LAUNCHES_MAX}") } else { count.to_string() };
        return Err(wrong(text)
            .found(format!("{given} launches"))
            .allowed(allowed)
            .remedy("write `partition = \"auto\"`, with a kernel for as many rows as the number of launches wants")
            .into());
    }
    let is_padded = |p: &&Part| !p.rows_in_all.is_multiple_of(p.rows);
    match list.iter().filter(is_padded).find(|p| uses.get(&p.buffer).is_some_and(|n| *n > 1)) {
        Some(p) => {
            let text = format!("`{}` would be padded for launch `{name}`, and other launches use it", p.buffer);
            Err(wrong(text)
                .also(entry.args.value[p.position].span, format!("{} rows in parts of {}", p.rows_in_all, p.rows))
                .remedy("give them buffers of their own, or take a kernel whose rows divide those of the buffer")
                .into())
        }
        None => Ok((list, count)),
    }
}

/// An argument that does not go by rows and that the kernel writes.
fn written_whole<'e>(entry: &'e LaunchEntry, function: &FunctionSummary, parts: &[Part]) -> Option<&'e Placed<String>> {
    let is_written = |i: usize| function.entries.iter().any(|e| e.accesses.get(i).is_some_and(|a| a.is_written()));
    let mut whole = entry.args.value.iter().enumerate().filter(|(i, _)| parts.iter().all(|p| p.position != *i));
    whole.find(|(i, _)| is_written(*i)).map(|(_, arg)| arg)
}

/// The rows of one argument, where it is declared with more than the kernel takes and is otherwise alike.
fn part(graph: &GraphFile, position: usize, name: &str, taken: &KernelType) -> Option<Part> {
    let declared = graph.buffers.iter().find(|b| b.name.value == name)?.ty.as_ref()?;
    let KernelType::MemRef(whole) = types::normal(&KernelType::parse(&declared.value)?) else { return None };
    let KernelType::MemRef(ty) = types::normal(taken) else { return None };
    let (rows_in_all, rows) = ((*whole.shape.first()?)?, (*ty.shape.first()?)?);
    let is_alike = whole.shape[1..] == ty.shape[1..] && whole.element == ty.element && whole.space == ty.space;
    let is_plain = whole.layout.is_none() && ty.layout.is_none() && whole.shape.iter().all(Option::is_some);
    let buffer = name.to_string();
    (is_alike && is_plain && rows > 0 && rows_in_all > rows).then_some(Part {
        position,
        buffer,
        whole,
        ty,
        rows,
        rows_in_all,
    })
}

/// The launches, and the views that they take.
fn launches(
    graph: &mut GraphFile,
    entry: &LaunchEntry,
    parts: &[Part],
    count: u64,
    taken: &mut IndexSet<String>,
) -> Vec<LaunchEntry> {
    let mut launches = Vec::new();
    for index in 0..count {
        let mut launch = entry.clone();
        launch.name.value = free(taken, &format!("{}_{}", entry.name.value, index + 1));
        for part in parts {
            let arg = &mut launch.args.value[part.position];
            let (span, extents) = (arg.span, part.ty.shape.iter().map(|n| n.unwrap_or(0)));
            // Two arguments may be one buffer: each then has a view of its own.
            arg.value = free(taken, &format!("{}_{}", part.buffer, launch.name.value));
            let mut offsets = vec![0; part.ty.shape.len()];
            offsets[0] = index.saturating_mul(part.rows);
            graph.views.push(ViewEntry {
                name: arg.clone(),
                of: Placed::new(part.buffer.clone(), span),
                offsets: Placed::new(offsets, span),
                sizes: Placed::new(extents.collect(), span),
                strides: None,
                ty: Placed::new(KernelType::MemRef(part.ty.clone()).to_string(), span),
            });
        }
        launches.push(launch);
    }
    launches
}

fn free(taken: &mut IndexSet<String>, stem: &str) -> String {
    let mut name = stem.to_string();
    while !taken.insert(name.clone()) {
        name.push('_');
    }
    name
}

/// Gives the buffer whole parts.
fn pad(graph: &mut GraphFile, part: &Part, count: u64, padded: &mut Padded) {
    let rows = part.rows.saturating_mul(count);
    if rows == part.rows_in_all {
        return;
    }
    let mut ty = part.whole.clone();
    ty.shape[0] = Some(rows);
    for buffer in graph.buffers.iter_mut().filter(|b| b.name.value == part.buffer) {
        if let Some(text) = &mut buffer.ty {
            *text = Placed::<String>::new(KernelType::MemRef(ty.clone()).to_string(), text.span);
        }
    }
    padded.insert(part.buffer.clone(), KernelType::MemRef(part.whole.clone()));
}
