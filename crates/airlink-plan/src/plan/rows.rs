//! The part of a plan that is about launches over parts of a grid.

use airlink_limits::Resource;
use serde::Serialize;

use crate::{ElfPlan, LocalRename};

/// A launch whose grid is cut: it becomes several launches over consecutive ranges of one dimension. Each adds its first
/// point to its launch id, so every point does what it did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RowSplitPlan {
    /// The launch's name.
    pub launch: String,
    /// Position of the launch op in the kernel function, in text order.
    #[serde(skip)]
    pub entry: usize,
    /// The dimension of the grid that is cut.
    pub dimension: usize,
    /// Launch points along that dimension before the split.
    pub points: u64,
    /// In order; together they are every point once.
    pub pieces: Vec<RowPiece>,
    /// What the launch takes of the device whole; empty where no device is named.
    pub before: Vec<Resource>,
    /// What the piece that takes most takes.
    pub after: Vec<Resource>,
    pub reason: String,
}

/// One launch over a part of a grid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RowPiece {
    /// The first launch point.
    pub first: u64,
    /// Number of launch points, at least 1.
    pub count: u64,
    /// Names of its launch, segments and herds, from those in the kernel. The first piece has the launch's own.
    #[serde(skip)]
    pub names: Vec<LocalRename>,
}

impl ElfPlan {
    /// How the grid of one launch op is cut, if it is.
    pub fn row_split(&self, launch: &str, entry: usize) -> Option<&RowSplitPlan> {
        self.row_splits.iter().find(|s| s.launch == launch && s.entry == entry)
    }

    /// For each launch op that one launch op of a kernel becomes: what its name gets, `[2/5]` or nothing.
    pub fn piece_suffixes(&self, launch: &str, entry: usize) -> Vec<String> {
        self.row_split(launch, entry).map_or(vec![String::new()], RowSplitPlan::suffixes)
    }
}

impl RowSplitPlan {
    /// Launch points of the pieces: `9 x 238 + 1 x 232`.
    pub fn sizes(&self) -> String {
        let mut counts: Vec<(u64, usize)> = Vec::new();
        for piece in &self.pieces {
            match counts.last_mut() {
                Some((count, times)) if *count == piece.count => *times += 1,
                _ => counts.push((piece.count, 1)),
            }
        }
        let texts: Vec<String> = counts.iter().map(|(count, times)| format!("{times} x {count}")).collect();
        texts.join(" + ")
    }

    /// What the launch's name gets for each piece: `[2/5]`.
    pub fn suffixes(&self) -> Vec<String> {
        let count = self.pieces.len();
        (1..=count).map(|i| format!("[{i}/{count}]")).collect()
    }
}
