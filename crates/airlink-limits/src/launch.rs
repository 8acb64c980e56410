//! One launch.

use airlink_diag::{Finding, codes};
use airlink_kernel::{Memory, Traffic, TransferKind};

use crate::flows::flow_groups;
use crate::resource::{Resource, ResourceKind};
use crate::setup::Setup;
use crate::split::splits;
use crate::{bds, cores, memory, remedy, routing, shim};

/// What a launch takes, and what is wrong with it.
#[derive(Clone, Debug, Default)]
pub struct LaunchUse {
    /// As findings call it.
    pub name: String,
    pub resources: Vec<Resource>,
    pub findings: Vec<Finding>,
    /// Shim tasks of one chunk, over all channels: each is one push.
    pub task_count: u64,
    /// Its launch end resets the device (a channel program with several tasks), so it loads a PDI of its own.
    pub has_reset: bool,
}

impl LaunchUse {
    pub(crate) fn take(&mut self, kind: ResourceKind, used: u64, allowed: u64) {
        self.take_some(kind, used, allowed, false);
    }

    pub(crate) fn take_some(&mut self, kind: ResourceKind, used: u64, allowed: u64, is_partial: bool) {
        self.resources.push(Resource { kind, used, allowed, is_partial });
    }
}

/// Judges one launch, and looks for remedies.
pub fn judge_launch(name: &str, traffic: &Traffic, setup: &Setup) -> LaunchUse {
    let mut used = measure(name, traffic, setup);
    remedy::add(&mut used, traffic, setup);
    used
}

/// Columns and rows of a herd up to which its flows are counted; no device comes near.
const TILES_COUNTED_MAX: u64 = 64;

/// As [`judge_launch`], without remedies: what remedies and splits are tried with.
pub fn measure(name: &str, traffic: &Traffic, setup: &Setup) -> LaunchUse {
    let mut used = LaunchUse { name: name.to_string(), ..LaunchUse::default() };
    let splits = splits(traffic);
    let tiling = traffic.tile_sizes.as_deref().unwrap_or(&setup.options.runtime_tiling);
    constant_accesses(&mut used, traffic);
    left_dmas(&mut used, traffic);
    let places = cores::place_herds(&mut used, traffic, setup);
    // What is larger than any array has no flows worth counting, tile by tile.
    let is_vast = |h: &airlink_kernel::HerdUse| h.size.iter().any(|n| n.is_some_and(|n| n > TILES_COUNTED_MAX));
    if traffic.herds.iter().any(is_vast) {
        memory::judge(&mut used, traffic, &splits, setup);
        return used;
    }
    let groups = flow_groups(traffic, &splits, tiling, setup);
    let flows = shim::judge(&mut used, traffic, &groups, setup);
    memory::judge(&mut used, traffic, &splits, setup);
    bds::judge(&mut used, traffic, &splits, setup);
    cores::judge(&mut used, traffic, &splits, setup);
    routing::judge(&mut used, traffic, &groups, &flows, &splits, &places, setup);
    once_per_place(&mut used.findings);
    used
}

/// A transfer that breaks one rule on its host side breaks it on the other as well: the first finding of a code at a
/// place says enough.
fn once_per_place(findings: &mut Vec<Finding>) {
    let mut seen = Vec::new();
    findings.retain(|f| {
        let place = (f.code, f.primary_span().map(|s| (s.file, s.start)));
        let is_first = place.1.is_none() || !seen.contains(&place);
        seen.push(place);
        is_first
    });
}

/// At most one dynamic size and one dynamic offset, and no dynamic stride (mlir-air, `AIRRtToNpuPass.cpp`).
fn constant_accesses(used: &mut LaunchUse, traffic: &Traffic) {
    for transfer in &traffic.transfers {
        let Some((side, _)) = transfer.side_in(Memory::L3) else { continue };
        let sizes = side.sizes.iter().filter(|s| s.is_none()).count();
        let strides = side.strides.iter().filter(|s| s.is_none()).count();
        let wrong = match (sizes, strides, side.dynamic_offset_count) {
            (_, 1.., _) => "a stride is not constant",
            (2.., _, _) => "more than one size is not constant",
            (_, _, 2..) => "more than one offset is neither constant nor linear in the loops",
            _ => continue,
        };
        let text = format!("`{}`: {wrong} in an access of host memory", used.name);
        used.findings.push(
            Finding::error(codes::AL0307, text)
                .at(transfer.span, wrong)
                .found(format!("{sizes} sizes, {strides} strides, {} offsets", side.dynamic_offset_count))
                .allowed("1 size, no stride, 1 offset")
                .source("AIRRtToNpuPass.cpp")
                .remedy("specialise the kernel: make all but one of them constants"),
        );
    }
}

/// A DMA within one memory stays a DMA while others become channels, and a segment may not mix the two.
fn left_dmas(used: &mut LaunchUse, traffic: &Traffic) {
    let Some(other) = traffic.transfers.iter().find(|t| t.kind != TransferKind::Dma || !is_within(t)) else { return };
    for transfer in traffic.transfers.iter().filter(|t| is_within(t)) {
        let memory = transfer.source.as_ref().map_or("one memory", |s| s.memory.as_str());
        let text = format!("`{}`: a DMA within {memory} stays a DMA beside channels", used.name);
        used.findings.push(
            Finding::error(codes::AL0327, text)
                .at(transfer.span, format!("from {memory} to {memory}"))
                .also(other.span, "this one becomes a channel")
                .source("AIRToAIEPass.cpp:3950-3961")
                .remedy("copy within a memory in the kernel's code, or go through another memory"),
        );
    }
}

fn is_within(transfer: &airlink_kernel::Transfer) -> bool {
    matches!((&transfer.source, &transfer.destination), (Some(s), Some(d)) if s.memory == d.memory)
}
