//! Packets: who gets one is said where it is put first, by a number that is known only then.

use super::{GET, bounded, complaints, fault, launch, results};
use airlink_rt::{StreamFault, StreamOptions};

/// A herd whose one tile sends three packets of 8 elements over `channel`, the first to the last of three consumers; `more`
/// stands in the segment beside the herds.
fn three_packets(channels: &str, channel: &str, destination: &str, more: &str) -> String {
    let source = format!(
        "%z = arith.constant 0 : index
         %o = arith.constant 1 : index
         %two = arith.constant 2 : index
         %n = arith.constant 3 : index
         scf.for %i = %z to %n step %o {{
           air.channel.get @in[%z] {GET}
           %d = {destination}
           air.channel.put @{channel}[%z] (%l1[] [] []) dest(%d) : (memref<8xi16, 2>)
         }}"
    );
    let sink = format!(
        "%p = arith.constant 0 : index
         air.channel.get @fan[%p, %ty] {GET}
         air.channel.put @out[%ty] {GET}"
    );
    launch(
        &format!(
            "air.channel @in [1]
             air.channel @fan [1, 1] {{broadcast_shape = [1 : index, 3 : index], channel_type = \"npu_dma_packet\"}}
             air.channel @out [3]
             {channels}"
        ),
        "air.channel.put @in[%c0] (%a[0] [24] [1]) : (memref<64xi16>)",
        &format!("{}\n{more}\n{}", super::herd("source", 1, 1, &source), super::herd("sink", 1, 3, &sink)),
        &(0..3)
            .map(|i| format!("air.channel.get @out[%c{i}] (%b[{}] [8] [1]) : (memref<64xi16>)\n", 8 * i))
            .collect::<String>(),
    )
}

const BACKWARDS: &str = "arith.subi %two, %i : index";
const HOP: &str = "air.channel @hop [1] {channel_type = \"npu_dma_packet\"}";

/// `b` as it is when the packets have come in reverse.
fn reversed() -> Vec<u16> {
    let got = (16..24).chain(8..16).chain(0..8);
    got.chain(std::iter::repeat_n(0xffff, 40)).collect()
}

#[test]
fn a_packet_goes_to_one_consumer() {
    assert_eq!(results(&three_packets("", "fan", BACKWARDS, ""), &[bounded(2)]), reversed());
}

/// The choice goes through two buffers of memtiles.
#[test]
fn the_choice_travels_with_the_packet() {
    let relays = "%m1 = memref.alloc() : memref<8xi16, 1>
         %m2 = memref.alloc() : memref<8xi16, 1>
         scf.for %r = %c0 to %c3 step %c1 {
           air.channel.get @hop[%c0] (%m1[] [] []) : (memref<8xi16, 1>)
           air.channel.put @second[%c0] (%m1[] [] []) : (memref<8xi16, 1>)
         }
         scf.for %r = %c0 to %c3 step %c1 {
           air.channel.get @second[%c0] (%m2[] [] []) : (memref<8xi16, 1>)
           air.channel.put @fan[%c0, %c0] (%m2[] [] []) : (memref<8xi16, 1>)
         }
         memref.dealloc %m1 : memref<8xi16, 1>
         memref.dealloc %m2 : memref<8xi16, 1>";
    let channels = format!("{HOP}\n{}", HOP.replace("@hop", "@second"));
    assert_eq!(results(&three_packets(&channels, "hop", BACKWARDS, relays), &[bounded(2), bounded(16)]), reversed());
}

/// Two halves of a buffer hold packets for two consumers; each goes on by itself.
#[test]
fn parts_of_a_buffer_have_choices_of_their_own() {
    let gets = (0..3).map(|i| format!("air.channel.get @hop[%c0] (%m[{}] [8] [1]) : (memref<24xi16, 1>)\n", 8 * i));
    let puts =
        (0..3).map(|i| format!("air.channel.put @fan[%c0, %c0] (%m[{}] [8] [1]) : (memref<24xi16, 1>)\n", 8 * i));
    let relay = format!(
        "%m = memref.alloc() : memref<24xi16, 1>\n{}{}memref.dealloc %m : memref<24xi16, 1>",
        gets.collect::<String>(),
        puts.collect::<String>()
    );
    assert_eq!(results(&three_packets(HOP, "hop", BACKWARDS, &relay), &[bounded(2)]), reversed());
}

/// Packets in the columns of one buffer lie between each other, and stay apart.
#[test]
fn packets_that_lie_between_each_other() {
    let part = |i: usize| format!("(%m[0, {i}] [8, 1] [3, 1]) : (memref<8x3xi16, 1>)\n");
    let gets: String = (0..3).map(|i| format!("air.channel.get @hop[%c0] {}", part(i))).collect();
    let puts: String = (0..3).map(|i| format!("air.channel.put @fan[%c0, %c0] {}", part(i))).collect();
    let relay = format!("%m = memref.alloc() : memref<8x3xi16, 1>\n{gets}{puts}memref.dealloc %m : memref<8x3xi16, 1>");
    assert_eq!(results(&three_packets(HOP, "hop", BACKWARDS, &relay), &[bounded(2)]), reversed());
}

#[test]
fn one_transfer_of_packets_for_several() {
    let relay = "%m = memref.alloc() : memref<24xi16, 1>
         air.channel.get @hop[%c0] (%m[] [] []) : (memref<24xi16, 1>)
         air.channel.put @fan[%c0, %c0] (%m[] [] []) : (memref<24xi16, 1>)
         memref.dealloc %m : memref<24xi16, 1>";
    let found = fault(&three_packets(HOP, "hop", BACKWARDS, relay), StreamOptions::default());
    assert_eq!(found.to_string(), "moves packets for destinations 2 and 1 in one transfer of `@hop[0]`");
    let relay = relay.replace("(%m[] [] []) : (memref<24xi16, 1>)\n         air.channel.put", "(%m[0] [8] [1]) : (memref<24xi16, 1>)\n air.channel.get @hop[%c0] (%m[8] [8] [1]) : (memref<24xi16, 1>)\n air.channel.put");
    let found = fault(&three_packets(HOP, "hop", BACKWARDS, &relay), StreamOptions::default());
    assert_eq!(found.to_string(), "moves packets for destinations 2 and 1 in one transfer of `@fan[0, 0]`");
}

#[test]
fn a_packet_and_what_is_none() {
    let relay = "%m = memref.alloc() : memref<16xi16, 1>
         air.channel.get @hop[%c0] (%m[0] [8] [1]) : (memref<16xi16, 1>)
         air.channel.put @fan[%c0, %c0] (%m[] [] []) : (memref<16xi16, 1>)
         memref.dealloc %m : memref<16xi16, 1>";
    let found = fault(&three_packets(HOP, "hop", BACKWARDS, relay), StreamOptions::default());
    assert_eq!(found.to_string(), "moves packets for destinations 2 and none in one transfer of `@fan[0, 0]`");
}

#[test]
fn a_choice_where_there_is_none() {
    let text = three_packets("", "fan", BACKWARDS, "")
        .replace("[1, 1] {broadcast_shape = [1 : index, 3 : index], ", "[1, 3] {");
    let found = complaints(&text);
    assert!(found.contains("no packet channel of the program has several consumers"), "{found}");
}

#[test]
fn a_consumer_that_is_not_there() {
    for destination in ["arith.constant 3 : index", "arith.constant -1 : index"] {
        let found = fault(&three_packets("", "fan", destination, ""), StreamOptions::default());
        assert!(matches!(&found, StreamFault::Index { channel, .. } if channel == "fan"), "{found:?}");
    }
    let relay = "%m = memref.alloc() : memref<8xi16, 1>
         air.channel.get @hop[%c0] (%m[] [] []) : (memref<8xi16, 1>)
         air.channel.put @fan[%c0, %c0] (%m[] [] []) : (memref<8xi16, 1>)
         memref.dealloc %m : memref<8xi16, 1>";
    let found = fault(&three_packets(HOP, "hop", "arith.constant 3 : index", relay), StreamOptions::default());
    assert_eq!(found.to_string(), "uses index [3] of channel `@fan`, whose extents are [3]");
}

/// Where cores write headers into their data, the host cannot know who is to get it.
#[test]
fn headers_that_a_core_writes_are_refused() {
    let text = three_packets("", "fan", BACKWARDS, "")
        .replace("\"npu_dma_packet\"", "\"npu_dma_packet\", packet_ids = [3, 5, 7]");
    assert_eq!(results(&text, &[]), reversed(), "the compiler writes them where the put has a `dest`");
    let found = complaints(&text.replace("dest(%d) ", ""));
    assert!(found.contains("has 3 `packet_ids`, and this put from L1 has no `dest`"), "{found}");
}

/// A core that gets a packet and puts data on writes no header: its data goes to all.
#[test]
fn a_core_in_between_makes_new_data() {
    let core = super::herd(
        "core",
        1,
        1,
        &format!(
            "%q = arith.constant 0 : index
             air.channel.get @hop[%q] {GET}
             air.channel.put @fan[%q, %q] {GET}"
        ),
    );
    let text = three_packets(HOP, "hop", BACKWARDS, &core).replace("%n = arith.constant 3", "%n = arith.constant 1");
    let text = text.replace("(%a[0] [24] [1])", "(%a[0] [8] [1])");
    assert_eq!(
        results(&text, &[]),
        (0..8).cycle().take(24).chain(std::iter::repeat_n(0xffff, 40)).collect::<Vec<u16>>()
    );
}
