//! `airlink verify`: the fused ELFs of a graph against its launches built one by one, on the same inputs.

mod against;

use std::collections::{BTreeMap, BTreeSet};

use airlink_diag::{Findings, Reported, codes};
use airlink_graph::{Fuse, LaunchGraph, Placed, Step as GraphStep};
use airlink_host::verify::{ElfUnderTest, HostWrite, Report, Step, Variant};
use airlink_host::{HostOptions, KernelObject};
use airlink_ir::Ir;
use airlink_plan::{ElfPlan, Plan, PlanOptions};

use crate::cli::{GraphArgs, VerifyArgs};
use crate::exit::Exit;
use crate::invocation::Invocation;
use crate::load::{self, Loaded};
use crate::pipe;

/// ELF to the number of its calls.
type Calls = BTreeMap<String, usize>;

pub fn run(invocation: &mut Invocation, args: &VerifyArgs) -> Exit {
    invocation.links = true;
    if !invocation.options.quiet {
        crate::watch::start();
    }
    match verify(invocation, args) {
        Ok(()) => Exit::Done,
        Err(reported) => {
            let is_difference = |f: &airlink_diag::Finding| [codes::AL0706, codes::AL0741].contains(&f.code);
            let differs = invocation.findings.iter().any(is_difference);
            if differs { Exit::Differs } else { invocation.exit_of(reported) }
        }
    }
}

fn verify(invocation: &mut Invocation, args: &VerifyArgs) -> Result<(), Reported> {
    let ir = Ir::new();
    // What is wrong with the reference is said before anything runs.
    let reference = args.against.as_ref().map(|path| Ok((path, load::graph(&ir, invocation, path)?))).transpose()?;
    let loaded = load::graph(&ir, invocation, &args.graph.graph)?;
    let (report, calls) = compare(&ir, invocation, &args.graph, &loaded)?;
    invocation.say(&text(&report, &calls));
    match &reference {
        Some((path, reference)) => against::compare(&ir, invocation, args, &loaded, path, reference),
        None => Ok(()),
    }
}

/// The report, and how often the program calls each ELF.
fn compare(
    ir: &Ir,
    invocation: &mut Invocation,
    args: &GraphArgs,
    loaded: &Loaded<'_>,
) -> Result<(Report, Calls), Reported> {
    let plan = pipe::make_plan(invocation, loaded)?;
    let alone = plan_alone(invocation, loaded, Some(&plan))?;
    let host = pipe::host_options(invocation);
    let objects = pipe::host_objects(ir, invocation, loaded, &plan, &host)?;
    let mut fused = Vec::new();
    for variant in Variant::ALL {
        let options = variant.options(&host);
        let elfs = build(ir, invocation, loaded, &plan, &objects, &options)?;
        fused.push((variant, elfs));
    }
    let alone = build(ir, invocation, loaded, &alone, &objects, &host)?;
    let steps = steps(&loaded.graph, &plan, fused, alone);
    let report = invocation
        .time("run", |s| airlink_host::verify::verify(&steps, args.seed, args.streams.options(), &mut s.findings))?;
    let calls = plan.elfs.iter().map(|e| (e.name.clone(), e.calls.len())).collect();
    Ok((report, calls))
}

/// A plan in which every launch has an ELF of its own: of the first calls of a plan, whose further calls run the same
/// program, or all. Its findings were all made by the real plan.
fn plan_alone(invocation: &mut Invocation, loaded: &Loaded<'_>, first_of: Option<&Plan>) -> Result<Plan, Reported> {
    let mut graph = loaded.graph.clone();
    graph.cuts.clear();
    for launch in &mut graph.launches {
        launch.fuse = Some(Placed::new(Fuse::Never, launch.name.span));
    }
    // Unsplit as well: what a split changes would show.
    let given = crate::limits::plan_options(invocation, &loaded.object_sizes);
    let options = PlanOptions {
        has_no_k_split: true,
        has_no_n_split: true,
        has_no_row_split: true,
        unrolls: true,
        max_launches: None,
        ..given
    };
    let mut findings = Findings::default();
    findings.sources = invocation.findings.sources.clone();
    match airlink_plan::plan(&graph, &loaded.kernels, &loaded.objects, &options, &mut findings) {
        Ok(mut plan) => {
            if let Some(real) = first_of {
                let first: BTreeSet<_> = real.elfs.iter().flat_map(|e| &e.launches).map(|l| l.launch).collect();
                plan.elfs.retain(|e| first.contains(&e.launches[0].launch));
            }
            plan.elfs.iter_mut().for_each(name_after_launch);
            Ok(plan)
        }
        Err(reported) => {
            findings.iter().for_each(|f| invocation.findings.push(f.clone()));
            Err(reported)
        }
    }
}

/// Reports name a launch by its name in the graph, which its own ELF gets, unless a symbol has it.
fn name_after_launch(elf: &mut ElfPlan) {
    let name = elf.launches[0].name.clone();
    let locals = elf.launches[0].locals.iter().any(|l| l.to == name);
    if !locals && elf.externs.iter().all(|e| e.symbol != name) {
        elf.name = name;
    }
}

/// Stitches, checks and builds every ELF of a plan.
fn build(
    ir: &Ir,
    invocation: &mut Invocation,
    loaded: &Loaded<'_>,
    plan: &Plan,
    objects: &[KernelObject],
    options: &HostOptions,
) -> Result<Vec<Vec<u8>>, Reported> {
    let programs = pipe::fuse(ir, invocation, loaded, plan)?;
    let findings = &mut invocation.findings;
    programs
        .iter()
        .map(|p| airlink_host::build(ir, p, &loaded.graph, &loaded.kernels, objects, options, findings))
        .collect()
}

/// The program's steps: each fused ELF where its first launch stands, each host step in its place.
fn steps(graph: &LaunchGraph, plan: &Plan, mut fused: Vec<(Variant, Vec<Vec<u8>>)>, alone: Vec<Vec<u8>>) -> Vec<Step> {
    let mut alone = alone.into_iter();
    let mut steps = Vec::new();
    for step in &graph.steps {
        match step {
            GraphStep::Host(host) => {
                let host = graph.host(*host);
                let write = |w: &airlink_graph::HostOperand| HostWrite {
                    buffer: graph.buffer(w.buffer).name.clone(),
                    range: w.range.start..w.range.end,
                };
                let writes = host.writes.iter().map(write).collect();
                steps.push(Step::Host { name: host.name.value.clone(), writes });
            }
            GraphStep::Launch(launch) => {
                let Some(elf) = plan.elfs.iter().position(|e| e.launches[0].launch == *launch) else { continue };
                let planned = &plan.elfs[elf];
                let ops = |l: &airlink_plan::LaunchPlan| -> usize {
                    (0..l.entries.len()).map(|e| planned.piece_suffixes(&l.name, e).len()).sum()
                };
                let launch_counts: Vec<usize> = planned.launches.iter().map(ops).collect();
                let count = planned.launches.len();
                let fused = fused.iter_mut().map(|(v, elfs)| (*v, std::mem::take(&mut elfs[elf]))).collect();
                let unfused = alone.by_ref().take(count).collect();
                steps.push(Step::Elf(ElfUnderTest { fused, unfused, launch_counts }));
            }
        }
    }
    steps
}

fn text(report: &Report, calls: &Calls) -> String {
    let ms = |d: std::time::Duration| d.as_secs_f64() * 1e3;
    let mut text = String::new();
    let mut elements = 0;
    for elf in &report.elfs {
        let unfused: f64 = elf.launches.iter().map(|l| ms(l.unfused)).sum();
        let more = match calls.get(&elf.name) {
            Some(&count) if count > 1 => format!(", called {count} times, of which this is the first"),
            _ => String::new(),
        };
        text += &format!(
            "{}: {} launches, fused {:.3} ms, one by one {unfused:.3} ms{more}\n",
            elf.name,
            elf.launches.len(),
            ms(elf.fused)
        );
        for launch in &elf.launches {
            let compared: Vec<String> = launch.compared.iter().map(|(name, n)| format!("{name} ({n})")).collect();
            elements += launch.compared.values().sum::<u64>();
            text += &format!("  {:<12} {:>9.3} ms  {}\n", launch.name, ms(launch.unfused), compared.join(", "));
        }
    }
    text += &format!("bit-exact: {elements} elements, compared {}\n", report.checks.join(", "));
    text + "times are host times: they show what dispatch and copies cost here and forecast no NPU\n"
}
