//! Reading a launch graph with everything that it names.

use std::collections::BTreeMap;

use airlink_diag::{Finding, Findings, Reported, Span, codes};
use airlink_elf::{FindError, Machine, ObjectQuery, SectionUse, Unfit, find_object, object_sections};
use airlink_graph::{Launch, LaunchGraph, LaunchIdx, Placed};
use airlink_ir::{Ir, Module};
use airlink_kernel::KernelSummary;
use airlink_limits::ObjectSize;
use airlink_plan::{FoundObjects, ObjectInfo};
use camino::{Utf8Path, Utf8PathBuf};
use indexmap::IndexMap;

use crate::invocation::Invocation;
use crate::paths;
use crate::read::{self, Wanted};

/// A launch graph, its kernels parsed and summarised, and its objects.
pub struct Loaded<'c> {
    pub graph: LaunchGraph,
    /// By the path under which the graph names them.
    pub kernels: IndexMap<String, KernelSummary>,
    pub modules: IndexMap<String, Module<'c>>,
    pub objects: FoundObjects,
    /// Sizes of the device's own objects, by launch and `link_with` name.
    pub object_sizes: BTreeMap<(LaunchIdx, String), ObjectSize>,
    /// Bytes of the objects found, by the path that `objects` gives.
    pub object_bytes: IndexMap<String, Vec<u8>>,
    /// Every file that was read, as the user would write it, the graph first.
    pub files: Vec<Utf8PathBuf>,
    /// Files of the name of an object that are no object of the target: nothing depends on them, but they are the
    /// user's.
    pub passed_over: Vec<Utf8PathBuf>,
}

/// Reads the graph at `path`, every kernel it names and every object they link with.
///
/// # Errors
/// AL01 and AL02 for what is wrong with them, AL0801 for a file that cannot be read, AL0709 for an object of another
/// machine. All findings of a stage come at once.
pub fn graph<'c>(ir: &'c Ir, invocation: &mut Invocation, path: &Utf8Path) -> Result<Loaded<'c>, Reported> {
    let library_dirs = invocation.options.library_dirs.clone();
    let links = invocation.links;
    let findings = &mut invocation.findings;
    warn_of_folders(&library_dirs, findings);
    invocation.inputs.push(path.to_owned());
    let file = read::text_file(path, Wanted::Graph, None, findings)?;
    let graph = airlink_graph::read(file, findings)?;
    let mut files = vec![path.to_owned()];
    let mut kernels = IndexMap::new();
    let mut modules = IndexMap::new();
    let mut failed = None;
    for (key, named_at) in graph.kernels() {
        let kernel_path = paths::beside(path, key);
        files.push(kernel_path.clone());
        invocation.inputs.push(kernel_path.clone());
        let parsed = read::text_file(&kernel_path, Wanted::Module, Some(named_at), findings)
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
    let graph = airlink_graph::resolve(graph, &kernels, findings)?;
    let graph = if invocation.options.reorder { airlink_graph::reorder(graph) } else { graph };
    let (objects, object_bytes, passed_over) = (FoundObjects::new(), IndexMap::new(), Vec::new());
    let object_sizes = BTreeMap::new();
    let mut loaded = Loaded { graph, kernels, modules, objects, object_bytes, files, passed_over, object_sizes };
    let searched = loaded.find_objects(path, &library_dirs, links, findings);
    invocation.inputs = [&loaded.files[..], &loaded.passed_over[..]].concat();
    searched?;
    if invocation.options.verbose > 0 {
        loaded.files.iter().for_each(|file| eprintln!("read {file}"));
    }
    Ok(loaded)
}

impl Loaded<'_> {
    /// Looks for the object behind each `link_with` name of each launch; one search per name and explicit path.
    fn find_objects(
        &mut self,
        graph_path: &Utf8Path,
        library_dirs: &[Utf8PathBuf],
        links: bool,
        findings: &mut Findings,
    ) -> Result<(), Reported> {
        let mut folders = library_dirs.to_vec();
        folders.push(graph_path.parent().map_or(Utf8PathBuf::from("."), paths::clean));
        folders.push(Utf8PathBuf::from("."));
        folders.dedup();
        let mut searched: BTreeMap<(String, Option<String>), Option<ObjectInfo>> = BTreeMap::new();
        let mut sizes: BTreeMap<(String, Option<String>), Option<ObjectSize>> = BTreeMap::new();
        let mut failed = None;
        for wanted in self.wanted_objects(findings)? {
            let explicit = wanted.explicit.as_ref();
            let key = (wanted.name.clone(), explicit.map(|p| p.value.clone()));
            if !searched.contains_key(&key) {
                let path = explicit.map(|p| paths::beside(graph_path, &p.value));
                let machine = Machine::X86_64;
                let query = ObjectQuery { name: &wanted.name, explicit: path.as_deref(), folders: &folders, machine };
                let place = explicit.map_or(wanted.kernel, |p| p.span);
                let found = self.search(&query, place, graph_path, links, findings).unwrap_or_else(|reported| {
                    failed = Some(reported);
                    None
                });
                searched.insert(key.clone(), found);
            }
            if let Some(Some(info)) = searched.get(&key) {
                self.objects.insert((wanted.launch, wanted.name.clone()), info.clone());
            }
            let size = *sizes.entry(key).or_insert_with(|| {
                let path = explicit.map(|p| paths::beside(graph_path, &p.value));
                self.device_object(&wanted.name, path.as_deref(), &folders)
            });
            if let Some(size) = size {
                self.object_sizes.insert((wanted.launch, wanted.name), size);
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// What the device's own object of that name brings to a core, if there is one: limits count it, whatever the target.
    /// What cannot be read was said before.
    fn device_object(
        &mut self,
        name: &str,
        explicit: Option<&Utf8Path>,
        folders: &[Utf8PathBuf],
    ) -> Option<ObjectSize> {
        let query = ObjectQuery { name, explicit, folders, machine: Machine::Aie };
        let found = find_object(&query).ok()?.found?;
        let mut size = ObjectSize::default();
        for section in object_sections(&found.bytes).ok()? {
            match section.use_ {
                SectionUse::Code => size.text_bytes += section.size_bytes,
                SectionUse::Data | SectionUse::Constants | SectionUse::Zeroed => size.data_bytes += section.size_bytes,
                SectionUse::Other => {}
            }
        }
        let path = paths::clean(&found.path);
        if !self.files.contains(&path) {
            self.files.push(path);
        }
        Some(size)
    }

    /// What launches link with, in program order.
    ///
    /// # Errors
    /// AL0225 for an entry of `objects` that is for none of it.
    fn wanted_objects(&self, findings: &mut Findings) -> Result<Vec<WantedObject>, Reported> {
        let mut list = Vec::new();
        let mut failed = None;
        for (position, launch) in self.graph.launches.iter().enumerate() {
            let Some(kernel) = self.kernels.get(&launch.kernel.value) else { continue };
            let names = link_names(kernel, launch.function);
            for (key, path) in launch.objects.iter().filter(|(key, _)| !names.contains(&key.as_str())) {
                failed = Some(findings.fail(unused_object(key, path.span, launch, &names)));
            }
            list.extend(names.into_iter().map(|name| WantedObject {
                launch: LaunchIdx(position),
                name: name.to_string(),
                explicit: launch.objects.get(name).cloned(),
                kernel: launch.kernel.span,
            }));
        }
        failed.map_or(Ok(list), Err)
    }

    fn search(
        &mut self,
        query: &ObjectQuery<'_>,
        place: Span,
        graph_path: &Utf8Path,
        links: bool,
        findings: &mut Findings,
    ) -> Result<Option<ObjectInfo>, Reported> {
        let result = match find_object(query) {
            // What the user names is for the machine that they build for. Unless it is to be linked here, it says which
            // symbols it defines, as any object does.
            Err(FindError::Unfit { unfit: Unfit::Machine { machine, .. }, .. }) if !links => {
                find_object(&ObjectQuery { machine, ..*query })
            }
            result => result,
        };
        let result = result.map_err(|error| findings.fail(error.finding().at(place, "named here")))?;
        for passed in &result.passed_over {
            self.passed_over.push(passed.path.clone());
            findings.push(passed.finding().at(place, "linked by this kernel"));
        }
        Ok(result.found.map(|found| {
            let folder = graph_path.parent().unwrap_or(Utf8Path::new("."));
            let path = paths::relative(&found.path, folder).into_string();
            self.files.push(paths::clean(&found.path));
            self.object_bytes.insert(path.clone(), found.bytes);
            let symbols = found.summary.defined().map(|d| d.name.clone()).collect();
            ObjectInfo { path, hash: found.hash, symbols }
        }))
    }
}

/// An object that a launch links with.
struct WantedObject {
    launch: LaunchIdx,
    /// Its `link_with` name.
    name: String,
    /// The file that the launch gives for it.
    explicit: Option<Placed<String>>,
    /// Where the graph names the kernel.
    kernel: Span,
}

fn unused_object(key: &str, span: Span, launch: &Launch, names: &[&str]) -> Finding {
    let listed = names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    let remedy = match (airlink_graph::suggest(key, names.iter().copied()), names) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, [only]) => format!("write `{only}`, or remove the entry"),
        (None, _) => "remove the entry, or write the `link_with` name that it is for".to_string(),
    };
    let headline = format!("launch `{}` links with no `{key}`", launch.name.value);
    Finding::error(codes::AL0225, headline)
        .at(span, format!("given for `{key}`"))
        .also(launch.kernel.span, "this kernel's externs and herds don't name it")
        .found(format!("`{key}`"))
        .allowed(if listed.is_empty() { "nothing: the kernel links with no object".to_string() } else { listed })
        .remedy(remedy)
}

/// Warns of each `-L` that is no folder: a slip there looks like a missing object later.
pub fn warn_of_folders(library_dirs: &[Utf8PathBuf], findings: &mut Findings) {
    for folder in library_dirs.iter().filter(|f| !f.is_dir()) {
        let what = if folder.exists() { "is not a folder" } else { "is not there" };
        findings.push(
            Finding::warning(codes::AL0807, format!("`-L {folder}` {what}: no object is found in it"))
                .remedy("check the path, which is relative to the current folder"),
        );
    }
}

/// The object names that calls, declarations and herds of a kernel function link with, in order.
fn link_names(kernel: &KernelSummary, function: usize) -> Vec<&str> {
    let entries = || kernel.functions.get(function).into_iter().flat_map(|f| &f.entries);
    let called = entries().flat_map(|e| &e.calls).filter_map(|c| c.link_with.as_deref());
    let declared = kernel.externs.iter().filter_map(|e| e.link_with.as_deref());
    let herds = entries().flat_map(|e| &e.herds).filter_map(|h| h.link_with.as_deref());
    let mut names: Vec<&str> = Vec::new();
    for name in called.chain(declared).chain(herds) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
