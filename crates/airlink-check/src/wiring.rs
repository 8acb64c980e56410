//! The plan of an ELF against the graph: its launches are the graph's in order, and pass what the graph says.

use airlink_graph::LaunchIdx;

use crate::Expected;

/// What is wrong, in words.
pub(crate) fn check(expected: &Expected<'_, '_>) -> Vec<String> {
    let (graph, elf) = (expected.graph, expected.elf);
    let mut wrong = Vec::new();
    for (i, arg) in elf.args.iter().enumerate() {
        let buffer = graph.buffer(arg.buffer);
        let is_type = buffer.ty.as_ref().is_none_or(|ty| *ty == arg.ty);
        if arg.index != i || arg.name != buffer.name || !is_type {
            wrong.push(format!(
                "argument {i} is `{}: {}`, which the graph has not as `{}`",
                arg.name, arg.ty, buffer.name
            ));
        }
    }
    let mut last: Option<LaunchIdx> = None;
    for plan in &elf.launches {
        let launch = graph.launch(plan.launch);
        if last.is_some_and(|l| l >= plan.launch) {
            wrong.push(format!("launch `{}` stands before one that the graph has behind it", plan.name));
        }
        last = Some(plan.launch);
        let is_same = plan.name == launch.name.value
            && plan.kernel == launch.kernel.value
            && plan.function == launch.function_name
            && plan.operands.len() == launch.operands.len()
            && plan.entries.len() == launch.entry_count;
        if !is_same {
            wrong.push(format!("launch `{}` is not the graph's `{}`", plan.name, launch.name.value));
        }
        for (i, (planned, given)) in plan.operands.iter().zip(&launch.operands).enumerate() {
            let buffer = elf.args.get(planned.arg).map(|a| a.buffer);
            if buffer != Some(given.buffer) || planned.view != given.view {
                let name = &graph.buffer(given.buffer).name;
                wrong.push(format!("launch `{}` does not pass `{name}` as its argument {i}", plan.name));
            }
        }
    }
    wrong
}
