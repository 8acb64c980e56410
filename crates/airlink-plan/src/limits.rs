//! What each ELF takes of the device, and what it takes too much of.

use std::collections::BTreeMap;

use airlink_device::{Device, Profile};
use airlink_diag::{Finding, Findings, Severity};
use airlink_graph::{ElfEntry, LaunchGraph, LaunchIdx, PingPong};
use airlink_kernel::{EntrySummary, KernelSummary};
use airlink_limits::{CompilerOptions, LaunchUse, ObjectSize, Setup, judge_launch, judge_program};
use indexmap::IndexMap;

use crate::{ElfPlan, ElfResources, LaunchResources, PlanOptions};

/// The device whose limits count; none where nobody names one.
pub(crate) fn device(graph: &LaunchGraph, options: &PlanOptions) -> Option<&'static Device> {
    let named = || graph.device.as_ref().and_then(|d| Device::named(&d.value));
    options.device.or_else(named).or(options.default_device)
}

/// What one judgement depends on: the `[[elf]]` whose options count, the kernel, the function, its entry, the objects.
type Key<'a> = (Option<&'a str>, &'a str, usize, usize, BTreeMap<String, ObjectSize>);

/// The limits of one device for one graph. A kernel that several launches share is judged once, and says its piece once.
pub(crate) struct Limits<'a> {
    graph: &'a LaunchGraph,
    kernels: &'a IndexMap<String, KernelSummary>,
    pub device: &'static Device,
    options: &'a PlanOptions,
    judged: BTreeMap<Key<'a>, LaunchUse>,
}

impl<'a> Limits<'a> {
    pub fn new(
        graph: &'a LaunchGraph,
        kernels: &'a IndexMap<String, KernelSummary>,
        device: &'static Device,
        options: &'a PlanOptions,
    ) -> Limits<'a> {
        Limits { graph, kernels, device, options, judged: BTreeMap::new() }
    }

    pub fn profile(&self) -> &'static Profile {
        self.options.profile.unwrap_or(&Profile::all()[0])
    }

    /// PDI loads of each launch of the graph, as compiled in the ELF that an `[[elf]]` gives it.
    pub fn pdi_loads(&mut self, findings: &mut Findings) -> Vec<u64> {
        let graph = self.graph;
        let mut entry_of: BTreeMap<&str, &ElfEntry> = BTreeMap::new();
        for entry in &graph.cuts {
            entry_of.extend(entry.launches.value.iter().map(|l| (l.value.as_str(), entry)));
        }
        let mut loads = Vec::with_capacity(graph.launches.len());
        for (index, launch) in graph.launches.iter().enumerate() {
            let entry = entry_of.get(launch.name.value.as_str()).copied();
            let device = self.device;
            let uses = self.of_launch(LaunchIdx(index), entry, findings);
            loads.push(uses.iter().map(|(used, _)| used.pdi_loads(device)).sum());
        }
        loads
    }

    /// What each entry of a launch takes; findings when it is judged for the first time.
    fn of_launch(
        &mut self,
        index: LaunchIdx,
        entry: Option<&'a ElfEntry>,
        findings: &mut Findings,
    ) -> Vec<(LaunchUse, &'a EntrySummary)> {
        let (graph, kernels) = (self.graph, self.kernels);
        let launch = graph.launch(index);
        let function = kernels.get(&launch.kernel.value).and_then(|k| k.functions.get(launch.function));
        let entries = function.map_or(&[][..], |f| &f.entries);
        let from = self.options.object_sizes.range((index, String::new())..);
        let own = from.take_while(|((launch, _), _)| *launch == index);
        let objects: BTreeMap<String, ObjectSize> = own.map(|((_, name), size)| (name.clone(), *size)).collect();
        let mut list = Vec::with_capacity(entries.len());
        for (i, summary) in entries.iter().enumerate() {
            let name = match entries.len() {
                1 => launch.name.value.clone(),
                _ => format!("{}.{}", launch.name.value, i + 1),
            };
            let options_of = entry.map(|e| e.name.value.as_str());
            let key = (options_of, launch.kernel.value.as_str(), launch.function, i, objects.clone());
            let used = match self.judged.get(&key) {
                Some(used) => used.clone(),
                None => {
                    let setup = Setup { objects: objects.clone(), ..self.setup(entry) };
                    let used = judge_launch(&name, &summary.traffic, &setup);
                    used.findings.iter().for_each(|f| push(f.clone(), self.options, findings));
                    self.judged.insert(key, used.clone());
                    used
                }
            };
            list.push((LaunchUse { name, findings: Vec::new(), ..used }, summary));
        }
        list
    }

    /// Judges every ELF and gives it its resources.
    pub fn judge(&mut self, elfs: &mut [ElfPlan], findings: &mut Findings) {
        for elf in elfs {
            let entry = self.graph.cuts.iter().find(|c| c.name.value == elf.name);
            let setup = self.setup(entry);
            let mut launches = Vec::new();
            for plan in &elf.launches {
                let uses = self.of_launch(plan.launch, entry, findings);
                launches.extend(uses.into_iter().map(|(used, summary)| (used, &summary.traffic)));
            }
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

fn push(mut finding: Finding, options: &PlanOptions, findings: &mut Findings) {
    if options.limits_only_warn {
        finding.severity = match finding.severity {
            Severity::Error => Severity::Warning,
            Severity::Warning | Severity::Note => Severity::Note,
        };
    }
    findings.push(finding);
}
