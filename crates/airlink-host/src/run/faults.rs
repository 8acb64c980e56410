//! What the run time says, as findings.

mod streams;

use std::path::Path;

use airlink_diag::{Finding, Findings, Reported, Sources, codes};
use airlink_rt::{CallError, Fault, HostElf, LoadError, Manifest};

/// Opens a host ELF.
///
/// # Errors
/// AL0801, AL0710, AL0714.
pub(crate) fn load(path: &Path, findings: &mut Findings) -> Result<HostElf, Reported> {
    HostElf::load(path).map_err(|error| findings.fail(load_error(path, &error)))
}

fn load_error(path: &Path, error: &LoadError) -> Finding {
    let path = path.display();
    match error {
        LoadError::Read { source, .. } => Finding::error(codes::AL0801, format!("`{path}` cannot be read: {source}"))
            .remedy("give a file that `airlink stitch --target host` wrote"),
        LoadError::Cpu { needs, missing } => {
            Finding::error(codes::AL0714, format!("this machine's CPU cannot run `{path}`"))
                .found(format!("a CPU without {}", missing.join(", ")))
                .allowed(format!("{needs} or above"))
                .source("the manifest of the ELF")
                .remedy("build it for a lower level: `airlink stitch --cpu x86-64`")
        }
        other => Finding::error(codes::AL0710, format!("`{path}` is not a host ELF that this airlink can run"))
            .found(other.to_string())
            .remedy("build it with `airlink stitch --target host`"),
    }
}

/// A call that did not end well. `sources` are the files that a place may be shown in.
pub(crate) fn call_error(manifest: &Manifest, error: &CallError, sources: &Sources) -> Finding {
    match error {
        CallError::Stream { fault, .. } => streams::finding(format!("`{}`: {error}", manifest.name), fault, sources),
        CallError::Fault { fault: Fault::Local(damage), .. } => Finding::error(
            codes::AL0716,
            format!("`{}`: {error}", manifest.name),
        )
        .remedy(match &damage.buffer.kernels[..] {
            "" => "compare the offsets, sizes and indices of what the launch does with the buffer's type".to_string(),
            kernels => format!(
                "compare the sizes that {kernels} uses, and its C signature, with the call; `airlink explain AL0716`"
            ),
        }),
        CallError::Fault { fault, function, .. } => Finding::error(
            codes::AL0707,
            format!("`{}`: {error}", manifest.name),
        )
        .remedy(match (fault, function) {
            (Fault::StackOverflow { .. }, _) => "look for a large array in a kernel object".to_string(),
            (Fault::IllegalInstruction, _) => "compile the kernel objects for the level that `--cpu` names".to_string(),
            (Fault::Arithmetic, _) => "look for a division by a size that is zero".to_string(),
            (Fault::Trap, _) => "look for what the code checks there, and for a function without a return".to_string(),
            (_, Some(kernel)) => format!(
                "compare the C signature of `{kernel}` with its declaration, and the sizes in it with those of the call"
            ),
            (_, None) => "compare the offsets, sizes and strides of the launch's transfers with the buffer's shape, \
                              and the C signatures of its kernels with their declarations"
                .to_string(),
        }),
        other => Finding::error(codes::AL0710, format!("`{}` cannot be called", manifest.name))
            .found(other.to_string())
            .remedy("build it with the airlink that runs it"),
    }
}
