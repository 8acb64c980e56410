//! The values that launches get for views: read back from the ops at the top of the fused function.

use std::collections::BTreeMap;

use airlink_graph::{LaunchGraph, ViewIdx};
use airlink_ir::melior::ir::operation::OperationLike;
use airlink_ir::melior::ir::{Attribute, ValueLike};
use airlink_ir::{OperationRef, Value, name};
use airlink_plan::ElfPlan;

/// The value of each view of the ELF and how many ops at the top of the function make them.
///
/// # Errors
/// What is wrong, in words.
pub(crate) fn read<'c>(
    graph: &LaunchGraph,
    elf: &ElfPlan,
    args: &[Value<'c, 'c>],
    ops: &[OperationRef<'c, 'c>],
) -> Result<(BTreeMap<ViewIdx, Value<'c, 'c>>, usize), String> {
    let mut values = BTreeMap::new();
    let mut position = 0;
    for &index in &elf.views {
        let view = graph.view(index);
        let arg = elf.args.iter().position(|a| a.buffer == view.of).ok_or("the buffer of a view is no argument")?;
        let subview = ops.get(position).filter(|op| name(**op) == "memref.subview");
        let subview = *subview.ok_or_else(|| format!("the subview of `{}` is missing", view.name))?;
        position += 1;
        // An offset that the type cannot carry is in the access lists, which are judged with the launch.
        let start = if view.is_folded() { vec![0; view.offsets.len()] } else { view.offsets.clone() };
        let is_right = subview.operand(0).ok() == Some(args[arg])
            && numbers(subview, "static_offsets") == start
            && numbers(subview, "static_sizes") == view.sizes
            && numbers(subview, "static_strides") == view.strides;
        if !is_right {
            return Err(format!("the subview of `{}` is of another buffer or part", view.name));
        }
        let mut value: Value = subview.result(0).map_err(|e| e.to_string())?.into();
        if value.r#type().to_string() != view.ty.to_string() {
            let cast = ops.get(position).filter(|op| name(**op) == "memref.cast" && op.operand(0).ok() == Some(value));
            let cast = *cast.ok_or_else(|| format!("the cast of `{}` is missing", view.name))?;
            position += 1;
            value = cast.result(0).map_err(|e| e.to_string())?.into();
        }
        if value.r#type().to_string() != view.ty.to_string() {
            return Err(format!("`{}` is a `{}` and should be a `{}`", view.name, value.r#type(), view.ty));
        }
        values.insert(index, value);
    }
    Ok((values, position))
}

fn numbers(op: OperationRef<'_, '_>, attribute: &str) -> Vec<u64> {
    let text = op.attribute(attribute).map(|a: Attribute| a.to_string()).unwrap_or_default();
    // `array<i64: 0, 128>`
    text.trim_start_matches("array<i64")
        .trim_start_matches(':')
        .trim_end_matches('>')
        .split(',')
        .filter_map(|n| n.trim().parse().ok())
        .collect()
}
