//! Whether two pieces of IR are the same program up to names.
//!
//! Equal means: the same operations, operands, types, attributes and regions in the same order, under one bijection of
//! values, one of symbols per kind, and one of launch, segment and herd names. The order of module-level symbols,
//! locations and aliases don't count. `link_with` strings do, but for a file that maps along with its symbol.
//! Nothing is folded or deduplicated. Both pieces must live in one context: equal attributes are then one object.

mod accesses;
mod attributes;
mod module;
mod names;
mod symbols;

pub use module::modules;
pub use names::{NameKind, Names};
pub use symbols::Symbols;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::rc::Rc;

use airlink_ir::melior::ir::block::BlockLike;
use airlink_ir::melior::ir::operation::OperationLike;
use airlink_ir::melior::ir::{BlockRef, RegionLike, ValueLike};
use airlink_ir::{OperationRef, Value, name};
use airlink_plan::RowSplitPlan;

use crate::columns::{Panels, Wide};

/// A place where two pieces of IR differ.
#[derive(Clone, Debug)]
pub struct Difference<'c, 'a> {
    pub text: String,
    pub a: Option<OperationRef<'c, 'a>>,
    pub b: Option<OperationRef<'c, 'a>>,
}

/// The comparison of `a` with `b`: what maps to what so far, and how they differ.
pub struct Same<'c, 'a> {
    /// From a value's identity in one to its partner's in the other. Looked up, never iterated.
    a_to_b: HashMap<usize, usize>,
    b_to_a: HashMap<usize, usize>,
    blocks: HashMap<usize, usize>,
    pub names: Names,
    pub differences: Vec<Difference<'c, 'a>>,
    pub(crate) symbols_a: Rc<Symbols<'c, 'a>>,
    pub(crate) symbols_b: Rc<Symbols<'c, 'a>>,
    /// Attributes that the caller compares, on whatever op they stand.
    pub ignored_attributes: &'static [&'static str],
    /// From the identity of a value of `a` to the elements that every access of its partner starts further on.
    /// Looked up, never iterated.
    pub(crate) offsets: HashMap<usize, i64>,
    /// Attributes that declarations of `b` have from those that they were merged with: text by symbol and name.
    pub merged: Rc<BTreeMap<(String, String), String>>,
    /// References to what is no symbol of the module, still to be judged.
    pub(crate) references: Vec<(String, String)>,
    /// Herds that were compared, in the order of `a`.
    pub(crate) herds: Vec<(OperationRef<'c, 'a>, OperationRef<'c, 'a>)>,
    /// Names of the segments that `b` has around bare herds of `a`; none for one without a name.
    pub(crate) made_segments: Vec<Option<&'a str>>,
    /// Parts of K by the identity of the transfer in `a` whose source is split. Looked up, never iterated.
    pub(crate) splits: HashMap<usize, u64>,
    /// How the grid is cut, by the identity of the launch in `a`. Looked up, never iterated.
    pub(crate) row_splits: HashMap<usize, RowSplitPlan>,
    /// How a launch is spread over more columns, by its identity in `a`. Looked up, never iterated.
    pub(crate) wide_launches: HashMap<usize, Wide>,
    /// The one that is being compared.
    pub(crate) wide: Option<Wide>,
    /// The rows of each transfer that moves a panel of a wide launch, by its identity in `a`. Looked up, never iterated.
    pub(crate) panels: HashMap<usize, Panels>,
    /// The extent that the herd of the wide launch has in `b`.
    pub(crate) herd_extent: Option<OperationRef<'c, 'a>>,
    /// Names that `b` has for pieces of launches of `a`, but for those of first pieces.
    pub(crate) piece_names: Vec<(NameKind, String)>,
    /// Definitions whose names were bound and that are still to be compared.
    pub(crate) pending: VecDeque<(OperationRef<'c, 'a>, OperationRef<'c, 'a>)>,
}

/// A state of the comparison to go back to.
#[derive(Clone)]
pub(crate) struct Bindings {
    values: HashMap<usize, usize>,
    blocks: HashMap<usize, usize>,
    names: Names,
}

impl Bindings {
    /// This state with the symbols of a later one, and none of the names that are no symbols.
    pub(crate) fn with_symbols_of(&self, later: &Bindings) -> Bindings {
        Bindings { names: later.names.symbols(), ..self.clone() }
    }
}

/// No more than this many differences are kept: the first ones tell the story.
const DIFFERENCE_COUNT_MAX: usize = 20;

impl<'c, 'a> Same<'c, 'a> {
    /// A comparison of ops of two modules whose symbols are these.
    pub fn new(symbols_a: Rc<Symbols<'c, 'a>>, symbols_b: Rc<Symbols<'c, 'a>>) -> Self {
        Same {
            ignored_attributes: &[],
            merged: Rc::default(),
            references: Vec::new(),
            offsets: HashMap::new(),
            splits: HashMap::new(),
            row_splits: HashMap::new(),
            wide_launches: HashMap::new(),
            wide: None,
            panels: HashMap::new(),
            herd_extent: None,
            piece_names: Vec::new(),
            herds: Vec::new(),
            made_segments: Vec::new(),
            symbols_a,
            symbols_b,
            pending: VecDeque::new(),
            a_to_b: HashMap::new(),
            b_to_a: HashMap::new(),
            blocks: HashMap::new(),
            names: Names::default(),
            differences: Vec::new(),
        }
    }

    /// Whether no more differences are wanted.
    pub fn is_full(&self) -> bool {
        self.differences.len() >= DIFFERENCE_COUNT_MAX
    }

    pub fn differ(
        &mut self,
        a: Option<OperationRef<'c, 'a>>,
        b: Option<OperationRef<'c, 'a>>,
        text: impl Into<String>,
    ) -> bool {
        if !self.is_full() {
            self.differences.push(Difference { text: text.into(), a, b });
        }
        false
    }

    /// What is bound so far, but for what stands for values of `b`.
    pub(crate) fn bindings(&self) -> Bindings {
        Bindings { values: self.a_to_b.clone(), blocks: self.blocks.clone(), names: self.names.clone() }
    }

    /// Goes back to bindings, so that what was bound since can be bound to another partner.
    pub(crate) fn rebind(&mut self, bindings: Bindings) {
        self.a_to_b = bindings.values;
        self.blocks = bindings.blocks;
        self.names = bindings.names;
    }

    /// Says that value `a` is value `b`; false if either has another partner.
    pub fn bind(&mut self, a: Value<'c, 'a>, b: Value<'c, 'a>) -> bool {
        let (ka, kb) = (identity(a), identity(b));
        let forward = *self.a_to_b.entry(ka).or_insert(kb);
        let backward = *self.b_to_a.entry(kb).or_insert(ka);
        forward == kb && backward == ka
    }

    /// Says that `a` stands for `b` without asking that `b` stands for `a` alone: two arguments of a kernel may be wired
    /// to one buffer.
    pub fn bind_argument(&mut self, a: Value<'c, 'a>, b: Value<'c, 'a>) {
        self.a_to_b.insert(identity(a), identity(b));
        self.b_to_a.entry(identity(b)).or_insert(identity(a));
    }

    /// Whether `b` stands for `a`.
    pub fn is_bound(&self, a: Value<'c, 'a>, b: Value<'c, 'a>) -> bool {
        self.a_to_b.get(&identity(a)) == Some(&identity(b))
    }

    /// Compares two sequences of ops one by one; stops at the first op of another name, since what follows has shifted.
    pub fn ops(&mut self, a: &[OperationRef<'c, 'a>], b: &[OperationRef<'c, 'a>]) -> bool {
        let mut same = true;
        for (a, b) in a.iter().zip(b) {
            if self.is_full() {
                return false;
            }
            if name(*a) != name(*b) {
                return self.differ(Some(*a), Some(*b), format!("`{}` against `{}`", name(*a), name(*b)));
            }
            same &= self.op(*a, *b);
        }
        if let Some(extra) = a.get(b.len()) {
            same = self.differ(Some(*extra), None, format!("`{}` has no partner", name(*extra)));
        }
        if let Some(extra) = b.get(a.len()) {
            same = self.differ(None, Some(*extra), format!("`{}` has no partner", name(*extra)));
        }
        same
    }

    /// Compares two ops of one name: operands, attributes, result types, successors, regions.
    pub fn op(&mut self, a: OperationRef<'c, 'a>, b: OperationRef<'c, 'a>) -> bool {
        self.operands(a, b) & self.op_but_operands(a, b)
    }

    /// As [`Same::op`], where the caller has compared the operands.
    pub(crate) fn op_but_operands(&mut self, a: OperationRef<'c, 'a>, b: OperationRef<'c, 'a>) -> bool {
        self.pass_offsets(a);
        if name(a) == "air.herd" {
            self.herds.push((a, b));
        }
        self.attributes(a, b) & self.results(a, b) & self.successors(a, b) & self.regions(a, b)
    }

    fn operands(&mut self, a: OperationRef<'c, 'a>, b: OperationRef<'c, 'a>) -> bool {
        if a.operand_count() != b.operand_count() {
            let text = format!("`{}` has {} operands against {}", name(a), a.operand_count(), b.operand_count());
            return self.differ(Some(a), Some(b), text);
        }
        let mut same = true;
        for (i, (x, y)) in a.operands().zip(b.operands()).enumerate() {
            if let Some(is_same) = self.wide_extent(a, i, x, y) {
                same &= is_same || self.differ(Some(a), Some(b), "a herd has not the columns that the plan gives it");
            } else if !self.is_type(x.r#type(), y.r#type()) {
                let text = format!("operand {i} of `{}` is `{}` against `{}`", name(a), x.r#type(), y.r#type());
                same = self.differ(Some(a), Some(b), text);
            } else if !self.is_bound(x, y) && !self.bind_forward(x, y) {
                same = self.differ(Some(a), Some(b), format!("operand {i} of `{}` is another value", name(a)));
            }
        }
        same
    }

    /// A value may be used before its definition is compared, in loops of blocks: then the use binds it, and the
    /// definition must agree.
    fn bind_forward(&mut self, a: Value<'c, 'a>, b: Value<'c, 'a>) -> bool {
        !self.a_to_b.contains_key(&identity(a)) && !self.b_to_a.contains_key(&identity(b)) && self.bind(a, b)
    }

    fn results(&mut self, a: OperationRef<'c, 'a>, b: OperationRef<'c, 'a>) -> bool {
        if a.result_count() != b.result_count() {
            let text = format!("`{}` has {} results against {}", name(a), a.result_count(), b.result_count());
            return self.differ(Some(a), Some(b), text);
        }
        let mut same = true;
        for (i, (x, y)) in a.results().zip(b.results()).enumerate() {
            if !self.is_type(x.r#type(), y.r#type()) {
                let text = format!("result {i} of `{}` is `{}` against `{}`", name(a), x.r#type(), y.r#type());
                same = self.differ(Some(a), Some(b), text);
            } else if !self.bind(x.into(), y.into()) {
                same = self.differ(Some(a), Some(b), format!("result {i} of `{}` is used as another value", name(a)));
            }
        }
        same
    }

    fn successors(&mut self, a: OperationRef<'c, 'a>, b: OperationRef<'c, 'a>) -> bool {
        let same_count = a.successor_count() == b.successor_count();
        let pairs: Vec<_> = a.successors().zip(b.successors()).collect();
        if same_count && pairs.into_iter().all(|(x, y)| self.bind_block(x, y)) {
            return true;
        }
        self.differ(Some(a), Some(b), format!("`{}` branches to other blocks", name(a)))
    }

    /// Says that block `a` is block `b`.
    pub fn bind_block(&mut self, a: BlockRef<'c, 'a>, b: BlockRef<'c, 'a>) -> bool {
        let (ka, kb) = (a.to_raw().ptr as usize, b.to_raw().ptr as usize);
        *self.blocks.entry(ka).or_insert(kb) == kb
    }

    fn regions(&mut self, a: OperationRef<'c, 'a>, b: OperationRef<'c, 'a>) -> bool {
        if a.region_count() != b.region_count() {
            return self.differ(Some(a), Some(b), format!("`{}` has another number of regions", name(a)));
        }
        let mut same = true;
        for (x, y) in a.regions().zip(b.regions()) {
            let (blocks_a, blocks_b) = (blocks(x), blocks(y));
            if blocks_a.len() != blocks_b.len() {
                let text = format!("`{}` has {} blocks against {}", name(a), blocks_a.len(), blocks_b.len());
                same = self.differ(Some(a), Some(b), text);
                continue;
            }
            for (x, y) in blocks_a.into_iter().zip(blocks_b) {
                same &= self.block(a, b, x, y);
            }
        }
        same
    }

    fn block(
        &mut self,
        a: OperationRef<'c, 'a>,
        b: OperationRef<'c, 'a>,
        x: BlockRef<'c, 'a>,
        y: BlockRef<'c, 'a>,
    ) -> bool {
        if !self.bind_block(x, y) {
            return self.differ(Some(a), Some(b), format!("blocks of `{}` stand in another order", name(a)));
        }
        let of_b = self.without_extent(a, ops_of(x).len(), ops_of(y));
        self.block_arguments(a, b, x, y) && self.ops(&ops_of(x), &of_b)
    }

    /// Binds the arguments of two blocks that belong to `a` and `b`.
    pub fn block_arguments(
        &mut self,
        a: OperationRef<'c, 'a>,
        b: OperationRef<'c, 'a>,
        x: BlockRef<'c, 'a>,
        y: BlockRef<'c, 'a>,
    ) -> bool {
        if x.argument_count() != y.argument_count() {
            let text = format!(
                "a block of `{}` takes {} arguments against {}",
                name(a),
                x.argument_count(),
                y.argument_count()
            );
            return self.differ(Some(a), Some(b), text);
        }
        for i in 0..x.argument_count() {
            let (Ok(p), Ok(q)) = (x.argument(i), y.argument(i)) else { continue };
            if !self.is_type(p.r#type(), q.r#type()) || !self.bind(p.into(), q.into()) {
                let text = format!("block argument {i} of `{}` is `{}` against `{}`", name(a), p.r#type(), q.r#type());
                return self.differ(Some(a), Some(b), text);
            }
        }
        true
    }
}

pub(crate) fn identity(value: Value<'_, '_>) -> usize {
    value.to_raw().ptr as usize
}

/// The blocks of a region in order.
pub(crate) fn blocks<'c, 'a>(region: impl RegionLike<'c, 'a>) -> Vec<BlockRef<'c, 'a>> {
    std::iter::successors(region.first_block(), |b| b.next_in_region()).collect()
}

/// The ops of a block in order.
pub(crate) fn ops_of<'c, 'a>(block: BlockRef<'c, 'a>) -> Vec<OperationRef<'c, 'a>> {
    std::iter::successors(block.first_operation(), |o| o.next_in_block()).collect()
}
