//! Parsing under a file name, and the bytes of resources: `mlir/lib/Shims/{Parse,Resources}.cpp`.

use mlir_sys::{MlirAttribute, MlirContext, MlirModule, MlirStringRef};

unsafe extern "C" {
    /// Parses and verifies a whole file, text or bytecode; what stands outside a module is wrapped in one. Locations
    /// name the file `name`. Null on failure, with the reasons given to the context's diagnostic handler. `text` is
    /// copied. The caller owns the module.
    pub fn airlinkModuleParse(context: MlirContext, text: MlirStringRef, name: MlirStringRef) -> MlirModule;
    /// The blob of a `dense_resource` attribute, which lives as long as the context; empty for another attribute.
    pub fn airlinkDenseResourceBytes(attribute: MlirAttribute) -> MlirStringRef;
}
