//! Rules B1 to B12: buffer descriptors of mem and core tiles.

use super::shim_bd::{granule_bits, whole_words};
use crate::device::{Device, Limit, TileKind};
use crate::fault::{Bound, Fault, Rule, Unit};
use crate::pattern::Pattern;
use crate::profile::Profile;

/// One BD of a mem or core tile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TileBd {
    pub kind: TileKind,
    /// In elements, without an iteration.
    pub pattern: Pattern,
    pub element_bits: u64,
    pub buffer_elements: u64,
    /// First element.
    pub offset: u64,
    /// Whether the buffer lies in the tile whose DMA it is.
    pub is_own_buffer: bool,
}

/// Judges one BD of a mem or core tile. A contiguous transfer needs no dimensions, and their rules do not apply to it.
pub fn check_tile_bd(bd: &TileBd, device: &Device, profile: &Profile) -> Vec<Fault> {
    let limits = device.tile(bd.kind);
    let mut faults = Vec::new();
    let bits = |elements: i128| elements.saturating_mul(bd.element_bits.into());
    let length = bd.pattern.sizes.iter().fold(1i128, |n, s| n.saturating_mul((*s).into()));
    let name = "length of a tile BD";
    faults.extend(whole_words(Rule::B1, name, bits(length), Limit::new(0, "AIEDialect.cpp:2333"), device));
    let words = bits(length) / granule_bits(device);
    faults.extend(Fault::above(Rule::B2, name, words, limits.length_words_max, "32-bit words"));
    let rank = bd.pattern.rank() as i128;
    faults.extend(Fault::above(Rule::B3, "rank of a tile BD", rank, limits.nd_dims, "dimensions"));
    faults.extend(check_reach(bd));
    let at = Limit::new(0, "AIEDialect.cpp:2503-2510");
    faults.extend(whole_words(Rule::B8, "offset of a tile BD", bits(bd.offset.into()), at, device));
    if bd.kind == TileKind::Core && !bd.is_own_buffer {
        let unit = Unit("tiles away", "AIEDialect.cpp:2342-2345");
        faults.push(Fault::new(Rule::B9, "buffer of a core's DMA", 1, Bound::Exactly(0), unit));
    }
    if !bd.pattern.is_contiguous() {
        check_dims(bd, device, profile, &mut faults);
    }
    faults
}

fn check_reach(bd: &TileBd) -> Option<Fault> {
    let mut last = i128::from(bd.offset);
    let mut first = last;
    for (size, stride) in bd.pattern.dims() {
        let step = i128::from(size.saturating_sub(1)).saturating_mul(stride.into());
        if step < 0 {
            first = first.saturating_add(step);
        } else {
            last = last.saturating_add(step);
        }
    }
    let unit = Unit("elements", "AIEDialect.cpp:2422-2427");
    let bound = Bound::AtMost(i128::from(bd.buffer_elements) - 1);
    Fault::unless(Rule::B4, "last element of a tile BD", last, bound, unit)
        .or_else(|| Fault::unless(Rule::B4, "first element of a tile BD", first, Bound::AtLeast(0), unit))
}

fn check_dims(bd: &TileBd, device: &Device, profile: &Profile, faults: &mut Vec<Fault>) {
    let limits = device.tile(bd.kind);
    let rank = bd.pattern.rank();
    for (i, (size, stride)) in bd.pattern.dims().enumerate() {
        let dim = rank - 1 - i;
        let mut of_dim = Vec::new();
        let name = format!("size of dimension {dim} of a tile BD");
        of_dim.extend(Fault::above(Rule::B5, &name, size, profile.tile_dim_elements_max, "elements"));
        let words = match dim {
            0 => i128::from(size).saturating_mul(bd.element_bits.into()) / granule_bits(device),
            _ => size.into(),
        };
        if dim == 0 {
            let bits = i128::from(size).saturating_mul(bd.element_bits.into());
            of_dim.extend(whole_words(Rule::B7, &name, bits, device.address_granule_bits, device));
        }
        if bd.kind == TileKind::Core {
            let wrap = Limit { value: limits.wrap_words_max(), ..limits.wrap_bits };
            of_dim.extend(Fault::above(Rule::B12, &name, words, wrap, "32-bit words"));
        }
        if size > 1 {
            check_stride(bd, dim, stride, device, profile, &mut of_dim);
        }
        faults.extend(of_dim.into_iter().map(|f| f.at(dim)));
    }
}

fn check_stride(bd: &TileBd, dim: usize, stride: i64, device: &Device, profile: &Profile, faults: &mut Vec<Fault>) {
    let name = format!("stride of dimension {dim} of a tile BD");
    let below = profile.tile_stride_elements_bound;
    let unit = Unit("elements", below.source);
    let allowed = i128::from(bd.buffer_elements).min(i128::from(below.value) - 1);
    let bits = i128::from(stride).saturating_mul(bd.element_bits.into());
    let words = bits / granule_bits(device);
    let text = |bound: Bound| format!("{name}: {stride} elements ({words} 32-bit words), allowed {bound} elements");
    for bound in [Bound::AtLeast(1), Bound::AtMost(allowed)] {
        faults.extend(Fault::unless(Rule::B6, &name, stride.into(), bound, unit).map(|f| f.saying(text(bound))));
    }
    if dim == 0 && i128::from(bd.element_bits) != granule_bits(device) {
        let unit = Unit("elements", "AIEDialect.cpp:2459-2465");
        faults.extend(Fault::unless(Rule::B7, &name, stride.into(), Bound::Exactly(1), unit));
    } else if stride != 1 {
        faults.extend(whole_words(Rule::B7, &name, bits, device.address_granule_bits, device));
    }
}

/// Judges the iteration of a tile BD: runs, and elements between them.
pub fn check_iteration(size: u64, stride: i64, element_bits: u64, kind: TileKind, device: &Device) -> Vec<Fault> {
    let limits = device.tile(kind);
    let at = limits.iteration_max;
    let unit = Unit("iterations", at.source);
    let mut faults = Vec::new();
    faults.extend(Fault::unless(Rule::Iteration, "iteration size", size.into(), Bound::AtLeast(1), unit));
    faults.extend(Fault::above(Rule::Iteration, "iteration size", size, at, "iterations"));
    if size > 1 {
        let unit = Unit("elements", at.source);
        let name = "iteration stride";
        faults.extend(Fault::unless(Rule::Iteration, name, stride.into(), Bound::AtLeast(1), unit));
        let bits = i128::from(stride).saturating_mul(element_bits.into());
        faults.extend(whole_words(Rule::Iteration, name, bits, at, device));
        let step = Limit { value: limits.step_words_max(), ..limits.step_bits };
        faults.extend(Fault::above(Rule::Iteration, name, bits / granule_bits(device), step, "32-bit words"));
    }
    faults
}
