//! The object of a reference kernel.

use airlink_diag::{Finding, Findings, Reported, codes};
use airlink_ir::{Ir, parse_text};
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
    let text = emit(variant, symbol, inputs).unwrap_or_default();
    let what = format!("reference kernel `{}`", variant.name);
    match parse_text(ir, &text, &what) {
        Some(module) if !text.is_empty() => lower::object(ir, module, &what, options, findings),
        _ => {
            let finding = Finding::error(codes::AL0901, format!("the {what} could not be made for `@{symbol}`"))
                .found(ir.take_error_text())
                .remedy("this is a bug in airlink: please report it with the kernel that calls it");
            Err(findings.fail(finding))
        }
    }
}
