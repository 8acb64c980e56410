//! What a launch moves, holds and occupies, read from its ops in one walk.

mod access;
mod linear;

use std::collections::HashMap;

use airlink_kernel::{
    ChannelUse, HerdUse, Linear, LocalBuffer, LoopKind, LoopUse, Memory, Place, SegmentUse, Traffic, Transfer,
    TransferKind,
};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value, ValueLike};

use super::{At, hierarchy_args, hierarchy_sizes};
use crate::{attr, children, function_body, name};
use access::Roots;

/// Attributes of transfers that change how a compiler orders or places them.
const FLAGS: &[&str] =
    &["air.runtime_hoist", "air.preserve_shim_dma_order", "air.dedicated_dma_channel", "air.tile_dma_channel"];

/// Values of a function that are linear in its loops, and memrefs by the buffer that they are a part of.
///
/// One of these serves all launches of a function: constants that stand at function level are read once.
pub(super) struct Reader<'c, 'a, 's> {
    at: At<'s>,
    /// The module's channel declarations by name.
    channels: HashMap<&'a str, OperationRef<'c, 'a>>,
    /// The object of each extern that names one.
    objects: HashMap<&'a str, &'a str>,
    /// By a value's identity; looked up, never iterated.
    linear: HashMap<usize, Linear>,
    roots: Roots,
}

/// Where the walk is.
#[derive(Clone)]
struct Scope {
    place: Place,
    loops: Vec<usize>,
    is_conditional: bool,
}

impl<'c: 'a, 'a, 's> Reader<'c, 'a, 's> {
    pub(super) fn new(function: OperationRef<'c, 'a>, tops: &[OperationRef<'c, 'a>], at: At<'s>) -> Self {
        let channels = tops
            .iter()
            .filter(|op| name(**op) == "air.channel")
            .filter_map(|op| Some((attr::string(*op, "sym_name")?, *op)))
            .collect();
        let objects = tops
            .iter()
            .filter(|op| name(**op) == "func.func")
            .filter_map(|op| Some((attr::string(*op, "sym_name")?, attr::string(*op, "link_with")?)))
            .collect();
        let mut reader = Reader { at, channels, objects, linear: HashMap::new(), roots: Roots::default() };
        if let Some(body) = function_body(function) {
            for i in 0..body.argument_count() {
                reader.roots.argument(body.argument(i).expect("in range").into(), i);
            }
        }
        // What stands at function level, in front of launches: constants, views and plain arithmetic.
        for op in children(function) {
            reader.values(op);
        }
        reader
    }

    /// The traffic of one entry op.
    pub(super) fn of_entry(&mut self, entry: OperationRef<'c, 'a>) -> Traffic {
        let mut traffic = Traffic::default();
        let tiling = entry.attribute("air.shim_dma_tile_sizes").ok().map(|a| {
            attr::i64_array(a).unwrap_or_else(|| attr::elements(a).into_iter().filter_map(attr::integer).collect())
        });
        traffic.tile_sizes = tiling.map(|t| t.into_iter().filter_map(|n| u64::try_from(n).ok()).collect());
        let scope = Scope { place: Place::Launch, loops: Vec::new(), is_conditional: false };
        self.visit(entry, &scope, &mut traffic);
        traffic
    }

    fn visit(&mut self, op: OperationRef<'c, 'a>, scope: &Scope, traffic: &mut Traffic) {
        let mut inner = scope.clone();
        match name(op) {
            "air.launch" => self.hierarchy(op, LoopKind::Launch, &mut inner, traffic),
            "air.segment" => {
                inner.place = Place::Segment(traffic.segments.len());
                let segment = SegmentUse { name: owned(op, "sym_name"), span: self.at.span(op) };
                traffic.segments.push(segment);
                self.hierarchy(op, LoopKind::Segment, &mut inner, traffic);
            }
            "air.herd" => self.herd(op, &mut inner, traffic),
            "scf.for" => self.scf_for(op, &mut inner, traffic),
            "affine.for" => self.affine_for(op, &mut inner, traffic),
            "scf.parallel" | "scf.forall" | "affine.parallel" => self.parallel(op, &mut inner, traffic),
            "scf.if" | "affine.if" | "scf.index_switch" | "scf.while" => inner.is_conditional = true,
            "memref.alloc" | "memref.alloca" => self.allocation(op, scope, traffic),
            "air.dma_memcpy_nd" | "air.channel.put" | "air.channel.get" => self.transfer(op, scope, traffic),
            _ => self.values(op),
        }
        for child in children(op) {
            self.visit(child, &inner, traffic);
        }
        self.roots.yields(op);
    }

    /// Ids become loops, extents and `args` keep their outer meaning.
    fn hierarchy(&mut self, op: OperationRef<'c, 'a>, kind: LoopKind, scope: &mut Scope, traffic: &mut Traffic) {
        let sizes = hierarchy_sizes(op);
        let Some(body) = function_body(op) else { return };
        for (i, size) in sizes.iter().enumerate() {
            let trip = self.constant(*size).and_then(|n| u64::try_from(n).ok());
            let index = self.begin_loop(op, kind, trip, scope, traffic);
            if let (Ok(id), Ok(extent)) = (body.argument(i), body.argument(sizes.len() + i)) {
                self.linear.insert(identity(id.into()), Linear { constant: 0, steps: vec![(index, 1)] });
                self.copy(*size, extent.into());
            }
        }
        for (outer, inner) in hierarchy_args(op) {
            self.copy(outer, inner);
            self.roots.alias(outer, inner);
        }
    }

    fn herd(&mut self, op: OperationRef<'c, 'a>, scope: &mut Scope, traffic: &mut Traffic) {
        let index = traffic.herds.len();
        let segment = match scope.place {
            Place::Segment(i) => Some(i),
            _ => None,
        };
        scope.place = Place::Herd(index);
        let first_loop = traffic.loops.len();
        self.hierarchy(op, LoopKind::Tile, scope, traffic);
        let tile_loops: Vec<usize> = (first_loop..traffic.loops.len()).collect();
        let trip = |i: usize| tile_loops.get(i).map_or(Some(1), |l: &usize| traffic.loops[*l].trip);
        let pin = |key| attr::integer(op.attribute(key).ok()?);
        let herd = HerdUse {
            name: owned(op, "sym_name"),
            span: self.at.span(op),
            segment,
            size: [trip(0), trip(1)],
            pin: [pin("x_loc"), pin("y_loc")],
            objects: self.objects_of(op),
            tile_loops,
        };
        traffic.herds.push(herd);
        for (outer, inner) in hierarchy_args(op) {
            if let Some(buffer) = self.roots.local(outer) {
                let views = self.view_bytes(inner);
                let buffer = &mut traffic.buffers[buffer];
                buffer.herds.push(index);
                if buffer.memory == Memory::L1 {
                    buffer.tile_bytes = buffer.tile_bytes.max(views.or(buffer.bytes));
                }
            }
        }
    }

    fn objects_of(&self, herd: OperationRef<'c, 'a>) -> Vec<String> {
        let mut objects: Vec<String> = owned(herd, "link_with").into_iter().collect();
        for call in crate::collect(herd, "func.call") {
            let object = attr::flat_symbol(call, "callee").and_then(|callee| self.objects.get(callee));
            if let Some(object) = object.filter(|o| objects.iter().all(|known| known != *o)) {
                objects.push(object.to_string());
            }
        }
        objects
    }

    fn scf_for(&mut self, op: OperationRef<'c, 'a>, scope: &mut Scope, traffic: &mut Traffic) {
        let bound = |i: usize| self.linear.get(&identity(op.operand(i).ok()?)).cloned();
        let (lower, upper, step) = (bound(0), bound(1), bound(2).and_then(|s| s.as_constant()));
        let trip = match (&lower, &upper, step) {
            (Some(lower), Some(upper), Some(step)) if step > 0 => {
                let span = lower.scale(-1).and_then(|l| upper.add(&l)).and_then(|d| d.as_constant());
                span.map(|d| u64::try_from(d).unwrap_or(0).div_ceil(step.unsigned_abs()))
            }
            _ => None,
        };
        let index = self.begin_loop(op, LoopKind::For, trip, scope, traffic);
        let variable = lower.zip(step).and_then(|(l, s)| l.add(&Linear { constant: 0, steps: vec![(index, s)] }));
        self.induction(op, 0, variable);
        self.roots.loop_carried(op, 3, 1);
    }

    fn affine_for(&mut self, op: OperationRef<'c, 'a>, scope: &mut Scope, traffic: &mut Traffic) {
        let bound = |key| linear::constant_map(op.attribute(key).ok()?);
        let step = op.attribute("step").ok().and_then(attr::integer);
        let (lower, upper) = (bound("lowerBoundMap"), bound("upperBoundMap"));
        let trip = match (lower, upper, step) {
            (Some(l), Some(u), Some(s)) if s > 0 => {
                u.checked_sub(l).map(|d| u64::try_from(d).unwrap_or(0).div_ceil(s.unsigned_abs()))
            }
            _ => None,
        };
        let index = self.begin_loop(op, LoopKind::For, trip, scope, traffic);
        let variable = lower.zip(step).map(|(l, s)| Linear { constant: l, steps: vec![(index, s)] });
        self.induction(op, 0, variable);
    }

    fn parallel(&mut self, op: OperationRef<'c, 'a>, scope: &mut Scope, traffic: &mut Traffic) {
        for (i, (lower, upper, step)) in self.parallel_bounds(op).into_iter().enumerate() {
            let trip = match (lower, upper, step) {
                (Some(l), Some(u), Some(s)) if s > 0 => {
                    u.checked_sub(l).map(|d| u64::try_from(d).unwrap_or(0).div_ceil(s.unsigned_abs()))
                }
                _ => None,
            };
            let index = self.begin_loop(op, LoopKind::Parallel, trip, scope, traffic);
            let variable = lower.zip(step).map(|(l, s)| Linear { constant: l, steps: vec![(index, s)] });
            self.induction(op, i, variable);
        }
    }

    /// Lower bound, upper bound and step of each dimension.
    fn parallel_bounds(&self, op: OperationRef<'c, 'a>) -> Vec<(Option<i64>, Option<i64>, Option<i64>)> {
        if name(op) == "scf.parallel" {
            let count = function_body(op).map_or(0, |b| b.argument_count());
            let bound = |i: usize| self.constant(op.operand(i).ok()?);
            return (0..count).map(|i| (bound(i), bound(count + i), bound(2 * count + i))).collect();
        }
        let list = |key| op.attribute(key).ok().and_then(attr::i64_array).unwrap_or_default();
        let (lower, upper, step) = (list("staticLowerBound"), list("staticUpperBound"), list("staticStep"));
        let known = |v: &i64| (*v != i64::MIN).then_some(*v);
        let count = function_body(op).map_or(0, |b| b.argument_count());
        (0..count)
            .map(|i| {
                let of = |l: &[i64]| l.get(i).and_then(known);
                (of(&lower), of(&upper), of(&step))
            })
            .collect()
    }

    fn begin_loop(
        &self,
        op: OperationRef<'c, 'a>,
        kind: LoopKind,
        trip: Option<u64>,
        scope: &mut Scope,
        traffic: &mut Traffic,
    ) -> usize {
        let index = traffic.loops.len();
        traffic.loops.push(LoopUse { kind, trip, span: self.at.span(op) });
        scope.loops.push(index);
        index
    }

    fn induction(&mut self, op: OperationRef<'c, 'a>, argument: usize, variable: Option<Linear>) {
        if let (Some(variable), Some(body)) = (variable, function_body(op))
            && let Ok(argument) = body.argument(argument)
        {
            self.linear.insert(identity(argument.into()), variable);
        }
    }

    fn allocation(&mut self, op: OperationRef<'c, 'a>, scope: &Scope, traffic: &mut Traffic) {
        let Ok(result) = op.result(0) else { return };
        let Some(shape) = access::shape(result.into()) else { return };
        let memory = shape.memory;
        if memory == Memory::L3 {
            return;
        }
        self.roots.allocation(result.into(), traffic.buffers.len());
        traffic.buffers.push(LocalBuffer {
            memory,
            span: self.at.span(op),
            place: scope.place,
            loops: scope.loops.clone(),
            ty: result.r#type().to_string(),
            bytes: shape.byte_count(),
            tile_bytes: None,
            herds: match scope.place {
                Place::Herd(i) => vec![i],
                _ => Vec::new(),
            },
            is_conditional: scope.is_conditional,
        });
    }

    fn transfer(&mut self, op: OperationRef<'c, 'a>, scope: &Scope, traffic: &mut Traffic) {
        let side = |this: &Self, key| access::side(op, key, &this.linear, &this.roots);
        let (destination, source) = match name(op) {
            "air.dma_memcpy_nd" => (side(self, "dst"), side(self, "src")),
            "air.channel.put" => (None, side(self, "src")),
            _ => (side(self, "dst"), None),
        };
        let kind = match name(op) {
            "air.dma_memcpy_nd" => TransferKind::Dma,
            _ => {
                let indices =
                    access::channel_indices(op).iter().map(|v| self.linear.get(&identity(*v)).cloned()).collect();
                let channel = self.channel(attr::flat_symbol(op, "chan_name").unwrap_or_default(), traffic);
                match name(op) {
                    "air.channel.put" => TransferKind::Put { channel, indices },
                    _ => TransferKind::Get { channel, indices },
                }
            }
        };
        traffic.transfers.push(Transfer {
            kind,
            span: self.at.span(op),
            place: scope.place,
            loops: scope.loops.clone(),
            is_conditional: scope.is_conditional,
            source,
            destination,
            flags: FLAGS.iter().filter(|f| op.has_attribute(f)).map(|f| f.to_string()).collect(),
        });
    }

    /// The position of a channel in the traffic; added at its first use.
    fn channel(&self, name: &str, traffic: &mut Traffic) -> usize {
        if let Some(i) = traffic.channels.iter().position(|c| c.name == name) {
            return i;
        }
        let declaration = self.channels.get(name).copied();
        let integers = |key| {
            let list = declaration.and_then(|d| d.attribute(key).ok()).map(attr::elements).unwrap_or_default();
            list.into_iter().filter_map(attr::integer).filter_map(|n| u64::try_from(n).ok()).collect::<Vec<_>>()
        };
        traffic.channels.push(ChannelUse {
            name: name.to_string(),
            span: declaration.map(|d| self.at.span(d)),
            size: integers("size"),
            broadcast_shape: integers("broadcast_shape"),
            kind: declaration.and_then(|d| attr::string(d, "channel_type")).unwrap_or("npu_dma_stream").to_string(),
        });
        traffic.channels.len() - 1
    }

    /// The bytes of the parts that a herd takes of one of its arguments; none if it takes the whole.
    fn view_bytes(&self, inner: Value<'c, 'a>) -> Option<u64> {
        let mut most = None;
        for (user, position) in crate::uses(inner) {
            let bytes = match name(user) {
                "memref.subview" => access::shape(user.result(0).ok()?.into())?.byte_count()?,
                "air.dma_memcpy_nd" | "air.channel.put" | "air.channel.get" => {
                    access::side_at(user, position, &self.linear, &self.roots)?.byte_count()?
                }
                _ => return None,
            };
            most = most.max(Some(bytes));
        }
        most
    }

    fn values(&mut self, op: OperationRef<'c, 'a>) {
        self.roots.view(op, &self.linear);
        if op.result_count() == 1
            && let Some(value) = linear::result(op, &self.linear)
            && let Ok(result) = op.result(0)
        {
            self.linear.insert(identity(result.into()), value);
        }
    }

    fn constant(&self, value: Value<'c, 'a>) -> Option<i64> {
        self.linear.get(&identity(value))?.as_constant()
    }

    fn copy(&mut self, from: Value<'c, 'a>, to: Value<'c, 'a>) {
        if let Some(value) = self.linear.get(&identity(from)).cloned() {
            self.linear.insert(identity(to), value);
        }
    }
}

fn identity(value: Value<'_, '_>) -> usize {
    value.to_raw().ptr as usize
}

fn owned(op: OperationRef<'_, '_>, key: &str) -> Option<String> {
    attr::string(op, key).map(String::from)
}
