//! Whole kernels on the host against plain Rust, bit for bit.

use airlink_host::HostOptions;
use airlink_rt::{CpuLevel, Role, bf16_from_f32, bf16_to_f32};

use crate::support::{Arg, Running, build, complaints, numbers};

/// y = A x without an extern: 64 x 128 over panels of 16 rows in L2, four tiles of 4 rows, one f32 sum per row.
const GEMV: &str = "
#row = affine_map<()[s0, s1] -> (s0 * 4 + s1)>
module {
  func.func private @dot(%a: memref<4x128xbf16, 2>, %x: memref<128xbf16, 2>, %y: memref<4xbf16, 2>) {
    %zero = arith.constant 0.0 : f32
    affine.for %r = 0 to 4 {
      %sum = affine.for %k = 0 to 128 iter_args(%acc = %zero) -> (f32) {
        %av = affine.load %a[%r, %k] : memref<4x128xbf16, 2>
        %xv = affine.load %x[%k] : memref<128xbf16, 2>
        %af = arith.extf %av : bf16 to f32
        %xf = arith.extf %xv : bf16 to f32
        %p = arith.mulf %af, %xf : f32
        %s = arith.addf %acc, %p : f32
        affine.yield %s : f32
      }
      %t = arith.truncf %sum : f32 to bf16
      affine.store %t, %y[%r] : memref<4xbf16, 2>
    }
    return
  }
  func.func @gemv(%A: memref<64x128xbf16>, %x: memref<128xbf16>, %y: memref<64xbf16>) {
    %c4 = arith.constant 4 : index
    air.launch (%i) in (%n=%c4) args(%la=%A, %lx=%x, %ly=%y) : memref<64x128xbf16>, memref<128xbf16>, memref<64xbf16> {
      air.segment @seg args(%si=%i, %sa=%la, %sx=%lx, %sy=%ly) : index, memref<64x128xbf16>, memref<128xbf16>, memref<64xbf16> {
        %c16 = arith.constant 16 : index
        %first = arith.muli %si, %c16 : index
        %panel = memref.alloc() : memref<16x128xbf16, 1>
        %out = memref.alloc() : memref<16xbf16, 1>
        air.dma_memcpy_nd (%panel[] [] [], %sa[%first, 0] [16, 128] [128, 1]) : (memref<16x128xbf16, 1>, memref<64x128xbf16>)
        %tiles = arith.constant 4 : index
        %one = arith.constant 1 : index
        air.herd @herd tile (%tx, %ty) in (%nx=%tiles, %ny=%one) args(%hp=%panel, %hx=%sx, %ho=%out) : memref<16x128xbf16, 1>, memref<128xbf16>, memref<16xbf16, 1> {
          %a = memref.alloc() : memref<4x128xbf16, 2>
          %v = memref.alloc() : memref<128xbf16, 2>
          %acc = memref.alloc() : memref<4xbf16, 2>
          %zero = arith.constant 0 : index
          %from = affine.apply #row()[%tx, %zero]
          air.dma_memcpy_nd (%v[] [] [], %hx[0] [128] [1]) : (memref<128xbf16, 2>, memref<128xbf16>)
          air.dma_memcpy_nd (%a[] [] [], %hp[%from, 0] [4, 128] [128, 1]) : (memref<4x128xbf16, 2>, memref<16x128xbf16, 1>)
          func.call @dot(%a, %v, %acc) : (memref<4x128xbf16, 2>, memref<128xbf16, 2>, memref<4xbf16, 2>) -> ()
          air.dma_memcpy_nd (%ho[%from] [4] [1], %acc[] [] []) : (memref<16xbf16, 1>, memref<4xbf16, 2>)
        }
        air.dma_memcpy_nd (%sy[%first] [16] [1], %out[] [] []) : (memref<64xbf16>, memref<16xbf16, 1>)
      }
    }
    return
  }
}";

#[test]
fn gemv_with_an_l2_panel() {
    let args: [Arg; 3] = [
        ("A", "memref<64x128xbf16>", Role::Static),
        ("x", "memref<128xbf16>", Role::Input),
        ("y", "memref<64xbf16>", Role::Output),
    ];
    let (a, x) = (numbers(1, 64 * 128), numbers(2, 128));
    let dot = |row: &[u16]| {
        let products = row.iter().zip(&x).map(|(a, x)| bf16_to_f32(*a) * bf16_to_f32(*x));
        bf16_from_f32(products.fold(0.0, |sum, p| sum + p))
    };
    let expected: Vec<u16> = a.chunks(128).map(dot).collect();
    for (reverse_points, poison) in [(false, None), (true, Some(0xff))] {
        let options = HostOptions { reverse_points, poison, ..HostOptions::default() };
        let mut running = Running::new(&build(GEMV, &args, 1, &[], &options));
        running.set("A", &a);
        running.set("x", &x);
        running.run();
        assert_eq!(running.get("y"), expected);
        running.run();
        assert_eq!(running.get("y"), expected, "a second time");
    }
}

/// Elementwise bf16 arithmetic of several steps, in a bare herd, each step rounded.
const ELEMENTWISE: &str = "
func.func @f(%a: memref<64xbf16>, %b: memref<64xbf16>, %c: memref<64xbf16>) {
  %c2 = arith.constant 2 : index
  %c1 = arith.constant 1 : index
  air.herd @herd tile (%x, %y) in (%nx=%c2, %ny=%c1) args(%ha=%a, %hb=%b, %hc=%c) : memref<64xbf16>, memref<64xbf16>, memref<64xbf16> {
    %c32 = arith.constant 32 : index
    %first = arith.muli %x, %c32 : index
    %la = memref.alloc() : memref<32xbf16, 2>
    %lb = memref.alloc() : memref<32xbf16, 2>
    air.dma_memcpy_nd (%la[] [] [], %ha[%first] [32] [1]) : (memref<32xbf16, 2>, memref<64xbf16>)
    air.dma_memcpy_nd (%lb[] [] [], %hb[%first] [32] [1]) : (memref<32xbf16, 2>, memref<64xbf16>)
    %zero = arith.constant 0.0 : bf16
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    scf.for %i = %c0 to %c32 step %c16 {
      %av = vector.transfer_read %la[%i], %zero {in_bounds = [true]} : memref<32xbf16, 2>, vector<16xbf16>
      %bv = vector.transfer_read %lb[%i], %zero {in_bounds = [true]} : memref<32xbf16, 2>, vector<16xbf16>
      %sum = arith.addf %av, %bv : vector<16xbf16>
      %product = arith.mulf %sum, %bv : vector<16xbf16>
      %third = arith.divf %product, %av : vector<16xbf16>
      %total = vector.reduction <add>, %third : vector<16xbf16> into bf16
      %totals = vector.broadcast %total : bf16 to vector<16xbf16>
      %last = arith.subf %third, %totals : vector<16xbf16>
      vector.transfer_write %last, %la[%i] {in_bounds = [true]} : vector<16xbf16>, memref<32xbf16, 2>
    }
    air.dma_memcpy_nd (%hc[%first] [32] [1], %la[] [] []) : (memref<64xbf16>, memref<32xbf16, 2>)
  }
  return
}";

#[test]
fn bf16_rounds_after_each_operation() {
    let ty = "memref<64xbf16>";
    let args: [Arg; 3] = [("a", ty, Role::Input), ("b", ty, Role::Input), ("c", ty, Role::Output)];
    let (a, b) = (numbers(3, 64), numbers(4, 64));
    let r = |v: f32| bf16_to_f32(bf16_from_f32(v));
    let mut expected = Vec::new();
    for (a, b) in a.chunks(16).zip(b.chunks(16)) {
        let third: Vec<f32> = a
            .iter()
            .zip(b)
            .map(|(a, b)| {
                let (a, b) = (bf16_to_f32(*a), bf16_to_f32(*b));
                r(r(r(a + b) * b) / a)
            })
            .collect();
        // A reduction adds in f32 from the left and rounds once.
        let total = r(third.iter().fold(-0.0, |sum, v| sum + v));
        expected.extend(third.iter().map(|v| bf16_from_f32(v - total)));
    }
    for cpu in [CpuLevel::V3, CpuLevel::V2] {
        let options = HostOptions { cpu, ..HostOptions::default() };
        let mut running = Running::new(&build(ELEMENTWISE, &args, 1, &[], &options));
        running.set("a", &a);
        running.set("b", &b);
        running.run();
        assert_eq!(running.get("c"), expected, "{cpu}");
    }
}

/// A segment's L1 buffer handed to a herd is one buffer per tile: each tile counts on in its own.
const PRIVATE: &str = "
func.func @f(%c: memref<4xi32>) {
  air.launch () in () args(%lc=%c) : memref<4xi32> {
    air.segment @seg args(%sc=%lc) : memref<4xi32> {
      %mine = memref.alloc() : memref<1xi32, 2>
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      scf.for %round = %c0 to %c2 step %c1 {
        air.herd @herd tile (%x, %y) in (%nx=%c2, %ny=%c2) args(%hm=%mine, %hc=%sc, %hr=%round) : memref<1xi32, 2>, memref<4xi32>, index {
          %zero = arith.constant 0 : index
          %two = arith.constant 2 : index
          %xx = arith.muli %x, %two : index
          %tile = arith.addi %xx, %y : index
          %first = arith.cmpi eq, %hr, %zero : index
          scf.if %first {
            %t = arith.index_cast %tile : index to i32
            memref.store %t, %hm[%zero] : memref<1xi32, 2>
          } else {
            %v = memref.load %hm[%zero] : memref<1xi32, 2>
            %ten = arith.constant 10 : i32
            %w = arith.muli %v, %ten : i32
            memref.store %w, %hm[%zero] : memref<1xi32, 2>
          }
          air.dma_memcpy_nd (%hc[%tile] [1] [1], %hm[] [] []) : (memref<4xi32>, memref<1xi32, 2>)
        }
      }
      memref.dealloc %mine : memref<1xi32, 2>
    }
  }
  return
}";

#[test]
fn l1_buffers_of_the_segment_are_private_to_tiles() {
    let args: [Arg; 1] = [("c", "memref<4xi32>", Role::Output)];
    let mut running = Running::new(&build(PRIVATE, &args, 1, &[], &HostOptions::default()));
    running.run();
    let found: Vec<i32> =
        running.bytes_mut("c").chunks_exact(4).map(|b| i32::from_le_bytes(b.try_into().unwrap())).collect();
    assert_eq!(found, [0, 10, 20, 30]);
}

/// Two herds of one name are the same tiles: what one leaves in an L1 buffer of the segment, the other finds, whether the
/// buffer is one per tile or one for all with a part for each.
#[test]
fn l1_buffers_last_from_herd_to_herd() {
    let herd = |name: &str, ty: &str, access: &str, body: &str| {
        format!(
            "air.herd @{name} tile (%x, %y) in (%nx=%c2, %ny=%c2) args(%hm=%mine, %hc=%sc) : {ty}, memref<4xi32> {{
               %zero = arith.constant 0 : index
               %two = arith.constant 2 : index
               %xx = arith.muli %x, %two : index
               %tile = arith.addi %xx, %y : index
               %part = {access}
               {body}
             }}"
        )
    };
    let view = "memref<1xi32, strided<[1], offset: ?>, 2>";
    let own = ("memref<1xi32, 2>", format!("memref.subview %hm[%zero] [1] [1] : memref<1xi32, 2> to {view}"));
    let divided = (
        "memref<2x2x1xi32, 2>",
        format!("memref.subview %hm[%x, %y, 0] [1, 1, 1] [1, 1, 1] : memref<2x2x1xi32, 2> to {view}"),
    );
    let args: [Arg; 1] = [("c", "memref<4xi32>", Role::Output)];
    for (ty, access) in [own, divided] {
        let first = format!("%t = arith.index_cast %tile : index to i32\n memref.store %t, %part[%zero] : {view}");
        let second = format!("air.dma_memcpy_nd (%hc[%tile] [1] [1], %part[] [] []) : (memref<4xi32>, {view})");
        let text = format!(
            "func.func @f(%c: memref<4xi32>) {{
               air.launch () in () args(%lc=%c) : memref<4xi32> {{
                 air.segment @seg args(%sc=%lc) : memref<4xi32> {{
                   %mine = memref.alloc() : {ty}
                   %c2 = arith.constant 2 : index
                   {}
                   {}
                 }}
               }}
               return
             }}",
            herd("h", ty, &access, &first),
            herd("h", ty, &access, &second)
        );
        let mut running = Running::new(&build(&text, &args, 1, &[], &HostOptions::default()));
        running.run();
        let bytes = running.bytes_mut("c");
        let found: Vec<i32> = bytes.chunks_exact(4).map(|b| i32::from_le_bytes(b.try_into().unwrap())).collect();
        assert_eq!(found, [0, 1, 2, 3], "{ty}");

        let other_herd = text.replacen("@h ", "@other ", 1);
        let shared = "error AL0701 line 4: several herds share this L1 buffer, and several tiles write it: the host target cannot \
             tell in which order they use it\n";
        assert_eq!(complaints(&other_herd), if ty.contains("2x2") { "" } else { shared });
    }
}

/// Functions of the math dialect are airlink's own: the ELF asks no library for them.
#[test]
fn exp_needs_no_library() {
    let text = "
func.func @f(%a: memref<256xf32>) {
  air.herd @herd tile (%x, %y) in (%nx=%n, %ny=%n) args(%h=%a) : memref<256xf32> {
    %l1 = memref.alloc() : memref<256xf32, 2>
    air.dma_memcpy_nd (%l1[] [] [], %h[] [] []) : (memref<256xf32, 2>, memref<256xf32>)
    affine.for %i = 0 to 256 {
      %v = affine.load %l1[%i] : memref<256xf32, 2>
      %e = math.exp %v : f32
      affine.store %e, %l1[%i] : memref<256xf32, 2>
    }
    air.dma_memcpy_nd (%h[] [] [], %l1[] [] []) : (memref<256xf32>, memref<256xf32, 2>)
  }
  return
}"
    .replace("{\n  air.herd", "{\n  %n = arith.constant 1 : index\n  air.herd");
    let args: [Arg; 1] = [("a", "memref<256xf32>", Role::Inout)];
    let elf = build(&text, &args, 1, &[], &HostOptions::default());
    let needed = airlink_elf::undefined_symbols(&elf).unwrap();
    assert!(needed.iter().all(|n| n == "memcpy"), "{needed:?}");
    let mut running = Running::new(&elf);
    let values: Vec<f32> = (0..256).map(|i| i as f32 / 8.0 - 16.0).collect();
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    running.bytes_mut("a").copy_from_slice(&bytes);
    running.run();
    for (bytes, v) in running.bytes_mut("a").chunks_exact(4).zip(values) {
        let (found, exact) = (f64::from(f32::from_le_bytes(bytes.try_into().unwrap())), f64::from(v).exp());
        assert!((found - exact).abs() <= exact * f64::from(f32::EPSILON), "exp({v}) = {found}, not {exact}");
    }
}
