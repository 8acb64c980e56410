#map = affine_map<()[s0] -> (s0 * 32)>
#map1 = affine_map<()[s0, s1] -> (s0 * 8 + s1)>
#map2 = affine_map<()[s0] -> (s0 * 8)>
#map3 = affine_map<()[s0] -> (s0 * 128)>
#map4 = affine_map<()[s0, s1] -> (s0 * 128 + s1)>
#map5 = affine_map<()[s0, s1] -> (s0 * 2 + s1)>
#map6 = affine_map<()[s0] -> (s0 * 2)>
module {
  func.func private @linalg_fill_bf16(memref<8xbf16, 2 : i32>) attributes {link_with = "mv.o", llvm.emit_c_interface}
  func.func private @matvec_vectorized_bf16_bf16(i32, i32, i32, memref<4x256xbf16, 2 : i32>, memref<256xbf16, 2 : i32>, memref<8xbf16, 2 : i32>) attributes {link_with = "mv.o", llvm.emit_c_interface}
  func.func private @silu_and_mul_bf16(memref<64xbf16, 2 : i32>, memref<64xbf16, 2 : i32>, memref<64xbf16, 2 : i32>, i32) attributes {link_with = "silu_and_mul.o", llvm.emit_c_interface}
  func.func private @linalg_fill_bf16_k512(memref<2xbf16, 2 : i32>) attributes {link_with = "mv_k512.o", llvm.emit_c_interface}
  func.func private @matvec_vectorized_bf16_bf16_k512(i32, i32, i32, memref<1x512xbf16, 2 : i32>, memref<512xbf16, 2 : i32>, memref<2xbf16, 2 : i32>) attributes {link_with = "mv_k512.o", llvm.emit_c_interface}
  func.func @small_o_ffn(%arg0: memref<256x256xbf16>, %arg1: memref<256xbf16>, %arg2: memref<256xbf16>, %arg3: memref<256xbf16>, %arg4: memref<256xbf16>, %arg5: memref<256xbf16>, %arg6: memref<256xbf16>, %arg7: memref<512x256xbf16>, %arg8: memref<512xbf16>, %arg9: memref<512x256xbf16>, %arg10: memref<512xbf16>, %arg11: memref<512xbf16>, %arg12: memref<256x512xbf16>, %arg13: memref<256xbf16>, %arg14: memref<256xbf16>) {
    %c8 = arith.constant 8 : index
    air.launch (%arg15) in (%arg16=%c8) args(%arg17=%arg0, %arg18=%arg1, %arg19=%arg2) : memref<256x256xbf16>, memref<256xbf16>, memref<256xbf16> {
      air.segment @o_proj_gemv_seg args(%arg20=%arg15, %arg21=%arg17, %arg22=%arg18, %arg23=%arg19) : index, memref<256x256xbf16>, memref<256xbf16>, memref<256xbf16> {
        %alloc = memref.alloc() : memref<32x256xbf16, 1 : i32>
        %alloc_3 = memref.alloc() : memref<32xbf16, 1 : i32>
        %0 = affine.apply #map()[%arg20]
        air.dma_memcpy_nd (%alloc[] [] [], %arg21[%0, 0] [32, 256] [256, 1]) : (memref<32x256xbf16, 1 : i32>, memref<256x256xbf16>)
        %c4 = arith.constant 4 : index
        %c1_4 = arith.constant 1 : index
        air.herd @o_proj_gemv_herd tile (%arg24, %arg25) in (%arg26=%c4, %arg27=%c1_4) args(%arg28=%alloc, %arg29=%arg22, %arg30=%alloc_3) : memref<32x256xbf16, 1 : i32>, memref<256xbf16>, memref<32xbf16, 1 : i32> attributes {link_with = "mv.o"} {
          %alloc_5 = memref.alloc() : memref<4x256xbf16, 2 : i32>
          %alloc_6 = memref.alloc() : memref<256xbf16, 2 : i32>
          %alloc_7 = memref.alloc() : memref<8xbf16, 2 : i32>
          func.call @linalg_fill_bf16(%alloc_7) : (memref<8xbf16, 2 : i32>) -> ()
          air.dma_memcpy_nd (%alloc_6[] [] [], %arg29[0] [256] [1]) : (memref<256xbf16, 2 : i32>, memref<256xbf16>)
          %c0 = arith.constant 0 : index
          %c8_8 = arith.constant 8 : index
          %c4_9 = arith.constant 4 : index
          %c4_i32 = arith.constant 4 : i32
          %c256_i32 = arith.constant 256 : i32
          scf.for %arg31 = %c0 to %c8_8 step %c4_9 {
            %2 = affine.apply #map1()[%arg24, %arg31]
            air.dma_memcpy_nd (%alloc_5[] [] [], %arg28[%2, 0] [4, 256] [256, 1]) : (memref<4x256xbf16, 2 : i32>, memref<32x256xbf16, 1 : i32>)
            %3 = arith.index_cast %arg31 : index to i32
            func.call @matvec_vectorized_bf16_bf16(%c4_i32, %c256_i32, %3, %alloc_5, %alloc_6, %alloc_7) : (i32, i32, i32, memref<4x256xbf16, 2 : i32>, memref<256xbf16, 2 : i32>, memref<8xbf16, 2 : i32>) -> ()
          }
          %1 = affine.apply #map2()[%arg24]
          air.dma_memcpy_nd (%arg30[%1] [8] [1], %alloc_7[] [] []) : (memref<32xbf16, 1 : i32>, memref<8xbf16, 2 : i32>)
          memref.dealloc %alloc_5 : memref<4x256xbf16, 2 : i32>
          memref.dealloc %alloc_6 : memref<256xbf16, 2 : i32>
          memref.dealloc %alloc_7 : memref<8xbf16, 2 : i32>
        }
        air.dma_memcpy_nd (%arg23[%0] [32] [1], %alloc_3[] [] []) : (memref<256xbf16>, memref<32xbf16, 1 : i32>)
        memref.dealloc %alloc : memref<32x256xbf16, 1 : i32>
        memref.dealloc %alloc_3 : memref<32xbf16, 1 : i32>
      }
    }
    %c2 = arith.constant 2 : index
    %c1 = arith.constant 1 : index
    air.launch () in () args(%arg15=%arg2, %arg16=%arg3, %arg17=%arg4) : memref<256xbf16>, memref<256xbf16>, memref<256xbf16> {
      air.segment @attn_add_seg args(%arg18=%arg15, %arg19=%arg16, %arg20=%arg17) : memref<256xbf16>, memref<256xbf16>, memref<256xbf16> {
        %c2_3 = arith.constant 2 : index
        %c1_4 = arith.constant 1 : index
        air.herd @attn_add_add_herd tile (%arg21, %arg22) in (%arg23=%c2_3, %arg24=%c1_4) args(%arg25=%arg18, %arg26=%arg19, %arg27=%arg20) : memref<256xbf16>, memref<256xbf16>, memref<256xbf16> {
          %alloc = memref.alloc() : memref<128xbf16, 2 : i32>
          %alloc_5 = memref.alloc() : memref<128xbf16, 2 : i32>
          %alloc_6 = memref.alloc() : memref<128xbf16, 2 : i32>
          %0 = affine.apply #map3()[%arg21]
          air.dma_memcpy_nd (%alloc[] [] [], %arg25[%0] [128] [1]) : (memref<128xbf16, 2 : i32>, memref<256xbf16>)
          air.dma_memcpy_nd (%alloc_5[] [] [], %arg26[%0] [128] [1]) : (memref<128xbf16, 2 : i32>, memref<256xbf16>)
          %c0 = arith.constant 0 : index
          %c128 = arith.constant 128 : index
          %c16_7 = arith.constant 16 : index
          %cst = arith.constant 0.000000e+00 : bf16
          scf.for %arg28 = %c0 to %c128 step %c16_7 {
            %1 = vector.transfer_read %alloc[%arg28], %cst {in_bounds = [true]} : memref<128xbf16, 2 : i32>, vector<16xbf16>
            %2 = vector.transfer_read %alloc_5[%arg28], %cst {in_bounds = [true]} : memref<128xbf16, 2 : i32>, vector<16xbf16>
            %3 = arith.addf %1, %2 : vector<16xbf16>
            vector.transfer_write %3, %alloc_6[%arg28] {in_bounds = [true]} : vector<16xbf16>, memref<128xbf16, 2 : i32>
          }
          air.dma_memcpy_nd (%arg27[%0] [128] [1], %alloc_6[] [] []) : (memref<256xbf16>, memref<128xbf16, 2 : i32>)
          memref.dealloc %alloc : memref<128xbf16, 2 : i32>
          memref.dealloc %alloc_5 : memref<128xbf16, 2 : i32>
          memref.dealloc %alloc_6 : memref<128xbf16, 2 : i32>
        }
      }
    }
    air.launch () in () args(%arg15=%arg4, %arg16=%arg5, %arg17=%arg6) : memref<256xbf16>, memref<256xbf16>, memref<256xbf16> {
      air.segment @ffn_norm_norm_seg args(%arg18=%arg15, %arg19=%arg16, %arg20=%arg17) : memref<256xbf16>, memref<256xbf16>, memref<256xbf16> {
        %c1_3 = arith.constant 1 : index
        air.herd @ffn_norm_norm_herd tile (%arg21, %arg22) in (%arg23=%c1_3, %arg24=%c1_3) args(%arg25=%arg18, %arg26=%arg19, %arg27=%arg20) : memref<256xbf16>, memref<256xbf16>, memref<256xbf16> {
          %alloc = memref.alloc() : memref<256xbf16, 2 : i32>
          %alloc_4 = memref.alloc() : memref<256xbf16, 2 : i32>
          %alloc_5 = memref.alloc() : memref<256xbf16, 2 : i32>
          air.dma_memcpy_nd (%alloc[] [] [], %arg25[] [] []) : (memref<256xbf16, 2 : i32>, memref<256xbf16>)
          air.dma_memcpy_nd (%alloc_4[] [] [], %arg26[] [] []) : (memref<256xbf16, 2 : i32>, memref<256xbf16>)
          %c0 = arith.constant 0 : index
          %c256 = arith.constant 256 : index
          %c16_6 = arith.constant 16 : index
          %cst = arith.constant 0.000000e+00 : bf16
          %cst_7 = arith.constant dense<0.000000e+00> : vector<16xf32>
          %0 = scf.for %arg28 = %c0 to %c256 step %c16_6 iter_args(%arg29 = %cst_7) -> (vector<16xf32>) {
            %6 = vector.transfer_read %alloc[%arg28], %cst {in_bounds = [true]} : memref<256xbf16, 2 : i32>, vector<16xbf16>
            %7 = arith.extf %6 : vector<16xbf16> to vector<16xf32>
            %8 = arith.mulf %7, %7 : vector<16xf32>
            %9 = arith.addf %arg29, %8 : vector<16xf32>
            scf.yield %9 : vector<16xf32>
          }
          %1 = vector.reduction <add>, %0 : vector<16xf32> into f32
          %cst_8 = arith.constant 2.560000e+02 : f32
          %cst_9 = arith.constant 9.99999974E-6 : f32
          %2 = arith.divf %1, %cst_8 : f32
          %3 = arith.addf %2, %cst_9 : f32
          %4 = math.rsqrt %3 : f32
          %5 = vector.broadcast %4 : f32 to vector<16xf32>
          scf.for %arg28 = %c0 to %c256 step %c16_6 {
            %6 = vector.transfer_read %alloc[%arg28], %cst {in_bounds = [true]} : memref<256xbf16, 2 : i32>, vector<16xbf16>
            %7 = vector.transfer_read %alloc_4[%arg28], %cst {in_bounds = [true]} : memref<256xbf16, 2 : i32>, vector<16xbf16>
            %8 = arith.extf %6 : vector<16xbf16> to vector<16xf32>
            %9 = arith.extf %7 : vector<16xbf16> to vector<16xf32>
            %10 = arith.mulf %8, %5 : vector<16xf32>
            %11 = arith.mulf %10, %9 : vector<16xf32>
            %12 = arith.truncf %11 : vector<16xf32> to vector<16xbf16>
            vector.transfer_write %12, %alloc_5[%arg28] {in_bounds = [true]} : vector<16xbf16>, memref<256xbf16, 2 : i32>
          }
          air.dma_memcpy_nd (%arg27[] [] [], %alloc_5[] [] []) : (memref<256xbf16>, memref<256xbf16, 2 : i32>)
          memref.dealloc %alloc : memref<256xbf16, 2 : i32>
          memref.dealloc %alloc_4 : memref<256xbf16, 2 : i32>
          memref.dealloc %alloc_5 : memref<256xbf16, 2 : i32>
        }
      }
    }
    %c16 = arith.constant 16 : index
    air.launch (%arg15) in (%arg16=%c16) args(%arg17=%arg7, %arg18=%arg6, %arg19=%arg8) : memref<512x256xbf16>, memref<256xbf16>, memref<512xbf16> {
      air.segment @gate_gemv_seg args(%arg20=%arg15, %arg21=%arg17, %arg22=%arg18, %arg23=%arg19) : index, memref<512x256xbf16>, memref<256xbf16>, memref<512xbf16> {
        %alloc = memref.alloc() : memref<32x256xbf16, 1 : i32>
        %alloc_3 = memref.alloc() : memref<32xbf16, 1 : i32>
        %0 = affine.apply #map()[%arg20]
        air.dma_memcpy_nd (%alloc[] [] [], %arg21[%0, 0] [32, 256] [256, 1]) : (memref<32x256xbf16, 1 : i32>, memref<512x256xbf16>)
        %c4 = arith.constant 4 : index
        %c1_4 = arith.constant 1 : index
        air.herd @gate_gemv_herd tile (%arg24, %arg25) in (%arg26=%c4, %arg27=%c1_4) args(%arg28=%alloc, %arg29=%arg22, %arg30=%alloc_3) : memref<32x256xbf16, 1 : i32>, memref<256xbf16>, memref<32xbf16, 1 : i32> attributes {link_with = "mv.o"} {
          %alloc_5 = memref.alloc() : memref<4x256xbf16, 2 : i32>
          %alloc_6 = memref.alloc() : memref<256xbf16, 2 : i32>
          %alloc_7 = memref.alloc() : memref<8xbf16, 2 : i32>
          func.call @linalg_fill_bf16(%alloc_7) : (memref<8xbf16, 2 : i32>) -> ()
          air.dma_memcpy_nd (%alloc_6[] [] [], %arg29[0] [256] [1]) : (memref<256xbf16, 2 : i32>, memref<256xbf16>)
          %c0 = arith.constant 0 : index
          %c8_8 = arith.constant 8 : index
          %c4_9 = arith.constant 4 : index
          %c4_i32 = arith.constant 4 : i32
          %c256_i32 = arith.constant 256 : i32
          scf.for %arg31 = %c0 to %c8_8 step %c4_9 {
            %2 = affine.apply #map1()[%arg24, %arg31]
            air.dma_memcpy_nd (%alloc_5[] [] [], %arg28[%2, 0] [4, 256] [256, 1]) : (memref<4x256xbf16, 2 : i32>, memref<32x256xbf16, 1 : i32>)
            %3 = arith.index_cast %arg31 : index to i32
            func.call @matvec_vectorized_bf16_bf16(%c4_i32, %c256_i32, %3, %alloc_5, %alloc_6, %alloc_7) : (i32, i32, i32, memref<4x256xbf16, 2 : i32>, memref<256xbf16, 2 : i32>, memref<8xbf16, 2 : i32>) -> ()
          }
          %1 = affine.apply #map2()[%arg24]
          air.dma_memcpy_nd (%arg30[%1] [8] [1], %alloc_7[] [] []) : (memref<32xbf16, 1 : i32>, memref<8xbf16, 2 : i32>)
          memref.dealloc %alloc_5 : memref<4x256xbf16, 2 : i32>
          memref.dealloc %alloc_6 : memref<256xbf16, 2 : i32>
          memref.dealloc %alloc_7 : memref<8xbf16, 2 : i32>
        }
        air.dma_memcpy_nd (%arg23[%0] [32] [1], %alloc_3[] [] []) : (memref<512xbf16>, memref<32xbf16, 1 : i32>)
        memref.dealloc %alloc : memref<32x256xbf16, 1 : i32>
        memref.dealloc %alloc_3 : memref<32xbf16, 1 : i32>
      }
    }
    %c16_0 = arith.constant 16 : index
    air.launch (%arg15) in (%arg16=%c16_0) args(%arg17=%arg9, %arg18=%arg6, %arg19=%arg10) : memref<512x256xbf16>, memref<256xbf16>, memref<512xbf16> {
      air.segment @up_gemv_seg args(%arg20=%arg15, %arg21=%arg17, %arg22=%arg18, %arg23=%arg19) : index, memref<512x256xbf16>, memref<256xbf16>, memref<512xbf16> {
        %alloc = memref.alloc() : memref<32x256xbf16, 1 : i32>
        %alloc_3 = memref.alloc() : memref<32xbf16, 1 : i32>
        %0 = affine.apply #map()[%arg20]
        air.dma_memcpy_nd (%alloc[] [] [], %arg21[%0, 0] [32, 256] [256, 1]) : (memref<32x256xbf16, 1 : i32>, memref<512x256xbf16>)
        %c4 = arith.constant 4 : index
        %c1_4 = arith.constant 1 : index
        air.herd @up_gemv_herd tile (%arg24, %arg25) in (%arg26=%c4, %arg27=%c1_4) args(%arg28=%alloc, %arg29=%arg22, %arg30=%alloc_3) : memref<32x256xbf16, 1 : i32>, memref<256xbf16>, memref<32xbf16, 1 : i32> attributes {link_with = "mv.o"} {
          %alloc_5 = memref.alloc() : memref<4x256xbf16, 2 : i32>
          %alloc_6 = memref.alloc() : memref<256xbf16, 2 : i32>
          %alloc_7 = memref.alloc() : memref<8xbf16, 2 : i32>
          func.call @linalg_fill_bf16(%alloc_7) : (memref<8xbf16, 2 : i32>) -> ()
          air.dma_memcpy_nd (%alloc_6[] [] [], %arg29[0] [256] [1]) : (memref<256xbf16, 2 : i32>, memref<256xbf16>)
          %c0 = arith.constant 0 : index
          %c8_8 = arith.constant 8 : index
          %c4_9 = arith.constant 4 : index
          %c4_i32 = arith.constant 4 : i32
          %c256_i32 = arith.constant 256 : i32
          scf.for %arg31 = %c0 to %c8_8 step %c4_9 {
            %2 = affine.apply #map1()[%arg24, %arg31]
            air.dma_memcpy_nd (%alloc_5[] [] [], %arg28[%2, 0] [4, 256] [256, 1]) : (memref<4x256xbf16, 2 : i32>, memref<32x256xbf16, 1 : i32>)
            %3 = arith.index_cast %arg31 : index to i32
            func.call @matvec_vectorized_bf16_bf16(%c4_i32, %c256_i32, %3, %alloc_5, %alloc_6, %alloc_7) : (i32, i32, i32, memref<4x256xbf16, 2 : i32>, memref<256xbf16, 2 : i32>, memref<8xbf16, 2 : i32>) -> ()
          }
          %1 = affine.apply #map2()[%arg24]
          air.dma_memcpy_nd (%arg30[%1] [8] [1], %alloc_7[] [] []) : (memref<32xbf16, 1 : i32>, memref<8xbf16, 2 : i32>)
          memref.dealloc %alloc_5 : memref<4x256xbf16, 2 : i32>
          memref.dealloc %alloc_6 : memref<256xbf16, 2 : i32>
          memref.dealloc %alloc_7 : memref<8xbf16, 2 : i32>
        }
        air.dma_memcpy_nd (%arg23[%0] [32] [1], %alloc_3[] [] []) : (memref<512xbf16>, memref<32xbf16, 1 : i32>)
        memref.dealloc %alloc : memref<32x256xbf16, 1 : i32>
        memref.dealloc %alloc_3 : memref<32xbf16, 1 : i32>
      }
    }
    air.launch () in () args(%arg15=%arg8, %arg16=%arg10, %arg17=%arg11) : memref<512xbf16>, memref<512xbf16>, memref<512xbf16> {
      air.segment @silu_silu_seg args(%arg18=%arg15, %arg19=%arg16, %arg20=%arg17) : memref<512xbf16>, memref<512xbf16>, memref<512xbf16> {
        %c4 = arith.constant 4 : index
        %c1_3 = arith.constant 1 : index
        air.herd @silu_silu_herd tile (%arg21, %arg22) in (%arg23=%c4, %arg24=%c1_3) args(%arg25=%arg18, %arg26=%arg19, %arg27=%arg20) : memref<512xbf16>, memref<512xbf16>, memref<512xbf16> attributes {link_with = "silu_and_mul.o"} {
          %alloc = memref.alloc() : memref<64xbf16, 2 : i32>
          %alloc_4 = memref.alloc() : memref<64xbf16, 2 : i32>
          %alloc_5 = memref.alloc() : memref<64xbf16, 2 : i32>
          %c0 = arith.constant 0 : index
          %c128 = arith.constant 128 : index
          %c64 = arith.constant 64 : index
          %c64_i32 = arith.constant 64 : i32
          scf.for %arg28 = %c0 to %c128 step %c64 {
            %0 = affine.apply #map4()[%arg21, %arg28]
            air.dma_memcpy_nd (%alloc[] [] [], %arg25[%0] [64] [1]) : (memref<64xbf16, 2 : i32>, memref<512xbf16>)
            air.dma_memcpy_nd (%alloc_4[] [] [], %arg26[%0] [64] [1]) : (memref<64xbf16, 2 : i32>, memref<512xbf16>)
            func.call @silu_and_mul_bf16(%alloc, %alloc_4, %alloc_5, %c64_i32) : (memref<64xbf16, 2 : i32>, memref<64xbf16, 2 : i32>, memref<64xbf16, 2 : i32>, i32) -> ()
            air.dma_memcpy_nd (%arg27[%0] [64] [1], %alloc_5[] [] []) : (memref<512xbf16>, memref<64xbf16, 2 : i32>)
          }
          memref.dealloc %alloc : memref<64xbf16, 2 : i32>
          memref.dealloc %alloc_4 : memref<64xbf16, 2 : i32>
          memref.dealloc %alloc_5 : memref<64xbf16, 2 : i32>
        }
      }
    }
    %c32 = arith.constant 32 : index
    air.launch (%arg15) in (%arg16=%c32) args(%arg17=%arg12, %arg18=%arg11, %arg19=%arg13) : memref<256x512xbf16>, memref<512xbf16>, memref<256xbf16> {
      air.segment @down_gemv_seg args(%arg20=%arg15, %arg21=%arg17, %arg22=%arg18, %arg23=%arg19) : index, memref<256x512xbf16>, memref<512xbf16>, memref<256xbf16> {
        %alloc = memref.alloc() : memref<8x512xbf16, 1 : i32>
        %alloc_3 = memref.alloc() : memref<8xbf16, 1 : i32>
        %0 = affine.apply #map2()[%arg20]
        air.dma_memcpy_nd (%alloc[] [] [], %arg21[%0, 0] [8, 512] [512, 1]) : (memref<8x512xbf16, 1 : i32>, memref<256x512xbf16>)
        %c4 = arith.constant 4 : index
        %c1_4 = arith.constant 1 : index
        air.herd @down_gemv_herd tile (%arg24, %arg25) in (%arg26=%c4, %arg27=%c1_4) args(%arg28=%alloc, %arg29=%arg22, %arg30=%alloc_3) : memref<8x512xbf16, 1 : i32>, memref<512xbf16>, memref<8xbf16, 1 : i32> attributes {link_with = "mv_k512.o"} {
          %alloc_5 = memref.alloc() : memref<1x512xbf16, 2 : i32>
          %alloc_6 = memref.alloc() : memref<512xbf16, 2 : i32>
          %alloc_7 = memref.alloc() : memref<2xbf16, 2 : i32>
          func.call @linalg_fill_bf16_k512(%alloc_7) : (memref<2xbf16, 2 : i32>) -> ()
          air.dma_memcpy_nd (%alloc_6[] [] [], %arg29[0] [512] [1]) : (memref<512xbf16, 2 : i32>, memref<512xbf16>)
          %c0 = arith.constant 0 : index
          %c2_8 = arith.constant 2 : index
          %c1_9 = arith.constant 1 : index
          %c1_i32 = arith.constant 1 : i32
          %c512_i32 = arith.constant 512 : i32
          scf.for %arg31 = %c0 to %c2_8 step %c1_9 {
            %2 = affine.apply #map5()[%arg24, %arg31]
            air.dma_memcpy_nd (%alloc_5[] [] [], %arg28[%2, 0] [1, 512] [512, 1]) : (memref<1x512xbf16, 2 : i32>, memref<8x512xbf16, 1 : i32>)
            %3 = arith.index_cast %arg31 : index to i32
            func.call @matvec_vectorized_bf16_bf16_k512(%c1_i32, %c512_i32, %3, %alloc_5, %alloc_6, %alloc_7) : (i32, i32, i32, memref<1x512xbf16, 2 : i32>, memref<512xbf16, 2 : i32>, memref<2xbf16, 2 : i32>) -> ()
          }
          %1 = affine.apply #map6()[%arg24]
          air.dma_memcpy_nd (%arg30[%1] [2] [1], %alloc_7[] [] []) : (memref<8xbf16, 1 : i32>, memref<2xbf16, 2 : i32>)
          memref.dealloc %alloc_5 : memref<1x512xbf16, 2 : i32>
          memref.dealloc %alloc_6 : memref<512xbf16, 2 : i32>
          memref.dealloc %alloc_7 : memref<2xbf16, 2 : i32>
        }
        air.dma_memcpy_nd (%arg23[%0] [8] [1], %alloc_3[] [] []) : (memref<256xbf16>, memref<8xbf16, 1 : i32>)
        memref.dealloc %alloc : memref<8x512xbf16, 1 : i32>
        memref.dealloc %alloc_3 : memref<8xbf16, 1 : i32>
      }
    }
    %c2_1 = arith.constant 2 : index
    %c1_2 = arith.constant 1 : index
    air.launch () in () args(%arg15=%arg13, %arg16=%arg4, %arg17=%arg14) : memref<256xbf16>, memref<256xbf16>, memref<256xbf16> {
      air.segment @ffn_add_seg args(%arg18=%arg15, %arg19=%arg16, %arg20=%arg17) : memref<256xbf16>, memref<256xbf16>, memref<256xbf16> {
        %c2_3 = arith.constant 2 : index
        %c1_4 = arith.constant 1 : index
        air.herd @ffn_add_add_herd tile (%arg21, %arg22) in (%arg23=%c2_3, %arg24=%c1_4) args(%arg25=%arg18, %arg26=%arg19, %arg27=%arg20) : memref<256xbf16>, memref<256xbf16>, memref<256xbf16> {
          %alloc = memref.alloc() : memref<128xbf16, 2 : i32>
          %alloc_5 = memref.alloc() : memref<128xbf16, 2 : i32>
          %alloc_6 = memref.alloc() : memref<128xbf16, 2 : i32>
          %0 = affine.apply #map3()[%arg21]
          air.dma_memcpy_nd (%alloc[] [] [], %arg25[%0] [128] [1]) : (memref<128xbf16, 2 : i32>, memref<256xbf16>)
          air.dma_memcpy_nd (%alloc_5[] [] [], %arg26[%0] [128] [1]) : (memref<128xbf16, 2 : i32>, memref<256xbf16>)
          %c0 = arith.constant 0 : index
          %c128 = arith.constant 128 : index
          %c16_7 = arith.constant 16 : index
          %cst = arith.constant 0.000000e+00 : bf16
          scf.for %arg28 = %c0 to %c128 step %c16_7 {
            %1 = vector.transfer_read %alloc[%arg28], %cst {in_bounds = [true]} : memref<128xbf16, 2 : i32>, vector<16xbf16>
            %2 = vector.transfer_read %alloc_5[%arg28], %cst {in_bounds = [true]} : memref<128xbf16, 2 : i32>, vector<16xbf16>
            %3 = arith.addf %1, %2 : vector<16xbf16>
            vector.transfer_write %3, %alloc_6[%arg28] {in_bounds = [true]} : vector<16xbf16>, memref<128xbf16, 2 : i32>
          }
          air.dma_memcpy_nd (%arg27[%0] [128] [1], %alloc_6[] [] []) : (memref<256xbf16>, memref<128xbf16, 2 : i32>)
          memref.dealloc %alloc : memref<128xbf16, 2 : i32>
          memref.dealloc %alloc_5 : memref<128xbf16, 2 : i32>
          memref.dealloc %alloc_6 : memref<128xbf16, 2 : i32>
        }
      }
    }
    return
  }
}
