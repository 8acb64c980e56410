//! What an ELF of some neighbouring launches costs, and whether it is allowed.

use std::collections::BTreeMap;

use airlink_device::Device;
use airlink_graph::{BufferIdx, ByteRange, LaunchGraph, LaunchIdx, Ranges, Role, Step};
use airlink_limits::{LAUNCHES_ADVISED, args_fault};

use super::CutLimits;
use super::best::Cost;
use crate::Objective;

/// A read or a write of a launch.
struct Touch {
    buffer: BufferIdx,
    range: ByteRange,
    /// Of a write: the last step that reads what it leaves; the step that overwrites it unread; none if nobody ever
    /// does either, and the host takes it.
    write: Option<Option<usize>>,
}

/// A buffer as a whole.
struct Whole {
    size_bytes: u64,
    is_static: bool,
    /// Declared `output` or `inout`: the host takes it whatever the dataflow says.
    is_taken: bool,
    /// Declared `inout`: the host gives it whatever the dataflow says.
    is_given: bool,
}

/// Everything that costs are made of, by launch.
pub(crate) struct Costs {
    pub objective: Objective,
    max_launches: Option<u64>,
    device: Option<&'static Device>,
    has_parity_rule: bool,
    buffers: Vec<Whole>,
    /// In program order of their effects.
    touches: Vec<Vec<Touch>>,
    /// The buffers that it is passed.
    operands: Vec<Vec<BufferIdx>>,
    step_of: Vec<usize>,
    /// Launch ops: two for a kernel with two.
    pub launch_ops: Vec<u64>,
    /// PDI loads; 0 where no device is named.
    pub pdi_loads: Vec<u64>,
}

/// Why a part is not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    MaxLaunches { found: u64, allowed: u64 },
    Limit { code: airlink_diag::Code, found: String, allowed: String, source: &'static str },
}

/// What a part is, as far as reasons speak of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Part {
    pub launch_ops: u64,
    pub arg_count: u64,
    pub pdi_loads: u64,
    /// Bytes that the host hands over and takes back at each call; static buffers are handed over once and don't count.
    pub crossing_bytes: u64,
}

impl Costs {
    pub fn new(graph: &LaunchGraph, objective: Objective, max_launches: Option<u64>, limits: CutLimits) -> Costs {
        let CutLimits { device, has_parity_rule, pdi_loads, launch_ops } = limits;
        let role = |b: &airlink_graph::Buffer| b.declared_role.as_ref().map(|r| r.value);
        let whole = |b: &airlink_graph::Buffer| Whole {
            size_bytes: b.ty.as_ref().and_then(|t| t.as_memref()).and_then(|m| m.byte_count()).unwrap_or(0),
            is_static: role(b) == Some(Role::Static),
            is_taken: matches!(role(b), Some(Role::Output | Role::Inout)),
            is_given: role(b) == Some(Role::Inout),
        };
        let mut step_of = vec![0; graph.launches.len()];
        for (index, step) in graph.steps.iter().enumerate() {
            if let Step::Launch(launch) = step {
                step_of[launch.0] = index;
            }
        }
        Costs {
            objective,
            max_launches,
            device,
            has_parity_rule,
            buffers: graph.buffers.values().map(whole).collect(),
            touches: touches(graph),
            operands: graph.launches.iter().map(|l| l.operands.iter().map(|o| o.buffer).collect()).collect(),
            step_of,
            launch_ops,
            pdi_loads,
        }
    }

    /// Calls `take` for every part of `launches` that begins at `start` and is allowed, shortest first. A launch alone
    /// always is: what is wrong with it was said elsewhere.
    pub fn row(&self, launches: &[LaunchIdx], start: usize, take: &mut dyn FnMut(usize, Cost)) {
        let mut growing = Growing::default();
        for (end, launch) in launches.iter().enumerate().skip(start) {
            let part = growing.add(self, *launch);
            // Arguments and launches only grow, so nothing longer is allowed either.
            if end > start && (self.refusal(&part).is_some() || self.is_hopeless(&part)) {
                return;
            }
            take(end + 1, self.cost(&part));
        }
    }

    pub fn part(&self, launches: &[LaunchIdx]) -> Part {
        let mut growing = Growing::default();
        launches.iter().fold(Part::default(), |_, l| growing.add(self, *l))
    }

    /// Whether the objective can never want this part: its launches one by one are cheaper.
    fn is_hopeless(&self, part: &Part) -> bool {
        self.objective == Objective::Compile && part.launch_ops > LAUNCHES_ADVISED as u64
    }

    /// Whether one ELF of everything is surely the best: no partition has fewer calls. Fewer bytes it may have: what an
    /// ELF reads and then overwrites goes both ways.
    pub fn is_whole_best(&self, part: &Part) -> bool {
        let is_least = match self.objective {
            Objective::Launches => true,
            Objective::Compile => part.launch_ops <= LAUNCHES_ADVISED as u64,
            Objective::Bytes => false,
        };
        is_least && self.refusal(part).is_none()
    }

    pub fn refusal(&self, part: &Part) -> Option<Refusal> {
        if let Some(allowed) = self.max_launches.filter(|max| part.launch_ops > *max) {
            return Some(Refusal::MaxLaunches { found: part.launch_ops, allowed });
        }
        let (code, fault) = args_fault(part.arg_count, self.device?)?;
        let unit = fault.unit;
        Some(Refusal::Limit {
            code,
            found: format!("{} {unit}", fault.found),
            allowed: fault.allowed.to_string(),
            source: fault.source,
        })
    }

    /// Most important first. Calls come before bytes but for `bytes`; an odd number of PDI loads makes every later call
    /// wrong with some tools (AL0316), so fewer of them win among equals; then the more even cut, which compiles faster.
    pub fn cost(&self, part: &Part) -> Cost {
        let odd = u64::from(self.has_parity_rule && part.pdi_loads % 2 == 1);
        let square = part.launch_ops.saturating_mul(part.launch_ops);
        match self.objective {
            Objective::Launches => [1, odd, part.crossing_bytes, square],
            Objective::Bytes => [part.crossing_bytes, 1, odd, square],
            Objective::Compile => [part.launch_ops.saturating_sub(LAUNCHES_ADVISED as u64), 1, square, odd],
        }
    }
}

/// A part that grows launch by launch.
#[derive(Default)]
struct Growing {
    part: Part,
    buffers: BTreeMap<BufferIdx, State>,
}

#[derive(Default)]
struct State {
    written: Ranges,
    is_written: bool,
    is_in: bool,
    /// Whether it counts as coming in.
    is_counted_in: bool,
    /// Whether it counts as going out.
    is_out: bool,
    /// The last step that needs what the part wrote; [`usize::MAX`] for the host.
    needed_until: usize,
}

impl Growing {
    /// The part with one launch more, in time of the order of that launch.
    fn add(&mut self, costs: &Costs, launch: LaunchIdx) -> Part {
        let step = costs.step_of[launch.0];
        self.part.launch_ops += costs.launch_ops[launch.0];
        self.part.pdi_loads += costs.pdi_loads[launch.0];
        for buffer in &costs.operands[launch.0] {
            self.buffers.entry(*buffer).or_default();
        }
        self.part.arg_count = self.buffers.len() as u64;
        for touch in &costs.touches[launch.0] {
            let whole = &costs.buffers[touch.buffer.0];
            let state = self.buffers.entry(touch.buffer).or_default();
            match touch.write {
                None if whole.is_static => {}
                None => state.is_in |= !state.written.missing(touch.range).is_empty(),
                Some(_) if whole.is_static => {}
                Some(reader) => {
                    state.is_written = true;
                    state.written.add(touch.range);
                    state.is_in |= whole.is_given;
                    let until = if whole.is_taken { usize::MAX } else { reader.unwrap_or(usize::MAX) };
                    state.needed_until = state.needed_until.max(until);
                }
            }
        }
        // Only what this launch touches can have changed.
        let mut crossing = 0u64;
        let mut gone = 0u64;
        for touch in &costs.touches[launch.0] {
            let size_bytes = costs.buffers[touch.buffer.0].size_bytes;
            let Some(state) = self.buffers.get_mut(&touch.buffer) else { continue };
            // What an ELF needs and overwrites is `inout`, which the host takes back.
            let is_out = state.needed_until > step || (state.is_in && state.is_written);
            match (state.is_out, is_out) {
                (false, true) => crossing += size_bytes,
                (true, false) => gone += size_bytes,
                _ => {}
            }
            state.is_out = is_out;
        }
        crossing += self.newly_in(costs, launch);
        self.part.crossing_bytes = (self.part.crossing_bytes + crossing).saturating_sub(gone);
        self.part
    }

    /// Bytes of the buffers that this launch is the first to need from outside.
    fn newly_in(&mut self, costs: &Costs, launch: LaunchIdx) -> u64 {
        let mut sum = 0u64;
        for touch in &costs.touches[launch.0] {
            if let Some(state) = self.buffers.get_mut(&touch.buffer)
                && state.is_in
                && !state.is_counted_in
            {
                state.is_counted_in = true;
                sum = sum.saturating_add(costs.buffers[touch.buffer.0].size_bytes);
            }
        }
        sum
    }
}

/// Per launch: what it does to buffers, in the order of its effects, each write with its last reader.
fn touches(graph: &LaunchGraph) -> Vec<Vec<Touch>> {
    /// Bytes as last written, by which effect, and the last step that read them.
    struct Pending {
        range: ByteRange,
        effect: usize,
        last_read: Option<usize>,
    }
    let mut of_launch: Vec<Vec<Touch>> = graph.launches.iter().map(|_| Vec::new()).collect();
    for (buffer, effects) in graph.effects().iter().enumerate() {
        // Per effect: the step until which what it wrote is needed, none if the host needs it.
        let mut needed: Vec<Option<usize>> = vec![Some(0); effects.len()];
        let need = |needed: &mut Vec<Option<usize>>, effect: usize, until: Option<usize>| {
            needed[effect] = match (needed[effect], until) {
                (Some(a), Some(b)) => Some(a.max(b)),
                _ => None,
            };
        };
        let mut pending: Vec<Pending> = Vec::new();
        for (index, effect) in effects.iter().enumerate() {
            if !effect.is_write {
                for p in pending.iter_mut().filter(|p| p.range.overlaps(effect.range)) {
                    p.last_read = p.last_read.max(Some(effect.step_index));
                    need(&mut needed, p.effect, Some(effect.step_index));
                }
                continue;
            }
            let mut left = Vec::with_capacity(pending.len() + 1);
            for p in pending {
                if p.range.overlaps(effect.range) && p.last_read.is_none() {
                    need(&mut needed, p.effect, Some(effect.step_index));
                }
                let pieces = airlink_graph::subtract(p.range, effect.range);
                left.extend(pieces.map(|range| Pending { range, ..p }));
            }
            left.push(Pending { range: effect.range, effect: index, last_read: None });
            pending = left;
        }
        for p in pending.iter().filter(|p| p.last_read.is_none()) {
            need(&mut needed, p.effect, None);
        }
        for (effect, needed) in effects.iter().zip(needed) {
            if let Step::Launch(launch) = graph.steps[effect.step_index] {
                let write = effect.is_write.then_some(needed);
                of_launch[launch.0].push(Touch { buffer: BufferIdx(buffer), range: effect.range, write });
            }
        }
    }
    of_launch
}
