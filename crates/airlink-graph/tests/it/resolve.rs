//! Names, counts, types and views against kernels.

use airlink_diag::{Findings, Span};
use airlink_graph::{ByteRange, LaunchGraph, Step};

use crate::support::{Kernel, kernel, launch, lines, resolve, resolve_with};

const VEC: &str = "memref<16xf32>";

fn copy() -> Kernel {
    kernel("copy.mlir", &[VEC, VEC], &["r,w"])
}

fn resolve_ok(text: &str, kernels: &[Kernel]) -> LaunchGraph {
    let (graph, findings) = resolve(text, kernels);
    assert_eq!(lines(&findings), Vec::<String>::new());
    graph.unwrap()
}

/// The one finding, as a line, and the text at each of its places with the file.
fn one_finding(findings: &Findings) -> (String, Vec<(String, String)>) {
    assert_eq!(findings.iter().count(), 1, "{:?}", lines(findings));
    let finding = findings.iter().next().unwrap();
    let place = |span: Span| (findings.sources.name(span.file).to_string(), findings.sources.snippet(span).to_string());
    (lines(findings).remove(0), finding.labels.iter().map(|l| place(l.span)).collect())
}

fn places(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(file, text)| (file.to_string(), text.to_string())).collect()
}

#[test]
fn undeclared_buffers_take_the_type_of_their_first_use() {
    let text = launch("a", "copy.mlir", &["x", "y"])
        + "[[host]]\nname = \"h\"\nreads = [\"y\"]\nwrites = [\"z\", \"only_host\"]\n"
        + &launch("b", "copy.mlir", &["z", "out"]);
    let graph = resolve_ok(&text, &[copy()]);
    let types: Vec<_> =
        graph.buffers.values().map(|b| (b.name.as_str(), b.ty.as_ref().map(|t| t.to_string()))).collect();
    let vec = Some(VEC.to_string());
    assert_eq!(types, [("x", vec.clone()), ("y", vec.clone()), ("z", vec.clone()), ("only_host", None), ("out", vec)]);
    assert_eq!(graph.steps.len(), 3);
    assert!(matches!(graph.steps[1], Step::Host(_)));
    assert_eq!(graph.launches[1].operands[0].range, ByteRange { start: 0, end: 64 });
    assert_eq!(graph.launches[0].function_name, "k");
}

#[test]
fn a_wrong_count_shows_both_places() {
    let (graph, findings) = resolve(&launch("a", "copy.mlir", &["x", "y", "z"]), &[copy()]);
    assert!(graph.is_none());
    let (line, at) = one_finding(&findings);
    assert_eq!(line, "graph.toml:6:19: error[AL0203]: launch `a` gives 3 arguments, `@k` takes 2");
    assert_eq!(at, places(&[("graph.toml", "\"z\""), ("copy.mlir", "@k")]));
    let (_, findings) = resolve(&launch("a", "copy.mlir", &["x"]), &[copy()]);
    let (line, at) = one_finding(&findings);
    assert_eq!(line, "graph.toml:6:8: error[AL0203]: launch `a` gives 1 argument, `@k` takes 2");
    assert_eq!(at, places(&[("graph.toml", "[\"x\"]"), ("copy.mlir", "@k")]));
    assert_eq!(
        findings.iter().next().unwrap().remedy.as_deref(),
        Some("name a buffer for each argument; the rest are memref<16xf32>")
    );
    let idle = kernel("copy.mlir", &[VEC, VEC, VEC], &["r,,w"]);
    let (_, findings) = resolve(&launch("a", "copy.mlir", &["x", "y"]), &[idle]);
    let remedy = "name a buffer for unused arguments too (1), or remove them from `@k`";
    assert_eq!(findings.iter().next().unwrap().remedy.as_deref(), Some(remedy));
}

#[test]
fn a_declared_type_that_a_use_contradicts_shows_three_places() {
    let text =
        "[[buffer]]\nname = \"x\"\ntype = \"memref<32xf32>\"\n".to_string() + &launch("a", "copy.mlir", &["x", "y"]);
    let (_, findings) = resolve(&text, &[copy()]);
    let (line, at) = one_finding(&findings);
    assert_eq!(
        line,
        "graph.toml:9:9: error[AL0204]: buffer `x` is `memref<32xf32>`, argument 0 of launch `a` is `memref<16xf32>`"
    );
    assert_eq!(at, places(&[("graph.toml", "\"x\""), ("copy.mlir", VEC), ("graph.toml", "\"memref<32xf32>\"")]));
}

#[test]
fn uses_that_contradict_each_other_show_four_places() {
    let wide = kernel("wide.mlir", &["memref<16xbf16>", VEC], &["r,w"]);
    let text = launch("a", "copy.mlir", &["x", "y"]) + &launch("b", "wide.mlir", &["y", "z"]);
    let (_, findings) = resolve(&text, &[copy(), wide]);
    let (line, at) = one_finding(&findings);
    assert_eq!(
        line,
        "graph.toml:10:9: error[AL0204]: buffer `y` is `memref<16xf32>`, argument 0 of launch `b` is `memref<16xbf16>`"
    );
    let toml = ("graph.toml", "\"y\"");
    assert_eq!(at, places(&[toml, ("wide.mlir", "memref<16xbf16>"), ("copy.mlir", VEC), toml]));
}

#[test]
fn types_are_compared_as_mlir_prints_them() {
    let declare = |ty: &str| format!("[[buffer]]\nname = \"x\"\ntype = \"{ty}\"\n");
    for (declared, taken, agree) in [
        (" memref< 16xf32 >", "memref<16xf32>", true),
        ("memref<16xf32,2:i32>", "memref<16xf32, 2 : i32>", true),
        ("memref<16xf32, affine_map<(d0) -> (d0)>>", "memref<16xf32>", true),
        ("memref<4x4xf32, affine_map<(d0, d1) -> (d1, d0)>>", "memref<4x4xf32>", false),
        (
            "memref<4x4xf32, affine_map<(d0, d1) -> (d1, d0)>>",
            "memref<4x4xf32, affine_map<(d0, d1) -> (d1, d0)>>",
            true,
        ),
        ("memref<16xf32, strided<[1], offset: ?>>", "memref<16xf32, strided<[1], offset: ?>>", true),
        ("memref<16xf32, 2>", "memref<16xf32, 2 : i32>", false),
        ("index", "index", true),
        ("index", "i32", false),
    ] {
        let text = declare(declared) + &launch("a", "k.mlir", &["x"]);
        let (_, findings) = resolve(&text, &[kernel("k.mlir", &[taken], &["r"])]);
        assert_eq!(!findings.has_errors(), agree, "{declared} {taken} {:?}", lines(&findings));
    }
}

#[test]
fn a_type_must_be_one() {
    for bad in ["memref<16xf32", "memref<16x>", "16 x f32", "memref", "tensor<4xf32>", "<>"] {
        let text = format!("[[buffer]]\nname = \"x\"\ntype = \"{bad}\"\n") + &launch("a", "copy.mlir", &["x", "y"]);
        let (graph, findings) = resolve(&text, &[copy()]);
        assert!(graph.is_none(), "{bad}");
        assert!(
            matches!(lines(&findings)[0].as_str(), l if l.contains("AL0109") || l.contains("AL0204")),
            "{:?}",
            lines(&findings)
        );
    }
}

#[test]
fn the_kernel_function_is_chosen_or_asked_for() {
    let two = |summaries: &mut indexmap::IndexMap<String, airlink_kernel::KernelSummary>| {
        let mut other = summaries[0].functions[0].clone();
        other.name = "other".to_string();
        summaries[0].functions.push(other);
    };
    let text = launch("a", "copy.mlir", &["x", "y"]);
    let (_, findings) = resolve_with(&text, &[copy()], two);
    let (line, at) = one_finding(&findings);
    assert_eq!(line, "graph.toml:5:10: error[AL0208]: kernel `copy.mlir` has 2 public functions");
    assert_eq!(at, places(&[("graph.toml", "\"copy.mlir\""), ("copy.mlir", "@k"), ("copy.mlir", "@k")]));

    let (graph, findings) = resolve_with(&(text.clone() + "func = \"other\"\n"), &[copy()], two);
    assert_eq!(lines(&findings), Vec::<String>::new());
    assert_eq!(
        (graph.as_ref().unwrap().launches[0].function, graph.unwrap().launches[0].function_name.as_str()),
        (1, "other")
    );

    let (_, findings) = resolve_with(&(text.clone() + "func = \"othr\"\n"), &[copy()], two);
    assert_eq!(lines(&findings), ["graph.toml:7:8: error[AL0208]: kernel `copy.mlir` has no public function `@othr`"]);
    assert_eq!(findings.iter().next().unwrap().remedy.as_deref(), Some("write `func = \"other\"`"));
}

#[test]
fn modules_that_are_no_kernels_are_refused_once() {
    let text = launch("a", "copy.mlir", &["x", "y"]) + &launch("b", "copy.mlir", &["y", "z"]);
    let check = |change: fn(&mut airlink_kernel::KernelSummary), wanted: &str| {
        let (graph, findings) = resolve_with(&text, &[copy()], |s| change(&mut s[0]));
        assert!(graph.is_none());
        assert_eq!(lines(&findings), [format!("graph.toml:5:10: error[{wanted}")]);
    };
    check(|k| k.functions.clear(), "AL0209]: kernel `copy.mlir` has no launch");
    check(|k| k.functions[0].entries.clear(), "AL0209]: kernel `copy.mlir` has no launch");
    check(|k| k.functions[0].result_count = 1, "AL0211]: kernel `@k` returns values");
    check(
        |k| k.nested_modules = vec![Span::file_start(k.file); 2],
        "AL0210]: kernel `copy.mlir` has a module inside its module",
    );
}

#[test]
fn all_wiring_errors_come_at_once() {
    let text = launch("a", "copy.mlir", &["x"])
        + "[[view]]\nname = \"v\"\nof = \"nowhere\"\noffsets = [0]\nsizes = [1]\ntype = \"memref<1xf32>\"\n"
        + &launch("b", "gone.mlir", &["x"])
        + &launch("c", "copy.mlir", &["v", "x", "y"]);
    let (_, findings) = resolve(&text, &[copy()]);
    let found: Vec<_> = findings.in_file_order().iter().map(|f| f.code.name()).collect();
    assert_eq!(found, ["AL0203", "AL0205", "AL0901", "AL0203"]);
}

fn with_view(base: &str, view: &str) -> String {
    let base = if base.is_empty() { String::new() } else { format!("[[buffer]]\nname = \"w\"\ntype = \"{base}\"\n") };
    base + "[[view]]\nname = \"v\"\nof = \"w\"\n" + view + "\n" + &launch("a", "copy.mlir", &["v", "y"])
}

fn view_finding(base: &str, view: &str) -> String {
    let (_, findings) = resolve(&with_view(base, view), &[copy()]);
    lines(&findings)
        .into_iter()
        .map(|l| l.split_once("error").map_or(l.clone(), |(_, l)| l.to_string()))
        .collect::<Vec<_>>()
        .join("; ")
}

#[test]
fn views_are_placed_in_bytes() {
    let view = "offsets = [1, 0, 16]\nsizes = [1, 1, 16]\ntype = \"memref<16xf32>\"";
    let graph = resolve_ok(&with_view("memref<2x3x32xf32>", view), &[copy()]);
    let placed = graph.views.values().next().unwrap();
    assert_eq!((placed.offset_elements, placed.range), (112, ByteRange { start: 448, end: 512 }));
    assert_eq!(placed.strides, [1, 1, 1]);
    assert_eq!(graph.launches[0].operands[0].range, placed.range);
    assert_eq!(graph.launches[0].operands[0].view, Some(airlink_graph::ViewIdx(0)));
}

#[test]
fn the_base_of_a_view_may_be_inferred_from_another_launch() {
    let view = "offsets = [0, 0]\nsizes = [1, 16]\ntype = \"memref<16xf32>\"";
    let text = with_view("", view) + &launch("b", "pair.mlir", &["w", "z"]);
    let pair = kernel("pair.mlir", &["memref<2x16xf32>", VEC], &["r,w"]);
    assert_eq!(resolve_ok(&text, &[copy(), pair]).views[0].range, ByteRange { start: 0, end: 64 });
}

#[test]
fn views_outside_their_buffer_give_the_numbers() {
    let view = |offsets: &str, sizes: &str| format!("offsets = {offsets}\nsizes = {sizes}\ntype = \"memref<16xf32>\"");
    for (offsets, sizes) in
        [("[2, 0]", "[1, 16]"), ("[0, 1]", "[1, 16]"), ("[1, 0]", "[2, 16]"), ("[0, 9223372036854775807]", "[1, 16]")]
    {
        assert_eq!(view_finding("memref<2x16xf32>", &view(offsets, sizes)), "[AL0206]: view `v` ends outside of `w`");
    }
    let (_, findings) = resolve(&with_view("memref<2x16xf32>", &view("[2, 0]", "[1, 16]")), &[copy()]);
    let finding = findings.iter().next().unwrap();
    assert_eq!(
        (finding.found.as_deref(), finding.allowed.as_deref()),
        (Some("index 2 in dimension 0"), Some("0 to 1"))
    );
    assert_eq!(findings.sources.snippet(finding.labels[0].span), "[2, 0]");
}

#[test]
fn views_must_fit_their_type() {
    let view = |rest: &str| format!("offsets = [0, 0]\n{rest}");
    let cases = [
        ("sizes = [16]\ntype = \"memref<16xf32>\"", "[AL0207]: `sizes` of view `v` has 1 dimensions, `w` has 2"),
        (
            "sizes = [1, 16]\nstrides = [1]\ntype = \"memref<16xf32>\"",
            "[AL0207]: `strides` of view `v` has 1 dimensions, `w` has 2",
        ),
        ("sizes = [1, 8]\nstrides = [1, 2]\ntype = \"memref<8xf32>\"", "[AL0207]: view `v` is not contiguous"),
        ("sizes = [2, 8]\ntype = \"memref<2x8xf32>\"", "[AL0207]: view `v` is not contiguous"),
        ("sizes = [2, 16]\ntype = \"memref<32xf32>\"", "[AL0207]: the sizes of view `v` don't give its type"),
        ("sizes = [1, 16]\ntype = \"memref<16xbf16>\"", "[AL0207]: view `v` and buffer `w` hold different elements"),
        (
            "sizes = [1, 16]\ntype = \"memref<16xf32, 1 : i32>\"",
            "[AL0207]: view `v` and buffer `w` hold different elements",
        ),
        ("sizes = [1, 16]\ntype = \"index\"", "[AL0207]: view `v` has no memref type"),
        (
            "sizes = [1, 16]\ntype = \"memref<16xf32, strided<[2]>>\"",
            "[AL0207]: the layout in the type of view `v` does not fit its place",
        ),
    ];
    for (rest, wanted) in cases {
        assert_eq!(view_finding("memref<2x16xf32>", &view(rest)), wanted, "{rest}");
    }
    assert_eq!(
        view_finding("memref<2x16xf32, strided<[32, 1]>>", &view("sizes = [1, 16]\ntype = \"memref<16xf32>\"")),
        "[AL0207]: view `v` is of `w`, which is no plain memref"
    );
    assert_eq!(
        view_finding("memref<4294967296x4294967296xf32>", &view("sizes = [1, 16]\ntype = \"memref<16xf32>\"")),
        "[AL0207]: `w` is too large for a view"
    );
}

#[test]
fn a_view_may_spell_its_layout_out() {
    for layout in ["strided<[1], offset: 16>", "strided<[1], offset: ?>", "strided<[?], offset: ?>"] {
        let ty = format!("memref<16xf32, {layout}>");
        let view = format!("offsets = [1, 0]\nsizes = [1, 16]\ntype = \"{ty}\"");
        let graph = resolve_ok(&with_view("memref<2x16xf32>", &view), &[kernel("copy.mlir", &[&ty, VEC], &["r,w"])]);
        assert_eq!(graph.views[0].offset_elements, 16);
    }
}

#[test]
fn a_view_whose_type_the_launch_does_not_take() {
    let view = "offsets = [0, 0]\nsizes = [1, 8]\ntype = \"memref<8xf32>\"";
    assert_eq!(
        view_finding("memref<2x16xf32>", view),
        "[AL0204]: view `v` is `memref<8xf32>`, argument 0 of launch `a` is `memref<16xf32>`"
    );
}

#[test]
fn the_base_of_a_view_must_be_a_buffer_with_a_type() {
    let rest = "offsets = [0]\nsizes = [16]\ntype = \"memref<16xf32>\"\n";
    let on = |of: &str, more: &str| {
        let text =
            format!("[[view]]\nname = \"v\"\nof = \"{of}\"\n{rest}{more}") + &launch("a", "copy.mlir", &["v", "y"]);
        let (_, findings) = resolve(&text, &[copy()]);
        (lines(&findings).join("; "), findings.iter().next().unwrap().remedy.clone().unwrap())
    };
    let (line, remedy) = on("yy", "");
    assert_eq!(line, "graph.toml:5:6: error[AL0205]: view `v` is of `yy`, which nothing declares or uses");
    assert_eq!(remedy, "write `of = \"y\"`");
    let (line, remedy) = on("v", "");
    assert_eq!(
        (line.as_str(), remedy.as_str()),
        (
            "graph.toml:5:6: error[AL0205]: view `v` is of `v`, which is a view",
            "write `of = \"v\"` and offsets within that buffer"
        )
    );
    let (line, _) = on("h", "[[host]]\nname = \"s\"\nwrites = [\"h\"]\n");
    assert_eq!(line, "graph.toml:5:6: error[AL0205]: view `v` is of `h`, whose type is not known");
}
