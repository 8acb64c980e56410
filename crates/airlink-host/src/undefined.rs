//! What a linked ELF still needs.

use airlink_diag::{Finding, Findings, Reported, codes};
use airlink_ir::{Module, attr, collect, locate};
use airlink_rt::Manifest;
use object::{Object, ObjectSymbol};

/// What the code generator itself may ask for; every C library has them.
const ALLOWED: [&str; 5] = ["memcpy", "memmove", "memset", "memcmp", "bcmp"];

/// Checks that nothing but [`ALLOWED`] is undefined in `elf`.
///
/// # Errors
/// AL0702 for each missing symbol, at its calls or with the object that needs it.
pub(crate) fn check(
    elf: &[u8],
    objects: &[(&str, &[u8])],
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

fn missing_symbol(
    symbol: &str,
    objects: &[(&str, &[u8])],
    module: &Module<'_>,
    manifest: &Manifest,
    findings: &Findings,
) -> Finding {
    let needs = |bytes: &[u8]| {
        object::File::parse(bytes).is_ok_and(|f| f.symbols().any(|s| s.is_undefined() && s.name() == Ok(symbol)))
    };
    let users: Vec<&str> = objects.iter().filter(|(_, bytes)| needs(bytes)).map(|(name, _)| *name).collect();
    let headline = match users.first() {
        Some(user) => format!("`{user}` needs `{symbol}`, which nothing defines"),
        None => format!("`{symbol}` is needed by `{}`, and nothing defines it", manifest.name),
    };
    let mut finding = Finding::error(codes::AL0702, headline);
    let calls = collect(module.as_operation(), "func.call");
    let mut spans = calls
        .into_iter()
        .filter(|c| attr::flat_symbol(*c, "callee") == Some(symbol))
        .filter_map(|c| locate(airlink_ir::melior::ir::operation::OperationLike::location(&c), &findings.sources));
    finding = finding.maybe_at(spans.next(), "called here");
    finding.allowed(ALLOWED.join(", ")).remedy(format!("link an object that defines `{symbol}` by a `link_with` name"))
}
