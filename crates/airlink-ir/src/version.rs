//! Which LLVM this is.

use mlir_sys as sys;

/// The version of LLVM and MLIR that is linked in: `22.1.8`.
pub fn llvm_version() -> String {
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: the function only writes one integer through each pointer.
    unsafe { sys::LLVMGetVersion(&mut major, &mut minor, &mut patch) };
    format!("{major}.{minor}.{patch}")
}
