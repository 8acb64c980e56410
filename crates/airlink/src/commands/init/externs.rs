//! What stands behind the externs of a kernel on the host.

use airlink_elf::{Machine, ObjectQuery, find_object};
use airlink_host::reference;
use airlink_kernel::{FunctionSummary, KernelSummary};
use camino::{Utf8Path, Utf8PathBuf};

use super::seen_from;

/// One extern that a launch calls.
pub struct Extern {
    pub symbol: String,
    pub link_with: Option<String>,
    /// The object that there is for it, as the graph would name it.
    pub found: Option<String>,
    /// Whether `stitch` takes it only if the graph names it: it lies in a folder of `-L` or beside the kernel.
    pub needs_name: bool,
    /// Names of reference kernels that fit, where there is no object.
    pub references: Vec<&'static str>,
}

/// The externs that `function` calls, each once, in text order.
pub fn find(
    summary: &KernelSummary,
    function: &FunctionSummary,
    kernel: &Utf8Path,
    graph_folder: &Utf8Path,
    library_dirs: &[Utf8PathBuf],
) -> Vec<Extern> {
    let always = [graph_folder.to_owned(), Utf8PathBuf::from(".")];
    let searched = [library_dirs, &always[..]].concat();
    let beside = [kernel.parent().unwrap_or(Utf8Path::new("")).to_owned()];
    let mut list: Vec<Extern> = Vec::new();
    for call in function.entries.iter().flat_map(|e| &e.calls) {
        if list.iter().any(|e| e.symbol == call.symbol && e.link_with == call.link_with) {
            continue;
        }
        let object = |folders| call.link_with.as_deref().and_then(|name| object(name, folders));
        let found = object(&searched[..]).or_else(|| object(&beside[..]));
        let needs_name = found.is_some() && found != object(&always[..]);
        let inputs =
            summary.externs.iter().find(|e| e.symbol == call.symbol).map(|e| &e.inputs[..]).unwrap_or_default();
        let references = if found.is_none() {
            reference::candidates(&call.symbol, inputs).into_iter().map(|v| v.name).collect()
        } else {
            Vec::new()
        };
        list.push(Extern {
            symbol: call.symbol.clone(),
            link_with: call.link_with.clone(),
            found: found.map(|p| seen_from(&p, graph_folder).into_string()),
            needs_name,
            references,
        });
    }
    list
}

/// A host object of that name. What cannot be read is not found here; `stitch` says why.
fn object(name: &str, folders: &[Utf8PathBuf]) -> Option<Utf8PathBuf> {
    let query = ObjectQuery { name, explicit: None, folders, machine: Machine::X86_64 };
    find_object(&query).ok()?.found.map(|f| f.path)
}
