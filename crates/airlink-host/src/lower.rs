//! From AIR to an object file, in process.
//!
//! The bits that the code computes must be the same on every machine: bf16 arithmetic is expanded to f32 with one
//! rounding to nearest even per operation, functions such as exp become polynomials, multiply-adds are either separate
//! or fused by name, and no fast-math flag survives. The emitter refuses what is left over.

use std::collections::BTreeMap;

use airlink_diag::{Finding, Findings, Reported, codes};
use airlink_ir::codegen::{EmitKind, EmitOptions, EmitStatus, emit, run_passes};
use airlink_ir::melior::ir::Attribute;
use airlink_ir::melior::ir::attribute::TypeAttribute;
use airlink_ir::melior::ir::operation::OperationLike;
use airlink_ir::melior::ir::r#type::FunctionType;
use airlink_ir::{Ir, Module, OperationRef, attr, children, edit, print};

use crate::{HostOptions, messages};

/// Loops, copies and calls in place of AIR. Affine and linalg ops first: their bodies could not move into loops.
const FROM_AIR: &str = "convert-linalg-to-loops,lower-affine,scf-forall-to-for,airlink-lower-air";

/// Arithmetic as the host does it. The casts that the emulation of bf16 makes are marked `contract`, which would let
/// later passes drop roundings: the mark goes at once.
const ARITHMETIC: &str = "math-extend-to-supported-types,airlink-strip-fastmath,airlink-math-approx,\
    func.func(arith-emulate-unsupported-floats{source-types=bf16 target-type=f32}),airlink-strip-contract,\
    arith-expand{include-bf16=true},canonicalize,cse";

/// Everything else to the LLVM dialect. `vector.fma` becomes a multiply-add that the backend may fuse or not; the last
/// pass makes it one that is fused.
const TO_LLVM: &str = "convert-vector-to-scf,lower-affine,convert-scf-to-cf,expand-strided-metadata,lower-affine,\
    convert-vector-to-llvm,convert-math-to-llvm,finalize-memref-to-llvm,convert-arith-to-llvm,convert-index-to-llvm,\
    convert-ub-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,canonicalize,cse,reconcile-unrealized-casts,\
    airlink-fmuladd-to-fma";

/// The object of a fused module. `what` names it in messages.
///
/// # Errors
/// AL0701 for what the host target cannot run, AL0705 for scalar arguments, AL0902 for arithmetic that would depend on
/// the machine, AL0901 where code generation fails. Warnings: AL0713.
pub fn lower(
    ir: &Ir,
    module: &Module<'_>,
    what: &str,
    options: &HostOptions,
    findings: &mut Findings,
) -> Result<Vec<u8>, Reported> {
    lower_with(ir, module, what, &BTreeMap::new(), options, findings)
}

/// [`lower`] where some kernels are known not to write some of their operands, by symbol.
pub(crate) fn lower_with<'c>(
    ir: &'c Ir,
    module: &Module<'c>,
    what: &str,
    read_only: &BTreeMap<String, &'static [usize]>,
    options: &HostOptions,
    findings: &mut Findings,
) -> Result<Vec<u8>, Reported> {
    let mut lowered = edit::clone_module(module);
    mark_read_only(ir, &lowered, read_only);
    from_air(ir, &mut lowered, options, findings)?;
    object(ir, lowered, what, options, findings)
}

/// Says of operands in the declarations of kernels that they are only read, so that copies in front of calls can go.
fn mark_read_only<'c>(ir: &'c Ir, module: &Module<'c>, read_only: &BTreeMap<String, &'static [usize]>) {
    for function in children(module.as_operation()) {
        let Some(operands) = attr::string(function, "sym_name").and_then(|n| read_only.get(n)) else { continue };
        let count = operands.iter().max().map_or(0, |last| last + 1);
        let inputs = attr::string(function, "sym_visibility").map_or(0, |_| input_count(function));
        if count > inputs {
            continue;
        }
        let list: Vec<&str> =
            (0..inputs).map(|i| if operands.contains(&i) { "{llvm.readonly}" } else { "{}" }).collect();
        if let Some(attribute) = Attribute::parse(ir.context(), &format!("[{}]", list.join(", "))) {
            edit::set_attribute(function, "arg_attrs", attribute);
        }
    }
}

/// How many inputs a function's type has.
fn input_count(function: OperationRef<'_, '_>) -> usize {
    let Ok(attribute) = function.attribute("function_type") else { return 0 };
    let Ok(attribute) = TypeAttribute::try_from(attribute) else { return 0 };
    FunctionType::try_from(attribute.value()).map_or(0, |ty| ty.input_count())
}

/// The module after the AIR level is gone and before arithmetic and loops are: what tests look at.
pub fn lowered_text(
    ir: &Ir,
    module: &Module<'_>,
    options: &HostOptions,
    findings: &mut Findings,
) -> Result<String, Reported> {
    let mut lowered = edit::clone_module(module);
    from_air(ir, &mut lowered, options, findings)?;
    run(ir, &mut lowered, "canonicalize,cse", findings)?;
    Ok(print(&lowered.as_operation(), false))
}

/// The object of a module of upstream ops only, such as a reference kernel.
pub(crate) fn object(
    ir: &Ir,
    mut module: Module<'_>,
    what: &str,
    options: &HostOptions,
    findings: &mut Findings,
) -> Result<Vec<u8>, Reported> {
    run(ir, &mut module, ARITHMETIC, findings)?;
    run(ir, &mut module, TO_LLVM, findings)?;
    let emit_options = EmitOptions {
        triple: options.machine.triple(),
        cpu: options.processor(),
        opt_level: 3,
        kind: EmitKind::Object,
    };
    emit(ir, &module, emit_options).map_err(|(status, text)| {
        let (code, headline) = match status {
            EmitStatus::Leftover => (codes::AL0902, format!("the code of `{what}` would depend on the machine")),
            _ => (codes::AL0901, format!("no code could be made for `{what}`")),
        };
        let remedy = "this is a bug in airlink: please report it with the graph and the kernels";
        findings.fail(Finding::error(code, headline).found(text.trim_end()).remedy(remedy))
    })
}

fn from_air(ir: &Ir, module: &mut Module<'_>, options: &HostOptions, findings: &mut Findings) -> Result<(), Reported> {
    let mut choices = String::new();
    if options.reverse_points {
        choices += "reverse-points=true ";
    }
    if let Some(byte) = options.poison {
        choices += &format!("poison={byte}");
    }
    run(ir, module, &format!("{FROM_AIR}{{{choices}}}"), findings)
}

fn run(ir: &Ir, module: &mut Module<'_>, passes: &str, findings: &mut Findings) -> Result<(), Reported> {
    ir.register_passes();
    let outcome = run_passes(ir, module, &format!("builtin.module({passes})"), &findings.sources);
    messages::report(&outcome, findings)
}
