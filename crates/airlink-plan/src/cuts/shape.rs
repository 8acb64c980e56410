//! Whether two stretches of a program are one program on different buffers.

use airlink_graph::{BufferIdx, Launch, LaunchGraph, LaunchIdx, Step, View, ViewIdx};
use indexmap::IndexMap;

/// Buffers by the order of their first use.
#[derive(Default)]
pub(crate) struct Numbers(IndexMap<BufferIdx, usize>);

impl Numbers {
    fn of(&mut self, buffer: BufferIdx) -> usize {
        let next = self.0.len();
        *self.0.entry(buffer).or_insert(next)
    }
}

/// Whether the launches run the same kernels in the same wiring, up to the names of buffers and views.
pub(crate) fn is_same_program(graph: &LaunchGraph, a: &[LaunchIdx], b: &[LaunchIdx]) -> bool {
    let (mut in_a, mut in_b) = (Numbers::default(), Numbers::default());
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| same_launch(graph, graph.launch(*a), graph.launch(*b), &mut in_a, &mut in_b))
}

/// As [`is_same_program`], for steps of any kind: host steps must read and write the same.
pub(crate) fn is_same_steps(graph: &LaunchGraph, a: &[Step], b: &[Step]) -> bool {
    let (mut in_a, mut in_b) = (Numbers::default(), Numbers::default());
    a.len() == b.len()
        && a.iter().zip(b).all(|steps| match steps {
            (Step::Launch(a), Step::Launch(b)) => {
                same_launch(graph, graph.launch(*a), graph.launch(*b), &mut in_a, &mut in_b)
            }
            (Step::Host(a), Step::Host(b)) => {
                let (a, b) = (graph.host(*a), graph.host(*b));
                [(&a.reads, &b.reads), (&a.writes, &b.writes)].into_iter().all(|(a, b)| {
                    a.len() == b.len()
                        && a.iter().zip(b).all(|(a, b)| {
                            a.range == b.range
                                && same_buffer(graph, a.buffer, b.buffer, &mut in_a, &mut in_b)
                                && same_view(graph, a.view, b.view)
                        })
                })
            }
            _ => false,
        })
}

fn same_launch(graph: &LaunchGraph, a: &Launch, b: &Launch, in_a: &mut Numbers, in_b: &mut Numbers) -> bool {
    let values = |m: &IndexMap<String, airlink_graph::Placed<String>>| -> Vec<(String, String)> {
        m.iter().map(|(k, v)| (k.clone(), v.value.clone())).collect()
    };
    a.kernel.value == b.kernel.value
        && a.function == b.function
        && values(&a.objects) == values(&b.objects)
        && values(&a.refs) == values(&b.refs)
        && a.k_split.as_ref().map(|k| k.value) == b.k_split.as_ref().map(|k| k.value)
        && a.n_split.as_ref().map(|n| n.value) == b.n_split.as_ref().map(|n| n.value)
        && a.row_split.as_ref().map(|r| r.value) == b.row_split.as_ref().map(|r| r.value)
        && a.is_fuse_never() == b.is_fuse_never()
        && a.elf.as_ref().map(|e| &e.value) == b.elf.as_ref().map(|e| &e.value)
        && a.pdi.as_ref().map(|p| &p.value) == b.pdi.as_ref().map(|p| &p.value)
        && a.operands.len() == b.operands.len()
        && a.operands.iter().zip(&b.operands).all(|(a, b)| {
            a.range == b.range && same_buffer(graph, a.buffer, b.buffer, in_a, in_b) && same_view(graph, a.view, b.view)
        })
}

/// The same position among the buffers seen so far, and the same type and declaration.
fn same_buffer(graph: &LaunchGraph, a: BufferIdx, b: BufferIdx, in_a: &mut Numbers, in_b: &mut Numbers) -> bool {
    let (one, two) = (graph.buffer(a), graph.buffer(b));
    in_a.of(a) == in_b.of(b)
        && one.ty == two.ty
        && one.declared_role.as_ref().map(|r| r.value) == two.declared_role.as_ref().map(|r| r.value)
}

fn same_view(graph: &LaunchGraph, a: Option<ViewIdx>, b: Option<ViewIdx>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => {
            let parts = |v: &View| (v.offsets.clone(), v.sizes.clone(), v.strides.clone(), v.ty.clone());
            parts(graph.view(a)) == parts(graph.view(b))
        }
        _ => false,
    }
}
