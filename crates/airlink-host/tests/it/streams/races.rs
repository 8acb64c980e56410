//! Tiles that use the same memory at once: AL0725.

use super::*;

/// A herd of two tiles that get a block of 8 elements each from `@in` and then run `body`, with `b` as `%hb`; in front
/// of it in the segment stands `relay`.
fn two_tiles(relay: &str, body: &str) -> String {
    launch(
        "air.channel @in [2]\nair.channel @go [1]\nair.channel @on [1]",
        "air.channel.put @in[%c0] (%a[0] [8] [1]) : (memref<64xi16>)
         air.channel.put @in[%c1] (%a[8] [8] [1]) : (memref<64xi16>)",
        &format!(
            "{relay}
             air.herd @h tile (%tx, %ty) in (%nx=%c2, %ny=%c1) args(%hb=%sb) : memref<64xi16> {{
               %z = arith.constant 0 : index
               %e = arith.constant 8 : index
               %is_first = arith.cmpi eq, %tx, %z : index
               %l1 = memref.alloc() : memref<8xi16, 2>
               air.channel.get @in[%tx] {GET}
               {body}
               memref.dealloc %l1 : memref<8xi16, 2>
             }}"
        ),
        "",
    )
}

const WRITE: &str = "air.dma_memcpy_nd (%hb[0] [8] [1], %l1[] [] []) : (memref<64xi16>, memref<8xi16, 2>)";
const READ: &str = "air.dma_memcpy_nd (%l1[] [] [], %hb[4] [8] [1]) : (memref<8xi16, 2>, memref<64xi16>)";

/// The race in a build that looks for mistakes; none if it runs to its end.
#[track_caller]
fn race(text: &str) -> Option<StreamFault> {
    let options = HostOptions { poison: Some(0xff), ..HostOptions::default() };
    let mut running = Running::new(&build(text, &ARGS, 1, &[], &options));
    running.set("a", &(0..64).collect::<Vec<u16>>());
    running.set("b", &[0; 64]);
    let mut found: Vec<Option<StreamFault>> = Vec::new();
    for way in every_way() {
        found.push(match running.call_with(way) {
            Ok(_) => None,
            Err(CallError::Stream { fault: fault @ StreamFault::Race { .. }, .. }) => Some(fault),
            Err(e) => panic!("{e}"),
        });
    }
    assert!(found.iter().all(|f| f.is_some() == found[0].is_some()), "{found:?}");
    found.swap_remove(0)
}

#[test]
fn tiles_that_race_for_memory() {
    let Some(StreamFault::Race { object, bytes, both_write, .. }) = race(&two_tiles("", WRITE)) else { panic!() };
    assert_eq!((object.as_str(), bytes, both_write), ("`b`", 16, true));
    let branches = |first: &str, second: &str| format!("scf.if %is_first {{\n{first}\n}} else {{\n{second}\n}}");
    let text = two_tiles("", &branches(WRITE, READ));
    let Some(StreamFault::Race { bytes, both_write, writer, other, .. }) = race(&text) else { panic!() };
    assert_eq!((bytes, both_write), (8, false));
    assert_eq!((writer.as_str(), other.as_str()), ("tile [0, 0] of herd `@h`", "tile [1, 0] of herd `@h`"));
    let copy = "%part = memref.subview %hb[0] [8] [1] : memref<64xi16> to memref<8xi16, strided<[1]>>
                memref.copy %l1, %part : memref<8xi16, 2> to memref<8xi16, strided<[1]>>";
    let Some(StreamFault::Race { bytes, both_write, .. }) = race(&two_tiles("", copy)) else { panic!() };
    assert_eq!((bytes, both_write), (16, true));
    // Both only read, or each has elements of its own, be it every other one.
    assert_eq!(race(&two_tiles("", READ)), None);
    let own = "air.dma_memcpy_nd (%hb[%tx, 0] [1, 8] [1, 2], %l1[] [] []) : (memref<64xi16>, memref<8xi16, 2>)";
    assert_eq!(race(&two_tiles("", own)), None);
}

#[test]
fn tiles_that_wait_for_each_other_do_not_race() {
    let one = "(%l1[0] [1] [1]) : (memref<8xi16, 2>)";
    let (put, get) = (format!("air.channel.put @go[] {one}"), format!("air.channel.get @go[] {one}"));
    let branches = |first: &str, second: &str| format!("scf.if %is_first {{\n{first}\n}} else {{\n{second}\n}}");
    let ordered = branches(&format!("{WRITE}\n{put}"), &format!("{get}\n{READ}"));
    assert_eq!(race(&two_tiles("", &ordered)), None);
    // The element says nothing of what its sender does later.
    let early = branches(&format!("{put}\n{WRITE}"), &format!("{get}\n{READ}"));
    assert!(race(&two_tiles("", &early)).is_some());
    // The word may go through a buffer of control code.
    let relay = "%l2 = memref.alloc() : memref<1xi16, 1>
                 air.channel.get @go[] (%l2[] [] []) : (memref<1xi16, 1>)
                 air.channel.put @on[] (%l2[] [] []) : (memref<1xi16, 1>)
                 memref.dealloc %l2 : memref<1xi16, 1>";
    let ordered = branches(&format!("{WRITE}\n{put}"), &format!("air.channel.get @on[] {one}\n{READ}"));
    assert_eq!(race(&two_tiles(relay, &ordered)), None);
}
