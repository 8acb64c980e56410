//! What the tests share.

use std::path::{Path, PathBuf};

use airlink_diag::{Findings, Span, render};
use airlink_graph::{GraphFile, LaunchGraph};
use airlink_kernel::{Access, ArgSummary, EntryKind, EntrySummary, FunctionSummary, KernelSummary, KernelType};
use indexmap::IndexMap;

/// Reads `text` as `graph.toml`.
pub fn read(text: &str) -> (Option<GraphFile>, Findings) {
    let mut findings = Findings::default();
    let file = findings.sources.add("graph.toml", text);
    let graph = airlink_graph::read(file, &mut findings).ok();
    (graph, findings)
}

/// Reads `text`, which must be free of findings.
pub fn read_ok(text: &str) -> GraphFile {
    let (graph, findings) = read(text);
    assert_eq!(lines(&findings), Vec::<String>::new());
    graph.unwrap()
}

/// The findings in file order, one line each.
pub fn lines(findings: &Findings) -> Vec<String> {
    let short = |f| render::short(f, &findings.sources).trim_end().to_string();
    findings.in_file_order().into_iter().map(short).collect()
}

/// The codes in file order, as in `error AL0106`.
pub fn codes(findings: &Findings) -> Vec<String> {
    findings.in_file_order().iter().map(|f| format!("{} {}", f.severity.as_str(), f.code)).collect()
}

/// A kernel module with one function; an access string per launch, such as `["r,r,w"]`.
pub struct Kernel {
    pub path: &'static str,
    pub func: &'static str,
    pub args: Vec<String>,
    pub launches: Vec<Vec<String>>,
}

/// A kernel whose arguments are `types`, with one access list per launch: `r,w`.
pub fn kernel(path: &'static str, types: &[&str], launches: &[&str]) -> Kernel {
    Kernel {
        path,
        func: "k",
        args: types.iter().map(|t| t.to_string()).collect(),
        launches: launches.iter().map(|l| l.split(',').map(str::to_string).collect()).collect(),
    }
}

/// The summary of such a kernel. Its text is made up so that spans have something to point at.
pub fn summary(kernel: &Kernel, findings: &mut Findings) -> KernelSummary {
    let text = format!("func.func @{}({}) // {}\n", kernel.func, kernel.args.join(", "), "read write");
    let file = findings.sources.add(kernel.path, text.clone());
    let span_of = |what: &str| text.rfind(what).map(|at| Span::new(file, at..at + what.len())).unwrap();
    let mut at = text.find('(').unwrap() + 1;
    let args = kernel.args.iter().map(|ty| {
        let span = Span::new(file, at..at + ty.len());
        at += ty.len() + 2;
        ArgSummary { ty: KernelType::parse(ty).unwrap(), span }
    });
    let access = |a: &String| Access {
        read: a.contains('r').then(|| span_of("read")),
        write: a.contains('w').then(|| span_of("write")),
        reads_first: a.starts_with('r'),
    };
    let entries = kernel.launches.iter().map(|list| EntrySummary {
        kind: EntryKind::Launch,
        name: None,
        span: span_of("func.func"),
        accesses: list.iter().map(access).collect(),
        herds: Vec::new(),
        calls: Vec::new(),
        channels: Vec::new(),
        first_async: None,
        unawaited: None,
        traffic: Default::default(),
    });
    let function = FunctionSummary {
        name: kernel.func.to_string(),
        span: span_of(&format!("@{}", kernel.func)),
        args: args.collect(),
        result_count: 0,
        entries: entries.collect(),
    };
    KernelSummary {
        file,
        hash: String::new(),
        module_name: None,
        functions: vec![function],
        externs: Vec::new(),
        locals: Vec::new(),
        channels: Vec::new(),
        nested_modules: Vec::new(),
    }
}

/// Reads and resolves `text` below a head with the kernels given.
pub fn resolve(text: &str, kernels: &[Kernel]) -> (Option<LaunchGraph>, Findings) {
    resolve_with(text, kernels, |_| {})
}

/// Like [`resolve`], with a last word on the summaries.
pub fn resolve_with(
    text: &str,
    kernels: &[Kernel],
    change: impl FnOnce(&mut IndexMap<String, KernelSummary>),
) -> (Option<LaunchGraph>, Findings) {
    let mut findings = Findings::default();
    let file = findings.sources.add("graph.toml", format!("[graph]\nname = \"g\"\n{text}"));
    let mut summaries = kernels.iter().map(|k| (k.path.to_string(), summary(k, &mut findings))).collect();
    change(&mut summaries);
    let graph =
        airlink_graph::read(file, &mut findings).and_then(|g| airlink_graph::resolve(g, &summaries, &mut findings));
    (graph.ok(), findings)
}

/// `[[launch]]` in one line.
pub fn launch(name: &str, kernel: &str, args: &[&str]) -> String {
    format!("[[launch]]\nname = \"{name}\"\nkernel = \"{kernel}\"\nargs = {args:?}\n")
}

/// The folder of the shared corpus; none where it is absent, unless it is required.
pub fn corpus() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    if path.is_dir() {
        return Some(path);
    }
    assert!(std::env::var_os("AIRLINK_REQUIRE_SHARED").is_none(), "{} is absent", path.display());
    println!("skipped: {} is absent", path.display());
    None
}
