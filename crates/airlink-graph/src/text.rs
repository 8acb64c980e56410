//! A launch graph as text, for people and for snapshots.

use std::fmt::{self, Write};

use crate::{HostOperand, Launch, LaunchGraph, Operand, Step, View};

/// One line per buffer, view, step and cut, in the order of the graph; ends with a line break.
pub fn text(graph: &LaunchGraph) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_graph(graph, &mut out);
    out
}

fn write_graph(graph: &LaunchGraph, out: &mut String) -> fmt::Result {
    write!(out, "graph {}", graph.name.value)?;
    match &graph.device {
        Some(device) => writeln!(out, " on {}", device.value)?,
        None => writeln!(out)?,
    }
    for buffer in graph.buffers.values() {
        let ty = buffer.ty.as_ref().map_or("unknown type".to_string(), |t| t.to_string());
        let role = buffer.declared_role.as_ref().map_or(String::new(), |r| format!(", {}", r.value.as_str()));
        let inferred = if buffer.is_declared { "" } else { ", inferred" };
        writeln!(out, "buffer {}: {ty}{role}{inferred}", buffer.name)?;
    }
    for View { name, of, ty, range, .. } in graph.views.values() {
        writeln!(out, "view {name}: {ty} = {} bytes {}..{}", graph.buffer(*of).name, range.start, range.end)?;
    }
    for step in &graph.steps {
        match step {
            Step::Launch(launch) => write_launch(graph, graph.launch(*launch), out)?,
            Step::Host(host) => {
                let host = graph.host(*host);
                let list =
                    |list: &[HostOperand]| list.iter().map(|o| host_operand(graph, o)).collect::<Vec<_>>().join(", ");
                writeln!(
                    out,
                    "host {}: reads [{}], writes [{}]",
                    host.name.value,
                    list(&host.reads),
                    list(&host.writes)
                )?;
            }
        }
    }
    for cut in &graph.cuts {
        let launches: Vec<_> = cut.launches.value.iter().map(|l| l.value.as_str()).collect();
        writeln!(out, "elf {}: {}", cut.name.value, launches.join(", "))?;
    }
    Ok(())
}

fn write_launch(graph: &LaunchGraph, launch: &Launch, out: &mut String) -> fmt::Result {
    let operands: Vec<_> = launch.operands.iter().map(|o| operand(graph, o)).collect();
    let (name, kernel, function) = (&launch.name.value, &launch.kernel.value, &launch.function_name);
    write!(out, "launch {name}: {kernel} @{function}({})", operands.join(", "))?;
    if launch.entry_count > 1 {
        write!(out, ", {} launches", launch.entry_count)?;
    }
    if launch.is_fuse_never() {
        write!(out, ", never fused")?;
    }
    writeln!(out)
}

/// The name with the access of each entry: `t r/w` is read in the first and written in the second.
fn operand(graph: &LaunchGraph, operand: &Operand) -> String {
    let accesses: Vec<_> = operand.accesses.iter().map(|a| if a.is_none() { "-" } else { a.as_str() }).collect();
    let name = operand.view.map_or(&graph.buffer(operand.buffer).name, |v| &graph.view(v).name);
    format!("{name} {}", accesses.join("/"))
}

fn host_operand<'g>(graph: &'g LaunchGraph, operand: &HostOperand) -> &'g str {
    operand.view.map_or(&graph.buffer(operand.buffer).name, |v| &graph.view(v).name)
}
