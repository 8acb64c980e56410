//! The object of a reference kernel.

use airlink_diag::{Finding, Findings, Reported, codes};
use airlink_ir::{Ir, Module, parse_text};
use airlink_kernel::KernelType;

use super::{Variant, emit};
use crate::{HostOptions, lower};

/// An object that defines `symbol` for operands of these types, and needs nothing but `memcpy` and `memset` (and `fmaf`
/// on a CPU level without fused multiply-adds, see [`super::soft_fma`]).
///
/// # Errors
/// AL0901 where the kernel does not take the operands or fails to compile: callers choose by [`super::candidates`].
pub fn object(
    ir: &Ir,
    variant: Variant,
    symbol: &str,
    inputs: &[KernelType],
    options: &HostOptions,
    findings: &mut Findings,
) -> Result<Vec<u8>, Reported> {
    let module = module(ir, variant, symbol, inputs, findings)?;
    lower::object(ir, module, &format!("reference kernel `{}`", variant.name), options, findings)
}

/// The kernel as a module that defines `symbol` for operands of these types.
///
/// # Errors
/// AL0901 where the kernel does not take the operands.
pub(crate) fn module<'c>(
    ir: &'c Ir,
    variant: Variant,
    symbol: &str,
    inputs: &[KernelType],
    findings: &mut Findings,
) -> Result<Module<'c>, Reported> {
    emit(variant, symbol, inputs).and_then(|text| parse_text(ir, &text, "reference kernel")).ok_or_else(|| {
        let headline = format!("the reference kernel `{}` could not be made for `@{symbol}`", variant.name);
        findings.fail(
            Finding::error(codes::AL0901, headline)
                .found(ir.take_error_text())
                .remedy("this is a bug in airlink: please report it with the kernel that calls it"),
        )
    })
}
