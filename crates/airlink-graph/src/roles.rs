//! What each buffer is to the host program of an ELF, derived from the dataflow of the whole graph.

mod dataflow;
mod declared;

use airlink_diag::Findings;
use indexmap::{IndexMap, IndexSet};

use crate::{BufferIdx, LaunchGraph, LaunchIdx, Role, Step};

/// Derives the roles of buffers per ELF, where `partition` lists the launches of each.
///
/// A launch that is in no part counts as one outside of every ELF. Warnings: AL0213, where a declared role contradicts
/// the dataflow.
pub fn roles(graph: &LaunchGraph, partition: &[Vec<LaunchIdx>], findings: &mut Findings) -> Vec<ElfRoles> {
    let mut elf_of_launch = vec![None; graph.launches.len()];
    for (elf, launches) in partition.iter().enumerate() {
        for launch in launches {
            elf_of_launch[launch.0] = Some(elf);
        }
    }
    let elf_of_step = |step: usize| match graph.steps[step] {
        Step::Launch(launch) => elf_of_launch[launch.0],
        Step::Host(_) => None,
    };
    let mut elfs: Vec<ElfRoles> = partition.iter().map(|launches| ElfRoles::of(graph, launches)).collect();
    for (index, effects) in graph.effects().iter().enumerate() {
        let buffer = BufferIdx(index);
        for (elf, derived) in dataflow::derive(effects, elf_of_step) {
            if let Some(role) = elfs[elf].buffers.get_mut(&buffer) {
                (role.dataflow, role.role) = (derived, derived);
            }
        }
        declared::apply(graph, buffer, effects, &mut elfs, findings);
    }
    elfs
}

/// The buffers that the launches of one ELF use, in order of first use.
#[derive(Clone, Debug, Default)]
pub struct ElfRoles {
    pub buffers: IndexMap<BufferIdx, BufferRole>,
}

/// A buffer as one ELF uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferRole {
    /// What the map says: the declared role where there is one that is about this ELF, else the derived one.
    pub role: Role,
    /// What the dataflow says; `static` only where declared so.
    pub dataflow: Role,
    /// Launches of this ELF that read it, in program order.
    pub readers: Vec<LaunchIdx>,
    /// Launches of this ELF that write it, in program order.
    pub writers: Vec<LaunchIdx>,
}

impl ElfRoles {
    /// The role of a buffer in this ELF: `dead` if it does not use it.
    pub fn role(&self, buffer: BufferIdx) -> Role {
        self.buffers.get(&buffer).map_or(Role::Dead, |b| b.role)
    }

    /// The roles of one program called with these buffers as well, `other` being the roles of that call: its buffers are
    /// matched by position.
    pub fn join(&mut self, other: &ElfRoles) {
        for (mine, theirs) in self.buffers.values_mut().zip(other.buffers.values()) {
            mine.role = mine.role.join(theirs.role);
            mine.dataflow = mine.dataflow.join(theirs.dataflow);
        }
    }

    /// Buffers with their readers and writers; the roles are still open.
    fn of(graph: &LaunchGraph, launches: &[LaunchIdx]) -> ElfRoles {
        let mut elf = ElfRoles::default();
        let launches: IndexSet<LaunchIdx> = launches.iter().copied().collect();
        for launch in launches {
            for operand in &graph.launch(launch).operands {
                let role = elf.buffers.entry(operand.buffer).or_insert_with(|| BufferRole {
                    role: Role::Dead,
                    dataflow: Role::Dead,
                    readers: Vec::new(),
                    writers: Vec::new(),
                });
                for (happens, list) in
                    [(operand.is_read(), &mut role.readers), (operand.is_written(), &mut role.writers)]
                {
                    if happens && list.last() != Some(&launch) {
                        list.push(launch);
                    }
                }
            }
        }
        elf
    }
}

/// The index lists that host programs pass, as mlir-air's KernelCache takes them.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct IndexLists {
    /// Arguments that are written once: static.
    pub static_input_indices: Vec<usize>,
    /// Arguments that the host reads after a run: output, inout.
    pub output_indices: Vec<usize>,
    /// Arguments that the host need not write before a run: intermediate, output, dead.
    pub intermediate_indices: Vec<usize>,
}

/// The index lists of an ELF whose arguments have these roles, in order.
pub fn index_lists(roles: impl IntoIterator<Item = Role>) -> IndexLists {
    let mut lists = IndexLists::default();
    for (index, role) in roles.into_iter().enumerate() {
        if role == Role::Static {
            lists.static_input_indices.push(index);
        }
        if matches!(role, Role::Output | Role::Inout) {
            lists.output_indices.push(index);
        }
        if matches!(role, Role::Intermediate | Role::Output | Role::Dead) {
            lists.intermediate_indices.push(index);
        }
    }
    lists
}
