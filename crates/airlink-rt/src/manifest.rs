//! The manifest of a host ELF: what it computes, on which arguments, built from what.
//!
//! The emitter writes it as JSON into the section `.airlink.manifest`; the runner reads it back before it opens the
//! file. It names nothing of the machine that built it, so the same inputs give the same bytes.

use serde::{Deserialize, Serialize};

use crate::{CpuLevel, Element};

/// Where the manifest stands in the ELF.
pub const MANIFEST_SECTION: &str = ".airlink.manifest";
/// The version of the JSON below.
pub const MANIFEST_SCHEMA: u64 = 1;
/// The version of the entries: `int32_t entry(void *const *args, uint64_t n_args)`, 0 for success.
pub const ENTRY_ABI: u64 = 1;
/// The symbol that runs every launch in order.
pub const PROGRAM_ENTRY: &str = "airlink_run";

/// The symbol that runs launch `index` alone, on the same argument array.
pub fn launch_entry(index: usize) -> String {
    format!("airlink_launch_{index}")
}

/// What a host ELF says about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`MANIFEST_SCHEMA`]
    pub schema: u64,
    /// [`ENTRY_ABI`]
    pub abi: u64,
    /// `x86_64-linux`
    pub target: String,
    /// The name of the ELF, which is also the name of the fused function.
    pub name: String,
    /// The lowest level of CPU that runs the code.
    pub cpu: CpuLevel,
    pub fp: FpRules,
    /// BLAKE3 of the fused module's text, in hexadecimal.
    pub module_hash: String,
    /// The symbol that runs the whole program.
    pub entry: String,
    pub args: Vec<ManifestArg>,
    pub launches: Vec<ManifestLaunch>,
    #[serde(default)]
    pub channels: Vec<ManifestChannel>,
    #[serde(default)]
    pub kernels: Vec<ManifestKernel>,
}

/// The arithmetic that the code keeps to; two ELFs with unequal rules need not give the same bits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FpRules {
    /// `ieee`: a fused multiply-add rounds once, on every CPU.
    pub fma: String,
    /// `off`: no multiply and add are contracted.
    pub contract: String,
    /// `nearest-even`: how f32 becomes bf16.
    pub bf16: String,
    /// Which implementation of exp and the like: `airlink-1`.
    pub libm: String,
}

impl Default for FpRules {
    /// The rules of every ELF that airlink emits today.
    fn default() -> Self {
        let [fma, contract, bf16, libm] = ["ieee", "off", "nearest-even", "airlink-1"].map(String::from);
        FpRules { fma, contract, bf16, libm }
    }
}

/// One argument of the program, in the order of the argument array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestArg {
    pub index: usize,
    /// The buffer's name in the launch graph.
    pub name: String,
    /// As MLIR prints it: `memref<2048x2048xbf16>`.
    #[serde(rename = "type")]
    pub ty: String,
    pub element: Element,
    /// Bits of one element in memory.
    pub element_bits: u64,
    /// Extents in elements; empty for a single element.
    pub shape: Vec<u64>,
    pub bytes: u64,
    pub role: Role,
    /// Launches that read it, ascending.
    pub readers: Vec<usize>,
    /// Launches that write it, ascending.
    pub writers: Vec<usize>,
}

/// What becomes of an argument, from the host's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Input,
    Output,
    Static,
    Intermediate,
    Inout,
    Dead,
}

impl Role {
    pub fn name(self) -> &'static str {
        match self {
            Role::Input => "input",
            Role::Output => "output",
            Role::Static => "static",
            Role::Intermediate => "intermediate",
            Role::Inout => "inout",
            Role::Dead => "dead",
        }
    }

    /// Whether the host gives it a value before a run.
    pub fn is_given(self) -> bool {
        matches!(self, Role::Input | Role::Static | Role::Inout)
    }
}

/// One launch, which has an entry of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestLaunch {
    pub index: usize,
    pub name: String,
    /// `airlink_launch_0`
    pub entry: String,
    /// The kernel file's name, without folders.
    pub kernel: String,
    /// BLAKE3 of the kernel file, in hexadecimal.
    pub kernel_hash: String,
    /// Indices of the arguments that it reads, ascending.
    pub reads: Vec<usize>,
    /// Indices of the arguments that it writes, ascending.
    pub writes: Vec<usize>,
    /// Extents of the launch's iteration space; all are run in row-major order.
    pub points: Vec<u64>,
    #[serde(default)]
    pub uses_channels: bool,
}

/// A channel that the program streams through at run time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestChannel {
    pub name: String,
    pub size: Vec<u64>,
    /// `npu_dma_stream`
    #[serde(rename = "type")]
    pub ty: String,
    pub element: Element,
}

/// A kernel symbol and where its code came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestKernel {
    /// The symbol after renaming.
    pub symbol: String,
    /// The object's name: `mv_k8192.o`.
    pub object: String,
    /// `file`, or the reference kernel's name and version: `reference:gemv64@1`.
    pub source: String,
    /// BLAKE3 of the object's bytes, in hexadecimal.
    pub hash: String,
}

/// A manifest that contradicts itself or this version of airlink.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    #[error("the manifest is not the JSON that it should be: {0}")]
    Json(String),
    #[error("the manifest has schema {found}, this airlink reads {allowed}")]
    Schema { found: u64, allowed: u64 },
    #[error("the ELF has entry ABI {found}, this airlink calls {allowed}")]
    Abi { found: u64, allowed: u64 },
    #[error("{list} {position} of the manifest has index {found}")]
    Index { list: &'static str, position: usize, found: usize },
    #[error("argument `{name}` has {found} bytes in the manifest, its type has {allowed}")]
    Bytes { name: String, found: u64, allowed: u128 },
    #[error("the manifest names argument `{0}` twice")]
    DuplicateArg(String),
    #[error("the manifest names {what} {found} where there are {count}")]
    OutOfRange { what: &'static str, found: usize, count: usize },
}

impl Manifest {
    /// The JSON for the section, without a trailing NUL.
    pub fn to_json(&self) -> String {
        // Strings, numbers and lists only: there is nothing in it that JSON cannot hold.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads the section's bytes; NUL bytes at the end don't count.
    ///
    /// # Errors
    /// Other versions of the JSON or of the entries, before anything else; then whatever [`Manifest::validate`] finds.
    pub fn parse(bytes: &[u8]) -> Result<Manifest, ManifestError> {
        #[derive(Deserialize)]
        struct Versions {
            schema: u64,
            abi: u64,
        }
        let end = bytes.iter().rposition(|&b| b != 0).map_or(0, |i| i + 1);
        let json_error = |e: serde_json::Error| ManifestError::Json(e.to_string());
        let versions: Versions = serde_json::from_slice(&bytes[..end]).map_err(json_error)?;
        if versions.schema != MANIFEST_SCHEMA {
            return Err(ManifestError::Schema { found: versions.schema, allowed: MANIFEST_SCHEMA });
        }
        if versions.abi != ENTRY_ABI {
            return Err(ManifestError::Abi { found: versions.abi, allowed: ENTRY_ABI });
        }
        let manifest: Manifest = serde_json::from_slice(&bytes[..end]).map_err(json_error)?;
        manifest.validate()?;
        Ok(manifest)
    }

    /// Checks that indices count up, that sizes are those of the types, and that references lead somewhere.
    pub fn validate(&self) -> Result<(), ManifestError> {
        check_indices("argument", self.args.iter().map(|a| a.index))?;
        check_indices("launch", self.launches.iter().map(|l| l.index))?;
        for (i, arg) in self.args.iter().enumerate() {
            let elements = arg.shape.iter().try_fold(1u128, |n, &d| n.checked_mul(u128::from(d)));
            let allowed = elements.and_then(|n| n.checked_mul(arg.element.size_bytes() as u128)).unwrap_or(u128::MAX);
            if u128::from(arg.bytes) != allowed || arg.element_bits != arg.element.bits() {
                return Err(ManifestError::Bytes { name: arg.name.clone(), found: arg.bytes, allowed });
            }
            if self.args[..i].iter().any(|a| a.name == arg.name) {
                return Err(ManifestError::DuplicateArg(arg.name.clone()));
            }
            check_references("launch", arg.readers.iter().chain(&arg.writers), self.launches.len())?;
        }
        for launch in &self.launches {
            check_references("argument", launch.reads.iter().chain(&launch.writes), self.args.len())?;
        }
        Ok(())
    }

    pub fn arg(&self, name: &str) -> Option<&ManifestArg> {
        self.args.iter().find(|a| a.name == name)
    }
}

fn check_indices(list: &'static str, indices: impl Iterator<Item = usize>) -> Result<(), ManifestError> {
    match indices.enumerate().find(|(position, index)| position != index) {
        Some((position, found)) => Err(ManifestError::Index { list, position, found }),
        None => Ok(()),
    }
}

fn check_references<'a>(
    what: &'static str,
    mut indices: impl Iterator<Item = &'a usize>,
    count: usize,
) -> Result<(), ManifestError> {
    match indices.find(|&&i| i >= count) {
        Some(&found) => Err(ManifestError::OutOfRange { what, found, count }),
        None => Ok(()),
    }
}
