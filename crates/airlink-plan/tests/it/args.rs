//! Arguments of a fused function.

use airlink_graph::Role;
use airlink_plan::ElfPlan;

use crate::support::{Kernel, VEC, copy, elf, errors, host, kernel, launch, names, plan_of, plan_ok};

/// `index name role` per argument, with the dataflow where it differs.
fn args(elf: &ElfPlan) -> Vec<String> {
    let flow = |a: &airlink_plan::ArgPlan| a.dataflow_if_other().map_or(String::new(), |d| format!("/{d}"));
    elf.args.iter().map(|a| format!("{} {} {}{}", a.index, a.name, a.role.as_str(), flow(a))).collect()
}

fn chain() -> String {
    launch("a", "c.mlir", &["x", "t"]) + &launch("b", "c.mlir", &["t", "y"])
}

fn with_args(list: &str) -> String {
    format!("{}{}args = {list}\n", chain(), elf("e", &["a", "b"]))
}

fn buffer(name: &str, rest: &str) -> String {
    format!("[[buffer]]\nname = \"{name}\"\n{rest}\n")
}

fn kernels() -> [Kernel; 1] {
    [copy("c.mlir")]
}

#[test]
fn first_use_is_the_order_without_a_list() {
    let plan = plan_ok(&chain(), &kernels());
    assert_eq!(args(&plan.elfs[0]), ["0 x input", "1 t intermediate", "2 y output"]);
    assert_eq!(plan.elfs[0].launches[1].operands.iter().map(|o| o.arg).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn a_list_is_the_order() {
    let plan = plan_ok(&with_args(r#"["y", "x", "t"]"#), &kernels());
    assert_eq!(args(&plan.elfs[0]), ["0 y output", "1 x input", "2 t intermediate"]);
    assert_eq!(plan.elfs[0].launches[0].operands.iter().map(|o| o.arg).collect::<Vec<_>>(), [1, 2]);
    let lists = &plan.elfs[0].index_lists;
    assert_eq!((&lists.output_indices[..], &lists.intermediate_indices[..]), (&[0][..], &[0, 2][..]));
}

#[test]
fn readers_writers_sizes_and_shapes() {
    let planned = plan_of(&chain(), &kernels());
    let plan = planned.plan.unwrap();
    let t = &plan.elfs[0].args[1];
    assert_eq!(
        (names(&planned.graph, &t.readers), names(&planned.graph, &t.writers)),
        (vec!["b".into()], vec!["a".into()])
    );
    assert_eq!((t.size_bytes, &t.shape[..]), (Some(64), &[Some(16)][..]));
}

#[test]
fn a_buffer_that_the_list_omits_is_an_error() {
    let found = errors(&with_args(r#"["x"]"#), &kernels());
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found[0].ends_with("error[AL0216]: ELF `e` uses buffer `t`, but `args` omits it"));
    assert!(found[1].ends_with("error[AL0216]: ELF `e` uses buffer `y`, but `args` omits it"));
}

#[test]
fn a_declared_buffer_that_nothing_uses_stays_as_dead() {
    let text = buffer("spare", &format!("type = \"{VEC}\"")) + &with_args(r#"["x", "spare", "t", "y"]"#);
    let plan = plan_ok(&text, &kernels());
    assert_eq!(args(&plan.elfs[0])[1], "1 spare dead");
    assert_eq!(plan.elfs[0].index_lists.intermediate_indices, [1, 2, 3]);
}

#[test]
fn the_declared_role_of_an_unused_argument_is_kept() {
    let text = buffer("spare", &format!("type = \"{VEC}\"\nrole = \"intermediate\""))
        + &with_args(r#"["x", "spare", "t", "y"]"#);
    let planned = plan_of(&text, &kernels());
    assert_eq!(args(&planned.plan.unwrap().elfs[0])[1], "1 spare intermediate/dead");
    assert_eq!(crate::support::lines(&planned.findings).len(), 1, "contradicted once");
}

#[test]
fn what_cannot_be_an_argument() {
    let view =
        format!("[[view]]\nname = \"v\"\nof = \"x\"\noffsets = [0]\nsizes = [16]\nstrides = [1]\ntype = \"{VEC}\"\n");
    let text = buffer("bare", "") + &view + &with_args(r#"["x", "tt", "v", "bare", "t", "y"]"#);
    let found = errors(&text, &kernels());
    assert_eq!(found.len(), 3, "{found:#?}");
    assert!(found[0].ends_with("error[AL0217]: ELF `e` lists an unknown buffer `tt`"));
    assert!(found[1].ends_with("error[AL0217]: ELF `e` lists view `v` as an argument"));
    assert!(found[2].ends_with("error[AL0217]: argument `bare` of ELF `e` has no type"));
}

#[test]
fn a_buffer_of_another_elf_is_no_argument_unless_declared() {
    let elfs = |args: &str| format!("{}{}{}args = {args}\n", chain(), elf("e", &["a"]), elf("f", &["b"]));
    let found = errors(&elfs(r#"["t", "y", "x"]"#), &kernels());
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].ends_with("lists buffer `x`, which is undeclared and which no launch of it uses"));
    let plan = plan_ok(&(buffer("x", "") + &elfs(r#"["t", "y", "x"]"#)), &kernels());
    assert_eq!(args(&plan.elfs[1]), ["0 t input", "1 y output", "2 x dead"]);
}

#[test]
fn an_argument_stands_once() {
    let found = errors(&with_args(r#"["x", "t", "x", "y"]"#), &kernels());
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].ends_with("error[AL0224]: ELF `e` lists argument `x` twice"));
}

#[test]
fn roles_are_per_elf() {
    let text = launch("a", "c.mlir", &["x", "t"]) + &host("h", &[], &[]) + &launch("b", "c.mlir", &["t", "y"]);
    let plan = plan_ok(&text, &kernels());
    assert_eq!(args(&plan.elfs[0]), ["0 x input", "1 t output"]);
    assert_eq!(args(&plan.elfs[1]), ["0 t input", "1 y output"]);
}

#[test]
fn scalars_are_arguments() {
    let plan = plan_ok(
        &launch("a", "s.mlir", &["n", "x", "y"]),
        &[kernel("s.mlir", &["index -", "memref<?xf32> r", "memref<16xf32> w"])],
    );
    let [n, x, _] = &plan.elfs[0].args[..] else { panic!("three arguments") };
    assert_eq!((n.ty.to_string(), n.size_bytes, n.shape.len()), ("index".to_string(), None, 0));
    assert_eq!((x.size_bytes, &x.shape[..]), (None, &[None][..]));
    assert_ne!(n.role, Role::Output);
}

#[test]
fn views_are_operands_of_their_buffers() {
    let view = |name: &str, row: u64| {
        format!(
            "[[view]]\nname = \"{name}\"\nof = \"packed\"\noffsets = [{row}, 0]\nsizes = [1, 16]\nstrides = [1, 1]\n\
             type = \"{VEC}\"\n"
        )
    };
    let buffer = buffer("packed", "type = \"memref<2x16xf32>\"");
    let plan = plan_ok(
        &(buffer.clone() + &view("unused", 0) + &view("row0", 0) + &launch("a", "c.mlir", &["row0", "y"])),
        &kernels(),
    );
    let operand = &plan.elfs[0].launches[0].operands[0];
    assert_eq!((operand.arg, operand.view.unwrap().0), (0, 1));
    assert_eq!(plan.elfs[0].views.iter().map(|v| v.0).collect::<Vec<_>>(), [1]);
    let plan = plan_ok(&(buffer + &view("row1", 1) + &launch("a", "c.mlir", &["row1", "y"])), &kernels());
    assert_eq!(plan.elfs[0].views.len(), 1, "an offset is the stitcher's business");
}
