//! One launch: the body of its kernel function becomes part of the fused function.

use airlink_diag::{Finding, Findings, codes};
use airlink_graph::LaunchGraph;
use airlink_ir::edit::{self, clone_module, move_to_end, untied, untied_block};
use airlink_ir::melior::ir::block::BlockLike;
use airlink_ir::melior::ir::operation::{OperationBuilder, OperationLike};
use airlink_ir::melior::ir::{Block, Location, RegionLike, RegionRef};
use airlink_ir::{BlockRef, Module, OperationRef, attr, children, collect, function_body, name};
use airlink_plan::{ElfPlan, LaunchPlan};

use crate::{Fused, columns, ksplit, names, offsets, rows, wrap};

impl<'c> Fused<'c> {
    /// Clones the kernel, gives the clone the plan's names, wraps what is bare, and moves it here.
    pub fn add_launch(
        &mut self,
        graph: &LaunchGraph,
        kernel: &Module<'c>,
        plan: &LaunchPlan,
        elf: &ElfPlan,
        findings: &mut Findings,
    ) {
        let clone = clone_module(kernel);
        let root = untied(clone.as_operation());
        let function = children(root)
            .into_iter()
            .find(|op| name(*op) == "func.func" && attr::string(*op, "sym_name") == Some(&plan.function));
        let Some(function) = function else { return };
        self.take_module_attributes(root, findings);
        for dropped in children(root) {
            if attr::string(dropped, "sym_name").is_some_and(|s| plan.dropped_functions.iter().any(|d| d == s)) {
                edit::erase(dropped);
            }
        }
        names::apply(self.ir, root, plan);
        if let Err(op) = wrap::bare_entries(self.ir, function, plan) {
            let span = airlink_ir::locate(op.location(), &findings.sources);
            findings.push(
                Finding::error(codes::AL0502, format!("a bare `{}` is async and cannot be wrapped", name(op)))
                    .maybe_at(span, "its token would have to leave the launch around it")
                    .also(graph.launch(plan.launch).name.span, "used by this launch")
                    .remedy("put it into an air.launch yourself, or make it synchronous"),
            );
            return;
        }
        self.fold_offsets(graph, function, plan, findings);
        let entries = collect(function, "air.launch");
        // A split that is not where the plan says is found by the checker.
        for split in elf.splits.iter().filter(|s| s.launch == plan.name) {
            if let Some(entry) = entries.get(split.entry) {
                ksplit::split(self.ir, *entry, split);
            }
        }
        for (i, entry) in entries.iter().enumerate() {
            if let Some(split) = elf.n_split(&plan.name, i) {
                columns::widen(self.ir, *entry, split, elf.row_split(&plan.name, i).is_none());
            }
            if let Some(split) = elf.row_split(&plan.name, i) {
                rows::split(self.ir, *entry, split, plan);
            }
        }
        self.take_function_attributes(function, &collect(function, "air.launch"), plan, findings);
        self.take_symbols(root, function);
        self.take_body(function, plan);
    }

    /// Views whose offset no type can carry.
    fn fold_offsets(
        &self,
        graph: &LaunchGraph,
        function: OperationRef<'c, 'c>,
        plan: &LaunchPlan,
        findings: &mut Findings,
    ) {
        let Some(entry) = function_body(function) else { return };
        let launch = graph.launch(plan.launch);
        for (i, operand) in plan.operands.iter().enumerate() {
            let Some(view) = operand.view.map(|v| graph.view(v)).filter(|v| v.is_folded()) else { continue };
            let Ok(argument) = entry.argument(i) else { continue };
            let Err(op) = offsets::fold(self.ir, argument.into(), view.offset_elements) else { continue };
            let used = launch.operands.get(i).map(|o| o.span);
            findings.push(
                Finding::error(
                    codes::AL0222,
                    format!("the offset of view `{}` cannot be folded into `{}`", view.name, name(op)),
                )
                .maybe_at(used, format!("starts {} elements into its buffer", view.offset_elements))
                .also(view.span, "the view")
                .maybe_also(airlink_ir::locate(op.location(), &findings.sources), "uses it in no access list")
                .found(format!("an offset of {} elements", view.offset_elements))
                .allowed("0, but for air.dma_memcpy_nd, air.channel.put and air.channel.get")
                .remedy(format!("pass a buffer of its own instead of `{}`", view.name)),
            );
        }
    }

    /// Declarations, channels, globals and helper functions move to the fused module; an extern only once.
    fn take_symbols(&mut self, root: OperationRef<'c, 'c>, function: OperationRef<'c, 'c>) {
        let body = untied_block(self.module.body());
        for op in children(root) {
            if op == function {
                continue;
            }
            let symbol = attr::string(op, "sym_name").unwrap_or_default();
            let is_extern = name(op) == "func.func" && function_body(op).is_none();
            if is_extern && !self.externs.insert(symbol.to_string()) {
                continue;
            }
            if name(op) == "func.func" {
                edit::set_attribute(op, "sym_visibility", edit::string(self.ir, "private"));
            }
            move_to_end(op, body);
        }
    }

    /// Moves the function's ops behind what is there. A function of several blocks brings them along, and every return
    /// becomes a branch to a new block, where the next launch goes.
    fn take_body(&mut self, function: OperationRef<'c, 'c>, plan: &LaunchPlan) {
        let Some(entry) = function_body(function) else { return };
        for (i, operand) in plan.operands.iter().enumerate() {
            if let Ok(argument) = entry.argument(i) {
                edit::replace_uses(argument.into(), self.operand(operand));
            }
        }
        let others: Vec<_> = std::iter::successors(entry.next_in_region(), |b| b.next_in_region()).collect();
        if others.is_empty() {
            for op in ops(entry) {
                if name(op) != "func.return" {
                    move_to_end(op, self.block);
                }
            }
            return;
        }
        let region: RegionRef<'c, 'c> = self.function.regions().next().expect("a function has a region");
        ops(entry).into_iter().for_each(|op| move_to_end(op, self.block));
        others.iter().for_each(|b| edit::move_block(*b, region));
        let next = untied_block(region.append_block(Block::new(&[])));
        for block in std::iter::once(self.block).chain(others) {
            return_to(self.ir, block, next);
        }
        self.block = next;
    }
}

/// Replaces the block's return, if it has one, by a branch to `next`.
fn return_to<'c>(ir: &'c airlink_ir::Ir, block: BlockRef<'c, 'c>, next: BlockRef<'c, 'c>) {
    let Some(end) = block.terminator().filter(|op| name(*op) == "func.return") else { return };
    edit::erase(end);
    let branch = OperationBuilder::new("cf.br", Location::unknown(ir.context()))
        .add_successors(&[&next])
        .build()
        .expect("a branch builds");
    block.append_operation(branch);
}

fn ops<'c>(block: BlockRef<'c, 'c>) -> Vec<OperationRef<'c, 'c>> {
    std::iter::successors(block.first_operation(), |o| o.next_in_block()).collect()
}
