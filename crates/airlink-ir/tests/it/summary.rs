//! Summaries of small modules, and of the shared corpus against its manifest.

use airlink_diag::Findings;
use airlink_ir::{Ir, parse, summarize};
use airlink_kernel::{EntryKind, KernelSummary, LocalKind};

const GEMV: &str = r#"
#map = affine_map<()[s0] -> (s0 * 8)>
module {
  air.channel @c [1]
  func.func private @mv(i32, memref<4x64xbf16, 2 : i32>, memref<64xbf16, 2 : i32>, memref<8xbf16, 2 : i32>) attributes {link_with = "mv.o", llvm.emit_c_interface}
  func.func private @fill(memref<8xbf16, 2 : i32>)
  func.func @gemv(%a: memref<64x64xbf16>, %b: memref<64xbf16>, %y: memref<2x64xbf16>) {
    %c2 = arith.constant 2 : index
    %c1 = arith.constant 1 : index
    %row = memref.subview %y[0, 0] [1, 64] [1, 1] : memref<2x64xbf16> to memref<64xbf16, strided<[1]>>
    air.launch (%i) in (%n=%c1) args(%la=%a, %lb=%b, %ly=%row) : memref<64x64xbf16>, memref<64xbf16>, memref<64xbf16, strided<[1]>> {
      air.segment @seg args(%sa=%la, %sb=%lb, %sy=%ly) : memref<64x64xbf16>, memref<64xbf16>, memref<64xbf16, strided<[1]>> {
        %c2_0 = arith.constant 2 : index
        %c1_0 = arith.constant 1 : index
        air.channel.put @c[] (%sb[] [] []) : (memref<64xbf16>)
        air.herd @herd tile (%x, %z) in (%sx=%c2_0, %sz=%c1_0) args(%ha=%sa, %hy=%sy) : memref<64x64xbf16>, memref<64xbf16, strided<[1]>> attributes {link_with = "other.o"} {
          %l1a = memref.alloc() : memref<4x64xbf16, 2 : i32>
          %l1b = memref.alloc() : memref<64xbf16, 2 : i32>
          %l1y = memref.alloc() : memref<8xbf16, 2 : i32>
          %c4 = arith.constant 4 : i32
          air.channel.get @c[] (%l1b[] [] []) : (memref<64xbf16, 2 : i32>)
          air.dma_memcpy_nd (%l1a[] [] [], %ha[%x, 0] [4, 64] [64, 1]) : (memref<4x64xbf16, 2 : i32>, memref<64x64xbf16>)
          func.call @fill(%l1y) : (memref<8xbf16, 2 : i32>) -> ()
          func.call @mv(%c4, %l1a, %l1b, %l1y) : (i32, memref<4x64xbf16, 2 : i32>, memref<64xbf16, 2 : i32>, memref<8xbf16, 2 : i32>) -> ()
          %off = affine.apply #map()[%x]
          air.dma_memcpy_nd (%hy[%off] [8] [1], %l1y[] [] []) : (memref<64xbf16, strided<[1]>>, memref<8xbf16, 2 : i32>)
        }
      }
    }
    return
  }
}
"#;

pub fn summary_of(text: &str) -> (KernelSummary, Findings) {
    let ir = Ir::new();
    let mut findings = Findings::default();
    let file = findings.sources.add("k.mlir", text);
    let module = parse(&ir, file, "k.mlir", &mut findings);
    let Ok(module) = module else {
        panic!("{:?}", findings.iter().collect::<Vec<_>>());
    };
    (summarize(&module, file, &findings.sources), findings)
}

#[test]
fn a_gemv_is_told_in_full() {
    let (summary, findings) = summary_of(GEMV);
    let function = &summary.functions[0];
    assert_eq!(function.name, "gemv");
    let snippet = |span| findings.sources.snippet(span).to_string();
    assert_eq!(snippet(function.span), "@gemv");
    assert_eq!(function.args.iter().map(|a| snippet(a.span)).collect::<Vec<_>>(), ["%a", "%b", "%y"]);
    assert_eq!(function.args[2].ty.to_string(), "memref<2x64xbf16>");
    let entry = &function.entries[0];
    assert_eq!(entry.kind, EntryKind::Launch);
    assert_eq!(entry.accesses.iter().map(|a| a.as_str()).collect::<Vec<_>>(), ["r", "r", "w"]);
    assert_eq!(entry.channels, ["c"]);
    assert_eq!(entry.herds[0].size, [Some(2), Some(1)]);
    let calls: Vec<_> = entry.calls.iter().map(|c| (c.symbol.as_str(), c.link_with.as_deref())).collect();
    assert_eq!(calls, [("fill", Some("other.o")), ("mv", Some("mv.o"))]);
    let mv = &summary.externs[0];
    assert_eq!((mv.k(), mv.m()), (Some(64), Some(8)));
    assert_eq!(mv.attributes.keys().collect::<Vec<_>>(), ["llvm.emit_c_interface"]);
    let locals: Vec<_> = summary.locals.iter().map(|l| (l.kind, l.name.as_str())).collect();
    assert_eq!(
        locals,
        [
            (LocalKind::Channel, "c"),
            (LocalKind::Function, "gemv"),
            (LocalKind::Segment, "seg"),
            (LocalKind::Herd, "herd")
        ]
    );
}

#[test]
fn accesses_follow_loops_branches_and_yields() {
    let (summary, _) = summary_of(
        r#"
func.func @k(%a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f = arith.constant 1.0 : f32
  %t = arith.constant true
  air.launch () in () args(%x=%a, %y=%b, %z=%c) : memref<8xf32>, memref<8xf32>, memref<8xf32> {
    %c0_0 = arith.constant 0 : index
    %c1_0 = arith.constant 1 : index
    %f_0 = arith.constant 1.0 : f32
    %t_0 = arith.constant true
    %r = scf.for %i = %c0_0 to %c1_0 step %c1_0 iter_args(%cur = %x) -> (memref<8xf32>) {
      memref.store %f_0, %cur[%c0_0] : memref<8xf32>
      scf.yield %y : memref<8xf32>
    }
    %s = scf.if %t_0 -> (memref<8xf32>) {
      scf.yield %r : memref<8xf32>
    } else {
      scf.yield %z : memref<8xf32>
    }
    %v = memref.load %s[%c0_0] : memref<8xf32>
  }
  return
}
"#,
    );
    let accesses: Vec<_> = summary.functions[0].entries[0].accesses.iter().map(|a| a.as_str()).collect();
    assert_eq!(accesses, ["rw", "rw", "r"]);
}

/// Folder of the shared corpus; `None`, said aloud, where it is absent.
fn corpus() -> Option<std::path::PathBuf> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    if path.is_dir() {
        return Some(path);
    }
    assert!(std::env::var_os("AIRLINK_REQUIRE_SHARED").is_none(), "the shared corpus is required and absent");
    println!("skipped: no shared corpus beside the project");
    None
}

#[test]
fn corpus_summaries_equal_its_manifest() {
    let Some(corpus) = corpus() else { return };
    let manifest: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(corpus.join("manifest.json")).unwrap()).unwrap();
    let mut checked = 0;
    for (file, wanted) in manifest["kernels"].as_object().unwrap() {
        let (summary, _) = summary_of(&std::fs::read_to_string(corpus.join(file)).unwrap());
        let function = &summary.functions[0];
        assert_eq!(function.name, wanted["func"].as_str().unwrap(), "{file}");
        let types: Vec<_> = function.args.iter().map(|a| a.ty.to_string()).collect();
        assert_eq!(serde_json::json!(types), wanted["args"], "{file}");
        let mut access = vec![String::new(); types.len()];
        for (i, a) in access.iter_mut().enumerate() {
            let touched = |f: fn(airlink_kernel::Access) -> bool| function.entries.iter().any(|e| f(e.accesses[i]));
            a.push_str(if touched(|a| a.is_read()) { "r" } else { "" });
            a.push_str(if touched(|a| a.is_written()) { "w" } else { "" });
        }
        assert_eq!(serde_json::json!(access), wanted["access"], "{file}");
        let launches = function.entries.iter().filter(|e| e.kind == EntryKind::Launch).count();
        assert_eq!(serde_json::json!(launches), wanted["launches"], "{file}");
        checked += 1;
    }
    assert!(checked > 60, "only {checked} kernels");
}
