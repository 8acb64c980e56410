//! The pipe: read, graph, plan, stitch, check, emit.

use airlink_check::{CheckedProgram, Expected};
use airlink_diag::Reported;
use airlink_host::{HostOptions, KernelObject, Machine, ObjectInputs};
use airlink_ir::{Ir, print};
use airlink_plan::Plan;
use airlink_rt::CpuLevel;
use camino::Utf8PathBuf;
use indexmap::IndexMap;

use crate::cli::{Emit, LoggedArgs};
use crate::depfile;
use crate::exit::Exit;
use crate::invocation::Invocation;
use crate::load::{self, Loaded};
use crate::outcome;
use crate::write::{self, Output};

/// `airlink stitch`.
pub fn stitch(invocation: &mut Invocation, args: &LoggedArgs) -> Exit {
    invocation.writes = true;
    invocation.links = [Emit::Elf, Emit::Obj].into_iter().any(|kind| invocation.emits(kind));
    let ir = invocation.time("start", |_| Ir::new());
    let mut known = Known::default();
    match stitch_to_files(&ir, invocation, args, &mut known) {
        Ok(()) => Exit::Done,
        Err(reported) => {
            outcome::write_failure(invocation, "stitch", args, &known);
            invocation.exit_of(reported)
        }
    }
}

/// What a run has come to know, for its log.
#[derive(Default)]
pub struct Known<'c> {
    pub loaded: Option<Loaded<'c>>,
    pub plan: Option<Plan>,
}

fn stitch_to_files<'c>(
    ir: &'c Ir,
    invocation: &mut Invocation,
    args: &LoggedArgs,
    known: &mut Known<'c>,
) -> Result<(), Reported> {
    let folder = invocation.options.output.clone().unwrap_or_else(|| Utf8PathBuf::from("."));
    let loaded = &*known.loaded.insert(invocation.time("read", |s| load::graph(ir, s, &args.graph.graph))?);
    let plan = &*known.plan.insert(invocation.time("plan", |s| make_plan(s, loaded))?);
    let programs = invocation.time("stitch", |s| fuse(ir, s, loaded, plan))?;
    let mut outputs = invocation.time("emit", |s| emit(ir, s, loaded, plan, &programs, &folder))?;
    if invocation.options.is_werror() && invocation.findings.count(airlink_diag::Severity::Warning) > 0 {
        invocation.findings.deny_warnings();
        invocation.findings.check()?;
    }
    if let Some(path) = &args.log {
        outputs.push(outcome::log(invocation, "stitch", args, path, loaded, plan, &outputs));
    }
    if invocation.options.is_depfile_wanted() {
        outputs.push(depfile::output(&invocation.options, &plan.graph, &folder, &outputs, &loaded.files));
    }
    write::spare(&outputs, &invocation.inputs, &mut invocation.findings)?;
    if invocation.options.dry_run {
        outputs.iter().for_each(|o| invocation.say(&format!("would write {}\n", o.path)));
        return Ok(());
    }
    invocation.time("write", |s| write::all(&outputs, &mut s.findings))?;
    outputs.iter().for_each(|o| invocation.say(&format!("wrote {}\n", o.path)));
    Ok(())
}

/// The plan of a loaded graph.
pub fn make_plan(invocation: &mut Invocation, loaded: &Loaded<'_>) -> Result<Plan, Reported> {
    let options = crate::limits::plan_options(invocation, &loaded.object_sizes);
    let plan = airlink_plan::plan(&loaded.graph, &loaded.kernels, &loaded.objects, &options, &mut invocation.findings)?;
    invocation.findings.check()?;
    Ok(plan)
}

/// Stitches and checks every ELF of the plan.
pub fn fuse<'c>(
    ir: &'c Ir,
    invocation: &mut Invocation,
    loaded: &Loaded<'c>,
    plan: &Plan,
) -> Result<Vec<CheckedProgram<'c>>, Reported> {
    let findings = &mut invocation.findings;
    let mut programs = Vec::new();
    for elf in &plan.elfs {
        let module = airlink_stitch::stitch(ir, &loaded.graph, &loaded.modules, elf, findings)?;
        let expected = Expected { graph: &loaded.graph, kernels: &loaded.modules, elf };
        programs.push(airlink_check::check(ir, module, &expected, findings)?);
    }
    Ok(programs)
}

/// Everything that `--emit` asks for, as files in `folder`.
fn emit(
    ir: &Ir,
    invocation: &mut Invocation,
    loaded: &Loaded<'_>,
    plan: &Plan,
    programs: &[CheckedProgram<'_>],
    folder: &camino::Utf8Path,
) -> Result<Vec<Output>, Reported> {
    let [elf, obj, mlir, map] = [Emit::Elf, Emit::Obj, Emit::Mlir, Emit::Map].map(|kind| invocation.emits(kind));
    let mut outputs = Vec::new();
    let mut add = |name: String, bytes: Vec<u8>| outputs.push(Output { path: folder.join(name), bytes });
    let host = host_options(invocation);
    let objects = if elf || obj { host_objects(ir, invocation, loaded, plan, &host)? } else { Vec::new() };
    for (position, program) in programs.iter().enumerate() {
        let name = &program.elf().name;
        if elf {
            let findings = &mut invocation.findings;
            let bytes = airlink_host::build(ir, program, &loaded.graph, &loaded.kernels, &objects, &host, findings)?;
            add(format!("{name}.elf"), bytes);
        }
        if obj && host.machine == Machine::Aarch64 {
            // No ELF holds it, so it is written beside its kernels.
            let bytes = airlink_host::lower(ir, program.module(), name, &host, &mut invocation.findings)?;
            add(format!("{name}.elf.o"), bytes);
        }
        if mlir {
            let text = print(&program.module().as_operation(), invocation.options.locations);
            add(format!("{name}.mlir"), text.into_bytes());
        }
        if map {
            let map = airlink_plan::link_map(plan, position, &loaded.graph, &loaded.kernels, tools());
            let mut text = serde_json::to_string_pretty(&map).unwrap_or_default();
            text.push('\n');
            add(format!("{name}.map.json"), text.into_bytes());
        }
    }
    if obj {
        for object in objects {
            if object.file.contains(['/', '\\']) {
                let headline = format!("the object `{}` would be written outside the output folder", object.file);
                invocation.findings.push(
                    airlink_diag::Finding::error(airlink_diag::codes::AL0802, headline)
                        .remedy("give the kernel's `link_with` a plain file name, and the place with `objects` or -L"),
                );
                continue;
            }
            add(object.file, object.bytes);
        }
    }
    invocation.findings.check()?;
    Ok(outputs)
}

/// What the command line says about host code; an unknown CPU level was refused before.
pub fn host_options(invocation: &Invocation) -> HostOptions {
    let cpu = CpuLevel::parse(&invocation.options.cpu).unwrap_or(CpuLevel::V3);
    let machine = if invocation.options.cpu == Machine::AARCH64 { Machine::Aarch64 } else { Machine::X86_64 };
    HostOptions { machine, cpu, linker: invocation.linker(), ..HostOptions::default() }
}

/// The kernel objects of every ELF, under their final names.
pub fn host_objects(
    ir: &Ir,
    invocation: &mut Invocation,
    loaded: &Loaded<'_>,
    plan: &Plan,
    host: &HostOptions,
) -> Result<Vec<KernelObject>, Reported> {
    let refs = refs(invocation)?;
    ir.register_passes();
    let inputs =
        ObjectInputs { graph: &loaded.graph, kernels: &loaded.kernels, plan, found: &loaded.object_bytes, refs: &refs };
    airlink_host::kernel_objects(ir, &inputs, host, &mut invocation.findings)
}

/// `--ref SYM=VARIANT` as a map.
fn refs(invocation: &mut Invocation) -> Result<IndexMap<String, String>, Reported> {
    let mut map = IndexMap::new();
    for text in &invocation.options.refs {
        let Some((symbol, variant)) = text.split_once('=') else {
            return Err(invocation.findings.fail(
                airlink_diag::Finding::error(airlink_diag::codes::AL0704, format!("`--ref {text}` names no variant"))
                    .remedy("write --ref SYM=VARIANT, as in --ref rope=rope_halfsplit"),
            ));
        };
        map.insert(symbol.to_string(), variant.to_string());
    }
    Ok(map)
}

/// Versions of what makes the outputs.
fn tools() -> IndexMap<String, String> {
    IndexMap::from([
        ("airlink".to_string(), env!("CARGO_PKG_VERSION").to_string()),
        ("llvm".to_string(), "22.1".to_string()),
    ])
}
