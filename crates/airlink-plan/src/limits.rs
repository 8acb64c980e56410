//! What each ELF takes of the device, and what it takes too much of.

use std::borrow::Cow;
use std::collections::BTreeMap;

use airlink_device::{Device, Profile};
use airlink_diag::{Code, Finding, Findings, Severity, Span};
use airlink_graph::{LaunchGraph, LaunchIdx, PingPong};
use airlink_kernel::{KernelSummary, Traffic};
use airlink_limits::{CompilerOptions, LaunchUse, ObjectSize, Setup, advise, judge_launch, judge_program};
use indexmap::IndexMap;

use crate::{ElfPlan, ElfResources, LaunchResources, PlanOptions, rows};

/// The device whose limits count; none where nobody names one.
pub(crate) fn device(graph: &LaunchGraph, options: &PlanOptions) -> Option<&'static Device> {
    let named = || graph.device.as_ref().and_then(|d| Device::named(&d.value));
    options.device.or_else(named).or(options.default_device)
}

/// What one judgement holds for: the kernel, its function, the launch op, the range of its grid, and its objects.
type Judged<'k> = (&'k str, &'k str, usize, Option<(u64, u64)>, BTreeMap<String, ObjectSize>);

/// Judges every ELF and gives it its resources.
pub(crate) fn judge(
    graph: &LaunchGraph,
    kernels: &IndexMap<String, KernelSummary>,
    device: &'static Device,
    elfs: &mut [ElfPlan],
    options: &PlanOptions,
    findings: &mut Findings,
) {
    for elf in elfs {
        let mut setup = setup(graph, elf, device, options);
        let mut launches: Vec<(LaunchUse, Cow<'_, Traffic>)> = Vec::new();
        // A kernel that several launches share is judged once, and says its piece once.
        let mut judged: BTreeMap<Judged<'_>, LaunchUse> = BTreeMap::new();
        for plan in &elf.launches {
            setup.objects = object_sizes(plan.launch, options);
            let summary = kernels.get(&plan.kernel);
            let Some(function) = summary.and_then(|k| k.functions.iter().find(|f| f.name == plan.function)) else {
                continue;
            };
            for (i, entry) in function.entries.iter().enumerate() {
                let name = match function.entries.len() {
                    1 => plan.name.clone(),
                    _ => format!("{}.{}", plan.name, i + 1),
                };
                let suffixes = elf.piece_suffixes(&plan.name, i);
                let pieces = rows::traffic_of_pieces(&entry.traffic, elf.row_split(&plan.name, i));
                // What is wrong with one piece is wrong with the others, at the same place.
                let mut said: Vec<(Code, Option<Span>)> = Vec::new();
                for ((range, traffic), suffix) in pieces.into_iter().zip(suffixes) {
                    let name = format!("{name}{suffix}");
                    let key = (plan.kernel.as_str(), plan.function.as_str(), i, range, setup.objects.clone());
                    let is_first = !judged.contains_key(&key);
                    let used = judged.entry(key).or_insert_with(|| judge_launch(&name, &traffic, &setup)).clone();
                    let is_new = |f: &&Finding| is_first && !said.contains(&(f.code, f.primary_span()));
                    used.findings.iter().filter(is_new).for_each(|f| push(f.clone(), options, findings));
                    if is_first && range.is_none() && options.wants_advice {
                        advise(&used, &traffic, &setup).into_iter().for_each(|f| findings.push(f));
                    }
                    said.extend(used.findings.iter().map(|f| (f.code, f.primary_span())));
                    launches.push((LaunchUse { name, findings: Vec::new(), ..used }, traffic));
                }
            }
        }
        let cut = graph.cuts.iter().find(|c| c.name.value == elf.name);
        let place = cut.map_or(graph.name.span, |c| c.name.span);
        let launches: Vec<(LaunchUse, &Traffic)> = launches.iter().map(|(l, t)| (l.clone(), t.as_ref())).collect();
        let program = judge_program(&elf.name, &launches, elf.args.len(), Some(place), &setup);
        program.findings.iter().for_each(|f| push(f.clone(), options, findings));
        elf.resources = Some(ElfResources {
            device: device.name.to_string(),
            toolchain: setup.profile.name.to_string(),
            launches: launches
                .into_iter()
                .map(|(l, _)| LaunchResources { name: l.name, resources: l.resources })
                .collect(),
            program: airlink_limits::ProgramUse { findings: Vec::new(), ..program },
        });
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

/// Sizes of a launch's kernel objects, by the name under which herds link with them.
pub(crate) fn object_sizes(launch: LaunchIdx, options: &PlanOptions) -> BTreeMap<String, ObjectSize> {
    let from = options.object_sizes.range((launch, String::new())..);
    let own = from.take_while(|((l, _), _)| *l == launch);
    own.map(|((_, name), size)| (name.clone(), *size)).collect()
}

/// `[elf.compiler]` over `[graph.compiler]`, and the command line over both.
pub(crate) fn setup(graph: &LaunchGraph, elf: &ElfPlan, device: &Device, options: &PlanOptions) -> Setup {
    let cut = graph.cuts.iter().find(|c| c.name.value == elf.name);
    let given = cut.map_or(graph.compiler.clone(), |c| c.compiler.over(&graph.compiler));
    let ping_pong = match options.has_no_ping_pong {
        true => PingPong::Off,
        false => given.ping_pong.map_or(PingPong::On, |p| p.value),
    };
    let tiling = options.runtime_tiling.clone().or(given.runtime_tiling.map(|t| t.value));
    Setup {
        profile: *options.profile.unwrap_or(&Profile::all()[0]),
        options: CompilerOptions {
            has_l1_ping_pong: matches!(ping_pong, PingPong::On | PingPong::L1),
            has_l2_ping_pong: matches!(ping_pong, PingPong::On | PingPong::L2),
            runtime_tiling: tiling.unwrap_or_default(),
            stack_bytes: options.stack_bytes.or(given.stack_bytes.map(|s| s.value)),
            has_lock_fix: given.lock_fix.is_some_and(|f| f.value),
        },
        ..Setup::new(*device)
    }
}
