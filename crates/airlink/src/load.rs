//! Reading a launch graph with everything that it names.

use std::collections::BTreeMap;

use airlink_diag::{FileId, Finding, Findings, Reported, Span, codes};
use airlink_elf::{Machine, ObjectQuery, find_object};
use airlink_graph::{LaunchGraph, LaunchIdx};
use airlink_ir::{Ir, Module};
use airlink_kernel::KernelSummary;
use airlink_plan::{FoundObjects, ObjectInfo};
use camino::{Utf8Path, Utf8PathBuf};
use indexmap::IndexMap;

use crate::invocation::Invocation;
use crate::paths;

/// A launch graph, its kernels parsed and summarised, and its objects.
pub struct Loaded<'c> {
    pub graph: LaunchGraph,
    /// By the path under which the graph names them.
    pub kernels: IndexMap<String, KernelSummary>,
    pub modules: IndexMap<String, Module<'c>>,
    pub objects: FoundObjects,
    /// Bytes of the objects found, by the path that `objects` gives.
    pub object_bytes: IndexMap<String, Vec<u8>>,
    /// Every file that was read, as the user would write it, the graph first.
    pub files: Vec<Utf8PathBuf>,
}

/// Reads the graph at `path`, every kernel it names and every object they link with.
///
/// # Errors
/// AL01 and AL02 for what is wrong with them, AL0801 for a file that cannot be read, AL0709 for an object of another
/// machine. All findings of a stage come at once.
pub fn graph<'c>(ir: &'c Ir, invocation: &mut Invocation, path: &Utf8Path) -> Result<Loaded<'c>, Reported> {
    let library_dirs = invocation.options.library_dirs.clone();
    let findings = &mut invocation.findings;
    let file = text_file(path, None, findings)?;
    let read = airlink_graph::read(file, findings)?;
    let mut files = vec![path.to_owned()];
    let mut kernels = IndexMap::new();
    let mut modules = IndexMap::new();
    let mut failed = None;
    for (key, named_at) in read.kernels() {
        let kernel_path = paths::beside(path, key);
        files.push(kernel_path.clone());
        let parsed = text_file(&kernel_path, Some(named_at), findings)
            .and_then(|file| Ok((file, airlink_ir::parse(ir, file, key, findings)?)));
        match parsed {
            Ok((file, module)) => {
                kernels.insert(key.to_string(), airlink_ir::summarize(&module, file, &findings.sources));
                modules.insert(key.to_string(), module);
            }
            Err(reported) => failed = Some(reported),
        }
    }
    if let Some(reported) = failed {
        return Err(reported);
    }
    let graph = airlink_graph::resolve(read, &kernels, findings)?;
    let mut loaded =
        Loaded { graph, kernels, modules, objects: FoundObjects::new(), object_bytes: IndexMap::new(), files };
    loaded.find_objects(path, &library_dirs, findings)?;
    if invocation.options.verbose > 0 {
        loaded.files.iter().for_each(|file| eprintln!("read {file}"));
    }
    Ok(loaded)
}

/// Reads a text file into the sources. `named_at` is where the user named it; without one, the command line did.
///
/// # Errors
/// AL0801 if it cannot be read, AL0105 if it is not UTF-8.
pub fn text_file(path: &Utf8Path, named_at: Option<Span>, findings: &mut Findings) -> Result<FileId, Reported> {
    let bytes = std::fs::read(path).map_err(|error| {
        findings.fail(
            Finding::error(codes::AL0801, format!("`{path}` cannot be read: {error}"))
                .maybe_at(named_at, "named here")
                .remedy(match named_at {
                    Some(_) => "paths in a graph are relative to the graph's folder",
                    None => "check the path",
                }),
        )
    })?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(findings.sources.add(path.as_str(), text)),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let file = findings.sources.add(path.as_str(), String::from_utf8_lossy(error.as_bytes()));
            Err(findings.fail(
                Finding::error(codes::AL0105, format!("`{path}` is not UTF-8 text"))
                    .at(Span::new(file, at..at + 1), "the first byte that is not UTF-8")
                    .maybe_also(named_at, "named here")
                    .remedy("save the file as UTF-8; MLIR bytecode and compiled files are not read here"),
            ))
        }
    }
}

impl Loaded<'_> {
    /// Looks for the object behind each `link_with` name of each launch; one search per name and explicit path.
    fn find_objects(
        &mut self,
        graph_path: &Utf8Path,
        library_dirs: &[Utf8PathBuf],
        findings: &mut Findings,
    ) -> Result<(), Reported> {
        let mut folders = library_dirs.to_vec();
        folders.push(graph_path.parent().map_or(Utf8PathBuf::from("."), paths::clean));
        folders.push(Utf8PathBuf::from("."));
        folders.dedup();
        let mut searched: BTreeMap<(String, Option<String>), Option<ObjectInfo>> = BTreeMap::new();
        let mut failed = None;
        for (position, launch) in self.graph.launches.iter().enumerate() {
            let Some(kernel) = self.kernels.get(&launch.kernel.value) else { continue };
            for name in link_names(kernel, launch.function) {
                let explicit = launch.objects.get(name);
                let key = (name.to_string(), explicit.map(|p| p.value.clone()));
                if !searched.contains_key(&key) {
                    let path = explicit.map(|p| paths::beside(graph_path, &p.value));
                    let query =
                        ObjectQuery { name, explicit: path.as_deref(), folders: &folders, machine: Machine::X86_64 };
                    let place = explicit.map_or(launch.kernel.span, |p| p.span);
                    let found = search(&query, place, graph_path, &mut self.files, &mut self.object_bytes, findings);
                    searched.insert(
                        key.clone(),
                        found.unwrap_or_else(|reported| {
                            failed = Some(reported);
                            None
                        }),
                    );
                }
                if let Some(Some(info)) = searched.get(&key) {
                    self.objects.insert((LaunchIdx(position), name.to_string()), info.clone());
                }
            }
        }
        failed.map_or(Ok(()), Err)
    }
}

fn search(
    query: &ObjectQuery<'_>,
    place: Span,
    graph_path: &Utf8Path,
    files: &mut Vec<Utf8PathBuf>,
    bytes: &mut IndexMap<String, Vec<u8>>,
    findings: &mut Findings,
) -> Result<Option<ObjectInfo>, Reported> {
    let result = find_object(query).map_err(|error| findings.fail(error.finding().at(place, "named here")))?;
    for passed in &result.passed_over {
        findings.push(passed.finding().at(place, "linked by this kernel"));
    }
    Ok(result.found.map(|found| {
        let folder = graph_path.parent().unwrap_or(Utf8Path::new("."));
        let path = paths::relative(&found.path, folder).into_string();
        files.push(paths::clean(&found.path));
        bytes.insert(path.clone(), found.bytes);
        let symbols = found.summary.defined().map(|d| d.name.clone()).collect();
        ObjectInfo { path, hash: found.hash, symbols }
    }))
}

/// The object names that calls and declarations of a kernel function link with, in order.
fn link_names(kernel: &KernelSummary, function: usize) -> Vec<&str> {
    let calls = kernel.functions.get(function).into_iter().flat_map(|f| &f.entries).flat_map(|e| &e.calls);
    let declared = kernel.externs.iter().filter_map(|e| e.link_with.as_deref());
    let mut names: Vec<&str> = Vec::new();
    for name in calls.filter_map(|c| c.link_with.as_deref()).chain(declared) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
