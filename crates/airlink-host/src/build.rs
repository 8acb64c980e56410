//! A host ELF from a checked program and its kernel objects.

use std::collections::BTreeMap;

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
    defined_once(objects, findings)?;
    let program = lower::lower_with(ir, module, &manifest.name, &read_only(objects), options, findings)?;
    keep_separate_launches(&mut manifest, &program);
    manifest.kernels = objects.iter().flat_map(|o| o.kernels.iter().cloned()).collect();
    let section = manifest_object(&manifest).map_err(|e| {
        findings
            .fail(Finding::error(codes::AL0901, "the manifest could not be put into an object").found(e.to_string()))
    })?;
    let mut inputs: Vec<(&str, &[u8])> = vec![(&manifest.name, &program), ("the manifest", &section)];
    inputs.extend(objects.iter().map(|o| (o.file.as_str(), o.bytes.as_slice())));
    let mut helpers = Vec::new();
    if options.cpu < CpuLevel::V3 {
        helpers.push(helper(ir, "the soft fma", &reference::soft_fma(), options, findings)?);
    }
    if undefined::needs(&program, "__truncsfbf2") {
        helpers.push(helper(ir, "the bf16 rounding", BF16_ROUNDING, options, findings)?);
    }
    inputs.extend(helpers.iter().map(|bytes| ("a helper", bytes.as_slice())));
    let elf = linker.link(&inputs, findings)?;
    undefined::check(&elf, objects, module, &manifest, findings)?;
    Ok(elf)
}

/// Operands that airlink's own kernels only read. What others do is theirs to know.
fn read_only(objects: &[&KernelObject]) -> BTreeMap<String, &'static [usize]> {
    let kernels = objects.iter().flat_map(|o| &o.kernels);
    let own =
        kernels.filter_map(|k| Some((k.symbol.clone(), reference::read_only(k.source.strip_prefix("reference:")?))));
    own.filter(|(_, operands)| !operands.is_empty()).collect()
}

/// Two kernel objects of one ELF that define a symbol each. The linker finds it as well, but does not know the launches.
fn defined_once(objects: &[&KernelObject], findings: &mut Findings) -> Result<(), Reported> {
    let mut first: BTreeMap<String, &KernelObject> = BTreeMap::new();
    let mut clashes: IndexMap<(&str, &str), (Vec<String>, [&KernelObject; 2])> = IndexMap::new();
    for object in objects {
        for symbol in undefined::strong_symbols(&object.bytes) {
            match first.get(&symbol) {
                Some(other) => {
                    let clash = clashes.entry((&other.file, &object.file)).or_insert((Vec::new(), [other, object]));
                    clash.0.push(format!("`{symbol}`"));
                }
                None => drop(first.insert(symbol, object)),
            }
        }
    }
    let mut result = Ok(());
    for (symbols, [one, other]) in clashes.values() {
        let name = |o: &KernelObject| match &o.source {
            Some(s) => format!("`{}` of launch `{}`", s.path, s.launch),
            None => format!("`{}`", o.file),
        };
        let are = if symbols.len() == 1 { "is" } else { "are" };
        let headline = format!("{} {are} defined in {} and in {}", symbols.join(", "), name(one), name(other));
        let place = |o: &KernelObject| o.source.as_ref().map(|s| s.span);
        let finding = Finding::error(codes::AL0804, headline)
            .maybe_at(place(other), "linked for this launch")
            .maybe_also(place(one), "and this one")
            .remedy("make it `static` where only its own file calls it, or give each its own name");
        result = Err(findings.fail(finding));
    }
    result
}

/// LLVM keeps single bf16 values in f32 registers and calls this to store them: they come back as they were.
const BF16_ROUNDING: &str = "func.func @__truncsfbf2(%x: f32) -> bf16 {
  %y = arith.truncf %x : f32 to bf16
  return %y : bf16
}
";

/// An object with what generated code may call: a fused multiply-add where the CPU has none, a rounding to bf16.
fn helper(
    ir: &Ir,
    what: &str,
    function: &str,
    options: &HostOptions,
    findings: &mut Findings,
) -> Result<Vec<u8>, Reported> {
    let Some(module) = parse_text(ir, &format!("module {{\n{function}}}\n"), what) else {
        let finding = Finding::error(codes::AL0901, format!("{what} does not parse")).found(ir.take_error_text());
        return Err(findings.fail(finding));
    };
    lower::object(ir, module, what, options, findings)
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
