//! Which transfers are split, and into how many parts.

use airlink_device::{K_UNSPLIT_MAX, k_split_best, k_split_nearest, k_split_parts};
use airlink_diag::{Finding, Findings, Reported, codes};
use airlink_graph::{KSplit, Launch, LaunchGraph, LaunchIdx};
use airlink_kernel::{BufferRef, EntrySummary, KernelSummary, KernelType, Memory, Side, Transfer, TransferKind};
use airlink_limits::{Resource, Setup, measure};

use crate::kernel_use::KernelUse;
use crate::{PlanOptions, SplitPlan, rows};

/// A transfer that brings K elements from host memory to an extern.
struct Candidate<'k> {
    /// Of the kernel function, in text order.
    entry: usize,
    /// Of the entry, in text order.
    transfer: usize,
    k: u64,
    element_bits: u64,
    symbol: &'k str,
    what: &'k Transfer,
}

/// The splits of one launch, with what it takes of the device before and after where `setup` says of which. `entries` are
/// those of its kernel as other splits leave them. What cannot be split is an error.
///
/// Errors: AL0503.
pub(crate) fn splits(
    graph: &LaunchGraph,
    index: LaunchIdx,
    kernel: &KernelUse<'_>,
    entries: &[EntrySummary],
    setup: Option<&Setup>,
    options: &PlanOptions,
    findings: &mut Findings,
) -> Result<Vec<SplitPlan>, Reported> {
    let launch = graph.launch(index);
    let choice = launch.k_split.as_ref().map_or(KSplit::Auto, |k| k.value);
    if options.has_no_k_split || choice == KSplit::Off {
        return Ok(Vec::new());
    }
    let mut list = Vec::new();
    let mut failed = None;
    let candidates = candidates(kernel);
    if let (KSplit::Parts(parts), true) = (choice, candidates.is_empty()) {
        failed = Some(findings.fail(nothing_to_split(launch, parts)));
    }
    for c in candidates {
        let parts = match choice {
            KSplit::Parts(parts) if k_split_parts(c.k, c.element_bits).contains(&parts) => Some(parts),
            KSplit::Parts(parts) => {
                failed = Some(findings.fail(illegal_parts(launch, parts, &c)));
                None
            }
            _ => k_split_best(c.k, c.element_bits).or_else(|| {
                failed = Some(findings.fail(no_parts(launch, &c)));
                None
            }),
        };
        let Some(parts) = parts else { continue };
        let (before, after) =
            setup.map_or_else(Default::default, |s| effect(&launch.name.value, entries, &c, parts, s));
        list.push(SplitPlan {
            before,
            after,
            launch: launch.name.value.clone(),
            symbol: c.symbol.to_string(),
            extent: c.k,
            parts,
            entry: c.entry,
            transfer: c.transfer,
            reason: format!(
                "K above {K_UNSPLIT_MAX}: {parts} x {}, the same elements in the same order; a guard for older \
                 toolchains, mlir-air of August 2026 folds it back",
                c.k / parts
            ),
        });
    }
    failed.map_or(Ok(list), Err)
}

/// What the launch takes with the transfer as it is and in `parts`.
fn effect(
    name: &str,
    entries: &[EntrySummary],
    c: &Candidate<'_>,
    parts: u64,
    setup: &Setup,
) -> (Vec<Resource>, Vec<Resource>) {
    let whole = &entries[c.entry].traffic;
    let mut split = whole.clone();
    if let Some(side) = split.transfers[c.transfer].source.as_mut() {
        let each = c.k / parts;
        side.sizes = vec![Some(parts), Some(each)];
        side.strides = vec![i64::try_from(each).ok(), Some(1)];
    }
    let of = |traffic| rows::shown(&[measure(name, traffic, setup)]);
    (of(whole), of(&split))
}

fn candidates<'k>(kernel: &KernelUse<'k>) -> Vec<Candidate<'k>> {
    let mut list = Vec::new();
    for (entry, summary) in kernel.function.entries.iter().enumerate() {
        for (transfer, what) in summary.traffic.transfers.iter().enumerate() {
            let found = k_of(what)
                .filter(|(k, _)| *k > K_UNSPLIT_MAX)
                .and_then(|(k, bits)| Some((k, bits, consumer(kernel.summary, summary, what, k)?)));
            if let Some((k, element_bits, symbol)) = found {
                list.push(Candidate { entry, transfer, k, element_bits, symbol, what });
            }
        }
    }
    list
}

/// K and the bits of an element, if the transfer reads one run of K elements from host memory.
fn k_of(transfer: &Transfer) -> Option<(u64, u64)> {
    let source = transfer.source.as_ref().filter(|s| s.memory == Memory::L3)?;
    if matches!(transfer.kind, TransferKind::Get { .. }) {
        return None;
    }
    let long = |side: &Side| -> Option<usize> {
        let mut dims = (0..side.sizes.len()).filter(|i| side.sizes[*i] != Some(1));
        let only = dims.next()?;
        dims.next().is_none().then_some(only)
    };
    let dim = long(source)?;
    (source.strides.get(dim) == Some(&Some(1))).then_some(())?;
    Some((source.sizes[dim]?, source.element_bits?))
}

/// The extern whose `memref<K>` operand the transfer fills, itself or through a channel: one of its other operands is
/// `RxK`.
fn consumer<'k>(kernel: &'k KernelSummary, entry: &EntrySummary, transfer: &Transfer, k: u64) -> Option<&'k str> {
    let ends: Vec<&Transfer> = match transfer.kind {
        TransferKind::Put { channel, .. } => {
            let gets = |t: &&Transfer| matches!(t.kind, TransferKind::Get { channel: c, .. } if c == channel);
            entry.traffic.transfers.iter().filter(gets).collect()
        }
        _ => vec![transfer],
    };
    let called = |symbol: &str| entry.calls.iter().any(|c| c.symbol == symbol);
    ends.into_iter().find_map(|end| {
        let BufferRef::Local(buffer) = end.destination.as_ref()?.buffer else { return None };
        let ty = KernelType::parse(&entry.traffic.buffers.get(buffer)?.ty)?;
        let takes = kernel.externs.iter().find(|e| e.k() == Some(k) && e.inputs.contains(&ty) && called(&e.symbol))?;
        Some(takes.symbol.as_str())
    })
}

fn nothing_to_split(launch: &Launch, parts: u64) -> Finding {
    Finding::error(codes::AL0503, format!("launch `{}` asks for {parts} parts of K and has none", launch.name.value))
        .maybe_at(launch.k_split.as_ref().map(|k| k.span), "no transfer to split")
        .allowed(format!("a transfer of more than {K_UNSPLIT_MAX} elements that fills the K operand of an extern"))
        .also(launch.kernel.span, "its kernel")
        .remedy("remove the key")
}

fn illegal_parts(launch: &Launch, parts: u64, c: &Candidate<'_>) -> Finding {
    let legal: Vec<String> = k_split_parts(c.k, c.element_bits).iter().map(u64::to_string).collect();
    let list = if legal.is_empty() { "none".to_string() } else { legal.join(", ") };
    Finding::error(codes::AL0503, format!("K = {} cannot be split into {parts} parts", c.k))
        .maybe_at(launch.k_split.as_ref().map(|k| k.span), "the number of parts")
        .also(c.what.span, format!("brings {} elements to `@{}`", c.k, c.symbol))
        .found(format!("{parts} parts"))
        .allowed(list)
        .remedy(match k_split_best(c.k, c.element_bits) {
            Some(best) => format!("write `k_split = {best}`, or `\"auto\"`"),
            None => "write `k_split = \"off\"`".to_string(),
        })
}

fn no_parts(launch: &Launch, c: &Candidate<'_>) -> Finding {
    let (below, above) = k_split_nearest(c.k, c.element_bits);
    let near: Vec<String> = [below, above].iter().flatten().map(u64::to_string).collect();
    Finding::error(codes::AL0503, format!("K = {} has no split, which `{}` would need", c.k, launch.name.value))
        .at(launch.kernel.span, "this kernel")
        .also(c.what.span, format!("brings {} elements to `@{}`", c.k, c.symbol))
        .found(format!("{} elements", c.k))
        .allowed("at most 255 parts of at most 1023 elements, each whole 32-bit words")
        .remedy(format!(
            "pad K to the nearest that has one: {}; or write `k_split = \"off\"`, since newer toolchains need none",
            near.join(" or ")
        ))
}
