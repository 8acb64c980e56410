//! Which launches share an object variant.

use std::collections::HashMap;

use airlink_graph::{LaunchGraph, LaunchIdx};
use indexmap::{IndexMap, IndexSet};

use super::{Declared, Kind, Meaning, Variant};
use crate::kernel_use::{KernelUse, KernelUses, UsedExtern};
use crate::{FoundObjects, ObjectIdx, ObjectInfo};

/// The variants in order of first use, and who uses which, as in [`super::Variants`].
pub(super) struct Groups<'k> {
    pub variants: Vec<Variant<'k>>,
    pub of_externs: Vec<Vec<ObjectIdx>>,
    pub of_files: Vec<IndexMap<String, ObjectIdx>>,
}

pub(super) fn group<'k>(graph: &'k LaunchGraph, uses: &KernelUses<'k>, found: &'k FoundObjects) -> Groups<'k> {
    let mut grouping = Grouping::new(graph, found);
    for i in 0..graph.launches.len() {
        grouping.join_files(LaunchIdx(i), uses);
    }
    for i in 0..graph.launches.len() {
        grouping.join_without_file(LaunchIdx(i), uses);
    }
    grouping.finish()
}

struct Grouping<'k> {
    graph: &'k LaunchGraph,
    found: &'k FoundObjects,
    variants: Vec<Variant<'k>>,
    // The maps are looked up, never iterated.
    of_content: HashMap<(Option<&'k str>, Option<&'k str>), OfContent<'k>>,
    /// A launch like one before it joins the same variant.
    joined: HashMap<Likeness<'k>, usize>,
    /// By symbol, type and meaning: the first extern that has a file.
    with_file: HashMap<(&'k str, Kind<'k>), (LaunchIdx, usize)>,
    of_externs: Vec<Vec<usize>>,
    of_files: Vec<IndexMap<String, usize>>,
}

/// Kernel function, file, content found, and the meaning of each extern if the launch names any.
type Likeness<'k> = (usize, Option<&'k str>, Option<&'k str>, Vec<Meaning<'k>>);

/// The externs of a launch that are in one file: their positions in its kernel, and what each is.
struct InFile<'a, 'k> {
    externs: Vec<(usize, &'a UsedExtern<'k>, Kind<'k>)>,
    file: Option<&'k str>,
    found: Option<&'k ObjectInfo>,
}

/// The variants of one file with one content.
#[derive(Default)]
struct OfContent<'k> {
    variants: Vec<usize>,
    /// By symbol: how many of the variants have it.
    counts: HashMap<&'k str, usize>,
    /// By symbol and type: the variants that have it.
    having: HashMap<(&'k str, Kind<'k>), Vec<usize>>,
}

/// An extern that is not in a variant yet.
const OPEN: usize = usize::MAX;

impl<'k> Grouping<'k> {
    fn new(graph: &'k LaunchGraph, found: &'k FoundObjects) -> Grouping<'k> {
        Grouping {
            graph,
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
            let in_file = self.in_file(launch, kernel, Some(file));
            let variant = self.join(launch, uses.position(launch), &in_file);
            for &(position, one, kind) in &in_file.externs {
                self.with_file.entry((&one.declaration.symbol, kind)).or_insert((launch, position));
                of_externs[position] = variant;
            }
            of_files.insert(file.to_string(), variant);
        }
        self.of_externs.push(of_externs);
        self.of_files.push(of_files);
    }

    fn join_without_file(&mut self, launch: LaunchIdx, uses: &KernelUses<'k>) {
        let kernel = uses.of(launch);
        let mut left = self.in_file(launch, kernel, None);
        left.externs.retain(|&(position, one, kind)| {
            let Some(&(giver, at)) = self.with_file.get(&(one.declaration.symbol.as_str(), kind)) else { return true };
            let variant = self.of_externs[giver.0][at];
            self.enter(variant, launch, &[(position, one, kind)]);
            self.of_externs[launch.0][position] = variant;
            false
        });
        if !left.externs.is_empty() {
            let variant = self.join(launch, uses.position(launch), &left);
            left.externs.iter().for_each(|(p, ..)| self.of_externs[launch.0][*p] = variant);
        }
    }

    /// The externs of a launch that link with `file`.
    fn in_file<'a>(&self, launch: LaunchIdx, kernel: &'a KernelUse<'k>, file: Option<&'k str>) -> InFile<'a, 'k> {
        let found = file.and_then(|f| self.found.get(&(launch, f.to_string())));
        let refs = &self.graph.launch(launch).refs;
        let meaning = |e: &UsedExtern<'k>| match found {
            None => refs.get(&e.declaration.symbol).map(|r| r.value.as_str()),
            Some(_) => None,
        };
        let of_file = kernel.externs.iter().enumerate().filter(|(_, e)| e.link_with == file);
        InFile { externs: of_file.map(|(i, e)| (i, e, (e.signature, meaning(e)))).collect(), file, found }
    }

    /// The variant for these externs of a launch.
    fn join(&mut self, launch: LaunchIdx, kernel_position: usize, one: &InFile<'_, 'k>) -> usize {
        let content = one.found.map(|f| f.hash.as_str());
        let has_meanings = one.externs.iter().any(|(.., (_, meaning))| meaning.is_some());
        let meanings = one.externs.iter().filter(|_| has_meanings).map(|(.., (_, meaning))| *meaning).collect();
        let likeness = (kernel_position, one.file, content, meanings);
        if let Some(&variant) = self.joined.get(&likeness) {
            self.variants[variant].enter_launch(launch);
            return variant;
        }
        let same_content = self.of_content.entry((one.file, content)).or_default();
        let agrees = |v: &usize| one.externs.iter().all(|(_, e, kind)| self.variants[*v].agrees(e, *kind));
        let agreeing = same_content.candidates(one).iter().copied().filter(agrees).min();
        let variant = agreeing.unwrap_or_else(|| {
            let opened = (launch, one.externs.first().map_or(OPEN, |(position, ..)| *position));
            let (symbols, launches) = (IndexMap::new(), Vec::new());
            self.variants.push(Variant { link_with: one.file, found: one.found, symbols, launches, opened });
            same_content.variants.push(self.variants.len() - 1);
            self.variants.len() - 1
        });
        self.joined.insert(likeness, variant);
        self.enter(variant, launch, &one.externs);
        variant
    }

    fn enter(&mut self, index: usize, launch: LaunchIdx, externs: &[(usize, &UsedExtern<'k>, Kind<'k>)]) {
        let variant = &mut self.variants[index];
        variant.enter_launch(launch);
        let same_content =
            self.of_content.entry((variant.link_with, variant.found.map(|f| f.hash.as_str()))).or_default();
        for &(_, &UsedExtern { declaration, is_called, .. }, (signature, meaning)) in externs {
            let symbol = declaration.symbol.as_str();
            if let Some(known) = variant.symbols.get_mut(symbol) {
                known.is_called |= is_called;
                continue;
            }
            variant.symbols.insert(symbol, Declared { declaration, signature, meaning, is_called, launch });
            *same_content.counts.entry(symbol).or_default() += 1;
            same_content.having.entry((symbol, (signature, meaning))).or_default().push(index);
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
    fn candidates(&self, one: &InFile<'_, 'k>) -> &[usize] {
        let keys = one.externs.iter().map(|(_, e, kind)| (e.declaration.symbol.as_str(), *kind));
        match keys.into_iter().find(|(symbol, _)| self.counts.get(symbol) == Some(&self.variants.len())) {
            Some(key) => self.having.get(&key).map_or(&[], Vec::as_slice),
            None => &self.variants,
        }
    }
}
