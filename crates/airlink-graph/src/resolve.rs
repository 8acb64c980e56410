//! [`GraphFile`] and kernel summaries to [`LaunchGraph`]: names bound, types checked, views placed.

mod hazards;
mod kernel;
mod partition;
mod types;
mod views;

pub use kernel::kernel_functions;

use airlink_diag::{Finding, Findings, Reported, Severity, Span, codes};
use airlink_kernel::{FunctionSummary, KernelSummary, KernelType};
use indexmap::{IndexMap, IndexSet};

use crate::words::count_of;
use crate::{
    Buffer, BufferEntry, BufferIdx, ByteRange, GraphFile, HostEntry, HostIdx, HostOperand, HostStep, Launch,
    LaunchEntry, LaunchGraph, LaunchIdx, Operand, Placed, Step, StepEntry, View, ViewEntry, ViewIdx,
};

/// Binds every name of `graph` and checks it against the kernels, keyed by their paths as the graph spells them.
///
/// Errors: AL0203 to AL0211 about wiring and kernels; AL0509 about partitions; AL0109 for a type that is none. Warnings:
/// AL0212, AL0219, AL0220, AL0228.
pub fn resolve(
    mut graph: GraphFile,
    kernels: &IndexMap<String, KernelSummary>,
    findings: &mut Findings,
) -> Result<LaunchGraph, Reported> {
    let errors_before = findings.count(Severity::Error);
    let padded = partition::expand(&mut graph, kernels, findings);
    let functions = kernel::pick(&graph, kernels, findings);
    let mut resolver = Resolver { findings, buffers: IndexMap::new(), views: IndexMap::new(), used: IndexSet::new() };
    resolver.declare(&graph.buffers, &padded);
    resolver.use_directly(&graph, &functions);
    resolver.place_views(&graph.views);
    let (mut launches, mut hosts, mut steps) = (Vec::new(), Vec::new(), Vec::new());
    let mut functions = functions.into_iter();
    for step in graph.steps {
        match step {
            StepEntry::Launch(entry) => {
                let function = functions.next().flatten();
                if let Some(launch) = function.and_then(|f| resolver.launch(*entry, f)) {
                    steps.push(Step::Launch(LaunchIdx(launches.len())));
                    launches.push(launch);
                }
            }
            StepEntry::Host(entry) => {
                if let Some(host) = resolver.host(entry) {
                    steps.push(Step::Host(HostIdx(hosts.len())));
                    hosts.push(host);
                }
            }
        }
    }
    let Resolver { buffers, views, used, .. } = resolver;
    let GraphFile { file, name, device, compiler, refs, elfs: cuts, .. } = graph;
    let graph = LaunchGraph {
        file,
        name,
        device,
        compiler,
        refs,
        buffers,
        views,
        steps,
        launches,
        hosts,
        cuts,
        moves: Vec::new(),
    };
    if findings.count(Severity::Error) > errors_before {
        findings.check()?;
    }
    // Behind the errors: what a broken line uses would seem unused.
    hazards::report_unused(&graph, &used, findings);
    hazards::report_order(&graph, findings);
    hazards::report_in_place(&graph, findings);
    hazards::report_unfed(&graph, findings);
    Ok(graph)
}

/// A launch's kernel function and its position in the summary.
type Picked<'k> = (usize, &'k FunctionSummary);

struct Resolver<'f> {
    findings: &'f mut Findings,
    buffers: IndexMap<String, Buffer>,
    views: IndexMap<String, View>,
    /// Names of buffers and views that a step uses.
    used: IndexSet<String>,
}

impl Resolver<'_> {
    fn declare(&mut self, entries: &[BufferEntry], padded: &partition::Padded) {
        for entry in entries {
            let ty = entry.ty.as_ref().and_then(|t| types::parse(t, self.findings));
            self.buffers.insert(
                entry.name.value.clone(),
                Buffer {
                    name: entry.name.value.clone(),
                    span: entry.name.span,
                    is_declared: true,
                    ty,
                    ty_span: entry.ty.as_ref().map(|t| t.span),
                    declared_role: entry.role.clone(),
                    padded_from: padded.get(&entry.name.value).cloned(),
                },
            );
        }
    }

    /// Declares every buffer that a step names, and types it by its first use in a launch.
    fn use_directly(&mut self, graph: &GraphFile, functions: &[Option<Picked>]) {
        let views: IndexSet<&str> = graph.views.iter().map(|v| v.name.value.as_str()).collect();
        let mut functions = functions.iter();
        for step in &graph.steps {
            match step {
                StepEntry::Launch(entry) => {
                    let args = functions.next().copied().flatten().map(|(_, f)| &f.args[..]).unwrap_or_default();
                    for (i, name) in
                        entry.args.value.iter().enumerate().filter(|(_, n)| !views.contains(n.value.as_str()))
                    {
                        // A wrong count leaves open which argument is meant.
                        let arg = args.get(i).filter(|_| args.len() == entry.args.value.len());
                        self.use_buffer(name, arg.map(|a| (types::normal(&a.ty), a.span)));
                    }
                }
                StepEntry::Host(entry) => {
                    for name in entry.reads.iter().chain(&entry.writes).filter(|n| !views.contains(n.value.as_str())) {
                        self.use_buffer(name, None);
                    }
                }
            }
        }
    }

    fn use_buffer(&mut self, name: &Placed<String>, ty: Option<(KernelType, Span)>) {
        let buffer = self.buffers.entry(name.value.clone()).or_insert_with(|| Buffer {
            name: name.value.clone(),
            span: name.span,
            is_declared: false,
            ty: None,
            ty_span: None,
            declared_role: None,
            padded_from: None,
        });
        if let (None, Some((ty, span))) = (&buffer.ty_span, ty) {
            buffer.ty = Some(ty);
            buffer.ty_span = Some(span);
            if !buffer.is_declared {
                buffer.span = name.span;
            }
        }
    }

    fn place_views(&mut self, entries: &[ViewEntry]) {
        for entry in entries {
            if let Some(view) = views::place(entry, &self.buffers, entries, self.findings) {
                self.views.insert(view.name.clone(), view);
            }
        }
    }

    fn launch(&mut self, entry: LaunchEntry, (function, summary): Picked) -> Option<Launch> {
        self.used.extend(entry.args.value.iter().map(|a| a.value.clone()));
        if entry.args.value.len() != summary.args.len() {
            self.wrong_count(&entry, summary);
            return None;
        }
        let operands: Vec<_> = (0..summary.args.len()).map(|i| self.operand(&entry, i, summary)).collect();
        Some(Launch {
            operands: operands.into_iter().collect::<Option<_>>()?,
            function,
            function_name: summary.name.clone(),
            entry_count: summary.entries.len(),
            unawaited: summary.entries.iter().find_map(|e| e.unawaited),
            name: entry.name,
            kernel: entry.kernel,
            block: entry.block,
            objects: entry.objects,
            refs: entry.refs,
            k_split: entry.k_split,
            row_split: entry.row_split,
            n_split: entry.n_split,
            fuse: entry.fuse,
            elf: entry.elf,
            pdi: entry.pdi,
        })
    }

    fn operand(&mut self, entry: &LaunchEntry, index: usize, summary: &FunctionSummary) -> Option<Operand> {
        let (name, arg) = (&entry.args.value[index], &summary.args[index]);
        let ty = types::normal(&arg.ty);
        let target = self.target(name)?;
        let (known, known_span) = match target.view {
            Some(view) => (Some(&self.views[view.0].ty), Some(self.views[view.0].ty_span)),
            None => (self.buffers[target.buffer.0].ty.as_ref(), self.buffers[target.buffer.0].ty_span),
        };
        // No type at this point: its text was no type, which is reported.
        let known = known?;
        if *known != ty {
            let owner = if target.view.is_some() { "view" } else { "buffer" };
            let finding = types::disagree(entry, index, &ty, arg.span, (owner, known, known_span?, summary));
            let inferred = target.view.is_none() && !self.buffers[target.buffer.0].is_declared;
            let first_use = inferred.then(|| self.buffers[target.buffer.0].span);
            self.findings.push(finding.maybe_also(first_use, "used here first"));
            return None;
        }
        let accesses = summary.entries.iter().map(|e| e.accesses.get(index).copied().unwrap_or_default()).collect();
        Some(Operand { span: name.span, buffer: target.buffer, view: target.view, ty, range: target.range, accesses })
    }

    fn wrong_count(&mut self, entry: &LaunchEntry, summary: &FunctionSummary) {
        let (given, taken) = (entry.args.value.len(), summary.args.len());
        let is_used =
            |index: &usize| summary.entries.iter().any(|e| e.accesses.get(*index).is_some_and(|a| !a.is_none()));
        let remedy = if given > taken {
            format!("remove {} from `args`", count_of((given - taken) as u64, "name"))
        } else if (0..taken).filter(is_used).count() == given {
            let unused: Vec<String> = (0..taken).filter(|i| !is_used(i)).map(|i| i.to_string()).collect();
            format!(
                "name a buffer for unused arguments too ({}), or remove them from `@{}`",
                unused.join(", "),
                summary.name
            )
        } else {
            let rest: Vec<String> = summary.args[given..].iter().map(|a| a.ty.to_string()).collect();
            format!("name a buffer for each argument; the rest are {}", rest.join(", "))
        };
        let extra = entry.args.value.get(taken).map_or(entry.args.span, |a| a.span);
        self.findings.push(
            Finding::error(
                codes::AL0203,
                format!(
                    "launch `{}` gives {}, `@{}` takes {taken}",
                    entry.name.value,
                    count_of(given as u64, "argument"),
                    summary.name
                ),
            )
            .at(extra, format!("{given} given"))
            .also(summary.span, format!("takes {}", count_of(taken as u64, "argument")))
            .found(count_of(given as u64, "argument"))
            .allowed(taken.to_string())
            .remedy(remedy),
        );
    }

    fn host(&mut self, entry: HostEntry) -> Option<HostStep> {
        self.used.extend(entry.reads.iter().chain(&entry.writes).map(|n| n.value.clone()));
        let reads = entry.reads.iter().map(|n| self.target(n)).collect::<Option<_>>();
        let writes = entry.writes.iter().map(|n| self.target(n)).collect::<Option<_>>();
        Some(HostStep { name: entry.name, reads: reads?, writes: writes?, block: entry.block })
    }

    /// What a name stands for; none for a view that could not be placed, which is reported.
    fn target(&self, name: &Placed<String>) -> Option<HostOperand> {
        let span = name.span;
        if let Some((index, _, view)) = self.views.get_full(&name.value) {
            return Some(HostOperand { span, buffer: view.of, view: Some(ViewIdx(index)), range: view.range });
        }
        let (index, _, buffer) = self.buffers.get_full(&name.value)?;
        let range = buffer.ty.as_ref().map_or(ByteRange::ALL, types::byte_range);
        Some(HostOperand { span, buffer: BufferIdx(index), view: None, range })
    }
}
