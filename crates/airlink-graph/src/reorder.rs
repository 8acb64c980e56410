//! Independent steps in another order, so that fewer ELFs do.

use petgraph::Direction::Incoming;
use petgraph::graph::NodeIndex;

use crate::{HostIdx, LaunchGraph, LaunchIdx, Move, Step};

/// The graph with its steps in an order that needs fewer ELFs, if the dataflow allows one; else as it is.
///
/// Steps that depend on one another (by a read after a write, a write after a read, or two writes) keep their order, and
/// no step leaves its iteration of a `[[block]]`. Within an iteration, runs of launches and of everything that ends an
/// ELF (host steps, launches with `fuse = "never"`) alternate; each run takes whatever can run by then. No other order
/// has fewer runs: after each run, a superset of what any other order can have done is done. Cuts given by `[[elf]]` fix
/// the order, and nothing moves.
pub fn reorder(graph: LaunchGraph) -> LaunchGraph {
    if !graph.cuts.is_empty() {
        return graph;
    }
    let flow = graph.dataflow();
    let before: Vec<Vec<usize>> = (0..graph.steps.len())
        .map(|n| flow.neighbors_directed(NodeIndex::new(n), Incoming).map(NodeIndex::index).collect())
        .collect();
    let mut order: Vec<usize> = Vec::with_capacity(graph.steps.len());
    let mut start = 0;
    while start < graph.steps.len() {
        let iteration = graph.iteration(graph.steps[start]);
        let len = graph.steps[start..].iter().take_while(|s| graph.iteration(**s) == iteration).count();
        order.extend(order_of(&graph, start..start + len, &before));
        start += len;
    }
    apply(graph, &order)
}

/// The best order of the steps of one iteration: its own where no other needs fewer ELFs.
fn order_of(graph: &LaunchGraph, steps: std::ops::Range<usize>, before: &[Vec<usize>]) -> Vec<usize> {
    let given: Vec<usize> = steps.clone().collect();
    let best = [true, false].map(|launches_first| alternate(graph, steps.clone(), before, launches_first));
    let [one, two] = best;
    let fewest = if run_count(graph, &two) < run_count(graph, &one) { two } else { one };
    if run_count(graph, &fewest) < run_count(graph, &given) { fewest } else { given }
}

fn alternate(
    graph: &LaunchGraph,
    steps: std::ops::Range<usize>,
    before: &[Vec<usize>],
    launches_first: bool,
) -> Vec<usize> {
    let first = steps.start;
    let mut is_done = vec![false; steps.len()];
    let mut order = Vec::with_capacity(steps.len());
    let mut takes_launches = launches_first;
    while order.len() < steps.len() {
        // In file order one pass takes all that can run: what a step waits for stands before it.
        for step in steps.clone() {
            let is_ready = before[step].iter().all(|b| *b < first || is_done[b - first]);
            if !is_done[step - first] && is_ready && fuses(graph, step) == takes_launches {
                is_done[step - first] = true;
                order.push(step);
            }
        }
        takes_launches = !takes_launches;
    }
    order
}

/// Whether the step may share an ELF.
fn fuses(graph: &LaunchGraph, step: usize) -> bool {
    matches!(graph.steps[step], Step::Launch(l) if !graph.launch(l).is_fuse_never())
}

fn run_count(graph: &LaunchGraph, order: &[usize]) -> usize {
    let ends = |i: usize| fuses(graph, order[i]) && !order.get(i + 1).is_some_and(|next| fuses(graph, *next));
    (0..order.len()).filter(|i| ends(*i)).count()
}

/// Numbers launches and host steps anew, in the new order.
fn apply(graph: LaunchGraph, order: &[usize]) -> LaunchGraph {
    let mut moves = Vec::new();
    // The earliest step that is still to come decides whether one has moved to the front of it.
    let mut is_placed = vec![false; order.len()];
    let mut earliest = 0;
    for &step in order {
        while earliest < step && is_placed[earliest] {
            earliest += 1;
        }
        if earliest < step {
            let name = |s: usize| graph.step_name(graph.steps[s]).value.clone();
            moves.push(Move { step: name(step), before: name(earliest) });
        }
        is_placed[step] = true;
    }
    if moves.is_empty() {
        return graph;
    }
    let (mut launches, mut hosts, mut steps) = (Vec::new(), Vec::new(), Vec::new());
    for &step in order {
        steps.push(match graph.steps[step] {
            Step::Launch(l) => {
                launches.push(graph.launch(l).clone());
                Step::Launch(LaunchIdx(launches.len() - 1))
            }
            Step::Host(h) => {
                hosts.push(graph.host(h).clone());
                Step::Host(HostIdx(hosts.len() - 1))
            }
        });
    }
    LaunchGraph { steps, launches, hosts, moves, ..graph }
}

impl LaunchGraph {
    /// The iteration of a `[[block]]` that a step belongs to: the block's name and the index.
    pub fn iteration(&self, step: Step) -> Option<(&str, u64)> {
        let block = match step {
            Step::Launch(l) => &self.launch(l).block,
            Step::Host(h) => &self.host(h).block,
        };
        block.as_ref().map(|(name, index)| (name.as_str(), *index))
    }
}
