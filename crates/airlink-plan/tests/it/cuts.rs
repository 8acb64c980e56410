//! Where the program is cut.

use airlink_plan::Plan;

use crate::support::{copy, elf, errors, host, launch, plan_ok};

/// a, b, attention, c, d.
fn chain() -> String {
    [
        launch("a", "c.mlir", &["x", "t1"]),
        launch("b", "c.mlir", &["t1", "t2"]),
        host("attention", &["t2"], &["t3"]),
        launch("c", "c.mlir", &["t3", "t4"]),
        launch("d", "c.mlir", &["t4", "y"]),
    ]
    .concat()
}

/// Without the host step.
fn straight() -> String {
    ["a", "b", "c", "d"]
        .iter()
        .enumerate()
        .map(|(i, n)| launch(n, "c.mlir", &[&format!("t{i}"), &format!("t{}", i + 1)]))
        .collect()
}

/// Per ELF: name, launches and why it ends.
fn cuts(plan: &Plan) -> Vec<String> {
    let names = |e: &airlink_plan::ElfPlan| e.launches.iter().map(|l| l.name.clone()).collect::<Vec<_>>().join(" ");
    plan.elfs.iter().map(|e| format!("{}: {} | {}", e.name, names(e), e.cut)).collect()
}

fn cuts_of(text: &str) -> Vec<String> {
    cuts(&plan_ok(text, &[copy("c.mlir")]))
}

fn errors_of(text: &str) -> Vec<String> {
    errors(text, &[copy("c.mlir")])
}

#[test]
fn one_elf_has_the_name_of_the_graph() {
    assert_eq!(cuts_of(&straight()), ["prog: a b c d | end of the program"]);
}

#[test]
fn a_host_step_cuts() {
    assert_eq!(
        cuts_of(&chain()),
        ["prog_1: a b | host step `attention` follows, takes 64 B and gives 64 B", "prog_2: c d | end of the program"]
    );
}

#[test]
fn host_steps_at_the_ends_and_in_a_row_make_no_empty_elf() {
    let text = host("first", &[], &["t0"]) + &straight() + &host("last", &["t4"], &[]) + &host("more", &["t4"], &[]);
    assert_eq!(cuts_of(&text), ["prog: a b c d | host step `last` follows, takes 64 B"]);
}

#[test]
fn a_launch_that_must_not_be_fused_is_alone() {
    let never = straight().replacen("name = \"b\"", "fuse = \"never\"\nname = \"b\"", 1);
    let alone = "launch `b` must not be fused";
    let expected = [
        format!("prog_1: a | {alone}"),
        format!("prog_2: b | {alone}"),
        "prog_3: c d | end of the program".to_string(),
    ];
    assert_eq!(cuts_of(&never), expected);
}

#[test]
fn launches_that_must_not_be_fused_stand_side_by_side() {
    let never = straight().replace("name = ", "fuse = \"never\"\nname = ");
    assert_eq!(cuts_of(&never).len(), 4);
}

#[test]
fn given_cuts_are_kept_in_program_order() {
    let text = straight() + &elf("late", &["c", "d"]) + &elf("early", &["a", "b"]);
    assert_eq!(cuts_of(&text), ["early: a b | given by [[elf]]", "late: c d | given by [[elf]]"]);
}

#[test]
fn given_cuts_must_cover_the_launches() {
    let text = straight() + &elf("e", &["a", "b"]);
    assert_eq!(errors_of(&text), ["graph.toml:13:8: error[AL0215]: launches `c`, `d` are in no ELF"]);
    let many: String = (0..9).map(|i| launch(&format!("l{i}"), "c.mlir", &["x", "y"])).collect();
    let text = many + &launch("z", "c.mlir", &["x", "y"]) + &elf("e", &["z"]);
    assert!(errors_of(&text)[0].ends_with("launches `l0`, `l1`, `l2`, `l3`, `l4` and 4 more are in no ELF"));
}

#[test]
fn a_launch_is_in_one_elf_once() {
    let text = straight() + &elf("e", &["a", "b", "b"]) + &elf("f", &["b", "c", "d"]);
    let found = errors_of(&text);
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found[0].ends_with("error[AL0215]: launch `b` stands twice in ELF `e`"));
    assert!(found[1].ends_with("error[AL0215]: launch `b` stands in two ELFs, `e` and `f`"));
}

#[test]
fn launches_of_an_elf_are_neighbours_in_order() {
    let gap = errors_of(&(straight() + &elf("e", &["a", "c"]) + &elf("f", &["b", "d"])));
    assert_eq!(gap.len(), 2, "{gap:#?}");
    assert!(gap[0].ends_with("error[AL0215]: launches of ELF `e` are no neighbours in the program"));
    let order = errors_of(&(straight() + &elf("e", &["b", "a", "c", "d"])));
    assert_eq!(order.len(), 1, "{order:#?}");
    assert!(order[0].ends_with("error[AL0215]: launches of ELF `e` contradict the program order"));
}

#[test]
fn no_host_step_inside_an_elf() {
    let found = errors_of(&(chain() + &elf("e", &["a", "b", "c", "d"])));
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].ends_with("error[AL0215]: host step `attention` stands inside ELF `e`"));
    // At its edge it is welcome.
    assert_eq!(cuts_of(&(chain() + &elf("e", &["a", "b"]) + &elf("f", &["c", "d"]))).len(), 2);
}

#[test]
fn unknown_launches_are_named_with_the_nearest() {
    let found = errors_of(&(straight() + &elf("e", &["a", "b", "c", "d", "dd"])));
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].ends_with("error[AL0218]: ELF `e` names an unknown launch `dd`"));
}

#[test]
fn an_elf_does_not_overrule_fuse_never() {
    let never = straight().replacen("name = \"b\"", "fuse = \"never\"\nname = \"b\"", 1);
    let found = errors_of(&(never.clone() + &elf("e", &["a", "b", "c", "d"])));
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].ends_with("error[AL0215]: launch `b` must not be fused, but shares ELF `e`"));
    let text = never + &elf("e", &["a"]) + &elf("f", &["b"]) + &elf("h", &["c", "d"]);
    assert_eq!(cuts_of(&text).len(), 3);
}
