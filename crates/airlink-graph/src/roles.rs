//! What each buffer is to the host program of an ELF, derived from the dataflow of the whole graph.

use indexmap::IndexMap;

use crate::{BufferIdx, LaunchIdx, Role};

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
