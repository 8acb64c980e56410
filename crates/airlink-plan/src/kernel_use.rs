//! What one kernel function needs of the plan, worked out once however many launches run it.

use airlink_diag::{Finding, Findings, Reported, codes};
use airlink_graph::{LaunchGraph, LaunchIdx};
use airlink_kernel::{
    CallSummary, ExternSummary, FunctionSummary, HerdSummary, KernelSummary, KernelType, LocalKind, LocalName,
};
use indexmap::{IndexMap, IndexSet};

/// One function of one kernel.
pub(crate) struct KernelUse<'k> {
    pub summary: &'k KernelSummary,
    pub function: &'k FunctionSummary,
    /// In text order.
    pub externs: Vec<UsedExtern<'k>>,
    /// Files that herds of the function name, each once.
    pub herd_files: IndexSet<&'k str>,
    /// Names to replace: neither the kernel function nor a dropped one.
    pub locals: Vec<&'k LocalName>,
    /// Other functions that hold launches.
    pub dropped_functions: Vec<&'k str>,
    /// The first launch that runs it.
    pub first_launch: LaunchIdx,
}

/// A declared extern with the file that it links with.
pub(crate) struct UsedExtern<'k> {
    pub declaration: &'k ExternSummary,
    /// The declaration's file, else that of the herds which call it.
    pub link_with: Option<&'k str>,
    pub is_called: bool,
    /// Number of its type, in the order of their appearance: equal types have equal numbers.
    pub signature: u32,
}

/// The kernel functions of a graph, and which of them each launch runs.
pub(crate) struct KernelUses<'k> {
    pub list: Vec<KernelUse<'k>>,
    /// Per launch: position in `list`.
    of_launch: Vec<usize>,
}

impl<'k> KernelUses<'k> {
    /// Errors: AL0402 where herds disagree about the file of an extern, AL0408 where a herd and a declaration do; AL0901 for a launch without its summary.
    pub fn new(
        graph: &'k LaunchGraph,
        kernels: &'k IndexMap<String, KernelSummary>,
        findings: &mut Findings,
    ) -> Result<KernelUses<'k>, Reported> {
        let mut positions: IndexMap<(&str, usize), usize> = IndexMap::new();
        let mut uses = KernelUses { list: Vec::new(), of_launch: Vec::with_capacity(graph.launches.len()) };
        let mut signatures = IndexSet::new();
        let mut failure = None;
        for (i, launch) in graph.launches.iter().enumerate() {
            let key = (launch.kernel.value.as_str(), launch.function);
            let position = match positions.get(&key) {
                Some(p) => *p,
                None => {
                    let summary = kernels.get(key.0).filter(|k| key.1 < k.functions.len());
                    let Some(summary) = summary else {
                        return Err(findings.fail(
                            Finding::error(codes::AL0901, format!("kernel `{}` was not summarised", key.0))
                                .at(launch.kernel.span, "of this launch"),
                        ));
                    };
                    let mut one = KernelUse::new(summary, key.1, LaunchIdx(i));
                    one.bind_externs(&mut signatures, &mut |f| failure = Some(findings.fail(f)));
                    one.herds_agree(&mut |f| failure = Some(findings.fail(f)));
                    uses.list.push(one);
                    positions.insert(key, uses.list.len() - 1);
                    uses.list.len() - 1
                }
            };
            uses.of_launch.push(position);
        }
        failure.map_or(Ok(uses), Err)
    }

    pub fn of(&self, launch: LaunchIdx) -> &KernelUse<'k> {
        &self.list[self.of_launch[launch.0]]
    }

    /// Position of a launch's kernel function in `list`.
    pub fn position(&self, launch: LaunchIdx) -> usize {
        self.of_launch[launch.0]
    }
}

impl<'k> KernelUse<'k> {
    fn new(summary: &'k KernelSummary, function: usize, first_launch: LaunchIdx) -> KernelUse<'k> {
        let others = summary.functions.iter().enumerate().filter(|(i, _)| *i != function).map(|(_, f)| f);
        let dropped: IndexSet<&str> = others.filter(|f| !f.entries.is_empty()).map(|f| f.name.as_str()).collect();
        let function = &summary.functions[function];
        let is_kept = |l: &&LocalName| {
            l.kind != LocalKind::Function || (l.name != function.name && !dropped.contains(l.name.as_str()))
        };
        KernelUse {
            summary,
            function,
            externs: Vec::new(),
            herd_files: function.entries.iter().flat_map(|e| &e.herds).filter_map(|h| h.link_with.as_deref()).collect(),
            locals: summary.locals.iter().filter(is_kept).collect(),
            dropped_functions: dropped.into_iter().collect(),
            first_launch,
        }
    }

    /// Finds the file of each extern, and whether it is called. Functions that the kernel may call can call any extern.
    fn bind_externs(&mut self, signatures: &mut IndexSet<SignatureKey<'k>>, fail: &mut dyn FnMut(Finding)) {
        let has_callees = self.locals.iter().any(|l| l.kind == LocalKind::Function);
        let called = self.called(fail);
        for declaration in &self.summary.externs {
            let call = called.get(declaration.symbol.as_str());
            let only_file = self.herd_files.first().copied().filter(|_| has_callees && self.herd_files.len() == 1);
            let link_with = declaration.link_with.as_deref().or(match call {
                Some(c) => c.link_with.as_deref(),
                None => only_file,
            });
            let (signature, _) = signatures.insert_full((&declaration.inputs[..], &declaration.results[..]));
            self.externs.push(UsedExtern {
                declaration,
                link_with,
                is_called: call.is_some() || has_callees,
                signature: signature as u32,
            });
        }
    }

    /// A herd whose calls all go to one object by their declarations links with that object, if with any.
    fn herds_agree(&self, fail: &mut dyn FnMut(Finding)) {
        for entry in &self.function.entries {
            for (position, herd) in entry.herds.iter().enumerate() {
                let Some(file) = &herd.link_with else { continue };
                let calls = entry.calls.iter().filter(|c| c.herd == Some(position));
                let declared: Vec<_> = calls
                    .filter_map(|c| Some((c, self.summary.externs.iter().find(|e| e.symbol == c.symbol)?)))
                    .collect();
                let files: IndexSet<_> = declared.iter().map(|(_, e)| e.link_with.as_ref()).collect();
                let ([Some(own)], Some((call, declaration))) =
                    (&files.iter().copied().collect::<Vec<_>>()[..], declared.first())
                else {
                    continue;
                };
                if *own != file {
                    fail(other_object(herd, file, call, declaration, own));
                }
            }
        }
    }

    /// The externs that the entries call, each with a call that names its file, if one does.
    fn called(&self, fail: &mut dyn FnMut(Finding)) -> IndexMap<&'k str, &'k CallSummary> {
        let mut called: IndexMap<&str, &CallSummary> = IndexMap::new();
        let function = self.function;
        for call in function.entries.iter().flat_map(|e| &e.calls) {
            let first = called.entry(&call.symbol).or_insert(call);
            match (&first.link_with, &call.link_with) {
                (None, Some(_)) => *first = call,
                (Some(one), Some(other)) if one != other => fail(
                    Finding::error(codes::AL0402, format!("two herds link `@{}` with different objects", call.symbol))
                        .at(call.span, format!("linked with `{other}` here"))
                        .also(first.span, format!("linked with `{one}` here"))
                        .remedy("declare it twice, under two names and each with its `link_with`"),
                ),
                _ => {}
            }
        }
        called
    }
}

fn other_object(herd: &HerdSummary, file: &str, call: &CallSummary, declaration: &ExternSummary, own: &str) -> Finding {
    let headline = format!("a herd links with `{file}`, and what it calls, `@{}`, with `{own}`", call.symbol);
    Finding::error(codes::AL0408, headline)
        .at(declaration.span, format!("declared with `{own}`"))
        .also(herd.span, format!("links with `{file}`"))
        .also(call.span, "called here")
        .remedy("write the same `link_with` in both, or only in the declaration")
}

/// What makes two extern types equal.
type SignatureKey<'k> = (&'k [KernelType], &'k [KernelType]);
