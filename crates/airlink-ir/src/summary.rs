//! From a kernel module to its summary.

mod access;
mod grid;
mod traffic;
mod width;

use airlink_diag::{FileId, Sources, Span};
use airlink_kernel::{
    ArgSummary, CallSummary, ChannelSummary, EntryKind, EntrySummary, ExternSummary, FunctionSummary, HerdSummary,
    KernelSummary, KernelType, LocalKind, LocalName,
};
use melior::ir::attribute::AttributeLike;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::FunctionType;
use melior::ir::{Attribute, Module, OperationRef, Type, TypeLike, Value, ValueLike};

use crate::{Walk, attr, children, function_body, name, span_of, walk};

/// What the module in `file` says. Reads the IR only.
pub fn summarize(module: &Module<'_>, file: FileId, sources: &Sources) -> KernelSummary {
    let at = At { file, sources };
    let root = module.as_operation();
    let tops = children(root);
    let is_function = |op: &&OperationRef<'_, '_>| name(**op) == "func.func";
    let functions: Vec<_> = tops.iter().filter(is_function).copied().collect();
    let externs: Vec<_> =
        functions.iter().filter(|f| function_body(**f).is_none()).map(|f| extern_summary(*f, at)).collect();
    KernelSummary {
        file,
        hash: blake3::hash(sources.text(file).as_bytes()).to_hex().to_string(),
        module_name: attr::string(root, "sym_name").map(String::from),
        functions: functions
            .iter()
            .filter(|f| function_body(**f).is_some() && is_public(**f))
            .map(|f| function_summary(*f, &tops, &externs, at))
            .collect(),
        locals: locals(root),
        channels: tops
            .iter()
            .filter(|op| name(**op) == "air.channel")
            .filter_map(|op| Some(ChannelSummary { name: attr::string(*op, "sym_name")?.into(), span: at.span(*op) }))
            .collect(),
        nested_modules: tops.iter().filter(|op| name(**op) == "builtin.module").map(|op| at.span(*op)).collect(),
        externs,
    }
}

/// Where the module's text is.
#[derive(Clone, Copy)]
struct At<'s> {
    file: FileId,
    sources: &'s Sources,
}

impl At<'_> {
    fn span(self, op: OperationRef<'_, '_>) -> Span {
        span_of(&op, self.file, self.sources)
    }
}

fn is_public(function: OperationRef<'_, '_>) -> bool {
    matches!(attr::string(function, "sym_visibility"), None | Some("public"))
}

fn extern_summary(function: OperationRef<'_, '_>, at: At<'_>) -> ExternSummary {
    let (inputs, results) = signature(function);
    let own = ["sym_name", "sym_visibility", "function_type", "link_with"];
    ExternSummary {
        symbol: attr::string(function, "sym_name").unwrap_or_default().into(),
        span: at.span(function),
        inputs,
        results,
        link_with: attr::string(function, "link_with").map(String::from),
        attributes: attr::all(function)
            .into_iter()
            .filter(|(n, _)| !own.contains(n))
            .map(|(n, a)| (n.to_string(), a.to_string()))
            .collect(),
    }
}

fn signature(function: OperationRef<'_, '_>) -> (Vec<KernelType>, Vec<KernelType>) {
    let Some(ty) = function_type(function) else { return Default::default() };
    let inputs = (0..ty.input_count()).filter_map(|i| ty.input(i).ok()).map(kernel_type).collect();
    let results = (0..ty.result_count()).filter_map(|i| ty.result(i).ok()).map(kernel_type).collect();
    (inputs, results)
}

fn function_type<'c>(function: OperationRef<'c, '_>) -> Option<FunctionType<'c>> {
    let attribute = melior::ir::attribute::TypeAttribute::try_from(function.attribute("function_type").ok()?).ok()?;
    FunctionType::try_from(attribute.value()).ok()
}

fn kernel_type(ty: Type<'_>) -> KernelType {
    let text = ty.to_string();
    KernelType::parse(&text).unwrap_or(KernelType::Other(text))
}

fn function_summary(
    function: OperationRef<'_, '_>,
    tops: &[OperationRef<'_, '_>],
    externs: &[ExternSummary],
    at: At<'_>,
) -> FunctionSummary {
    let span = at.span(function);
    let args = function_body(function).map_or(Vec::new(), |body| {
        (0..body.argument_count())
            .filter_map(|i| body.argument(i).ok())
            .map(|a| ArgSummary {
                ty: kernel_type(a.r#type()),
                span: crate::locate(Value::from(a).location(), at.sources).unwrap_or(span),
            })
            .collect()
    });
    let mut accesses = access::Accesses::new(function, at);
    let mut traffic = traffic::Reader::new(function, tops, at);
    let entries = entry_ops(function)
        .into_iter()
        .map(|(kind, op)| {
            let mut traffic = traffic.of_entry(op);
            traffic.grid_obstacle = grid::obstacle(op, function, &accesses).map(|(o, place)| (o, at.span(place)));
            traffic.width_obstacle = width::obstacle(op).map(|(o, place)| (o, at.span(place)));
            entry_summary(kind, op, accesses.of_entry(op), traffic, externs, at)
        })
        .collect();
    FunctionSummary {
        name: attr::string(function, "sym_name").unwrap_or_default().into(),
        span: function_name_span(function, at),
        result_count: signature(function).1.len(),
        args,
        entries,
    }
}

/// MLIR places a function at its `func.func`; its name, which the user looks for, follows on the same line as a rule.
fn function_name_span(function: OperationRef<'_, '_>, at: At<'_>) -> Span {
    let span = at.span(function);
    let symbol = format!("@{}", attr::string(function, "sym_name").unwrap_or_default());
    let text = &at.sources.text(at.file)[span.start..];
    let head = &text[..text.find('(').unwrap_or(0)];
    match head.find(&symbol) {
        Some(i) => Span::new(at.file, span.start + i..span.start + i + symbol.len()),
        None => span,
    }
}

/// The launches of a function, and the herds and segments outside any, in text order.
pub(crate) fn entry_ops<'c, 'a>(function: OperationRef<'c, 'a>) -> Vec<(EntryKind, OperationRef<'c, 'a>)> {
    let mut entries = Vec::new();
    walk(function, &mut |op| {
        let kind = match name(op) {
            "air.launch" => EntryKind::Launch,
            "air.segment" => EntryKind::BareSegment,
            "air.herd" => EntryKind::BareHerd,
            _ => return Walk::Into,
        };
        entries.push((kind, op));
        Walk::Over
    });
    entries
}

fn entry_summary(
    kind: EntryKind,
    entry: OperationRef<'_, '_>,
    accesses: Vec<airlink_kernel::Access>,
    traffic: airlink_kernel::Traffic,
    externs: &[ExternSummary],
    at: At<'_>,
) -> EntrySummary {
    let mut summary = EntrySummary {
        kind,
        name: attr::string(entry, "sym_name").map(String::from),
        span: at.span(entry),
        accesses,
        herds: Vec::new(),
        calls: Vec::new(),
        channels: Vec::new(),
        first_async: None,
        unawaited: is_unawaited(entry).then(|| at.span(entry)),
        traffic,
    };
    visit_entry(entry, None, &mut summary, externs, at);
    summary
}

fn visit_entry(
    op: OperationRef<'_, '_>,
    herd: Option<usize>,
    summary: &mut EntrySummary,
    externs: &[ExternSummary],
    at: At<'_>,
) {
    let mut herd = herd;
    match name(op) {
        "air.herd" => {
            herd = Some(summary.herds.len());
            summary.herds.push(herd_summary(op, at));
        }
        "air.channel.put" | "air.channel.get" => {
            let channel = attr::flat_symbol(op, "chan_name").unwrap_or_default().to_string();
            if !summary.channels.contains(&channel) {
                summary.channels.push(channel);
            }
        }
        "func.call" => {
            let callee = attr::flat_symbol(op, "callee").unwrap_or_default();
            if let Some(declaration) = externs.iter().find(|e| e.symbol == callee) {
                let link_with = declaration.link_with.clone().or(herd.and_then(|h| summary.herds[h].link_with.clone()));
                summary.calls.push(CallSummary { symbol: callee.into(), span: at.span(op), link_with, herd });
            }
        }
        _ => {}
    }
    if summary.first_async.is_none() && op.results().any(|r| is_token(r.r#type())) {
        summary.first_async = Some(at.span(op));
    }
    for child in children(op) {
        visit_entry(child, herd, summary, externs, at);
    }
}

/// Whether the op gives a token that nothing uses.
fn is_unawaited(op: OperationRef<'_, '_>) -> bool {
    let mut tokens = op.results().filter(|r| is_token(r.r#type())).peekable();
    tokens.peek().is_some() && tokens.all(|t| !crate::edit::is_used(t.into()))
}

pub(crate) fn is_token(ty: Type<'_>) -> bool {
    // SAFETY: the type is valid.
    unsafe { airlink_mlir_sys::airlinkTypeIsAsyncToken(ty.to_raw()) }
}

fn herd_summary(herd: OperationRef<'_, '_>, at: At<'_>) -> HerdSummary {
    HerdSummary {
        name: attr::string(herd, "sym_name").map(String::from),
        span: at.span(herd),
        size: hierarchy_sizes(herd).into_iter().map(constant_index).collect(),
        link_with: attr::string(herd, "link_with").map(String::from),
    }
}

/// The extents of a hierarchy op's iteration space.
pub(crate) fn hierarchy_sizes<'c, 'a>(op: OperationRef<'c, 'a>) -> Vec<Value<'c, 'a>> {
    let operands: Vec<_> = op.operands().collect();
    operands[hierarchy_size_range(op)].to_vec()
}

/// Whether each extent is an `arith.constant`, and not a number that has to be worked out.
pub(crate) fn has_constant_extents(op: OperationRef<'_, '_>) -> bool {
    hierarchy_sizes(op).into_iter().all(|size| crate::defining_op(size).is_some_and(|op| name(op) == "arith.constant"))
}

/// The positions of a hierarchy op's extents among its operands. The body's arguments are ids, extents, then the inner
/// names of `args`; the operands are tokens, extents, then the outer values of `args`.
pub fn hierarchy_size_range(op: OperationRef<'_, '_>) -> std::ops::Range<usize> {
    let end = op.operand_count() - hierarchy_args(op).len();
    end - hierarchy_size_count(op).min(end)..end
}

/// The outer value and the inner block argument of each of a hierarchy op's `args`.
pub fn hierarchy_args<'c, 'a>(op: OperationRef<'c, 'a>) -> Vec<(Value<'c, 'a>, Value<'c, 'a>)> {
    let Some(body) = function_body(op) else { return Vec::new() };
    let arg_count = body.argument_count() - 2 * hierarchy_size_count(op);
    let operands: Vec<_> = op.operands().collect();
    let outer = &operands[operands.len() - arg_count.min(operands.len())..];
    let first_inner = body.argument_count() - arg_count;
    outer.iter().enumerate().filter_map(|(i, o)| Some((*o, body.argument(first_inner + i).ok()?.into()))).collect()
}

/// How many ids the iteration space has: from the operand segments, where extents are the last group but one.
fn hierarchy_size_count(op: OperationRef<'_, '_>) -> usize {
    segments(op).iter().rev().nth(1).copied().unwrap_or(0)
}

/// How many operands each group of an op has.
fn segments(op: OperationRef<'_, '_>) -> Vec<usize> {
    let Ok(segments) = op.attribute("operandSegmentSizes") else { return Vec::new() };
    // SAFETY: the attribute is valid; positions are in range.
    unsafe {
        let raw = segments.to_raw();
        (0..mlir_sys::mlirDenseArrayGetNumElements(raw))
            .map(|i| usize::try_from(mlir_sys::mlirDenseI32ArrayGetElement(raw, i)).unwrap_or(0))
            .collect()
    }
}

/// The value of an `arith.constant` of type index.
pub(crate) fn constant_index(value: Value<'_, '_>) -> Option<u64> {
    let owner = crate::defining_op(value)?;
    if name(owner) != "arith.constant" {
        return None;
    }
    u64::try_from(attr::integer(owner.attribute("value").ok()?)?).ok()
}

fn locals(root: OperationRef<'_, '_>) -> Vec<LocalName> {
    let mut list: Vec<LocalName> = Vec::new();
    let mut add = |kind, name: &str| {
        let local = LocalName { kind, name: name.to_string() };
        if !list.contains(&local) {
            list.push(local);
        }
    };
    for top in children(root) {
        let Some(symbol) = attr::string(top, "sym_name") else { continue };
        match name(top) {
            "air.channel" => add(LocalKind::Channel, symbol),
            "func.func" if function_body(top).is_some() => add(LocalKind::Function, symbol),
            "func.func" | "builtin.module" => {}
            _ => add(LocalKind::Global, symbol),
        }
    }
    walk(root, &mut |op| {
        let kind = match name(op) {
            "air.launch" => Some(LocalKind::Launch),
            "air.segment" => Some(LocalKind::Segment),
            "air.herd" => Some(LocalKind::Herd),
            _ => None,
        };
        if let (Some(kind), Some(symbol)) = (kind, attr::string(op, "sym_name")) {
            add(kind, symbol);
        }
        for (_, attribute) in attr::all(op) {
            resource_keys(attribute, &mut |key| add(LocalKind::Resource, key));
        }
        Walk::Into
    });
    list
}

/// Calls `visit` with the key of each dense resource in an attribute.
fn resource_keys(attribute: Attribute<'_>, visit: &mut dyn FnMut(&str)) {
    if let Some(key) = attr::resource_key(attribute) {
        visit(&key);
    }
    attr::elements(attribute).into_iter().for_each(|a| resource_keys(a, visit));
    attr::entries(attribute).into_iter().for_each(|(_, a)| resource_keys(a, visit));
}
