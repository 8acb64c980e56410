//! Control code and channels: what runs, and that every order of tiles gives what the text means.

use std::path::Path;

use crate::project::{Outcome, airlink, files};
use crate::verify::{npy, values};

const GRAPH: &str =
    "[graph]\nname = \"g\"\ndevice = \"npu2\"\n[[launch]]\nname = \"k\"\nkernel = \"k.mlir\"\nargs = [\"x\", \"y\"]\n";

/// A launch over `%x` and `%y` of 64 elements with constants `%c0` to `%c8`, which a segment sees as `%s0` to `%s8`, and
/// the arguments as `%sx` and `%sy`.
fn kernel(channels: &str, before: &str, segment: &str, after: &str) -> String {
    let constants = |name: &str| -> String {
        let one = |n: &i32| format!("%{name}{n} = arith.constant {n} : index\n");
        [0, 1, 2, 3, 4, 8, 16].iter().map(one).collect()
    };
    format!(
        "module {{\n{channels}
        func.func @k(%a0: memref<64xi16>, %a1: memref<64xi16>) {{
          air.launch () in () args(%x=%a0, %y=%a1) : memref<64xi16>, memref<64xi16> {{
            {}{before}
            air.segment @seg args(%sx=%x, %sy=%y) : memref<64xi16>, memref<64xi16> {{
              {}{segment}
            }}
            {after}
          }}
          return
        }}
        }}\n",
        constants("c"),
        constants("s")
    )
}

fn write(folder: &Path, text: &str) {
    std::fs::write(folder.join("g.toml"), GRAPH).unwrap();
    std::fs::write(folder.join("k.mlir"), text).unwrap();
}

/// Verifies a kernel, and runs it on the numbers from 0 to 63: what `y` holds then.
#[track_caller]
fn result(text: &str) -> Vec<u16> {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), text);
    let verified = airlink(folder.path(), &["verify", "g.toml"]).expect(0);
    assert!(verified.stdout.contains("bit-exact: "), "{}", verified.stdout);
    airlink(folder.path(), &["stitch", "g.toml", "-o", ".", "--emit", "elf", "-q"]).expect(0);
    std::fs::write(folder.path().join("x.npy"), npy(&[64], &(0..64).collect::<Vec<u16>>())).unwrap();
    airlink(folder.path(), &["run", "g.elf", "--arg", "x=x.npy", "-o", "out"]).expect(0);
    values(&files(&folder.path().join("out")).into_iter().find(|(n, _)| n == "y.npy").expect("y").1)
}

/// How `verify` ends for a kernel that is wrong.
#[track_caller]
fn refused(text: &str) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), text);
    airlink(folder.path(), &["verify", "g.toml"]).expect(1)
}

/// A herd of `x` by `y` tiles with ids `%tx` and `%ty` and an L1 buffer `%l1` of 8 elements.
fn herd(name: &str, x: u32, y: u32, args: &str, body: &str) -> String {
    format!(
        "air.herd @{name} tile (%tx, %ty) in (%nx=%s{x}, %ny=%s{y}) {args} {{
          %l1 = memref.alloc() : memref<8xi16, 2>
          {body}
          memref.dealloc %l1 : memref<8xi16, 2>
        }}\n"
    )
}

const L1: &str = "(%l1[] [] []) : (memref<8xi16, 2>)";

/// A tile that passes on eight times what comes.
fn eight_times(channel: &str, index: &str) -> String {
    let body = format!(
        "%z = arith.constant 0 : index
         %o = arith.constant 1 : index
         %n = arith.constant 8 : index
         scf.for %i = %z to %n step %o {{
           air.channel.get @{channel}[{index}] {L1}
           air.channel.put @out[] {L1}
         }}"
    );
    herd("h", 1, 1, "", &body)
}

const GET_OUT: &str = "air.channel.get @out[] (%y[] [] []) : (memref<64xi16>)";

#[test]
fn a_put_with_a_count_is_repeated() {
    let eights: Vec<u16> = (8..16).cycle().take(64).collect();
    let put = |attributes: &str| format!("air.channel.put @in[] (%x[8] [8] [1]) {attributes} : (memref<64xi16>)");
    let channels = |attributes: &str| format!("air.channel @in [1] {attributes}\nair.channel @out [1]");
    let body = eight_times("in", "");
    let count = "{air.refeed_count = 8 : i32}";
    assert_eq!(result(&kernel(&channels(""), &put(count), &body, GET_OUT)), eights);
    // What the channel says holds for puts that say nothing.
    assert_eq!(result(&kernel(&channels(count), &put(""), &body, GET_OUT)), eights);
    let two = "{air.refeed_count = 2 : i32}";
    let four = herd("h", 1, 1, "", &format!("air.channel.get @in[] {L1}\nair.channel.put @out[] {L1} {count}"))
        .replace(&format!("{L1} {count}"), &format!("(%l1[] [] []) {count} : (memref<8xi16, 2>)"));
    let once = "{air.refeed_count = 1 : i32}";
    assert_eq!(result(&kernel(&channels(two), &put(once), &four, GET_OUT)), eights);
    let hangs = refused(&kernel(&channels(""), &put(two), &body, GET_OUT));
    assert!(hangs.stderr.contains("error[AL0717]") && hangs.stderr.contains("16 were put"), "{}", hangs.stderr);
    let wrong = refused(&kernel(&channels(""), &put("{air.refeed_count = 0 : i32}"), &body, GET_OUT));
    assert!(wrong.stderr.contains("must be an integer of at least 1"), "{}", wrong.stderr);
}

/// Padding goes with each repetition.
#[test]
fn a_padded_put_with_a_count_is_repeated() {
    let text = kernel(
        "air.channel @in [1]\nair.channel @out [1]",
        "air.channel.put @in[] (%x[8] [5] [1]) {air.refeed_count = 8 : i32, pad_before = array<i32: 1>, pad_after = array<i32: 2>} : (memref<64xi16>)",
        &eight_times("in", ""),
        GET_OUT,
    );
    assert_eq!(result(&text), [0, 8, 9, 10, 11, 12, 0, 0].repeat(8));
}

/// mlir-air counts at the buffer of a memtile.
#[test]
fn a_buffer_with_a_count_is_put_so_often() {
    let segment = |more: &str| {
        format!(
            "%l2 = memref.alloc() {{air.refeed_count = 8 : i32}} : memref<8xi16, 1>
             air.channel.get @to[] (%l2[] [] []) : (memref<8xi16, 1>)
             air.channel.put @in[] (%l2[] [] []) : (memref<8xi16, 1>)
             {more}{}
             memref.dealloc %l2 : memref<8xi16, 1>",
            eight_times("in", "")
        )
    };
    let channels = "air.channel @to [1]\nair.channel @in [1]\nair.channel @out [1]";
    let before = "air.channel.put @to[] (%x[8] [8] [1]) : (memref<64xi16>)";
    let eights: Vec<u16> = (8..16).cycle().take(64).collect();
    assert_eq!(result(&kernel(channels, before, &segment(""), GET_OUT)), eights);
    let again = "air.channel.put @in[] (%l2[] [] []) : (memref<8xi16, 1>)\n";
    let doubt = refused(&kernel(channels, before, &segment(again), GET_OUT));
    assert!(doubt.stderr.contains("error[AL0701]") && doubt.stderr.contains("several puts"), "{}", doubt.stderr);
}

const LATCH: &str = "air.channel @in [1] {channel_type = \"npu_mmio\"}\nair.channel @out [1]";

#[test]
fn a_latch_is_read_as_often_as_anybody_likes() {
    let put = "air.channel.put @in[] (%x[8] [8] [1]) : (memref<64xi16>)";
    let body = eight_times("in", "");
    let eights: Vec<u16> = (8..16).cycle().take(64).collect();
    assert_eq!(result(&kernel(LATCH, put, &body, GET_OUT)), eights);
    // The tile waits for a put that comes later in the text, and nothing is left over of one that nobody gets.
    assert_eq!(result(&kernel(LATCH, "", &body, &format!("{GET_OUT}\n{put}"))), eights);
    let unused = format!("air.channel @more [] {{channel_type = \"npu_mmio\"}}\n{LATCH}");
    let both = format!("{put}\nair.channel.put @more[] (%x[] [] []) : (memref<64xi16>)");
    assert_eq!(result(&kernel(&unused, &both, &body, GET_OUT)), eights);
    let hangs = refused(&kernel(LATCH, "", &body, GET_OUT));
    assert!(hangs.stderr.contains("nobody has put anything into `@k_in[0]`"), "{}", hangs.stderr);
    let short = refused(&kernel(LATCH, &put.replace("[8] [1]", "[4] [1]"), &body, GET_OUT));
    assert!(short.stderr.contains("copies 4 elements to a place for 8"), "{}", short.stderr);
}

#[test]
fn a_latch_hands_out_a_constant_of_the_program_to_every_tile() {
    let table: Vec<String> = (0..8).map(|n| (100 + n).to_string()).collect();
    let channels = format!(
        "memref.global \"private\" constant @table : memref<8xi16> = dense<[{}]>
         air.channel @in [1] {{broadcast_shape = [8 : index], channel_type = \"npu_mmio\"}}
         air.channel @out [8]",
        table.join(", ")
    );
    let gets: String = (0..8)
        .map(|i| {
            format!(
                "%i{i} = arith.constant {i} : index\nair.channel.get @out[%i{i}] (%y[{}] [8] [1]) : (memref<64xi16>)\n",
                8 * i
            )
        })
        .collect();
    let put = "%t = memref.get_global @table : memref<8xi16>\nair.channel.put @in[] (%t[] [] []) : (memref<8xi16>)";
    let body = herd("h", 8, 1, "", &format!("air.channel.get @in[%tx] {L1}\nair.channel.put @out[%tx] {L1}"));
    let expected: Vec<u16> = (100..108).cycle().take(64).collect();
    assert_eq!(result(&kernel(&channels, put, &body, &gets)), expected);
}

/// The execute works on a buffer that a get fills, and the put for that comes last.
#[test]
fn an_execute_waits_by_itself() {
    let segment = |body: &str| {
        format!(
            "%five = arith.constant 5 : i16
             %l2 = memref.alloc() : memref<64xi16, 1>
             %t0 = air.channel.get async @in[] (%l2[] [] []) : (memref<64xi16, 1>)
             %t1 = air.execute [%t0] {{
               {body}
             }}
             %t2 = air.channel.put async [%t1] @out[] (%l2[] [] []) : (memref<64xi16, 1>)
             %t3 = air.wait_all async [%t2]"
        )
    };
    let channels = "air.channel @in [1]\nair.channel @out [1]";
    let after = format!("{GET_OUT}\nair.channel.put @in[] (%x[] [] []) : (memref<64xi16>)");
    let store = "memref.store %five, %l2[%s3] : memref<64xi16, 1>";
    let mut expected: Vec<u16> = (0..64).collect();
    expected[3] = 5;
    assert_eq!(result(&kernel(channels, "", &segment(store), &after)), expected);
    let fill =
        "%half = memref.subview %l2[8] [16] [1] : memref<64xi16, 1> to memref<16xi16, strided<[1], offset: 8>, 1>
                linalg.fill ins(%five : i16) outs(%half : memref<16xi16, strided<[1], offset: 8>, 1>)
                %first = memref.load %l2[%s1] : memref<64xi16, 1>
                memref.store %first, %l2[%s0] : memref<64xi16, 1>";
    let mut expected: Vec<u16> = (0..64).collect();
    expected[8..24].fill(5);
    expected[0] = 1;
    assert_eq!(result(&kernel(channels, "", &segment(fill), &after)), expected);
    let copy = "%from = memref.subview %l2[0] [8] [1] : memref<64xi16, 1> to memref<8xi16, strided<[1]>, 1>
                %to = memref.subview %l2[8] [8] [1] : memref<64xi16, 1> to memref<8xi16, strided<[1], offset: 8>, 1>
                memref.copy %from, %to : memref<8xi16, strided<[1]>, 1> to memref<8xi16, strided<[1], offset: 8>, 1>";
    let mut expected: Vec<u16> = (0..64).collect();
    expected.copy_within(0..8, 8);
    assert_eq!(result(&kernel(channels, "", &segment(copy), &after)), expected);
}

/// In a loop, each turn with a buffer of its own, and with numbers from outside.
#[test]
fn executes_in_loops_wait_by_themselves() {
    let segment = "scf.for %i = %s0 to %s8 step %s1 {
        %t0, %l2 = air.execute -> (memref<8xi16, 1>) {
          %new = memref.alloc() : memref<8xi16, 1>
          air.execute_terminator %new : memref<8xi16, 1>
        }
        %t1 = air.channel.get async [%t0] @in[] (%l2[] [] []) : (memref<8xi16, 1>)
        %number = arith.index_cast %i : index to i16
        %t2 = air.execute [%t1] {
          %before = memref.load %l2[%i] : memref<8xi16, 1>
          %sum = arith.addi %before, %number : i16
          memref.store %sum, %l2[%s0] : memref<8xi16, 1>
        }
        %t3 = air.channel.put async [%t2] @out[] (%l2[] [] []) : (memref<8xi16, 1>)
        %t4 = air.execute [%t3] {
          memref.dealloc %l2 : memref<8xi16, 1>
        }
      }";
    let after = format!("{GET_OUT}\nair.channel.put @in[] (%x[] [] []) : (memref<64xi16>)");
    let mut expected: Vec<u16> = (0..64).collect();
    (0..8).for_each(|i| expected[8 * i] = 9 * i as u16 + i as u16);
    assert_eq!(result(&kernel("air.channel @in [1]\nair.channel @out [1]", "", segment, &after)), expected);
}

#[test]
fn channel_types_may_have_their_old_names() {
    for (old, now) in [("dma_stream", "npu_dma_stream"), ("dma_packet", "npu_dma_packet"), ("cascade", "npu_cascade")] {
        let channels = format!("air.channel @in [1] {{channel_type = \"{old}\"}}\nair.channel @out [1]");
        let put = "air.channel.put @in[] (%x[] [] []) : (memref<64xi16>)";
        let folder = tempfile::tempdir().unwrap();
        let text = kernel(&channels, put, &eight_times("in", ""), GET_OUT);
        write(folder.path(), &text);
        let printed = airlink(folder.path(), &["opt", "k.mlir"]).expect(0).stdout;
        let is_named = now == "npu_dma_stream" || printed.contains(&format!("channel_type = \"{now}\""));
        assert!(is_named && !printed.contains(&format!("\"{old}\"")), "{printed}");
        assert_eq!(result(&text), (0..64).collect::<Vec<u16>>());
    }
    let unknown = "air.channel @in [1] {channel_type = \"gpu_symmetric_heap\"}\nair.channel @out [1]";
    let put = "air.channel.put @in[] (%x[] [] []) : (memref<64xi16>)";
    let refused = refused(&kernel(unknown, put, &eight_times("in", ""), GET_OUT));
    assert!(refused.stderr.contains("type `gpu_symmetric_heap`"), "{}", refused.stderr);
}

/// Two herds of which the first writes an L1 buffer that the second reads, in launches without and with channels.
#[test]
fn herds_hand_on_an_l1_buffer() {
    let herds = |width: u32, writer: &str| {
        let first = format!(
            "air.herd @first tile (%tx, %ty) in (%nx=%s{width}, %ny=%s1) args(%b=%l1, %from=%sx) : memref<64xi16, 2>, memref<64xi16> {{
              %z = arith.constant 0 : index
              %is = arith.cmpi eq, %tx, %z : index
              {writer}
            }}\n"
        );
        let second = "air.herd @second tile (%ux, %uy) in (%mx=%s4, %my=%s1) args(%c=%l1, %to=%sy) : memref<64xi16, 2>, memref<64xi16> {
              %sixteen = arith.constant 16 : index
              %at = arith.muli %ux, %sixteen : index
              air.dma_memcpy_nd (%to[%at] [16] [1], %c[%at] [16] [1]) : (memref<64xi16>, memref<64xi16, 2>)
            }\n";
        format!("%l1 = memref.alloc() : memref<64xi16, 2>\n{first}{second}memref.dealloc %l1 : memref<64xi16, 2>")
    };
    let dma = "air.dma_memcpy_nd (%b[] [] [], %from[] [] []) : (memref<64xi16, 2>, memref<64xi16>)";
    let guarded = format!("scf.if %is {{\n{dma}\n}}");
    let get = "air.channel.get @in[] (%b[] [] []) : (memref<64xi16, 2>)";
    let put = "air.channel.put @in[] (%x[] [] []) : (memref<64xi16>)";
    let all: Vec<u16> = (0..64).collect();
    assert_eq!(result(&kernel("", "", &herds(1, dma), "")), all);
    assert_eq!(result(&kernel("", "", &herds(2, &guarded), "")), all);
    assert_eq!(result(&kernel("air.channel @in [1]", "", &herds(1, get), put)), all);
    assert_eq!(result(&kernel("air.channel @in [1]", "", &herds(2, &format!("scf.if %is {{\n{get}\n}}")), put)), all);
    let all_write = refused(&kernel("", "", &herds(2, dma), ""));
    assert!(
        all_write.stderr.contains("AL0701") && all_write.stderr.contains("several tiles write it"),
        "{}",
        all_write.stderr
    );
    let turns = format!(
        "%o = arith.constant 1 : index\n%n = arith.constant 2 : index\nscf.for %i = %z to %n step %o {{\n{dma}\n}}"
    );
    let again = refused(&kernel("", "", &herds(1, &turns), ""));
    assert!(again.stderr.contains("a loop writes the same place again and again"), "{}", again.stderr);
}

/// Tiles in a column, each of which adds its id to what the one before has left in a buffer between them.
fn column(order: [usize; 3], body: &str) -> String {
    let [a, b, c] = order;
    let l1 = "memref<8xi16, 2>";
    format!(
        "%hop0 = memref.alloc() : {l1}
         %hop1 = memref.alloc() : {l1}
         air.herd @h tile (%tx, %ty) in (%nx=%s1, %ny=%s3) args(%p=%hop0, %q=%hop1, %from=%sx, %to=%sy) : {l1}, {l1}, memref<64xi16>, memref<64xi16> {{
           %z = arith.constant 0 : index
           %o = arith.constant 1 : index
           %n = arith.constant 8 : index
           %hundred = arith.constant 100 : i16
           %own = memref.alloc() : {l1}
           scf.index_switch %ty
           case {a} {{
             {body}
             scf.for %i = %z to %n step %o {{
               %v = memref.load %own[%i] : {l1}
               memref.store %v, %p[%i] : {l1}
             }}
             scf.yield
           }}
           case {b} {{
             scf.for %i = %z to %n step %o {{
               %v = memref.load %p[%i] : {l1}
               %w = arith.addi %v, %hundred : i16
               memref.store %w, %q[%i] : {l1}
             }}
             scf.yield
           }}
           case {c} {{
             air.dma_memcpy_nd (%to[] [8] [1], %q[] [] []) : (memref<64xi16>, {l1})
             scf.yield
           }}
           default {{
           }}
           memref.dealloc %own : {l1}
         }}
         memref.dealloc %hop0 : {l1}
         memref.dealloc %hop1 : {l1}"
    )
}

#[test]
fn tiles_hand_on_l1_buffers() {
    let dma = "air.dma_memcpy_nd (%own[] [] [], %from[8] [8] [1]) : (memref<8xi16, 2>, memref<64xi16>)";
    let get = "air.channel.get @in[] (%own[] [] []) : (memref<8xi16, 2>)";
    let put = "air.channel.put @in[] (%x[8] [8] [1]) : (memref<64xi16>)";
    let expected: Vec<u16> = (108..116).collect();
    for order in [[0, 1, 2], [2, 1, 0]] {
        assert_eq!(result(&kernel("", "", &column(order, dma), ""))[..8], expected, "{order:?}");
        assert_eq!(result(&kernel("air.channel @in [1]", "", &column(order, get), put))[..8], expected, "{order:?}");
    }
    let both_ways = refused(&kernel("", "", &column([0, 2, 1], dma), ""));
    assert!(
        both_ways.stderr.contains("AL0701") && both_ways.stderr.contains("data goes both up and down"),
        "{}",
        both_ways.stderr
    );
    let talk = format!("{dma}\nair.channel.put @in[] (%own[] [] []) : (memref<8xi16, 2>)");
    let text = column([0, 1, 2], &talk)
        .replace("case 1 {", "case 1 {\nair.channel.get @in[] (%own[] [] []) : (memref<8xi16, 2>)");
    let talks = refused(&kernel("air.channel @in [1]", "", &text, ""));
    assert!(talks.stderr.contains("they put into a channel that they get from"), "{}", talks.stderr);
}
