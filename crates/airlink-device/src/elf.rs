//! Limits of a whole ELF or xclbin: PDI loads, arguments, control code.

use crate::device::{Device, Limit};
use crate::fault::{Bound, Fault, Rule, Unit};
use crate::profile::Profile;

/// One thing that the main sequence does with a device configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Configures the device of this number.
    Configure(usize),
    /// Loads a reset at the end of a launch.
    Reset,
}

/// PDI loads of a sequence: loads of one device that follow each other directly are one.
pub fn pdi_loads(loads: &[Load]) -> u64 {
    loads.chunk_by(|a, b| matches!((a, b), (Load::Configure(a), Load::Configure(b)) if a == b)).count() as u64
}

/// Whether the next dispatch finds the device reset: an even number of loads, where the tools need that.
pub fn check_pdi_parity(loads: u64, profile: &Profile) -> Option<Fault> {
    let rule = profile.has_pdi_parity_rule;
    let noun = if loads == 1 { "load" } else { "loads" };
    let text = format!("{loads} PDI {noun}: after an odd number the second dispatch runs without a reset");
    let fault =
        Fault::new(Rule::PdiParity, "PDI loads", loads.into(), Bound::MultipleOf(2), Unit("loads", rule.source));
    (rule.is_on && loads % 2 == 1).then(|| fault.saying(text))
}

/// How a program reaches the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    Xclbin,
    FullElf,
}

/// Whether the device takes the container, and the container that many host buffers.
pub fn check_container(container: Container, arg_count: u64, device: &Device) -> Option<Fault> {
    match container {
        Container::Xclbin => {
            Fault::above(Rule::HostArgs, "host buffers of an xclbin", arg_count, device.xclbin_args_max, "buffers")
        }
        Container::FullElf => {
            let unit = Unit("formats", "aircc.cpp:1026-1037");
            let text = format!("{} takes an xclbin, no full ELF", device.name);
            let fault = || Fault::new(Rule::FullElf, "full ELF", 0, Bound::AtLeast(1), unit).saying(text);
            (!device.has_full_elf).then(fault)
        }
    }
}

/// Bytes of the operations of control code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxnBytes {
    pub write32: Limit,
    pub maskwrite32: Limit,
    pub sync: Limit,
    pub address_patch: Limit,
    pub load_pdi: Limit,
    /// Before its words.
    pub blockwrite_header: Limit,
    pub blockwrite_word: Limit,
}

const TXN_SOURCE: &str = "TxnEncoding.h:125-208";

const fn txn(bytes: u64) -> Limit {
    Limit::new(bytes, TXN_SOURCE)
}

impl TxnBytes {
    pub const ALL: TxnBytes = TxnBytes {
        write32: txn(24),
        maskwrite32: txn(28),
        sync: txn(16),
        address_patch: txn(48),
        load_pdi: txn(16),
        blockwrite_header: txn(16),
        blockwrite_word: txn(4),
    };
}

/// Words of a shim BD.
const SHIM_BD_WORDS: u64 = 8;

/// Control-code bytes of shim tasks, without the configuration of the tiles.
pub fn task_bytes(task_count: u64, awaited_count: u64) -> u64 {
    let TxnBytes { write32, sync, address_patch, blockwrite_header, blockwrite_word, .. } = TxnBytes::ALL;
    let bd = blockwrite_header.value + SHIM_BD_WORDS * blockwrite_word.value;
    let task = bd + address_patch.value + write32.value;
    task_count.saturating_mul(task).saturating_add(awaited_count.saturating_mul(sync.value))
}

/// Chunks or trips from which on a compile takes long.
const MANY: u64 = 1000;

/// Whether so many unrolled tasks still compile in reasonable time.
pub fn check_task_count(task_count: u64) -> Option<Fault> {
    let unit = Unit("tasks", "mlir-air explain.md, empirical");
    Fault::unless(Rule::ManyChunks, "unrolled shim tasks", task_count.into(), Bound::AtMost(MANY.into()), unit)
}

/// Whether a loop that fills double buffers has an even trip count, as an element-wise kernel needs.
pub fn check_odd_trips(trip: u64, has_pingpong: bool) -> Option<Fault> {
    let is_odd = has_pingpong && trip > 1 && trip % 2 == 1;
    let unit = Unit("trips", "kernel registry, eltwise_add 245760");
    let text = format!("{trip} trips over double buffers: an odd count has given wrong results");
    is_odd.then(|| Fault::new(Rule::OddTrips, "trips", trip.into(), Bound::MultipleOf(2), unit).saying(text))
}

/// Names that occur more than once, in the order of their second occurrence.
pub fn repeated_names<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let mut seen = std::collections::BTreeSet::new();
    names.iter().copied().filter(|n| !seen.insert(*n)).collect()
}

/// Whether a segment that uses channels has raw DMAs left.
pub fn check_mixed_dma(raw_dma_count: u64, channel_op_count: u64) -> Option<Fault> {
    let unit = Unit("raw DMAs", "AIRToAIEPass.cpp:3950-3961");
    let name = "raw DMAs in a segment with channels";
    let fault = Fault::unless(Rule::MixedDma, name, raw_dma_count.into(), Bound::Exactly(0), unit);
    fault.filter(|_| channel_op_count > 0)
}
