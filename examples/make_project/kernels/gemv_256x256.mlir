// y = A x, bf16, 256 x 256. Each of 8 launch steps takes a panel of 32 rows through L2; each of 4 tiles
// computes 8 of them, 4 rows at a time (tile_m 8).

#panel_row = affine_map<()[step] -> (step * 32)>
#tile_row = affine_map<()[tile] -> (tile * 8)>
#chunk_row = affine_map<()[tile, row] -> (tile * 8 + row)>

module {
  func.func private @linalg_fill_bf16(memref<8xbf16, 2 : i32>)
      attributes {link_with = "mv.o", llvm.emit_c_interface}
  func.func private @matvec_vectorized_bf16_bf16(i32, i32, i32, memref<4x256xbf16, 2 : i32>, memref<256xbf16, 2 : i32>, memref<8xbf16, 2 : i32>)
      attributes {link_with = "mv.o", llvm.emit_c_interface}

  func.func @gemv(%a: memref<256x256xbf16>, %x: memref<256xbf16>, %y: memref<256xbf16>) {
    %steps = arith.constant 8 : index
    air.launch (%step) in (%step_count=%steps) args(%la=%a, %lx=%x, %ly=%y) : memref<256x256xbf16>, memref<256xbf16>, memref<256xbf16> {
      air.segment @gemv_seg args(%at=%step, %sa=%la, %sx=%lx, %sy=%ly) : index, memref<256x256xbf16>, memref<256xbf16>, memref<256xbf16> {
        %panel = memref.alloc() : memref<32x256xbf16, 1 : i32>
        %panel_y = memref.alloc() : memref<32xbf16, 1 : i32>
        %first = affine.apply #panel_row()[%at]
        air.dma_memcpy_nd (%panel[] [] [], %sa[%first, 0] [32, 256] [256, 1]) : (memref<32x256xbf16, 1 : i32>, memref<256x256xbf16>)
        %tiles = arith.constant 4 : index
        %one = arith.constant 1 : index
        air.herd @gemv_herd tile (%tx, %ty) in (%nx=%tiles, %ny=%one) args(%hp=%panel, %hx=%sx, %hy=%panel_y) : memref<32x256xbf16, 1 : i32>, memref<256xbf16>, memref<32xbf16, 1 : i32> attributes {link_with = "mv.o"} {
          %rows = memref.alloc() : memref<4x256xbf16, 2 : i32>
          %vec = memref.alloc() : memref<256xbf16, 2 : i32>
          %acc = memref.alloc() : memref<8xbf16, 2 : i32>
          func.call @linalg_fill_bf16(%acc) : (memref<8xbf16, 2 : i32>) -> ()
          air.dma_memcpy_nd (%vec[] [] [], %hx[0] [256] [1]) : (memref<256xbf16, 2 : i32>, memref<256xbf16>)
          %begin = arith.constant 0 : index
          %end = arith.constant 8 : index
          %by = arith.constant 4 : index
          %m = arith.constant 4 : i32
          %k = arith.constant 256 : i32
          scf.for %row = %begin to %end step %by {
            %source = affine.apply #chunk_row()[%tx, %row]
            air.dma_memcpy_nd (%rows[] [] [], %hp[%source, 0] [4, 256] [256, 1]) : (memref<4x256xbf16, 2 : i32>, memref<32x256xbf16, 1 : i32>)
            %row_offset = arith.index_cast %row : index to i32
            func.call @matvec_vectorized_bf16_bf16(%m, %k, %row_offset, %rows, %vec, %acc) : (i32, i32, i32, memref<4x256xbf16, 2 : i32>, memref<256xbf16, 2 : i32>, memref<8xbf16, 2 : i32>) -> ()
          }
          %target = affine.apply #tile_row()[%tx]
          air.dma_memcpy_nd (%hy[%target] [8] [1], %acc[] [] []) : (memref<32xbf16, 1 : i32>, memref<8xbf16, 2 : i32>)
          memref.dealloc %rows : memref<4x256xbf16, 2 : i32>
          memref.dealloc %vec : memref<256xbf16, 2 : i32>
          memref.dealloc %acc : memref<8xbf16, 2 : i32>
        }
        air.dma_memcpy_nd (%sy[%first] [32] [1], %panel_y[] [] []) : (memref<256xbf16>, memref<32xbf16, 1 : i32>)
        memref.dealloc %panel : memref<32x256xbf16, 1 : i32>
        memref.dealloc %panel_y : memref<32xbf16, 1 : i32>
      }
    }
    return
  }
}
