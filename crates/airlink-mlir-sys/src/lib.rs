//! Builds `mlir/` and declares its C functions.
//!
//! Nothing here is safe to call as it stands: `airlink-ir` and `airlink-host` wrap it.

mod parse;

pub use mlir_sys;
pub use parse::*;

use mlir_sys::{MlirAttribute, MlirContext, MlirDialectHandle, MlirType};

unsafe extern "C" {
    /// Handle of the AIR dialect, for `mlirDialectHandleInsertDialect` and the like.
    pub fn mlirGetDialectHandle__air__() -> MlirDialectHandle;
    /// Whether `r#type` is `!air.async.token`.
    pub fn airlinkTypeIsAsyncToken(r#type: MlirType) -> bool;
    /// `!air.async.token`. Loads the dialect into `context` if it is not loaded.
    pub fn airlinkAsyncTokenTypeGet(context: MlirContext) -> MlirType;
    /// Whether `r#type` is `!air.universe`.
    pub fn airlinkTypeIsUniverse(r#type: MlirType) -> bool;
    /// Whether `attribute`, which may be null, is `#air.symmetric_heap`.
    pub fn airlinkAttributeIsSymmetricHeap(attribute: MlirAttribute) -> bool;
}
