//! What the pass makes of small modules, and what it refuses.

use airlink_host::HostOptions;

use crate::support::{complaints, lowered};

/// A herd of two tiles that each scale a row by a kernel, with an L2 buffer between.
const SMALL: &str = "
  func.func private @scale(i32, memref<8xf32, 2>) attributes {link_with = \"scale.o\"}
  func.func @f(%a: memref<2x8xf32>) {
    %c4 = arith.constant 4 : index
    air.launch (%i) in (%n=%c4) args(%s=%a) : memref<2x8xf32> {
      air.segment @seg args(%t=%s) : memref<2x8xf32> {
        %l2 = memref.alloc() : memref<2x8xf32, 1>
        air.dma_memcpy_nd (%l2[] [] [], %t[] [] []) : (memref<2x8xf32, 1>, memref<2x8xf32>)
        %c2 = arith.constant 2 : index
        %c1 = arith.constant 1 : index
        air.herd @herd tile (%x, %y) in (%nx=%c2, %ny=%c1) args(%p=%l2, %h=%t) : memref<2x8xf32, 1>, memref<2x8xf32> {
          %l1 = memref.alloc() : memref<8xf32, 2>
          %k = arith.constant 3 : i32
          air.dma_memcpy_nd (%l1[] [] [], %p[%x, 0] [1, 8] [8, 1]) : (memref<8xf32, 2>, memref<2x8xf32, 1>)
          func.call @scale(%k, %l1) : (i32, memref<8xf32, 2>) -> ()
          air.dma_memcpy_nd (%h[%x, 0] [1, 8] [8, 1], %l1[] [] []) : (memref<2x8xf32>, memref<8xf32, 2>)
          memref.dealloc %l1 : memref<8xf32, 2>
        }
      }
    }
    return
  }";

#[test]
fn a_small_module() {
    insta::assert_snapshot!(lowered(SMALL, &HostOptions::default()));
}

#[test]
fn poison_and_reversed_points() {
    let options = HostOptions { reverse_points: true, poison: Some(0xff), ..HostOptions::default() };
    let text = lowered(SMALL, &options);
    assert_eq!(text.matches("llvm.intr.memset").count(), 2, "one per buffer: {text}");
    let plain = lowered(SMALL, &HostOptions::default());
    assert!(!plain.contains("llvm.intr.memset"));
}

/// A launch around `body`, in which `%t` is the argument and `%l1` a buffer.
fn herd(body: &str) -> String {
    format!(
        "func.func private @k(memref<8xf32, 2>) attributes {{link_with = \"k.o\"}}
  func.func @f(%a: memref<8xf32>) {{
    air.launch @named () in () args(%s=%a) : memref<8xf32> {{
      air.segment args(%t=%s) : memref<8xf32> {{
        %c1 = arith.constant 1 : index
        air.herd tile (%x, %y) in (%nx=%c1, %ny=%c1) args(%h=%t) : memref<8xf32> {{
          %l1 = memref.alloc() : memref<8xf32, 2>
          {body}
        }}
      }}
    }}
    return
  }}"
    )
}

#[test]
fn padding_that_does_not_fit_is_refused() {
    let padded = |before: &str, after: &str| {
        herd(&format!(
            "air.dma_memcpy_nd (%l1[] [] [], %h[0] [6] [1]) {{pad_before = array<i32: {before}>, pad_after = array<i32: {after}>}} : (memref<8xf32, 2>, memref<8xf32>)"
        ))
    };
    assert_eq!(
        complaints(&padded("1", "2")),
        "error AL0701 line 8: this copy writes 8 elements and reads 9 with its padding\n"
    );
    assert_eq!(
        complaints(&padded("1, 0", "1, 0")),
        "error AL0701 line 8: this copy has 1 dimensions and padding for 2\n"
    );
}

#[test]
fn scalar_arguments_are_refused() {
    let text = "func.func @f(%n: i32, %a: memref<8xf32>) {
      air.launch () in () { air.segment { } }
      return
    }";
    assert_eq!(
        complaints(text),
        "error AL0705 line 1: argument 0 of `f` is a scalar of type 'i32', which the host interface has no place for\n"
    );
}

#[test]
fn a_pointer_into_a_buffer_is_a_warning() {
    let text = herd(
        "%big = memref.alloc() : memref<16xf32, 2>
          %half = memref.subview %big[8] [8] [1] : memref<16xf32, 2> to memref<8xf32, strided<[1], offset: 8>, 2>
          %cast = memref.cast %half : memref<8xf32, strided<[1], offset: 8>, 2> to memref<8xf32, strided<[1], offset: ?>, 2>
          func.call @k2(%cast) : (memref<8xf32, strided<[1], offset: ?>, 2>) -> ()",
    )
    .replace(
        "func.func @f",
        "func.func private @k2(memref<8xf32, strided<[1], offset: ?>, 2>) attributes {link_with = \"k.o\"}\n  func.func @f",
    );
    let said = complaints(&text);
    assert_eq!(
        said,
        "warning AL0713 line 12: operand 0 of the call of `k2` may start inside its buffer; the NPU passes the buffer's \
         first element instead\n"
    );
}

#[test]
fn a_kernel_cannot_take_strides() {
    let text = herd(
        "%big = memref.alloc() : memref<8x2xf32, 2>
          %column = memref.subview %big[0, 0] [8, 1] [1, 1] : memref<8x2xf32, 2> to memref<8xf32, strided<[2]>, 2>
          func.call @k2(%column) : (memref<8xf32, strided<[2]>, 2>) -> ()",
    )
    .replace(
        "func.func @f",
        "func.func private @k2(memref<8xf32, strided<[2]>, 2>) attributes {link_with = \"k.o\"}\n  func.func @f",
    );
    assert_eq!(
        complaints(&text),
        "error AL0701 line 11: operand 0 of the call of `k2` is not contiguous: a kernel gets a pointer and cannot know the \
         strides of 'memref<8xf32, strided<[2]>, 2>'\n"
    );
}

#[test]
fn a_buffer_that_outlives_its_iteration() {
    let text = herd(
        "%c0 = arith.constant 0 : index
          %c4 = arith.constant 4 : index
          %one = arith.constant 1 : index
          %last = scf.for %i = %c0 to %c4 step %one iter_args(%b = %l1) -> (memref<8xf32, 2>) {
            %new = memref.alloc() : memref<8xf32, 2>
            scf.yield %new : memref<8xf32, 2>
          }
          func.call @k(%last) : (memref<8xf32, 2>) -> ()",
    );
    assert_eq!(
        complaints(&text),
        "error AL0701 line 12: a buffer that outlives the loop iteration that allocates it is not supported on the host \
         target\n"
    );
}
