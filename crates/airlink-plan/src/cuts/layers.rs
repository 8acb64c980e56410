//! Parts of the program that repeat: by `[[block]]`, or found.

use airlink_graph::{LaunchGraph, Step};

use super::shape::is_same_steps;
use crate::CutReason;

/// An iteration of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    pub layer: usize,
    pub iteration: u64,
}

struct Layer {
    name: String,
    count: u64,
    has_host: bool,
}

/// Which iteration of which layer each step belongs to.
pub(crate) struct Layers {
    tags: Vec<Option<Tag>>,
    layers: Vec<Layer>,
}

/// Programs longer than this are not searched for layers.
const SEARCHED_STEPS_MAX: usize = 20_000;

impl Layers {
    /// Nothing repeats.
    pub fn none(graph: &LaunchGraph) -> Layers {
        Layers { tags: vec![None; graph.steps.len()], layers: Vec::new() }
    }

    /// The blocks of the graph with more than one iteration and a host step, in a graph without such blocks what repeats
    /// by itself. Without host steps a block is only a short way to write launches, such as the parts of a vocabulary,
    /// and they are better off in one ELF.
    pub fn of(graph: &LaunchGraph) -> Layers {
        let mut all = Layers::none(graph);
        for (index, step) in graph.steps.iter().enumerate() {
            let Some((name, iteration)) = graph.iteration(*step) else { continue };
            let layer = match all.layers.last() {
                Some(last) if last.name == name => all.layers.len() - 1,
                _ => {
                    all.layers.push(Layer { name: name.to_string(), count: 0, has_host: false });
                    all.layers.len() - 1
                }
            };
            all.layers[layer].count = iteration + 1;
            all.layers[layer].has_host |= matches!(step, Step::Host(_));
            all.tags[index] = Some(Tag { layer, iteration });
        }
        for tag in &mut all.tags {
            *tag = tag.filter(|t| all.layers[t.layer].count > 1 && all.layers[t.layer].has_host);
        }
        if all.is_empty() {
            all.layers.clear();
            all.find(graph);
        }
        all
    }

    pub fn is_empty(&self) -> bool {
        self.tags.iter().all(Option::is_none)
    }

    pub fn tag(&self, step: usize) -> Option<Tag> {
        self.tags[step]
    }

    /// Why an ELF ends with the iteration `tag`.
    pub fn end_of(&self, tag: Tag) -> CutReason {
        let layer = &self.layers[tag.layer];
        CutReason::Iteration { layer: layer.name.clone(), count: layer.count, across: None }
    }

    /// Why an ELF ends before the first iteration of a layer.
    pub fn begin_of(&self, tag: Tag) -> CutReason {
        let layer = &self.layers[tag.layer];
        CutReason::BeforeLayer { layer: layer.name.clone(), count: layer.count }
    }

    /// The stretch with host steps that, repeated in a row, covers most of the program: of equal ones the shortest, then
    /// the first.
    fn find(&mut self, graph: &LaunchGraph) {
        let steps = &graph.steps;
        let has_host = steps.iter().any(|s| matches!(s, Step::Host(_)));
        if !has_host || steps.len() > SEARCHED_STEPS_MAX {
            return;
        }
        let kinds = kinds(graph);
        let mut found: Option<(usize, usize, usize)> = None;
        for period in 2..=steps.len() / 2 {
            // How many steps in a row equal the step one period later.
            let mut equal = 0;
            for at in (0..steps.len() - period).rev() {
                equal = if kinds[at] == kinds[at + period] { equal + 1 } else { 0 };
                let count = equal / period + 1;
                let is_longer = |(_, p, n): (usize, usize, usize)| {
                    count * period >= p * n && (period == p || count * period > p * n)
                };
                if count < 2 || !found.is_none_or(is_longer) {
                    continue;
                }
                let layer = &steps[at..at + period];
                let holds = |k: fn(&Step) -> bool| layer.iter().any(k);
                if holds(|s| matches!(s, Step::Host(_))) && holds(|s| matches!(s, Step::Launch(_))) {
                    found = Some((at, period, count));
                }
            }
        }
        let Some((start, period, count)) = found else { return };
        let stretch = |i: usize| &steps[start + i * period..start + (i + 1) * period];
        let same = (1..count).take_while(|i| is_same_steps(graph, stretch(0), stretch(*i))).count() + 1;
        if same < 2 {
            return;
        }
        let first = graph.step_name(steps[start]).value.clone();
        self.layers.push(Layer { name: format!("{first}.."), count: same as u64, has_host: true });
        for i in 0..same * period {
            self.tags[start + i] = Some(Tag { layer: 0, iteration: (i / period) as u64 });
        }
    }
}

/// Per step a number: equal for steps that may be the same in two iterations.
fn kinds(graph: &LaunchGraph) -> Vec<usize> {
    let mut seen = indexmap::IndexSet::new();
    let kind = |step: &Step| match step {
        Step::Launch(l) => {
            let launch = graph.launch(*l);
            (launch.kernel.value.as_str(), launch.function, launch.operands.len(), launch.is_fuse_never())
        }
        Step::Host(h) => ("", graph.host(*h).reads.len(), graph.host(*h).writes.len(), false),
    };
    graph.steps.iter().map(|s| seen.insert_full(kind(s)).0).collect()
}
