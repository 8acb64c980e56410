//! Splits of every kind, as the page and the log show them.

use airlink_limits::Resource;

use super::resources::amount;
use crate::ElfPlan;

/// One split in words.
pub(crate) struct SplitShown<'p> {
    pub launch: &'p str,
    /// `K of @mv`.
    pub what: String,
    /// `8192`.
    pub before: String,
    /// `16 x 512`.
    pub after: String,
    pub reason: &'p str,
    /// What the launch takes without it and with it; empty where that is not known to differ.
    pub resources: Vec<(Resource, Resource)>,
}

impl SplitShown<'_> {
    /// `runs/push 512 -> 256 of 256, ...`, of the resources that differ.
    pub fn changes(&self) -> String {
        let differing = self.resources.iter().filter(|(before, after)| before.used != after.used);
        let text = |(before, after): &(Resource, Resource)| {
            let [from, to, of] = [before.used, after.used, after.allowed].map(|n| amount(after, n));
            format!("{} {from} → {to} of {of}", after.kind.as_str())
        };
        let list: Vec<String> = differing.map(text).collect();
        if list.is_empty() { "unchanged".to_string() } else { list.join(", ") }
    }
}

/// The splits of an ELF: of K, over columns, then of rows, each in program order.
pub(crate) fn splits_shown(elf: &ElfPlan) -> Vec<SplitShown<'_>> {
    let of_k = elf.splits.iter().map(|s| SplitShown {
        launch: &s.launch,
        what: format!("K of @{}", s.symbol),
        before: s.extent.to_string(),
        after: format!("{} x {}", s.parts, s.extent / s.parts.max(1)),
        reason: &s.reason,
        resources: s.before.iter().copied().zip(s.after.iter().copied()).collect(),
    });
    let of_columns = elf.n_splits.iter().map(|s| SplitShown {
        launch: &s.launch,
        what: "columns".to_string(),
        before: s.narrow(),
        after: s.wide(),
        reason: &s.reason,
        resources: s.before.iter().copied().zip(s.after.iter().copied()).collect(),
    });
    let of_rows = elf.row_splits.iter().map(|s| SplitShown {
        launch: &s.launch,
        what: "launch points".to_string(),
        before: s.points.to_string(),
        after: s.sizes(),
        reason: &s.reason,
        resources: s.before.iter().copied().zip(s.after.iter().copied()).collect(),
    });
    of_k.chain(of_columns).chain(of_rows).collect()
}
