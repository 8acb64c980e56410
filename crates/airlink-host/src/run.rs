//! One run of a host ELF.

mod faults;
mod profile;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use airlink_diag::{Finding, Findings, Reported, codes};
use airlink_rt::compare::poison_left;
use airlink_rt::{
    Argument, BufferError, BufferSet, CallError, Caller, Entry, HostElf, Manifest, ManifestArg, Placement, Poison,
    Role, StreamOptions, inputs, npy,
};
use indexmap::IndexMap;

pub(crate) use faults::{call_error, load};
pub use profile::{Entered, Profile, profile};

/// What the arguments get before the run.
#[derive(Clone, Debug, Default)]
pub struct RunInputs {
    /// For arguments without an array.
    pub seed: u64,
    /// Argument name to a file's name, for messages, and its bytes.
    pub arrays: IndexMap<String, (String, Vec<u8>)>,
    /// Return intermediates too, not only what a host program reads.
    pub keep_intermediates: bool,
    /// How launches with channels are run.
    pub streams: StreamOptions,
}

/// What a run left.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOutput {
    pub manifest: Manifest,
    /// Outputs and inouts as `.npy` files, by argument name, in argument order.
    pub arrays: IndexMap<String, Vec<u8>>,
    /// Time in the entry alone.
    pub duration: Duration,
}

/// Loads an ELF, runs its whole program once between guards, and returns what it wrote.
///
/// # Errors
/// AL0801 if the file cannot be read, AL0710 if it is no host ELF, AL0714 if this CPU cannot run it, AL0711 for an array
/// that does not fit, AL0707 for a fault. Warnings: AL0712 for a result that nobody wrote.
pub fn run(path: &Path, given: &RunInputs, findings: &mut Findings) -> Result<RunOutput, Reported> {
    let elf = load(path, findings)?;
    let manifest = elf.manifest().clone();
    let mut buffers = filled(&manifest, given, findings)?;
    let mut caller =
        Caller::new().map_err(|e| findings.fail(Finding::error(codes::AL0801, format!("no stack to run on: {e}"))))?;
    caller.set_stream_options(given.streams);
    let args = Argument::in_order(&buffers);
    let call = match caller.call(&elf, Entry::Program, &mut buffers, &args) {
        Ok(call) => call,
        Err(error) => {
            let error = by_launch(&elf, given, &mut caller, findings)?.unwrap_or(error);
            let finding = call_error(&manifest, &error, &findings.sources);
            return Err(findings.fail(finding));
        }
    };
    warn_unwritten(&manifest, &buffers, findings);
    let mut arrays = IndexMap::new();
    let is_kept = |role| match role {
        Role::Output | Role::Inout => true,
        Role::Intermediate => given.keep_intermediates,
        _ => false,
    };
    for arg in manifest.args.iter().filter(|a| is_kept(a.role)) {
        let bytes = buffers.get(arg.index).and_then(|b| b.bytes()).unwrap_or_default();
        let mut file = Vec::new();
        npy::write(&mut file, arg.element, &arg.shape, bytes).map_err(|e| {
            findings.fail(
                Finding::error(codes::AL0901, format!("`{}` cannot be put into an .npy file", arg.name))
                    .found(e.to_string()),
            )
        })?;
        arrays.insert(arg.name.clone(), file);
    }
    Ok(RunOutput { manifest, arrays, duration: call.duration })
}

/// The arguments with their values, sealed.
fn filled(manifest: &Manifest, given: &RunInputs, findings: &mut Findings) -> Result<BufferSet, Reported> {
    let mut buffers = BufferSet::for_manifest(manifest, Placement::End).map_err(|e| no_memory(&e, findings))?;
    fill(manifest, given, &mut buffers, findings)?;
    buffers.seal().map_err(|e| no_memory(&e, findings))?;
    Ok(buffers)
}

/// How a program that fails does so launch by launch, which tells the launch; none if it then does not fail.
fn by_launch(
    elf: &HostElf,
    given: &RunInputs,
    caller: &mut Caller,
    findings: &mut Findings,
) -> Result<Option<CallError>, Reported> {
    let mut buffers = filled(elf.manifest(), given, findings)?;
    let args = Argument::in_order(&buffers);
    let calls = (0..elf.manifest().launches.len()).map(|k| caller.call(elf, Entry::Launch(k), &mut buffers, &args));
    Ok(calls.filter_map(Result::err).next())
}

fn fill(
    manifest: &Manifest,
    given: &RunInputs,
    buffers: &mut BufferSet,
    findings: &mut Findings,
) -> Result<(), Reported> {
    let mut failed = None;
    for name in given.arrays.keys().filter(|n| manifest.arg(n).is_none()) {
        let names: Vec<String> = manifest.args.iter().map(|a| format!("`{}`", a.name)).collect();
        failed = Some(
            findings.fail(
                Finding::error(codes::AL0711, format!("`{}` has no argument `{name}`", manifest.name))
                    .allowed(names.join(", "))
                    .remedy("give the name of an argument: `--arg NAME=FILE.npy`"),
            ),
        );
    }
    for arg in &manifest.args {
        let Some(bytes) = buffers.get_mut(arg.index).and_then(|b| b.bytes_mut()) else { continue };
        match given.arrays.get(&arg.name) {
            Some((file, array)) => {
                if let Err(error) = npy::read(&mut array.as_slice(), arg.element, &arg.shape, bytes) {
                    failed = Some(
                        findings.fail(
                            Finding::error(codes::AL0711, format!("`{file}` does not fit argument `{}`", arg.name))
                                .found(error.to_string())
                                .allowed(&arg.ty)
                                .remedy("save an array of that shape and type"),
                        ),
                    );
                }
            }
            None if arg.role.is_given() => inputs::fill(arg.element, arg.role, given.seed, &arg.name, bytes),
            None => bytes.fill(Poison::Nan.byte()),
        }
    }
    failed.map_or(Ok(()), Err)
}

/// AL0712 for results that hold the poison still, and for intermediates that pass it on to them. Floats only: all other
/// poison could be a value.
fn warn_unwritten(manifest: &Manifest, buffers: &BufferSet, findings: &mut Findings) {
    let written = |a: &&ManifestArg| a.element.is_float() && matches!(a.role, Role::Output | Role::Intermediate);
    let mut unwritten = Vec::new();
    for arg in manifest.args.iter().filter(written) {
        let bytes = buffers.get(arg.index).and_then(|b| b.bytes()).unwrap_or_default();
        let left = poison_left(arg.element, &arg.shape, bytes, Poison::Nan);
        let total = bytes.len() / arg.element.size_bytes();
        unwritten.extend(left.first.map(|(first, _)| (arg, left.count, total, first)));
    }
    let names: BTreeSet<&str> = unwritten.iter().map(|(a, ..)| a.name.as_str()).collect();
    // An intermediate with padding that nobody reads on is nobody's concern.
    let is_result = |arg: &ManifestArg| {
        arg.role == Role::Output
            || unwritten.iter().any(|(a, ..)| {
                a.role == Role::Output && passes_on(manifest, &a.name, &BTreeSet::from([arg.name.as_str()]))
            })
    };
    for (arg, count, total, first) in &unwritten {
        if !is_result(arg) || passes_on(manifest, &arg.name, &names) {
            continue;
        }
        let writers: Vec<&str> =
            manifest.launches.iter().filter(|l| l.writes.contains(&arg.index)).map(|l| l.name.as_str()).collect();
        findings.push(
            Finding::warning(
                codes::AL0712,
                format!("{count} of {total} elements of `{}` were never written", arg.name),
            )
            .found(format!("the first is element {first}"))
            .remedy(unwritten_remedy(&writers)),
        );
    }
}

/// Whether a launch that writes `name` reads another buffer of `unwritten`: what it was not given, it cannot pass on.
pub(crate) fn passes_on(manifest: &Manifest, name: &str, unwritten: &BTreeSet<&str>) -> bool {
    let Some(index) = manifest.args.iter().position(|a| a.name == name) else { return false };
    let is_other =
        |i: &usize| *i != index && manifest.args.get(*i).is_some_and(|a| unwritten.contains(a.name.as_str()));
    manifest.launches.iter().any(|l| l.writes.contains(&index) && l.reads.iter().any(is_other))
}

/// What to look at where elements are missing.
pub(crate) fn unwritten_remedy(writers: &[&str]) -> String {
    let names: Vec<String> = writers.iter().map(|w| format!("`{w}`")).collect();
    match &names[..] {
        [] => "compare the launch's offsets and sizes with the shape of the argument".to_string(),
        names => format!("compare the offsets and sizes of launch {} with the shape of the argument", names.join(", ")),
    }
}

pub(crate) fn no_memory(error: &BufferError, findings: &mut Findings) -> Reported {
    findings.fail(
        Finding::error(codes::AL0801, format!("the arguments cannot be placed in memory: {error}"))
            .remedy("run on a machine with more memory"),
    )
}
