//! What is drawn of a program: each ELF once, in the order of first calls, the host steps between, and the buffers that
//! go from one step to another.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use airlink_graph::{BufferIdx, ByteRange, Dependence, HostOperand, LaunchGraph, Operand, Role, Step, ViewIdx};

use crate::Plan;

/// A program as it is drawn. Further calls of an ELF and the host steps between them fall on the rows of the first.
pub(crate) struct Flow<'p> {
    pub rows: Vec<Row<'p>>,
    /// In program order; together they hold every row once.
    pub parts: Vec<Part>,
    /// Sorted, each once.
    pub edges: Vec<Edge>,
}

pub(crate) enum Part {
    Elf {
        elf: usize,
        rows: Range<usize>,
    },
    /// A row, and how many steps of the program it stands for.
    Host {
        row: usize,
        count: usize,
    },
}

/// A launch or a host step.
pub(crate) struct Row<'p> {
    pub step: Step,
    pub name: &'p str,
    /// Position in [`Plan::elfs`]; none for a host step.
    pub elf: Option<usize>,
    pub reads: Vec<Slot<'p>>,
    pub writes: Vec<Slot<'p>>,
    operands: Vec<Bound>,
}

/// What a step reads or writes, under the name by which it does.
pub(crate) struct Slot<'p> {
    pub name: &'p str,
    pub buffer: BufferIdx,
    view: Option<ViewIdx>,
    /// What it is to its ELF; none for a host step.
    pub role: Option<Role>,
    /// None for a scalar or an unknown size.
    pub size_bytes: Option<u64>,
    /// Of a read: whether an earlier step gives it. Of a write: whether a later step takes it; what only the next call
    /// takes leaves with the last one.
    pub is_linked: bool,
    /// Of a read: whether a further call gets it from the call before, or from a later row of it.
    pub is_fed_by_calls: bool,
}

/// Where a row's operand is drawn.
struct Bound {
    read: Option<usize>,
    write: Option<usize>,
}

/// From a write to a read, by row and position there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edge {
    pub from: (usize, usize),
    pub to: (usize, usize),
}

impl Edge {
    /// Whether it goes from one call to the next: then its end stands above its start.
    pub fn is_back(&self) -> bool {
        self.from.0 >= self.to.0
    }
}

/// A buffer that a step touches.
struct Touched {
    buffer: BufferIdx,
    view: Option<ViewIdx>,
    range: ByteRange,
    is_read: bool,
    is_written: bool,
}

/// Host steps that are drawn as one.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum HostKey<'p> {
    /// The same step of each iteration of a block.
    InBlock(&'p str, usize),
    /// The same place after each call of an ELF.
    After(Option<usize>, usize),
}

impl<'p> Flow<'p> {
    pub fn of(plan: &'p Plan, graph: &'p LaunchGraph) -> Flow<'p> {
        let mut flow = Flow { rows: Vec::new(), parts: Vec::new(), edges: Vec::new() };
        let row_of_step = flow.add_rows(plan, graph);
        flow.add_edges(graph, &row_of_step);
        flow
    }

    /// Gives the row of each step.
    fn add_rows(&mut self, plan: &'p Plan, graph: &'p LaunchGraph) -> Vec<Option<usize>> {
        let mut place_of_launch = vec![None; graph.launches.len()];
        for (elf, of) in plan.elfs.iter().enumerate() {
            for call in &of.calls {
                call.launches.iter().enumerate().for_each(|(i, l)| place_of_launch[l.0] = Some((elf, i)));
            }
        }
        let mut first_row: Vec<Option<usize>> = vec![None; plan.elfs.len()];
        let mut host_parts: BTreeMap<(HostKey<'p>, usize, usize), usize> = BTreeMap::new();
        let mut row_of_step = Vec::with_capacity(graph.steps.len());
        let (mut last_elf, mut in_gap) = (None, 0);
        let (mut block, mut in_block) = (None, 0);
        for step in &graph.steps {
            let own = graph.iteration(*step);
            in_block = if own.is_some() && own == block { in_block + 1 } else { 0 };
            block = own;
            match *step {
                Step::Launch(launch) => {
                    let Some((elf, position)) = place_of_launch[launch.0] else {
                        row_of_step.push(None);
                        continue;
                    };
                    (last_elf, in_gap) = (Some(elf), 0);
                    let first = *first_row[elf].get_or_insert_with(|| self.add_elf(plan, graph, elf));
                    row_of_step.push(Some(first + position));
                }
                Step::Host(host) => {
                    let key = match own {
                        Some((name, _)) => HostKey::InBlock(name, in_block),
                        None => HostKey::After(last_elf, in_gap),
                    };
                    in_gap += 1;
                    let host = graph.host(host);
                    let key = (key, host.reads.len(), host.writes.len());
                    let part = *host_parts.entry(key).or_insert_with(|| self.add_host(graph, *step));
                    if let Part::Host { row, count } = &mut self.parts[part] {
                        *count += 1;
                        row_of_step.push(Some(*row));
                    }
                }
            }
        }
        row_of_step
    }

    fn add_elf(&mut self, plan: &'p Plan, graph: &'p LaunchGraph, elf: usize) -> usize {
        let start = self.rows.len();
        let of = &plan.elfs[elf];
        for launch in &of.launches {
            let role = |operand: usize| Some(of.args.get(launch.operands.get(operand)?.arg)?.role);
            let step = Step::Launch(launch.launch);
            self.rows.push(Row::new(graph, step, &launch.name, Some(elf), role));
        }
        self.parts.push(Part::Elf { elf, rows: start..self.rows.len() });
        start
    }

    fn add_host(&mut self, graph: &'p LaunchGraph, step: Step) -> usize {
        self.parts.push(Part::Host { row: self.rows.len(), count: 0 });
        self.rows.push(Row::new(graph, step, &graph.step_name(step).value, None, |_| None));
        self.parts.len() - 1
    }

    fn add_edges(&mut self, graph: &LaunchGraph, row_of_step: &[Option<usize>]) {
        let mut edges = BTreeSet::new();
        let dataflow = graph.dataflow();
        let operands: Vec<Vec<Touched>> = graph.steps.iter().map(|s| touched(graph, *s)).collect();
        for edge in dataflow.raw_edges().iter().filter(|e| e.weight.kind == Dependence::ReadAfterWrite) {
            let [source, target] = [edge.source().index(), edge.target().index()];
            let (Some(from), Some(to)) = (row_of_step[source], row_of_step[target]) else { continue };
            let buffer = edge.weight.buffer;
            let of = |step: usize| operands[step].iter().enumerate().filter(|(_, t)| t.buffer == buffer);
            for (read, r) in of(target).filter(|(_, r)| r.is_read) {
                for (write, _) in of(source).filter(|(_, w)| w.is_written && w.range.overlaps(r.range)) {
                    let start = self.rows[from].operands.get(write).and_then(|o| o.write);
                    let end = self.rows[to].operands.get(read).and_then(|o| o.read);
                    if let (Some(start), Some(end)) = (start, end) {
                        edges.insert(Edge { from: (from, start), to: (to, end) });
                    }
                }
            }
        }
        for edge in &edges {
            self.rows[edge.from.0].writes[edge.from.1].is_linked |= !edge.is_back();
            let read = &mut self.rows[edge.to.0].reads[edge.to.1];
            read.is_linked |= !edge.is_back();
            read.is_fed_by_calls |= edge.is_back();
        }
        self.edges = edges.into_iter().collect();
    }

    /// What colours an edge: what it is to the ELF that writes it, else to the one that reads it.
    pub fn role(&self, edge: &Edge) -> Role {
        let (from, to) = (&self.rows[edge.from.0].writes[edge.from.1], &self.rows[edge.to.0].reads[edge.to.1]);
        from.role.or(to.role).unwrap_or(Role::Output)
    }
}

impl<'p> Row<'p> {
    fn new(
        graph: &'p LaunchGraph,
        step: Step,
        name: &'p str,
        elf: Option<usize>,
        role: impl Fn(usize) -> Option<Role>,
    ) -> Row<'p> {
        let mut row = Row { step, name, elf, reads: Vec::new(), writes: Vec::new(), operands: Vec::new() };
        for (position, t) in touched(graph, step).into_iter().enumerate() {
            let role = role(position);
            // What nothing touches is shown where it is passed: with the reads.
            let read = (t.is_read || !t.is_written).then(|| slot(&mut row.reads, graph, &t, role));
            let write = t.is_written.then(|| slot(&mut row.writes, graph, &t, role));
            row.operands.push(Bound { read, write });
        }
        row
    }
}

/// The place of a buffer among the reads or writes of a row.
fn slot<'p>(slots: &mut Vec<Slot<'p>>, graph: &'p LaunchGraph, t: &Touched, role: Option<Role>) -> usize {
    if let Some(there) = slots.iter().position(|s| (s.buffer, s.view) == (t.buffer, t.view)) {
        return there;
    }
    let buffer = graph.buffer(t.buffer);
    let whole_bytes = || buffer.ty.as_ref().and_then(|t| t.as_memref()).and_then(|m| m.byte_count());
    slots.push(Slot {
        name: t.view.map_or(&buffer.name, |v| &graph.view(v).name),
        buffer: t.buffer,
        view: t.view,
        role,
        size_bytes: match t.range {
            ByteRange::ALL => whole_bytes(),
            range => Some(range.end.saturating_sub(range.start)),
        },
        is_linked: false,
        is_fed_by_calls: false,
    });
    slots.len() - 1
}

/// The operands of a step, in order; a host step's reads come first.
fn touched(graph: &LaunchGraph, step: Step) -> Vec<Touched> {
    match step {
        Step::Launch(launch) => {
            let operand = |o: &Operand| Touched {
                buffer: o.buffer,
                view: o.view,
                range: o.range,
                is_read: o.is_read(),
                is_written: o.is_written(),
            };
            graph.launch(launch).operands.iter().map(operand).collect()
        }
        Step::Host(host) => {
            let operand = |o: &HostOperand, is_written: bool| Touched {
                buffer: o.buffer,
                view: o.view,
                range: o.range,
                is_read: !is_written,
                is_written,
            };
            let host = graph.host(host);
            let reads = host.reads.iter().map(|o| operand(o, false));
            reads.chain(host.writes.iter().map(|o| operand(o, true))).collect()
        }
    }
}
