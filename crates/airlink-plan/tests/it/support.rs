//! Graphs to plan: TOML text, and kernels by a few words each.

use airlink_diag::{Findings, Span, render};
use airlink_graph::{LaunchGraph, LaunchIdx};
use airlink_kernel::{
    Access, ArgSummary, CallSummary, EntryKind, EntrySummary, ExternSummary, FunctionSummary, HerdSummary,
    KernelSummary, KernelType, LocalKind, LocalName, Traffic,
};
use airlink_plan::{FoundObjects, ObjectInfo, Plan, PlanOptions, plan};
use indexmap::IndexMap;

pub const VEC: &str = "memref<16xf32>";

/// A kernel module with one function `@k`.
#[derive(Clone, Debug)]
pub struct Kernel {
    path: String,
    args: Vec<(String, String)>,
    kinds: Vec<EntryKind>,
    externs: Vec<Extern>,
    herd_link: Option<String>,
    locals: Vec<LocalName>,
    other_functions: Vec<(String, bool)>,
    second_link: Option<String>,
    traffic: Traffic,
}

#[derive(Clone, Debug)]
struct Extern {
    symbol: String,
    inputs: Vec<String>,
    link_with: Option<String>,
    attributes: Vec<(String, String)>,
    is_called: bool,
}

/// A kernel with arguments as `memref<16xf32> r` and one `air.launch`.
pub fn kernel(path: &str, args: &[&str]) -> Kernel {
    let arg = |a: &&str| {
        let (ty, access) = a.rsplit_once(' ').expect("a type and an access");
        (ty.to_string(), access.to_string())
    };
    Kernel {
        path: path.to_string(),
        args: args.iter().map(arg).collect(),
        kinds: vec![EntryKind::Launch],
        externs: Vec::new(),
        herd_link: None,
        locals: vec![LocalName { kind: LocalKind::Function, name: "k".into() }],
        other_functions: Vec::new(),
        second_link: None,
        traffic: Traffic::default(),
    }
}

/// One 16-element vector in, one out.
pub fn copy(path: &str) -> Kernel {
    kernel(path, &["memref<16xf32> r", "memref<16xf32> w"])
}

/// y[m] = a[m, k] x[k] with the externs of `mv.o`, as tiles of `rows` by k and `tile_m` results.
pub fn gemv(path: &str, m: u64, k: u64, rows: u64, tile_m: u64) -> Kernel {
    let args = [format!("memref<{m}x{k}xbf16> r"), format!("memref<{k}xbf16> r"), format!("memref<{m}xbf16> w")];
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mv = [
        "i32",
        &format!("memref<{rows}x{k}xbf16, 2 : i32>"),
        &format!("memref<{k}xbf16, 2 : i32>"),
        &format!("memref<{tile_m}xbf16, 2 : i32>"),
    ];
    kernel(path, &args)
        .calls("fill", &[&format!("memref<{tile_m}xbf16, 2 : i32>")], Some("mv.o"))
        .calls("mv", &mv, Some("mv.o"))
        .local(LocalKind::Segment, "seg")
        .local(LocalKind::Herd, "herd")
}

impl Kernel {
    pub fn calls(self, symbol: &str, inputs: &[&str], link_with: Option<&str>) -> Kernel {
        self.declares(symbol, inputs, link_with, true)
    }

    pub fn only_declares(self, symbol: &str, inputs: &[&str], link_with: Option<&str>) -> Kernel {
        self.declares(symbol, inputs, link_with, false)
    }

    fn declares(mut self, symbol: &str, inputs: &[&str], link_with: Option<&str>, is_called: bool) -> Kernel {
        self.externs.push(Extern {
            symbol: symbol.to_string(),
            inputs: inputs.iter().map(|t| t.to_string()).collect(),
            link_with: link_with.map(String::from),
            attributes: Vec::new(),
            is_called,
        });
        self
    }

    /// An attribute of the extern declared last.
    pub fn attribute(mut self, name: &str, value: &str) -> Kernel {
        self.externs.last_mut().unwrap().attributes.push((name.into(), value.into()));
        self
    }

    /// The `link_with` of its one herd.
    pub fn herd_link(mut self, file: &str) -> Kernel {
        self.herd_link = Some(file.to_string());
        self
    }

    pub fn local(mut self, kind: LocalKind, name: &str) -> Kernel {
        self.locals.push(LocalName { kind, name: name.into() });
        self
    }

    /// A bare herd per `count` instead of the launch.
    pub fn bare(mut self, kind: EntryKind, count: usize) -> Kernel {
        self.kinds = vec![kind; count];
        self
    }

    /// Another public function, which may hold a launch.
    pub fn function(mut self, name: &str, has_launch: bool) -> Kernel {
        self.other_functions.push((name.into(), has_launch));
        self.local(LocalKind::Function, name)
    }

    /// The `link_with` with which the herds of all entries but the first call.
    pub fn second_call_links(mut self, file: &str) -> Kernel {
        self.second_link = Some(file.to_string());
        self
    }

    /// What each of its entries moves.
    pub fn traffic(mut self, traffic: Traffic) -> Kernel {
        self.traffic = traffic;
        self
    }

    pub fn at(mut self, path: &str) -> Kernel {
        self.path = path.to_string();
        self
    }

    /// The summary of such a kernel. Its text is made up so that spans have something to point at.
    fn summary(&self, findings: &mut Findings) -> KernelSummary {
        let mut text: String = self.externs.iter().map(|e| format!("func.func private @{}\n", e.symbol)).collect();
        text.push_str("func.func @k read write herd call\n");
        let file = findings.sources.add(self.path.clone(), text.clone());
        let find = |what: &str| text.find(what).map(|at| Span::new(file, at..at + what.len())).unwrap();
        let parse = |t: &String| KernelType::parse(t).unwrap();
        let access = |a: &String| Access {
            read: a.contains('r').then(|| find("read")),
            write: a.contains('w').then(|| find("write")),
            reads_first: a.starts_with('r'),
        };
        let call = |e: &Extern| CallSummary {
            symbol: e.symbol.clone(),
            span: find("call"),
            link_with: e.link_with.clone().or(self.herd_link.clone()),
            herd: Some(0),
        };
        let entry = |kind: &EntryKind| EntrySummary {
            kind: *kind,
            name: None,
            span: find("herd"),
            accesses: self.args.iter().map(|(_, a)| access(a)).collect(),
            herds: vec![HerdSummary {
                name: None,
                span: find("herd"),
                size: vec![Some(1), Some(1)],
                link_with: self.herd_link.clone(),
            }],
            calls: self.externs.iter().filter(|e| e.is_called).map(call).collect(),
            channels: Vec::new(),
            first_async: None,
            unawaited: None,
            traffic: self.traffic.clone(),
        };
        let function = |name: &str, kinds: &[EntryKind]| FunctionSummary {
            name: name.to_string(),
            span: find("@k"),
            args: self.args.iter().map(|(t, _)| ArgSummary { ty: parse(t), span: find("@k") }).collect(),
            result_count: 0,
            entries: kinds.iter().map(entry).collect(),
        };
        let mut functions = vec![function("k", &self.kinds)];
        if let Some(file) = &self.second_link {
            let later = functions[0].entries.iter_mut().skip(1);
            later.flat_map(|e| &mut e.calls).for_each(|c| c.link_with = Some(file.clone()));
        }
        functions.extend(self.other_functions.iter().map(|(n, has)| function(n, if *has { &self.kinds } else { &[] })));
        let one_extern = |e: &Extern| ExternSummary {
            symbol: e.symbol.clone(),
            span: find(&format!("@{}\n", e.symbol)),
            inputs: e.inputs.iter().map(parse).collect(),
            results: Vec::new(),
            link_with: e.link_with.clone(),
            attributes: e.attributes.iter().cloned().collect(),
        };
        KernelSummary {
            file,
            hash: format!("hash of {}", self.path),
            module_name: None,
            functions,
            externs: self.externs.iter().map(one_extern).collect(),
            locals: self.locals.clone(),
            channels: Vec::new(),
            nested_modules: Vec::new(),
        }
    }
}

/// A graph with its kernels, planned or not.
pub struct Planned {
    pub graph: LaunchGraph,
    pub kernels: IndexMap<String, KernelSummary>,
    pub plan: Option<Plan>,
    pub findings: Findings,
}

/// Plans `text` below a head, where objects are found by launch and `link_with`.
pub fn plan_with(text: &str, kernels: &[Kernel], found: &[(&str, &str, ObjectInfo)]) -> Planned {
    plan_by(text, kernels, found, &PlanOptions::default())
}

/// As [`plan_with`], with options.
pub fn plan_by(text: &str, kernels: &[Kernel], found: &[(&str, &str, ObjectInfo)], options: &PlanOptions) -> Planned {
    let mut findings = Findings::default();
    let file = findings.sources.add("graph.toml", format!("[graph]\nname = \"prog\"\ndevice = \"npu2\"\n{text}"));
    let kernels: IndexMap<_, _> = kernels.iter().map(|k| (k.path.clone(), k.summary(&mut findings))).collect();
    let graph =
        airlink_graph::read(file, &mut findings).and_then(|g| airlink_graph::resolve(g, &kernels, &mut findings));
    let graph = graph.unwrap_or_else(|_| panic!("{:#?}", lines(&findings)));
    let at = |launch: &str| graph.launch_idx(launch).unwrap();
    let found: FoundObjects = found.iter().map(|(l, f, o)| ((at(l), f.to_string()), o.clone())).collect();
    let plan = plan(&graph, &kernels, &found, options, &mut findings).ok();
    Planned { graph, kernels, plan, findings }
}

/// The plan of a graph whose steps may change places.
pub fn reordered(text: &str, kernels: &[Kernel]) -> Plan {
    let Planned { graph, kernels, mut findings, .. } = plan_of(text, kernels);
    let graph = airlink_graph::reorder(graph);
    plan(&graph, &kernels, &FoundObjects::new(), &PlanOptions::default(), &mut findings).expect("it plans")
}

pub fn plan_of(text: &str, kernels: &[Kernel]) -> Planned {
    plan_with(text, kernels, &[])
}

/// The plan of a graph that is free of errors.
pub fn plan_ok(text: &str, kernels: &[Kernel]) -> Plan {
    let planned = plan_of(text, kernels);
    planned.plan.unwrap_or_else(|| panic!("{:#?}", lines(&planned.findings)))
}

/// What is wrong with a graph, one line per error.
pub fn errors(text: &str, kernels: &[Kernel]) -> Vec<String> {
    let planned = plan_of(text, kernels);
    assert!(planned.plan.is_none(), "planned in spite of {:#?}", lines(&planned.findings));
    lines(&planned.findings).into_iter().filter(|l| l.contains(": error[")).collect()
}

/// The findings in file order, one line each.
pub fn lines(findings: &Findings) -> Vec<String> {
    let short = |f| render::short(f, &findings.sources).trim_end().to_string();
    findings.in_file_order().into_iter().map(short).collect()
}

/// An object with this content that defines these symbols.
pub fn object(path: &str, hash: &str, symbols: &[&str]) -> ObjectInfo {
    ObjectInfo { path: path.into(), hash: hash.into(), symbols: symbols.iter().map(|s| s.to_string()).collect() }
}

/// `[[launch]]`.
pub fn launch(name: &str, kernel: &str, args: &[&str]) -> String {
    format!("[[launch]]\nname = \"{name}\"\nkernel = \"{kernel}\"\nargs = {args:?}\n")
}

/// `[[host]]`.
pub fn host(name: &str, reads: &[&str], writes: &[&str]) -> String {
    format!("[[host]]\nname = \"{name}\"\nreads = {reads:?}\nwrites = {writes:?}\n")
}

/// `[[elf]]` without `args`.
pub fn elf(name: &str, launches: &[&str]) -> String {
    format!("[[elf]]\nname = \"{name}\"\nlaunches = {launches:?}\n")
}

/// Names of the launches at these positions.
pub fn names(graph: &LaunchGraph, launches: &[LaunchIdx]) -> Vec<String> {
    launches.iter().map(|l| graph.launch(*l).name.value.clone()).collect()
}
