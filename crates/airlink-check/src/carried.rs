//! Attributes of kernels' modules and arguments stand on the fused ones, and no others do.

use std::collections::BTreeMap;

use airlink_ir::{Attribute, OperationRef, attr, edit};

use crate::Expected;

/// What is wrong, in words.
pub(crate) fn check<'c>(
    root: OperationRef<'c, 'c>,
    function: OperationRef<'c, 'c>,
    expected: &Expected<'_, 'c>,
) -> Vec<String> {
    let mut module: BTreeMap<&str, Attribute<'c>> = BTreeMap::new();
    let mut args: Vec<BTreeMap<&str, Attribute<'c>>> = vec![BTreeMap::new(); expected.elf.args.len()];
    for launch in &expected.elf.launches {
        let Some(kernel) = expected.kernels.get(&launch.kernel) else { continue };
        let kernel = edit::untied(kernel.as_operation());
        module.extend(of_module(kernel));
        let functions = airlink_ir::children(kernel);
        let Some(own) = functions.iter().find(|f| attr::string(**f, "sym_name") == Some(&launch.function)) else {
            continue;
        };
        for (i, operand) in launch.operands.iter().enumerate() {
            if let Some(arg) = args.get_mut(operand.arg) {
                arg.extend(edit::argument_attributes(*own, i));
            }
        }
    }
    let mut wrong = Vec::new();
    compare("the module", of_module(root), module, &mut wrong);
    for (i, wanted) in args.into_iter().enumerate() {
        compare(&format!("argument {i}"), edit::argument_attributes(function, i), wanted, &mut wrong);
    }
    wrong
}

fn of_module<'c>(module: OperationRef<'c, 'c>) -> Vec<(&'c str, Attribute<'c>)> {
    attr::all(module).into_iter().filter(|(name, _)| *name != "sym_name").collect()
}

fn compare<'c>(
    whose: &str,
    found: Vec<(&'c str, Attribute<'c>)>,
    wanted: BTreeMap<&'c str, Attribute<'c>>,
    wrong: &mut Vec<String>,
) {
    let found: BTreeMap<_, _> = found.into_iter().collect();
    for name in found.keys().chain(wanted.keys().filter(|n| !found.contains_key(*n))) {
        let (is, should) = (found.get(name), wanted.get(name));
        if is != should {
            let text = |a: Option<&Attribute<'c>>| a.map_or("absent".to_string(), ToString::to_string);
            wrong.push(format!("`{name}` of {whose} is {}, the kernels have it {}", text(is), text(should)));
        }
    }
}
