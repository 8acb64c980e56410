//! Attributes of a kernel's module, function and arguments, which the fused ones take over.

use std::collections::BTreeMap;

use airlink_diag::{Finding, Findings, Span, codes};
use airlink_ir::edit::{argument_attributes, dictionary, set_attribute};
use airlink_ir::melior::ir::operation::OperationLike;
use airlink_ir::{Attribute, OperationRef, attr};
use airlink_plan::LaunchPlan;

use crate::Fused;
use crate::fused::Given;

/// The function's attributes that are its own business and not its user's.
const OWN: [&str; 5] = ["sym_name", "sym_visibility", "function_type", "arg_attrs", "res_attrs"];

impl<'c> Fused<'c> {
    /// Module attributes come together in the fused module.
    pub fn take_module_attributes(&mut self, module: OperationRef<'c, 'c>, findings: &mut Findings) {
        let place = airlink_ir::locate(module.location(), &findings.sources);
        for (name, attribute) in attr::all(module) {
            if name != "sym_name" {
                merge(&mut self.module_attributes, name, (attribute, place), "the modules", findings);
            }
        }
    }

    /// A function's attributes go to its launches as one dictionary; those of its arguments to the fused arguments.
    pub fn take_function_attributes(
        &mut self,
        function: OperationRef<'c, 'c>,
        launches: &[OperationRef<'c, 'c>],
        plan: &LaunchPlan,
        findings: &mut Findings,
    ) {
        let entries: Vec<_> = attr::all(function).into_iter().filter(|(name, _)| !OWN.contains(name)).collect();
        if !entries.is_empty() {
            let attributes = dictionary(self.ir, &entries);
            for launch in launches {
                set_attribute(*launch, "airlink.func_attrs", attributes);
            }
        }
        let place = airlink_ir::locate(function.location(), &findings.sources);
        for (index, operand) in plan.operands.iter().enumerate() {
            for (name, attribute) in argument_attributes(function, index) {
                let whose = "two kernels' arguments";
                merge(&mut self.arg_attributes[operand.arg], name, (attribute, place), whose, findings);
            }
        }
    }
}

fn merge<'c>(
    into: &mut BTreeMap<String, Given<'c>>,
    name: &str,
    (attribute, place): (Attribute<'c>, Option<Span>),
    whose: &str,
    findings: &mut Findings,
) {
    let (first, first_place) = *into.entry(name.to_string()).or_insert((attribute, place));
    if first != attribute {
        findings.push(
            Finding::error(codes::AL0501, format!("`{name}` of {whose} is {first} here and {attribute} there"))
                .maybe_at(place, format!("{attribute}"))
                .maybe_also(first_place, format!("{first}"))
                .remedy("give both the same value, or put the two launches into different ELFs with [[elf]]"),
        );
    }
}
