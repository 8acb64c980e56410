//! Odd inputs of `../shared/corpus/odd`: each ends as its `want.txt` says, and what is accepted is looked at.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::failures::KERNEL;
use crate::project::{Outcome, airlink, files, shared};

/// Folders whose `expect:` line contradicts the interface page or another folder: how they end, and why.
const CONTRADICTIONS: &[(&str, &str, &str)] = &[
    (
        "10_arg1_vs_arg10",
        "error AL0203",
        "the kernel has 12 arguments and the graph gives 3; one per argument is wanted",
    ),
    (
        "37_one_line_func",
        "error AL0209",
        "the function is empty: the same program as 38_empty_body, which wants an error",
    ),
];

/// The code that a refused or doubted folder gets.
const CODES: &[(&str, &str)] = &[
    ("32_two_public_funcs", "error AL0208"),
    ("38_empty_body", "error AL0209"),
    ("66_duplicate_prefix", "error AL0201"),
    ("74_extra_map_entry", "error AL0203"),
    ("75_in_out_alias", "warning AL0220"),
    ("80_cyclic_or_reversed", "warning AL0219"),
    ("81_bad_prefix", "error AL0202"),
    ("83_nested_module", "error AL0210"),
    ("84_nested_module_two", "error AL0210"),
    ("90_two_public_funcs_both_real", "error AL0208"),
    ("92_extern_named_as_fused_func", "error AL0401"),
    ("A2_decl_with_and_without_link_with", "error AL0402"),
];

const DECLARATION: &str =
    "func.func private @mv(memref<16xf32, 2 : i32>) attributes {link_with = \"mv.o\", llvm.emit_c_interface}";
const FIRST: &str = "air.launch () in () args(%arg2=%arg0, %arg3=%arg1)";
const FIRST_OF_TWO: &str = "air.launch () in () args(%arg3=%arg0, %arg4=%arg1)";
const SECOND_OF_TWO: &str = "air.launch () in () args(%arg3=%arg1, %arg4=%arg2)";
const CALL: &str = "func.call @mv(%alloc)";
const STRIDED: &str = "memref<16xf32, strided<[1], offset: ?>>";
const DOUBLE: &str = "#map = affine_map<()[s0] -> (s0 * 2)>";
const APPLY: &str = "affine.apply #map()[%arg6]";

/// What each accepted folder's `wanted:` line means: how often a text stands in the fused module. `dma` reads and writes
/// the argument that the herd gets; the positions after `args(` are the wiring.
const WANTED: &[(&str, &[(usize, &str)])] = &[
    (
        "00_baseline_two_slices",
        &[(1, DECLARATION), (1, FIRST_OF_TWO), (1, SECOND_OF_TWO), (2, "air.launch"), (2, CALL)],
    ),
    (
        "01_extern_prefix_of_local",
        &[
            (1, "func.func private @mv_k8192("),
            (2, "func.call @mv_k8192("),
            (1, "air.herd @a_mv "),
            (1, "air.herd @b_mv "),
        ],
    ),
    (
        "03_extern_missing_only_longer_listed",
        &[(1, DECLARATION), (1, "func.func private @mv_k8192("), (1, "func.call @mv_k8192("), (2, CALL)],
    ),
    ("04_dotted_extern", &[(1, "func.func private @mv.v2("), (1, "func.call @mv.v2(")]),
    ("06_quoted_extern", &[(1, "func.func private @\"mv-k\"("), (1, "func.call @\"mv-k\"(")]),
    ("07_mangled_cpp_extern", &[(1, "func.func private @_Z2mvPf("), (1, "func.call @_Z2mvPf(")]),
    (
        "09_extern_leak_merges_channels",
        &[
            (1, "air.channel @b_c [1]"),
            (1, "air.channel @c_c [1]"),
            (1, "put @b_c["),
            (1, "get @b_c["),
            (1, "put @c_c["),
            (1, "get @c_c["),
        ],
    ),
    ("12_named_func_args", &[(1, FIRST), (1, CALL)]),
    ("13_spaces_around_eq", &[(1, FIRST), (1, CALL)]),
    ("16_ssa_name_with_dot_dash", &[(1, FIRST), (1, CALL)]),
    ("17_multi_result", &[(1, "arith.addui_extended %c5_i32, %c5_i32"), (1, "arith.extui %overflow : i1"), (1, FIRST)]),
    (
        "19_ssa_leading_dot_two_slices",
        &[(1, "arith.constant 3 : i32"), (1, "arith.constant 4 : i32"), (1, FIRST_OF_TWO), (1, SECOND_OF_TWO)],
    ),
    (
        "20_index_func_arg",
        &[(1, "%arg2: index)"), (1, "air.launch (%arg3) in (%arg4=%arg2) args(%arg5=%arg0, %arg6=%arg1)")],
    ),
    (
        "22_strided_arg",
        &[
            (
                1,
                "@fused(%arg0: memref<16xf32, strided<[1], offset: ?>>, %arg1: memref<16xf32, strided<[1], offset: ?>>)",
            ),
            (1, FIRST),
            (10, STRIDED),
        ],
    ),
    (
        "23_affine_layout_arg",
        &[
            (1, "#map = affine_map<(d0, d1) -> (d1, d0)>"),
            (1, "@fused(%arg0: memref<4x4xf32, #map>, %arg1: memref<4x4xf32, #map>)"),
            (1, FIRST),
        ],
    ),
    ("25_multiline_signature", &[(1, FIRST), (1, CALL)]),
    ("26_func_attributes", &[(1, "attributes {airlink.func_attrs = {air.role = \"gemv\"}} {\n      air.segment")]),
    ("28_named_module", &[(1, "module {"), (1, FIRST), (1, CALL)]),
    ("29_public_keyword", &[(1, "func.func @fused("), (1, FIRST), (1, CALL)]),
    (
        "31_private_func_with_body",
        &[(1, "func.func private @a_helper(%arg0: i32) -> i32 {\n    return %arg0 : i32"), (1, FIRST)],
    ),
    ("34_return_comment", &[(1, FIRST), (1, CALL), (1, "return\n")]),
    ("35_func_return_spelling", &[(1, FIRST), (1, CALL), (1, "return\n")]),
    (
        "40_multi_block",
        &[(1, "cf.br ^bb1\n  ^bb1:"), (1, "^bb1:  // pred: ^bb0\n    air.launch"), (1, CALL), (1, "return\n")],
    ),
    (
        "41_multi_block_two_slices",
        &[
            (1, FIRST_OF_TWO),
            (1, SECOND_OF_TWO),
            (1, "^bb1:  // pred: ^bb0\n    air.launch"),
            (1, "^bb3:  // pred: ^bb2\n    air.launch"),
            (1, "return\n"),
        ],
    ),
    ("43_type_alias", &[(1, "@fused(%arg0: memref<16xf32>, %arg1: memref<16xf32>)"), (1, FIRST)]),
    ("44_map_other_name", &[(1, DOUBLE), (1, APPLY)]),
    ("46_indented_map", &[(1, DOUBLE), (1, APPLY)]),
    ("47_multiline_map", &[(1, DOUBLE), (1, APPLY)]),
    ("50_string_with_at", &[(1, "{note = \"like @h in @ref\"}"), (1, "air.herd @a_h ")]),
    ("51_string_with_percent", &[(1, "{fmt = \"x=%d of %arg0, 100%\"}")]),
    ("53_string_with_map", &[(1, "{note = \"uses #map\"}"), (1, APPLY)]),
    ("54_string_with_return", &[(1, "{note = \"air.launch\\0A return\"}"), (1, FIRST)]),
    (
        "56_dense_resource_same_key",
        &[
            (1, "dense_resource<a_w> :"),
            (1, "dense_resource<b_w"),
            (1, "a_w: \"0x0400000007000000\""),
            (1, ": \"0x0400000008000000\""),
        ],
    ),
    (
        "57_memref_global",
        &[
            (1, "memref.global \"private\" constant @a_tab : memref<2xf32> = dense<[1.000000e+00, 2.000000e+00]>"),
            (1, "memref.get_global @a_tab :"),
        ],
    ),
    ("59_same_extern_diff_link_with", TWO_OBJECTS),
    ("60_same_extern_diff_link_private_from_false", TWO_OBJECTS),
    ("62_extern_not_listed", &[(1, DECLARATION), (2, CALL)]),
    ("63_decl_attr_order", &[(1, DECLARATION), (1, "func.func private"), (2, CALL)]),
    ("65_channel_same_name", TWO_CHANNELS),
    (
        "68_quoted_channel",
        &[
            (1, "air.channel @\"a_c-0\" [1]"),
            (1, "air.channel @\"b_c-0\" [1]"),
            (1, "put @\"a_c-0\"["),
            (1, "get @\"a_c-0\"["),
            (1, "put @\"b_c-0\"["),
            (1, "get @\"b_c-0\"["),
        ],
    ),
    (
        "69_prefix_equals_symbol",
        &[
            (1, "air.channel @h_c [1]"),
            (1, "put @h_c["),
            (1, "get @h_c["),
            (1, "air.herd @h_h "),
            (1, "air.segment @h_seg "),
        ],
    ),
    ("71_swapped_base_args", &[(1, FIRST), (1, CALL)]),
    ("72_named_base_args", &[(1, FIRST), (1, CALL)]),
    ("75_in_out_alias", &[(1, "@fused(%arg0: memref<16xf32>)"), (1, "args(%arg1=%arg0, %arg2=%arg0)")]),
    (
        "80_cyclic_or_reversed",
        &[
            (1, FIRST_OF_TWO),
            (1, SECOND_OF_TWO),
            (1, "args(%arg3=%arg1, %arg4=%arg2) : memref<16xf32>, memref<16xf32> {\n      air.segment @b_seg"),
        ],
    ),
    (
        "86_extern_call_results",
        &[(1, "func.func private @mv() -> i32 attributes {link_with = \"mv.o\"}"), (1, "func.call @mv() : () -> i32")],
    ),
    ("87_multiline_private_decl", &[(1, DECLARATION), (1, CALL)]),
    ("89_symbol_ref_nested", &[(1, "{ref = @a_h::@a_seg}"), (1, "air.herd @a_h "), (1, "air.segment @a_seg ")]),
    (
        "93_prefixed_local_hits_extern",
        &[
            (1, "air.channel @a_x_2 [1]"),
            (1, "put @a_x_2["),
            (1, "get @a_x_2["),
            (1, "func.func private @a_x("),
            (1, "func.call @a_x("),
        ],
    ),
    ("95_generic_channel_decl", &[(1, "air.channel @a_c [1]"), (1, "put @a_c["), (1, "get @a_c[")]),
    (
        "96_multiline_channel_decl",
        &[(1, "air.channel @a_c [1] {buffer_resources = 2 : i64}"), (1, "put @a_c["), (1, "get @a_c[")],
    ),
    ("98_func_level_loop", &[(1, "scf.for %arg2 = %c0 to %c2 step %c1 {\n      air.launch"), (1, CALL)]),
    (
        "99_two_launches_one_slice",
        &[(1, "args(%arg2=%arg0, %arg3=%alloc)"), (1, "args(%arg2=%alloc, %arg3=%arg1)"), (2, "air.launch")],
    ),
    ("A1_herd_link_with_only", &[(1, "func.func private @mv("), (1, "attributes {link_with = \"mv.o\"}"), (1, CALL)]),
    ("A4_block_comment_return_in_string_line", &[(1, FIRST), (1, CALL), (1, "return\n")]),
    ("A5_external_channel_shared_on_purpose", TWO_CHANNELS),
    ("A7_unicode_and_escapes", &[(1, "{note = \"\\22@h\\22 caf\\C3\\A9\"}")]),
    ("A8_tabs", &[(1, FIRST), (1, CALL), (1, "return\n")]),
    ("W0_wrap_baseline", WRAPPED),
    ("W1_wrap_strided", &[(1, FIRST), (1, "air.segment @a_seg args("), (1, "air.herd @a_h tile ("), (10, STRIDED)]),
    ("W3_wrap_return_comment", WRAPPED),
    (
        "W4_wrap_mentions_air_launch",
        &[(1, FIRST), (1, "air.segment @a_seg args("), (1, "{note = \"needs air.launch\"}")],
    ),
    ("W6_wrap_named_args", WRAPPED),
    (
        "W7_wrap_arg_attr",
        &[
            (1, FIRST),
            (1, "air.segment @a_seg args("),
            (1, "@fused(%arg0: memref<16xf32> {llvm.noalias}, %arg1: memref<16xf32>)"),
        ],
    ),
];

const TWO_OBJECTS: &[(usize, &str)] = &[
    (1, DECLARATION),
    (
        1,
        "func.func private @mv_2(memref<16xf32, 2 : i32>) attributes {link_with = \"down_mv.o\", llvm.emit_c_interface}",
    ),
    (1, CALL),
    (1, "func.call @mv_2("),
    (2, "link_with = \"mv.o\""),
    (2, "link_with = \"down_mv.o\""),
];

const TWO_CHANNELS: &[(usize, &str)] = &[
    (1, "air.channel @a_c [1]"),
    (1, "air.channel @b_c [1]"),
    (1, "put @a_c["),
    (1, "get @a_c["),
    (1, "put @b_c["),
    (1, "get @b_c["),
];

const WRAPPED: &[(usize, &str)] = &[
    (1, FIRST),
    (1, "air.segment @a_seg args(%arg4=%arg2, %arg5=%arg3)"),
    (1, "air.herd @a_h tile ("),
    (2, "air.dma_memcpy_nd"),
];

#[test]
fn every_odd_input_ends_as_it_says() {
    let mut wrong = Vec::new();
    for (name, folder) in folders() {
        let out = tempfile::tempdir().expect("a folder");
        let outcome = stitch(&folder, out.path());
        let wrote = !files(&out.path().join("out")).is_empty();
        if let Some(problem) = judge(&name, &expected(&folder), &outcome, wrote) {
            wrong.push(format!("{name}: {problem}\n{}{}", outcome.stdout, outcome.stderr));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_accepted_of_the_odd_inputs_is_what_they_want() {
    let wanted: BTreeMap<&str, &[(usize, &str)]> = WANTED.iter().copied().collect();
    let mut wrong = Vec::new();
    for (name, folder) in folders() {
        let out = tempfile::tempdir().expect("a folder");
        if stitch(&folder, out.path()).code != 0 {
            continue;
        }
        let text = std::fs::read_to_string(out.path().join("out/fused.mlir")).expect("the fused module is there");
        let Some(list) = wanted.get(name.as_str()) else {
            wrong.push(format!("{name}: accepted, and nothing says what is wanted of it"));
            continue;
        };
        let differs = |(count, part): &&(usize, &str)| text.matches(part).count() != *count;
        wrong.extend(
            list.iter().filter(differs).map(|(n, part)| format!("{name}: wanted {n} times `{part}` in\n{text}")),
        );
        if airlink(out.path(), &["opt", "out/fused.mlir", "-o", "again.mlir"]).code != 0 {
            wrong.push(format!("{name}: airlink opt refuses the fused module"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// As in `A2_decl_with_and_without_link_with`, but for the C interface: there is nothing to contradict.
#[test]
fn a_declaration_without_link_with_merges_with_one_that_has_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let link = "link_with = \"fill.o\", ";
    let without = KERNEL.replacen(link, "", 1);
    assert_ne!(without, KERNEL);
    for (order, texts) in [[KERNEL, &without], [&without, KERNEL]].into_iter().enumerate() {
        let at = folder.path().join(order.to_string());
        std::fs::create_dir(&at).expect("a folder");
        let launch = |n: &str| format!("[[launch]]\nname = \"{n}\"\nkernel = \"{n}.mlir\"\nargs = [\"{n}y\"]\n");
        let graph = "[graph]\nname = \"fused\"\ndevice = \"npu2\"\n".to_string() + &launch("a") + &launch("b");
        std::fs::write(at.join("graph.toml"), graph).expect("writable");
        std::fs::write(at.join("a.mlir"), texts[0]).expect("writable");
        std::fs::write(at.join("b.mlir"), texts[1]).expect("writable");
        stitch(&at, &at).expect(0);
        let text = std::fs::read_to_string(at.join("out/fused.mlir")).expect("written");
        assert_eq!(text.matches("func.func private").count(), 1, "{text}");
        assert_eq!(text.matches(link).count(), 1, "{text}");
    }
}

/// What is wrong with how a folder ended.
fn judge(name: &str, expected: &str, outcome: &Outcome, wrote: bool) -> Option<String> {
    let found = outcome.findings();
    let has = |severity: &str| found.iter().any(|f| f.starts_with(severity));
    if wrote != (outcome.code == 0) {
        return Some(format!("exit {} and wrote {wrote}", outcome.code));
    }
    if let Some((_, finding, why)) = CONTRADICTIONS.iter().find(|(n, ..)| *n == name) {
        let is_right = outcome.code == 1 && found.iter().any(|f| f == finding);
        return (!is_right).then(|| format!("wanted `{finding}` as {why}; got {} {found:?}", outcome.code));
    }
    let is_right = expected.split('|').any(|one| match one {
        "ok" => outcome.code == 0 && !has("warning"),
        "warning" => outcome.code == 0 && has("warning"),
        "error" => outcome.code == 1 && has("error"),
        other => panic!("{name}: `expect: {other}`"),
    });
    let code = CODES.iter().find(|(n, _)| *n == name).map(|(_, code)| *code);
    let is_right_code = match code {
        Some(code) => found.iter().any(|f| f == code),
        None => !has("error") && !has("warning"),
    };
    (!is_right || !is_right_code).then(|| format!("wanted {expected} and {code:?}; got {} {found:?}", outcome.code))
}

fn stitch(folder: &Path, out: &Path) -> Outcome {
    let out = out.join("out");
    let out = out.to_string_lossy();
    airlink(folder, &["stitch", "graph.toml", "--emit", "mlir,map", "--message-format", "json", "-o", &out])
}

/// What stands after `expect:` in a folder's `want.txt`.
fn expected(folder: &Path) -> String {
    let text = std::fs::read_to_string(folder.join("want.txt")).expect("readable");
    let line = text.lines().find_map(|l| l.strip_prefix("expect:")).expect("`expect:` is there");
    line.trim().to_string()
}

fn folders() -> Vec<(String, PathBuf)> {
    let Some(shared) = shared() else { return Vec::new() };
    let entries = std::fs::read_dir(shared.join("corpus/odd")).expect("the odd inputs are there");
    let mut list: Vec<_> = entries
        .map(|e| e.expect("readable").path())
        .map(|p| (p.file_name().expect("named").to_string_lossy().into_owned(), p))
        .collect();
    list.sort();
    assert!(list.len() >= 74, "{} odd inputs", list.len());
    list
}
