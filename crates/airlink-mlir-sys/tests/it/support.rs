//! Context, parsing with diagnostics, and where the shared corpus is.

use std::{
    cell::RefCell,
    env,
    ffi::{CString, c_char, c_void},
    fs,
    path::{Path, PathBuf},
    rc::Rc,
};

use airlink_mlir_sys::{mlirGetDialectHandle__air__, mlir_sys::*};
use melior::{
    Context,
    dialect::DialectRegistry,
    ir::{Operation, operation::OperationLike},
    utility::{register_all_dialects, register_all_llvm_translations, register_all_passes},
};

/// A context that knows every upstream dialect and ours, and refuses all others.
pub fn context() -> Context {
    static PASSES: std::sync::Once = std::sync::Once::new();
    PASSES.call_once(|| {
        register_all_passes();
    });
    let registry = DialectRegistry::new();
    register_all_dialects(&registry);
    // SAFETY: both handles are valid.
    unsafe { mlirDialectHandleInsertDialect(mlirGetDialectHandle__air__(), registry.to_raw()) };
    let context = Context::new();
    context.append_dialect_registry(&registry);
    register_all_llvm_translations(&context);
    context
}

pub fn string_ref(text: &str) -> MlirStringRef {
    MlirStringRef { data: text.as_ptr().cast(), length: text.len() }
}

/// Appends to the `Vec<u8>` behind `user`.
pub unsafe extern "C" fn append(bytes: *const c_char, length: usize, user: *mut c_void) {
    // SAFETY: the caller of the C function passed a live vector.
    unsafe { (*user.cast::<Vec<u8>>()).extend_from_slice(std::slice::from_raw_parts(bytes.cast(), length)) }
}

/// Runs `action` and collects what MLIR reports meanwhile, one `location: message` a line.
pub fn diagnostics<T>(context: &Context, action: impl FnOnce() -> T) -> (T, String) {
    let report = Rc::new(RefCell::new(String::new()));
    let sink = report.clone();
    let handler = context.attach_diagnostic_handler(move |diagnostic| {
        *sink.borrow_mut() += &format!("{}: {diagnostic}\n", diagnostic.location());
        true
    });
    let result = action();
    context.detach_diagnostic_handler(handler);
    let text = report.borrow().clone();
    (result, text)
}

/// Parses a whole file as one operation, so that locations carry `name`.
pub fn parse<'c>(context: &'c Context, text: &str, name: &str) -> Result<Operation<'c>, String> {
    let name = CString::new(name).unwrap();
    let text = CString::new(text).unwrap();
    // SAFETY: both strings are null-terminated and outlive the call.
    let (raw, report) = diagnostics(context, || unsafe {
        mlirOperationCreateParse(
            context.to_raw(),
            mlirStringRefCreateFromCString(text.as_ptr()),
            mlirStringRefCreateFromCString(name.as_ptr()),
        )
    });
    if raw.ptr.is_null() {
        return Err(report);
    }
    // SAFETY: not null, and nobody else owns it.
    let operation = unsafe { Operation::from_raw(raw) };
    assert!(operation.verify(), "the parser verifies");
    Ok(operation)
}

/// The directory of inputs shared by all checkouts, beside the workspace. `None` where it is absent, which is an error
/// if AIRLINK_REQUIRE_SHARED=1.
pub fn shared() -> Option<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    if directory.join("corpus").is_dir() {
        return Some(directory);
    }
    assert!(
        env::var("AIRLINK_REQUIRE_SHARED").as_deref() != Ok("1"),
        "AIRLINK_REQUIRE_SHARED=1, but {} has no corpus",
        directory.display()
    );
    eprintln!("skipped: {} has no corpus", directory.display());
    None
}

/// Every `.mlir` below `directory`, sorted.
pub fn mlir_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(mlir_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "mlir") {
            files.push(path);
        }
    }
    files.sort();
    files
}
