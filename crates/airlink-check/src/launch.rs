//! Each launch of the fused function against its kernel, in order, up to the plan's names.

use std::collections::BTreeMap;
use std::rc::Rc;

use airlink_diag::{Finding, Findings, codes};
use airlink_graph::{LaunchGraph, ViewIdx};
use airlink_ir::melior::ir::ValueLike;
use airlink_ir::melior::ir::block::BlockLike;
use airlink_ir::melior::ir::operation::OperationLike;
use airlink_ir::{Attribute, BlockRef, OperationRef, Value, Walk, attr, children, edit, function_body, name};
use airlink_kernel::{EntryKind, LocalKind};
use airlink_plan::LaunchPlan;

use crate::same::{NameKind, Same, Symbols, blocks, ops_of};
use crate::{Expected, carried, columns, rows, views, wiring};

/// What the fused function is called to account for: a place in its blocks that moves from launch to launch.
struct Cursor<'c> {
    blocks: Vec<BlockRef<'c, 'c>>,
    block: usize,
    op: usize,
    ops: Vec<OperationRef<'c, 'c>>,
}

/// Checks every launch and that nothing else is there.
pub(crate) fn check_all<'c>(root: OperationRef<'c, 'c>, expected: &Expected<'_, 'c>, findings: &mut Findings) {
    let functions: Vec<_> = children(root)
        .into_iter()
        .filter(|op| name(*op) == "func.func" && attr::string(*op, "sym_name") == Some(&expected.elf.name))
        .collect();
    let [function] = functions[..] else {
        return wrong(expected, findings, format!("no one function `@{}`", expected.elf.name));
    };
    let Some(entry) = function_body(function) else {
        return wrong(expected, findings, format!("`@{}` has no body", expected.elf.name));
    };
    let args: Vec<Value<'c, 'c>> =
        (0..entry.argument_count()).filter_map(|i| Some(entry.argument(i).ok()?.into())).collect();
    let types: Vec<_> = args.iter().map(|a| a.r#type().to_string()).collect();
    let planned: Vec<_> = expected.elf.args.iter().map(|a| a.ty.to_string()).collect();
    if types != planned {
        return wrong(expected, findings, format!("arguments are {types:?}, the plan says {planned:?}"));
    }
    for text in wiring::check(expected).into_iter().chain(carried::check(root, function, expected)) {
        wrong(expected, findings, text);
    }
    let mut cursor = Cursor::new(function);
    let (view_values, view_op_count) = match views::read(expected.graph, expected.elf, &args, &cursor.ops) {
        Ok(read) => read,
        Err(text) => return wrong(expected, findings, text),
    };
    cursor.op = view_op_count;
    let fused = Rc::new(Symbols::of(root));
    let merged = Rc::new(merged_attributes(expected));
    let mut kernels = BTreeMap::new();
    let mut taken = BTreeMap::new();
    for launch in &expected.elf.launches {
        let Some(kernel) = expected.kernels.get(&launch.kernel) else {
            wrong(expected, findings, format!("launch `{}` has no kernel `{}`", launch.name, launch.kernel));
            continue;
        };
        let kernel = edit::untied(kernel.as_operation());
        let symbols = kernels.entry(&launch.kernel).or_insert_with(|| Rc::new(Symbols::of(kernel)));
        let mut same = Same::new(Rc::clone(symbols), Rc::clone(&fused));
        same.ignored_attributes = &["airlink.func_attrs", "sym_visibility"];
        same.merged = Rc::clone(&merged);
        expect_splits(&mut same, launch, expected);
        columns::expect(&mut same, launch, expected);
        rows::expect(&mut same, launch, expected);
        check_launch(&mut same, expected.graph, launch, &args, &view_values, &mut cursor);
        herd_objects(&mut same, launch);
        report(&same, launch, expected, findings);
        made_segments(&same, launch, &mut taken, expected, findings);
        names(&same, launch, &mut taken, expected, findings);
    }
    for op in fused.iter().filter(|op| *op != function) {
        let (kind, symbol) = (NameKind::of_symbol(op), attr::string(op, "sym_name").unwrap_or_default());
        if !taken.contains_key(&(kind, symbol.to_string())) {
            wrong(expected, findings, format!("no launch accounts for the {} `@{symbol}`", kind.as_str()));
        }
    }
    let is_last_block = cursor.block + 1 == cursor.blocks.len();
    match cursor.only() {
        Some(end) if name(end) == "func.return" && end.operand_count() == 0 && is_last_block => {}
        _ => wrong(expected, findings, format!("`@{}` holds ops that no launch accounts for", expected.elf.name)),
    }
}

/// What the plan says that declarations have, by symbol and attribute.
fn merged_attributes(expected: &Expected<'_, '_>) -> BTreeMap<(String, String), String> {
    let of = |e: &airlink_plan::ExternPlan| {
        let link = e.link_with.iter().map(|file| ("link_with".to_string(), file.clone()));
        let all = link.chain(e.attributes.iter().map(|(k, v)| (k.clone(), v.clone())));
        all.map(|(k, v)| ((e.symbol.clone(), k), v)).collect::<Vec<_>>()
    };
    expected.elf.externs.iter().flat_map(of).collect()
}

/// The launches of a kernel function, and the segments and herds outside any, in text order.
pub(crate) fn entries_of<'c>(kernel: OperationRef<'c, 'c>) -> Vec<OperationRef<'c, 'c>> {
    let mut entries = Vec::new();
    airlink_ir::walk(kernel, &mut |op| {
        if !matches!(name(op), "air.launch" | "air.segment" | "air.herd") {
            return Walk::Into;
        }
        entries.push(op);
        Walk::Over
    });
    entries
}

/// The transfers at and below an entry, in text order.
pub(crate) fn transfers_of<'c>(entry: OperationRef<'c, 'c>) -> Vec<OperationRef<'c, 'c>> {
    let mut transfers = Vec::new();
    airlink_ir::walk(entry, &mut |op| {
        if matches!(name(op), "air.dma_memcpy_nd" | "air.channel.put" | "air.channel.get") {
            transfers.push(op);
        }
        Walk::Into
    });
    transfers
}

/// Notes which transfers of the kernel the plan splits, by their position in the entry.
fn expect_splits<'c>(same: &mut Same<'c, 'c>, launch: &LaunchPlan, expected: &Expected<'_, '_>) {
    let Some(kernel) = same.symbols_a.get(&launch.function) else { return };
    for split in expected.elf.splits.iter().filter(|s| s.launch == launch.name) {
        let entries = entries_of(kernel);
        let transfers = entries.get(split.entry).map_or(Vec::new(), |entry| transfers_of(*entry));
        match transfers.get(split.transfer) {
            Some(op) => drop(same.splits.insert(op.to_raw().ptr as usize, split.parts)),
            None => drop(same.differ(Some(kernel), None, "the plan splits a transfer that is not there")),
        }
    }
}

fn check_launch<'c>(
    same: &mut Same<'c, 'c>,
    graph: &LaunchGraph,
    launch: &LaunchPlan,
    args: &[Value<'c, 'c>],
    views: &BTreeMap<ViewIdx, Value<'c, 'c>>,
    cursor: &mut Cursor<'c>,
) {
    let kernel = same.symbols_a.get(&launch.function);
    let Some((kernel, entry)) = kernel.and_then(|k| Some((k, function_body(k)?))) else {
        same.differ(None, None, format!("its kernel has no function `@{}`", launch.function));
        return;
    };
    if launch.operands.len() != entry.argument_count() {
        let text = format!("the plan passes {} operands, it takes {}", launch.operands.len(), entry.argument_count());
        same.differ(Some(kernel), None, text);
        return;
    }
    for (i, operand) in launch.operands.iter().enumerate() {
        let value = match operand.view {
            Some(view) => views.get(&view).copied(),
            None => args.get(operand.arg).copied(),
        };
        let (Some(value), Ok(argument)) = (value, entry.argument(i)) else {
            same.differ(Some(kernel), None, format!("operand {i} of the plan is no argument or view of the ELF"));
            return;
        };
        if value.r#type() != argument.r#type() {
            let text = format!("argument {i} is `{}`, what is passed is `{}`", argument.r#type(), value.r#type());
            same.differ(Some(kernel), None, text);
            return;
        }
        same.bind_argument(argument.into(), value);
        let folded = operand.view.map(|v| graph.view(v)).filter(|v| v.is_folded());
        if let Some(elements) = folded.and_then(|v| i64::try_from(v.offset_elements).ok()) {
            same.expect_offset(argument.into(), elements);
        }
    }
    let kernel_blocks = blocks(kernel.regions().next().expect("a function has a region"));
    let first = cursor.position();
    same.body(&kernel_blocks, cursor);
    let wanted = function_attributes(kernel);
    for fused in cursor.launches_since(first) {
        let found = fused.attribute("airlink.func_attrs").map(attr::entries).unwrap_or_default();
        if found != wanted {
            same.differ(Some(kernel), Some(fused), "the function's attributes are not those on its launch");
        }
    }
    same.definitions();
    rest_of_module(same, launch);
}

impl<'c> Same<'c, 'c> {
    /// Compares a kernel function's blocks with what stands at the cursor, and moves it behind.
    fn body(&mut self, kernel: &[BlockRef<'c, 'c>], cursor: &mut Cursor<'c>) -> bool {
        let mut entry = ops_of(kernel[0]);
        if kernel.len() == 1 {
            entry.pop();
            return self.straight(&entry, cursor);
        }
        // Several blocks: the kernel's others follow the one at the cursor, and its returns branch to the next.
        let last = cursor.block + kernel.len();
        let Some(next) = cursor.blocks.get(last).copied() else {
            return self.differ(None, None, "blocks are missing");
        };
        let mut same = self.straight(&entry[..entry.len() - 1], cursor);
        same &= self.end(entry[entry.len() - 1], cursor.only(), next);
        for block in &kernel[1..] {
            cursor.enter(cursor.block + 1);
            let fused = cursor.blocks[cursor.block];
            same &= self.bind_block(*block, fused) && self.block_pair(*block, fused);
            let ops = ops_of(*block);
            same &= self.straight(&ops[..ops.len() - 1], cursor);
            same &= self.end(ops[ops.len() - 1], cursor.only(), next);
        }
        cursor.enter(last);
        same
    }

    fn block_pair(&mut self, a: BlockRef<'c, 'c>, b: BlockRef<'c, 'c>) -> bool {
        match (a.first_operation(), b.first_operation()) {
            (Some(x), Some(y)) => self.block_arguments(edit::untied(x), edit::untied(y), a, b),
            _ => self.differ(None, None, "a block is empty"),
        }
    }

    fn end(&mut self, a: OperationRef<'c, 'c>, b: Option<OperationRef<'c, 'c>>, next: BlockRef<'c, 'c>) -> bool {
        let Some(b) = b else { return self.differ(Some(a), None, "a block does not end where the kernel's does") };
        if name(a) != "func.return" {
            return if name(a) == name(b) {
                self.op(a, b)
            } else {
                self.differ(Some(a), Some(b), "another terminator")
            };
        }
        let is_branch = name(b) == "cf.br" && b.operand_count() == 0 && b.successor(0).ok() == Some(next);
        is_branch || self.differ(Some(a), Some(b), "a return does not lead to the next launch")
    }

    /// Compares ops one by one; bare hierarchy ops stand wrapped in the fused function.
    fn straight(&mut self, kernel: &[OperationRef<'c, 'c>], cursor: &mut Cursor<'c>) -> bool {
        let mut same = true;
        for a in kernel {
            if let Some(split) = self.row_splits.remove(&(a.to_raw().ptr as usize)) {
                let ops: Vec<_> = (0..2 * split.pieces.len()).map_while(|_| cursor.take()).collect();
                same &= self.pieces(*a, &ops, &split);
                continue;
            }
            let Some(b) = cursor.take() else { return self.differ(Some(*a), None, "ops are missing") };
            let is_bare = matches!(name(*a), "air.herd" | "air.segment");
            same &= match () {
                () if is_bare && name(b) == "air.launch" => self.wrapped(*a, b),
                () if name(*a) == name(b) => self.op(*a, b),
                () => {
                    let text = format!("`{}` against `{}`", name(*a), name(b));
                    return self.differ(Some(*a), Some(b), text);
                }
            };
        }
        same
    }
}

/// A kernel function's attributes, as one dictionary that must stand on each of its launches.
fn function_attributes<'c>(kernel: OperationRef<'c, 'c>) -> Vec<(&'c str, Attribute<'c>)> {
    let own = ["sym_name", "sym_visibility", "function_type", "arg_attrs", "res_attrs"];
    attr::all(kernel).into_iter().filter(|(n, _)| !own.contains(n)).collect()
}

/// What the kernel's module defines and nothing refers to must be there too, under the plan's name.
fn rest_of_module<'c>(same: &mut Same<'c, 'c>, launch: &LaunchPlan) {
    let left: Vec<_> = same.symbols_a.iter().collect();
    for a in left {
        let symbol = attr::string(a, "sym_name").unwrap_or_default();
        let kind = NameKind::of_symbol(a);
        let is_left_out = symbol == launch.function || launch.dropped_functions.iter().any(|d| d == symbol);
        if is_left_out || same.names.get(kind, symbol).is_some() || name(a) == "builtin.module" {
            continue;
        }
        let planned = match kind {
            NameKind::Extern => launch.externs.get(symbol).map(|e| e.symbol.as_str()),
            _ => launch.locals.iter().find(|l| l.kind.is_symbol() && l.from == symbol).map(|l| l.to.as_str()),
        };
        match planned.and_then(|p| same.symbols_b.get(p)) {
            Some(b) => {
                same.bind_symbols(a, b);
            }
            None => {
                same.differ(Some(a), None, format!("{} `@{symbol}` is missing", kind.as_str()));
            }
        }
    }
    same.definitions();
}

/// Each herd links with the file that the plan gives for its kernel's.
fn herd_objects<'c>(same: &mut Same<'c, 'c>, launch: &LaunchPlan) {
    for (a, b) in std::mem::take(&mut same.herds) {
        let found = attr::string(b, "link_with");
        let own = attr::string(a, "link_with");
        let planned = own.map(|file| launch.files.get(file).map_or(file, String::as_str));
        if found != planned {
            same.differ(Some(a), Some(b), format!("a herd links with {found:?}, the plan says {planned:?}"));
        }
    }
}

/// Segments around bare herds have the names that the plan gives, each for itself.
fn made_segments<'p>(
    same: &Same<'_, '_>,
    launch: &'p LaunchPlan,
    taken: &mut BTreeMap<(NameKind, String), &'p str>,
    expected: &Expected<'_, '_>,
    findings: &mut Findings,
) {
    let planned: Vec<Option<&str>> =
        launch.entries.iter().filter(|e| e.kind == EntryKind::BareHerd).map(|e| e.segment.as_deref()).collect();
    if same.made_segments != planned {
        let text = format!(
            "launch `{}` has {:?} around its herds, the plan says {planned:?}",
            launch.name, same.made_segments
        );
        wrong(expected, findings, text);
    }
    for name in planned.into_iter().flatten() {
        if let Some(other) = taken.insert((NameKind::Segment, name.to_string()), &launch.name) {
            let text = format!("launches `{other}` and `{}` share the segment `{name}`", launch.name);
            wrong(expected, findings, text);
        }
    }
}

/// Names are the plan's, and what is local to one launch is not shared with another.
fn names<'p>(
    same: &Same<'_, '_>,
    launch: &'p LaunchPlan,
    taken: &mut BTreeMap<(NameKind, String), &'p str>,
    expected: &Expected<'_, '_>,
    findings: &mut Findings,
) {
    for (kind, to) in &same.piece_names {
        if let Some(other) = taken.insert((*kind, to.clone()), &launch.name) {
            let text = format!("pieces of `{other}` and `{}` share the {} `{to}`", launch.name, kind.as_str());
            wrong(expected, findings, text);
        }
    }
    for (kind, from, to) in same.names.pairs() {
        let local = |wanted: LocalKind| {
            launch.locals.iter().find(|l| l.kind == wanted && l.from == from).map(|l| l.to.as_str())
        };
        let planned = match kind {
            NameKind::Extern => launch.externs.get(from).map(|e| e.symbol.as_str()),
            NameKind::Channel => local(LocalKind::Channel),
            NameKind::Function => local(LocalKind::Function),
            NameKind::Global => local(LocalKind::Global),
            NameKind::Launch => local(LocalKind::Launch),
            NameKind::Segment => local(LocalKind::Segment),
            NameKind::Herd => local(LocalKind::Herd),
        };
        if planned != Some(to) {
            let text = format!(
                "launch `{}`: {} `{from}` is called `{to}`, the plan says {planned:?}",
                launch.name,
                kind.as_str()
            );
            wrong(expected, findings, text);
        }
        let is_shared = kind == NameKind::Extern;
        if let Some(other) = taken.insert((kind, to.to_string()), &launch.name)
            && !is_shared
        {
            let text = format!("launches `{other}` and `{}` share the {} `{to}`", launch.name, kind.as_str());
            wrong(expected, findings, text);
        }
    }
}

fn report(same: &Same<'_, '_>, launch: &LaunchPlan, expected: &Expected<'_, '_>, findings: &mut Findings) {
    for d in &same.differences {
        let span =
            |op: Option<OperationRef<'_, '_>>| op.and_then(|o| airlink_ir::locate(o.location(), &findings.sources));
        let finding = Finding::error(codes::AL0603, format!("launch `{}` is not its kernel: {}", launch.name, d.text))
            .maybe_at(span(d.a), "in the kernel")
            .maybe_also(span(d.b).filter(|s| Some(*s) != span(d.a)), "in the fused module")
            .also(expected.graph.launch(launch.launch).name.span, "this launch");
        findings.push(finding);
    }
}

fn wrong(expected: &Expected<'_, '_>, findings: &mut Findings, text: String) {
    findings.push(
        Finding::error(codes::AL0602, format!("`{}` is not wired as planned: {text}", expected.elf.name))
            .at(expected.graph.name.span, "the graph"),
    );
}

impl<'c> Cursor<'c> {
    fn new(function: OperationRef<'c, 'c>) -> Cursor<'c> {
        let blocks = function.regions().next().map_or(Vec::new(), blocks);
        let mut cursor = Cursor { blocks, block: 0, op: 0, ops: Vec::new() };
        cursor.enter(0);
        cursor
    }

    fn enter(&mut self, block: usize) {
        self.block = block;
        self.op = 0;
        self.ops = self.blocks.get(block).map_or(Vec::new(), |b| ops_of(*b));
    }

    fn take(&mut self) -> Option<OperationRef<'c, 'c>> {
        let op = self.ops.get(self.op).copied();
        self.op += 1;
        op
    }

    fn position(&self) -> (usize, usize) {
        (self.block, self.op)
    }

    /// The launches between an earlier position and this one.
    fn launches_since(&self, (first_block, first_op): (usize, usize)) -> Vec<OperationRef<'c, 'c>> {
        let mut launches = Vec::new();
        for block in first_block..=self.block.min(self.blocks.len().saturating_sub(1)) {
            // The block at the cursor is read already: reading it once per launch would be quadratic.
            let other = if block == self.block { Vec::new() } else { ops_of(self.blocks[block]) };
            let ops = if block == self.block { &self.ops } else { &other };
            let from = if block == first_block { first_op } else { 0 };
            let to = if block == self.block { self.op.min(ops.len()) } else { ops.len() };
            for op in ops.get(from..to).unwrap_or_default() {
                launches.extend(airlink_ir::collect(*op, "air.launch"));
            }
        }
        launches
    }

    /// The op that is left in the block, if it is one alone.
    fn only(&self) -> Option<OperationRef<'c, 'c>> {
        match self.rest() {
            [one] => Some(*one),
            _ => None,
        }
    }

    fn rest(&self) -> &[OperationRef<'c, 'c>] {
        self.ops.get(self.op..).unwrap_or_default()
    }
}
