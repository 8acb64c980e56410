//! Context, parsing with diagnostics, and where the shared corpus is.

use std::{
    cell::RefCell,
    env,
    ffi::{c_char, c_void},
    fs,
    path::{Path, PathBuf},
    rc::Rc,
};

use airlink_mlir_sys::{airlinkModuleParse, airlinkRegisterPasses, mlir_sys::*, mlirGetDialectHandle__air__};
use melior::{
    Context,
    dialect::DialectRegistry,
    ir::{Module, operation::OperationLike},
    pass::PassManager,
    utility::{parse_pass_pipeline, register_all_dialects, register_all_llvm_translations, register_all_passes},
};

/// A context that knows every upstream dialect and ours, and refuses all others.
pub fn context() -> Context {
    static PASSES: std::sync::Once = std::sync::Once::new();
    PASSES.call_once(|| {
        register_all_passes();
        // SAFETY: takes nothing, and the C++ side guards against a second call as well.
        unsafe { airlinkRegisterPasses() };
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

/// Parses a whole file; locations carry `name`.
pub fn parse<'c>(context: &'c Context, text: &str, name: &str) -> Result<Module<'c>, String> {
    // SAFETY: the context is alive, and the strings are during the call.
    let (raw, report) =
        diagnostics(context, || unsafe { airlinkModuleParse(context.to_raw(), string_ref(text), string_ref(name)) });
    if raw.ptr.is_null() {
        return Err(report);
    }
    // SAFETY: not null, and nobody else owns it.
    let module = unsafe { Module::from_raw(raw) };
    assert!(module.as_operation().verify(), "the parser verifies");
    Ok(module)
}

/// The print of a module.
pub fn print(module: &Module) -> String {
    module.as_operation().to_string()
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

/// Runs a textual pipeline on a module.
pub fn run(context: &Context, module: &mut Module, pipeline: &str) -> Result<(), String> {
    let manager = PassManager::new(context);
    parse_pass_pipeline(manager.as_operation_pass_manager(), pipeline).unwrap();
    let (result, report) = diagnostics(context, || manager.run(module));
    result.map_err(|_| report)
}
