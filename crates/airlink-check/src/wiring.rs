//! The plan of an ELF against the graph: its launches are the graph's in order, and pass what the graph says.

use airlink_graph::{LaunchIdx, ViewIdx};
use airlink_plan::CallPlan;

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
    elf.calls.iter().enumerate().for_each(|(i, call)| wrong.extend(check_call(expected, i, call)));
    if elf.calls.first().is_none_or(|c| !c.launches.iter().eq(elf.launches.iter().map(|l| &l.launch))) {
        wrong.push("its first call is not of its own launches".to_string());
    }
    wrong
}

/// A call must run the same kernels on its own buffers, wired as the graph says.
fn check_call(expected: &Expected<'_, '_>, index: usize, call: &CallPlan) -> Vec<String> {
    let (graph, elf) = (expected.graph, expected.elf);
    if (call.launches.len(), call.args.len()) != (elf.launches.len(), elf.args.len()) {
        return vec![format!("call {index} has not the launches and arguments of its ELF")];
    }
    let mut wrong = Vec::new();
    for (arg, buffer) in elf.args.iter().zip(&call.args) {
        let buffer = graph.buffer(*buffer);
        if buffer.ty.as_ref().is_none_or(|ty| *ty != arg.ty) {
            wrong.push(format!("call {index} passes `{}` for `{}`, which has another type", buffer.name, arg.name));
        }
    }
    for (plan, launch) in elf.launches.iter().zip(&call.launches) {
        let (name, launch) = (&plan.name, graph.launch(*launch));
        if plan.kernel != launch.kernel.value || plan.function != launch.function_name {
            wrong.push(format!("call {index} runs `{}` as `{name}`, which is another kernel", launch.name.value));
        }
        for (i, (planned, given)) in plan.operands.iter().zip(&launch.operands).enumerate() {
            let part = |view: Option<ViewIdx>| view.map(|v| (graph.view(v).range, graph.view(v).ty.clone()));
            if call.args.get(planned.arg) != Some(&given.buffer) || part(planned.view) != part(given.view) {
                let buffer = &graph.buffer(given.buffer).name;
                wrong.push(format!("call {index} does not pass `{buffer}` as argument {i} of `{name}`"));
            }
        }
    }
    wrong
}
