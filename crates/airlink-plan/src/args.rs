//! The arguments of a fused function: which buffers, in which order, in which role.

use std::collections::HashMap;

use airlink_diag::{Finding, Findings, Reported, codes};
use airlink_graph::{BufferIdx, ElfRoles, LaunchGraph, Placed, Role};
use indexmap::{IndexMap, IndexSet};

use crate::ArgPlan;
use crate::cuts::Cut;

/// The arguments of one ELF: as its `[[elf]]` lists them, else in order of first use.
///
/// Errors: AL0216 for a used buffer that the list omits, AL0217 for one in the list that cannot be an argument, AL0224
/// for one that stands in it twice.
pub(crate) fn args(
    graph: &LaunchGraph,
    cut: &Cut<'_>,
    roles: &ElfRoles,
    findings: &mut Findings,
) -> Result<Vec<ArgPlan>, Reported> {
    let listed = cut.entry.and_then(|e| e.args.as_ref());
    let order: IndexSet<BufferIdx> = match listed {
        Some(list) => listed_order(graph, cut, list, roles, findings)?,
        None => roles.buffers.keys().copied().collect(),
    };
    Ok(order.into_iter().enumerate().filter_map(|(index, buffer)| arg(graph, index, buffer, roles)).collect())
}

fn arg(graph: &LaunchGraph, index: usize, buffer: BufferIdx, roles: &ElfRoles) -> Option<ArgPlan> {
    let b = graph.buffer(buffer);
    let ty = b.ty.clone()?;
    let used = roles.buffers.get(&buffer);
    Some(ArgPlan {
        index,
        name: b.name.clone(),
        buffer,
        size_bytes: ty.as_memref().and_then(|m| m.byte_count()),
        shape: ty.as_memref().map_or(Vec::new(), |m| m.shape.clone()),
        ty,
        padded_from: b.padded_from.clone(),
        // Of an argument that nothing uses, the map keeps what is declared.
        role: used.map_or_else(|| b.declared_role.as_ref().map_or(Role::Dead, |r| r.value), |u| u.role),
        dataflow: used.map_or(Role::Dead, |u| u.dataflow),
        readers: used.map_or(Vec::new(), |u| u.readers.clone()),
        writers: used.map_or(Vec::new(), |u| u.writers.clone()),
    })
}

fn listed_order(
    graph: &LaunchGraph,
    cut: &Cut<'_>,
    list: &Placed<Vec<Placed<String>>>,
    roles: &ElfRoles,
    findings: &mut Findings,
) -> Result<IndexSet<BufferIdx>, Reported> {
    let elf = &cut.name;
    let mut first: HashMap<&str, &Placed<String>> = HashMap::new();
    let mut order = IndexSet::with_capacity(list.value.len());
    let mut failure = None;
    for name in &list.value {
        if let Some(first) = first.insert(&name.value, name) {
            failure = Some(
                findings.fail(
                    Finding::error(codes::AL0224, format!("ELF `{elf}` lists argument `{}` twice", name.value))
                        .at(name.span, "here again")
                        .also(first.span, "first here")
                        .remedy("remove one of the two"),
                ),
            );
        }
        match argument(graph, cut, name, roles) {
            Ok(buffer) => {
                order.insert(buffer);
            }
            Err(finding) => failure = Some(findings.fail(*finding)),
        }
    }
    for finding in omitted(graph, cut, list, &order, roles) {
        failure = Some(findings.fail(finding));
    }
    failure.map_or(Ok(order), Err)
}

/// The buffer that one name of the list stands for.
fn argument(
    graph: &LaunchGraph,
    cut: &Cut<'_>,
    name: &Placed<String>,
    roles: &ElfRoles,
) -> Result<BufferIdx, Box<Finding>> {
    let (elf, text) = (&cut.name, &name.value);
    let error = |headline: String| Finding::error(codes::AL0217, headline);
    let Some(buffer) = graph.buffer_idx(text) else {
        return Err(Box::new(match graph.views.get(text) {
            Some(view) => {
                let of = &graph.buffer(view.of).name;
                error(format!("ELF `{elf}` lists view `{text}` as an argument"))
                    .at(name.span, format!("a part of `{of}`"))
                    .also(view.span, "the view")
                    .remedy(format!("list its buffer `{of}`"))
            }
            None => {
                let finding = error(format!("ELF `{elf}` lists an unknown buffer `{text}`"))
                    .at(name.span, "neither declared nor used");
                match airlink_graph::suggest(text, graph.buffers.keys().map(String::as_str)) {
                    Some(near) => finding.remedy(format!("write `{near}`")),
                    None => finding.remedy(format!("remove it, or declare it with `[[buffer]]` and a type: {text}")),
                }
            }
        }));
    };
    let b = graph.buffer(buffer);
    let is_used = roles.buffers.contains_key(&buffer);
    if !is_used && !b.is_declared {
        return Err(Box::new(
            error(format!("ELF `{elf}` lists buffer `{text}`, which is undeclared and which no launch of it uses"))
                .at(name.span, "not used by this ELF")
                .also(b.span, "used here only")
                .remedy(format!("remove it from `args`, or declare `{text}` with `[[buffer]]` to keep the place")),
        ));
    }
    if b.ty.is_none() {
        return Err(Box::new(
            error(format!("argument `{text}` of ELF `{elf}` has no type"))
                .at(name.span, "no launch uses it")
                .also(b.span, "declared without `type`")
                .remedy(format!("add `type = \"memref<...>\"` to the `[[buffer]]` of `{text}`")),
        ));
    }
    Ok(buffer)
}

/// One finding for each buffer that the launches use and the list leaves out.
fn omitted(
    graph: &LaunchGraph,
    cut: &Cut<'_>,
    list: &Placed<Vec<Placed<String>>>,
    order: &IndexSet<BufferIdx>,
    roles: &ElfRoles,
) -> Vec<Finding> {
    let missing = roles.buffers.keys().filter(|b| !order.contains(*b));
    let mut uses: IndexMap<BufferIdx, airlink_diag::Span> = missing.map(|b| (*b, list.span)).collect();
    if uses.is_empty() {
        return Vec::new();
    }
    for &launch in cut.launches.iter().rev() {
        for operand in graph.launch(launch).operands.iter().rev() {
            if let Some(span) = uses.get_mut(&operand.buffer) {
                *span = operand.span;
            }
        }
    }
    let finding = |(buffer, span): (BufferIdx, airlink_diag::Span)| {
        let name = &graph.buffer(buffer).name;
        Finding::error(codes::AL0216, format!("ELF `{}` uses buffer `{name}`, but `args` omits it", cut.name))
            .at(list.span, "not in this list")
            .also(span, "used here")
            .remedy(format!("add `{name}` to `args`, or remove `args` to have them in order of first use"))
    };
    uses.into_iter().map(finding).collect()
}
