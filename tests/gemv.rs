//! The GEMV of our fixtures in other shapes, against the published rules (limits, cases 36 to 41).

use std::path::Path;

use crate::project::airlink;

/// Rows, columns, tiles, rows of a tile, rows of one kernel call.
struct Gemv {
    m: u64,
    k: u64,
    herd_m: u64,
    tile_m: u64,
    m_input: u64,
}

/// y = A x: a panel of `herd_m * tile_m` rows per launch point goes through L2; each tile computes `tile_m` of them,
/// `m_input` at a time, and reads x again for each.
fn module(g: &Gemv) -> String {
    let Gemv { m, k, herd_m, tile_m, m_input } = g;
    let panel = herd_m * tile_m;
    let points = m / panel;
    let (a, x, y) = (format!("memref<{m}x{k}xbf16>"), format!("memref<{k}xbf16>"), format!("memref<{m}xbf16>"));
    let (pa, py) = (format!("memref<{panel}x{k}xbf16, 1 : i32>"), format!("memref<{panel}xbf16, 1 : i32>"));
    let rows = format!("memref<{m_input}x{k}xbf16, 2 : i32>");
    let (vec, acc) = (format!("memref<{k}xbf16, 2 : i32>"), format!("memref<{tile_m}xbf16, 2 : i32>"));
    format!(
        "module {{
  func.func private @mv({rows}, {vec}, {acc}) attributes {{link_with = \"mv.o\"}}
  func.func @gemv(%a: {a}, %x: {x}, %y: {y}) {{
    %points = arith.constant {points} : index
    air.launch (%p) in (%np=%points) args(%la=%a, %lx=%x, %ly=%y) : {a}, {x}, {y} {{
      air.segment @seg args(%sp=%p, %sa=%la, %sx=%lx, %sy=%ly) : index, {a}, {x}, {y} {{
        %panel = memref.alloc() : {pa}
        %panel_y = memref.alloc() : {py}
        %first = affine.apply affine_map<()[p] -> (p * {panel})>()[%sp]
        air.dma_memcpy_nd (%panel[] [] [], %sa[%first, 0] [{panel}, {k}] [{k}, 1]) : ({pa}, {a})
        %tiles = arith.constant {herd_m} : index
        %one = arith.constant 1 : index
        air.herd @herd tile (%tx, %ty) in (%nx=%tiles, %ny=%one) args(%hp=%panel, %hx=%sx, %hy=%panel_y)
            : {pa}, {x}, {py} attributes {{link_with = \"mv.o\"}} {{
          %rows = memref.alloc() : {rows}
          %vec = memref.alloc() : {vec}
          %acc = memref.alloc() : {acc}
          %begin = arith.constant 0 : index
          %end = arith.constant {tile_m} : index
          %by = arith.constant {m_input} : index
          scf.for %row = %begin to %end step %by {{
            air.dma_memcpy_nd (%vec[] [] [], %hx[0] [{k}] [1]) : ({vec}, {x})
            %source = affine.apply affine_map<()[tile, row] -> (tile * {tile_m} + row)>()[%tx, %row]
            air.dma_memcpy_nd (%rows[] [] [], %hp[%source, 0] [{m_input}, {k}] [{k}, 1]) : ({rows}, {pa})
            func.call @mv(%rows, %vec, %acc) : ({rows}, {vec}, {acc}) -> ()
          }}
          %target = affine.apply affine_map<()[tile] -> (tile * {tile_m})>()[%tx]
          air.dma_memcpy_nd (%hy[%target] [{tile_m}] [1], %acc[] [] []) : ({py}, {acc})
        }}
        air.dma_memcpy_nd (%sy[%first] [{panel}] [1], %panel_y[] [] []) : ({y}, {py})
      }}
    }}
    return
  }}
}}
"
    )
}

/// Errors that `check` finds, and whether it warns of a compile that takes long.
fn judged(folder: &Path, g: &Gemv, options: &[&str]) -> (Vec<String>, bool) {
    std::fs::write(folder.join("gemv.mlir"), module(g)).expect("written");
    let args = [&["check", "gemv.mlir", "--message-format", "json"][..], options].concat();
    let found = airlink(folder, &args).findings();
    let mut errors: Vec<String> = found.iter().filter_map(|f| Some(f.strip_prefix("error ")?.to_string())).collect();
    errors.sort();
    errors.dedup();
    (errors, found.contains(&"warning AL0322".to_string()))
}

/// Shape, options, and the errors that the rules give.
type Case = (u32, [u64; 5], &'static [&'static str], &'static [&'static str]);

const OFF: &[&str] = &["--no-pingpong", "--runtime-tiling", "4,4"];
const OFF_UNTILED: &[&str] = &["--no-pingpong"];
const ON_TILED: &[&str] = &["--runtime-tiling", "16,16"];

#[test]
fn gemv_shapes_have_the_verdict_of_the_rules() {
    let cases: &[Case] = &[
        // 16 rows of 2048 also are one word more than a core's descriptor moves.
        (36, [2048, 2048, 8, 16, 16], OFF, &["AL0310", "AL0311", "AL0314"]),
        (36, [2048, 2048, 8, 16, 8], OFF, &["AL0310"]),
        (36, [2560, 4096, 8, 8, 4], OFF, &["AL0310"]),
        (36, [2560, 4096, 8, 4, 4], OFF, &[]),
        (37, [2048, 11008, 8, 2, 2], OFF, &["AL0311"]),
        (37, [2048, 11008, 8, 2, 1], OFF, &[]),
        (38, [2560, 9728, 8, 2, 1], OFF_UNTILED, &["AL0309"]),
        (38, [2560, 9728, 8, 2, 2], OFF_UNTILED, &[]),
        (39, [8192, 2048, 8, 8, 4], &[], &[]),
        (39, [16384, 2048, 8, 8, 4], &[], &["AL0309"]),
        (39, [16384, 2048, 8, 8, 4], ON_TILED, &[]),
        (40, [151_936, 1024, 8, 16, 16], OFF_UNTILED, &["AL0309"]),
        (41, [2048, 8192, 8, 1, 1], OFF, &["AL0308"]),
    ];
    let folder = tempfile::tempdir().expect("a folder");
    for (case, [m, k, herd_m, tile_m, m_input], options, wanted) in cases {
        let gemv = Gemv { m: *m, k: *k, herd_m: *herd_m, tile_m: *tile_m, m_input: *m_input };
        let (errors, _) = judged(folder.path(), &gemv, options);
        assert_eq!(errors, *wanted, "case {case}: {m}x{k} {herd_m}/{tile_m}/{m_input} {options:?}");
    }
}

/// Case 40: 1187 launch points are prime, so every runtime tile is one of them.
#[test]
fn a_prime_count_of_launch_points_compiles_slowly() {
    let folder = tempfile::tempdir().expect("a folder");
    let gemv = Gemv { m: 151_936, k: 1024, herd_m: 8, tile_m: 16, m_input: 16 };
    let (errors, is_slow) = judged(folder.path(), &gemv, OFF);
    assert!(errors.is_empty() && is_slow, "{errors:?}");
}
