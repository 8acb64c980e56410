//! A launch of a kernel against the launches over parts of its grid that the plan says it becomes.

use airlink_ir::melior::ir::block::BlockLike;
use airlink_ir::melior::ir::operation::OperationLike;
use airlink_ir::melior::ir::{BlockRef, ValueLike};
use airlink_ir::{OperationRef, Value, attr, edit, function_body, hierarchy_size_range, name};
use airlink_kernel::LocalKind;
use airlink_plan::{LaunchPlan, RowPiece, RowSplitPlan};

use crate::Expected;
use crate::launch::entries_of;
use crate::same::{Bindings, NameKind, Same, ops_of};

/// Notes which launches of the kernel the plan cuts. Each must stand in the function's own blocks.
pub(crate) fn expect<'c>(same: &mut Same<'c, 'c>, launch: &LaunchPlan, expected: &Expected<'_, '_>) {
    let Some(kernel) = same.symbols_a.get(&launch.function) else { return };
    let entries = entries_of(kernel);
    for split in expected.elf.row_splits.iter().filter(|s| s.launch == launch.name) {
        let own = entries.get(split.entry).filter(|op| name(**op) == "air.launch");
        let own = own.filter(|op| op.parent_operation().is_some_and(|p| p.to_raw().ptr == kernel.to_raw().ptr));
        let is_new = own.is_some_and(|op| same.row_splits.insert(op.to_raw().ptr as usize, split.clone()).is_none());
        if !is_new {
            same.differ(Some(kernel), None, "the plan cuts a launch that is not there");
        }
    }
}

impl<'c> Same<'c, 'c> {
    /// Compares a launch with its pieces: for each a constant, its number of points, and the launch. Together the pieces
    /// must be every point of the kernel's grid once, in order.
    pub(crate) fn pieces(
        &mut self,
        a: OperationRef<'c, 'c>,
        ops: &[OperationRef<'c, 'c>],
        split: &RowSplitPlan,
    ) -> bool {
        if ops.len() != 2 * split.pieces.len() || ops.is_empty() {
            return self.differ(Some(a), None, "pieces of the launch are missing");
        }
        if !self.is_cut_well(a, split) {
            return false;
        }
        self.wide = self.wide_launches.get(&(a.to_raw().ptr as usize)).copied();
        let before = self.bindings();
        let mut after_first: Option<Bindings> = None;
        let mut same = true;
        for (piece, pair) in split.pieces.iter().zip(ops.chunks(2)) {
            if let Some(first) = &after_first {
                // Symbols are the same in all pieces; values and the names of launches, segments and herds are not.
                self.rebind(before.with_symbols_of(first));
            }
            let outside = std::mem::take(&mut self.references);
            same &= self.piece(a, pair[0], pair[1], split.dimension, piece);
            self.references_of_piece(outside);
            match &after_first {
                None => after_first = Some(self.bindings()),
                Some(_) => same &= self.names_of_piece(a, piece),
            }
        }
        if let Some(first) = after_first {
            self.rebind(first);
        }
        self.wide = None;
        same
    }

    /// Whether the ranges are the whole of the kernel's grid along their dimension, and nothing sees its extent.
    fn is_cut_well(&mut self, a: OperationRef<'c, 'c>, split: &RowSplitPlan) -> bool {
        let sizes = hierarchy_size_range(a);
        let count = sizes.len();
        let points = sizes.clone().nth(split.dimension).and_then(|i| constant(a.operand(i).ok()?));
        let wide = self.wide_launches.get(&(a.to_raw().ptr as usize));
        let points = points.and_then(|n| wide.map_or(Some(n), |w| w.points_of(n, split.dimension)));
        let Some(points) = points.filter(|n| *n == split.points) else {
            return self.differ(Some(a), None, "its grid is not the one that the plan cuts");
        };
        let extent = function_body(a).and_then(|b| b.argument(count + split.dimension).ok());
        if extent.is_none_or(|e| edit::is_used(e.into())) || a.result_count() > 0 {
            return self.differ(Some(a), None, "it is cut and its body uses the extent, or it has a token");
        }
        let mut next = 0u64;
        for piece in &split.pieces {
            if piece.first != next || piece.count == 0 {
                return self.differ(Some(a), None, "pieces leave out launch points or repeat some");
            }
            next = next.saturating_add(piece.count);
        }
        next == points || self.differ(Some(a), None, "pieces are not the whole grid")
    }

    /// One piece: the kernel's launch with another extent, and with the points before it added to its id.
    fn piece(
        &mut self,
        a: OperationRef<'c, 'c>,
        count: OperationRef<'c, 'c>,
        b: OperationRef<'c, 'c>,
        dimension: usize,
        piece: &RowPiece,
    ) -> bool {
        let is_count =
            count.result_count() == 1 && count.result(0).is_ok_and(|r| constant(r.into()) == Some(piece.count));
        if !is_count || name(b) != "air.launch" {
            return self.differ(Some(a), Some(b), "no launch with the extent of the piece");
        }
        let extent = hierarchy_size_range(a).nth(dimension);
        if a.operand_count() != b.operand_count() || b.result_count() > 0 {
            return self.differ(Some(a), Some(b), "a piece has other operands or results");
        }
        let operands: Vec<(Value, Value)> = a.operands().zip(b.operands()).collect();
        for (i, (x, y)) in operands.into_iter().enumerate() {
            let is_same = match Some(i) == extent {
                true => airlink_ir::defining_op(y) == Some(count),
                false => x.r#type() == y.r#type() && self.is_bound(x, y),
            };
            if !is_same {
                return self.differ(Some(a), Some(b), format!("operand {i} of a piece is another value"));
            }
        }
        self.pass_offsets(a);
        let same = self.attributes(a, b);
        match (function_body(a), function_body(b)) {
            (Some(x), Some(y)) if is_only_block(x) && is_only_block(y) => {
                same & self.piece_body(a, b, (x, y), dimension, piece.first)
            }
            _ => self.differ(Some(a), Some(b), "a piece has other blocks"),
        }
    }

    fn piece_body(
        &mut self,
        a: OperationRef<'c, 'c>,
        b: OperationRef<'c, 'c>,
        (x, y): (BlockRef<'c, 'c>, BlockRef<'c, 'c>),
        dimension: usize,
        first: u64,
    ) -> bool {
        if !self.bind_block(x, y) || x.argument_count() != y.argument_count() {
            return self.differ(Some(a), Some(b), "a piece has another block");
        }
        let mut ops = ops_of(y);
        let mut id = None;
        if first > 0 {
            if ops.is_empty() {
                return self.differ(Some(a), Some(b), "a piece is empty");
            }
            let added = ops.remove(0);
            let map = format!("affine_map<()[s0] -> (s0 + {first})>");
            id = y.argument(dimension).ok().and_then(|raw| id_mapped(added, raw.into(), &map));
            if id.is_none() {
                return self.differ(Some(a), Some(added), format!("a piece does not start at launch point {first}"));
            }
        }
        if let Some(wide) = self.wide {
            let Some(scaled) = (!ops.is_empty()).then(|| ops.remove(0)) else {
                return self.differ(Some(a), Some(b), "a wide launch is empty");
            };
            let map = format!("affine_map<()[s0] -> (s0 * {})>", wide.factor);
            let from = id.or_else(|| y.argument(dimension).ok().map(Into::into));
            id = from.and_then(|from| id_mapped(scaled, from, &map));
            if id.is_none() {
                return self.differ(Some(a), Some(scaled), "a wide launch does not take the points that the plan says");
            }
        }
        for i in 0..x.argument_count() {
            let (Ok(p), Ok(q)) = (x.argument(i), y.argument(i)) else { continue };
            let q: Value = id.filter(|_| i == dimension).unwrap_or(q.into());
            if p.r#type() != q.r#type() || !self.bind(p.into(), q) {
                return self.differ(Some(a), Some(b), format!("block argument {i} of a piece is another value"));
            }
        }
        self.ops(&ops_of(x), &ops)
    }

    /// Judges the references of a piece to what is in it; others wait for the end.
    fn references_of_piece(&mut self, outside: Vec<(String, String)>) {
        let own = std::mem::replace(&mut self.references, outside);
        for (x, y) in own {
            let kinds = [NameKind::Herd, NameKind::Segment, NameKind::Launch];
            let partners: Vec<&str> = kinds.into_iter().filter_map(|kind| self.names.get(kind, &x)).collect();
            if partners.is_empty() {
                self.references.push((x, y));
            } else if !partners.contains(&y.as_str()) {
                self.differ(None, None, format!("a reference to `@{x}` is one to `@{y}`"));
            }
        }
    }

    /// The names of a piece are those that the plan gives it.
    fn names_of_piece(&mut self, a: OperationRef<'c, 'c>, piece: &RowPiece) -> bool {
        let found: Vec<(NameKind, String, String)> = self
            .names
            .pairs()
            .filter(|(kind, ..)| kind.is_hierarchy())
            .map(|(kind, from, to)| (kind, from.to_string(), to.to_string()))
            .collect();
        let mut planned: Vec<(NameKind, String, String)> = Vec::new();
        for name in &piece.names {
            let kind = match name.kind {
                LocalKind::Launch => NameKind::Launch,
                LocalKind::Segment => NameKind::Segment,
                LocalKind::Herd => NameKind::Herd,
                _ => return self.differ(Some(a), None, "the plan names something else in a piece"),
            };
            planned.push((kind, name.from.clone(), name.to.clone()));
        }
        planned.sort();
        let is_same = found == planned;
        self.piece_names.extend(found.into_iter().map(|(kind, _, to)| (kind, to)));
        is_same || self.differ(Some(a), None, "a piece has other names than the plan says")
    }
}

/// The result of an op that applies a map to a launch id and to nothing else.
fn id_mapped<'c>(op: OperationRef<'c, 'c>, id: Value<'c, 'c>, map: &str) -> Option<Value<'c, 'c>> {
    let attributes = attr::all(op);
    let is_map = |(key, found): &(&str, airlink_ir::Attribute<'_>)| *key == "map" && found.to_string() == map;
    let is_mapped = name(op) == "affine.apply" && attributes.len() == 1 && attributes.iter().all(is_map);
    let is_of_id = op.operand_count() == 1 && op.operand(0).ok() == Some(id);
    (is_mapped && is_of_id && op.result_count() == 1).then(|| op.result(0).ok().map(Into::into))?
}

fn is_only_block(block: BlockRef<'_, '_>) -> bool {
    block.next_in_region().is_none()
}

/// The value of an `arith.constant` of type index.
pub(crate) fn constant(value: Value<'_, '_>) -> Option<u64> {
    let owner = airlink_ir::defining_op(value)?;
    if name(owner) != "arith.constant" || value.r#type().to_string() != "index" {
        return None;
    }
    u64::try_from(attr::integer(owner.attribute("value").ok()?)?).ok()
}
