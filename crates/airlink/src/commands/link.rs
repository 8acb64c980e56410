//! `airlink link`: fuses kernels that are compiled already, and proves the result before it is written.

mod compiled;
mod refusals;

use airlink_diag::{Finding, Findings, Reported, Severity};
use airlink_elf::npu::{
    Binding, DESCRIPTION_SCHEMA, DescribedArgument, DescribedLaunch, DescribedOperand, Description, ElfAbi,
    LinkOptions, Linked, LinkedLaunch, Omit, describe, lint, prove, write_npu_elf,
};
use airlink_ir::Ir;
use airlink_plan::{ElfPlan, Plan};
use camino::{Utf8Path, Utf8PathBuf};

use crate::cli::LinkArgs;
use crate::depfile;
use crate::exit::Exit;
use crate::invocation::Invocation;
use crate::load::{self, Loaded};
use crate::write::{self, Output};

use compiled::Compiled;

pub fn run(invocation: &mut Invocation, args: &LinkArgs) -> Exit {
    let abi = ElfAbi::parse(&args.elf_abi).filter(|abi| abi.is_grouped());
    let Some(abi) = abi else {
        let text = format!("`--elf-abi {}` is no version of a full ELF; known are 1.0 and 2.1", args.elf_abi);
        return invocation.usage(&text);
    };
    invocation.writes = true;
    match link_to_files(invocation, args, abi) {
        Ok(None) => Exit::Done,
        Ok(Some(usage)) => invocation.usage(&usage),
        Err(reported) => invocation.exit_of(reported),
    }
}

/// Links every ELF of the plan and writes them; a text where the command line does not fit the plan.
fn link_to_files(invocation: &mut Invocation, args: &LinkArgs, abi: ElfAbi) -> Result<Option<String>, Reported> {
    let ir = Ir::new();
    let mut loaded = invocation.time("read", |s| load::graph(&ir, s, &args.graph))?;
    let plan = invocation.time("plan", |s| plan_quietly(s, &loaded))?;
    let paths = match output_paths(invocation.options.output.as_deref(), &plan) {
        Ok(paths) => paths,
        Err(usage) => return Ok(Some(usage)),
    };
    let compiled = invocation.time("kernels", |s| Compiled::read(&mut loaded, &args.graph, &mut s.findings))?;
    let mut outputs = Vec::new();
    for (elf, path) in plan.elfs.iter().zip(paths) {
        let bytes = invocation.time("link", |s| link_one(s, &loaded, &plan, elf, &compiled, abi, &path))?;
        outputs.push(Output { path, bytes });
    }
    if invocation.options.is_depfile_wanted() {
        let folder = outputs.first().and_then(|o| o.path.parent()).unwrap_or(Utf8Path::new("")).to_owned();
        outputs.push(depfile::output(&invocation.options, &plan.graph, &folder, &outputs, &loaded.files));
    }
    if invocation.options.is_werror() && invocation.findings.count(Severity::Warning) > 0 {
        invocation.findings.deny_warnings();
        invocation.findings.check()?;
    }
    write::spare(&outputs, &[&loaded.files[..], &loaded.passed_over[..]].concat(), &mut invocation.findings)?;
    let verb = if invocation.options.dry_run { "would write" } else { "wrote" };
    if !invocation.options.dry_run {
        invocation.time("write", |s| write::all(&outputs, &mut s.findings))?;
    }
    outputs.iter().for_each(|o| invocation.say(&format!("{verb} {}\n", o.path)));
    Ok(None)
}

/// The plan without what it finds of device limits: the kernels are compiled, and their code says what they use.
fn plan_quietly(invocation: &mut Invocation, loaded: &Loaded<'_>) -> Result<Plan, Reported> {
    let options = crate::limits::plan_options(invocation, &loaded.object_sizes);
    let mut own = Findings::default();
    own.sources = invocation.findings.sources.clone();
    let plan = airlink_plan::plan(&loaded.graph, &loaded.kernels, &loaded.objects, &options, &mut own);
    let is_of_limits = |f: &&Finding| f.code.stage() == 3 && f.severity != Severity::Error;
    own.iter().filter(|f| !is_of_limits(f)).for_each(|f| invocation.findings.push(f.clone()));
    let plan = plan?;
    invocation.findings.check()?;
    Ok(plan)
}

/// Where each ELF goes: the file that `-o` names, or files below the folder that it names.
fn output_paths(output: Option<&Utf8Path>, plan: &Plan) -> Result<Vec<Utf8PathBuf>, String> {
    let is_file = |path: &Utf8Path| path.extension() == Some("elf") && !path.is_dir();
    match output {
        Some(path) if is_file(path) && plan.elfs.len() == 1 => Ok(vec![path.to_owned()]),
        Some(path) if is_file(path) => {
            Err(format!("`{path}` is one file, and the graph gives {} ELFs; name a folder with -o", plan.elfs.len()))
        }
        folder => {
            let folder = folder.unwrap_or(Utf8Path::new(""));
            Ok(plan.elfs.iter().map(|e| folder.join(format!("{}.elf", e.name))).collect())
        }
    }
}

fn link_one(
    invocation: &mut Invocation,
    loaded: &Loaded<'_>,
    plan: &Plan,
    elf: &ElfPlan,
    compiled: &Compiled,
    abi: ElfAbi,
    path: &Utf8Path,
) -> Result<Vec<u8>, Reported> {
    let findings = &mut invocation.findings;
    let launches = launches(loaded, elf, compiled, findings)?;
    let options =
        LinkOptions { instance: elf.name.clone(), argument_count: elf.args.len(), abi, omit: Omit::default() };
    let linked = airlink_elf::npu::link(&launches, &options);
    let mut linked = linked.map_err(|errors| refusals::report(&errors, loaded, elf, findings))?;
    refusals::check_device(loaded, elf, &launches, findings);
    let description = description(plan, elf, loaded, &launches, &linked);
    describe(&mut linked.elf, &description);
    if let Err(error) = prove(&linked.elf, &launches) {
        return Err(findings.fail(refusals::unproven(&error, elf)));
    }
    lint(&linked.elf, path.file_name().unwrap_or(path.as_str())).into_iter().for_each(|f| findings.push(f));
    findings.check()?;
    write_npu_elf(&linked.elf).map_err(|error| findings.fail(refusals::unwritable(&error, elf)))
}

/// The launches of an ELF with their compiled kernels and what their arguments are.
fn launches<'k>(
    loaded: &Loaded<'_>,
    elf: &ElfPlan,
    compiled: &'k Compiled,
    findings: &mut Findings,
) -> Result<Vec<LinkedLaunch<'k>>, Reported> {
    let mut list = Vec::new();
    let mut failed = None;
    for planned in &elf.launches {
        let launch = loaded.graph.launch(planned.launch);
        // Without one it has been reported.
        let Some(part) = compiled.part(launch) else { continue };
        let mut bindings: Vec<Binding> = planned
            .operands
            .iter()
            .zip(&launch.operands)
            .map(|(planned, operand)| {
                let offset_bytes = if planned.view.is_some() { operand.range.start } else { 0 };
                Binding { argument: planned.arg as u32, offset_bytes }
            })
            .collect();
        if !fit(&mut bindings, part.argument_count, part.used_argument_count()) {
            failed = Some(findings.fail(refusals::argument_count(launch, part)));
        }
        list.push(LinkedLaunch { name: planned.name.clone(), part, bindings });
    }
    failed.map_or(Ok(list), Err)
}

/// Signatures that mlir-aie writes have at least this many arguments. Source: `SidecarFiles.h` there.
const SIGNATURE_ARGUMENTS_MIN: usize = 3;

/// Makes as many bindings as the kernel has arguments, where the difference is in arguments that it does not use.
fn fit(bindings: &mut Vec<Binding>, taken: usize, used: usize) -> bool {
    let given = bindings.len();
    let is_padded = taken == SIGNATURE_ARGUMENTS_MIN && given < taken;
    // Control code alone says no more than which arguments it uses.
    let is_unused_rest = taken == used && given > taken;
    if given != taken && (used > given || !(is_padded || is_unused_rest)) {
        return false;
    }
    bindings.resize(taken, Binding { argument: 0, offset_bytes: 0 });
    true
}

fn description(
    plan: &Plan,
    elf: &ElfPlan,
    loaded: &Loaded<'_>,
    launches: &[LinkedLaunch<'_>],
    linked: &Linked,
) -> Description {
    let argument = |a: &airlink_plan::ArgPlan| DescribedArgument {
        index: a.index,
        name: a.name.clone(),
        ty: a.ty.to_string(),
        shape: a.shape.clone(),
        role: a.role.as_str().to_string(),
        bytes: a.size_bytes,
    };
    let operand = |b: &Binding| DescribedOperand { argument: b.argument, offset_bytes: b.offset_bytes };
    let described = elf.launches.iter().zip(launches).zip(&linked.ranges).map(|((planned, launch), range)| {
        let file = loaded.graph.launch(planned.launch).elf.as_ref();
        let count = planned.operands.len().min(launch.bindings.len());
        DescribedLaunch {
            name: launch.name.clone(),
            elf: file.map(|f| f.value.clone()).unwrap_or_default(),
            start: range.start,
            end: range.end,
            arguments: launch.bindings[..count].iter().map(operand).collect(),
        }
    });
    Description {
        schema: DESCRIPTION_SCHEMA,
        name: elf.name.clone(),
        graph: plan.graph.clone(),
        arguments: elf.args.iter().map(argument).collect(),
        launches: described.collect(),
        has_closing_reset: linked.has_closing_reset,
    }
}
