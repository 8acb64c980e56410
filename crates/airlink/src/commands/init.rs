//! `airlink init`: a launch graph to start from.

mod externs;
mod text;

use airlink_diag::{Finding, Reported, codes};
use airlink_ir::Ir;
use airlink_kernel::{Access, FunctionSummary, KernelSummary};
use airlink_plan::NameAllocator;
use camino::{Utf8Path, Utf8PathBuf};
use indexmap::IndexMap;

use crate::cli::FilesArgs;
use crate::exit::Exit;
use crate::invocation::Invocation;
use crate::read::{self, Wanted};
use crate::{load, paths, write};

use externs::Extern;

pub fn run(invocation: &mut Invocation, args: &FilesArgs) -> Exit {
    match make(invocation, args) {
        Ok(()) => Exit::Done,
        Err(reported) => invocation.exit_of(reported),
    }
}

/// One `[[launch]]` to be.
struct Proposal {
    name: String,
    /// The kernel's path as the graph spells it.
    kernel: String,
    function: String,
    /// Whether the kernel has other public functions, so that `func` must say which is meant.
    needs_func: bool,
    args: Vec<ProposedArg>,
    externs: Vec<Extern>,
    has_bare_herd: bool,
    launch_count: usize,
}

struct ProposedArg {
    buffer: String,
    ty: String,
    is_memref: bool,
    access: &'static str,
    /// Buffers that earlier launches write, of the same type: what this one may be meant to read.
    sources: Vec<String>,
}

fn make(invocation: &mut Invocation, args: &FilesArgs) -> Result<(), Reported> {
    let output = invocation.options.output.clone();
    if let Some(output) = output.as_ref().filter(|o| o.exists()) {
        let (text, remedy) = match output.is_dir() {
            true => {
                (format!("`{output}` is a folder"), format!("give the file's name: `-o {}`", output.join("graph.toml")))
            }
            false => (
                format!("`{output}` is there already"),
                "give another name with -o, or remove the file: airlink does not overwrite a graph".to_string(),
            ),
        };
        return Err(invocation.findings.fail(Finding::error(codes::AL0802, text).remedy(remedy)));
    }
    load::warn_of_folders(&invocation.options.library_dirs, &mut invocation.findings);
    let ir = Ir::new();
    let folder = output.as_deref().and_then(Utf8Path::parent).map_or(Utf8PathBuf::from("."), paths::clean);
    let kernels = read_kernels(&ir, invocation, &args.files)?;
    let mut proposals = propose(invocation, args, &kernels, &folder)?;
    hint_sources(&mut proposals);
    let name =
        output.as_deref().and_then(Utf8Path::file_name).map_or("graph".to_string(), |n| identifier(stem(n), "graph"));
    let device = invocation.options.device.clone().unwrap_or_else(|| "npu2".to_string());
    let text = text::graph(&name, &device, &proposals);
    match output {
        _ if invocation.options.dry_run => Ok(()),
        None => {
            invocation.print(&text);
            Ok(())
        }
        Some(path) => {
            write::one(&path, text.into_bytes(), &mut invocation.findings)?;
            invocation.say(&format!("wrote {path}; next: connect the launches in it, then `airlink plan {path}`\n"));
            Ok(())
        }
    }
}

/// Each file once, in the order of the command line. All findings come before it fails.
fn read_kernels(
    ir: &Ir,
    invocation: &mut Invocation,
    files: &[Utf8PathBuf],
) -> Result<IndexMap<Utf8PathBuf, KernelSummary>, Reported> {
    let findings = &mut invocation.findings;
    let mut kernels = IndexMap::new();
    let mut failed = None;
    for path in files {
        if kernels.contains_key(path) {
            continue;
        }
        let parsed = read::text_file(path, Wanted::Module, None, findings)
            .and_then(|file| Ok((file, airlink_ir::parse(ir, file, path.as_str(), findings)?)));
        match parsed {
            Ok((file, module)) => {
                drop(kernels.insert(path.clone(), airlink_ir::summarize(&module, file, &findings.sources)))
            }
            Err(reported) => failed = Some(reported),
        }
    }
    failed.map_or(Ok(kernels), Err)
}

/// A launch for each function that holds one, of each file as often as it is named.
fn propose(
    invocation: &mut Invocation,
    args: &FilesArgs,
    kernels: &IndexMap<Utf8PathBuf, KernelSummary>,
    folder: &Utf8Path,
) -> Result<Vec<Proposal>, Reported> {
    let mut functions: IndexMap<&Utf8Path, Vec<usize>> = IndexMap::new();
    for (path, summary) in kernels {
        functions.insert(path, airlink_graph::kernel_functions(path.as_str(), summary, &mut invocation.findings));
    }
    invocation.findings.check()?;
    let mut names = NameAllocator::default();
    let mut proposals = Vec::new();
    for path in &args.files {
        let (Some(summary), Some(functions)) = (kernels.get(path), functions.get(path.as_path())) else { continue };
        for function in functions.iter().map(|i| &summary.functions[*i]) {
            let launch = names.allocate(&launch_name(path, function, functions.len() > 1));
            proposals.push(Proposal {
                kernel: seen_from(path, folder).into_string(),
                function: function.name.clone(),
                needs_func: summary.functions.len() > 1,
                args: proposed_args(&launch, function),
                externs: externs::find(summary, function, path, folder, &invocation.options.library_dirs),
                has_bare_herd: function.entries.iter().any(|e| e.kind != airlink_kernel::EntryKind::Launch),
                launch_count: function.entries.len(),
                name: launch,
            });
        }
    }
    Ok(proposals)
}

fn proposed_args(launch: &str, function: &FunctionSummary) -> Vec<ProposedArg> {
    let access = |index: usize| {
        let all = || function.entries.iter().filter_map(move |e| e.accesses.get(index)).copied();
        match (all().any(Access::is_read), all().any(Access::is_written)) {
            (true, true) => "rw",
            (true, false) => "r",
            (false, true) => "w",
            (false, false) => "unused",
        }
    };
    let args = function.args.iter().enumerate().map(|(i, arg)| ProposedArg {
        buffer: format!("{launch}_a{i}"),
        ty: arg.ty.to_string(),
        is_memref: arg.ty.as_memref().is_some(),
        access: access(i),
        sources: Vec::new(),
    });
    args.collect()
}

/// Says at each argument that is read which buffers written before have its type.
fn hint_sources(proposals: &mut [Proposal]) {
    let mut written: IndexMap<String, Vec<String>> = IndexMap::new();
    for proposal in proposals {
        for arg in proposal.args.iter_mut().filter(|a| a.access.starts_with('r') && a.is_memref) {
            arg.sources = written.get(&arg.ty).cloned().unwrap_or_default();
        }
        for arg in proposal.args.iter().filter(|a| a.access.ends_with('w')) {
            written.entry(arg.ty.clone()).or_default().push(arg.buffer.clone());
        }
    }
}

/// From the file, with the function where that is needed to tell or to start with a letter.
fn launch_name(path: &Utf8Path, function: &FunctionSummary, has_several: bool) -> String {
    let stem = stem(path.file_name().unwrap_or_default());
    let starts_well = stem.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let function_name = identifier(&function.name, "kernel");
    match (has_several, starts_well) {
        (true, _) => function_name,
        (false, true) => identifier(stem, "kernel"),
        (false, false) => format!("{function_name}_{}", identifier(stem, "").trim_matches('_')),
    }
}

/// A file's name up to its first dot: `add` of `add.air.mlir`.
fn stem(file_name: &str) -> &str {
    file_name.split('.').next().unwrap_or_default()
}

/// Letters, digits and `_`, not starting with a digit; `instead` if nothing is left.
fn identifier(text: &str, instead: &str) -> String {
    let mut name: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if name.trim_matches('_').is_empty() {
        return instead.to_string();
    }
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        name.insert(0, '_');
    }
    name
}

/// `path` as a graph in `folder` names it.
fn seen_from(path: &Utf8Path, folder: &Utf8Path) -> Utf8PathBuf {
    let climbs = paths::clean(folder).as_str().starts_with("..");
    if path.is_absolute() == folder.is_absolute() && !climbs || path.is_absolute() {
        return paths::relative(path, folder);
    }
    // Only the whole paths say how one leads to the other.
    let here = std::env::current_dir().ok().and_then(|p| Utf8PathBuf::from_path_buf(p).ok()).unwrap_or_default();
    paths::relative(&here.join(path), &here.join(folder))
}
