//! L1 buffers that a segment hands to its herds: whose they are.

use super::{ARGS, complaints, every_way, launch};
use crate::support::{Running, build};
use airlink_host::HostOptions;

/// `b` after each of both ways of a launch without channels, plain and poisoned.
#[track_caller]
fn results(segment: &str) -> Vec<u16> {
    let text = launch("", "", segment, "");
    let mut first: Option<Vec<u16>> = None;
    for poison in [None, Some(0xff)] {
        let options = HostOptions { poison, ..HostOptions::default() };
        let mut running = Running::new(&build(&text, &ARGS, 1, &[], &options));
        for way in every_way() {
            running.set("a", &(0..64).collect::<Vec<u16>>());
            running.set("b", &[0; 64]);
            running.call_with(way).unwrap();
            let found = running.get("b");
            assert_eq!(&found, first.get_or_insert_with(|| found.clone()));
        }
    }
    first.unwrap()
}

/// Two runs of a herd of two tiles: the first fills `buffer`, the second stores it.
fn two_runs(buffer: &str) -> String {
    let herd = |copy: &str| {
        format!(
            "air.herd @h tile (%tx, %ty) in (%nx=%c2, %ny=%c1) args(%p=%l, %from=%sa, %to=%sb) : memref<8xi16, 2>, memref<64xi16>, memref<64xi16> {{
               %e = arith.constant 8 : index
               %at = arith.muli %tx, %e : index
               {copy}
             }}\n"
        )
    };
    format!(
        "{buffer}\n{}{}",
        herd("air.dma_memcpy_nd (%p[] [] [], %from[%at] [8] [1]) : (memref<8xi16, 2>, memref<64xi16>)"),
        herd("air.dma_memcpy_nd (%to[%at] [8] [1], %p[] [] []) : (memref<64xi16>, memref<8xi16, 2>)")
    )
}

const IN_EXECUTE: &str = "%t, %l = air.execute -> (memref<8xi16, 2>) {
      %m = memref.alloc() : memref<8xi16, 2>
      air.execute_terminator %m : memref<8xi16, 2>
    }";

/// Asynchronous modules allocate in an `air.execute`, which makes no difference to whose the buffer is.
#[test]
fn each_tile_has_its_own_wherever_it_is_allocated() {
    let expected: Vec<u16> = (0..16).chain(std::iter::repeat_n(0, 48)).collect();
    assert_eq!(results(&two_runs("%l = memref.alloc() : memref<8xi16, 2>")), expected);
    assert_eq!(results(&two_runs(IN_EXECUTE)), expected);
}

#[test]
fn a_view_from_outside_is_refused() {
    let view = "%m = memref.alloc() : memref<2x4xi16, 2>
                %l = memref.collapse_shape %m [[0, 1]] : memref<2x4xi16, 2> into memref<8xi16, 2>";
    let found = complaints(&launch("", "", &two_runs(view), ""));
    assert!(found.contains("a herd of several tiles gets a view of this L1 buffer"), "{found}");
}

/// Tile 0 hands `%p` on to tile 1.
fn hop(writes: &str) -> String {
    format!(
        "%l = memref.alloc() : memref<8xi16, 2>
         air.herd @h tile (%tx, %ty) in (%nx=%c2, %ny=%c1) args(%p=%l, %from=%sa, %to=%sb) : memref<8xi16, 2>, memref<64xi16>, memref<64xi16> {{
           %z = arith.constant 0 : index
           %is = arith.cmpi eq, %tx, %z : index
           scf.if %is {{
             {writes}
           }} else {{
             air.dma_memcpy_nd (%to[0] [8] [1], %p[] [] []) : (memref<64xi16>, memref<8xi16, 2>)
           }}
         }}"
    )
}

#[test]
fn what_is_handed_on_twice_is_refused() {
    let write = "air.dma_memcpy_nd (%p[] [] [], %from[8] [8] [1]) : (memref<8xi16, 2>, memref<64xi16>)\n";
    let expected: Vec<u16> = (8..16).chain(std::iter::repeat_n(0, 56)).collect();
    assert_eq!(results(&hop(write)), expected);
    let found = complaints(&launch("", "", &hop(&write.repeat(2)), ""));
    assert!(found.contains("it is written more than once"), "{found}");
}

/// Herds of one tile go on with what the one before has left, whoever wrote it.
#[test]
fn a_chain_of_single_tiles() {
    let herd = |name: &str, body: &str| {
        format!(
            "air.herd @{name} tile (%tx, %ty) in (%nx=%c1, %ny=%c1) args(%p=%l, %from=%sa, %to=%sb) : memref<8xi16, 2>, memref<64xi16>, memref<64xi16> {{
               {body}
             }}\n"
        )
    };
    let double = "%z = arith.constant 0 : index
        %v = memref.load %p[%z] : memref<8xi16, 2>
        %w = arith.addi %v, %v : i16
        memref.store %w, %p[%z] : memref<8xi16, 2>";
    let text = [
        "%l = memref.alloc() : memref<8xi16, 2>\n".to_string(),
        herd("fill", "air.dma_memcpy_nd (%p[] [] [], %from[8] [8] [1]) : (memref<8xi16, 2>, memref<64xi16>)"),
        herd("double", double),
        herd("store", "air.dma_memcpy_nd (%to[0] [8] [1], %p[] [] []) : (memref<64xi16>, memref<8xi16, 2>)"),
    ];
    let expected: Vec<u16> = [16].into_iter().chain(9..16).chain(std::iter::repeat_n(0, 56)).collect();
    assert_eq!(results(&text.concat()), expected);
}

/// Nothing orders a put of a global with what stores into it.
#[test]
fn a_put_of_a_global_that_is_not_constant() {
    let text = launch(
        "memref.global \"private\" @g : memref<8xi16> = dense<1>
         air.channel @in [1]",
        "%g = memref.get_global @g : memref<8xi16>
         air.channel.put @in[%c0] (%g[] [] []) : (memref<8xi16>)",
        "",
        "air.channel.get @in[%c0] (%b[0] [8] [1]) : (memref<64xi16>)",
    );
    let found = complaints(&text);
    assert!(found.contains("a global that is not constant"), "{found}");
    let options = HostOptions::default();
    let mut running =
        Running::new(&build(&text.replace("\"private\"", "\"private\" constant"), &ARGS, 1, &[], &options));
    running.set("b", &[0; 64]);
    running.call_with(every_way()[0]).unwrap();
    assert_eq!(running.get("b")[..9], [1, 1, 1, 1, 1, 1, 1, 1, 0]);
}
