//! The graph as text.

use super::externs::Extern;
use super::{Proposal, ProposedArg};

const HEAD: &str = "\
# A launch graph to start from. Launches run in the order in which they stand here.
# Each argument has a buffer of its own so far. To connect two launches, give what one writes (w) and what a later
# one reads (r) the same name. `airlink plan` shows the result, `airlink stitch` builds it.
";

/// Buffers that a hint names at most.
const SOURCES_SHOWN_MAX: usize = 3;

pub fn graph(name: &str, device: &str, proposals: &[Proposal]) -> String {
    let mut out = format!("{HEAD}\n[graph]\nname   = {}\ndevice = {}\n", quoted(name), quoted(device));
    proposals.iter().for_each(|p| out += &launch(p));
    out
}

fn launch(proposal: &Proposal) -> String {
    let mut out = format!("\n[[launch]]\nname   = {}\nkernel = {}\n", quoted(&proposal.name), quoted(&proposal.kernel));
    if proposal.needs_func {
        out += &format!("func   = {}\n", quoted(&proposal.function));
    }
    out += &args(&proposal.args);
    let mut objects: Vec<String> = Vec::new();
    for (link_with, path) in proposal
        .externs
        .iter()
        .filter(|e| e.needs_name)
        .filter_map(|e| Some((e.link_with.as_ref()?, e.found.as_ref()?)))
    {
        let entry = format!("{} = {}", quoted(link_with), quoted(path));
        if !objects.contains(&entry) {
            objects.push(entry);
        }
    }
    if !objects.is_empty() {
        out += &format!("objects = {{ {} }}\n", objects.join(", "));
    }
    proposal.externs.iter().for_each(|e| out += &extern_comment(e));
    if proposal.launch_count > 1 {
        out += &format!(
            "# @{} holds {} launches; they count one by one.\n",
            comment(&proposal.function),
            proposal.launch_count
        );
    }
    if proposal.has_bare_herd {
        out += &format!("# @{} has a herd without a launch; airlink wraps it in one.\n", comment(&proposal.function));
    }
    out
}

fn args(args: &[ProposedArg]) -> String {
    if args.is_empty() {
        return "args   = []\n".to_string();
    }
    let names: Vec<String> = args.iter().map(|a| quoted(&a.buffer) + ",").collect();
    let name_width = names.iter().map(String::len).max().unwrap_or(0);
    let access_width = args.iter().map(|a| a.access.len()).max().unwrap_or(0);
    let mut out = "args   = [\n".to_string();
    for (arg, name) in args.iter().zip(names) {
        let line =
            format!("    {name:<name_width$}  # {:<access_width$}  {}{}", arg.access, comment(&arg.ty), hint(arg));
        out += line.trim_end();
        out.push('\n');
    }
    out + "]\n"
}

/// What this argument may be meant to read. Not more than that: equal types are no proof.
fn hint(arg: &ProposedArg) -> String {
    if !arg.is_memref {
        return "  (a scalar: no host ELF, but --emit mlir,map)".to_string();
    }
    if arg.sources.is_empty() {
        return String::new();
    }
    let newest: Vec<&str> = arg.sources.iter().rev().take(SOURCES_SHOWN_MAX).map(String::as_str).collect();
    let more = arg.sources.len() - newest.len();
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("  (written before with this type: {}{rest})", newest.join(", "))
}

fn extern_comment(e: &Extern) -> String {
    let symbol = comment(&e.symbol);
    let object = e.link_with.as_deref().map(comment);
    let of = object.as_ref().map(|o| format!(" of {o}")).unwrap_or_default();
    let what = match (&e.found, &e.references[..]) {
        (Some(path), _) => format!("found in {}", comment(path)),
        (None, [one]) => {
            format!("no host object found; the reference kernel `{one}` stands in for it on the host")
        }
        (None, []) => format!(
            "no host object found and no reference kernel known: put {} beside this graph, or use --emit mlir,map",
            object.as_deref().unwrap_or("its object")
        ),
        (None, several) => {
            return format!(
                "# calls @{symbol}{of}: several reference kernels have this name; keep the line of the one that is meant:\n{}",
                several
                    .iter()
                    .map(|v| format!("# ref = {{ {} = {} }}\n", quoted(&e.symbol), quoted(v)))
                    .collect::<String>()
            );
        }
    };
    format!("# calls @{symbol}{of}: {what}\n")
}

/// A TOML basic string.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out += &format!("\\u{:04X}", c as u32),
            c => out.push(c),
        }
    }
    out + "\""
}

/// Text that stays inside its comment.
fn comment(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
