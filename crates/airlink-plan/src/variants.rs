//! Object variants: which launches can share an object, and what each variant is called.
//!
//! Variants are counted over the whole graph, not per ELF: the objects of all ELFs are written into one folder, where
//! a file name must mean one content. It also makes names independent of where the program is cut.

mod grouping;
mod naming;
mod undefined;

use airlink_diag::{Findings, Reported};
use airlink_graph::{LaunchGraph, LaunchIdx};
use airlink_kernel::ExternSummary;
use indexmap::IndexMap;

use crate::kernel_use::{KernelUses, UsedExtern};
use crate::{FoundObjects, ObjectIdx, ObjectInfo, ObjectPlan};

/// Every object variant of a graph and who uses which.
pub(crate) struct Variants {
    pub objects: Vec<ObjectPlan>,
    /// Per launch and extern of its kernel, in text order: the variant that defines it.
    pub of_externs: Vec<Vec<ObjectIdx>>,
    /// Per launch: `link_with` names of its kernel to variants.
    pub of_files: Vec<IndexMap<String, ObjectIdx>>,
}

/// Groups the externs of all launches into variants and names them.
///
/// In program order a launch joins the first variant of its file with which no symbol that it declares disagrees in
/// type or in the content found; otherwise it opens a new one. A declaration counts like a call, so that it can be kept
/// under the name of its variant. Where no object is found, the reference kernel that the launch names for a symbol is
/// its content. An extern without a file belongs to the first variant, in program order, that has its symbol and type,
/// whatever the file; only if there is none, it gets a variant without a file.
///
/// Errors: AL0401, AL0406. Warnings: AL0405.
pub(crate) fn variants(
    graph: &LaunchGraph,
    uses: &KernelUses<'_>,
    found: &FoundObjects,
    findings: &mut Findings,
) -> Result<Variants, Reported> {
    let groups = grouping::group(graph, uses, found);
    let objects = naming::name(graph, &groups.variants, findings)?;
    Ok(Variants { objects, of_externs: groups.of_externs, of_files: groups.of_files })
}

/// A variant in the making.
struct Variant<'k> {
    link_with: Option<&'k str>,
    found: Option<&'k ObjectInfo>,
    symbols: IndexMap<&'k str, Declared<'k>>,
    launches: Vec<LaunchIdx>,
    /// The launch that opened it, and the place in its kernel: variants are ordered by this.
    opened: (LaunchIdx, usize),
}

/// A symbol as the first launch declares it.
#[derive(Clone, Copy)]
struct Declared<'k> {
    declaration: &'k ExternSummary,
    signature: u32,
    meaning: Meaning<'k>,
    is_called: bool,
    launch: LaunchIdx,
}

/// The reference kernel that a launch names for a symbol, if it does and no object is found.
type Meaning<'k> = Option<&'k str>;

/// What must be equal for two declarations of a symbol to be one: its type and its meaning.
type Kind<'k> = (u32, Meaning<'k>);

impl<'k> Variant<'k> {
    fn agrees(&self, one: &UsedExtern<'k>, kind: Kind<'k>) -> bool {
        self.symbols.get(one.declaration.symbol.as_str()).is_none_or(|d| (d.signature, d.meaning) == kind)
    }

    /// Most launches come one after the other, each perhaps several times in a row.
    fn enter_launch(&mut self, launch: LaunchIdx) {
        if self.launches.last() != Some(&launch) {
            self.launches.push(launch);
        }
    }
}
