//! The module that is being made.

use std::collections::{BTreeMap, BTreeSet};

use airlink_diag::Span;
use airlink_graph::ViewIdx;
use airlink_ir::edit::{self, parse_type, untied, untied_block};
use airlink_ir::melior::ir::attribute::{StringAttribute, TypeAttribute};
use airlink_ir::melior::ir::block::BlockLike;
use airlink_ir::melior::ir::operation::OperationBuilder;
use airlink_ir::melior::ir::r#type::FunctionType;
use airlink_ir::melior::ir::{Block, Identifier, Location, Region, RegionLike};
use airlink_ir::{Attribute, BlockRef, Ir, Module, OperationRef, Type, Value, function_body};
use airlink_plan::{ElfPlan, OperandPlan};

/// An attribute that several kernels may give, with the place that gave it first.
pub(crate) type Given<'c> = (Attribute<'c>, Option<Span>);

/// The fused module under construction.
pub(crate) struct Fused<'c> {
    pub ir: &'c Ir,
    pub module: Module<'c>,
    pub function: OperationRef<'c, 'c>,
    /// Where the next op goes. Further blocks exist only where a kernel branches.
    pub block: BlockRef<'c, 'c>,
    pub args: Vec<Value<'c, 'c>>,
    pub views: BTreeMap<ViewIdx, Value<'c, 'c>>,
    /// Externs that are declared already, by final name.
    pub externs: BTreeSet<String>,
    /// Per argument of the function: its attributes by name.
    pub arg_attributes: Vec<BTreeMap<String, Given<'c>>>,
    pub module_attributes: BTreeMap<String, Given<'c>>,
}

impl<'c> Fused<'c> {
    /// An empty module with the ELF's function, whose body ends nowhere yet.
    pub fn new(ir: &'c Ir, elf: &ElfPlan) -> Fused<'c> {
        let location = Location::unknown(ir.context());
        let module = Module::new(location);
        let types: Vec<Type<'c>> = elf.args.iter().map(|a| parse_type(ir, &a.ty.to_string())).collect();
        let body = Block::new(&types.iter().map(|t| (*t, location)).collect::<Vec<_>>());
        let region = Region::new();
        region.append_block(body);
        let ty = FunctionType::new(ir.context(), &types, &[]);
        let function = OperationBuilder::new("func.func", location)
            .add_attributes(&[
                (Identifier::new(ir.context(), "sym_name"), StringAttribute::new(ir.context(), &elf.name).into()),
                (Identifier::new(ir.context(), "function_type"), TypeAttribute::new(ty.into()).into()),
            ])
            .add_regions([region])
            .build()
            .expect("a function op builds");
        let function = untied(module.body().append_operation(function));
        let block = untied_block(function_body(function).expect("it has a body"));
        let args = (0..elf.args.len()).map(|i| block.argument(i).expect("in range").into()).collect();
        Fused {
            ir,
            function,
            block,
            args,
            views: BTreeMap::new(),
            externs: BTreeSet::new(),
            arg_attributes: vec![BTreeMap::new(); elf.args.len()],
            module_attributes: BTreeMap::new(),
            module,
        }
    }

    /// The value that a launch gets for an operand.
    pub fn operand(&self, operand: &OperandPlan) -> Value<'c, 'c> {
        match operand.view {
            Some(view) => self.views[&view],
            None => self.args[operand.arg],
        }
    }

    /// Ends the function, moves it behind all declarations and sets what the kernels' attributes came to.
    pub fn finish(self) -> Module<'c> {
        let location = Location::unknown(self.ir.context());
        let end = OperationBuilder::new("func.return", location).build().expect("a return builds");
        self.block.append_operation(end);
        edit::move_to_end(self.function, untied_block(self.module.body()));
        for (index, attributes) in self.arg_attributes.iter().enumerate() {
            for (name, (attribute, _)) in attributes {
                edit::set_argument_attribute(self.function, index, name, *attribute);
            }
        }
        for (name, (attribute, _)) in &self.module_attributes {
            edit::set_attribute(untied(self.module.as_operation()), name, *attribute);
        }
        self.module
    }
}
