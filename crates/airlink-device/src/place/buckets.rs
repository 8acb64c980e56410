//! L2 buffers on mem tiles.

use serde::Serialize;

use crate::device::Device;
use crate::fault::{Fault, Rule};

/// L2 buffers that a channel links, and that therefore share a mem tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct L2Bucket {
    /// Of all copies.
    pub bytes: u64,
    /// Column of the cores that use them; `None` if it does not matter.
    pub column: Option<u64>,
}

/// The column of each bucket: its own if no column is wanted twice, else all in turn.
pub fn l2_columns(buckets: &[L2Bucket], device: &Device) -> Vec<u64> {
    let column_count = device.columns.value.max(1);
    let mut wanted: Vec<_> = buckets.iter().filter_map(|b| b.column).collect();
    wanted.sort_unstable();
    let is_unique = wanted.len() == buckets.len() && wanted.windows(2).all(|w| w[0] != w[1]);
    let is_inside = wanted.last().is_none_or(|last| *last < column_count);
    let own = |(i, b): (usize, &L2Bucket)| match b.column {
        Some(column) if is_unique && is_inside => column,
        _ => i as u64 % column_count,
    };
    buckets.iter().enumerate().map(own).collect()
}

/// Mem tiles whose buckets are more than they hold.
pub fn check_l2_buckets(buckets: &[L2Bucket], device: &Device) -> Vec<Fault> {
    let columns = l2_columns(buckets, device);
    let mut used: Vec<_> = columns.clone();
    used.sort_unstable();
    used.dedup();
    let check = |column: &u64| {
        let own = buckets.iter().zip(&columns).filter(|(_, c)| *c == column);
        let bytes = own.fold(0i128, |n, (b, _)| n + i128::from(b.bytes));
        let name = format!("L2 of the mem tile of column {column}");
        Fault::above(Rule::L2Bytes, &name, bytes, device.mem.data_bytes, "bytes")
    };
    used.iter().filter_map(check).collect()
}
