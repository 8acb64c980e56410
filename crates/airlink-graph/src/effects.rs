//! What the steps of a graph do to its buffers, in program order, and how they depend on one another.

use airlink_diag::Span;
use indexmap::IndexSet;
use petgraph::graph::{DiGraph, NodeIndex};

use crate::ranges::subtract;
use crate::{BufferIdx, ByteRange, LaunchGraph, Step};

/// One read or write of a part of a buffer.
#[derive(Clone, Copy, Debug)]
pub struct Effect {
    /// Position in [`LaunchGraph::steps`].
    pub step_index: usize,
    pub is_write: bool,
    pub range: ByteRange,
    /// The name in the graph through which the step reaches the buffer.
    pub span: Span,
    /// The op in the kernel, for a launch.
    pub op_span: Option<Span>,
}

/// Why one step must come after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dependence {
    /// The later one reads what the earlier one wrote.
    ReadAfterWrite,
    /// The later one overwrites what the earlier one read.
    WriteAfterRead,
    /// Both write.
    WriteAfterWrite,
}

/// An edge of the dataflow graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DataflowEdge {
    pub buffer: BufferIdx,
    pub kind: Dependence,
}

impl LaunchGraph {
    /// Per buffer, its effects in program order. Within one `air.launch`: reads, then writes, then the reads of an
    /// argument that it writes first. A write counts as covering its operand whole.
    pub fn effects(&self) -> Vec<Vec<Effect>> {
        let mut effects = vec![Vec::new(); self.buffers.len()];
        for (step_index, step) in self.steps.iter().enumerate() {
            match step {
                Step::Launch(launch) => self.launch_effects(step_index, *launch, &mut effects),
                Step::Host(host) => {
                    let host = self.host(*host);
                    for (is_write, list) in [(false, &host.reads), (true, &host.writes)] {
                        for o in list {
                            let effect = Effect { step_index, is_write, range: o.range, span: o.span, op_span: None };
                            effects[o.buffer.0].push(effect);
                        }
                    }
                }
            }
        }
        effects
    }

    fn launch_effects(&self, step_index: usize, launch: crate::LaunchIdx, effects: &mut [Vec<Effect>]) {
        let launch = self.launch(launch);
        for entry in 0..launch.entry_count {
            for phase in 0..3 {
                for operand in &launch.operands {
                    let access = operand.accesses.get(entry).copied().unwrap_or_default();
                    let reads_late = access.is_written() && !access.reads_first;
                    // A scalar is no memory: passing it is reading it.
                    let is_scalar = operand.ty.as_memref().is_none();
                    let (happens, op_span) = match phase {
                        0 => ((access.is_read() && !reads_late) || is_scalar, access.read),
                        1 => (access.is_written(), access.write),
                        _ => (access.is_read() && reads_late, access.read),
                    };
                    if happens {
                        let (range, span) = (operand.range, operand.span);
                        effects[operand.buffer.0].push(Effect {
                            step_index,
                            is_write: phase == 1,
                            range,
                            span,
                            op_span,
                        });
                    }
                }
            }
        }
    }

    /// The steps (node `n` is step `n`) with an edge from each to those that must come after it, by buffer and kind.
    ///
    /// A step that overwrites a range whole hides earlier ones from later steps, so edges stay near linear.
    pub fn dataflow(&self) -> DiGraph<Step, DataflowEdge> {
        let mut graph = DiGraph::with_capacity(self.steps.len(), self.steps.len());
        for step in &self.steps {
            graph.add_node(*step);
        }
        let mut edges = IndexSet::new();
        for (buffer, effects) in self.effects().iter().enumerate() {
            buffer_edges(BufferIdx(buffer), effects, &mut edges);
        }
        edges.sort_unstable();
        for (from, to, edge) in edges {
            graph.add_edge(NodeIndex::new(from), NodeIndex::new(to), edge);
        }
        graph
    }
}

/// Bytes that a step reads or writes.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Touch {
    range: ByteRange,
    step_index: usize,
}

fn buffer_edges(buffer: BufferIdx, effects: &[Effect], edges: &mut IndexSet<(usize, usize, DataflowEdge)>) {
    let (mut writers, mut readers): (Vec<Touch>, Vec<Touch>) = (Vec::new(), Vec::new());
    for effect in effects {
        let here = Touch { range: effect.range, step_index: effect.step_index };
        let mut link = |earlier: &[Touch], kind| {
            for from in earlier.iter().filter(|t| t.step_index != here.step_index && t.range.overlaps(here.range)) {
                edges.insert((from.step_index, here.step_index, DataflowEdge { buffer, kind }));
            }
        };
        if effect.is_write {
            link(&readers, Dependence::WriteAfterRead);
            link(&writers, Dependence::WriteAfterWrite);
            for list in [&mut readers, &mut writers] {
                *list = list
                    .iter()
                    .flat_map(|t| subtract(t.range, here.range).map(|range| Touch { range, ..*t }))
                    .collect();
            }
            writers.push(here);
        } else {
            link(&writers, Dependence::ReadAfterWrite);
            if readers.last() != Some(&here) {
                readers.push(here);
            }
        }
    }
}
