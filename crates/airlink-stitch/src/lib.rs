//! Carries a plan out on IR: the kernels of one ELF become one module with one function. Decides nothing: every name
//! and every wire stands in the plan.

mod attributes;
mod columns;
mod fused;
mod ksplit;
mod launch;
mod names;
mod offsets;
mod rows;
mod views;
mod wrap;

use airlink_diag::{Findings, Reported};
use airlink_graph::LaunchGraph;
use airlink_ir::{Ir, Module};
use airlink_plan::ElfPlan;
use indexmap::IndexMap;

use fused::Fused;

/// The parsed kernels of a graph, by the path under which the graph names them.
pub type Kernels<'c> = IndexMap<String, Module<'c>>;

/// Merges the launches of `elf` into one module: private declarations and local symbols first, then one function with
/// the ELF's name and arguments, views at its top, and the launches in program order.
///
/// # Errors
/// AL0222 where the offset of a view cannot be folded, AL0501 where attributes contradict, AL0502 where an op cannot be merged.
pub fn stitch<'c>(
    ir: &'c Ir,
    graph: &LaunchGraph,
    kernels: &Kernels<'c>,
    elf: &ElfPlan,
    findings: &mut Findings,
) -> Result<Module<'c>, Reported> {
    let mut fused = Fused::new(ir, elf);
    fused.add_views(graph, elf);
    for launch in &elf.launches {
        let Some(kernel) = kernels.get(&launch.kernel) else { continue };
        fused.add_launch(graph, kernel, launch, elf, findings);
    }
    findings.check()?;
    Ok(fused.finish())
}
