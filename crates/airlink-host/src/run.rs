//! One run of a host ELF.

mod faults;

use std::path::Path;
use std::time::Duration;

use airlink_diag::{Finding, Findings, Reported, codes};
use airlink_rt::compare::poison_left;
use airlink_rt::{
    Argument, BufferError, BufferSet, Caller, Entry, Manifest, ManifestArg, Placement, Poison, Role, inputs, npy,
};
use indexmap::IndexMap;

pub(crate) use faults::{call_error, load};

/// What the arguments get before the run.
#[derive(Clone, Debug, Default)]
pub struct RunInputs {
    /// For arguments without an array.
    pub seed: u64,
    /// Argument name to a file's name, for messages, and its bytes.
    pub arrays: IndexMap<String, (String, Vec<u8>)>,
    /// Return intermediates too, not only what a host program reads.
    pub keep_intermediates: bool,
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
    let mut buffers = BufferSet::for_manifest(&manifest, Placement::End).map_err(|e| no_memory(&e, findings))?;
    fill(&manifest, given, &mut buffers, findings)?;
    buffers.seal().map_err(|e| no_memory(&e, findings))?;
    let mut caller =
        Caller::new().map_err(|e| findings.fail(Finding::error(codes::AL0801, format!("no stack to run on: {e}"))))?;
    let args = Argument::in_order(&buffers);
    let call =
        caller.call(&elf, Entry::Program, &mut buffers, &args).map_err(|e| findings.fail(call_error(&manifest, &e)))?;
    let mut arrays = IndexMap::new();
    let is_kept = |role| match role {
        Role::Output | Role::Inout => true,
        Role::Intermediate => given.keep_intermediates,
        _ => false,
    };
    for arg in manifest.args.iter().filter(|a| is_kept(a.role)) {
        let bytes = buffers.get(arg.index).and_then(|b| b.bytes()).unwrap_or_default();
        warn_unwritten(arg, bytes, findings);
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

/// Floats only: all other poison could be a value.
fn warn_unwritten(arg: &ManifestArg, bytes: &[u8], findings: &mut Findings) {
    if !arg.element.name().contains('f') || arg.role != Role::Output {
        return;
    }
    let left = poison_left(arg.element, &arg.shape, bytes, Poison::Nan);
    if let Some((index, _)) = left.first {
        findings.push(
            Finding::warning(
                codes::AL0712,
                format!(
                    "{} of {} elements of `{}` were never written",
                    left.count,
                    bytes.len() / arg.element.size_bytes(),
                    arg.name
                ),
            )
            .found(format!("the first is element {index}"))
            .remedy("compare the launch's offsets and sizes with the shape of the argument"),
        );
    }
}

pub(crate) fn no_memory(error: &BufferError, findings: &mut Findings) -> Reported {
    findings.fail(
        Finding::error(codes::AL0801, format!("the arguments cannot be placed in memory: {error}"))
            .remedy("run on a machine with more memory"),
    )
}
