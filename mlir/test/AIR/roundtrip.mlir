// Every form of every operation. Each part must parse, print, parse again and print the same; where a part ends in
// lines of `// CHECK: text`, its print must contain these texts in this order.

func.func @launch_forms(%m: memref<64xbf16>, %n: index) {
  %c2 = arith.constant 2 : index
  air.launch () in () {
  }
  air.launch (%i) in (%e = %c2) {
  }
  air.launch @named (%i, %j) in (%ei=%c2, %ej=%n) args(%a=%m, %b=%n) : memref<64xbf16>, index attributes {id = 3 : i32} {
    %sum = arith.addi %i, %b : index
    air.launch_terminator
  }
  air.launch @no_body (%i) in (%e=%c2) args(%a=%m) : memref<64xbf16>
  air.launch () in () args() {
  }
  return
}
// CHECK: air.launch () in () {
// CHECK: air.launch (%{{.*}}) in (%{{.*}}=%{{.*}}) {
// CHECK: air.launch @named (%{{.*}}, %{{.*}}) in (%{{.*}}=%{{.*}}, %{{.*}}=%{{.*}}) args(%{{.*}}=%{{.*}}, %{{.*}}=%{{.*}}) : memref<64xbf16>, index attributes {id = 3 : i32} {
// CHECK: air.launch @no_body (%{{.*}}) in (%{{.*}}=%{{.*}}) args(%{{.*}}=%{{.*}}) : memref<64xbf16> {

// -----

func.func @hierarchy(%m: memref<64xbf16>) {
  %c1 = arith.constant 1 : index
  air.launch () in () args(%a=%m) : memref<64xbf16> {
    air.segment @seg args(%b=%a) : memref<64xbf16> attributes {x_loc = 0 : i64} {
      %c4 = arith.constant 4 : index
      air.herd @same tile (%x, %y) in (%ex=%c4, %ey=%c4) args(%c=%b) : memref<64xbf16> attributes {link_with = "k.o", x_loc = 2 : i64} {
        %k = affine.apply affine_map<(d0)[s0] -> (d0 * 16 + s0)>(%x)[%y]
      }
      // The name of a herd is not a symbol.
      air.herd @same tile (%x) in (%ex=%c4) {
        air.herd_terminator {note = "kept"}
      }
    }
    air.segment {
    }
    %c2 = arith.constant 2 : index
    air.segment @unrolled unroll (%u, %v) in (%eu=%c2, %ev=%c2) args(%b=%a) : memref<64xbf16> {
    }
    air.segment @"quoted name" unroll () in () {
    }
  }
  return
}
// CHECK: air.segment @seg args(%{{.*}}=%{{.*}}) : memref<64xbf16> attributes {x_loc = 0 : i64} {
// CHECK: air.herd @same tile (%{{.*}}, %{{.*}}) in (%{{.*}}=%{{.*}}, %{{.*}}=%{{.*}}) args(%{{.*}}=%{{.*}}) : memref<64xbf16> attributes {link_with = "k.o", x_loc = 2 : i64} {
// CHECK: air.herd_terminator {note = "kept"}
// CHECK: air.segment {
// CHECK: air.segment @unrolled unroll (%{{.*}}, %{{.*}}) in (
// CHECK: air.segment @"quoted name" {

// -----

air.channel @plain []
air.channel @array [8]
air.channel @cascade [8, 3] {channel_type = "npu_cascade"}
air.channel @broadcast [1, 1] {broadcast_shape = [8 : index, 1 : index]}
air.channel @"c-0" [2] {channel_type = "npu_dma_stream"}
"air.channel"() <{size = [2], sym_name = "generic"}> : () -> ()
"air.channel"() <{sym_name = "no_size"}> : () -> ()

func.func @transfers(%l3: memref<64x64xbf16>, %n: index) {
  %l1 = memref.alloc() : memref<32x32xbf16, 2 : i32>
  air.channel.put @plain[] (%l3[] [] []) : (memref<64x64xbf16>)
  air.channel.get @array[%n] (%l1[%n, 0] [4, %n] [1, 1]) : (memref<32x32xbf16, 2 : i32>)
  air.channel.put  @cascade[%n, %n]  (%l1[] [16] [1]) {id = 1 : i32} : (memref<32x32xbf16, 2 : i32>)
  air.channel.put @"c-0"[%n] (%l3[0, 0, 0] [32, 16, 512] [0, 512, 1]) dest(%n) {pad_after = array<i32: 1, 0>, pad_before = array<i32: 0, 0>} : (memref<64x64xbf16>)
  air.dma_memcpy_nd (%l1[] [] [], %l3[%n, 0] [32, 32] [64, 1]) : (memref<32x32xbf16, 2 : i32>, memref<64x64xbf16>)
  air.dma_memcpy_nd (%l1[%n] [%n] [%n], %l3[] [] []) {dst_rank = 1 : i64, metadata = @plain, src_rank = 0 : i64} : (memref<32x32xbf16, 2 : i32>, memref<64x64xbf16>)
  return
}
// CHECK: air.channel @plain []
// CHECK: air.channel @cascade [8, 3] {channel_type = "npu_cascade"}
// CHECK: air.channel @"c-0" [2]
// CHECK: air.channel @generic [2]
// CHECK: air.channel @no_size []
// CHECK: air.channel.put @plain[] (%{{.*}}[] [] []) : (memref<64x64xbf16>)
// CHECK: air.channel.get @array[%{{.*}}] (%{{.*}}[%{{.*}}, 0] [4, %{{.*}}] [1, 1]) : (memref<32x32xbf16, 2 : i32>)
// CHECK: air.channel.put @cascade[%{{.*}}, %{{.*}}] (%{{.*}}[] [16] [1]) {id = 1 : i32} : (
// CHECK: dest(%{{.*}}) {pad_after = array<i32: 1, 0>, pad_before = array<i32: 0, 0>} : (memref<64x64xbf16>)
// CHECK: air.dma_memcpy_nd (%{{.*}}[] [] [], %{{.*}}[%{{.*}}, 0] [32, 32] [64, 1]) : (memref<32x32xbf16, 2 : i32>, memref<64x64xbf16>)

// -----

air.channel @c []

func.func @asynchronous(%m: memref<64xbf16>) -> !air.async.token {
  %t0 = air.wait_all async
  %t1, %buffer = air.execute [%t0] -> (memref<64xbf16, 1>) {
    %alloc = memref.alloc() : memref<64xbf16, 1>
    air.execute_terminator %alloc : memref<64xbf16, 1>
  } {id = 7 : i32}
  %t2 = air.execute {
    memref.dealloc %m : memref<64xbf16>
  }
  %t3 = air.channel.put async [%t0, %t1] @c[] (%m[] [] []) : (memref<64xbf16>)
  %t4 = air.channel.get async @c[] (%buffer[] [] []) : (memref<64xbf16, 1>)
  air.channel.get [%t3] @c[] (%buffer[] [] []) : (memref<64xbf16, 1>)
  %t5 = air.dma_memcpy_nd async [%t4] (%buffer[] [] [], %m[] [] []) : (memref<64xbf16, 1>, memref<64xbf16>)
  %c1 = arith.constant 1 : index
  %t6 = air.launch async [%t5, %t2] (%i) in (%e=%c1) args(%a=%m) : memref<64xbf16> {
    %s = air.segment @s async args(%b=%a) : memref<64xbf16> {
      %c1_0 = arith.constant 1 : index
      %h = air.herd @h async tile (%x, %y) in (%ex=%c1_0, %ey=%c1_0) args(%c=%b) : memref<64xbf16> {
      }
      air.wait_all [%h]
    }
    air.wait_all [%s] {air.segment_end}
  }
  %t7 = air.wait_all async [%t6] {id = 1 : i32}
  return %t7 : !air.async.token
}
// CHECK: = air.wait_all async
// CHECK: = air.execute [%{{.*}}] -> (memref<64xbf16, 1>) {
// CHECK: } {id = 7 : i32}
// CHECK: = air.execute {
// CHECK: = air.channel.put async [%{{.*}}, %{{.*}}] @c[] (%{{.*}}[] [] []) : (memref<64xbf16>)
// CHECK: = air.launch async [%{{.*}}, %{{.*}}] (%{{.*}}) in (
// CHECK: = air.segment @s async args(
// CHECK: = air.herd @h async tile (
// CHECK: air.wait_all [%{{.*}}] {air.segment_end}
// CHECK: = air.wait_all async [%{{.*}}] {id = 1 : i32}

// -----

func.func @ranks(%m: memref<64xbf16, #air.symmetric_heap>, %bases: memref<?xindex>) {
  %c2 = arith.constant 2 : index
  %u = air.universe.alloc (%c2)
  air.rank universe(%u) (%r) in (%n=%c2) args(%a=%m, %b=%bases) : memref<64xbf16, #air.symmetric_heap>, memref<?xindex> {
    %peer = air.translate %a, %r, %n, %b : memref<64xbf16, #air.symmetric_heap>, memref<?xindex>
  }
  %t = air.rank @world async (%r) in (%n=%c2) {
    air.rank_terminator
  }
  return
}

func.func @universe(%u: !air.universe) -> !air.universe {
  return %u : !air.universe
}
// CHECK: air.universe.alloc(%
// CHECK: air.rank universe(%{{.*}}) (%{{.*}}) in (
// CHECK: = air.translate %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : memref<64xbf16, #air.symmetric_heap>, memref<?xindex>
// CHECK: = air.rank @world async (%{{.*}}) in (

// -----

func.func @opaque(%i: i32) {
  air.custom operands (%i, %i) : i32, i32 attributes {latency = 3 : i32}
  %t = air.custom @work async operands ()
  %u = air.custom async [%t] attributes {symbol = @elsewhere}
  air.custom
  return
}
// CHECK: air.custom operands (%{{.*}}, %{{.*}}) : i32, i32 attributes {latency = 3 : i32}
// CHECK: = air.custom @work async
// CHECK: = air.custom async [%{{.*}}] attributes {symbol = @elsewhere}
