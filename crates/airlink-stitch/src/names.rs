//! The names of one kernel's clone become those of the plan.

use std::collections::BTreeSet;

use airlink_ir::edit::{self, rename_resources, rename_symbols, set_attribute};
use airlink_ir::{Ir, OperationRef, Walk, attr, children, name, walk};
use airlink_kernel::LocalKind;
use airlink_plan::{LaunchPlan, LocalRename};

/// Renames local symbols, externs, hierarchy names, resource keys and object files in the clone of a kernel's module.
pub(crate) fn apply(ir: &Ir, module: OperationRef<'_, '_>, launch: &LaunchPlan) {
    let locals = launch.locals.iter().filter(|l| l.kind.is_symbol()).map(|l| (l.from.as_str(), l.to.as_str()));
    let externs = launch.externs.iter().map(|(from, to)| (from.as_str(), to.symbol.as_str()));
    let mut symbols: Vec<_> = locals.chain(externs).collect();
    symbols.extend(hierarchy_references(launch));
    symbols.retain(|(from, to)| from != to);
    // Declarations get their object before their name, which is how the plan knows them.
    link(ir, module, launch);
    rename_symbols(module, ir, &symbols);
    let resources: Vec<_> = launch
        .locals
        .iter()
        .filter(|l| l.kind == LocalKind::Resource && l.from != l.to)
        .map(|l| (l.from.as_str(), l.to.as_str()))
        .collect();
    rename_resources(module, &resources);
    hierarchy(ir, module, launch);
}

/// The names of a piece of a split launch, in a copy that has those of the first piece.
pub(crate) fn of_piece(ir: &Ir, copy: OperationRef<'_, '_>, launch: &LaunchPlan, names: &[LocalRename]) {
    let new_name = |kind: LocalKind, old: &str| {
        let own = launch.locals.iter().find(|l| l.kind == kind && l.to == old)?;
        names.iter().find(|n| n.kind == kind && n.from == own.from).map(|n| n.to.as_str())
    };
    let mut references: Vec<(String, String)> = Vec::new();
    walk(copy, &mut |op| {
        let named = hierarchy_kind(op).zip(attr::string(op, "sym_name"));
        if let Some((old, new)) = named.and_then(|(kind, old)| Some((old, new_name(kind, old)?))) {
            references.push((old.to_string(), new.to_string()));
            set_attribute(op, "sym_name", edit::string(ir, new));
        }
        Walk::Into
    });
    // A name that is a symbol too means the symbol.
    let is_symbol = |name: &str| {
        launch.externs.values().any(|e| e.symbol == name)
            || launch.locals.iter().any(|l| l.kind.is_symbol() && l.to == name)
    };
    references.retain(|(old, _)| !is_symbol(old));
    let pairs: Vec<(&str, &str)> = references.iter().map(|(old, new)| (old.as_str(), new.as_str())).collect();
    rename_symbols(copy, ir, &pairs);
}

fn hierarchy_kind(op: OperationRef<'_, '_>) -> Option<LocalKind> {
    match name(op) {
        "air.launch" => Some(LocalKind::Launch),
        "air.segment" => Some(LocalKind::Segment),
        "air.herd" => Some(LocalKind::Herd),
        _ => None,
    }
}

/// Names of herds, segments and launches, since an attribute may refer to them as to symbols (`@h::@seg`). A name that
/// is a symbol too means the symbol.
fn hierarchy_references(launch: &LaunchPlan) -> Vec<(&str, &str)> {
    let mut seen: BTreeSet<&str> = launch.externs.keys().map(String::as_str).collect();
    seen.extend(launch.locals.iter().filter(|l| l.kind.is_symbol()).map(|l| l.from.as_str()));
    let mut references = Vec::new();
    for kind in [LocalKind::Herd, LocalKind::Segment, LocalKind::Launch] {
        let of_kind = launch.locals.iter().filter(|l| l.kind == kind);
        references.extend(of_kind.filter(|l| seen.insert(&l.from)).map(|l| (l.from.as_str(), l.to.as_str())));
    }
    references
}

/// Launches, segments and herds have names that are no symbols.
fn hierarchy(ir: &Ir, module: OperationRef<'_, '_>, launch: &LaunchPlan) {
    let new_name = |kind, old: &str| launch.locals.iter().find(|l| l.kind == kind && l.from == old).map(|l| &l.to);
    walk(module, &mut |op| {
        let Some(kind) = hierarchy_kind(op) else { return Walk::Into };
        if let Some(new) = attr::string(op, "sym_name").and_then(|old| new_name(kind, old)) {
            set_attribute(op, "sym_name", edit::string(ir, new));
        }
        if let Some(new) = attr::string(op, "link_with").and_then(|old| launch.files.get(old)) {
            set_attribute(op, "link_with", edit::string(ir, new));
        }
        Walk::Into
    });
}

fn link(ir: &Ir, module: OperationRef<'_, '_>, launch: &LaunchPlan) {
    for op in children(module) {
        let Some(planned) = attr::string(op, "sym_name").and_then(|s| launch.externs.get(s)) else { continue };
        match &planned.link_with {
            Some(file) => set_attribute(op, "link_with", edit::string(ir, file)),
            None => {
                edit::remove_attribute(op, "link_with");
            }
        }
    }
}
