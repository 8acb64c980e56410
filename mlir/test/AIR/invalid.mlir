// What the dialect refuses. Each part must give exactly the errors it announces, on the announced lines.

func.func @ids_without_sizes(%n: index) {
  // expected-error @+1 {{2 ids need as many sizes, found 1}}
  air.launch (%i, %j) in (%e=%n) {
  }
  return
}

// -----

func.func @types_too_many(%m: memref<4xf32>, %n: index) {
  // expected-error @+1 {{1 arguments need as many types, found 2}}
  air.herd tile (%x) in (%e=%n) args(%a=%m) : memref<4xf32>, memref<4xf32> {
  }
  return
}

// -----

func.func @wrong_outer_type(%m: memref<4xf32>) {
  // expected-error @+1 {{use of value '%m' expects different type than prior uses: 'memref<8xf32>' vs 'memref<4xf32>'}}
  air.launch () in () args(%a=%m) : memref<8xf32> {
  }
  return
}

// -----

func.func @no_body() {
  // expected-error @+2 {{expected a body; only a named operation may come without}}
  air.launch () in ()
  return
}

// -----

func.func @isolated(%m: memref<4xf32>) {
  air.launch () in () {
    // expected-error @+1 {{'memref.dealloc' op using value defined outside the region}}
    memref.dealloc %m : memref<4xf32>
  }
  return
}

// -----

func.func @herd_keyword(%n: index) {
  // expected-error @+1 {{expected 'tile'}}
  air.herd (%x) in (%e=%n) {
  }
  return
}

// -----

func.func @two_names() {
  // expected-error @+1 {{the name is given twice}}
  air.segment @a attributes {sym_name = "b"} {
  }
  return
}

// -----

func.func @link_with_kind(%n: index) {
  // expected-error @+1 {{attribute 'link_with' failed to satisfy constraint: string attribute}}
  air.herd tile (%x) in (%e=%n) attributes {link_with = 3 : i32} {
  }
  return
}

// -----

func.func @segment_sizes_given() {
  // expected-error @+1 {{'operandSegmentSizes' follows from the operands and cannot be given}}
  air.segment attributes {operandSegmentSizes = array<i32: 0, 0, 0>} {
  }
  return
}

// -----

func.func @result_without_async() {
  // expected-error @+1 {{has a result only if it is marked 'async'}}
  %t = air.segment {
  }
  return
}

// -----

func.func @block_arguments(%n: index) {
  // expected-error @+1 {{'air.launch' op with 1 sizes and 0 arguments needs 2 block arguments, found 1}}
  "air.launch"(%n) <{operandSegmentSizes = array<i32: 0, 1, 0>}> ({
  ^bb0(%i: index):
    air.launch_terminator
  }) : (index) -> ()
  return
}

// -----

func.func @id_type(%n: index) {
  // expected-error @+1 {{block argument #0 is an id or an extent and must be of type 'index', found 'i32'}}
  "air.launch"(%n) <{operandSegmentSizes = array<i32: 0, 1, 0>}> ({
  ^bb0(%i: i32, %e: index):
    air.launch_terminator
  }) : (index) -> ()
  return
}

// -----

func.func @inner_type(%m: memref<4xf32>) {
  // expected-error @+1 {{argument #0 is 'memref<4xf32>' outside and 'memref<8xf32>' inside}}
  "air.segment"(%m) <{operandSegmentSizes = array<i32: 0, 0, 1>}> ({
  ^bb0(%a: memref<8xf32>):
    air.segment_terminator
  }) : (memref<4xf32>) -> ()
  return
}

// -----

func.func @empty_region() {
  // expected-error @+1 {{region with 1 blocks}}
  "air.segment"() <{operandSegmentSizes = array<i32: 0, 0, 0>}> ({}) : () -> ()
  return
}

// -----

func.func @terminator_elsewhere() {
  // expected-error @+1 {{'air.herd_terminator' op expects parent op 'air.herd'}}
  air.herd_terminator
}

// -----

func.func @terminator_of_another() {
  air.segment {
    // expected-error @+1 {{'air.launch_terminator' op expects parent op 'air.launch'}}
    air.launch_terminator
  }
  return
}

// -----

// expected-error @+1 {{'air.channel' op 'size' element #1 must be an integer of at least 1, found 0 : i64}}
air.channel @c [2, 0]

// -----

// expected-error @+1 {{'broadcast_shape' has rank 1, the channel has rank 2}}
air.channel @c [1, 1] {broadcast_shape = [4]}

// -----

// expected-error @+1 {{'broadcast_shape' must be an array, found 4 : i64}}
air.channel @c [1] {broadcast_shape = 4}

// -----

// expected-error @+1 {{attribute 'size' failed to satisfy constraint: 64-bit integer array attribute}}
air.channel @c ["a"]

// -----

func.func @ranks_differ(%m: memref<4xf32>) {
  // expected-error @+1 {{'air.channel.put' op source has 2 sizes and 1 strides}}
  air.channel.put @c[] (%m[0] [2, 2] [1]) : (memref<4xf32>)
  return
}

// -----

func.func @list_missing(%m: memref<4xf32>) {
  // expected-error @+2 {{expected '[' in dynamic index list}}
  // expected-error @+1 {{expected SSA value or integer}}
  air.channel.get @c[] (%m[0] [2]) : (memref<4xf32>)
  return
}

// -----

func.func @markers(%m: memref<4xf32>, %n: index) {
  // expected-error @+1 {{offsets have 1 places for values, found 0}}
  "air.channel.get"(%m) <{chan_name = @c, operandSegmentSizes = array<i32: 0, 0, 1, 0, 0, 0>, static_dst_offsets = array<i64: -9223372036854775808>, static_dst_sizes = array<i64>, static_dst_strides = array<i64>}> : (memref<4xf32>) -> ()
  return
}

// -----

func.func @half_padding(%m: memref<4xf32>) {
  // expected-error @+1 {{needs both 'pad_before' and 'pad_after' or neither}}
  air.channel.put @c[] (%m[] [] []) {pad_before = array<i32: 1>} : (memref<4xf32>)
  return
}

// -----

func.func @negative_padding(%m: memref<4xf32>) {
  // expected-error @+1 {{has negative padding}}
  air.dma_memcpy_nd (%m[] [] [], %m[] [] []) {pad_after = array<i32: -1>, pad_before = array<i32: 1>} : (memref<4xf32>, memref<4xf32>)
  return
}

// -----

func.func @execute_results(%m: memref<4xf32>) {
  // expected-error @+1 {{'air.execute' op has results ('memref<4xf32>') but its terminator hands out ()}}
  %t, %r = air.execute -> (memref<4xf32>) {
    // expected-note @+1 {{the terminator}}
    air.execute_terminator
  }
  return
}

// -----

func.func @token_kind(%n: index) {
  // expected-error @+1 {{use of value '%n' expects different type than prior uses: '!air.async.token' vs 'index'}}
  air.wait_all [%n]
  return
}

// -----

// expected-error @+1 {{unknown  type `nothing` in dialect `air`}}
func.func private @unknown_type(!air.nothing)

// -----

func.func @unknown_op() {
  // expected-error @+1 {{custom op 'air.pipeline' is unknown}}
  air.pipeline {
  }
  return
}
