//! The buffers of a whole graph.

use airlink_diag::{Findings, Reported};
use airlink_rt::{Argument, BufferSet, Element, Manifest, Placement, Poison, Role, inputs};
use indexmap::IndexMap;

use super::programs::Part;
use super::{HostWrite, Written};

/// One buffer per name; every ELF of the graph, fused or not, finds its arguments here.
pub(super) struct Memory {
    buffers: BufferSet,
    /// In the order of the set.
    kinds: IndexMap<String, Kind>,
    seed: u64,
    values: Values,
}

struct Kind {
    element: Element,
    shape: Vec<u64>,
    bytes: u64,
    /// Over the whole graph: static, given by the host before the first use, written first, or unused.
    role: Role,
}

/// What inputs hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    Seeded,
    /// The same without their signs: what a sum of products makes of them is the sum of the products' magnitudes.
    Magnitudes,
}

impl Memory {
    pub fn new(parts: &[Part], seed: u64, findings: &mut Findings) -> Result<Memory, Reported> {
        Memory::with(parts, seed, Values::Seeded, findings)
    }

    pub fn with(parts: &[Part], seed: u64, values: Values, findings: &mut Findings) -> Result<Memory, Reported> {
        let mut kinds: IndexMap<String, Kind> = IndexMap::new();
        for part in parts {
            let Part::Elf(program) = part else { continue };
            for manifest in program.all().map(|e| e.manifest()) {
                add_kinds(manifest, &mut kinds);
            }
        }
        let mut buffers = BufferSet::new(Placement::End);
        for (name, kind) in &kinds {
            buffers.add(name, kind.bytes, kind.role).map_err(|e| crate::run::no_memory(&e, findings))?;
        }
        let mut memory = Memory { buffers, kinds, seed, values };
        for (index, (name, kind)) in memory.kinds.iter().enumerate().filter(|(_, (_, k))| k.role == Role::Static) {
            if let Some(bytes) = memory.buffers.get_mut(index).and_then(|b| b.bytes_mut()) {
                inputs::fill(kind.element, Role::Static, seed, name, bytes);
                values.apply(kind.element, bytes);
            }
        }
        memory.buffers.seal().map_err(|e| crate::run::no_memory(&e, findings))?;
        Ok(memory)
    }

    /// Seeds what the host gives and poisons the rest; statics stay as they are.
    pub fn reset(&mut self, poison: Poison) {
        for (index, (name, kind)) in self.kinds.iter().enumerate() {
            // Static buffers are read-only and dead ones closed: they give no slice.
            let Some(bytes) = self.buffers.get_mut(index).and_then(|b| b.bytes_mut()) else { continue };
            match kind.role.is_given() {
                true => {
                    inputs::fill(kind.element, kind.role, self.seed, name, bytes);
                    self.values.apply(kind.element, bytes);
                }
                false => bytes.fill(poison.byte()),
            }
        }
    }

    /// What a host step writes: values that depend on the step, so that it makes a difference.
    pub fn host_step(&mut self, writes: &[HostWrite], step: usize) {
        for write in writes {
            let Some((index, _, kind)) = self.kinds.get_full(&write.buffer) else { continue };
            let Some(bytes) = self.buffers.get_mut(index).and_then(|b| b.bytes_mut()) else { continue };
            let size = kind.element.size_bytes();
            let (start, end) = (write.range.start.min(bytes.len() as u64), write.range.end.min(bytes.len() as u64));
            let first = start / size as u64;
            let part = &mut bytes[start as usize..end.max(start) as usize];
            inputs::fill_from(
                kind.element,
                Role::Input,
                self.seed.wrapping_add(1 + step as u64),
                &write.buffer,
                first,
                part,
            );
        }
    }

    pub fn buffers(&mut self) -> &mut BufferSet {
        &mut self.buffers
    }

    /// The argument array of a program: its buffers by name.
    pub fn arguments(&self, manifest: &Manifest) -> Vec<Argument> {
        let index = |name: &str| self.kinds.get_index_of(name).unwrap_or(usize::MAX);
        manifest.args.iter().map(|a| Argument { buffer: index(&a.name), offset_bytes: 0 }).collect()
    }

    pub fn shape(&self, name: &str) -> Option<(Element, Vec<u64>)> {
        self.kinds.get(name).map(|k| (k.element, k.shape.clone()))
    }

    pub fn element_count(&self, name: &str) -> u64 {
        self.kinds.get(name).map_or(0, |k| k.shape.iter().product())
    }

    pub fn bytes(&self, name: &str) -> &[u8] {
        let buffer = self.kinds.get_index_of(name).and_then(|i| self.buffers.get(i));
        buffer.and_then(|b| b.bytes()).unwrap_or_default()
    }

    pub fn copies(&self, names: &[&str]) -> Written {
        names.iter().map(|n| (n.to_string(), self.bytes(n).to_vec())).collect()
    }
}

impl Values {
    fn apply(self, element: Element, bytes: &mut [u8]) {
        let is_float = matches!(element, Element::Bf16 | Element::F16 | Element::F32 | Element::F64);
        if self == Values::Magnitudes && is_float {
            // The sign is the highest bit of the last byte.
            bytes.chunks_exact_mut(element.size_bytes()).filter_map(<[u8]>::last_mut).for_each(|last| *last &= 0x7f);
        }
    }
}

fn add_kinds(manifest: &Manifest, kinds: &mut IndexMap<String, Kind>) {
    for arg in &manifest.args {
        let role = match arg.role {
            Role::Static | Role::Dead => arg.role,
            given if given.is_given() => Role::Inout,
            _ => Role::Output,
        };
        match kinds.get_mut(&arg.name) {
            // The first use decides, but a buffer that one ELF does not use may be used by the next.
            Some(kind) if kind.role == Role::Dead => kind.role = role,
            Some(_) => {}
            None => {
                let kind = Kind { element: arg.element, shape: arg.shape.clone(), bytes: arg.bytes, role };
                kinds.insert(arg.name.clone(), kind);
            }
        }
    }
}
