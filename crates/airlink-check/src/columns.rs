//! A launch of a kernel against the launch over more columns that the plan says it becomes.

use airlink_ir::melior::ir::operation::OperationLike;
use airlink_ir::melior::ir::{Type, ValueLike};
use airlink_ir::{OperationRef, Value, attr, collect, hierarchy_size_range, name};
use airlink_kernel::{KernelType, Memory};
use airlink_plan::{LaunchPlan, RowPiece, RowSplitPlan};

use crate::Expected;
use crate::launch::{entries_of, transfers_of};
use crate::rows::constant;
use crate::same::Same;

/// How a launch is widened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wide {
    pub factor: u64,
    /// Of the herd, before.
    columns: u64,
    /// Of the grid along a dimension, before.
    points: u64,
    dimension: usize,
}

impl Wide {
    /// The points of a grid with `points` along a dimension, when it is widened.
    pub(crate) fn points_of(&self, points: u64, dimension: usize) -> Option<u64> {
        let is_planned = points == self.points && dimension == self.dimension && points.is_multiple_of(self.factor);
        is_planned.then(|| points / self.factor)
    }
}

/// Which dimensions of a transfer go over rows, counted from the innermost, and how many times the rows there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Panels {
    l3_dimension: usize,
    l2_dimension: usize,
    factor: i64,
}

impl Panels {
    /// The dimension of one side's list that has more rows; none for a whole buffer in L2, whose type says it.
    pub(crate) fn of(&self, op: OperationRef<'_, '_>, side: &str, memref: Value<'_, '_>) -> Option<(usize, i64)> {
        if memory(memref.r#type()) != Some(Memory::L2) {
            return Some((self.l3_dimension, self.factor));
        }
        let sizes = attr::i64_array(op.attribute(&format!("static_{side}_sizes")).ok()?)?;
        (!sizes.is_empty()).then_some((self.l2_dimension, self.factor))
    }
}

/// Notes which launches of the kernel are widened. One that is not cut as well is one piece of itself.
pub(crate) fn expect<'c>(same: &mut Same<'c, 'c>, launch: &LaunchPlan, expected: &Expected<'_, '_>) {
    let Some(kernel) = same.symbols_a.get(&launch.function) else { return };
    let entries = entries_of(kernel);
    for split in expected.elf.n_splits.iter().filter(|s| s.launch == launch.name) {
        let own = entries.get(split.entry).filter(|op| name(**op) == "air.launch");
        let Some(own) = own.filter(|_| split.factor > 1) else {
            same.differ(Some(kernel), None, "the plan widens a launch that is not there");
            continue;
        };
        let (factor, columns, points, dimension) = (split.factor, split.columns, split.points, split.dimension);
        let identity = own.to_raw().ptr as usize;
        same.wide_launches.insert(identity, Wide { factor, columns, points, dimension });
        let transfers = transfers_of(*own);
        // Rows stand beside the herd: what moves them there must move all of them.
        let in_herds: Vec<_> = collect(*own, "air.herd").into_iter().flat_map(transfers_of).collect();
        let beside = transfers.iter().filter(|t| !in_herds.contains(t)).count();
        for panel in &split.panels {
            let Some(op) = transfers.get(panel.transfer).filter(|op| !in_herds.contains(op)) else { continue };
            let (l3_dimension, l2_dimension) = (panel.l3_dimension, panel.l2_dimension);
            let Ok(factor) = i64::try_from(factor) else { continue };
            same.panels.insert(op.to_raw().ptr as usize, Panels { l3_dimension, l2_dimension, factor });
        }
        if split.panels.len() != beside {
            same.differ(Some(*own), None, "a launch is widened and not all of its panels are");
        }
        if expected.elf.row_split(&launch.name, split.entry).is_none() {
            let piece = RowPiece { first: 0, count: points / factor, names: Vec::new() };
            let whole = RowSplitPlan {
                launch: launch.name.clone(),
                entry: split.entry,
                dimension,
                points: points / factor,
                pieces: vec![piece],
                before: Vec::new(),
                after: Vec::new(),
                reason: String::new(),
            };
            same.row_splits.insert(identity, whole);
        }
    }
}

impl<'c, 'a> Same<'c, 'a> {
    /// Whether a type is the other one; in a wide launch, buffers in L2 have more rows.
    pub(crate) fn is_type(&self, x: Type<'c>, y: Type<'c>) -> bool {
        match self.wide.filter(|_| memory(x) == Some(Memory::L2)) {
            None => x == y,
            Some(wide) => match KernelType::parse(&x.to_string()) {
                Some(KernelType::MemRef(ty)) => {
                    let wider = ty.with_more_rows(wide.factor).map(KernelType::MemRef);
                    wider.is_some() && wider == KernelType::parse(&y.to_string())
                }
                _ => false,
            },
        }
    }

    /// The ops of a segment's block in `b` without the constant that its wide herd has as its extent.
    pub(crate) fn without_extent(
        &mut self,
        a: OperationRef<'c, 'a>,
        count: usize,
        mut ops: Vec<OperationRef<'c, 'a>>,
    ) -> Vec<OperationRef<'c, 'a>> {
        if self.wide.is_none() || name(a) != "air.segment" || ops.len() != count + 1 {
            return ops;
        }
        if let Some(at) = ops.iter().position(|op| name(*op) == "air.herd").and_then(|i| i.checked_sub(1)) {
            self.herd_extent = Some(ops.remove(at));
        }
        ops
    }

    /// Whether the columns of a wide launch's herd are as many more; none for any other operand.
    pub(crate) fn wide_extent(
        &self,
        a: OperationRef<'c, 'a>,
        position: usize,
        x: Value<'c, 'a>,
        y: Value<'c, 'a>,
    ) -> Option<bool> {
        let wide = self.wide.filter(|_| name(a) == "air.herd" && hierarchy_size_range(a).next() == Some(position))?;
        let is_planned = constant(x) == Some(wide.columns) && constant(y) == wide.columns.checked_mul(wide.factor);
        Some(is_planned && self.herd_extent.is_some() && airlink_ir::defining_op(y) == self.herd_extent)
    }
}

fn memory(ty: Type<'_>) -> Option<Memory> {
    match KernelType::parse(&ty.to_string())? {
        KernelType::MemRef(ty) => Some(ty.memory()),
        KernelType::Other(_) => None,
    }
}
