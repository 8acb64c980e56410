//! `verify` finds what it is there for.

use airlink_diag::Findings;
use airlink_host::HostOptions;
use airlink_host::verify::{ElfUnderTest, HostWrite, Step, Variant, verify};
use airlink_rt::{Role, StreamOptions};

use crate::support::{Arg, build, said};

const TY: &str = "memref<8xi32>";

/// A launch whose points each run `body` with the point `%p`, `%in` and `%out`.
fn launch(input: &str, output: &str, body: &str) -> String {
    format!(
        "air.launch (%lp) in (%n=%c8) args(%li={input}, %lo={output}) : {TY}, {TY} {{
           air.segment @seg args(%sp=%lp, %si=%li, %so=%lo) : index, {TY}, {TY} {{
             %c1 = arith.constant 1 : index
             air.herd @herd tile (%x, %y) in (%nx=%c1, %ny=%c1) args(%p=%sp, %in=%si, %out=%so) : index, {TY}, {TY} {{
               %l1 = memref.alloc() : memref<1xi32, 2>
               %zero = arith.constant 0 : index
               %three = arith.constant 3 : i32
               {body}
             }}
           }}
         }}\n"
    )
}

/// out[p] = in[p] * 3
const TRIPLE: &str = "
  air.dma_memcpy_nd (%l1[] [] [], %in[%p] [1] [1]) : (memref<1xi32, 2>, memref<8xi32>)
  %v = memref.load %l1[%zero] : memref<1xi32, 2>
  %w = arith.muli %v, %three : i32
  memref.store %w, %l1[%zero] : memref<1xi32, 2>
  air.dma_memcpy_nd (%out[%p] [1] [1], %l1[] [] []) : (memref<8xi32>, memref<1xi32, 2>)";

/// out[p] = what the buffer held
const UNINITIALISED: &str = "air.dma_memcpy_nd (%out[%p] [1] [1], %l1[] [] []) : (memref<8xi32>, memref<1xi32, 2>)";

/// out[0] = in[p]: the last point wins
const RACE: &str = "
  air.dma_memcpy_nd (%l1[] [] [], %in[%p] [1] [1]) : (memref<1xi32, 2>, memref<8xi32>)
  air.dma_memcpy_nd (%out[] [] [], %in[] [] []) : (memref<8xi32>, memref<8xi32>)
  air.dma_memcpy_nd (%out[0] [1] [1], %l1[] [] []) : (memref<8xi32>, memref<1xi32, 2>)";

const A: Arg = ("a", TY, Role::Input);
const B: Arg = ("b", TY, Role::Intermediate);
const C: Arg = ("c", TY, Role::Output);

fn function(args: &[Arg], launches: &[String]) -> String {
    let list: Vec<String> = args.iter().map(|(name, ty, _)| format!("%{name}: {ty}")).collect();
    format!("func.func @f({}) {{ %c8 = arith.constant 8 : index\n{} return }}", list.join(", "), launches.concat())
}

fn alone(args: &[Arg], launch: &String) -> Vec<u8> {
    build(&function(args, std::slice::from_ref(launch)), args, 1, &[], &HostOptions::default())
}

fn fused(args: &[Arg], launches: &[String]) -> Vec<(Variant, Vec<u8>)> {
    let text = function(args, launches);
    let elf = |v: Variant| build(&text, args, launches.len(), &[], &v.options(&HostOptions::default()));
    Variant::ALL.into_iter().map(|v| (v, elf(v))).collect()
}

/// Two launches, of which the fused program runs `second` in place of what `reference` does alone.
fn outcome(second: &str, reference: &str) -> (bool, String) {
    let first = launch("%a", "%b", TRIPLE);
    let elf = ElfUnderTest {
        fused: fused(&[A, B, C], &[first.clone(), launch("%b", "%c", second)]),
        unfused: vec![alone(&[A, B], &first), alone(&[B, C], &launch("%b", "%c", reference))],
        launch_counts: vec![1, 1],
    };
    let mut findings = Findings::default();
    let report = verify(&[Step::Elf(elf)], 1, StreamOptions::default(), &mut findings);
    (report.is_ok(), said(&findings))
}

#[test]
fn equal_programs_are_equal() {
    assert_eq!(outcome(TRIPLE, TRIPLE), (true, String::new()));
}

#[test]
fn the_first_launch_that_differs_is_named() {
    let (ok, text) = outcome(TRIPLE, &TRIPLE.replace("arith.muli", "arith.addi"));
    assert!(!ok);
    assert!(
        text.starts_with("error AL0706: launch `l1` of `test` writes other bits to `c` fused than alone"),
        "{text}"
    );
    assert!(text.contains("at [0]; 8 of 8 elements differ"), "{text}");
}

#[test]
fn reads_of_fresh_memory_are_found() {
    let (ok, text) = outcome(UNINITIALISED, UNINITIALISED);
    assert!(!ok);
    assert!(
        text.starts_with("error AL0706: launch `l1` of `test` reads an L1 or L2 buffer that it has not filled"),
        "{text}"
    );
}

#[test]
fn an_order_of_launch_points_that_matters_is_found() {
    let (ok, text) = outcome(RACE, RACE);
    assert!(!ok);
    assert!(
        text.contains("AL0706: `test` run with launch points and tiles in reverse writes other bits to `c`"),
        "{text}"
    );
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
fn elements_that_nobody_writes_are_a_warning() {
    let half = TRIPLE
        .replace("%out[%p]", "%out[%half]")
        .replace("%v = ", "%two = arith.constant 2 : index\n %half = arith.divui %p, %two : index\n %v = ");
    // Reversed points change which of two values stays, so both points of a pair must write the same.
    let half = half.replace("%in[%p]", "%in[0]");
    let (ok, text) = outcome(&half, &half);
    assert!(ok, "{text}");
    assert_eq!(text, "warning AL0712: 4 elements of `c` were never written [the first is element 4]\n");
}

#[test]
fn host_steps_write_the_same_on_both_sides() {
    let first = launch("%a", "%b", TRIPLE);
    let second = launch("%b", "%c", TRIPLE);
    let out = ("b", TY, Role::Output);
    let input = ("b", TY, Role::Input);
    let steps = [
        Step::Elf(ElfUnderTest {
            fused: fused(&[A, out], std::slice::from_ref(&first)),
            unfused: vec![alone(&[A, out], &first)],
            launch_counts: vec![1],
        }),
        Step::Host { name: "h".into(), writes: vec![HostWrite { buffer: "b".into(), range: 8..16 }] },
        Step::Elf(ElfUnderTest {
            fused: fused(&[input, C], std::slice::from_ref(&second)),
            unfused: vec![alone(&[input, C], &second)],
            launch_counts: vec![1],
        }),
    ];
    let mut findings = Findings::default();
    let report =
        verify(&steps, 1, StreamOptions::default(), &mut findings).unwrap_or_else(|_| panic!("{}", said(&findings)));
    assert_eq!(report.elfs.len(), 2);
    assert_eq!(report.elfs[1].launches[0].compared.get("c"), Some(&8));
    assert_eq!(report.checks.len(), 7);
}

#[test]
fn a_stray_write_is_told_by_launch_and_buffer() {
    let stray = TRIPLE
        .replace("%out[%p] [1] [1]", "%out[%far] [1] [1]")
        .replace("%v = ", "%plenty = arith.constant 1000 : index\n %far = arith.addi %p, %plenty : index\n %v = ");
    let (ok, text) = outcome(&stray, &stray);
    assert!(!ok);
    assert!(text.starts_with("error AL0707"), "{text}");
    assert!(text.contains("past the end of `c`"), "{text}");
}
