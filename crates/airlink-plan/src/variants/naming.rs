//! What each object variant and its symbols are called.

use std::collections::{HashMap, HashSet};

use airlink_diag::{Finding, Findings, Reported, codes};
use airlink_graph::LaunchGraph;
use indexmap::IndexMap;

use super::undefined::undefined;
use super::{Declared, Variant};
use crate::{FoundObject, ObjectPlan, ObjectSymbol, Signature};

/// Names the variants of a graph, which stand in order of first use.
pub(super) fn name(
    graph: &LaunchGraph,
    variants: &[Variant<'_>],
    findings: &mut Findings,
) -> Result<Vec<ObjectPlan>, Reported> {
    let mut suffixes = Suffixes::default();
    let mut files: HashMap<String, usize> = HashMap::new();
    let mut failure = None;
    let mut objects: Vec<ObjectPlan> = Vec::with_capacity(variants.len());
    for (i, variant) in variants.iter().enumerate() {
        let suffix = suffixes.pick(variant);
        let object = object(variant, suffix);
        if let Some(file) = &object.file
            && let Some(&other) = files.get(file)
        {
            failure = Some(findings.fail(file_taken(graph, file, variant, &variants[other])));
        }
        if let Some(file) = &object.file {
            files.entry(file.clone()).or_insert(i);
        }
        if let Some(finding) = undefined(graph, variant) {
            failure = Some(findings.fail(finding));
        }
        objects.push(object);
    }
    warn_of_equal_content(graph, variants, &objects, findings);
    failure.map_or(Ok(objects), Err)
}

/// What a suffix is good for.
struct Suffix {
    text: String,
    is_for_file: bool,
}

/// The suffixes given so far. A variant's rivals are the earlier ones of its file and those that share a symbol: its
/// suffix must tell it from each of them. All maps are looked up, never iterated.
#[derive(Default)]
struct Suffixes<'k> {
    declared: HashSet<&'k str>,
    defined: HashSet<&'k str>,
    files: HashSet<&'k str>,
    k_by_rival: HashSet<(Key<'k>, u64)>,
    m_by_rival: HashSet<(Key<'k>, u64)>,
    next_number: HashMap<Key<'k>, u64>,
}

/// What makes two variants rivals.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key<'k> {
    File(&'k str),
    Symbol(&'k str),
}

impl<'k> Suffixes<'k> {
    /// The suffix of the next variant; none for one that keeps its names.
    fn pick(&mut self, variant: &Variant<'k>) -> Option<Suffix> {
        let defined = || variant.found.iter().flat_map(|f| f.symbols.iter().map(String::as_str));
        let is_for_file = variant.link_with.is_some_and(|f| self.files.contains(f));
        // An object that defines what another one is called for would be linked instead of it, called or not. What two
        // objects define and nobody calls, such as inline functions, is their own affair.
        let clashes: Vec<&str> = defined().filter(|s| self.declared.contains(s)).collect();
        let is_for_symbols = !clashes.is_empty()
            || variant.symbols.keys().any(|s| self.declared.contains(s) || self.defined.contains(s));
        let mut keys: Vec<Key<'k>> = variant.link_with.map(Key::File).into_iter().collect();
        keys.extend(variant.symbols.keys().copied().chain(clashes).map(Key::Symbol));
        let (k, m) = dimensions(variant);
        let text = (is_for_file || is_for_symbols).then(|| self.text(&keys, k, m));
        self.declared.extend(variant.symbols.keys());
        self.defined.extend(defined());
        self.files.extend(variant.link_with);
        self.k_by_rival.extend(k.iter().flat_map(|k| keys.iter().map(|key| (*key, *k))));
        self.m_by_rival.extend(m.iter().flat_map(|m| keys.iter().map(|key| (*key, *m))));
        text.map(|text| Suffix { text, is_for_file })
    }

    fn text(&mut self, keys: &[Key<'k>], k: Option<u64>, m: Option<u64>) -> String {
        let is_new = |seen: &HashSet<(Key<'k>, u64)>, n: &u64| keys.iter().all(|key| !seen.contains(&(*key, *n)));
        if let Some(k) = k.filter(|k| is_new(&self.k_by_rival, k)) {
            return format!("_k{k}");
        }
        if let Some(m) = m.filter(|m| is_new(&self.m_by_rival, m)) {
            return format!("_m{m}");
        }
        let number = keys.iter().filter_map(|key| self.next_number.get(key)).copied().max().unwrap_or(2);
        self.next_number.extend(keys.iter().map(|key| (*key, number + 1)));
        format!("_{number}")
    }
}

/// K and M of a variant: those of its first symbol whose K is known.
fn dimensions(variant: &Variant<'_>) -> (Option<u64>, Option<u64>) {
    let known = variant.symbols.values().map(|d| d.declaration).find(|d| d.k().is_some());
    known.map_or((None, None), |d| (d.k(), d.m()))
}

fn object(variant: &Variant<'_>, suffix: Option<Suffix>) -> ObjectPlan {
    let renamed = |symbol: &str| match &suffix {
        Some(s) => format!("{symbol}{}", s.text),
        None => symbol.to_string(),
    };
    let mut symbols: IndexMap<String, ObjectSymbol> = IndexMap::with_capacity(variant.symbols.len());
    for (name, declared) in &variant.symbols {
        let signature =
            Signature { inputs: declared.declaration.inputs.clone(), results: declared.declaration.results.clone() };
        symbols.insert(
            name.to_string(),
            ObjectSymbol { symbol: renamed(name), signature: Some(signature), is_called: declared.is_called },
        );
    }
    for name in variant.found.iter().flat_map(|f| &f.symbols) {
        let only_defined = || ObjectSymbol { symbol: renamed(name), signature: None, is_called: false };
        symbols.entry(name.clone()).or_insert_with(only_defined);
    }
    ObjectPlan {
        file: variant.link_with.map(|f| match &suffix {
            Some(s) if s.is_for_file => insert_suffix(f, &s.text),
            _ => f.to_string(),
        }),
        link_with: variant.link_with.map(String::from),
        suffix: suffix.map(|s| s.text),
        symbols,
        found: variant.found.map(|f| FoundObject { path: f.path.clone(), hash: f.hash.clone() }),
        launches: variant.launches.clone(),
    }
}

/// `dir/mv.o` and `_2` to `dir/mv_2.o`.
fn insert_suffix(file: &str, suffix: &str) -> String {
    let name_start = file.rfind('/').map_or(0, |i| i + 1);
    match file[name_start..].rfind('.') {
        Some(dot) if dot > 0 => format!("{}{suffix}{}", &file[..name_start + dot], &file[name_start + dot..]),
        _ => format!("{file}{suffix}"),
    }
}

/// Points at the first symbol of a variant, else at its first launch.
fn place(graph: &LaunchGraph, variant: &Variant<'_>) -> airlink_diag::Span {
    let declared: Option<&Declared<'_>> = variant.symbols.values().next();
    declared.map_or(graph.launch(variant.opened.0).kernel.span, |d| d.declaration.span)
}

fn file_taken(graph: &LaunchGraph, file: &str, one: &Variant<'_>, other: &Variant<'_>) -> Finding {
    // The one whose name is new is to blame.
    let (new, old) = if one.link_with == Some(file) { (other, one) } else { (one, other) };
    let from = new.link_with.unwrap_or_default();
    let launch = &graph.launch(new.opened.0).name;
    Finding::error(codes::AL0401, format!("the new name `{file}` of object `{from}` is taken"))
        .at(place(graph, new), format!("this variant of `{from}` would be `{file}`"))
        .also(place(graph, old), format!("linked with `{file}`"))
        .also(launch.span, "first launch with the new variant")
        .remedy(format!("give one of the two another `link_with`, for example `{from}` of launch `{}`", launch.value))
}

/// One content behind two variants: a size that is compiled into it is right for one of them only.
fn warn_of_equal_content(
    graph: &LaunchGraph,
    variants: &[Variant<'_>],
    objects: &[ObjectPlan],
    findings: &mut Findings,
) {
    let mut first_with: HashMap<&str, usize> = HashMap::new();
    for (i, variant) in variants.iter().enumerate() {
        let Some(found) = variant.found else { continue };
        let Some(&first) = first_with.get(found.hash.as_str()) else {
            first_with.insert(&found.hash, i);
            continue;
        };
        let Some((symbol, one, other)) = telling_difference(&variants[first], variant) else { continue };
        let (file, link_with) = (&found.path, variant.link_with.unwrap_or_default());
        let name = |d: Declared<'_>| &graph.launch(d.launch).name;
        let (one_type, other_type) = (one.declaration.type_text(), other.declaration.type_text());
        let place =
            |d, i: usize| format!("launch `{}`: `{}`", name(d).value, objects[i].file.as_deref().unwrap_or(file));
        findings.push(
            Finding::warning(
                codes::AL0405,
                format!("`@{symbol}` of `{file}` is called as `{one_type}` and as `{other_type}`"),
            )
            .at(other.declaration.span, place(other, i))
            .also(one.declaration.span, place(one, first))
            .also(name(other).span, "launch with the later type")
            .remedy(format!(
                "if sizes are compiled into the object, build one for each type and add `objects = {{ \"{link_with}\" = \
                 \"...\" }}` to launch `{}`",
                name(other).value
            )),
        );
    }
}

/// A symbol with two types. One whose K is known says more than, say, a fill that differs with it.
fn telling_difference<'v, 'k>(
    earlier: &'v Variant<'k>,
    later: &'v Variant<'k>,
) -> Option<(&'k str, Declared<'k>, Declared<'k>)> {
    let pairs = later.symbols.iter().filter_map(|(s, d)| Some((*s, *earlier.symbols.get(s)?, *d)));
    let different: Vec<_> = pairs.filter(|(_, one, other)| one.signature != other.signature).collect();
    different.iter().find(|(_, _, d)| d.declaration.k().is_some()).or(different.first()).copied()
}
