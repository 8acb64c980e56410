// y = a + b over 256 bf16, 2 tiles of 128 elements each. A bare herd: no launch, no segment.

#part = affine_map<()[tile] -> (tile * 128)>

module {
  func.func @add(%a: memref<256xbf16>, %b: memref<256xbf16>, %y: memref<256xbf16>) {
    %tiles = arith.constant 2 : index
    %one = arith.constant 1 : index
    air.herd @add_herd tile (%tx, %ty) in (%nx=%tiles, %ny=%one) args(%ha=%a, %hb=%b, %hy=%y) : memref<256xbf16>, memref<256xbf16>, memref<256xbf16> {
      %a_l1 = memref.alloc() : memref<128xbf16, 2 : i32>
      %b_l1 = memref.alloc() : memref<128xbf16, 2 : i32>
      %y_l1 = memref.alloc() : memref<128xbf16, 2 : i32>
      %offset = affine.apply #part()[%tx]
      air.dma_memcpy_nd (%a_l1[] [] [], %ha[%offset] [128] [1]) : (memref<128xbf16, 2 : i32>, memref<256xbf16>)
      air.dma_memcpy_nd (%b_l1[] [] [], %hb[%offset] [128] [1]) : (memref<128xbf16, 2 : i32>, memref<256xbf16>)
      %begin = arith.constant 0 : index
      %end = arith.constant 128 : index
      %by = arith.constant 16 : index
      %pad = arith.constant 0.000000e+00 : bf16
      scf.for %i = %begin to %end step %by {
        %u = vector.transfer_read %a_l1[%i], %pad {in_bounds = [true]} : memref<128xbf16, 2 : i32>, vector<16xbf16>
        %v = vector.transfer_read %b_l1[%i], %pad {in_bounds = [true]} : memref<128xbf16, 2 : i32>, vector<16xbf16>
        %sum = arith.addf %u, %v : vector<16xbf16>
        vector.transfer_write %sum, %y_l1[%i] {in_bounds = [true]} : vector<16xbf16>, memref<128xbf16, 2 : i32>
      }
      air.dma_memcpy_nd (%hy[%offset] [128] [1], %y_l1[] [] []) : (memref<256xbf16>, memref<128xbf16, 2 : i32>)
      memref.dealloc %a_l1 : memref<128xbf16, 2 : i32>
      memref.dealloc %b_l1 : memref<128xbf16, 2 : i32>
      memref.dealloc %y_l1 : memref<128xbf16, 2 : i32>
    }
    return
  }
}
