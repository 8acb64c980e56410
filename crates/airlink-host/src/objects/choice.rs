//! Which reference kernel stands for an extern.

use airlink_diag::{Finding, Findings, Reported, Span, codes};
use airlink_kernel::{CallSummary, KernelType, c_prototype};
use airlink_plan::ObjectPlan;

use super::ObjectInputs;
use crate::reference::{self, Variant};

/// Calls that a finding shows.
const SITES_SHOWN: usize = 4;

/// A reference kernel and the operand types that it is made for.
pub(super) struct Choice {
    pub variant: Variant,
    pub inputs: Vec<KernelType>,
}

/// The kernel for `symbol` of an object: the one that a `ref` names, else the only one that knows the symbol and fits
/// its operands.
///
/// # Errors
/// AL0702, AL0703, AL0704.
pub(super) fn choose(
    inputs: &ObjectInputs<'_>,
    object: &ObjectPlan,
    symbol: &str,
    findings: &mut Findings,
) -> Result<Choice, Reported> {
    let types = object.symbols.get(symbol).and_then(|s| s.signature.as_ref()).map_or(Vec::new(), |s| s.inputs.clone());
    let known = reference::candidates(symbol, &types);
    match (wanted(inputs, object, symbol, findings)?, &known[..]) {
        (Some(wanted), _) => named(wanted, symbol, types, &known, findings),
        (None, [variant]) => Ok(Choice { variant, inputs: types }),
        (None, []) => Err(findings.fail(unknown_extern(inputs, object, symbol, &types))),
        (None, several) => Err(findings.fail(ambiguous(inputs, object, symbol, several))),
    }
}

/// A name from a `ref`, and where it stands if in the graph.
struct Wanted<'a> {
    name: &'a str,
    span: Option<Span>,
}

/// What the launch says comes before what the command line says, and that before what the graph says.
fn wanted<'a>(
    inputs: &ObjectInputs<'a>,
    object: &ObjectPlan,
    symbol: &str,
    findings: &mut Findings,
) -> Result<Option<Wanted<'a>>, Reported> {
    let launches = object.launches.iter().map(|l| inputs.graph.launch(*l));
    let mut by_launch = launches.filter_map(|l| l.refs.get(symbol));
    if let Some(first) = by_launch.next() {
        return match by_launch.find(|other| other.value != first.value) {
            None => Ok(Some(Wanted { name: &first.value, span: Some(first.span) })),
            Some(other) => Err(findings.fail(
                Finding::error(
                    codes::AL0703,
                    format!("two launches mean different kernels by `{symbol}` of one object"),
                )
                .at(first.span, format!("`{}` here", first.value))
                .also(other.span, format!("`{}` here", other.value))
                .remedy("give one of the launches an object of its own: `objects = { ... }`"),
            )),
        };
    }
    if let Some(name) = inputs.refs.get(symbol) {
        return Ok(Some(Wanted { name, span: None }));
    }
    Ok(inputs.graph.refs.get(symbol).map(|r| Wanted { name: &r.value, span: Some(r.span) }))
}

fn named(
    wanted: Wanted<'_>,
    symbol: &str,
    types: Vec<KernelType>,
    known: &[Variant],
    findings: &mut Findings,
) -> Result<Choice, Reported> {
    let allowed = if known.is_empty() { "no reference kernel stands for it".to_string() } else { list(known) };
    let remedy = match known.first() {
        Some(first) => format!("write `ref = {{ {symbol} = \"{}\" }}`", first.name),
        None => "take the entry out, and give a host object".to_string(),
    };
    let Some(variant) = reference::find(wanted.name) else {
        return Err(findings.fail(
            Finding::error(codes::AL0704, format!("no reference kernel `{}` for `@{symbol}`", wanted.name))
                .maybe_at(wanted.span, "")
                .found(format!("`{}`", wanted.name))
                .allowed(allowed)
                .remedy(remedy),
        ));
    };
    if !variant.fits(&types) {
        let headline = format!("the reference kernel `{}` does not take the operands of `@{symbol}`", wanted.name);
        return Err(findings.fail(
            Finding::error(codes::AL0704, headline)
                .maybe_at(wanted.span, "")
                .found(type_list(&types))
                .allowed(format!("{}; for `@{symbol}`: {allowed}", variant.signature))
                .remedy(remedy),
        ));
    }
    Ok(Choice { variant, inputs: types })
}

fn unknown_extern(inputs: &ObjectInputs<'_>, object: &ObjectPlan, symbol: &str, types: &[KernelType]) -> Finding {
    let headline = match object.link_with.as_deref() {
        Some(file) => format!("no host kernel for `@{symbol}` of `{file}`"),
        None => format!("no host kernel for `@{symbol}`, for which no object is named"),
    };
    let mut finding = Finding::error(codes::AL0702, headline);
    let declarations = declarations(inputs, object, symbol);
    for (i, span) in declarations.iter().enumerate() {
        finding = if i == 0 { finding.at(*span, "declared here") } else { finding.also(*span, "and here") };
    }
    for (span, launch) in call_sites(inputs, object, symbol).into_iter().take(SITES_SHOWN) {
        finding = finding.also(span, format!("called by launch `{launch}`"));
    }
    let by_name = reference::variants().iter().find(|v| v.symbols.contains(&symbol));
    if let Some(variant) = by_name {
        let allowed = format!("what the reference kernel `{}` takes: {}", variant.name, variant.signature);
        finding = finding.found(type_list(types)).allowed(allowed);
    }
    let prototype = c_prototype(symbol, types).map(|p| format!(" that defines `{p}`")).unwrap_or_default();
    finding.remedy(match object.link_with.as_deref() {
        Some(file) => format!(
            "give a host object{prototype}: `objects = {{ \"{file}\" = \"host/{file}\" }}` in the launch, or `-L` with its folder"
        ),
        None => format!("give the declaration a `link_with`, and the launch a host object of that name{prototype}"),
    })
}

fn ambiguous(inputs: &ObjectInputs<'_>, object: &ObjectPlan, symbol: &str, known: &[Variant]) -> Finding {
    let headline = format!("`@{symbol}` means several reference kernels: {}", list(known));
    let mut finding = Finding::error(codes::AL0703, headline);
    if let Some(launch) = object.launches.first() {
        finding = finding.at(inputs.graph.launch(*launch).name.span, "this launch calls it");
    }
    for (span, _) in call_sites(inputs, object, symbol).into_iter().take(1) {
        finding = finding.also(span, "called here");
    }
    finding.remedy(format!("say which in the graph: `ref = {{ {symbol} = \"{}\" }}`", known[0].name))
}

/// The declarations of a symbol in the kernels of an object's launches.
fn declarations(inputs: &ObjectInputs<'_>, object: &ObjectPlan, symbol: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    for launch in object.launches.iter().map(|l| inputs.graph.launch(*l)) {
        let externs = inputs.kernels.get(&launch.kernel.value).map_or(&[][..], |k| &k.externs);
        spans.extend(
            externs
                .iter()
                .filter(|e| e.symbol == symbol)
                .map(|e| e.span)
                .filter(|s| !spans.contains(s))
                .collect::<Vec<_>>(),
        );
    }
    spans
}

/// The calls of a symbol, one per kernel file, with the first launch that makes it.
fn call_sites<'a>(inputs: &ObjectInputs<'a>, object: &ObjectPlan, symbol: &str) -> Vec<(Span, &'a str)> {
    let mut sites: Vec<(Span, &str)> = Vec::new();
    for launch in object.launches.iter().map(|l| inputs.graph.launch(*l)) {
        let Some(function) = inputs.kernels.get(&launch.kernel.value).and_then(|k| k.functions.get(launch.function))
        else {
            continue;
        };
        let calls = function.entries.iter().flat_map(|e| &e.calls);
        let meant = |c: &&CallSummary| c.symbol == symbol && c.link_with == object.link_with;
        let call = calls.clone().find(meant).or(calls.clone().find(|c| c.symbol == symbol));
        if let Some(call) = call
            && !sites.iter().any(|(span, _)| *span == call.span)
        {
            sites.push((call.span, &launch.name.value));
        }
    }
    sites
}

fn list(variants: &[Variant]) -> String {
    variants.iter().map(|v| format!("`{}`", v.name)).collect::<Vec<_>>().join(", ")
}

fn type_list(types: &[KernelType]) -> String {
    format!("({})", types.iter().map(KernelType::to_string).collect::<Vec<_>>().join(", "))
}
