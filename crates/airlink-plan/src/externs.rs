//! The kernel symbols of one ELF: declarations, taken names, renames.

use std::collections::HashMap;

use airlink_diag::{Finding, Findings, Reported, Span, codes};
use airlink_graph::LaunchGraph;
use airlink_kernel::ExternSummary;
use indexmap::IndexMap;

use crate::cuts::Cut;
use crate::kernel_use::KernelUses;
use crate::variants::Variants;
use crate::{ExternPlan, ExternUse, ObjectIdx, Rename, RenameKind};

/// The externs of one ELF.
pub(crate) struct ElfExterns {
    pub plans: Vec<ExternPlan>,
    /// In order of first use.
    pub objects: Vec<ObjectIdx>,
    /// Per launch of the ELF and extern of its kernel, in text order: position in `plans`.
    of_launches: Vec<Vec<usize>>,
}

/// Merges the declarations of an ELF's launches.
///
/// Errors: AL0401 where a name is taken, AL0402 where attributes contradict.
pub(crate) fn externs(
    graph: &LaunchGraph,
    cut: &Cut<'_>,
    uses: &KernelUses<'_>,
    variants: &Variants,
    findings: &mut Findings,
) -> Result<ElfExterns, Reported> {
    let mut merging = Merging { positions: HashMap::new(), first: Vec::new(), plans: Vec::new() };
    let mut objects: IndexMap<ObjectIdx, ()> = IndexMap::new();
    let mut of_launches = Vec::with_capacity(cut.launches.len());
    let mut failure = None;
    for &launch in &cut.launches {
        let kernel = uses.of(launch);
        let of_externs = &variants.of_externs[launch.0];
        objects.extend(of_externs.iter().chain(variants.of_files[launch.0].values()).map(|o| (*o, ())));
        let mut of_launch = Vec::with_capacity(kernel.externs.len());
        for (one, &object) in kernel.externs.iter().zip(of_externs) {
            let at = merging.enter(one.declaration, object, variants);
            let plan = &mut merging.plans[at];
            plan.is_called |= one.is_called;
            plan.launches.push(launch);
            if one.declaration.link_with.is_some() {
                plan.link_with.clone_from(&variants.objects[object.0].file);
            }
            if let Err(finding) = add_attributes(plan, one.declaration, merging.first[at]) {
                failure = Some(findings.fail(*finding));
            }
            of_launch.push(at);
        }
        of_launches.push(of_launch);
    }
    let objects: Vec<ObjectIdx> = objects.into_keys().collect();
    if let Some(finding) = taken(graph, cut, &objects, &merging, variants) {
        failure = Some(findings.fail(finding));
    }
    failure.map_or(Ok(ElfExterns { plans: merging.plans, objects, of_launches }), Err)
}

struct Merging<'k> {
    /// By variant and original symbol. Looked up, never iterated.
    positions: HashMap<(ObjectIdx, &'k str), usize>,
    /// Per plan: the declaration that it was made from.
    first: Vec<&'k ExternSummary>,
    plans: Vec<ExternPlan>,
}

impl<'k> Merging<'k> {
    fn enter(&mut self, declaration: &'k ExternSummary, object: ObjectIdx, variants: &Variants) -> usize {
        let key = (object, declaration.symbol.as_str());
        if let Some(at) = self.positions.get(&key) {
            return *at;
        }
        self.positions.insert(key, self.plans.len());
        self.first.push(declaration);
        self.plans.push(ExternPlan {
            symbol: variants.objects[object.0].symbols[&declaration.symbol].symbol.clone(),
            link_with: None,
            object,
            original: declaration.symbol.clone(),
            inputs: declaration.inputs.clone(),
            results: declaration.results.clone(),
            attributes: IndexMap::new(),
            is_called: false,
            launches: Vec::new(),
        });
        self.plans.len() - 1
    }
}

/// The attribute that leaving out means something too: a call passes other arguments without it.
const C_INTERFACE: &str = "llvm.emit_c_interface";

/// Attributes of all declarations together: what one leaves out, another may say.
fn add_attributes(
    plan: &mut ExternPlan,
    declaration: &ExternSummary,
    first: &ExternSummary,
) -> Result<(), Box<Finding>> {
    let has_c_interface = |d: &ExternSummary| d.attributes.contains_key(C_INTERFACE);
    if has_c_interface(first) != has_c_interface(declaration) {
        let label = |d| if has_c_interface(d) { "with it" } else { "without it" };
        return Err(Box::new(
            Finding::error(
                codes::AL0402,
                format!("declarations of `@{}` contradict: one alone has `{C_INTERFACE}`", plan.original),
            )
            .at(declaration.span, label(declaration))
            .also(first.span, label(first))
            .remedy(format!(
                "write `{C_INTERFACE}` in both or in neither: one declaration stands for both in the fused module"
            )),
        ));
    }
    for (name, value) in &declaration.attributes {
        match plan.attributes.get(name) {
            None => {
                plan.attributes.insert(name.clone(), value.clone());
            }
            Some(other) if other != value => {
                return Err(Box::new(
                    Finding::error(
                        codes::AL0402,
                        format!("declarations of `@{}` contradict in attribute `{name}`", plan.original),
                    )
                    .at(declaration.span, format!("`{name}` is `{value}`"))
                    .also(first.span, format!("merged with this one, where it is `{other}`"))
                    .remedy(format!("make `{name}` equal in both kernels, or name another `link_with` in one")),
                ));
            }
            Some(_) => {}
        }
    }
    plan.attributes.sort_keys();
    Ok(())
}

/// A name of a symbol that the fused function or another symbol has too.
fn taken(
    graph: &LaunchGraph,
    cut: &Cut<'_>,
    objects: &[ObjectIdx],
    merging: &Merging<'_>,
    variants: &Variants,
) -> Option<Finding> {
    let place = |object: ObjectIdx, original: &str| -> Span {
        let declared = merging.positions.get(&(object, original)).map(|at| merging.first[*at].span);
        let launch = variants.objects[object.0].launches.iter().find(|l| cut.launches.binary_search(l).is_ok());
        declared.unwrap_or_else(|| graph.launch(*launch.unwrap_or(&cut.launches[0])).kernel.span)
    };
    let mut seen: HashMap<&str, (ObjectIdx, &str)> = HashMap::new();
    for &object in objects {
        for (original, symbol) in &variants.objects[object.0].symbols {
            let name = symbol.symbol.as_str();
            if name == cut.name {
                let elf = cut.entry.map_or(graph.name.span, |e| e.name.span);
                return Some(
                    Finding::error(codes::AL0401, format!("extern `@{name}` has the name of the fused function"))
                        .at(place(object, original), "declared here")
                        .also(elf, "the fused function is called like its ELF")
                        .remedy("give the ELF another name"),
                );
            }
            let Some((other, other_original)) = seen.insert(name, (object, original)) else { continue };
            if other_original == original {
                continue;
            }
            let is_new = |o: &str| o != name;
            let (new, old) = match is_new(original) {
                true => ((object, original.as_str()), (other, other_original)),
                false => ((other, other_original), (object, original.as_str())),
            };
            return Some(
                Finding::error(codes::AL0401, format!("the new name `@{name}` of `@{}` is taken", new.1))
                    .at(place(new.0, new.1), format!("this variant of `@{}` would be `@{name}`", new.1))
                    .also(place(old.0, old.1), format!("this one is called `@{name}`"))
                    .remedy(format!("rename `@{}` in one of the two kernels and in its object", new.1)),
            );
        }
    }
    None
}

impl ElfExterns {
    /// What the externs of the `at`th launch of the ELF become.
    pub fn uses_of(&self, at: usize) -> IndexMap<String, ExternUse> {
        let plans = self.of_launches[at].iter().map(|p| &self.plans[*p]);
        let one =
            |p: &ExternPlan| ExternUse { symbol: p.symbol.clone(), link_with: p.link_with.clone(), object: p.object };
        plans.map(|p| (p.original.clone(), one(p))).collect()
    }

    /// The externs of the `at`th launch whose name or file is new.
    pub fn renames_of<'a>(
        &'a self,
        at: usize,
        launch: &'a str,
        variants: &'a Variants,
    ) -> impl Iterator<Item = Rename> + 'a {
        let plans = self.of_launches[at].iter().map(|p| &self.plans[*p]);
        plans.filter_map(move |p| {
            let object = &variants.objects[p.object.0];
            (p.symbol != p.original || object.file != object.link_with).then(|| Rename {
                launch: launch.to_string(),
                kind: RenameKind::Extern,
                from: p.original.clone(),
                to: p.symbol.clone(),
                object_from: object.link_with.clone(),
                object_to: object.file.clone(),
            })
        })
    }
}
