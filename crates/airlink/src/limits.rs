//! What the command line says about the device and the tools, and the judgement of a module that no graph names.

use std::collections::BTreeMap;

use airlink_device::{Device, Profile};
use airlink_graph::LaunchIdx;
use airlink_kernel::KernelSummary;
use airlink_limits::{CompilerOptions, LaunchUse, ObjectSize, Setup, judge_launch, judge_program};
use airlink_plan::{Objective, PlanOptions};

use crate::cli::ObjectiveChoice;
use crate::exit::Exit;
use crate::invocation::Invocation;

/// The device that `check` judges for where nobody names one.
const DEFAULT_DEVICE: &str = "npu2";

/// Refuses a device or a toolchain that nobody knows, and lists toolchains.
pub fn refuse(invocation: &Invocation) -> Option<Exit> {
    if let Some(name) = &invocation.options.device
        && Device::named(name).is_none()
    {
        let known: Vec<&str> = Device::all().iter().map(|d| d.name).collect();
        return Some(invocation.usage(&format!("no device is called `{name}`; known: {}", known.join(", "))));
    }
    match invocation.options.toolchain.as_deref() {
        Some("list") => {
            invocation.print(&toolchains());
            Some(Exit::Done)
        }
        Some(name) if Profile::named(name).is_none() => {
            Some(invocation.usage(&format!("no toolchain is called `{name}`; `--toolchain list` prints those known")))
        }
        _ => None,
    }
}

/// One line per toolchain profile: its name and what differs from the default, which stands first.
fn toolchains() -> String {
    let default = Profile::all()[0];
    let mut out = String::new();
    for profile in Profile::all() {
        let switches = [
            ("odd PDI loads are mended", default.has_pdi_parity_rule, profile.has_pdi_parity_rule),
            ("outer dimensions are rebalanced", default.has_outer_rebalance, profile.has_outer_rebalance),
            ("program memory is checked early", default.has_program_memory_check, profile.has_program_memory_check),
        ];
        let differs = switches.iter().filter(|(_, a, b)| a.is_on != b.is_on);
        let text: Vec<String> = differs.map(|(what, _, now)| format!("{what} ({})", now.source)).collect();
        let text = if text.is_empty() { "the default".to_string() } else { text.join(", ") };
        out.push_str(&format!("{:20}  {text}\n", profile.name));
    }
    out
}

/// The plan's share of the options. What was refused above counts as not given.
pub fn plan_options(invocation: &Invocation, object_sizes: &BTreeMap<(LaunchIdx, String), ObjectSize>) -> PlanOptions {
    let options = &invocation.options;
    PlanOptions {
        device: options.device.as_deref().and_then(Device::named),
        default_device: invocation.judges_limits.then(|| Device::named(DEFAULT_DEVICE)).flatten(),
        profile: options.toolchain.as_deref().and_then(Profile::named),
        has_no_ping_pong: options.no_pingpong,
        objective: match options.objective {
            ObjectiveChoice::Compile => Objective::Compile,
            ObjectiveChoice::Bytes => Objective::Bytes,
            // No cost model yet: `time` was refused.
            ObjectiveChoice::Launches | ObjectiveChoice::Time => Objective::Launches,
        },
        max_launches: options.max_launches,
        unrolls: options.unroll,
        has_no_k_split: options.k_split == crate::cli::SplitChoice::Off,
        has_no_n_split: options.n_split == crate::cli::SplitChoice::Off,
        wants_advice: invocation.wants_advice,
        has_no_row_split: options.row_split == crate::cli::SplitChoice::Off,
        runtime_tiling: (!options.runtime_tiling.is_empty()).then(|| options.runtime_tiling.clone()),
        stack_bytes: options.stack_bytes,
        object_sizes: object_sizes.clone(),
        limits_only_warn: !invocation.judges_limits,
    }
}

/// Judges every launch of a module as one ELF; gives what each takes.
pub fn judge_module(invocation: &mut Invocation, summary: &KernelSummary) -> (Vec<LaunchUse>, &'static Device) {
    let options = plan_options(invocation, &BTreeMap::new());
    let device = options.device.or(options.default_device).expect("`check` has a default");
    let setup = Setup {
        profile: *options.profile.unwrap_or(&Profile::all()[0]),
        options: CompilerOptions {
            has_l1_ping_pong: !options.has_no_ping_pong,
            has_l2_ping_pong: !options.has_no_ping_pong,
            runtime_tiling: options.runtime_tiling.unwrap_or_default(),
            stack_bytes: options.stack_bytes,
            has_lock_fix: false,
        },
        ..Setup::new(*device)
    };
    let mut launches = Vec::new();
    for function in &summary.functions {
        let mut own = Vec::new();
        for (i, entry) in function.entries.iter().enumerate() {
            let own_name = entry.name.clone().or_else(|| entry.traffic.segments.first().and_then(|s| s.name.clone()));
            let name = own_name.unwrap_or_else(|| match function.entries.len() {
                1 => function.name.clone(),
                _ => format!("{}.{}", function.name, i + 1),
            });
            let used = judge_launch(&name, &entry.traffic, &setup);
            used.findings.iter().for_each(|f| invocation.findings.push(f.clone()));
            own.push((used, &entry.traffic));
        }
        let program = judge_program(&function.name, &own, function.args.len(), Some(function.span), &setup);
        let names = airlink_limits::judge_names(&own);
        program.findings.into_iter().chain(names).for_each(|f| invocation.findings.push(f));
        launches.extend(own.into_iter().map(|(used, _)| used));
    }
    (launches, device)
}
