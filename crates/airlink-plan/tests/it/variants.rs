//! Object variants: who shares an object, and what each is called.

use airlink_kernel::LocalKind;
use airlink_plan::Plan;

use crate::support::{Kernel, copy, elf, errors, gemv, host, launch, plan_ok};

/// Per object variant: `file from link_with suffix: original=final ... | launches`.
pub fn objects(plan: &Plan) -> Vec<String> {
    let object = |o: &airlink_plan::ObjectPlan| {
        let symbols: Vec<_> = o.symbols.iter().map(|(from, to)| format!("{from}={}", to.symbol)).collect();
        let launches: Vec<_> = o.launches.iter().map(|l| l.0.to_string()).collect();
        format!("{}: {} | {}", o.file.as_deref().unwrap_or("-"), symbols.join(" "), launches.join(" "))
    };
    plan.objects.iter().map(object).collect()
}

/// One launch per kernel, without a buffer in common.
pub fn independent(kernels: &[(&str, &Kernel, &str)]) -> String {
    kernels
        .iter()
        .map(|(name, _, path)| {
            let arg_count = if path.starts_with("gemv") { 3 } else { 2 };
            let args: Vec<String> = (0..arg_count).map(|i| format!("{name}_{i}")).collect();
            launch(name, path, &args.iter().map(String::as_str).collect::<Vec<_>>())
        })
        .collect()
}

/// Launches `a`, `b`, ... of copies that call `@f` each in its own way.
fn copies(kernels: &[Kernel]) -> (String, Vec<Kernel>) {
    let mut text = String::new();
    let mut list = Vec::new();
    for (i, kernel) in kernels.iter().enumerate() {
        let name = char::from(b'a' + i as u8).to_string();
        let path = format!("{name}.mlir");
        text += &launch(&name, &path, &[&format!("{name}_in"), &format!("{name}_out")]);
        list.push(kernel.clone().at(&path));
    }
    (text, list)
}

fn objects_of(kernels: &[Kernel]) -> Vec<String> {
    let (text, kernels) = copies(kernels);
    objects(&plan_ok(&text, &kernels))
}

#[test]
fn three_k_and_two_tile_m() {
    let kernels = [
        gemv("gemv_q.mlir", 2048, 2048, 4, 8),
        gemv("gemv_down.mlir", 2048, 8192, 1, 2),
        gemv("gemv_big.mlir", 4096, 14336, 1, 2),
        gemv("gemv_q_m4.mlir", 2048, 2048, 4, 4),
        gemv("gemv_up.mlir", 8192, 2048, 4, 8),
    ];
    let text = independent(&[
        ("q", &kernels[0], "gemv_q.mlir"),
        ("down", &kernels[1], "gemv_down.mlir"),
        ("big", &kernels[2], "gemv_big.mlir"),
        ("q4", &kernels[3], "gemv_q_m4.mlir"),
        ("up", &kernels[4], "gemv_up.mlir"),
    ]);
    let plan = plan_ok(&text, &kernels);
    let expected = [
        "mv.o: fill=fill mv=mv | 0 4",
        "mv_k8192.o: fill=fill_k8192 mv=mv_k8192 | 1",
        "mv_k14336.o: fill=fill_k14336 mv=mv_k14336 | 2",
        "mv_m4.o: fill=fill_m4 mv=mv_m4 | 3",
    ];
    assert_eq!(objects(&plan), expected);
    let elf = &plan.elfs[0];
    let names: Vec<_> = elf.launches.iter().map(|l| l.externs["mv"].symbol.as_str()).collect();
    assert_eq!(names, ["mv", "mv_k8192", "mv_k14336", "mv_m4", "mv"]);
    assert_eq!(elf.launches[1].files["mv.o"], "mv_k8192.o");
    let externs: Vec<_> =
        elf.externs.iter().map(|e| format!("{} {}", e.symbol, e.link_with.as_deref().unwrap())).collect();
    assert_eq!(externs.len(), 8);
    assert!(externs.contains(&"fill_m4 mv_m4.o".to_string()));
    let renames: Vec<_> = elf.renames.iter().filter(|r| r.kind == airlink_plan::RenameKind::Extern).collect();
    assert_eq!(renames.len(), 6);
    let r = renames[1];
    assert_eq!((r.launch.as_str(), r.from.as_str(), r.to.as_str()), ("down", "mv", "mv_k8192"));
    assert_eq!((r.object_from.as_deref(), r.object_to.as_deref()), (Some("mv.o"), Some("mv_k8192.o")));
}

#[test]
fn neither_k_nor_m_new_counts() {
    let same_k_and_m = |rows: u64, name: &str| gemv(name, 64, 64, rows, 8);
    let kernels = [same_k_and_m(1, "gemv_1"), same_k_and_m(2, "gemv_2"), same_k_and_m(4, "gemv_3")];
    let text = independent(&[("a", &kernels[0], "gemv_1"), ("b", &kernels[1], "gemv_2"), ("c", &kernels[2], "gemv_3")]);
    // `@fill` agrees in all three, and follows its file.
    let expected = ["mv.o: fill=fill mv=mv | 0", "mv_2.o: fill=fill_2 mv=mv_2 | 1", "mv_3.o: fill=fill_3 mv=mv_3 | 2"];
    assert_eq!(objects(&plan_ok(&text, &kernels)), expected);
}

#[test]
fn a_launch_joins_the_first_variant_with_which_nothing_disagrees() {
    let found = objects_of(&[
        copy("").calls("f", &["i32"], Some("o.o")),
        copy("").calls("f", &["i64"], Some("o.o")),
        // Fits both: joins the first.
        copy("").calls("g", &["f32"], Some("o.o")),
        // Fits the second only, now that the first has @g.
        copy("").calls("g", &["f64"], Some("o.o")),
        copy("").calls("f", &["i64"], Some("o.o")).calls("g", &["f64"], Some("o.o")),
    ]);
    assert_eq!(found, ["o.o: f=f g=g | 0 2", "o_2.o: f=f_2 g=g_2 | 1 3 4"]);
}

#[test]
fn the_file_is_the_identity_without_a_file_found() {
    let found = objects_of(&[
        copy("").calls("mv", &["i32"], Some("mv.o")),
        copy("").calls("mv", &["i32"], Some("down_mv.o")),
        copy("").calls("mv", &["i64"], Some("down_mv.o")),
    ]);
    assert_eq!(found, ["mv.o: mv=mv | 0", "down_mv.o: mv=mv_2 | 1", "down_mv_3.o: mv=mv_3 | 2"]);
}

#[test]
fn k_of_another_file_counts_where_a_symbol_is_shared() {
    let other_file = |k: u64, path: &str| {
        let text =
            [format!("memref<4x{k}xbf16, 2 : i32>"), format!("memref<{k}xbf16, 2 : i32>"), "memref<8xbf16>".into()];
        let types: Vec<&str> = text.iter().map(String::as_str).collect();
        copy(path).calls("mv", &types, Some(if path == "a" { "mv.o" } else { "down_mv.o" }))
    };
    let found = objects_of(&[other_file(64, "a"), other_file(64, "b"), other_file(128, "b")]);
    assert_eq!(found, ["mv.o: mv=mv | 0", "down_mv.o: mv=mv_2 | 1", "down_mv_k128.o: mv=mv_k128 | 2"]);
}

#[test]
fn declarations_without_a_file_join_one_that_has_it() {
    for swap in [false, true] {
        let mut kernels = [copy("").calls("mv", &["i32"], Some("mv.o")), copy("").calls("mv", &["i32"], None)];
        if swap {
            kernels.swap(0, 1);
        }
        let (text, kernels) = copies(&kernels);
        let plan = plan_ok(&text, &kernels);
        assert_eq!(objects(&plan), ["mv.o: mv=mv | 0 1"]);
        assert_eq!(plan.elfs[0].externs.len(), 1);
        assert_eq!(plan.elfs[0].externs[0].link_with.as_deref(), Some("mv.o"));
        assert!(plan.elfs[0].launches.iter().all(|l| l.externs["mv"].link_with.as_deref() == Some("mv.o")));
    }
}

#[test]
fn declarations_without_a_file_anywhere_are_variants_too() {
    let found = objects_of(&[
        copy("").calls("f", &["i32"], None),
        copy("").calls("f", &["i32"], None).calls("g", &["i32"], None),
        copy("").calls("f", &["i64"], None),
    ]);
    assert_eq!(found, ["-: f=f g=g | 0 1", "-: f=f_2 | 2"]);
}

#[test]
fn a_file_that_only_herds_name() {
    let (text, kernels) = copies(&[
        copy("").calls("mv", &["i32"], None).herd_link("mv.o"),
        copy("").calls("mv", &["i64"], None).herd_link("mv.o"),
        copy("").herd_link("mv.o"),
    ]);
    let plan = plan_ok(&text, &kernels);
    assert_eq!(objects(&plan), ["mv.o: mv=mv | 0 2", "mv_2.o: mv=mv_2 | 1"]);
    let launches = &plan.elfs[0].launches;
    // The declaration has no attribute and gets none; the herd's string follows the file.
    assert_eq!((&launches[1].externs["mv"].link_with, launches[1].files["mv.o"].as_str()), (&None, "mv_2.o"));
    assert_eq!(launches[2].files["mv.o"], "mv.o");
}

#[test]
fn declarations_that_nobody_calls_are_kept() {
    let (text, kernels) = copies(&[copy("").only_declares("f", &["i32"], Some("o.o"))]);
    let plan = plan_ok(&text, &kernels);
    assert_eq!(objects(&plan), ["o.o: f=f | 0"]);
    assert!(!plan.elfs[0].externs[0].is_called && !plan.objects[0].symbols["f"].is_called);
    // Functions beside the kernel may call it.
    let (text, kernels) =
        copies(&[copy("").only_declares("f", &["i32"], Some("o.o")).local(LocalKind::Function, "helper")]);
    assert!(plan_ok(&text, &kernels).elfs[0].externs[0].is_called);
}

#[test]
fn suffixes_go_before_the_last_dot_of_the_file_name() {
    for (file, expected) in [
        ("lib.d/mv", "lib.d/mv_2"),
        ("lib/mv.tar.o", "lib/mv.tar_2.o"),
        (".o", ".o_2"),
        ("mv", "mv_2"),
        ("dir/.o", "dir/.o_2"),
    ] {
        let (text, kernels) =
            copies(&[copy("").calls("f", &["i32"], Some(file)), copy("").calls("f", &["i64"], Some(file))]);
        assert_eq!(plan_ok(&text, &kernels).objects[1].file.as_deref(), Some(expected));
    }
}

#[test]
fn a_file_name_means_one_content_in_all_elfs_of_a_graph() {
    let (text, kernels) =
        copies(&[copy("").calls("f", &["i32"], Some("o.o")), copy("").calls("f", &["i64"], Some("o.o"))]);
    let apart =
        text.replacen("[[launch]]\nname = \"b\"", &format!("{}[[launch]]\nname = \"b\"", host("h", &[], &[])), 1);
    let (one, two) = (plan_ok(&text, &kernels), plan_ok(&apart, &kernels));
    assert_eq!((one.elfs.len(), two.elfs.len()), (1, 2));
    // Where the program is cut changes no name.
    assert_eq!(objects(&one), objects(&two));
    assert_eq!(two.elfs[1].externs[0].symbol, "f_2");
    assert_eq!(two.elfs[1].objects.iter().map(|o| o.0).collect::<Vec<_>>(), [1]);
}

#[test]
fn a_new_name_that_is_taken_is_an_error() {
    // The symbol, by an extern of another file, which comes first or last.
    for swap in [false, true] {
        let mut kernels = vec![
            copy("").calls("f", &["i32"], Some("o.o")),
            copy("").calls("f", &["i64"], Some("o.o")),
            copy("").calls("f_2", &["i64"], Some("other.o")),
        ];
        if swap {
            kernels.rotate_right(1);
        }
        let (text, kernels) = copies(&kernels);
        let found = errors(&text, &kernels);
        assert_eq!(found.len(), 1, "{found:#?}");
        assert!(found[0].ends_with("error[AL0401]: the new name `@f_2` of `@f` is taken"), "{found:#?}");
        assert!(found[0].starts_with(if swap { "c.mlir" } else { "b.mlir" }), "{found:#?}");
        // Apart, they never meet.
        let last = format!("[[launch]]\nname = \"{}\"", if swap { "b" } else { "c" });
        let apart = text.replacen(&last, &format!("{}{last}", host("h", &[], &[])), 1);
        assert_eq!(plan_ok(&apart, &kernels).elfs.len(), 2);
    }
    // The file.
    let (text, kernels) = copies(&[
        copy("").calls("f", &["i32"], Some("o.o")),
        copy("").calls("f", &["i64"], Some("o.o")),
        copy("").calls("g", &["i64"], Some("o_2.o")),
    ]);
    let found = errors(&text, &kernels);
    assert_eq!(found, ["b.mlir:1:19: error[AL0401]: the new name `o_2.o` of object `o.o` is taken"]);
}

#[test]
fn an_extern_must_not_be_called_like_the_fused_function() {
    let (text, kernels) = copies(&[copy("").calls("fused", &["i32"], Some("o.o"))]);
    let found = errors(&(text.clone() + &elf("fused", &["a"])), &kernels);
    assert_eq!(found, ["a.mlir:1:19: error[AL0401]: extern `@fused` has the name of the fused function"]);
    assert_eq!(plan_ok(&(text + &elf("other", &["a"])), &kernels).elfs[0].name, "other");
}
