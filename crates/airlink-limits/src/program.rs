//! What adds up over the launches of one ELF.

use std::collections::BTreeMap;

use airlink_device::{Container, Device, Fault, Load, check_container, check_pdi_parity, pdi_loads, task_bytes};
use airlink_diag::{Code, Finding, Span, codes as list};
use airlink_kernel::Traffic;

use crate::codes;
use crate::launch::LaunchUse;
use crate::setup::Setup;

/// Launches from which on compiling one module takes very long or overflows the compiler's stack.
pub const LAUNCHES_ADVISED: usize = 8;
pub const LAUNCHES_SOURCE: &str = "mlir-air llama32_1b/docs/explain.md: recursion in AIRDependencyCanonicalize";

/// What one ELF takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ProgramUse {
    pub launches: usize,
    pub args: usize,
    /// Device configurations and resets that its main sequence loads; the parity matters.
    pub pdi_loads: u64,
    /// Shim tasks over all launches and runtime tiles.
    pub shim_tasks: u64,
    /// Control-code bytes of those tasks, without the configuration of the tiles. A lower bound.
    pub task_bytes: u64,
    #[serde(skip)]
    pub findings: Vec<Finding>,
}

impl LaunchUse {
    /// The PDI loads that it adds to a program: its configuration, and the reset at its end if it has one.
    pub fn pdi_loads(&self, device: &Device) -> u64 {
        1 + u64::from(self.has_reset && device.has_full_elf)
    }
}

/// What forbids that many arguments in one program, and its code: a device without full ELFs takes an xclbin's.
pub fn args_fault(arg_count: u64, device: &Device) -> Option<(Code, Fault)> {
    if device.has_full_elf {
        return None;
    }
    let fault = check_container(Container::Xclbin, arg_count, device)?;
    Some((codes::code(fault.rule), fault))
}

/// Judges an ELF of these launches, each with its traffic; `place` is what the user named the ELF by.
pub fn judge_program(
    name: &str,
    launches: &[(LaunchUse, &Traffic)],
    arg_count: usize,
    place: Option<Span>,
    setup: &Setup,
) -> ProgramUse {
    let mut used = ProgramUse { launches: launches.len(), args: arg_count, ..ProgramUse::default() };
    let mut loads = Vec::new();
    for (i, (launch, _)) in launches.iter().enumerate() {
        loads.push(Load::Configure(i));
        if launch.has_reset && setup.device.has_full_elf {
            loads.push(Load::Reset);
        }
        used.shim_tasks = used.shim_tasks.saturating_add(launch.task_count);
    }
    used.pdi_loads = pdi_loads(&loads);
    used.task_bytes = task_bytes(used.shim_tasks, 0);
    let mut add = |finding: Finding, text: &str| used.findings.push(finding.maybe_at(place, text));
    if let Some(fault) = check_container(Container::FullElf, arg_count as u64, &setup.device) {
        add(
            codes::finding(name, &fault).remedy("take an npu2 device, or build an xclbin with mlir-air's own tools"),
            "",
        );
        if let Some((_, fault)) = args_fault(arg_count as u64, &setup.device) {
            add(codes::finding(name, &fault).remedy("pack buffers into one and pass views of it"), "its arguments");
        }
    }
    if let Some(fault) = check_pdi_parity(used.pdi_loads, &setup.profile) {
        let remedy = "add or take away one launch, or use mlir-aie with #3622 (`--toolchain mlir-aie-af819a8`)";
        add(codes::finding(name, &fault).remedy(remedy), "");
    }
    if launches.len() > LAUNCHES_ADVISED {
        let text = format!("`{name}`: {} launches in one ELF compile slowly or not at all", launches.len());
        let finding = Finding::warning(list::AL0322, text)
            .found(format!("{} launches", launches.len()))
            .allowed(format!("{LAUNCHES_ADVISED} launches, as advised"))
            .source(LAUNCHES_SOURCE)
            .remedy("cut the ELF in two with [[elf]]");
        add(finding, "");
    }
    used
}

/// Judges the names of a module whose launches share one ELF: devices are keyed by segment name and channels by their
/// symbol, so two launches that share one share its resources.
pub fn judge_names(launches: &[(LaunchUse, &Traffic)]) -> Vec<Finding> {
    let mut first: BTreeMap<(&str, &str), (usize, Span)> = BTreeMap::new();
    let mut findings = Vec::new();
    for (at, (launch, traffic)) in launches.iter().enumerate() {
        let segments = traffic.segments.iter().filter_map(|s| Some((("segment", s.name.as_deref()?), s.span)));
        let channels = traffic.channels.iter().filter_map(|c| Some((("channel", c.name.as_str()), c.span?)));
        for ((kind, name), span) in segments.chain(channels) {
            let (other, other_span) = *first.entry((kind, name)).or_insert((at, span));
            // One launch may use a name as often as it likes.
            if other == at {
                continue;
            }
            let other = &launches[other].0.name;
            let text = format!("launches `{other}` and `{}` share the {kind} `{name}`", launch.name);
            let finding = Finding::error(list::AL0321, text)
                .at(span, format!("{kind} of `{}`", launch.name))
                .also(other_span, format!("{kind} of `{other}`"))
                .found("one name")
                .allowed("a name for each launch")
                .source("AIRToAIEPass.cpp: one device per segment name")
                .remedy(format!("rename one of them; `airlink stitch` prefixes {kind} names with the launch"));
            findings.push(finding);
        }
    }
    findings
}
