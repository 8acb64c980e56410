//! What a linked ELF still needs.

use airlink_diag::{Finding, Findings, Reported, codes};
use airlink_ir::{Module, attr, collect, locate};
use airlink_rt::Manifest;
use object::{Object, ObjectSymbol};

use crate::KernelObject;

/// What the code generator itself may ask for; every C library has them.
const ALLOWED: [&str; 5] = ["memcpy", "memmove", "memset", "memcmp", "bcmp"];

/// Checks that nothing but [`ALLOWED`] is undefined in `elf`.
///
/// # Errors
/// AL0702 for each missing symbol, at its calls or with the object that needs it.
pub(crate) fn check(
    elf: &[u8],
    objects: &[&KernelObject],
    module: &Module<'_>,
    manifest: &Manifest,
    findings: &mut Findings,
) -> Result<(), Reported> {
    let Ok(file) = object::File::parse(elf) else {
        let headline = "the linker wrote a file that is no ELF";
        return Err(findings.fail(Finding::error(codes::AL0804, headline).remedy("name another linker in AIRLINK_LD")));
    };
    let mut missing: Vec<&str> = file
        .dynamic_symbols()
        .filter(|s| s.is_undefined())
        .filter_map(|s| s.name().ok())
        .filter(|n| !n.is_empty() && !ALLOWED.contains(n))
        .collect();
    missing.sort_unstable();
    missing.dedup();
    let mut result = Ok(());
    for symbol in missing {
        result = Err(findings.fail(missing_symbol(symbol, objects, module, manifest, findings)));
    }
    result
}

/// The symbols that an object defines for others.
pub(crate) fn defined_symbols(object: &[u8]) -> Vec<String> {
    let Ok(file) = object::File::parse(object) else { return Vec::new() };
    let defined = file.symbols().filter(|s| s.is_global() && s.is_definition());
    defined.filter_map(|s| s.name().ok()).map(str::to_string).collect()
}

/// Those of [`defined_symbols`] that may be defined only once: neither weak nor tentative.
pub(crate) fn strong_symbols(object: &[u8]) -> Vec<String> {
    let Ok(file) = object::File::parse(object) else { return Vec::new() };
    let strong = file.symbols().filter(|s| s.is_global() && s.is_definition() && !s.is_weak() && !s.is_common());
    strong.filter_map(|s| s.name().ok()).map(str::to_string).collect()
}

/// Whether an object asks for a symbol.
pub(crate) fn needs(object: &[u8], symbol: &str) -> bool {
    object::File::parse(object).is_ok_and(|f| f.symbols().any(|s| s.is_undefined() && s.name() == Ok(symbol)))
}

fn missing_symbol(
    symbol: &str,
    objects: &[&KernelObject],
    module: &Module<'_>,
    manifest: &Manifest,
    findings: &Findings,
) -> Finding {
    let source = "kernels are freestanding: no library is linked with them";
    if let Some(object) = objects.iter().find(|o| needs(&o.bytes, symbol)) {
        let path = object.source.as_ref().map_or(object.file.as_str(), |s| s.path.as_str());
        let finding = Finding::error(codes::AL0702, format!("`{path}` needs `{symbol}`, which nothing defines"));
        let finding = match &object.source {
            Some(s) => finding.at(s.span, format!("linked for launch `{}`", s.launch)),
            None => finding,
        };
        return finding.found(format!("`{symbol}`")).allowed(ALLOWED.join(", ")).source(source).remedy(remedy(symbol));
    }
    let headline = format!("`{}` needs `{symbol}`, which nothing defines", manifest.name);
    let calls = collect(module.as_operation(), "func.call");
    let mut spans = calls
        .into_iter()
        .filter(|c| attr::flat_symbol(*c, "callee") == Some(symbol))
        .filter_map(|c| locate(airlink_ir::melior::ir::operation::OperationLike::location(&c), &findings.sources));
    Finding::error(codes::AL0702, headline)
        .maybe_at(spans.next(), "called here")
        .allowed(ALLOWED.join(", "))
        .source(source)
        .remedy(format!("link an object that defines `{symbol}` by a `link_with` name"))
}

/// What makes compilers ask for a symbol that nobody called.
fn remedy(symbol: &str) -> String {
    const SANITIZERS: [&str; 6] = ["__asan_", "__ubsan_", "__tsan_", "__msan_", "__sanitizer_", "__hwasan_"];
    const ROUNDED: [&str; 12] = [
        "sqrt",
        "sqrtf",
        "floor",
        "floorf",
        "ceil",
        "ceilf",
        "trunc",
        "truncf",
        "rint",
        "rintf",
        "nearbyint",
        "nearbyintf",
    ];
    if SANITIZERS.iter().any(|s| symbol.starts_with(s)) {
        "compile the object without sanitizers: no `-fsanitize=...`".to_string()
    } else if symbol.starts_with("__stack_chk") {
        "compile the object with `-fno-stack-protector`".to_string()
    } else if symbol.starts_with("__gcov") || symbol.starts_with("__llvm_prof") {
        "compile the object without coverage and profiling".to_string()
    } else if ROUNDED.contains(&symbol) {
        format!(
            "compile the object with `-O2 -fno-math-errno -march=x86-64-v3`, which needs no `{symbol}`, or define it there"
        )
    } else if symbol.starts_with("__assert") || symbol == "abort" {
        "compile the object with `-DNDEBUG`, or end in `__builtin_trap()`".to_string()
    } else if symbol.starts_with("__tls") || symbol.starts_with("_ZSt") || symbol.starts_with("__cxa") {
        "take what needs a C++ or thread run time out of the kernel; `-fno-exceptions -fno-threadsafe-statics` helps"
            .to_string()
    } else {
        format!("define `{symbol}` in the object itself, or take the call out")
    }
}
