//! Code generation for both targets, and what it refuses.

use std::ptr::from_mut;

use airlink_mlir_sys::*;

use crate::support::{append, context, diagnostics, parse, run, string_ref};

/// From scalar and vector code to the LLVM dialect, with the rounding of every operation kept.
pub const PIPELINE: &str = "builtin.module(airlink-math-approx,\
    func.func(arith-emulate-unsupported-floats{source-types=bf16 target-type=f32}),airlink-strip-contract,\
    arith-expand{include-bf16=true},canonicalize,cse,convert-vector-to-scf,convert-scf-to-cf,convert-vector-to-llvm,\
    convert-math-to-llvm,finalize-memref-to-llvm,convert-arith-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,\
    reconcile-unrealized-casts,airlink-fmuladd-to-fma)";

pub const X86: (&str, &str) = ("x86_64-unknown-linux-gnu", "x86-64-v3");
pub const AARCH64: (&str, &str) = ("aarch64-unknown-linux-gnu", "");

/// Output, or status and message.
pub fn emit(
    module: &melior::ir::Module,
    (triple, cpu): (&str, &str),
    features: &str,
    kind: i32,
) -> Result<Vec<u8>, (i32, String)> {
    let (mut output, mut error) = (Vec::new(), Vec::new());
    let options = AirlinkEmitOptions {
        triple: string_ref(triple),
        cpu: string_ref(cpu),
        features: string_ref(features),
        opt_level: 3,
        kind,
    };
    // SAFETY: the module and the strings outlive the call; `append` gets the vectors it expects.
    let status = unsafe {
        airlinkEmit(
            module.as_operation().to_raw(),
            &options,
            append,
            from_mut(&mut output).cast(),
            append,
            from_mut(&mut error).cast(),
        )
    };
    if status == AIRLINK_EMIT_OK {
        assert!(error.is_empty());
        return Ok(output);
    }
    assert!(output.is_empty());
    Err((status, String::from_utf8(error).unwrap()))
}

/// Lowers `text` and emits it.
fn compile(text: &str, target: (&str, &str), kind: i32) -> Vec<u8> {
    let context = context();
    let mut module = parse(&context, text, "kernel.mlir").unwrap();
    run(&context, &mut module, PIPELINE).unwrap();
    emit(&module, target, "", kind).unwrap()
}

/// The functions that assembly calls or jumps to.
fn callees(assembly: &str) -> Vec<&str> {
    let calls = assembly.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        matches!(words.next()?, "callq" | "bl" | "call").then(|| words.next()).flatten()
    });
    calls.collect()
}

const SAXPY: &str = "func.func @saxpy(%a: f32, %x: vector<16xf32>, %y: vector<16xf32>) -> vector<16xf32> {
  %b = vector.broadcast %a : f32 to vector<16xf32>
  %r = vector.fma %b, %x, %y : vector<16xf32>
  return %r : vector<16xf32>
}";

#[test]
fn objects_of_both_targets() {
    // e_machine of the ELF header: System V ABI, x86-64 supplement (62) and AArch64 ELF ABI (183).
    for (target, machine) in [(X86, 62), (AARCH64, 183)] {
        let object = compile(SAXPY, target, AIRLINK_EMIT_OBJECT);
        assert_eq!(&object[..4], b"\x7fELF");
        assert_eq!(u16::from_le_bytes([object[18], object[19]]), machine);
        assert_eq!(object, compile(SAXPY, target, AIRLINK_EMIT_OBJECT), "equal input, equal bytes");
    }
}

#[test]
fn multiply_add_rounds_once() {
    for (target, instruction) in [(X86, "vfmadd"), (AARCH64, "fmla")] {
        let assembly = String::from_utf8(compile(SAXPY, target, AIRLINK_EMIT_ASSEMBLY)).unwrap();
        assert!(assembly.contains(instruction), "{assembly}");
        assert!(callees(&assembly).is_empty(), "{assembly}");
    }
}

#[test]
fn separate_operations_stay_separate() {
    let text = "func.func @f(%x: vector<8xf32>, %y: vector<8xf32>) -> vector<8xf32> {
      %p = arith.mulf %x, %y : vector<8xf32>
      %s = arith.addf %p, %x : vector<8xf32>
      return %s : vector<8xf32>
    }";
    for (target, fused) in [(X86, "vfmadd"), (AARCH64, "fmla")] {
        let assembly = String::from_utf8(compile(text, target, AIRLINK_EMIT_ASSEMBLY)).unwrap();
        assert!(!assembly.contains(fused), "{assembly}");
    }
}

#[test]
fn mathematics_needs_no_library() {
    let unary = [
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atanh",
        "cbrt",
        "ceil",
        "cos",
        "cosh",
        "erf",
        "erfc",
        "exp",
        "exp2",
        "expm1",
        "floor",
        "log",
        "log10",
        "log1p",
        "log2",
        "round",
        "roundeven",
        "rsqrt",
        "sin",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
        "trunc",
        "absf",
    ];
    for r#type in ["f32", "bf16", "vector<16xf32>", "vector<16xbf16>"] {
        let mut text = String::new();
        for name in unary {
            text += &format!(
                "func.func @{name}_(%x: {type}) -> {type} {{\n %r = math.{name} %x : {type}\n return %r : {type}\n}}\n",
            );
        }
        for name in ["atan2", "powf", "copysign"] {
            text += &format!(
                "func.func @{name}_(%x: {type}, %y: {type}) -> {type} {{\n %r = math.{name} %x, %y : {type}\n \
                 return %r : {type}\n}}\n",
            );
        }
        for target in [X86, AARCH64] {
            let assembly = String::from_utf8(compile(&text, target, AIRLINK_EMIT_ASSEMBLY)).unwrap();
            assert_eq!(callees(&assembly), Vec::<&str>::new(), "{} {type}", target.0);
        }
    }
}

#[test]
fn relaxed_arithmetic_is_refused() {
    let context = context();
    let contract = "llvm.func @k(%a: f32, %b: f32) -> f32 {
      %r = llvm.fadd %a, %b {fastmathFlags = #llvm.fastmath<contract>} : f32
      llvm.return %r : f32
    }";
    let module = parse(&context, contract, "m.mlir").unwrap();
    let (status, message) = emit(&module, X86, "", AIRLINK_EMIT_OBJECT).unwrap_err();
    assert_eq!(status, AIRLINK_EMIT_FAST_MATH);
    assert!(message.contains("'k'") && message.contains("fadd contract"), "{message}");

    let multiply_add = "llvm.func @k(%a: f32) -> f32 {
      %r = llvm.intr.fmuladd(%a, %a, %a) : (f32, f32, f32) -> f32
      llvm.return %r : f32
    }";
    let module = parse(&context, multiply_add, "m.mlir").unwrap();
    let (status, message) = emit(&module, X86, "", AIRLINK_EMIT_OBJECT).unwrap_err();
    assert_eq!(status, AIRLINK_EMIT_FMULADD);
    assert!(message.contains("fmuladd"), "{message}");

    let attribute = "llvm.func @k() attributes {no_nans_fp_math = true} {\n llvm.return\n}";
    let module = parse(&context, attribute, "m.mlir").unwrap();
    assert_eq!(emit(&module, X86, "", AIRLINK_EMIT_OBJECT).unwrap_err().0, AIRLINK_EMIT_FAST_MATH);
}

#[test]
fn bad_targets_are_named() {
    let context = context();
    let module = parse(&context, "llvm.func @k() {\n llvm.return\n}", "m.mlir").unwrap();
    for (target, features, text) in [
        (("riscv64-unknown-linux-gnu", ""), "", "riscv64"),
        (("nonsense", ""), "", "nonsense"),
        ((X86.0, "x86-64-v9"), "", "'x86-64-v9' is not a processor"),
        ((AARCH64.0, "x86-64-v3"), "", "'x86-64-v3' is not a processor"),
        ((X86.0, "native"), "", "'native' is not a processor"),
        (X86, "+avx512f,+warp", "'warp' is not a feature"),
        (X86, "avx2", "starts with neither"),
    ] {
        let (status, message) = emit(&module, target, features, AIRLINK_EMIT_OBJECT).unwrap_err();
        assert_eq!(status, AIRLINK_EMIT_BAD_TARGET);
        assert!(message.contains(text), "{message}");
    }
    assert!(emit(&module, X86, "+avx512f,-avx", AIRLINK_EMIT_OBJECT).is_ok());
    assert!(emit(&module, (X86.0, ""), "", AIRLINK_EMIT_OBJECT).is_ok());
}

#[test]
fn other_dialects_are_refused() {
    let context = context();
    let module = parse(&context, "func.func @k() {\n return\n}", "m.mlir").unwrap();
    let (result, report) = diagnostics(&context, || emit(&module, X86, "", AIRLINK_EMIT_OBJECT));
    assert_eq!(result.unwrap_err().0, AIRLINK_EMIT_BAD_MODULE);
    assert!(report.contains("m.mlir"), "{report}");
}

#[test]
fn llvm_text() {
    let text = String::from_utf8(compile(SAXPY, X86, AIRLINK_EMIT_LLVM)).unwrap();
    assert!(text.contains("define <16 x float> @saxpy") && text.contains("@llvm.fma.v16f32"), "{text}");
}
