//! The GEMV of the kernel registry, `C[m] = A[m, k] * B[k]` in bf16: rules G1 to G8.

mod suggest;

use serde::Serialize;

use crate::device::{Device, Limit};
use crate::factor::largest_factor;
use crate::fault::{Bound, Fault, Rule, Unit};
use crate::tile::buffer_copies;

pub use suggest::{Suggestion, suggest};

/// A tiling of the GEMV.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Gemv {
    pub m: u64,
    pub k: u64,
    /// Rows of one core and launch step.
    pub tile_m: u64,
    /// Rows of one transfer to a core.
    pub m_input: u64,
    /// Columns of the herd.
    pub herd_m: u64,
    pub has_pingpong: bool,
    /// Runtime tiling size of the launch dimension; `None` and 0 for none.
    pub tiling: Option<u64>,
}

/// What a tiling needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct GemvNeeds {
    pub l1_bytes: u128,
    /// The panel of one launch step.
    pub l2_bytes: u128,
    pub launch_steps: u64,
    /// Launch steps within one chunk of runtime tiling.
    pub steps_per_chunk: u64,
    /// Reads of the vector that one push asks for.
    pub runs_per_push: u64,
    /// Length of a transfer to a core, in 32-bit words.
    pub transfer_words: u128,
}

/// Bytes of a bf16.
const ELEMENT_BYTES: u128 = 2;

/// Elements of `k` that the kernel takes at once.
const VECTOR_ELEMENTS: u64 = 64;

impl Gemv {
    /// Chunks into which runtime tiling cuts the launch.
    pub fn chunks(&self) -> u64 {
        let needs = self.needs(0);
        needs.launch_steps / needs.steps_per_chunk.max(1)
    }

    /// What the tiling needs, with a stack of that many bytes. Divisions that leave a rest round down.
    pub fn needs(&self, stack_bytes: u64) -> GemvNeeds {
        let (tile, herd, k, input) =
            (u128::from(self.tile_m), u128::from(self.herd_m), u128::from(self.k), u128::from(self.m_input));
        let launch_steps = self.m / self.tile_m.saturating_mul(self.herd_m).max(1);
        let input_steps = self.tile_m / self.m_input.max(1);
        let tiling = self.tiling.filter(|t| *t > 0);
        let steps_per_chunk = tiling.and_then(|t| largest_factor(launch_steps, t)).unwrap_or(launch_steps);
        let copies = u128::from(buffer_copies(input_steps, self.has_pingpong));
        let row_bytes = k.saturating_mul(ELEMENT_BYTES);
        let inputs = row_bytes.saturating_mul(input.saturating_add(1)).saturating_mul(copies);
        let rows = herd.saturating_mul(tile);
        GemvNeeds {
            l1_bytes: inputs.saturating_add(tile * ELEMENT_BYTES).saturating_add(stack_bytes.into()),
            l2_bytes: rows.saturating_mul(row_bytes).saturating_add(rows.saturating_mul(ELEMENT_BYTES)),
            launch_steps,
            steps_per_chunk,
            runs_per_push: steps_per_chunk.saturating_mul(input_steps),
            transfer_words: input.saturating_mul(row_bytes).div_ceil(4),
        }
    }
}

/// Judges a tiling by rules G1 to G8, with the default stack of a core.
pub fn check_gemv(gemv: &Gemv, device: &Device) -> Vec<Fault> {
    let zero = [gemv.m, gemv.k, gemv.tile_m, gemv.m_input, gemv.herd_m].contains(&0);
    if zero {
        let unit = Unit("rows", "matvec.py:79");
        return vec![Fault::new(Rule::G1, "smallest size of a GEMV", 0, Bound::AtLeast(1), unit)];
    }
    let needs = gemv.needs(device.core.stack_bytes.value);
    let rows = i128::from(gemv.tile_m).saturating_mul(gemv.herd_m.into());
    let divides = |rule, name: &str, found: u64, by: i128, source| {
        Fault::unless(rule, name, found.into(), Bound::MultipleOf(by), Unit("elements", source))
    };
    let found = |bytes: u128| i128::try_from(bytes).unwrap_or(i128::MAX);
    let words_max = device.core.length_words_max;
    let runs =
        Fault::above(Rule::G8, "reads of the vector per push", needs.runs_per_push, device.shim.push_runs_max, "runs");
    let runs_text = format!(
        "one push reads the vector {} times (repeat count {}), allowed at most {}",
        needs.runs_per_push,
        needs.runs_per_push.saturating_sub(1),
        device.shim.push_runs_max.value
    );
    [
        divides(Rule::G1, "m", gemv.m, rows, "matvec.py:79"),
        divides(Rule::G2, "tile_m", gemv.tile_m, gemv.m_input.into(), "matvec.py:82"),
        divides(Rule::G3, "k", gemv.k, VECTOR_ELEMENTS.into(), "matvec.py:85"),
        above(Rule::G4, "L2 panel of a launch step", found(needs.l2_bytes), device.mem.data_bytes, "bytes"),
        divides(Rule::G5, "tile_m", gemv.tile_m, 2, "AIEDialect.cpp:2333"),
        above(Rule::G6, "L1 of a core with its stack", found(needs.l1_bytes), device.core.data_bytes, "bytes"),
        above(Rule::G7, "transfer to a core", found(needs.transfer_words), words_max, "32-bit words"),
        runs.map(|f| f.saying(runs_text)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn above(rule: Rule, name: &str, found: i128, limit: Limit, unit: &'static str) -> Option<Fault> {
    Fault::above(rule, name, found, limit, unit)
}
