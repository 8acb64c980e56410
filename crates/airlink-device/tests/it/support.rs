//! What several tests need.

use airlink_device::{
    Canon, Device, Direction, Fault, Loop, Pattern, Profile, Rule, ShimChannel, ShimFlow, TileBd, TileKind, Transfer,
    granule,
};

pub fn npu2() -> Device {
    *Device::named("npu2").expect("in the table")
}

pub fn pinned() -> Profile {
    Profile::default()
}

pub fn pattern(sizes: &[u64], strides: &[i64]) -> Pattern {
    Pattern::new(sizes, strides)
}

pub fn rules(faults: &[Fault]) -> Vec<Rule> {
    let mut rules: Vec<_> = faults.iter().map(|f| f.rule).collect();
    rules.dedup();
    rules
}

/// Dimensions in which a rule is broken.
pub fn dims(faults: &[Fault], rule: Rule) -> Vec<usize> {
    faults.iter().filter(|f| f.rule == rule).filter_map(|f| f.dim).collect()
}

/// A transfer without loops.
pub fn plain(pattern: Pattern, element_bits: u64, buffer_elements: u64) -> Transfer {
    let (loops, launch_loops, offset, is_foldable) = (Vec::new(), 0, Some(0), true);
    Transfer { loops, launch_loops, pattern, offset, element_bits, buffer_elements, is_foldable }
}

/// A tile read again and again along one buffer, as element-wise kernels do. bf16.
pub fn tiles(elements: u64, tile: u64, herd: u64) -> Transfer {
    let step = tile * herd;
    let loops = vec![Loop { trip: elements / step, step: step as i64 }];
    Transfer { loops, ..plain(Pattern::linear(tile), 16, elements) }
}

pub fn canon_for(element_bits: u64) -> Canon {
    Canon { size_max: 1023, granule: granule(element_bits), modulus: 0, stride_max: 1 << 20 }
}

pub fn tile_bd(kind: TileKind, sizes: &[u64], strides: &[i64], element_bits: u64, buffer_elements: u64) -> TileBd {
    TileBd { kind, pattern: pattern(sizes, strides), element_bits, buffer_elements, offset: 0, is_own_buffer: true }
}

pub fn channel(tile: u64, direction: Direction, index: u64) -> ShimChannel {
    ShimChannel { tile, direction, index }
}

/// The flows of a herd whose every core reads and writes that many of its own.
pub fn herd_flows(columns: u64, rows: u64, inputs: u64, outputs: u64) -> Vec<ShimFlow> {
    let flow = |direction, column| ShimFlow { direction, column: Some(column), is_broadcast: false, is_packet: false };
    let mut flows = Vec::new();
    for column in 0..columns {
        for _ in 0..rows {
            flows.extend((0..inputs).map(|_| flow(Direction::Mm2s, column)));
            flows.extend((0..outputs).map(|_| flow(Direction::S2mm, column)));
        }
    }
    flows
}

/// Every element that a pattern addresses, in order.
pub fn elements(pattern: &Pattern) -> Vec<i64> {
    let mut list = vec![0];
    for (size, stride) in pattern.dims() {
        list = list.iter().flat_map(|base| (0..size as i64).map(move |i| base + i * stride)).collect();
    }
    list
}
