//! Loads that the firmware skips.

use std::collections::BTreeMap;

use airlink_diag::{Finding, codes};

use super::Place;
use crate::npu::control::{OpKind, Operation};

/// Why a skipped load matters, and who found out.
const SOURCE: &str =
    "github.com/Xilinx/mlir-aie, pull request 3622: the firmware skips a load of the address that it loaded last";

/// Loads by the symbols that the loader resolves.
pub(super) fn by_section(operations: &[Operation<'_>], place: Place<'_>, findings: &mut Vec<Finding>) {
    let by_offset: BTreeMap<u32, &str> = place.section.relocations.iter().map(|r| (r.offset, &*r.symbol)).collect();
    let symbol = |operation: &Operation<'_>| {
        by_offset.get(&(operation.offset as u32 + 8)).copied().unwrap_or("no PDI").to_string()
    };
    let loads: Vec<(usize, String)> =
        operations.iter().filter(|o| matches!(o.kind, OpKind::LoadPdi { .. })).map(|o| (o.offset, symbol(o))).collect();
    judge(&loads, &place.instance_text(), findings);
}

/// Loads by their ids, where there are no relocations.
pub(super) fn by_id(operations: &[Operation<'_>], file: &str, findings: &mut Vec<Finding>) {
    let load = |o: &Operation<'_>| match o.kind {
        OpKind::LoadPdi { id, .. } => Some((o.offset, format!("PDI {id}"))),
        _ => None,
    };
    let loads: Vec<(usize, String)> = operations.iter().filter_map(load).collect();
    judge(&loads, &format!("`{file}`"), findings);
}

fn judge(loads: &[(usize, String)], what: &str, findings: &mut Vec<Finding>) {
    let pairs: Vec<_> = loads.windows(2).filter(|w| w[0].1 == w[1].1).collect();
    if let Some([(first, symbol), (second, _)]) = pairs.first().copied() {
        let more = if pairs.len() > 1 { format!(", and {} more such loads", pairs.len() - 1) } else { String::new() };
        findings.push(
            Finding::warning(
                codes::AL0640,
                format!("{what} loads `{symbol}` twice in a row: the second load resets nothing"),
            )
            .found(format!("loads at {first:#x} and {second:#x}{more}"))
            .allowed("another section each time, be the content the same")
            .source(SOURCE)
            .remedy("link the kernels with `airlink link`, which alternates between two copies"),
        );
    }
    if let (Some((first, symbol)), Some((last, other))) = (loads.first(), loads.last())
        && symbol == other
    {
        let found = match loads.len() {
            1 => format!("one load, at {first:#x}"),
            _ => format!("loads at {first:#x} and {last:#x}"),
        };
        findings.push(
            Finding::warning(
                codes::AL0641,
                format!("{what} begins and ends with `{symbol}`: it is right once, and wrong on every later dispatch"),
            )
            .found(found)
            .allowed("a last load that differs from the first")
            .source(SOURCE)
            .remedy("link it with `airlink link`, which ends with a reset of its own"),
        );
    }
}
