//! Faults planted into the second of three launches of a fused program: `verify` fails and names that launch. A cosine
//! lets several of them pass.

use airlink_diag::Findings;
use airlink_host::HostOptions;
use airlink_host::verify::{ElfUnderTest, Step, Variant, verify};
use airlink_rt::{Role, StreamOptions};

use crate::support::{Arg, build, said};

const A: Arg = ("a", "memref<16x32xbf16>", Role::Static);
const U: Arg = ("u", "memref<32xbf16>", Role::Input);
const X: Arg = ("x", "memref<32xbf16>", Role::Intermediate);
const Y: Arg = ("y", "memref<16xbf16>", Role::Intermediate);
const Z: Arg = ("z", "memref<16xbf16>", Role::Output);

/// `to[i] = from[i] op from[i]` for `count` elements.
fn elementwise(from: &str, to: &str, count: u32, op: &str) -> String {
    let ty = format!("memref<{count}xbf16>");
    format!(
        "air.launch () in () args(%f={from}, %t={to}) : {ty}, {ty} {{
           air.segment @seg args(%sf=%f, %st=%t) : {ty}, {ty} {{
             %one = arith.constant 1 : index
             air.herd @each tile (%tx, %ty) in (%nx=%one, %ny=%one) args(%hf=%sf, %ht=%st) : {ty}, {ty} {{
               %zero = arith.constant 0 : index
               %step = arith.constant 1 : index
               %end = arith.constant {count} : index
               %l1 = memref.alloc() : memref<{count}xbf16, 2>
               air.dma_memcpy_nd (%l1[] [] [], %hf[] [] []) : (memref<{count}xbf16, 2>, {ty})
               scf.for %i = %zero to %end step %step {{
                 %v = memref.load %l1[%i] : memref<{count}xbf16, 2>
                 %w = {op} %v, %v : bf16
                 memref.store %w, %l1[%i] : memref<{count}xbf16, 2>
               }}
               air.dma_memcpy_nd (%ht[] [] [], %l1[] [] []) : ({ty}, memref<{count}xbf16, 2>)
             }}
           }}
         }}\n"
    )
}

const CHANNELS: &str = "air.channel @rows [4]
air.channel @vector [1, 1] {broadcast_shape = [4 : index, 1 : index]}
air.channel @partial [4]\n";

/// y = A x on four tiles of four rows each; A in two halves of K through a channel, y through a DMA.
fn gemv(a: &str, x: &str, y: &str) -> String {
    let puts: String = (0..4)
        .map(|t| {
            format!(
                "%t{t} = arith.constant {t} : index
                 air.channel.put @rows[%t{t}] (%la[0, {r}, 0] [2, 4, 16] [16, 32, 1]) : (memref<16x32xbf16>)\n",
                r = 4 * t
            )
        })
        .collect();
    format!(
        "air.launch () in () args(%la={a}, %lx={x}, %ly={y}) : memref<16x32xbf16>, memref<32xbf16>, memref<16xbf16> {{
           {puts}
           air.channel.put @vector[] (%lx[] [] []) : (memref<32xbf16>)
           air.segment @seg args(%sy=%ly) : memref<16xbf16> {{
             %four = arith.constant 4 : index
             %one = arith.constant 1 : index
             air.herd @dot tile (%tx, %ty) in (%nx=%four, %ny=%one) args(%hy=%sy) : memref<16xbf16> {{
               %zero = arith.constant 0 : index
               %step = arith.constant 1 : index
               %halves = arith.constant 2 : index
               %rows = arith.constant 4 : index
               %k = arith.constant 16 : index
               %none = arith.constant 0.0 : f32
               %v = memref.alloc() : memref<32xbf16, 2>
               %m = memref.alloc() : memref<4x16xbf16, 2>
               %sum = memref.alloc() : memref<4xf32, 2>
               %out = memref.alloc() : memref<4xbf16, 2>
               air.channel.get @vector[%tx, %ty] (%v[] [] []) : (memref<32xbf16, 2>)
               scf.for %r = %zero to %rows step %step {{ memref.store %none, %sum[%r] : memref<4xf32, 2> }}
               scf.for %h = %zero to %halves step %step {{
                 air.channel.get @rows[%tx] (%m[] [] []) : (memref<4x16xbf16, 2>)
                 scf.for %r = %zero to %rows step %step {{
                   scf.for %i = %zero to %k step %step {{
                     %base = arith.muli %h, %k : index
                     %j = arith.addi %base, %i : index
                     %p = memref.load %m[%r, %i] : memref<4x16xbf16, 2>
                     %q = memref.load %v[%j] : memref<32xbf16, 2>
                     %pf = arith.extf %p : bf16 to f32
                     %qf = arith.extf %q : bf16 to f32
                     %pq = arith.mulf %pf, %qf : f32
                     %s = memref.load %sum[%r] : memref<4xf32, 2>
                     %n = arith.addf %s, %pq : f32
                     memref.store %n, %sum[%r] : memref<4xf32, 2>
                   }}
                 }}
               }}
               scf.for %r = %zero to %rows step %step {{
                 %s = memref.load %sum[%r] : memref<4xf32, 2>
                 %o = arith.truncf %s : f32 to bf16
                 memref.store %o, %out[%r] : memref<4xbf16, 2>
               }}
               %first = arith.muli %tx, %rows : index
               air.dma_memcpy_nd (%hy[%first] [4] [1], %out[] [] []) : (memref<16xbf16>, memref<4xbf16, 2>)
             }}
           }}
         }}\n"
    )
}

fn function(args: &[Arg], launches: &[String]) -> String {
    let list: Vec<String> = args.iter().map(|(name, ty, _)| format!("%{name}: {ty}")).collect();
    format!("{CHANNELS}func.func @f({}) {{\n{} return }}", list.join(", "), launches.concat())
}

/// What `verify` says of a program whose second launch is `planted` when fused.
fn verdict(planted: &str) -> (bool, String) {
    let (first, right, last) =
        (elementwise("%u", "%x", 32, "arith.addf"), gemv("%a", "%x", "%y"), elementwise("%y", "%z", 16, "arith.mulf"));
    let args = [A, U, X, Y, Z];
    let text = function(&args, &[first.clone(), planted.to_string(), last.clone()]);
    let elf = |v: Variant| build(&text, &args, 3, &[], &v.options(&HostOptions::default()));
    let alone = |args: &[Arg], launch: &String| {
        build(&function(args, std::slice::from_ref(launch)), args, 1, &[], &HostOptions::default())
    };
    let elf = ElfUnderTest {
        fused: Variant::ALL.into_iter().map(|v| (v, elf(v))).collect(),
        unfused: vec![alone(&[U, X], &first), alone(&[A, X, Y], &right), alone(&[Y, Z], &last)],
        launch_counts: vec![1, 1, 1],
    };
    let mut findings = Findings::default();
    let report = verify(&[Step::Elf(elf)], 1, StreamOptions::default(), &mut findings);
    (report.is_ok(), said(&findings))
}

#[test]
fn nothing_is_found_where_nothing_is_wrong() {
    assert_eq!(verdict(&gemv("%a", "%x", "%y")), (true, String::new()));
}

/// Plants `change` into the GEMV, and expects a finding that starts so and names launch 1.
#[track_caller]
fn found(change: (&str, &str), start: &str) {
    let right = gemv("%a", "%x", "%y");
    let wrong = right.replacen(change.0, change.1, 1);
    assert_ne!(wrong, right, "the fault is not planted");
    let (ok, text) = verdict(&wrong);
    assert!(!ok, "{change:?} passes");
    assert!(text.starts_with(start), "{text}");
}

const DIFFERS: &str = "error AL0706: launch `l1` of `test` writes other bits to `y` fused than alone";

#[test]
fn a_tile_that_is_never_written() {
    let dma = "air.dma_memcpy_nd (%hy[%first] [4] [1], %out[] [] []) : (memref<16xbf16>, memref<4xbf16, 2>)";
    let guarded = format!("%is = arith.cmpi ne, %tx, %halves : index\nscf.if %is {{ {dma} }}");
    found((dma, &guarded), DIFFERS);
}

#[test]
fn rows_that_are_swapped() {
    found(("memref.store %o, %out[%r]", "%w = arith.xori %r, %step : index\nmemref.store %o, %out[%w]"), DIFFERS);
}

#[test]
fn a_k_tail_that_is_missed() {
    let skipped = "%last = arith.constant 15 : index\nscf.for %i = %zero to %last step %step {";
    found(("scf.for %i = %zero to %k step %step {", skipped), DIFFERS);
}

#[test]
fn truncation_in_place_of_rounding() {
    let cut = "%bits = arith.bitcast %s : f32 to i32
      %places = arith.constant 16 : i32
      %high = arith.shrui %bits, %places : i32
      %short = arith.trunci %high : i32 to i16
      %o = arith.bitcast %short : i16 to bf16";
    found(("%o = arith.truncf %s : f32 to bf16", cut), DIFFERS);
}

#[test]
fn a_put_that_is_dropped() {
    let put = "air.channel.put @rows[%t2] (%la[0, 8, 0] [2, 4, 16] [16, 32, 1]) : (memref<16x32xbf16>)";
    let text = "error AL0717: `test`: launch 1 `l1` cannot go on: tile [2, 0] of herd `@dot` waits in a get from \
                `@rows[2]` for 64 more elements; 0 were put and 0 got so far";
    found((put, ""), text);
}

#[test]
fn a_wrong_index() {
    let right = gemv("%a", "%x", "%y");
    let swapped = right.replace("%t0 = arith.constant 0 ", "%t0 = arith.constant 1 ");
    let swapped = swapped.replace("%t1 = arith.constant 1 ", "%t1 = arith.constant 0 ");
    let (ok, text) = verdict(&swapped);
    assert!(!ok && text.starts_with(DIFFERS), "{text}");
}

#[test]
fn a_wrong_alias() {
    let (ok, text) = verdict(&gemv("%a", "%u", "%y"));
    assert!(!ok && text.starts_with(DIFFERS), "{text}");
}

/// The launch writes where the next one writes, and what it should write stays as it was.
#[test]
fn swapped_arguments() {
    let (ok, text) = verdict(&gemv("%a", "%x", "%z"));
    assert!(!ok && text.starts_with(DIFFERS), "{text}");
}
