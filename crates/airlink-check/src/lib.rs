//! Judges a fused module from the IR alone, sharing no code with the layer that made it: the wiring is the plan's, each
//! launch is its kernel up to the plan's names, names are unique, and every herd sits in a launch and a segment.
//!
//! Only [`check`] makes a [`CheckedProgram`], and emitters accept nothing else.

mod carried;
mod columns;
mod externs;
mod launch;
mod nesting;
mod rows;
pub mod same;
mod views;
mod wiring;
mod wrapped;

use airlink_diag::{Finding, Findings, Reported, codes};
use airlink_graph::LaunchGraph;
use airlink_ir::melior::ir::operation::OperationLike;
use airlink_ir::{Ir, Module};
use airlink_plan::ElfPlan;
use indexmap::IndexMap;

/// A fused module that was found to be what its plan says.
pub struct CheckedProgram<'c> {
    module: Module<'c>,
    elf: ElfPlan,
}

impl<'c> CheckedProgram<'c> {
    pub fn module(&self) -> &Module<'c> {
        &self.module
    }

    pub fn elf(&self) -> &ElfPlan {
        &self.elf
    }
}

/// What a fused module is judged against.
pub struct Expected<'p, 'c> {
    pub graph: &'p LaunchGraph,
    /// The parsed kernels, by the path under which the graph names them.
    pub kernels: &'p IndexMap<String, Module<'c>>,
    pub elf: &'p ElfPlan,
}

/// Checks a fused module.
///
/// # Errors
/// AL0601 if MLIR's verifier refuses it, AL0602 if its wiring is not the plan's, AL0603 if a launch is not its kernel.
/// All three are bugs of airlink when it made the module itself.
pub fn check<'c>(
    ir: &'c Ir,
    module: Module<'c>,
    expected: &Expected<'_, 'c>,
    findings: &mut Findings,
) -> Result<CheckedProgram<'c>, Reported> {
    if !module.as_operation().verify() {
        let said = ir.take_error_text();
        return Err(findings.fail(
            Finding::error(codes::AL0601, format!("the fused module `{}` does not verify", expected.elf.name))
                .at(expected.graph.name.span, said)
                .remedy("this is a bug in airlink: please report it with the graph and the kernels"),
        ));
    }
    judge(&module, expected, findings)?;
    Ok(CheckedProgram { module, elf: expected.elf.clone() })
}

/// The checks that compare, on a module that verifies.
///
/// # Errors
/// As [`check`].
pub fn judge<'c>(module: &Module<'c>, expected: &Expected<'_, 'c>, findings: &mut Findings) -> Result<(), Reported> {
    let before = findings.count(airlink_diag::Severity::Error);
    let root = airlink_ir::edit::untied(module.as_operation());
    nesting::check(root, expected, findings);
    externs::check(root, expected, findings);
    launch::check_all(root, expected, findings);
    if findings.count(airlink_diag::Severity::Error) > before {
        findings.check()?;
    }
    Ok(())
}
