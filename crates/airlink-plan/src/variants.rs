//! Object variants: which launches can share an object, and what each variant is called.
//!
//! Variants are counted over the whole graph, not per ELF: the objects of all ELFs are written into one folder, where
//! a file name must mean one content. It also makes names independent of where the program is cut.

mod naming;

use std::collections::HashMap;

use airlink_diag::{Findings, Reported};
use airlink_graph::{LaunchGraph, LaunchIdx};
use airlink_kernel::ExternSummary;
use indexmap::{IndexMap, IndexSet};

use crate::kernel_use::{KernelUse, KernelUses, UsedExtern};
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
/// under the name of its variant. An extern without a file belongs to the first variant, in program order, that has
/// its symbol and type, whatever the file; only if there is none, it gets a variant without a file.
///
/// Errors: AL0401, AL0406. Warnings: AL0405.
pub(crate) fn variants(
    graph: &LaunchGraph,
    uses: &KernelUses<'_>,
    found: &FoundObjects,
    findings: &mut Findings,
) -> Result<Variants, Reported> {
    let mut grouping = Grouping::new(graph, found);
    for i in 0..graph.launches.len() {
        grouping.join_files(LaunchIdx(i), uses);
    }
    for i in 0..graph.launches.len() {
        grouping.join_without_file(LaunchIdx(i), uses);
    }
    let groups = grouping.finish();
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
    is_called: bool,
    launch: LaunchIdx,
}

struct Grouping<'k> {
    found: &'k FoundObjects,
    variants: Vec<Variant<'k>>,
    // The maps are looked up, never iterated.
    of_content: HashMap<(Option<&'k str>, Option<&'k str>), OfContent<'k>>,
    /// By kernel function, file and content: a launch like one before it joins the same variant.
    joined: HashMap<(usize, Option<&'k str>, Option<&'k str>), usize>,
    /// By symbol and type: the first extern that has a file.
    with_file: HashMap<(&'k str, u32), (LaunchIdx, usize)>,
    of_externs: Vec<Vec<usize>>,
    of_files: Vec<IndexMap<String, usize>>,
}

/// The variants of one file with one content.
#[derive(Default)]
struct OfContent<'k> {
    variants: Vec<usize>,
    /// By symbol: how many of the variants have it.
    counts: HashMap<&'k str, usize>,
    /// By symbol and type: the variants that have it.
    having: HashMap<(&'k str, u32), Vec<usize>>,
}

struct Groups<'k> {
    variants: Vec<Variant<'k>>,
    of_externs: Vec<Vec<ObjectIdx>>,
    of_files: Vec<IndexMap<String, ObjectIdx>>,
}

/// An extern that is not in a variant yet.
const OPEN: usize = usize::MAX;

impl<'k> Grouping<'k> {
    fn new(graph: &LaunchGraph, found: &'k FoundObjects) -> Grouping<'k> {
        Grouping {
            found,
            variants: Vec::new(),
            of_content: HashMap::new(),
            joined: HashMap::new(),
            with_file: HashMap::new(),
            of_externs: Vec::with_capacity(graph.launches.len()),
            of_files: Vec::with_capacity(graph.launches.len()),
        }
    }

    fn join_files(&mut self, launch: LaunchIdx, uses: &KernelUses<'k>) {
        let kernel = uses.of(launch);
        let externs = kernel.externs.iter().filter_map(|e| e.link_with);
        let files: IndexSet<&'k str> = externs.chain(kernel.herd_files.iter().copied()).collect();
        let mut of_externs = vec![OPEN; kernel.externs.len()];
        let mut of_files = IndexMap::with_capacity(files.len());
        for file in files {
            let positions = positions(kernel, |e| e.link_with == Some(file));
            let variant = self.join(launch, uses.position(launch), Some(file), kernel, &positions);
            for position in positions {
                let one = &kernel.externs[position];
                self.with_file.entry((&one.declaration.symbol, one.signature)).or_insert((launch, position));
                of_externs[position] = variant;
            }
            of_files.insert(file.to_string(), variant);
        }
        self.of_externs.push(of_externs);
        self.of_files.push(of_files);
    }

    fn join_without_file(&mut self, launch: LaunchIdx, uses: &KernelUses<'k>) {
        let kernel = uses.of(launch);
        let mut left = Vec::new();
        for position in positions(kernel, |e| e.link_with.is_none()) {
            let one = &kernel.externs[position];
            match self.with_file.get(&(one.declaration.symbol.as_str(), one.signature)) {
                Some(&(giver, at)) => {
                    let variant = self.of_externs[giver.0][at];
                    self.enter(variant, launch, kernel, &[position]);
                    self.of_externs[launch.0][position] = variant;
                }
                None => left.push(position),
            }
        }
        if !left.is_empty() {
            let variant = self.join(launch, uses.position(launch), None, kernel, &left);
            left.iter().for_each(|p| self.of_externs[launch.0][*p] = variant);
        }
    }

    /// The variant of `file` for these externs of a launch.
    fn join(
        &mut self,
        launch: LaunchIdx,
        kernel_position: usize,
        file: Option<&'k str>,
        kernel: &KernelUse<'k>,
        positions: &[usize],
    ) -> usize {
        let found = file.and_then(|f| self.found.get(&(launch, f.to_string())));
        let content = found.map(|f| f.hash.as_str());
        let key = (kernel_position, file, content);
        if let Some(&variant) = self.joined.get(&key) {
            self.variants[variant].enter_launch(launch);
            return variant;
        }
        let same_content = self.of_content.entry((file, content)).or_default();
        let agrees = |v: &usize| positions.iter().all(|p| self.variants[*v].agrees(&kernel.externs[*p]));
        let agreeing = same_content.candidates(kernel, positions).iter().copied().filter(agrees).min();
        let variant = agreeing.unwrap_or_else(|| {
            let opened = (launch, positions.first().copied().unwrap_or(OPEN));
            let symbols = IndexMap::new();
            self.variants.push(Variant { link_with: file, found, symbols, launches: Vec::new(), opened });
            same_content.variants.push(self.variants.len() - 1);
            self.variants.len() - 1
        });
        self.joined.insert(key, variant);
        self.enter(variant, launch, kernel, positions);
        variant
    }

    fn enter(&mut self, index: usize, launch: LaunchIdx, kernel: &KernelUse<'k>, positions: &[usize]) {
        let variant = &mut self.variants[index];
        variant.enter_launch(launch);
        let same_content =
            self.of_content.entry((variant.link_with, variant.found.map(|f| f.hash.as_str()))).or_default();
        for position in positions {
            let UsedExtern { declaration, is_called, signature, .. } = kernel.externs[*position];
            let symbol = declaration.symbol.as_str();
            if let Some(known) = variant.symbols.get_mut(symbol) {
                known.is_called |= is_called;
                continue;
            }
            variant.symbols.insert(symbol, Declared { declaration, signature, is_called, launch });
            *same_content.counts.entry(symbol).or_default() += 1;
            same_content.having.entry((symbol, signature)).or_default().push(index);
        }
    }

    /// The variants in order of first use.
    fn finish(self) -> Groups<'k> {
        let mut order: Vec<usize> = (0..self.variants.len()).collect();
        order.sort_by_key(|v| self.variants[*v].opened);
        let mut new_positions = vec![0; order.len()];
        order.iter().enumerate().for_each(|(new, old)| new_positions[*old] = new);
        let at = |old: usize| ObjectIdx(new_positions[old]);
        let mut variants = self.variants;
        variants.sort_by_key(|v| v.opened);
        for variant in &mut variants {
            variant.launches.sort_unstable();
            variant.launches.dedup();
        }
        Groups {
            variants,
            of_externs: self.of_externs.into_iter().map(|l| l.into_iter().map(at).collect()).collect(),
            of_files: self.of_files.into_iter().map(|l| l.into_iter().map(|(f, v)| (f, at(v))).collect()).collect(),
        }
    }
}

impl<'k> OfContent<'k> {
    /// Variants among which those are that agree with these externs. Where every variant has one of the symbols, only
    /// those with its type can agree: so thousands of types don't meet thousands of variants.
    fn candidates(&self, kernel: &KernelUse<'k>, positions: &[usize]) -> &[usize] {
        let externs = positions.iter().map(|p| &kernel.externs[*p]);
        let key = |e: &UsedExtern<'k>| (e.declaration.symbol.as_str(), e.signature);
        let mut keys = externs.map(key).filter(|(symbol, _)| self.counts.get(symbol) == Some(&self.variants.len()));
        match keys.next() {
            Some(key) => self.having.get(&key).map_or(&[], Vec::as_slice),
            None => &self.variants,
        }
    }
}

impl<'k> Variant<'k> {
    fn agrees(&self, one: &UsedExtern<'k>) -> bool {
        self.symbols.get(one.declaration.symbol.as_str()).is_none_or(|d| d.signature == one.signature)
    }

    /// Most launches come one after the other, each perhaps several times in a row.
    fn enter_launch(&mut self, launch: LaunchIdx) {
        if self.launches.last() != Some(&launch) {
            self.launches.push(launch);
        }
    }
}

fn positions<'k>(kernel: &KernelUse<'k>, select: impl Fn(&UsedExtern<'k>) -> bool) -> Vec<usize> {
    kernel.externs.iter().enumerate().filter(|(_, e)| select(e)).map(|(i, _)| i).collect()
}
