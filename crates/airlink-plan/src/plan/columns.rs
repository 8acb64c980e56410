//! The part of a plan that is about matrix-vector products over more columns.

use airlink_limits::{Panel, Resource};
use serde::Serialize;

use crate::ElfPlan;

/// A launch whose herd gets more columns: `factor` times the tiles, as many more rows in each L2 panel, and as many fewer
/// launch points. Each row is computed by the same code from the same elements in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NSplitPlan {
    /// The launch's name.
    pub launch: String,
    /// Position of the launch op in the kernel function, in text order.
    #[serde(skip)]
    pub entry: usize,
    /// At least 2.
    pub factor: u64,
    /// Columns of the herd before the split.
    pub columns: u64,
    /// The dimension of the grid that has fewer points afterwards.
    pub dimension: usize,
    /// Launch points along it before the split.
    pub points: u64,
    /// The transfers that move the rows of a launch point.
    #[serde(skip)]
    pub panels: Vec<Panel>,
    /// What the launch takes of the device without the split and with it; empty where no device is named.
    pub before: Vec<Resource>,
    pub after: Vec<Resource>,
    pub reason: String,
}

impl ElfPlan {
    /// How one launch op is spread over more columns, if it is.
    pub fn n_split(&self, launch: &str, entry: usize) -> Option<&NSplitPlan> {
        self.n_splits.iter().find(|s| s.launch == launch && s.entry == entry)
    }
}

impl NSplitPlan {
    /// `4 x 1 tiles, 8 points`: before the split.
    pub fn narrow(&self) -> String {
        format!("{} x 1 tiles, {} points", self.columns, self.points)
    }

    /// `8 x 1 tiles, 4 points`: with it.
    pub fn wide(&self) -> String {
        let columns = self.columns.saturating_mul(self.factor);
        format!("{columns} x 1 tiles, {} points", self.points / self.factor.max(1))
    }
}
