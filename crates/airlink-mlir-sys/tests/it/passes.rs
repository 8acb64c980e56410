//! The passes of our own.

use melior::ExecutionEngine;

use crate::{
    emit::PIPELINE,
    support::{context, parse, print, run},
};

#[test]
fn casts_lose_their_flags() {
    let context = context();
    let text = "func.func @k(%a: bf16, %b: bf16) -> bf16 {
      %r = arith.addf %a, %b fastmath<contract> : bf16
      return %r : bf16
    }";
    let mut module = parse(&context, text, "k.mlir").unwrap();
    let emulate = "builtin.module(func.func(arith-emulate-unsupported-floats{source-types=bf16 target-type=f32}))";
    run(&context, &mut module, emulate).unwrap();
    assert!(print(&module).contains("arith.extf %arg0 fastmath<contract>"), "else the pass is not needed");
    run(&context, &mut module, "builtin.module(airlink-strip-contract)").unwrap();
    let casts: Vec<_> = print(&module)
        .lines()
        .filter(|line| line.contains("extf") || line.contains("truncf"))
        .map(str::to_owned)
        .collect();
    assert_eq!(casts.len(), 3);
    assert!(casts.iter().all(|line| !line.contains("fastmath")), "{casts:?}");
    // The user's own flag is another matter, and another pass.
    assert!(print(&module).contains("fastmath<contract>"));
    run(&context, &mut module, "builtin.module(airlink-strip-fastmath)").unwrap();
    assert!(!print(&module).contains("fastmath"), "{}", print(&module));
}

#[test]
fn flags_go_in_every_dialect() {
    let context = context();
    let text = "func.func @k(%a: f32, %v: vector<4xf32>) -> f32 {
      %0 = math.exp %a fastmath<fast> : f32
      %1 = vector.reduction <add>, %v, %0 fastmath<reassoc> : vector<4xf32> into f32
      %2 = llvm.fadd %1, %a {fastmathFlags = #llvm.fastmath<fast>} : f32
      %3 = arith.truncf %2 fastmath<contract> : f32 to bf16
      %4 = arith.extf %3 fastmath<contract> : bf16 to f32
      return %4 : f32
    }";
    let mut module = parse(&context, text, "k.mlir").unwrap();
    run(&context, &mut module, "builtin.module(airlink-strip-fastmath)").unwrap();
    assert!(!print(&module).contains("fast"), "{}", print(&module));
}

#[test]
fn multiply_add_becomes_fused() {
    let context = context();
    let text = "llvm.func @k(%a: f32) -> f32 {
      %r = llvm.intr.fmuladd(%a, %a, %a) : (f32, f32, f32) -> f32
      llvm.return %r : f32
    }";
    let mut module = parse(&context, text, "k.mlir").unwrap();
    run(&context, &mut module, "builtin.module(airlink-fmuladd-to-fma)").unwrap();
    assert!(print(&module).contains("llvm.intr.fma(%arg0, %arg0, %arg0)"), "{}", print(&module));
}

#[test]
fn calls_of_the_library_are_errors() {
    for operation in ["math.exp %a : f64", "arith.remf %a, %a : f64", "math.powf %a, %a : f64"] {
        let context = context();
        let text = format!("func.func @k(%a: f64) -> f64 {{\n %r = {operation}\n return %r : f64\n}}");
        let mut module = parse(&context, &text, "k.mlir").unwrap();
        let report = run(&context, &mut module, "builtin.module(airlink-math-approx)").unwrap_err();
        assert!(report.contains("\"k.mlir\":2:") && report.contains("mathematical library"), "{report}");
    }
}

/// The largest error of `name` over `from..to`, in units of the last place of the exact result.
fn largest_error(name: &str, exact: fn(f64) -> f64, from: f32, to: f32) -> f64 {
    let context = context();
    let text = format!(
        "func.func @k(%x: f32) -> f32 attributes {{llvm.emit_c_interface}} {{\n %r = math.{name} %x : f32\n \
         return %r : f32\n}}"
    );
    let mut module = parse(&context, &text, "k.mlir").unwrap();
    run(&context, &mut module, PIPELINE).unwrap();
    let engine = ExecutionEngine::new(&module, 2, &[], false, false);
    let steps = 20_000;
    let errors = (0..=steps).map(|step| {
        let mut x = from + (to - from) * (step as f32 / steps as f32);
        let mut y = f32::NAN;
        // SAFETY: the function takes one f32 and returns one, each through a pointer.
        unsafe {
            engine.invoke_packed("k", &mut [(&raw mut x).cast(), (&raw mut y).cast()]).unwrap();
        }
        let exact = exact(f64::from(x));
        let unit = f64::from((exact.abs() as f32).next_up()) - f64::from(exact.abs() as f32);
        (f64::from(y) - exact).abs() / unit
    });
    errors.fold(0.0, f64::max)
}

/// Where a polynomial is used, its error is part of what kernels compute, so a change of it must be seen.
#[test]
fn approximations_are_close() {
    type Case = (&'static str, fn(f64) -> f64, f32, f32, f64);
    let cases: [Case; 11] = [
        ("exp", f64::exp, -80.0, 80.0, 1.5),
        ("exp2", f64::exp2, -125.0, 127.0, 1.5),
        ("expm1", f64::exp_m1, -8.0, 8.0, 4.0),
        ("log", f64::ln, 0.01, 1e4, 2.0),
        ("log2", f64::log2, 2.0, 1e4, 3.0),
        ("log10", f64::log10, 2.0, 1e4, 3.0),
        ("tanh", f64::tanh, -8.0, 8.0, 6.0),
        ("sin", f64::sin, 0.5, 2.5, 2.5),
        ("cos", f64::cos, -1.0, 1.0, 2.5),
        ("rsqrt", |x| 1.0 / x.sqrt(), 0.01, 1e4, 1.5),
        ("sqrt", f64::sqrt, 0.0, 1e4, 0.5),
    ];
    let mut failures = Vec::new();
    for (name, exact, from, to, allowed) in cases {
        let error = largest_error(name, exact, from, to);
        eprintln!("{name}: {error:.2} ulp over {from}..{to}");
        if error > allowed {
            failures.push(format!("{name}: {error} ulp, allowed {allowed}"));
        }
    }
    assert!(failures.is_empty(), "{failures:?}");
}
