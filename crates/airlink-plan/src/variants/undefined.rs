//! An object that does not define what is called in it, and why that may be.

use std::collections::HashSet;

use airlink_diag::{Finding, codes};
use airlink_graph::LaunchGraph;
use airlink_kernel::c_prototype;

use super::{Declared, Variant};

/// Names that a finding lists.
const NAMES_SHOWN: usize = 6;

/// The first called symbol that the object found does not define.
pub(super) fn undefined(graph: &LaunchGraph, variant: &Variant<'_>) -> Option<Finding> {
    let found = variant.found?;
    let defined: HashSet<&str> = found.symbols.iter().map(String::as_str).collect();
    let (symbol, declared) = variant.symbols.iter().find(|(s, d)| d.is_called && !defined.contains(*s))?;
    let launch = graph.launch(declared.launch);
    Some(
        Finding::error(codes::AL0406, format!("`{}` does not define `@{symbol}`", found.path))
            .at(declared.declaration.span, "declared here")
            .also(launch.name.span, "called by this launch")
            .found(names(symbol, &found.symbols))
            .allowed(prototype(symbol, declared))
            .remedy(remedy(symbol, &found.symbols)),
    )
}

/// What the host calls, in C where C can say it.
fn prototype(symbol: &str, declared: &Declared<'_>) -> String {
    let prototype =
        c_prototype(symbol, &declared.declaration.inputs).filter(|_| declared.declaration.results.is_empty());
    prototype.map_or_else(|| format!("`{symbol}`"), |p| format!("`{p}` on the host"))
}

/// The names nearest to the one that misses, and how many more there are.
fn names(symbol: &str, defined: &[String]) -> String {
    let mut list: Vec<&str> = defined.iter().map(String::as_str).filter(|n| !is_compilers_own(n)).collect();
    if list.is_empty() {
        return "no function at all".to_string();
    }
    // What shares a part with it first, then what starts alike.
    let alike = |n: &str| n.chars().zip(symbol.chars()).take_while(|(a, b)| a == b).count();
    list.sort_by_key(|n| (!n.contains(symbol), std::cmp::Reverse(alike(n))));
    let shown: Vec<String> = list.iter().take(NAMES_SHOWN).map(|n| format!("`{n}`")).collect();
    match list.len().saturating_sub(NAMES_SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn remedy(symbol: &str, defined: &[String]) -> String {
    let is_lto = defined.iter().any(|n| is_compilers_own(n));
    let mangled = format!("{}{symbol}", symbol.len());
    if is_lto && defined.iter().all(|n| is_compilers_own(n)) {
        return "it holds code for link-time optimisation only: compile it with `-fno-lto`".to_string();
    }
    if let Some(name) = defined.iter().find(|n| n.starts_with("_Z") && n.contains(&mangled)) {
        return format!("`{name}` is its mangled C++ name: declare it `extern \"C\"`");
    }
    if defined.iter().any(|n| n.strip_prefix("_mlir_ciface_") == Some(symbol)) {
        return format!(
            "define `{symbol}` with one pointer for each memref: the host calls no `_mlir_ciface_` function and passes no \
             descriptors"
        );
    }
    match airlink_graph::suggest(symbol, defined.iter().map(String::as_str)) {
        Some(near) => format!("call `@{near}`, which it defines, or name another object in `objects`"),
        None => "name an object that defines it in the launch's `objects`; a `static` function is none".to_string(),
    }
}

/// Markers that gcc puts into an object whose code is for link-time optimisation.
fn is_compilers_own(name: &str) -> bool {
    name.starts_with("__gnu_lto_")
}
