//! The nearest tiling that is legal, for a remedy that says what to build again.

use serde::Serialize;

use super::{Gemv, check_gemv};
use crate::device::Device;

/// A legal tiling near the one asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Suggestion {
    pub tile_m: u64,
    pub m_input: u64,
    /// Runtime tiling size; only differs from what was asked for if nothing else is legal.
    pub tiling: Option<u64>,
}

/// Rows that are tried at most.
const ROWS_MAX: u64 = 512;

/// Runtime tiling that the registry's models use.
const TILING: u64 = 16;

/// The legal tiling whose `tile_m`, then `m_input`, is nearest to what was asked for; `None` if there is none.
///
/// Runtime tiling is changed only if nothing else helps. A legal tiling is its own suggestion.
pub fn suggest(gemv: &Gemv, device: &Device) -> Option<Suggestion> {
    let with = |tiling| nearest(&Gemv { tiling, ..*gemv }, device);
    with(gemv.tiling).or_else(|| with(Some(TILING)))
}

fn nearest(gemv: &Gemv, device: &Device) -> Option<Suggestion> {
    let tiles = (2..=ROWS_MAX.min(gemv.m)).step_by(2);
    let tiles = tiles.filter(|t| gemv.m.is_multiple_of(t.saturating_mul(gemv.herd_m).max(1)));
    let pairs = tiles.flat_map(|tile_m| (1..=tile_m).filter(move |i| tile_m % i == 0).map(move |i| (tile_m, i)));
    let candidates = pairs.map(|(tile_m, m_input)| Gemv { tile_m, m_input, ..*gemv });
    let distance = |g: &Gemv| (ratio(g.tile_m, gemv.tile_m), ratio(g.m_input, gemv.m_input));
    let best = candidates.filter(|g| check_gemv(g, device).is_empty()).min_by_key(distance)?;
    Some(Suggestion { tile_m: best.tile_m, m_input: best.m_input, tiling: best.tiling })
}

/// How far two counts are apart, as a factor in thousandths.
fn ratio(a: u64, b: u64) -> u128 {
    let (low, high) = (u128::from(a.min(b).max(1)), u128::from(a.max(b)));
    high * 1000 / low
}
