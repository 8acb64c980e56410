//! What the linker cannot do, said with the graph's words.

use airlink_device::Device;
use airlink_diag::{Code, Finding, Findings, Reported, codes};
use airlink_elf::npu::{LinkError, LinkedLaunch, NpuWriteError, Part, ProofError};
use airlink_graph::Launch;
use airlink_plan::ElfPlan;

use crate::load::Loaded;

/// Reports every error at the launches that it is about.
pub fn report(errors: &[LinkError], loaded: &Loaded<'_>, elf: &ElfPlan, findings: &mut Findings) -> Reported {
    let mut reported = None;
    for error in errors {
        reported = Some(findings.fail(finding(error, loaded, elf)));
    }
    reported.unwrap_or_else(|| findings.fail(finding(&LinkError::Nothing, loaded, elf)))
}

fn launch_at<'g>(position: usize, loaded: &'g Loaded<'_>, elf: &ElfPlan) -> Option<&'g Launch> {
    elf.launches.get(position).map(|l| loaded.graph.launch(l.launch))
}

fn finding(error: &LinkError, loaded: &Loaded<'_>, elf: &ElfPlan) -> Finding {
    let name = |position: usize| launch_at(position, loaded, elf).map_or(String::new(), |l| l.name.value.clone());
    let place = |position: usize| {
        let launch = launch_at(position, loaded, elf)?;
        Some(launch.elf.as_ref().map_or(launch.name.span, |e| e.span))
    };
    let (code, remedy) = code_and_remedy(error);
    let (launch, other) = error.launches();
    Finding::error(code, headline(error, name, &elf.name))
        .maybe_at(launch.and_then(place), "its compiled kernel")
        .maybe_also(other.and_then(place), "the other")
        .remedy(remedy)
}

fn code_and_remedy(error: &LinkError) -> (Code, &'static str) {
    match error {
        LinkError::Header { .. } => (
            codes::AL0733,
            "compile both for one device and one number of columns, or put them into different `[[elf]]`s",
        ),
        LinkError::NoReset { .. } => (codes::AL0734, "compile it as a full ELF, or name its configuration with `pdi`"),
        LinkError::ArgumentCount { .. } | LinkError::Argument { .. } => {
            (codes::AL0735, "compile the kernel again from the module that the graph names")
        }
        LinkError::Offset { .. } => (codes::AL0738, "move the view to a multiple of four bytes"),
        LinkError::Preemption { .. } => (codes::AL0736, "assemble both kernels with one version of aiebu"),
        LinkError::NoPreemption { .. } => {
            (codes::AL0736, "assemble the kernel again, or compile it without preemption")
        }
        LinkError::Scratchpad { .. } => {
            (codes::AL0737, "compile both kernels with one size, or put them into different `[[elf]]`s")
        }
        LinkError::State { .. } => (codes::AL0737, "put them into different `[[elf]]`s"),
        LinkError::Relocation { .. } | LinkError::Code { .. } => (codes::AL0739, "compile the kernel again"),
        LinkError::TooMany { .. } | LinkError::Nothing => {
            (codes::AL0739, "put some of its launches into another `[[elf]]`")
        }
    }
}

fn headline(error: &LinkError, name: impl Fn(usize) -> String, elf: &str) -> String {
    match error {
        LinkError::Header { launch } => {
            format!("`{}` and `{}` are compiled for different devices", name(*launch), name(0))
        }
        LinkError::NoReset { launch } => {
            format!("the kernel of `{}` does not begin with a load that resets the array", name(*launch))
        }
        LinkError::ArgumentCount { launch, taken, given } => {
            format!("the compiled kernel of `{}` takes {taken} arguments, and the graph passes {given}", name(*launch))
        }
        LinkError::Argument { launch, argument } => {
            let name = name(*launch);
            format!("the compiled kernel of `{name}` refers to its argument {argument}, which it does not take")
        }
        LinkError::Offset { launch, argument, offset_bytes } => {
            format!("argument {argument} of `{}` would begin at byte {offset_bytes}", name(*launch))
        }
        LinkError::Preemption { launch, first } => {
            format!("`{}` and `{}` bring different preemption code", name(*launch), name(*first))
        }
        LinkError::NoPreemption { launch } => {
            format!("the kernel of `{}` can be preempted and brings no code for it", name(*launch))
        }
        LinkError::Scratchpad { launch, bytes, first, first_bytes } => {
            let (launch, first) = (name(*launch), name(*first));
            format!("`{launch}` wants a scratchpad of {bytes} bytes, `{first}` one of {first_bytes}")
        }
        LinkError::State { launch, first } => {
            format!("`{}` and `{}` both keep state in the scratchpad", name(*launch), name(*first))
        }
        LinkError::Relocation { launch, .. } | LinkError::Code { launch, .. } => {
            format!("the kernel of `{}` cannot be linked: {error}", name(*launch))
        }
        LinkError::TooMany { .. } | LinkError::Nothing => format!("`{elf}` cannot be linked: {error}"),
    }
}

/// A kernel that takes other arguments than the graph passes.
pub fn argument_count(launch: &Launch, part: &Part) -> Finding {
    let name = &launch.name.value;
    let (taken, given) = (part.argument_count, launch.operands.len());
    let headline = format!("the compiled kernel of `{name}` takes {taken} arguments, and the graph passes {given}");
    Finding::error(codes::AL0735, headline)
        .maybe_at(launch.elf.as_ref().map(|e| e.span), "its compiled kernel")
        .also(launch.name.span, "the launch")
        .found(format!("{taken} in its signature, of which {} are used", part.used_argument_count()))
        .allowed(given.to_string())
        .remedy("compile the kernel again from the module that the graph names")
}

/// Warns where the graph's device has other columns than the kernels are compiled for.
pub fn check_device(loaded: &Loaded<'_>, elf: &ElfPlan, launches: &[LinkedLaunch<'_>], findings: &mut Findings) {
    let (Some(named), Some(first)) = (&loaded.graph.device, launches.first()) else { return };
    let Some(device) = Device::named(&named.value) else { return };
    let columns = u64::from(first.part.header.column_count);
    if device.columns.value != columns {
        findings.push(
            Finding::warning(
                codes::AL0733,
                format!("the kernels of `{}` are compiled for {columns} columns", elf.name),
            )
            .at(named.span, format!("has {}", device.columns.value))
            .found(format!("{columns} columns"))
            .allowed(device.columns.value.to_string())
            .source("the header of their control code")
            .remedy("name the device that they are compiled for"),
        );
    }
}

pub fn unproven(error: &ProofError, elf: &ElfPlan) -> Finding {
    let name = |position: usize| elf.launches.get(position).map_or(String::new(), |l| l.name.clone());
    let finding =
        Finding::error(codes::AL0740, format!("the fused `{}` is not what its kernels are one by one", elf.name));
    let finding = match error {
        ProofError::Differs(d) => {
            let run = if d.is_second_run { " when it is run again" } else { "" };
            let launch = d.launch.map_or("the end".to_string(), |l| format!("launch `{}`", name(l)));
            let found =
                d.found.as_ref().map_or("nothing more".to_string(), |(at, text)| format!("{text} (at {at:#x})"));
            finding
                .found(format!("in {launch}{run}: {found}"))
                .allowed(d.expected.clone().unwrap_or_else(|| "nothing more".to_string()))
        }
        other => finding.found(other.to_string()),
    };
    finding.remedy("report this with the kernels: it is most likely a bug in airlink")
}

pub fn unwritable(error: &NpuWriteError, elf: &ElfPlan) -> Finding {
    Finding::error(codes::AL0739, format!("`{}` cannot be written: {error}", elf.name))
        .remedy("put some of its launches into another `[[elf]]`")
}
