//! Declared roles against the dataflow.

use airlink_diag::{Finding, Findings, codes};

use super::ElfRoles;
use crate::effects::Effect;
use crate::{BufferIdx, LaunchGraph, Placed, Role, Step};

/// Lets the declared role of `buffer` take effect in each ELF; AL0213 where the whole graph contradicts it.
pub fn apply(
    graph: &LaunchGraph,
    buffer: BufferIdx,
    effects: &[Effect],
    elfs: &mut [ElfRoles],
    findings: &mut Findings,
) {
    let Some(declared) = graph.buffer(buffer).declared_role.clone() else { return };
    let writes = effects.iter().find(|e| e.is_write && matches!(graph.steps[e.step_index], Step::Launch(_)));
    let mut uses: Vec<_> = elfs.iter_mut().filter_map(|e| e.buffers.get_mut(&buffer)).collect();
    if declared.value == Role::Static && writes.is_none() {
        for u in uses.iter_mut().filter(|u| u.dataflow == Role::Input) {
            u.dataflow = Role::Static;
        }
    }
    let agrees = match declared.value {
        // Per ELF the same buffer may be an output here and an input there.
        Role::Inout => writes.is_some(),
        Role::Output => uses.iter().any(|u| fits(declared.value, u.dataflow)),
        Role::Input | Role::Static => writes.is_none() && uses.iter().all(|u| fits(declared.value, u.dataflow)),
        Role::Intermediate | Role::Dead => uses.iter().all(|u| fits(declared.value, u.dataflow)),
    };
    if agrees && !uses.is_empty() {
        for u in uses.iter_mut().filter(|u| fits(declared.value, u.dataflow)) {
            u.role = declared.value;
        }
        return;
    }
    let found = uses.iter().map(|u| u.dataflow).find(|r| !fits(declared.value, *r));
    for u in &mut uses {
        u.role = declared.value;
    }
    if let Some(found) = found.or_else(|| unused(graph, buffer, effects, declared.value)) {
        findings.push(contradiction(graph, buffer, &declared, found, writes, effects));
    }
}

/// Whether an ELF that uses a buffer as `derived` leaves room for the declaration.
///
/// The host may read whatever is written, so a written buffer may be declared `output`; a kernel may write a part only,
/// so it may be `inout`.
fn fits(declared: Role, derived: Role) -> bool {
    match declared {
        Role::Output => matches!(derived, Role::Output | Role::Intermediate),
        Role::Inout => matches!(derived, Role::Inout | Role::Output | Role::Intermediate),
        Role::Static => matches!(derived, Role::Static | Role::Input),
        Role::Input | Role::Intermediate | Role::Dead => derived == declared,
    }
}

/// `dead` for a buffer that no step touches, that an `[[elf]]` lists and that is declared otherwise. One that nothing
/// lists has its warning already.
fn unused(graph: &LaunchGraph, buffer: BufferIdx, effects: &[Effect], declared: Role) -> Option<Role> {
    let name = &graph.buffer(buffer).name;
    let is_listed =
        || graph.cuts.iter().filter_map(|c| c.args.as_ref()).any(|a| a.value.iter().any(|a| a.value == *name));
    (effects.is_empty() && declared != Role::Dead && is_listed()).then_some(Role::Dead)
}

fn contradiction(
    graph: &LaunchGraph,
    buffer: BufferIdx,
    declared: &Placed<Role>,
    found: Role,
    write: Option<&Effect>,
    effects: &[Effect],
) -> Finding {
    let name = &graph.buffer(buffer).name;
    let step = |e: &Effect| graph.step_name(graph.steps[e.step_index]).value.as_str();
    let read = effects.iter().find(|e| !e.is_write);
    let reason = match (found, write, read) {
        (Role::Dead, ..) => format!("nothing uses `{name}`"),
        (_, Some(w), Some(r)) => format!("`{}` writes and `{}` reads it", step(w), step(r)),
        (_, Some(w), None) => format!("`{}` writes it and nothing reads it", step(w)),
        (_, None, Some(r)) => format!("`{}` reads it and no launch writes it", step(r)),
        (_, None, None) => "the dataflow says otherwise".to_string(),
    };
    let finding = Finding::warning(
        codes::AL0213,
        format!("`{name}` is declared `{}`, but its use makes it `{}`", declared.value.as_str(), found.as_str()),
    )
    .at(declared.span, reason);
    [write, read]
        .into_iter()
        .flatten()
        .fold(finding, |f, e| {
            let verb = if e.is_write { "written" } else { "read" };
            f.also(e.span, format!("{verb} here")).maybe_also(e.op_span, format!("{verb} by the kernel"))
        })
        .remedy(format!("write `role = \"{}\"`, or remove `role`", found.as_str()))
}
