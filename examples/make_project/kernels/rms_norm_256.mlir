// y = w x / sqrt(mean(x^2) + 1e-5) over 256 bf16: one tile, inline vector code, no extern. Squares are summed in 16 f32
// lanes; the only rounding to bf16 is that of the result.

module {
  func.func @rms_norm(%x: memref<256xbf16>, %w: memref<256xbf16>, %y: memref<256xbf16>) {
    air.launch () in () args(%lx=%x, %lw=%w, %ly=%y) : memref<256xbf16>, memref<256xbf16>, memref<256xbf16> {
      air.segment @norm_seg args(%sx=%lx, %sw=%lw, %sy=%ly) : memref<256xbf16>, memref<256xbf16>, memref<256xbf16> {
        %one = arith.constant 1 : index
        air.herd @norm_herd tile (%tx, %ty) in (%nx=%one, %ny=%one) args(%hx=%sx, %hw=%sw, %hy=%sy) : memref<256xbf16>, memref<256xbf16>, memref<256xbf16> {
          %row = memref.alloc() : memref<256xbf16, 2 : i32>
          %gain = memref.alloc() : memref<256xbf16, 2 : i32>
          %out = memref.alloc() : memref<256xbf16, 2 : i32>
          air.dma_memcpy_nd (%row[] [] [], %hx[] [] []) : (memref<256xbf16, 2 : i32>, memref<256xbf16>)
          air.dma_memcpy_nd (%gain[] [] [], %hw[] [] []) : (memref<256xbf16, 2 : i32>, memref<256xbf16>)
          %begin = arith.constant 0 : index
          %end = arith.constant 256 : index
          %by = arith.constant 16 : index
          %pad = arith.constant 0.000000e+00 : bf16
          %none = arith.constant dense<0.000000e+00> : vector<16xf32>
          %squares = scf.for %i = %begin to %end step %by iter_args(%sum = %none) -> (vector<16xf32>) {
            %narrow = vector.transfer_read %row[%i], %pad {in_bounds = [true]} : memref<256xbf16, 2 : i32>, vector<16xbf16>
            %wide = arith.extf %narrow : vector<16xbf16> to vector<16xf32>
            %square = arith.mulf %wide, %wide : vector<16xf32>
            %next = arith.addf %sum, %square : vector<16xf32>
            scf.yield %next : vector<16xf32>
          }
          %total = vector.reduction <add>, %squares : vector<16xf32> into f32
          %count = arith.constant 2.560000e+02 : f32
          %eps = arith.constant 1.000000e-05 : f32
          %mean = arith.divf %total, %count : f32
          %shifted = arith.addf %mean, %eps : f32
          %scale = math.rsqrt %shifted : f32
          %scales = vector.broadcast %scale : f32 to vector<16xf32>
          scf.for %i = %begin to %end step %by {
            %narrow = vector.transfer_read %row[%i], %pad {in_bounds = [true]} : memref<256xbf16, 2 : i32>, vector<16xbf16>
            %narrow_gain = vector.transfer_read %gain[%i], %pad {in_bounds = [true]} : memref<256xbf16, 2 : i32>, vector<16xbf16>
            %wide = arith.extf %narrow : vector<16xbf16> to vector<16xf32>
            %wide_gain = arith.extf %narrow_gain : vector<16xbf16> to vector<16xf32>
            %scaled = arith.mulf %wide, %scales : vector<16xf32>
            %weighted = arith.mulf %scaled, %wide_gain : vector<16xf32>
            %rounded = arith.truncf %weighted : vector<16xf32> to vector<16xbf16>
            vector.transfer_write %rounded, %out[%i] {in_bounds = [true]} : vector<16xbf16>, memref<256xbf16, 2 : i32>
          }
          air.dma_memcpy_nd (%hy[] [] [], %out[] [] []) : (memref<256xbf16>, memref<256xbf16, 2 : i32>)
          memref.dealloc %row : memref<256xbf16, 2 : i32>
          memref.dealloc %gain : memref<256xbf16, 2 : i32>
          memref.dealloc %out : memref<256xbf16, 2 : i32>
        }
      }
    }
    return
  }
}
