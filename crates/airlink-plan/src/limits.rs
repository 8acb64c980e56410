//! What each ELF takes of the device, and what it takes too much of.

use std::borrow::Cow;
use std::collections::BTreeMap;

use airlink_device::{Device, Profile};
use airlink_diag::{Code, Finding, Findings, Severity, Span};
use airlink_graph::{ElfEntry, Launch, LaunchGraph, LaunchIdx, NSplit, PingPong};
use airlink_kernel::{KernelSummary, Traffic};
use airlink_limits::{CompilerOptions, LaunchUse, ObjectSize, Setup, advise, judge_launch, judge_program};
use indexmap::IndexMap;

use crate::{ElfPlan, ElfResources, LaunchResources, NSplitPlan, PlanOptions, RowSplitPlan, columns, rows};

/// The device whose limits count; none where nobody names one.
pub(crate) fn device(graph: &LaunchGraph, options: &PlanOptions) -> Option<&'static Device> {
    let named = || graph.device.as_ref().and_then(|d| Device::named(&d.value));
    options.device.or_else(named).or(options.default_device)
}

/// What one judgement holds for: the `[[elf]]` whose options count, the kernel, its function, the launch op, the range of
/// its grid, the factor of its columns, and its objects.
type Key<'a> = (Option<&'a str>, &'a str, usize, usize, Option<(u64, u64)>, u64, BTreeMap<String, ObjectSize>);

/// The limits of one device for one graph. A kernel that several launches share is judged once, and says its piece once.
pub(crate) struct Limits<'a> {
    graph: &'a LaunchGraph,
    kernels: &'a IndexMap<String, KernelSummary>,
    pub device: &'static Device,
    options: &'a PlanOptions,
    /// By launch: the `[[elf]]` that lists it.
    entries: Vec<Option<&'a ElfEntry>>,
    /// By launch; empty before launches are split.
    n_splits: Vec<Vec<NSplitPlan>>,
    row_splits: Vec<Vec<RowSplitPlan>>,
    judged: BTreeMap<Key<'a>, LaunchUse>,
}

impl<'a> Limits<'a> {
    pub fn new(
        graph: &'a LaunchGraph,
        kernels: &'a IndexMap<String, KernelSummary>,
        device: &'static Device,
        options: &'a PlanOptions,
    ) -> Limits<'a> {
        let mut by_name: BTreeMap<&str, &ElfEntry> = BTreeMap::new();
        for entry in &graph.cuts {
            by_name.extend(entry.launches.value.iter().map(|l| (l.value.as_str(), entry)));
        }
        let entries = graph.launches.iter().map(|l| by_name.get(l.name.value.as_str()).copied()).collect();
        Limits {
            graph,
            kernels,
            device,
            options,
            entries,
            n_splits: Vec::new(),
            row_splits: Vec::new(),
            judged: BTreeMap::new(),
        }
    }

    pub fn profile(&self) -> &'static Profile {
        self.options.profile.unwrap_or(&Profile::all()[0])
    }

    /// The compiler's options and the objects that count for a launch.
    pub fn setup_of(&self, index: LaunchIdx) -> Setup {
        let objects = object_sizes(index, self.options);
        Setup { objects, ..self.setup(self.entries[index.0]) }
    }

    /// Whether the same options and objects count for two launches.
    pub fn are_alike(&self, a: LaunchIdx, b: LaunchIdx) -> bool {
        let (a, b) = (self.setup_of(a), self.setup_of(b));
        a.options == b.options && a.objects == b.objects
    }

    /// From here on launches are judged as they are split, piece by piece.
    pub fn split(&mut self, n_splits: &[Vec<NSplitPlan>], row_splits: &[Vec<RowSplitPlan>]) {
        self.n_splits = n_splits.to_vec();
        self.row_splits = row_splits.to_vec();
    }

    /// PDI loads of each launch of the graph, as compiled in the ELF that an `[[elf]]` gives it.
    pub fn pdi_loads(&mut self, findings: &mut Findings) -> Vec<u64> {
        let (graph, device) = (self.graph, self.device);
        let of = |index| {
            let uses = self.of_launch(LaunchIdx(index), findings);
            uses.iter().map(|(used, _)| used.pdi_loads(device)).sum()
        };
        (0..graph.launches.len()).map(of).collect()
    }

    /// What each launch op takes, or each piece of one that is cut; findings when it is judged for the first time.
    fn of_launch(&mut self, index: LaunchIdx, findings: &mut Findings) -> Vec<(LaunchUse, Cow<'a, Traffic>)> {
        let (graph, kernels, options) = (self.graph, self.kernels, self.options);
        let launch = graph.launch(index);
        let function = kernels.get(&launch.kernel.value).and_then(|k| k.functions.get(launch.function));
        let entries = function.map_or(&[][..], |f| &f.entries);
        let setup = self.setup_of(index);
        let options_of = self.entries[index.0].map(|e| e.name.value.as_str());
        let mut list = Vec::with_capacity(entries.len());
        for (i, summary) in entries.iter().enumerate() {
            let name = match entries.len() {
                1 => launch.name.value.clone(),
                _ => format!("{}.{}", launch.name.value, i + 1),
            };
            let split = self.row_splits.get(index.0).and_then(|s| s.iter().find(|s| s.entry == i));
            let wide = self.n_splits.get(index.0).and_then(|s| s.iter().find(|s| s.entry == i));
            let factor = wide.map_or(1, |s| s.factor);
            let traffic = columns::wide_traffic(&summary.traffic, wide);
            let pieces = rows::traffic_of_pieces(traffic, split);
            let suffixes = split.map_or(vec![String::new()], RowSplitPlan::suffixes);
            // What is wrong with one piece is wrong with the others, at the same place.
            let mut said: Vec<(Code, Option<Span>)> = Vec::new();
            for ((range, traffic), suffix) in pieces.into_iter().zip(suffixes) {
                let name = format!("{name}{suffix}");
                let kernel = launch.kernel.value.as_str();
                let key = (options_of, kernel, launch.function, i, range, factor, setup.objects.clone());
                let used = match self.judged.get(&key) {
                    Some(used) => used.clone(),
                    None => {
                        let used = judge_launch(&name, &traffic, &setup);
                        let is_new = |f: &&Finding| !said.contains(&(f.code, f.primary_span()));
                        used.findings.iter().filter(is_new).for_each(|f| push(f.clone(), options, findings));
                        let is_off = options.has_no_n_split || n_split_of(launch) == NSplit::Off;
                        let may_advise = is_off && range.is_none() && options.wants_advice;
                        if may_advise && rows::point_loop(launch, summary).is_ok() {
                            advise(&used, &traffic, &setup).into_iter().for_each(|f| findings.push(f));
                        }
                        self.judged.insert(key, used.clone());
                        used
                    }
                };
                said.extend(used.findings.iter().map(|f| (f.code, f.primary_span())));
                list.push((LaunchUse { name, findings: Vec::new(), ..used }, traffic));
            }
        }
        list
    }

    /// Judges every ELF and gives it its resources.
    pub fn judge(&mut self, elfs: &mut [ElfPlan], findings: &mut Findings) {
        for elf in elfs {
            let entry = self.graph.cuts.iter().find(|c| c.name.value == elf.name);
            let setup = self.setup(entry);
            let mut own = Vec::new();
            for plan in &elf.launches {
                own.extend(self.of_launch(plan.launch, findings));
            }
            let launches: Vec<(LaunchUse, &Traffic)> = own.iter().map(|(l, t)| (l.clone(), t.as_ref())).collect();
            let place = entry.map_or(self.graph.name.span, |c| c.name.span);
            let program = judge_program(&elf.name, &launches, elf.args.len(), Some(place), &setup);
            program.findings.iter().for_each(|f| push(f.clone(), self.options, findings));
            elf.resources = Some(ElfResources {
                device: self.device.name.to_string(),
                toolchain: setup.profile.name.to_string(),
                launches: launches
                    .into_iter()
                    .map(|(l, _)| LaunchResources { name: l.name, resources: l.resources })
                    .collect(),
                program: airlink_limits::ProgramUse { findings: Vec::new(), ..program },
            });
        }
    }

    /// `[elf.compiler]` over `[graph.compiler]`, and the command line over both.
    fn setup(&self, entry: Option<&ElfEntry>) -> Setup {
        let (graph, options) = (self.graph, self.options);
        let given = entry.map_or(graph.compiler.clone(), |c| c.compiler.over(&graph.compiler));
        let ping_pong = match options.has_no_ping_pong {
            true => PingPong::Off,
            false => given.ping_pong.map_or(PingPong::On, |p| p.value),
        };
        let tiling = options.runtime_tiling.clone().or(given.runtime_tiling.map(|t| t.value));
        Setup {
            profile: *self.profile(),
            options: CompilerOptions {
                has_l1_ping_pong: matches!(ping_pong, PingPong::On | PingPong::L1),
                has_l2_ping_pong: matches!(ping_pong, PingPong::On | PingPong::L2),
                runtime_tiling: tiling.unwrap_or_default(),
                stack_bytes: options.stack_bytes.or(given.stack_bytes.map(|s| s.value)),
                has_lock_fix: given.lock_fix.is_some_and(|f| f.value),
            },
            ..Setup::new(*self.device)
        }
    }
}

fn n_split_of(launch: &Launch) -> NSplit {
    launch.n_split.as_ref().map_or(NSplit::Auto, |n| n.value)
}

/// Sizes of a launch's kernel objects, by the name under which herds link with them.
fn object_sizes(launch: LaunchIdx, options: &PlanOptions) -> BTreeMap<String, ObjectSize> {
    let from = options.object_sizes.range((launch, String::new())..);
    let own = from.take_while(|((l, _), _)| *l == launch);
    own.map(|((_, name), size)| (name.clone(), *size)).collect()
}

fn push(mut finding: Finding, options: &PlanOptions, findings: &mut Findings) {
    if options.limits_only_warn {
        finding.severity = match finding.severity {
            Severity::Error => Severity::Warning,
            Severity::Warning | Severity::Note => Severity::Note,
        };
    }
    findings.push(finding);
}
