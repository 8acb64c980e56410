//! What README.md says of kernels in C, claim by claim: the example there compiles, and the operands arrive as it says.

use std::path::Path;
use std::process::Command;

use crate::project::{airlink, root};

/// Calls `@f` on 8 elements in L1 with the scalars of `operands`, and stores what it writes.
fn kernel(element: &str, scalar: &str, value: &str, attributes: &str) -> String {
    format!(
        "module {{
  func.func private @f(memref<2x4x{element}, 2 : i32>, {scalar}, memref<8x{element}, 2>, index) attributes {{{attributes}}}
  func.func @k(%from: memref<2x4x{element}>, %to: memref<8x{element}>) {{
    air.launch () in () args(%a=%from, %b=%to) : memref<2x4x{element}>, memref<8x{element}> {{
      air.segment @s args(%c=%a, %d=%b) : memref<2x4x{element}>, memref<8x{element}> {{
        %one = arith.constant 1 : index
        air.herd @h tile (%x, %y) in (%nx=%one, %ny=%one) args(%e=%c, %g=%d) : memref<2x4x{element}>, memref<8x{element}> {{
          %n = arith.constant 8 : index
          %s = arith.constant {value} : {scalar}
          %in = memref.alloc() : memref<2x4x{element}, 2 : i32>
          %out = memref.alloc() : memref<8x{element}, 2>
          air.dma_memcpy_nd (%in[] [] [], %e[] [] []) : (memref<2x4x{element}, 2 : i32>, memref<2x4x{element}>)
          func.call @f(%in, %s, %out, %n) : (memref<2x4x{element}, 2 : i32>, {scalar}, memref<8x{element}, 2>, index) -> ()
          air.dma_memcpy_nd (%g[] [] [], %out[] [] []) : (memref<8x{element}>, memref<8x{element}, 2>)
        }}
      }}
    }}
    return
  }}
}}
"
    )
}

const GRAPH: &str =
    "[graph]\nname = \"g\"\ndevice = \"npu2\"\n[[launch]]\nname = \"a\"\nkernel = \"k.mlir\"\nargs = [\"x\", \"y\"]\n";

fn compile(folder: &Path, source: &str) {
    std::fs::write(folder.join("f.c"), source).expect("writable");
    let options = ["-O2", "-fPIC", "-ffp-contract=off", "-fno-math-errno", "-fno-stack-protector", "-Wall", "-Werror"];
    let status = Command::new("cc").current_dir(folder).args(options).args(["-c", "f.c"]).status();
    assert!(status.expect("the tests need `cc`").success(), "{source}");
}

/// The bytes of an array behind its header.
fn data(file: &Path, bytes: usize) -> Vec<u8> {
    let all = std::fs::read(file).expect("written");
    all[all.len() - bytes..].to_vec()
}

/// Runs `f` and gives what it got, as the file of `x`, and what it wrote.
fn run(element: &str, scalar: (&str, &str), attributes: &str, source: &str, bytes: usize) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    std::fs::write(at.join("k.mlir"), kernel(element, scalar.0, scalar.1, attributes)).expect("writable");
    std::fs::write(at.join("g.toml"), GRAPH).expect("writable");
    compile(at, source);
    airlink(at, &["verify", "g.toml"]).expect(0);
    airlink(at, &["stitch", "g.toml", "-o", "out"]).expect(0);
    airlink(at, &["run", "out/g.elf", "-o", "r"]).expect(0);
    data(&at.join("r/y.npy"), bytes)
}

const LINK: &str = "link_with = \"f.o\"";
const LINK_C: &str = "link_with = \"f.o\", llvm.emit_c_interface";

#[test]
fn scalars_arrive_by_value() {
    for attributes in [LINK, LINK_C] {
        // Each element becomes a number made of the scalar and the index operand.
        let body = |ty: &str, value: &str| {
            format!(
                "#include <stdint.h>\nvoid f(const int32_t *x, {ty} s, int32_t *y, int32_t n) {{ \
                 for (int32_t i = 0; i < n; ++i) y[i] = {value} + 0 * x[i] + i; }}\n"
            )
        };
        let numbers = |first: i32| (first..first + 8).flat_map(i32::to_le_bytes).collect::<Vec<_>>();
        for (scalar, ty, value, first) in [
            (("i32", "-70000"), "int32_t", "s", -70000),
            (("index", "70000"), "int32_t", "s", 70000),
            (("i64", "8589934592"), "int64_t", "(int32_t)(s >> 32)", 2),
            (("f32", "1.5"), "float", "(int32_t)(s * 2)", 3),
            (("bf16", "1.5"), "uint16_t", "s", 0x3fc0),
            (("f16", "1.5"), "uint16_t", "s", 0x3e00),
        ] {
            assert_eq!(run("i32", scalar, attributes, &body(ty, value), 32), numbers(first), "{scalar:?} {attributes}");
        }
    }
}

#[test]
fn a_memref_is_a_pointer_to_rows() {
    // The second row of a 2x4 operand starts four elements in; bf16 elements are their bits.
    let source = "#include <stdint.h>\nvoid f(const uint16_t *x, int32_t s, uint16_t *y, int32_t n) { \
                  for (int32_t i = 0; i < n; ++i) y[i] = (uint16_t)((x[(i + s) % 8] & 0) | (0x3f80 + (i + s) % 8)); }\n";
    let written = run("bf16", ("i32", "4"), LINK, source, 16);
    let wanted: Vec<u8> = (0..8u16).flat_map(|i| (0x3f80 + (i + 4) % 8).to_le_bytes()).collect();
    assert_eq!(written, wanted);
}

#[test]
fn the_example_of_the_readme_is_right() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("readable");
    let (_, rest) = readme.split_once("```c\n").expect("an example in C");
    let (example, _) = rest.split_once("```").expect("its end");
    let (_, rest) = readme.split_once("with `gcc ").expect("a command line");
    let (command, _) = rest.split_once('`').expect("its end");
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    std::fs::write(at.join("scale.c"), example).expect("writable");
    let status = Command::new("cc").current_dir(at).args(command.split_whitespace()).status().expect("`cc`");
    assert!(status.success());
    let kernel = kernel("bf16", "i32", "8", "link_with = \"scale.o\", llvm.emit_c_interface")
        .replace(
            "@f(memref<2x4xbf16, 2 : i32>, i32, memref<8xbf16, 2>, index)",
            "@scale_bf16(memref<2x4xbf16, 2 : i32>, memref<8xbf16, 2>, i32)",
        )
        .replace(
            "@f(%in, %s, %out, %n) : (memref<2x4xbf16, 2 : i32>, i32, memref<8xbf16, 2>, index)",
            "@scale_bf16(%in, %out, %s) : (memref<2x4xbf16, 2 : i32>, memref<8xbf16, 2>, i32)",
        );
    std::fs::write(at.join("k.mlir"), kernel).expect("writable");
    std::fs::write(at.join("g.toml"), GRAPH).expect("writable");
    airlink(at, &["stitch", "g.toml", "-o", "out"]).expect(0);
    let bf16 = |factor: f32| {
        (1..9u8).flat_map(|i| airlink_rt::bf16_from_f32(factor * f32::from(i)).to_le_bytes()).collect::<Vec<_>>()
    };
    let mut file = Vec::new();
    airlink_rt::npy::write(&mut file, airlink_rt::Element::Bf16, &[2, 4], &bf16(1.0)).expect("it fits");
    std::fs::write(at.join("x.npy"), &file).expect("writable");
    airlink(at, &["run", "out/g.elf", "-o", "r", "--arg", "x=x.npy"]).expect(0);
    assert_eq!(data(&at.join("r/y.npy"), 16), bf16(2.0));
}

/// What a finding prints can be put into a C file as it stands.
#[test]
fn findings_print_the_prototype() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    std::fs::write(at.join("k.mlir"), kernel("bf16", "f32", "1.0", LINK)).expect("writable");
    std::fs::write(at.join("g.toml"), GRAPH).expect("writable");
    let prototype = "`void f(uint16_t *a0, float a1, uint16_t *a2, int32_t a3)`";
    let outcome = airlink(at, &["stitch", "g.toml", "-o", "out"]).expect(1);
    assert!(outcome.stderr.contains("AL0702") && outcome.stderr.contains(prototype), "{}", outcome.stderr);
    let other = |source: &str, said: &str| {
        compile(at, source);
        let outcome = airlink(at, &["stitch", "g.toml", "-o", "out"]).expect(1);
        assert!(outcome.stderr.contains("AL0406") && outcome.stderr.contains(prototype), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    };
    other("void ff(void) {}\n", "found `ff`");
    other("void _mlir_ciface_f(void) {}\n", "calls no `_mlir_ciface_`");
    other("void _Z1fPtfS_i(void) {}\n", "its mangled C++ name: declare it `extern \"C\"`");
    other("int nothing;\n", "found `nothing`");
}

#[test]
fn what_compilers_call_is_said_with_the_option_that_avoids_it() {
    for (needed, said) in [
        ("sqrtf", "-fno-math-errno"),
        ("__stack_chk_fail", "-fno-stack-protector"),
        ("__asan_init", "without sanitizers"),
        ("strlen", "define `strlen` in the object itself"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path();
        std::fs::write(at.join("k.mlir"), kernel("bf16", "f32", "1.0", LINK)).expect("writable");
        std::fs::write(at.join("g.toml"), GRAPH).expect("writable");
        compile(at, &format!("extern void other(void) __asm__(\"{needed}\");\nvoid f(void) {{ other(); }}\n"));
        let outcome = airlink(at, &["stitch", "g.toml", "-o", "out"]).expect(1);
        let text = &outcome.stderr;
        assert!(text.contains("AL0702") && text.contains(&format!("`f.o` needs `{needed}`")), "{text}");
        assert!(text.contains("linked for launch `a`") && text.contains("freestanding"), "{text}");
        assert!(text.contains(said), "{text}");
    }
}

/// A project of two launches in a row whose externs are `@f` and `@q`.
fn two_launches(f: &str, q: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let first = kernel("bf16", "i32", "8", LINK);
    std::fs::write(at.join("k.mlir"), &first).expect("writable");
    std::fs::write(at.join("l.mlir"), first.replace("@f(", "@q(").replace("f.o", "q.o")).expect("writable");
    let second = "[[launch]]\nname = \"b\"\nkernel = \"l.mlir\"\nargs = [\"x\", \"z\"]\n";
    std::fs::write(at.join("g.toml"), format!("{GRAPH}{second}")).expect("writable");
    compile(at, q);
    std::fs::rename(at.join("f.o"), at.join("q.o")).expect("compiled");
    compile(at, f);
    folder
}

const COPY: &str =
    "(const unsigned short *x, int s, unsigned short *y, int n) { for (int i = 0; i < n; ++i) y[i] = x[i]; }";

#[test]
fn faults_name_the_launch_and_the_kernel() {
    for (body, code, said) in [
        (
            "{ *(volatile int *)(long)(n + 8) = n; }",
            "AL0707",
            "launch 1 `b`, in `q`, wrote at address 0x10: a null pointer",
        ),
        ("{ __builtin_trap(); }", "AL0707", "launch 1 `b`, in `q`, gave up: it reached a trap"),
        (
            "{ for (int i = 0; i < 192 * s; ++i) y[i] = 7; }",
            "AL0716",
            "launch 1 `b` wrote 3056 bytes past the end of the L1 buffer `memref<8xbf16, 2 : i32>`",
        ),
        (
            "{ for (int i = 0; i < n + 1; ++i) y[i] = 7; }",
            "AL0716",
            "launch 1 `b` wrote 2 bytes past the end of the L1 buffer `memref<8xbf16, 2 : i32>`",
        ),
        ("{ y[-1] = 7; }", "AL0716", "launch 1 `b` wrote 2 bytes before the start of the L1 buffer"),
        (
            "{ for (long i = 0; i < 1 << 22; ++i) ((volatile unsigned short *)y)[i] = 7; }",
            "AL0716",
            "4096 bytes or more past",
        ),
    ] {
        let q = format!("void q(const unsigned short *x, int s, unsigned short *y, int n) {body}\n");
        let folder = two_launches(&format!("void f{COPY}\n"), &q);
        let at = folder.path();
        airlink(at, &["stitch", "g.toml", "-o", "out"]).expect(0);
        let outcome = airlink(at, &["run", "out/g.elf", "-o", "r"]).expect(1);
        let said = said.replace("2 : i32>`", "2>`");
        assert!(outcome.stderr.contains(code) && outcome.stderr.contains(&said), "{}", outcome.stderr);
        assert!(
            code == "AL0716" || outcome.stderr.contains("signature") || body.contains("trap"),
            "{}",
            outcome.stderr
        );
        let outcome = airlink(at, &["verify", "g.toml"]).expect(1);
        assert!(outcome.stderr.contains(code) && outcome.stderr.contains("`b`"), "{}", outcome.stderr);
    }
}

#[test]
fn a_symbol_of_two_objects_is_told_with_its_launches() {
    let folder =
        two_launches(&format!("void up(void) {{}}\nvoid f{COPY}\n"), &format!("void up(void) {{}}\nvoid q{COPY}\n"));
    let outcome = airlink(folder.path(), &["stitch", "g.toml", "-o", "out"]).expect(4);
    let said = "`up` is defined in `f.o` of launch `a` and in `q.o` of launch `b`";
    assert!(outcome.stderr.contains("AL0804") && outcome.stderr.contains(said), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("make it `static`"), "{}", outcome.stderr);
}

/// Elements that one launch leaves out reach the next: the buffer named is the one in which they were missing first.
#[test]
fn missing_elements_are_told_where_they_are_missing_first() {
    let folder = two_launches(&format!("void f{COPY}\n"), &format!("void q{COPY}\n"));
    let at = folder.path();
    let half = std::fs::read_to_string(at.join("k.mlir")).expect("there").replace(
        "(%g[] [] [], %out[] [] []) : (memref<8xbf16>, memref<8xbf16, 2>)",
        "(%g[%z] [%four] [%one2], %out[%z] [%four] [%one2]) : (memref<8xbf16>, memref<8xbf16, 2>)",
    );
    let constants =
        "%z = arith.constant 0 : index\n%four = arith.constant 4 : index\n%one2 = arith.constant 1 : index\n";
    std::fs::write(at.join("k.mlir"), half.replace("          %n = ", &format!("{constants}          %n = ")))
        .expect("writable");
    // The second takes its operand in one dimension, as the first gives it.
    let second = std::fs::read_to_string(at.join("l.mlir")).expect("there").replace("2x4xbf16", "8xbf16");
    std::fs::write(at.join("l.mlir"), second).expect("writable");
    let graph = std::fs::read_to_string(at.join("g.toml")).expect("there").replace("[\"x\", \"z\"]", "[\"y\", \"z\"]");
    std::fs::write(at.join("g.toml"), graph).expect("writable");
    airlink(at, &["stitch", "g.toml", "-o", "out"]).expect(0);
    for args in [&["verify", "g.toml", "-q"][..], &["run", "out/g.elf", "-o", "r", "-q"]] {
        let outcome = airlink(at, args).expect(0);
        assert_eq!(outcome.stderr.matches("AL0712").count(), 1, "{}", outcome.stderr);
        assert!(outcome.stderr.contains("elements of `y` were never written"), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("launch `a`"), "{}", outcome.stderr);
    }
}

/// Also where a check that comes earlier sees the difference first.
#[test]
fn a_buffer_that_nobody_fills_is_the_cause() {
    let idle = "(const unsigned short *x, int s, unsigned short *y, int n) {}";
    let folder = two_launches(&format!("void f{COPY}\n"), &format!("void q{idle}\n"));
    let outcome = airlink(folder.path(), &["verify", "g.toml"]).expect(5);
    let text = &outcome.stderr;
    assert_eq!(text.matches("error[").count(), 1, "{text}");
    assert!(text.contains("launch `b` of `g` reads an L1 or L2 buffer that it has not filled"), "{text}");
    assert!(text.contains("found NaN where fresh buffers hold NaN and 0 where they hold zeros"), "{text}");
    let longest = text.split(|c: char| !c.is_ascii_digit()).map(str::len).max();
    assert!(longest < Some(10), "{text}");
}

#[test]
fn an_endless_loop_is_told_from_a_hang() {
    let endless =
        "void q(const unsigned short *x, int s, unsigned short *y, int n) { for (volatile int i = 0;; ) i = i; }\n";
    let folder = two_launches(&format!("void f{COPY}\n"), endless);
    let mut child = Command::new(env!("CARGO_BIN_EXE_airlink"))
        .current_dir(folder.path())
        .args(["verify", "g.toml"])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stderr.take().expect("piped")));
    let line = lines.next().expect("a line").expect("text");
    child.kill().expect("ours");
    child.wait().expect("ours");
    assert!(line.contains("still running after 10 s: launch `b`"), "{line}");
}
