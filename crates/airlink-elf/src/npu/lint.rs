//! What is wrong with an NPU ELF that reads well: what the loader refuses, what runs right once and wrong afterwards,
//! what reaches outside a buffer.

mod loads;
mod relocations;
mod transfers;

use std::collections::BTreeMap;

use airlink_diag::{Finding, codes};

use super::control::{ControlError, Operation, control_code};
use super::describe::description;
use super::image::{Instance, Kernel, NpuElf, OsAbi, Section, SectionKind};
use super::write::uid;

/// Findings about an ELF, called `file`, in file order.
pub fn lint(elf: &NpuElf, file: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    if elf.os_abi != OsAbi::AIE2P {
        return findings;
    }
    let (buffers, names) = (buffers(elf), relocations::names(elf));
    for (kernel, instance) in elf.instances() {
        for section in &instance.sections {
            let place = Place { file, kernel, instance, section };
            lint_section(elf, place, &buffers, &names, &mut findings);
        }
    }
    relocations::dead_configurations(elf, file, &mut findings);
    configurations(elf, file, &mut findings);
    if elf.stated_uid.as_ref().is_some_and(|stated| *stated != uid(elf)) {
        findings.push(
            Finding::warning(codes::AL0648, format!("`{file}` was changed after its identity note was made"))
                .remedy("write it anew with the tool that made it: its note is the MD5 of its contents"),
        );
    }
    findings
}

/// A control-code stream by itself, called `file`: what can be said without relocations.
pub fn lint_stream(code: &[u8], file: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    match operations(code) {
        Ok(operations) => {
            loads::by_id(&operations, file, &mut findings);
            transfers::drains(&operations, file, &mut findings);
        }
        Err(error) => findings.push(unreadable(&format!("`{file}`"), &error)),
    }
    findings
}

/// Bytes of each argument whose size an ELF states.
type Buffers = BTreeMap<u32, (String, u64)>;

fn buffers(elf: &NpuElf) -> Buffers {
    let described = description(elf).ok().flatten();
    let arguments = described.into_iter().flat_map(|d| d.arguments);
    arguments.filter_map(|a| Some((u32::try_from(a.index).ok()?, (a.name, a.bytes?)))).collect()
}

/// Where a finding is.
#[derive(Clone, Copy)]
struct Place<'p> {
    file: &'p str,
    kernel: &'p Kernel,
    instance: &'p Instance,
    section: &'p Section,
}

impl Place<'_> {
    /// `` `.ctrltext.0` of `x.elf` ``.
    fn text(&self) -> String {
        format!("`{}` of `{}`", self.section.name, self.file)
    }

    /// `main:k`; empty in the older layout.
    fn instance_text(&self) -> String {
        match &self.kernel.signature {
            Some(signature) => format!("`{}:{}` of `{}`", signature.name, self.instance.id, self.file),
            None => format!("`{}`", self.file),
        }
    }
}

fn lint_section(
    elf: &NpuElf,
    place: Place<'_>,
    buffers: &Buffers,
    names: &relocations::Names<'_>,
    findings: &mut Vec<Finding>,
) {
    let are_placed = relocations::placed(elf, place, names, findings);
    if !place.section.kind.is_control() {
        return;
    }
    match operations(&place.section.bytes) {
        Ok(operations) => {
            if place.section.kind == SectionKind::ControlText {
                loads::by_section(&operations, place, findings);
                transfers::drains(&operations, &place.instance_text(), findings);
                transfers::bounds(elf, &operations, place, buffers, findings);
            }
            if are_placed {
                relocations::follow_from_code(elf, place, findings);
            }
        }
        Err(error) => findings.push(unreadable(&place.text(), &error)),
    }
}

fn operations(code: &[u8]) -> Result<Vec<Operation<'_>>, ControlError> {
    control_code(code)?.all()
}

fn unreadable(what: &str, error: &ControlError) -> Finding {
    Finding::error(codes::AL0646, format!("the control code in {what} cannot be read to its end: {error}"))
        .source("`TxnEncoding.h` of github.com/Xilinx/mlir-aie")
        .remedy("compile the kernel again; if a newer compiler made it, airlink must learn its operations")
}

/// Configurations that are none.
fn configurations(elf: &NpuElf, file: &str, findings: &mut Vec<Finding>) {
    for section in elf.common.iter().filter(|s| s.kind == SectionKind::Pdi) {
        if let Err(error) = super::pdi::pdi(&section.bytes) {
            findings.push(
                Finding::warning(
                    codes::AL0732,
                    format!("`{}` of `{file}` is no PDI that can be read: {error}", section.name),
                )
                .remedy("compile the kernel again, or look at it with bootgen"),
            );
        }
    }
}
