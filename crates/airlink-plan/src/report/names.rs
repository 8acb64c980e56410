//! Renames by what they are about.

use indexmap::IndexMap;

use crate::{ElfPlan, ObjectPlan, Plan, RenameKind};

/// An extern under another name, and the launches that know it so.
pub(crate) struct ExternRename<'p> {
    pub object_from: Option<&'p str>,
    pub object_to: Option<&'p str>,
    pub from: &'p str,
    pub to: &'p str,
    pub launches: Vec<&'p str>,
}

/// Every extern of an ELF whose symbol or file differs from the kernel's, in order of first use.
pub(crate) fn extern_renames(elf: &ElfPlan) -> Vec<ExternRename<'_>> {
    let mut all: IndexMap<[Option<&str>; 4], Vec<&str>> = IndexMap::new();
    for r in elf.renames.iter().filter(|r| r.kind == RenameKind::Extern) {
        let key = [r.object_from.as_deref(), r.object_to.as_deref(), Some(&r.from), Some(&r.to)];
        all.entry(key).or_default().push(&r.launch);
    }
    let shown = |([object_from, object_to, from, to], launches): ([Option<_>; 4], _)| ExternRename {
        object_from,
        object_to,
        from: from.unwrap_or_default(),
        to: to.unwrap_or_default(),
        launches,
    };
    all.into_iter().map(shown).collect()
}

/// Local names of an ELF by launch: what each is called in the kernel and in the ELF.
pub(crate) fn local_renames(elf: &ElfPlan) -> IndexMap<&str, Vec<(&'static str, &str, &str)>> {
    let mut all: IndexMap<&str, Vec<_>> = IndexMap::new();
    for r in &elf.renames {
        if let RenameKind::Local(kind) = r.kind {
            all.entry(r.launch.as_str()).or_default().push((kind.as_str(), r.from.as_str(), r.to.as_str()));
        }
    }
    all
}

/// The objects of an ELF, in order of first use.
pub(crate) fn objects<'p>(plan: &'p Plan, elf: &'p ElfPlan) -> impl Iterator<Item = &'p ObjectPlan> {
    elf.objects.iter().filter_map(|o| plan.objects.get(o.0))
}

/// Where the content of an object comes from.
pub(crate) fn origin(object: &ObjectPlan) -> String {
    match (&object.found, &object.link_with, &object.file) {
        (Some(found), ..) => format!("from `{}`", found.path),
        (None, Some(link_with), Some(file)) if link_with != file => format!("a variant of `{link_with}`"),
        (None, None, None) => "no kernel names a file".to_string(),
        _ => "no object found: a reference kernel on the host".to_string(),
    }
}
