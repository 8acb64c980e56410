//! Transfers of tiles that take a short way: they must do what the long one does.

use super::{GET, bounded, fault, herd, launch, results};
use airlink_rt::{StreamFault, StreamOptions};

/// A loop with `%i` from 0 to `count`.
fn repeat(count: usize, body: &str) -> String {
    format!(
        "%z = arith.constant 0 : index
         %o = arith.constant 1 : index
         %n = arith.constant {count} : index
         scf.for %i = %z to %n step %o {{
           {body}
         }}"
    )
}

/// A program in which tile 1 sends `%l1` to tile 0, `sends`, and tile 0 gets it, `gets`; `%a` comes to tile 1 over `@in`.
fn pair(channels: &str, sends: &str, gets: &str) -> String {
    let body = format!(
        "%first = arith.constant 0 : index
         %is_first = arith.cmpi eq, %tx, %first : index
         scf.if %is_first {{
           {gets}
         }} else {{
           {sends}
         }}"
    );
    launch(
        &format!("air.channel @in [1]\nair.channel @out [1]\n{channels}"),
        "air.channel.put @in[%c0] (%a[0] [64] [1]) : (memref<64xi16>)",
        &herd("h", 2, 1, &body),
        "air.channel.get @out[%c0] (%b[0] [64] [1]) : (memref<64xi16>)",
    )
}

/// Buffers that are only read may lie where the data is, be it a part of a piece or one that others read as well.
#[test]
fn what_is_only_read_is_lent() {
    let body = repeat(
        4,
        &format!(
            "%own = memref.alloc() : memref<8xi16, 2>
             air.channel.get @in[%tx, %ty] {GET}
             %eight = arith.constant 8 : index
             scf.for %k = %z to %eight step %o {{
               %v = memref.load %l1[%k] : memref<8xi16, 2>
               memref.store %v, %own[%k] : memref<8xi16, 2>
             }}
             air.channel.put @out[%tx, %ty] (%own[] [] []) : (memref<8xi16, 2>)
             memref.dealloc %own : memref<8xi16, 2>"
        ),
    );
    let gets = [0, 1].map(|i| {
        format!(
            "%x{i} = arith.constant {i} : index
             air.channel.get @out[%x{i}, %c0] (%b[{}] [32] [1]) : (memref<64xi16>)\n",
            32 * i
        )
    });
    let text = launch(
        "air.channel @in [1, 1] {broadcast_shape = [2 : index, 1 : index]}
         air.channel @out [2, 1]",
        "air.channel.put @in[] (%a[16] [32] [1]) : (memref<64xi16>)",
        &herd("h", 2, 1, &body),
        &gets.concat(),
    );
    assert_eq!(results(&text, &[bounded(2), bounded(24)]), (16..48).cycle().take(64).collect::<Vec<u16>>());
}

/// Small messages in one direction, more of them than the place for them at the FIFO holds: 8 times 8 elements of 2 bytes
/// each time, 8 times.
#[test]
fn little_on_its_way_and_then_more() {
    let all = repeat(8, &format!("air.channel.get @in[%z] {GET}\nair.channel.put @pass[%z] {GET}"));
    let text = pair(
        "air.channel @pass [1]",
        &all,
        &all.replace("@in", "@to").replace("@pass", "@out").replace("@to", "@pass"),
    );
    assert_eq!(results(&text, &[bounded(2), bounded(40)]), (0..64).collect::<Vec<u16>>());
}

/// What is put in eights is got in fours and in sixteens, so that gets end within messages and span them.
#[test]
fn gets_that_are_smaller_and_larger_than_puts() {
    let sends = repeat(8, &format!("air.channel.get @in[%z] {GET}\nair.channel.put @pass[%z] {GET}"));
    let gets = "%z = arith.constant 0 : index
         %o = arith.constant 1 : index
         %two = arith.constant 2 : index
         %four = memref.alloc() : memref<4xi16, 2>
         %more = memref.alloc() : memref<16xi16, 2>
         scf.for %i = %z to %two step %o {
           air.channel.get @pass[%z] (%four[] [] []) : (memref<4xi16, 2>)
           air.channel.put @out[%z] (%four[] [] []) : (memref<4xi16, 2>)
           air.channel.get @pass[%z] (%more[] [] []) : (memref<16xi16, 2>)
           air.channel.put @out[%z] (%more[] [] []) : (memref<16xi16, 2>)
           air.channel.get @pass[%z] (%four[] [] []) : (memref<4xi16, 2>)
           air.channel.put @out[%z] (%four[] [] []) : (memref<4xi16, 2>)
           scf.for %j = %z to %two step %o {
             air.channel.get @pass[%z] (%four[] [] []) : (memref<4xi16, 2>)
             air.channel.put @out[%z] (%four[] [] []) : (memref<4xi16, 2>)
           }
         }";
    let text = pair("air.channel @pass [1]", &sends, gets);
    assert_eq!(results(&text, &[bounded(2), bounded(20)]), (0..64).collect::<Vec<u16>>());
}

/// What nobody gets is counted where it lies close to the tiles, too.
#[test]
fn what_is_left_over_is_said() {
    let sends = repeat(8, &format!("air.channel.get @in[%z] {GET}\nair.channel.put @pass[%z] {GET}"));
    let gets = repeat(7, &format!("air.channel.get @pass[%z] {GET}\nair.channel.put @out[%z] {GET}"));
    let text = pair("air.channel @pass [1]", &sends, &gets);
    let text = text.replace("(%b[0] [64] [1])", "(%b[0] [56] [1])");
    match fault(&text, StreamOptions::default()) {
        StreamFault::Undrained { streams, put, got, .. } => {
            assert_eq!(streams, [("`@pass[0]`".to_string(), 8)]);
            assert_eq!((put, got), (64, 56));
        }
        other => panic!("{other:?}"),
    }
}

/// A second tile that puts into a stream is found although the first has just put at once.
#[test]
fn a_second_writer_is_found() {
    let both = "%z = arith.constant 0 : index\nair.channel.put @pass[%z] (%l1[] [] []) : (memref<8xi16, 2>)";
    let text = launch(
        "air.channel @pass [1]",
        "",
        &herd("h", 2, 1, both),
        "air.channel.get @pass[%c0] (%b[0] [16] [1]) : (memref<64xi16>)",
    );
    assert!(matches!(fault(&text, StreamOptions::default()), StreamFault::Shared { .. }));
}
