//! Declarations in the fused module.

use crate::support::{Kernel, copy, errors, launch, plan_ok};

fn text() -> String {
    launch("a", "a.mlir", &["x", "t"]) + &launch("b", "b.mlir", &["t", "y"])
}

fn with(a: Kernel, b: Kernel) -> [Kernel; 2] {
    [a.at("a.mlir"), b.at("b.mlir")]
}

fn f() -> Kernel {
    copy("").calls("f", &["i32"], Some("o.o"))
}

#[test]
fn equal_declarations_are_one_with_the_attributes_of_both() {
    let kernels = with(f().attribute("b", "1 : i32"), f().attribute("a", "unit").attribute("b", "1 : i32"));
    let plan = plan_ok(&text(), &kernels);
    let [one] = &plan.elfs[0].externs[..] else { panic!("one extern") };
    let attributes: Vec<_> = one.attributes.iter().map(|(k, v)| format!("{k}={v}")).collect();
    assert_eq!(attributes, ["a=unit", "b=1 : i32"]);
    assert_eq!(one.launches.len(), 2);
    assert!(one.is_called);
}

#[test]
fn attributes_that_contradict_are_an_error() {
    let found = errors(&text(), &with(f().attribute("b", "1 : i32"), f().attribute("b", "2 : i32")));
    assert_eq!(found, ["b.mlir:1:19: error[AL0402]: declarations of `@f` contradict in attribute `b`"]);
}

#[test]
fn one_declaration_alone_with_a_c_interface_is_an_error() {
    let found = errors(&text(), &with(f(), f().attribute("llvm.emit_c_interface", "unit")));
    let headline = "declarations of `@f` contradict: one alone has `llvm.emit_c_interface`";
    assert_eq!(found, [format!("b.mlir:1:19: error[AL0402]: {headline}")]);
}

#[test]
fn attributes_of_two_variants_may_differ() {
    let other = copy("").calls("f", &["i64"], Some("o.o")).attribute("b", "2 : i32");
    let plan = plan_ok(&text(), &with(f().attribute("b", "1 : i32"), other));
    assert_eq!(
        plan.elfs[0].externs.iter().map(|e| e.attributes["b"].as_str()).collect::<Vec<_>>(),
        ["1 : i32", "2 : i32"]
    );
}

#[test]
fn externs_with_longer_names_stay_apart() {
    let plan = plan_ok(&text(), &with(f(), copy("").calls("f_k8192", &["i32"], Some("o.o"))));
    let symbols: Vec<_> = plan.elfs[0].externs.iter().map(|e| e.symbol.as_str()).collect();
    assert_eq!(symbols, ["f", "f_k8192"]);
    assert_eq!(plan.objects.len(), 1);
    assert!(plan.elfs[0].renames.is_empty());
}
