//! Transfers against an oracle that follows the definition: element by element, offsets scaled by the op's strides.

use airlink_host::HostOptions;
use airlink_rt::Role;

use crate::support::{Arg, Running, build, complaints, lowered, numbers};

/// One side: offsets, sizes and strides; all empty for the whole buffer.
type Access<'a> = (&'a [u64], &'a [u64], &'a [u64]);

/// A program that copies the source to L1 by one access and L1 to the destination by another.
fn program(shape: (&str, &str, &str), to_l1: [Access<'_>; 2], to_l3: [Access<'_>; 2]) -> String {
    let (src, l1, dst) = shape;
    let [a, b, c, d] = [to_l1[0], to_l1[1], to_l3[0], to_l3[1]].map(|(o, s, t)| format!("{o:?} {s:?} {t:?}"));
    format!(
        "func.func @f(%src: memref<{src}>, %dst: memref<{dst}>) {{
           %c1 = arith.constant 1 : index
           air.launch (%i) in (%n=%c1) args(%s=%src, %d=%dst) : memref<{src}>, memref<{dst}> {{
             air.segment @seg args(%ss=%s, %dd=%d) : memref<{src}>, memref<{dst}> {{
               %one = arith.constant 1 : index
               air.herd @herd tile (%x, %y) in (%nx=%one, %ny=%one) args(%hs=%ss, %hd=%dd) : memref<{src}>, memref<{dst}> {{
                 %l1 = memref.alloc() : memref<{l1}, 2>
                 air.dma_memcpy_nd (%l1{a}, %hs{b}) : (memref<{l1}, 2>, memref<{src}>)
                 air.dma_memcpy_nd (%hd{c}, %l1{d}) : (memref<{dst}>, memref<{l1}, 2>)
                 memref.dealloc %l1 : memref<{l1}, 2>
               }}
             }}
           }}
           return
         }}"
    )
}

/// The places of an access in its buffer, in order.
fn places((offsets, sizes, strides): Access<'_>, whole: u64) -> Vec<usize> {
    if sizes.is_empty() {
        return (0..whole as usize).collect();
    }
    let count: u64 = sizes.iter().product();
    let place = |number: u64| {
        let mut rest = number;
        let mut at = 0;
        for i in (0..sizes.len()).rev() {
            at += (offsets[i] + rest % sizes[i]) * strides[i];
            rest /= sizes[i];
        }
        at as usize
    };
    (0..count).map(place).collect()
}

fn count(shape: &str) -> u64 {
    let extents = shape.rsplit_once('x').map_or("", |(e, _)| e);
    extents.split('x').filter(|e| !e.is_empty()).map(|e| e.parse::<u64>().unwrap()).product()
}

fn check(shape: (&'static str, &'static str, &'static str), to_l1: [Access<'_>; 2], to_l3: [Access<'_>; 2]) {
    let [src, dst] = [format!("memref<{}>", shape.0), format!("memref<{}>", shape.2)].map(|s| &*s.leak());
    let args: [Arg; 2] = [("src", src, Role::Input), ("dst", dst, Role::Output)];
    let text = program(shape, to_l1, to_l3);
    // Poison tells elements that no transfer reaches.
    let options = HostOptions { poison: Some(0xff), ..HostOptions::default() };
    let mut running = Running::new(&build(&text, &args, 1, &[], &options));
    let source = numbers(7, count(shape.0) as usize);
    running.set("src", &source);
    running.bytes_mut("dst").fill(0xee);
    running.run();
    let mut l1 = vec![0xffffu16; count(shape.1) as usize];
    for (to, from) in places(to_l1[0], count(shape.1)).into_iter().zip(places(to_l1[1], count(shape.0))) {
        l1[to] = source[from];
    }
    let mut expected = vec![0xeeeeu16; count(shape.2) as usize];
    for (to, from) in places(to_l3[0], count(shape.2)).into_iter().zip(places(to_l3[1], count(shape.1))) {
        expected[to] = l1[from];
    }
    assert_eq!(running.get("dst"), expected, "{text}");
}

const WHOLE: Access<'static> = (&[], &[], &[]);

#[test]
fn whole_buffers() {
    check(("4x8xbf16", "4x8xbf16", "32xbf16"), [WHOLE, WHOLE], [WHOLE, WHOLE]);
}

#[test]
fn a_part_of_rows_and_columns() {
    check(
        ("8x16xbf16", "4x6xbf16", "8x16xbf16"),
        [WHOLE, (&[2, 5], &[4, 6], &[16, 1])],
        [(&[1, 3], &[4, 6], &[16, 1]), WHOLE],
    );
}

#[test]
fn a_transpose() {
    check(("8x4xbf16", "4x8xbf16", "4x8xbf16"), [WHOLE, (&[0, 0], &[4, 8], &[1, 4])], [WHOLE, WHOLE]);
}

#[test]
fn a_repeat_by_stride_zero() {
    check(("16xbf16", "4x8xbf16", "32xbf16"), [WHOLE, (&[0, 3], &[4, 8], &[0, 1])], [WHOLE, WHOLE]);
}

#[test]
fn tiles_of_a_matrix() {
    // Blocks of 2 x 4 one after the other.
    check(
        ("8x8xbf16", "64xbf16", "8x8xbf16"),
        [WHOLE, (&[0, 0, 0, 0], &[4, 2, 2, 4], &[16, 4, 8, 1])],
        [(&[0, 0, 0, 0], &[4, 2, 2, 4], &[16, 4, 8, 1]), WHOLE],
    );
}

#[test]
fn shapes_that_divide_each_other() {
    check(
        ("6x8xbf16", "48xbf16", "100xbf16"),
        [(&[0, 0], &[12, 4], &[4, 1]), (&[0, 0, 0], &[2, 3, 8], &[24, 8, 1])],
        [(&[1, 0], &[24, 2], &[4, 1]), (&[0], &[48], &[1])],
    );
}

#[test]
fn shapes_without_a_common_split() {
    check(
        ("4x9xbf16", "64xbf16", "64xbf16"),
        [(&[0, 0], &[6, 6], &[7, 1]), (&[0, 0], &[4, 9], &[9, 1])],
        [(&[0], &[36], &[1]), (&[0, 0], &[6, 6], &[7, 1])],
    );
}

#[test]
fn offsets_are_scaled_by_the_strides_of_the_transfer() {
    // The innermost stride is 2: offset 3 is element 6.
    check(("64xbf16", "8xbf16", "8xbf16"), [WHOLE, (&[3], &[8], &[2])], [WHOLE, WHOLE]);
}

#[test]
fn ranks_that_differ_from_the_buffers() {
    check(
        ("4x8xbf16", "2x2x8xbf16", "32xbf16"),
        [WHOLE, (&[8], &[32], &[1])].map(|a| if a.1 == [32] { (&[0u64] as &[u64], a.1, a.2) } else { a }),
        [(&[0, 0, 0], &[2, 2, 8], &[16, 8, 1]), WHOLE],
    );
}

#[test]
fn contiguous_transfers_are_one_block() {
    let text = program(
        ("64x2048xbf16", "4x2048xbf16", "64x2048xbf16"),
        [WHOLE, (&[8, 0], &[4, 2048], &[2048, 1])],
        [(&[8, 0], &[4, 2048], &[2048, 1]), (&[0, 0], &[4, 2048], &[2048, 1])],
    );
    // The first only stages what the second could read itself; builds that look for mistakes keep it.
    for (poison, copies) in [(None, 1), (Some(0), 2)] {
        let text = lowered(&text, &HostOptions { poison, ..HostOptions::default() });
        assert_eq!(text.matches("llvm.intr.memcpy").count(), copies, "{text}");
        assert!(!text.contains("scf.for") || !text.contains("llvm.store"), "{text}");
        assert!(text.contains("llvm.mlir.constant(16384 : i64)"), "{text}");
    }
}

#[test]
fn counts_that_differ_are_refused() {
    let text = program(("16xbf16", "16xbf16", "16xbf16"), [WHOLE, (&[0], &[8], &[1])], [WHOLE, WHOLE]);
    assert_eq!(complaints(&text), "error AL0701 line 8: this copy writes 16 elements and reads 8\n");
}

#[test]
fn a_destination_with_stride_zero_is_refused() {
    let text = program(("16xbf16", "16xbf16", "16xbf16"), [(&[0, 0], &[2, 8], &[0, 1]), WHOLE], [WHOLE, WHOLE]);
    assert_eq!(
        complaints(&text),
        "error AL0701 line 8: the destination of this copy has stride 0: elements would overwrite each other\n"
    );
}

/// Two rows of three, a row of zeros in front and two zeros behind each.
#[test]
fn padding_is_zeros_around_the_source() {
    for (to, at) in [
        ((&[0][..], &[15][..], &[1][..]), (0..15).collect::<Vec<usize>>()),
        // By columns, from the last element but one on.
        ((&[0, 0], &[3, 5], &[1, 3]), (0..15).map(|i| i / 5 + i % 5 * 3).collect()),
    ] {
        let shapes = ("4x6xbf16", "16xbf16", "16xbf16");
        let text = program(shapes, [to, (&[1, 2], &[2, 3], &[6, 1])], [WHOLE, WHOLE]);
        let padded = text.replacen(
            " : (memref<16xbf16, 2>, memref<4x6xbf16>)",
            " {pad_before = array<i32: 1, 0>, pad_after = array<i32: 0, 2>} : (memref<16xbf16, 2>, memref<4x6xbf16>)",
            1,
        );
        assert_ne!(padded, text);
        let args: [Arg; 2] = [("src", "memref<4x6xbf16>", Role::Input), ("dst", "memref<16xbf16>", Role::Output)];
        let options = HostOptions { poison: Some(0xff), ..HostOptions::default() };
        let mut running = Running::new(&build(&padded, &args, 1, &[], &options));
        let source = numbers(7, 24);
        running.set("src", &source);
        running.run();
        let mut expected = vec![0xffffu16; 16];
        for (number, place) in at.into_iter().enumerate() {
            let (row, column) = (number / 5, number % 5);
            let is_padding = row == 0 || column >= 3;
            expected[place] = if is_padding { 0 } else { source[row * 6 + 2 + column] };
        }
        assert_eq!(running.get("dst"), expected, "{padded}");
    }
}
