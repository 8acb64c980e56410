//! Which launch reads and writes which argument of the kernel function, traced through launch, segment and herd
//! operands, views, loop-carried values, branches, DMAs, channels and plain loads and stores.

use std::collections::HashMap;

use airlink_kernel::Access;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, OperationRef, RegionLike, TypeLike, Value, ValueLike};

use super::{At, hierarchy_args};
use crate::{children, function_body, name};

/// The arguments of one function and every value that aliases one of them.
pub(super) struct Accesses<'c, 'a, 's> {
    at: At<'s>,
    arg_count: usize,
    /// From a value's identity to the arguments that it may alias. Looked up, never iterated.
    roots: HashMap<usize, Vec<usize>>,
    marker: std::marker::PhantomData<Value<'c, 'a>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Touch {
    Read,
    Write,
}

impl<'c, 'a, 's> Accesses<'c, 'a, 's> {
    pub(super) fn new(function: OperationRef<'c, 'a>, at: At<'s>) -> Self {
        let mut this = Accesses { at, arg_count: 0, roots: HashMap::new(), marker: std::marker::PhantomData };
        if let Some(body) = function_body(function) {
            this.arg_count = body.argument_count();
            for i in 0..this.arg_count {
                this.roots.insert(identity(body.argument(i).expect("in range").into()), vec![i]);
            }
        }
        // Aliases before accesses, and twice: a loop or a branch may pass a view back to where it came from.
        for _ in 0..2 {
            children(function).into_iter().for_each(|op| this.trace(op));
        }
        this
    }

    /// How `entry` touches each argument.
    pub(super) fn of_entry(&mut self, entry: OperationRef<'c, 'a>) -> Vec<Access> {
        let mut accesses = vec![Access::default(); self.arg_count];
        self.touch_all(entry, &mut accesses);
        accesses
    }

    /// The first op at or below `op` that touches an argument and is no transfer.
    pub(super) fn first_direct(&self, op: OperationRef<'c, 'a>) -> Option<OperationRef<'c, 'a>> {
        let is_transfer = matches!(name(op), "air.dma_memcpy_nd" | "air.channel.put" | "air.channel.get");
        if !is_transfer && touches(op).into_iter().any(|(value, _)| self.is_argument(value)) {
            return Some(op);
        }
        children(op).into_iter().find_map(|child| self.first_direct(child))
    }

    /// Whether a memref is an argument or a part of one.
    pub(super) fn is_argument(&self, value: Value<'c, 'a>) -> bool {
        !self.roots_of(value).is_empty()
    }

    fn touch_all(&self, op: OperationRef<'c, 'a>, accesses: &mut [Access]) {
        for (value, touch) in touches(op) {
            for &arg in self.roots_of(value) {
                let access = &mut accesses[arg];
                let span = self.at.span(op);
                match touch {
                    Touch::Read => {
                        access.reads_first |= access.read.is_none() && access.write.is_none();
                        access.read.get_or_insert(span);
                    }
                    Touch::Write => {
                        access.write.get_or_insert(span);
                    }
                }
            }
        }
        for child in children(op) {
            self.touch_all(child, accesses);
        }
    }

    fn roots_of(&self, value: Value<'c, 'a>) -> &[usize] {
        self.roots.get(&identity(value)).map_or(&[], Vec::as_slice)
    }

    /// `to` may alias what `from` aliases.
    fn alias(&mut self, to: Value<'c, 'a>, from: Value<'c, 'a>) {
        let from = self.roots_of(from).to_vec();
        if from.is_empty() {
            return;
        }
        let to = self.roots.entry(identity(to)).or_default();
        to.extend(from);
        to.sort_unstable();
        to.dedup();
    }

    fn trace(&mut self, op: OperationRef<'c, 'a>) {
        match name(op) {
            "air.launch" | "air.segment" | "air.herd" | "air.rank" => {
                hierarchy_args(op).into_iter().for_each(|(outer, inner)| self.alias(inner, outer));
            }
            "scf.for" => self.trace_loop(op),
            "cf.br" | "cf.cond_br" => self.trace_branch(op),
            _ => {}
        }
        for child in children(op) {
            self.trace(child);
        }
        if is_view(name(op))
            && let (Ok(source), Ok(result)) = (op.operand(0), op.result(0))
        {
            self.alias(result.into(), source);
        }
        self.trace_yields(op);
    }

    /// A loop's body sees its initial values, and so do its results where it runs no turn.
    fn trace_loop(&mut self, op: OperationRef<'c, 'a>) {
        let Some(body) = function_body(op) else { return };
        for i in 0..op.result_count() {
            if let (Ok(initial), Ok(inner), Ok(result)) = (op.operand(3 + i), body.argument(1 + i), op.result(i)) {
                self.alias(inner.into(), initial);
                self.alias(result.into(), initial);
            }
        }
    }

    /// Results of an op with plain regions alias what its regions yield; loop-carried values do so too.
    fn trace_yields(&mut self, op: OperationRef<'c, 'a>) {
        if op.result_count() == 0 || op.region_count() == 0 {
            return;
        }
        // `air.execute` gives its token first, then the values.
        let first = usize::from(name(op) == "air.execute");
        for region in op.regions() {
            let mut block = region.first_block();
            while let Some(b) = block {
                if let Some(terminator) = b.terminator() {
                    let count = op.result_count().saturating_sub(first);
                    for (i, value) in terminator.operands().take(count).enumerate() {
                        if let Ok(result) = op.result(first + i) {
                            self.alias(result.into(), value);
                        }
                        if name(op) == "scf.for"
                            && let Ok(inner) = b.argument(1 + i)
                        {
                            self.alias(inner.into(), value);
                        }
                    }
                }
                block = b.next_in_region();
            }
        }
    }

    /// A branch hands its operands to the arguments of its target. With two targets, each operand may go to any
    /// argument of its type: which one does not matter for what is read and written in the end.
    fn trace_branch(&mut self, op: OperationRef<'c, 'a>) {
        let targets: Vec<BlockRef<'c, 'a>> = op.successors().collect();
        for target in targets {
            for i in 0..target.argument_count() {
                let Ok(inner) = target.argument(i) else { continue };
                for value in op.operands() {
                    if value.r#type() == inner.r#type() {
                        self.alias(inner.into(), value);
                    }
                }
            }
        }
    }
}

fn identity(value: Value<'_, '_>) -> usize {
    value.to_raw().ptr as usize
}

fn is_view(op_name: &str) -> bool {
    matches!(
        op_name,
        "memref.subview"
            | "memref.cast"
            | "memref.collapse_shape"
            | "memref.expand_shape"
            | "memref.reinterpret_cast"
            | "memref.view"
            | "memref.reshape"
            | "memref.transpose"
            | "memref.memory_space_cast"
            | "memref.assume_alignment"
            | "memref.extract_strided_metadata"
            | "builtin.unrealized_conversion_cast"
    )
}

/// The memrefs that an op itself reads and writes, in the order in which it does.
fn touches<'c, 'a>(op: OperationRef<'c, 'a>) -> Vec<(Value<'c, 'a>, Touch)> {
    use Touch::{Read, Write};
    let memrefs: Vec<Value<'c, 'a>> = op.operands().filter(|v| v.r#type().is_mem_ref()).collect();
    let op_name = name(op);
    let kinds: &[Touch] = match op_name {
        _ if memrefs.is_empty() || is_view(op_name) => return Vec::new(),
        "memref.dealloc" | "memref.dim" | "memref.prefetch" | "memref.rank" => return Vec::new(),
        "air.launch"
        | "air.segment"
        | "air.herd"
        | "air.rank"
        | "scf.for"
        | "scf.yield"
        | "scf.if"
        | "cf.br"
        | "cf.cond_br"
        | "air.execute"
        | "air.execute_terminator"
        | "func.return"
        | "air.wait_all" => return Vec::new(),
        // The destination stands first.
        "air.dma_memcpy_nd" => return reversed(&memrefs),
        "air.channel.put" => &[Read],
        "air.channel.get" => &[Write],
        "memref.load"
        | "affine.load"
        | "vector.load"
        | "affine.vector_load"
        | "vector.transfer_read"
        | "vector.maskedload"
        | "vector.gather" => &[Read],
        "memref.store"
        | "affine.store"
        | "vector.store"
        | "affine.vector_store"
        | "vector.transfer_write"
        | "vector.maskedstore"
        | "vector.scatter"
        | "linalg.fill" => &[Write],
        "memref.copy" | "linalg.copy" => &[Read, Write],
        // An op that is not known may do both.
        _ => return memrefs.iter().flat_map(|v| [(*v, Read), (*v, Write)]).collect(),
    };
    memrefs.into_iter().zip(kinds.iter().copied()).collect()
}

fn reversed<'c, 'a>(memrefs: &[Value<'c, 'a>]) -> Vec<(Value<'c, 'a>, Touch)> {
    match memrefs {
        [destination, source] => vec![(*source, Touch::Read), (*destination, Touch::Write)],
        _ => Vec::new(),
    }
}
