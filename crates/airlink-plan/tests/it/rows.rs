//! Row splits of launches whose traffic is made by hand: what is cut is disjoint, and pieces are the whole grid.

use std::collections::BTreeMap;

use airlink_diag::{Findings, Span};
use airlink_kernel::{BufferRef, Linear, LoopKind, LoopUse, Memory, Place, Side, Traffic, Transfer, TransferKind};

use crate::support::{Planned, kernel, launch, plan_of};

/// Launch points, and turns of a loop in each.
const POINTS: u64 = 5;
const TURNS: u64 = 3;

fn span() -> Span {
    Span::file_start(Findings::default().sources.add("k.mlir", String::from(" ")))
}

/// A grid of so many points, a loop below it, and transfers that write and read host memory.
fn traffic(points: u64, write: Side, read: Side) -> Traffic {
    let span = span();
    let one = |kind, trip| LoopUse { kind, trip: Some(trip), span };
    let transfer = |source, destination| Transfer {
        kind: TransferKind::Dma,
        span,
        place: Place::Launch,
        loops: vec![0, 1],
        is_conditional: false,
        source,
        destination,
        flags: Vec::new(),
    };
    Traffic {
        loops: vec![one(LoopKind::Launch, points), one(LoopKind::For, TURNS)],
        transfers: vec![transfer(None, Some(write)), transfer(Some(read), None)],
        ..Traffic::default()
    }
}

fn side(argument: usize, constant: i64, steps: [i64; 2], sizes: [u64; 2], strides: [i64; 2]) -> Side {
    let steps = steps.into_iter().enumerate().filter(|(_, s)| *s != 0).collect();
    Side {
        memory: Memory::L3,
        buffer: BufferRef::Argument(argument),
        element: "f32".into(),
        element_bits: Some(32),
        buffer_elements: Some(1 << 20),
        sizes: sizes.map(Some).to_vec(),
        strides: strides.map(Some).to_vec(),
        offset: Some(Linear { constant, steps }),
        dynamic_offset_count: 0,
    }
}

/// The elements that one launch point touches.
fn elements(side: &Side, point: i64) -> Vec<i64> {
    let offset = side.offset.as_ref().expect("linear");
    let mut list = Vec::new();
    for turn in 0..TURNS as i64 {
        let first = offset.constant + offset.step(0) * point + offset.step(1) * turn;
        for i in 0..side.sizes[0].unwrap_or(0) as i64 {
            for j in 0..side.sizes[1].unwrap_or(0) as i64 {
                list.push(first + i * side.strides[0].unwrap_or(0) + j * side.strides[1].unwrap_or(0));
            }
        }
    }
    list
}

/// A launch that writes and reads one buffer, to be cut into so many.
fn planned(traffic: Traffic, launches: u64) -> Planned {
    let kernel = kernel("k.mlir", &["memref<1048576xf32> w", "memref<1048576xf32> r"]).traffic(traffic);
    plan_of(&format!("{}row_split = {launches}\n", launch("a", "k.mlir", &["b", "b"])), &[kernel])
}

#[test]
fn what_is_cut_is_disjoint() {
    let mut state = 0x5EEDu64;
    let mut below = |n: i64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as i64 % n
    };
    let (mut cut, mut refused) = (0, 0);
    for _ in 0..1_500 {
        let step = below(61) - 30;
        let mut any = |argument| {
            let sizes = [1 + below(3) as u64, 1 + below(4) as u64];
            side(argument, 200 + below(8), [step, below(5) - 2], sizes, [below(9) - 4, below(3)])
        };
        let (write, read) = (any(0), any(1));
        let planned = planned(traffic(POINTS, write.clone(), read.clone()), POINTS);
        let Some(plan) = planned.plan else {
            refused += 1;
            continue;
        };
        assert_eq!(plan.elfs[0].row_splits[0].pieces.len() as u64, POINTS);
        cut += 1;
        let mut writer: BTreeMap<i64, i64> = BTreeMap::new();
        for point in 0..POINTS as i64 {
            for e in elements(&write, point) {
                assert_eq!(*writer.entry(e).or_insert(point), point, "{write:?}");
            }
        }
        for point in 0..POINTS as i64 {
            let touched = elements(&read, point);
            assert!(touched.iter().all(|e| writer.get(e).is_none_or(|p| *p == point)), "{write:?} {read:?}");
        }
    }
    assert!(cut > 100 && refused > 100, "{cut} cut, {refused} refused");
}

#[test]
fn pieces_are_every_point_once_and_the_last_alone_is_shorter() {
    let rows = |argument| side(argument, 0, [64, 0], [1, 64], [0, 1]);
    for points in 1..24 {
        for launches in [2, 3, 4, 5, 7, 9, 12, 23, 64, 65u64] {
            let planned = planned(traffic(points, rows(0), rows(1)), launches);
            let size = points.div_ceil(launches);
            let is_legal = points > 1 && launches <= 64 && points.div_ceil(size) == launches;
            assert_eq!(planned.plan.is_some(), is_legal, "{points} points, {launches} launches");
            let Some(plan) = planned.plan else { continue };
            let pieces = &plan.elfs[0].row_splits[0].pieces;
            assert_eq!(pieces.len() as u64, launches);
            let mut next = 0;
            for piece in pieces {
                assert!(piece.first == next && piece.count > 0);
                next += piece.count;
            }
            assert_eq!(next, points);
            assert!(pieces[..pieces.len() - 1].iter().all(|p| p.count == size));
        }
    }
}

#[test]
fn vast_numbers_are_refused_and_do_not_overflow() {
    let vast = |argument| side(argument, i64::MAX, [i64::MIN, i64::MAX], [u64::MAX, u64::MAX], [i64::MIN, i64::MAX]);
    assert!(planned(traffic(u64::MAX, vast(0), vast(1)), 3).plan.is_none());
    // Disjoint, but the last point's offset is no number that the model can hold.
    let far = |argument| side(argument, 0, [1 << 62, 0], [1, 1], [0, 1]);
    assert!(planned(traffic(1 << 40, far(0), far(1)), 3).plan.is_none());
    assert!(planned(traffic(2, far(0), far(1)), 2).plan.is_some());
}
