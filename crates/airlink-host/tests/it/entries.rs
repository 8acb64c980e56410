//! The functions that a host ELF offers.

use airlink_elf::{exported_symbols, undefined_symbols};
use airlink_host::HostOptions;
use airlink_rt::{Entry, Role};

use crate::support::{Arg, Running, build, numbers};

const SIZE: &str = "memref<64xbf16>";

/// A launch that adds `from` to itself and writes the sum to `to`.
fn doubling(from: &str, to: &str) -> String {
    format!(
        "air.launch () in () args(%f={from}, %t={to}) : {SIZE}, {SIZE} {{
           air.segment @seg args(%sf=%f, %st=%t) : {SIZE}, {SIZE} {{
             %c2 = arith.constant 2 : index
             %c1 = arith.constant 1 : index
             air.herd @herd tile (%x, %y) in (%nx=%c2, %ny=%c1) args(%hf=%sf, %ht=%st) : {SIZE}, {SIZE} {{
               %c32 = arith.constant 32 : index
               %first = arith.muli %x, %c32 : index
               %l1 = memref.alloc() : memref<32xbf16, 2>
               air.dma_memcpy_nd (%l1[] [] [], %hf[%first] [32] [1]) : (memref<32xbf16, 2>, {SIZE})
               affine.for %i = 0 to 32 {{
                 %v = affine.load %l1[%i] : memref<32xbf16, 2>
                 %w = arith.addf %v, %v : bf16
                 affine.store %w, %l1[%i] : memref<32xbf16, 2>
               }}
               air.dma_memcpy_nd (%ht[%first] [32] [1], %l1[] [] []) : ({SIZE}, memref<32xbf16, 2>)
             }}
           }}
         }}\n"
    )
}

fn function(body: &str) -> String {
    format!("func.func @twice(%a: {SIZE}, %b: {SIZE}, %c: {SIZE}) {{\n{body} return\n}}")
}

const ARGS: [Arg; 3] = [("a", SIZE, Role::Input), ("b", SIZE, Role::Intermediate), ("c", SIZE, Role::Output)];

fn times(values: &[u16], factor: f32) -> Vec<u16> {
    values.iter().map(|v| airlink_rt::bf16_from_f32(airlink_rt::bf16_to_f32(*v) * factor)).collect()
}

#[test]
fn each_launch_and_the_whole() {
    let text = function(&(doubling("%a", "%b") + &doubling("%b", "%c")));
    let elf = build(&text, &ARGS, 2, &[], &HostOptions::default());
    let mut names = exported_symbols(&elf).unwrap();
    names.sort();
    assert_eq!(
        names,
        ["airlink_call_twice", "airlink_launch_0", "airlink_launch_1", "airlink_manifest", "airlink_run"]
    );
    let needed = undefined_symbols(&elf).unwrap();
    assert!(needed.iter().all(|n| n == "memcpy"), "{needed:?}");

    let mut running = Running::new(&elf);
    let a = numbers(1, 64);
    running.set("a", &a);
    running.call(Entry::Launch(1)).unwrap();
    assert_eq!(running.get("c"), [0; 64], "b was zero");
    running.call(Entry::Launch(0)).unwrap();
    assert_eq!(running.get("b"), times(&a, 2.0));
    assert_eq!(running.get("c"), [0; 64], "launch 0 leaves c alone");
    running.run();
    assert_eq!(running.get("c"), times(&a, 4.0));
}

#[test]
fn views_and_constants_of_the_function_reach_the_launches() {
    let text = format!(
        "func.func @views(%a: memref<2x64xbf16>, %c: {SIZE}) {{
           %row = memref.subview %a[0, 0] [1, 64] [1, 1] : memref<2x64xbf16> to memref<64xbf16, strided<[1]>>
           %view = memref.cast %row : memref<64xbf16, strided<[1]>> to {SIZE}
           {} return }}",
        doubling("%view", "%c")
    );
    let args: [Arg; 2] = [("a", "memref<2x64xbf16>", Role::Input), ("c", SIZE, Role::Output)];
    let mut running = Running::new(&build(&text, &args, 1, &[], &HostOptions::default()));
    let a = numbers(2, 128);
    running.set("a", &a);
    running.call(Entry::Launch(0)).unwrap();
    assert_eq!(running.get("c"), times(&a[..64], 2.0));
}

/// An allocation at function level ties launches together: only the whole program can be run.
#[test]
fn launches_that_share_a_local_buffer_have_no_entries() {
    let text = format!(
        "func.func @tied(%a: {SIZE}, %c: {SIZE}) {{ %b = memref.alloc() : {SIZE}\n{}{} return }}",
        doubling("%a", "%b"),
        doubling("%b", "%c")
    );
    let args: [Arg; 2] = [("a", SIZE, Role::Input), ("c", SIZE, Role::Output)];
    let elf = build(&text, &args, 2, &[], &HostOptions::default());
    assert!(!exported_symbols(&elf).unwrap().iter().any(|s| s.starts_with("airlink_launch")));
    let mut running = Running::new(&elf);
    assert_eq!(running.manifest().launches, []);
    let a = numbers(3, 64);
    running.set("a", &a);
    running.run();
    assert_eq!(running.get("c"), times(&a, 4.0));
}

#[test]
fn a_loop_and_blocks_around_launches() {
    let text = format!(
        "func.func @loop(%a: {SIZE}, %c: {SIZE}) {{
           %c0 = arith.constant 0 : index
           %step = arith.constant 1 : index
           %c3 = arith.constant 3 : index
           {}cf.br ^next
         ^next:
           scf.for %round = %c0 to %c3 step %step {{ {} }}
           return }}",
        doubling("%a", "%c"),
        doubling("%c", "%c")
    );
    let args: [Arg; 2] = [("a", SIZE, Role::Input), ("c", SIZE, Role::Output)];
    let mut running = Running::new(&build(&text, &args, 2, &[], &HostOptions::default()));
    let a = numbers(4, 64);
    running.set("a", &a);
    running.run();
    assert_eq!(running.get("c"), times(&a, 16.0));
}

#[test]
fn equal_inputs_give_equal_bytes() {
    let text = function(&(doubling("%a", "%b") + &doubling("%b", "%c")));
    let options = HostOptions::default();
    let elf = build(&text, &ARGS, 2, &[], &options);
    assert_eq!(elf, build(&text, &ARGS, 2, &[], &options));
    let text = String::from_utf8_lossy(&elf);
    assert!(!text.contains("/tmp") && !text.contains("fused.mlir"), "a path got into the ELF");
}
