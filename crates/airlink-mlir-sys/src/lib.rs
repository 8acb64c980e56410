//! Builds `mlir/` and declares its C functions.
//!
//! Nothing here is safe to call as it stands: `airlink-ir` and `airlink-host` wrap it. Unless a function says otherwise,
//! handles must be valid and not null, strings need no terminating null, and what a callback receives lives only as long
//! as the call.
//!
//! Passes, for textual pipelines once [`airlinkRegisterPasses`] has run. All work on any operation.
//!
//! | name | does |
//! |---|---|
//! | `airlink-math-approx` | transcendental functions on f32 and narrower become polynomials; what would still call libm is an error |
//! | `airlink-fmuladd-to-fma` | `llvm.intr.fmuladd` becomes `llvm.intr.fma`, which always rounds once |
//! | `airlink-strip-contract` | takes the fast-math flags off `arith.extf` and `arith.truncf`; belongs directly behind `arith-emulate-unsupported-floats` |
//! | `airlink-strip-fastmath` | takes the fast-math flags off every operation of `arith`, `math`, `vector` and `llvm` |

mod emit;
mod host;
mod parse;

pub use emit::*;
pub use host::*;
pub use mlir_sys;
pub use parse::*;

use std::ffi::c_void;

use mlir_sys::{MlirAttribute, MlirDialectHandle, MlirLocation, MlirOperation, MlirStringRef, MlirType};

// The dialect: mlir/lib/AIR.
unsafe extern "C" {
    /// Handle of the AIR dialect, for `mlirDialectHandleInsertDialect` and the like.
    pub fn mlirGetDialectHandle__air__() -> MlirDialectHandle;
    /// Whether `r#type` is `!air.async.token`.
    pub fn airlinkTypeIsAsyncToken(r#type: MlirType) -> bool;
}

// Anything with FunctionOpInterface: mlir/lib/Shims/Function.cpp.
unsafe extern "C" {
    /// Sets an attribute of argument #`index`; null removes it. False if there is no such argument.
    pub fn airlinkFunctionSetArgumentAttribute(
        function: MlirOperation,
        index: isize,
        name: MlirStringRef,
        attribute: MlirAttribute,
    ) -> bool;
    /// The dictionary of argument #`index`, or null if it has no attributes or does not exist.
    pub fn airlinkFunctionGetArgumentAttributes(function: MlirOperation, index: isize) -> MlirAttribute;
}

/// Receives the operation, the whole reference, and the name of the operation's attribute that contains it.
pub type AirlinkSymbolUseCallback = unsafe extern "C" fn(MlirOperation, MlirAttribute, MlirStringRef, *mut c_void);

// Symbols: mlir/lib/Shims/Symbols.cpp. Both functions see the references on `root` and below, wherever in an attribute
// they stand, but not those inside a nested symbol table, which mean the symbols of that table. A nested reference
// `@a::@b` is a use of both names: kernels have one name space, and hierarchy names are referred to in this form.
unsafe extern "C" {
    /// Calls `callback` for each reference to `symbol`, or for every reference if `symbol` is empty, in the order of the
    /// text. Equal references within one attribute count once.
    pub fn airlinkSymbolUses(
        root: MlirOperation,
        symbol: MlirStringRef,
        callback: AirlinkSymbolUseCallback,
        user_data: *mut c_void,
    );
    /// Replaces references to `from[i]` by references to `to[i]`, all at once, so that names can be swapped. Leaves
    /// the definitions and all strings alone. Returns how many operations changed. One walk, however long the lists.
    pub fn airlinkReplaceSymbolUses(
        root: MlirOperation,
        count: isize,
        from: *const MlirStringRef,
        to: *const MlirStringRef,
    ) -> isize;
}

/// A place in a file. Lines and columns count from 1, columns in bytes; a point ends where it starts.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AirlinkFileRange {
    /// Lives as long as the context.
    pub file: MlirStringRef,
    pub line: u32,
    pub column: u32,
    pub end_line: u32,
    pub end_column: u32,
}

// Locations: mlir/lib/Shims/Locations.cpp.
unsafe extern "C" {
    /// The first place in a file that `location` contains: the child of a name, the callee before the caller, the first
    /// of a fusion that has one. False, and `range` is untouched, if there is none.
    pub fn airlinkLocationResolve(location: MlirLocation, range: *mut AirlinkFileRange) -> bool;
}

/// Receives a key, the bytes of its blob and their number; null and 0 if the key has no blob.
pub type AirlinkResourceCallback = unsafe extern "C" fn(MlirStringRef, *const c_void, usize, *mut c_void);

// Dense resources: mlir/lib/Shims/Resources.cpp.
//
// Keys are unique in a context, not in a module: a key that is taken gets a suffix (`w`, `w_1`) when a module is parsed,
// and its attributes and blob go with it. So merged modules print both blobs without help; these functions are for
// choosing the printed keys.
unsafe extern "C" {
    /// Calls `callback` for each resource that `dense_resource` attributes on `root` or below refer to, in the order of
    /// first use.
    pub fn airlinkDenseResources(root: MlirOperation, callback: AirlinkResourceCallback, user_data: *mut c_void);
    /// Makes the attributes that refer to `from[i]` refer to `to[i]`, which shows the same bytes. A `to[i]` that the
    /// context has already gets a suffix. Returns how many got exactly the key that was asked for.
    pub fn airlinkRenameDenseResources(
        root: MlirOperation,
        count: isize,
        from: *const MlirStringRef,
        to: *const MlirStringRef,
    ) -> isize;
}

// Passes: mlir/lib/Shims/Passes.cpp.
unsafe extern "C" {
    /// Registers the passes of the table above for textual pipelines. Further calls do nothing.
    pub fn airlinkRegisterPasses();
}
