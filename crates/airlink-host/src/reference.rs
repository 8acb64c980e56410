//! Reference kernels: host code for the externs of the public decode kernels, written as MLIR for one signature each.
//!
//! A host ELF has no NPU object to link, so an extern without a host object gets one of these. Each is a module of
//! upstream ops (`func`, `arith`, `math.fma`, `scf`, `vector`, `llvm`) that defines the symbol with the host ABI of
//! kernels: every memref is one pointer to contiguous row-major elements, `i32` goes by value, nothing is returned.
//! Extents that the public objects have compiled in come from the operand types.
//!
//! The numerics are airlink's own and part of the kernel's definition: which steps round, and in which order sums are
//! taken. They follow the shape of the public sources, they do not claim the NPU's bits. There are no fast-math flags,
//! no calls, and every fused multiply-add is an explicit `math.fma`, so a result is the same on every CPU.
//!
//! A CPU level without that instruction needs [`soft_fma`] beside the kernels, which is slow and gives the same bits.
//!
//! The code reads two bf16 as one 32-bit word in places: it is for little-endian machines.

mod attention;
mod blocks;
mod elementwise;
mod fill;
mod fma;
mod gemv;
mod int4;
mod math;
mod numbers;
mod object;
mod rope;
mod text;

pub use fma::soft_fma;
pub use math::math_function;
pub(crate) use object::module;
pub use object::object;

use airlink_kernel::{KernelType, MemRefType};

/// A reference kernel and what it promises.
pub struct Reference {
    /// What `ref = { symbol = "..." }` and `--ref symbol=...` call it.
    pub name: &'static str,
    /// Raised by one whenever any result bit can differ from the revision before.
    pub revision: u32,
    /// The extern symbols that may mean it.
    pub symbols: &'static [&'static str],
    /// Its operands, as a C programmer would write them.
    pub signature: &'static str,
    /// What it computes, in one or two sentences.
    pub meaning: &'static str,
    /// Where it rounds and in which order it adds.
    pub rounding: &'static str,
    /// The module's text, if the operand types fit.
    build: fn(symbol: &str, inputs: &[KernelType]) -> Option<String>,
}

/// One of the kernels of [`variants`].
pub type Variant = &'static Reference;

static ALL: &[Variant] = &[
    &gemv::GEMV64,
    &gemv::GEMV64_ACCUMULATE,
    &gemv::GEMV_WORD_TRANSPOSED,
    &int4::INT4_GEMV,
    &int4::INT4_GEMV_STORE,
    &int4::INT4_GEMV_OFFSET,
    &rope::ROPE_HALFSPLIT,
    &rope::ROPE_INTERLEAVED,
    &rope::ROPE_PARTIAL,
    &rope::ROPE_IN_PLACE,
    &elementwise::SILU_AND_MUL,
    &elementwise::ADD_SLICE,
    &elementwise::ADD_INTO,
    &elementwise::ADD_3,
    &elementwise::SCALE_ADD,
    &elementwise::GREATER_INTO,
    &elementwise::COPY,
    &elementwise::COPY_TO_OFFSET,
    &elementwise::ROUND_TO_BF16,
    &fill::ZERO_FILL,
    &fill::ZERO_FILL_F32,
    &fill::LOWEST_FILL,
    &attention::ATTN_SCORES,
    &attention::ATTN_VALUES,
    &attention::ROPE_ANGLES,
    &attention::SIN,
    &attention::COS,
    &blocks::MATMUL_BLOCKS,
    &blocks::MATMUL_BLOCKS_T,
    &blocks::SCALE_ROWS,
    &blocks::DIVIDE_ROWS,
    &blocks::SOFTMAX_D64,
    &blocks::SOFTMAX_D128,
    &blocks::RESCALE_D64,
    &blocks::RESCALE_D128,
];

/// The kernels that an extern may mean: those that know the symbol, the one of the kernel's source, and fit its types.
pub fn candidates(symbol: &str, inputs: &[KernelType]) -> Vec<Variant> {
    variants().iter().copied().filter(|v| v.symbols.contains(&symbol) && v.fits(inputs)).collect()
}

/// The kernel with this name.
pub fn find(name: &str) -> Option<Variant> {
    variants().iter().copied().find(|v| v.name == name)
}

/// All kernels, in the order in which they are documented.
pub fn variants() -> &'static [Variant] {
    ALL
}

/// The module that defines `symbol` (the name after any renaming) for operands of these types. `None` if the kernel
/// does not take them.
pub fn emit(variant: Variant, symbol: &str, inputs: &[KernelType]) -> Option<String> {
    (variant.build)(symbol, inputs)
}

/// Which operands of a kernel, by its [`Reference::id`], are surely not written. Those that move weights alone: where a
/// copy in front of a call costs something.
pub(crate) fn read_only(id: &str) -> &'static [usize] {
    let is = |kernel: Variant| kernel.id() == id;
    match () {
        () if is(&gemv::GEMV64) => &[3, 4],
        () if is(&gemv::GEMV64_ACCUMULATE) => &[0, 1],
        () => &[],
    }
}

impl Reference {
    /// Name and revision as a manifest records them: `gemv64@1`.
    pub fn id(&self) -> String {
        format!("{}@{}", self.name, self.revision)
    }

    /// Whether it can be emitted for operands of these types.
    pub fn fits(&self, inputs: &[KernelType]) -> bool {
        (self.build)("f", inputs).is_some()
    }
}

impl std::fmt::Debug for Reference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.id())
    }
}

/// The memref if its elements are `element`, its extents known, and its rows contiguous at any offset.
fn memref<'a>(ty: &'a KernelType, element: &str) -> Option<&'a MemRefType> {
    let memref = ty.as_memref()?;
    let count = memref.element_count()?;
    (memref.element == element && count <= i64::MAX as u64 / 8 && is_row_major(memref)).then_some(memref)
}

fn is_scalar(ty: &KernelType, name: &str) -> bool {
    matches!(ty, KernelType::Other(text) if text == name)
}

/// Whether the layout is the identity up to its offset. Strides of extents 0 and 1 don't matter.
fn is_row_major(memref: &MemRefType) -> bool {
    let Some(layout) = &memref.layout else { return true };
    let Some(strides) = layout.strip_prefix("strided<[").and_then(|rest| rest.split_once(']')) else { return false };
    let strides: Vec<&str> = strides.0.split(',').map(str::trim).filter(|s| !s.is_empty()).collect();
    if strides.len() != memref.shape.len() {
        return false;
    }
    let mut expected = 1u64;
    for (extent, stride) in memref.shape.iter().zip(strides).rev() {
        let Some(extent) = *extent else { return false };
        if extent > 1 && stride.parse() != Ok(expected) {
            return false;
        }
        expected = expected.saturating_mul(extent.max(1));
    }
    true
}
