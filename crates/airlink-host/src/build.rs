//! A host ELF from a checked program and its kernel objects.

use airlink_check::CheckedProgram;
use airlink_diag::{Finding, Findings, Reported, codes};
use airlink_graph::LaunchGraph;
use airlink_ir::{Ir, Module, parse_text};
use airlink_kernel::KernelSummary;
use airlink_rt::{CpuLevel, MANIFEST_SECTION, Manifest, launch_entry};
use indexmap::IndexMap;
use object::write::{Object, StandardSegment, Symbol, SymbolSection};
use object::{Architecture, BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolKind, SymbolScope};

use crate::{HostOptions, KernelObject, Linker, lower, manifest, reference, undefined};

/// Lowers a program and links it with its kernels into a shared ELF whose manifest says what it is. Equal inputs give
/// equal bytes.
///
/// `kernels` are the summaries of the graph's kernels, `objects` what [`crate::kernel_objects`] made for the plan.
///
/// # Errors
/// Those of [`lower`] and [`manifest()`]; AL0702 for a symbol that nothing defines; AL0803, AL0804 about the linker.
pub fn build(
    ir: &Ir,
    program: &CheckedProgram<'_>,
    graph: &LaunchGraph,
    kernels: &IndexMap<String, KernelSummary>,
    objects: &[KernelObject],
    options: &HostOptions,
    findings: &mut Findings,
) -> Result<Vec<u8>, Reported> {
    let elf = program.elf();
    let manifest = manifest(graph, kernels, elf, program.module(), options, findings)?;
    let used: Vec<&KernelObject> = objects.iter().filter(|o| elf.objects.contains(&o.index)).collect();
    build_module(ir, program.module(), manifest, &used, options, findings)
}

/// [`build`] for a module that nobody checked: what the tests of this crate start from.
#[doc(hidden)]
pub fn build_module(
    ir: &Ir,
    module: &Module<'_>,
    mut manifest: Manifest,
    objects: &[&KernelObject],
    options: &HostOptions,
    findings: &mut Findings,
) -> Result<Vec<u8>, Reported> {
    let linker = Linker::find(options.linker.as_deref(), findings)?;
    let program = lower(ir, module, &manifest.name, options, findings)?;
    keep_separate_launches(&mut manifest, &program);
    manifest.kernels = objects.iter().flat_map(|o| o.kernels.iter().cloned()).collect();
    let section = manifest_object(&manifest).map_err(|e| {
        findings
            .fail(Finding::error(codes::AL0901, "the manifest could not be put into an object").found(e.to_string()))
    })?;
    let mut inputs: Vec<(&str, &[u8])> = vec![(&manifest.name, &program), ("the manifest", &section)];
    inputs.extend(objects.iter().map(|o| (o.file.as_str(), o.bytes.as_slice())));
    let fma = if options.cpu < CpuLevel::V3 { Some(soft_fma(ir, options, findings)?) } else { None };
    inputs.extend(fma.as_ref().map(|bytes| ("the soft fma", bytes.as_slice())));
    let elf = linker.link(&inputs, findings)?;
    undefined::check(&elf, &inputs, module, &manifest, findings)?;
    Ok(elf)
}

/// What code for a CPU without fused multiply-adds calls in their place.
fn soft_fma(ir: &Ir, options: &HostOptions, findings: &mut Findings) -> Result<Vec<u8>, Reported> {
    let text = format!("module {{\n{}}}\n", reference::soft_fma());
    let Some(module) = parse_text(ir, &text, "soft fma") else {
        let finding = Finding::error(codes::AL0901, "the soft fma does not parse").found(ir.take_error_text());
        return Err(findings.fail(finding));
    };
    lower::object(ir, module, "the soft fma", options, findings)
}

/// Where launches cannot be run apart, the manifest lists none.
fn keep_separate_launches(manifest: &mut Manifest, program: &[u8]) {
    let entries = undefined::defined_symbols(program);
    let is_there = |k: usize| entries.contains(&launch_entry(k));
    let count = manifest.launches.len();
    if (0..count).all(is_there) && !is_there(count) {
        return;
    }
    manifest.launches.clear();
    for arg in &mut manifest.args {
        arg.readers.clear();
        arg.writers.clear();
    }
}

/// An object that holds nothing but the manifest, as a section and as a symbol.
fn manifest_object(manifest: &Manifest) -> Result<Vec<u8>, object::write::Error> {
    let mut json = manifest.to_json().into_bytes();
    let size = json.len() as u64;
    // So that the symbol is a C string.
    json.push(0);
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let segment = object.segment_name(StandardSegment::Data).to_vec();
    let section = object.add_section(segment, MANIFEST_SECTION.as_bytes().to_vec(), SectionKind::ReadOnlyData);
    object.append_section_data(section, &json, 16);
    object.add_symbol(Symbol {
        name: b"airlink_manifest".to_vec(),
        value: 0,
        size,
        kind: SymbolKind::Data,
        scope: SymbolScope::Dynamic,
        weak: false,
        section: SymbolSection::Section(section),
        flags: SymbolFlags::None,
    });
    object.write()
}
