//! Objects that were found: content, definitions, and one content behind two variants.

use crate::support::{Kernel, copy, launch, lines, object, plan_with};
use crate::variants::objects;

fn two(file_a: &str, ty_a: &str, file_b: &str, ty_b: &str) -> (String, [Kernel; 2]) {
    let text = launch("a", "a.mlir", &["x", "t"]) + &launch("b", "b.mlir", &["t", "y"]);
    (text, [copy("a.mlir").calls("f", &[ty_a], Some(file_a)), copy("b.mlir").calls("f", &[ty_b], Some(file_b))])
}

#[test]
fn content_is_the_identity_where_objects_are_found() {
    let (text, kernels) = two("o.o", "i32", "o.o", "i32");
    let one = object("build/o.o", "1", &["f", "hidden"]);
    let other = object("build/o_b.o", "2", &["f", "hidden"]);
    let same = plan_with(&text, &kernels, &[("a", "o.o", one.clone()), ("b", "o.o", one.clone())]);
    assert_eq!(objects(&same.plan.unwrap()), ["o.o: f=f hidden=hidden | 0 1"]);
    let planned = plan_with(&text, &kernels, &[("a", "o.o", one), ("b", "o.o", other)]);
    let plan = planned.plan.unwrap();
    // Every symbol that the later file defines gets the suffix, called or not.
    assert_eq!(objects(&plan), ["o.o: f=f hidden=hidden | 0", "o_2.o: f=f_2 hidden=hidden_2 | 1"]);
    assert_eq!(plan.objects[1].found.as_ref().unwrap().path, "build/o_b.o");
    assert_eq!(lines(&planned.findings), Vec::<String>::new());
}

#[test]
fn a_launch_without_an_object_does_not_share_one() {
    let (text, kernels) = two("o.o", "i32", "o.o", "i32");
    let planned = plan_with(&text, &kernels, &[("a", "o.o", object("o.o", "1", &["f"]))]);
    assert_eq!(objects(&planned.plan.unwrap()), ["o.o: f=f | 0", "o_2.o: f=f_2 | 1"]);
}

#[test]
fn two_types_for_one_content_are_a_warning_with_both() {
    let (text, kernels) = two("o.o", "i32", "o.o", "i64");
    let same = object("o.o", "1", &["f"]);
    let planned = plan_with(&text, &kernels, &[("a", "o.o", same.clone()), ("b", "o.o", same)]);
    assert_eq!(objects(&planned.plan.unwrap()), ["o.o: f=f | 0", "o_2.o: f=f_2 | 1"]);
    let expected = "b.mlir:1:19: warning[AL0405]: `@f` of `o.o` is called as `(i32) -> ()` and as `(i64) -> ()`";
    assert_eq!(lines(&planned.findings), [expected]);
}

#[test]
fn equal_content_under_two_names_is_no_warning_where_the_types_agree() {
    let (text, kernels) = two("o.o", "i32", "p.o", "i32");
    let same = object("o.o", "1", &["f"]);
    let planned = plan_with(&text, &kernels, &[("a", "o.o", same.clone()), ("b", "p.o", same)]);
    assert_eq!(objects(&planned.plan.unwrap()), ["o.o: f=f | 0", "p.o: f=f_2 | 1"]);
    assert_eq!(lines(&planned.findings), Vec::<String>::new());
}

#[test]
fn an_object_must_define_what_is_called() {
    let (text, kernels) = two("o.o", "i32", "o.o", "i32");
    let lacking = object("build/o.o", "1", &["g"]);
    let planned = plan_with(&text, &kernels, &[("a", "o.o", lacking.clone()), ("b", "o.o", lacking)]);
    assert!(planned.plan.is_none());
    assert_eq!(lines(&planned.findings), ["a.mlir:1:19: error[AL0406]: `build/o.o` does not define `@f`"]);
}

#[test]
fn an_object_that_defines_what_another_is_called_for_gets_new_names() {
    // `p.o` is called for `@g`, but also brings an `@f`: unrenamed, the two would clash when linked.
    let text = launch("a", "a.mlir", &["x", "t"]) + &launch("b", "b.mlir", &["t", "y"]);
    let kernels = [copy("a.mlir").calls("f", &["i32"], Some("o.o")), copy("b.mlir").calls("g", &["i32"], Some("p.o"))];
    let found =
        [("a", "o.o", object("o.o", "1", &["f", "inline"])), ("b", "p.o", object("p.o", "2", &["g", "f", "inline"]))];
    let plan = plan_with(&text, &kernels, &found).plan.unwrap();
    assert_eq!(objects(&plan), ["o.o: f=f inline=inline | 0", "p.o: g=g_2 f=f_2 inline=inline_2 | 1"]);
    // What nobody calls, such as an inline function, is no reason.
    let found =
        [("a", "o.o", object("o.o", "1", &["f", "inline"])), ("b", "p.o", object("p.o", "2", &["g", "inline"]))];
    let plan = plan_with(&text, &kernels, &found).plan.unwrap();
    assert_eq!(objects(&plan), ["o.o: f=f inline=inline | 0", "p.o: g=g inline=inline | 1"]);
}

#[test]
fn launches_that_mean_other_reference_kernels_share_no_object() {
    let (text, kernels) = two("o.o", "i32", "o.o", "i32");
    let with_ref = |launch: &str, kernel: &str, text: &str| {
        let head = format!("[[launch]]\nname = \"{launch}\"");
        text.replacen(&head, &format!("{head}\nref = {{ f = \"{kernel}\" }}"), 1)
    };
    let plan = |text: &str, found: &[_]| objects(&plan_with(text, &kernels, found).plan.unwrap());
    let one = with_ref("a", "f_fast", &text);
    let apart = ["o.o: f=f | 0", "o_2.o: f=f_2 | 1"];
    assert_eq!(plan(&one, &[]), apart);
    assert_eq!(plan(&with_ref("b", "f_slow", &one), &[]), apart);
    assert_eq!(plan(&with_ref("b", "f_fast", &one), &[]), ["o.o: f=f | 0 1"]);
    // Objects that are found mean what they mean.
    let same = object("o.o", "1", &["f"]);
    assert_eq!(plan(&one, &[("a", "o.o", same.clone()), ("b", "o.o", same)]), ["o.o: f=f | 0 1"]);
}
