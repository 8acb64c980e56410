//! Parsing under a file name, and the bytes of resources.

use mlir_sys::{MlirAttribute, MlirContext, MlirModule, MlirStringRef};

unsafe extern "C" {
    /// Parses and verifies a module; locations name the file `name`. Null on failure, with the reasons given to the
    /// context's diagnostic handler. `text` must be followed by a NUL that its length does not count.
    pub fn airlinkModuleParse(context: MlirContext, text: MlirStringRef, name: MlirStringRef) -> MlirModule;
    /// The blob of a `dense_resource` attribute, which lives as long as the context; empty for another attribute.
    pub fn airlinkDenseResourceBytes(attribute: MlirAttribute) -> MlirStringRef;
}
