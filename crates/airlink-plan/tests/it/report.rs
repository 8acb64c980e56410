//! The page, the drawing and the log.

use airlink_diag::{Finding, Findings, codes};
use airlink_limits::{ProgramUse, Resource, ResourceKind};
use airlink_plan::{ElfResources, LaunchResources, Outcome, OutputFile, Plan, PlanOptions, dot, html, log, plan_json};
use roxmltree::{Document, Node, ParsingOptions};

use crate::support::{Kernel, Planned, VEC, copy, gemv, host, kernel, launch, plan_by, plan_of};
use crate::text::layer;

/// The page as a strict XML parser reads it.
fn parsed(page: &str) -> Document<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Document::parse_with_options(page, options).unwrap_or_else(|e| panic!("{e}\n{page}"))
}

fn page(planned: &Planned) -> String {
    html(planned.plan.as_ref().expect("it plans"), &planned.graph, &planned.findings)
}

fn text_of(node: Node<'_, '_>) -> String {
    node.descendants().filter_map(|n| n.is_text().then(|| n.text()).flatten()).collect()
}

fn with_class<'a, 'd>(document: &'a Document<'d>, name: &str, class: &str) -> Vec<Node<'a, 'd>> {
    let has = |n: &Node<'_, '_>| n.attribute("class").is_some_and(|c| c.split(' ').any(|c| c == class));
    document
        .descendants()
        .filter(|n| n.has_tag_name(("http://www.w3.org/1999/xhtml", name)) || n.tag_name().name() == name)
        .filter(has)
        .collect()
}

fn section(document: &Document<'_>, id: &str) -> String {
    let node = document.descendants().find(|n| n.attribute("id") == Some(id));
    text_of(node.unwrap_or_else(|| panic!("no section {id}")))
}

/// The words of a node, with single blanks between.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Sixteen layers with a host step each, then a head.
fn model(count: usize) -> (String, Vec<Kernel>) {
    let text = [
        format!("[[block]]\nname = \"layer\"\ncount = {count}\n"),
        "[[block.launch]]\nname = \"a_{i}\"\nkernel = \"copy.mlir\"\nargs = [\"x_{i}\", \"t_{i}\"]\n\
         [[block.host]]\nname = \"attention_{i}\"\nreads = [\"t_{i}\"]\nwrites = [\"u_{i}\"]\n\
         [[block.launch]]\nname = \"b_{i}\"\nkernel = \"add.mlir\"\nargs = [\"u_{i}\", \"x_{i}\", \"x_{i+1}\"]\n"
            .to_string(),
        launch("head", "copy.mlir", &[&format!("x_{count}"), "logits"]),
    ];
    let three = [VEC, VEC, VEC].iter().zip(["r", "r", "w"]).map(|(t, a)| format!("{t} {a}")).collect::<Vec<_>>();
    let add = kernel("add.mlir", &three.iter().map(String::as_str).collect::<Vec<_>>());
    (text.concat(), vec![copy("copy.mlir"), add])
}

#[test]
fn the_page_holds_every_launch_argument_rename_and_reason() {
    let (text, kernels) = layer();
    let planned = plan_of(&text, &kernels);
    let plan = planned.plan.as_ref().unwrap();
    let page = page(&planned);
    let document = parsed(&page);
    let drawn: Vec<String> = with_class(&document, "text", "name").into_iter().map(text_of).collect();
    let names: Vec<&str> = planned.graph.steps.iter().map(|s| planned.graph.step_name(*s).value.as_str()).collect();
    assert_eq!(drawn, names, "drawn in program order");
    let (cuts, arguments, names) =
        (section(&document, "cuts"), section(&document, "arguments"), section(&document, "names"));
    for elf in &plan.elfs {
        assert!(cuts.contains(&elf.cut.to_string().replace('`', "")), "{}", elf.cut);
        elf.launches.iter().for_each(|l| assert!(cuts.contains(&l.name), "{}", l.name));
        elf.args.iter().for_each(|a| assert!(arguments.contains(&a.name) && arguments.contains(&a.ty.to_string())));
        elf.renames.iter().for_each(|r| assert!(names.contains(&r.to), "{r:?}"));
    }
    let tiles: Vec<String> = with_class(&document, "dd", "big").into_iter().map(text_of).collect();
    assert_eq!(tiles[..2], ["9".to_string(), "2".to_string()], "launches, calls");
    // Every heading is below one a level higher, for those who walk by headings.
    let level = |n: Node<'_, '_>| n.tag_name().name().strip_prefix('h').and_then(|l| l.parse::<u8>().ok());
    let levels: Vec<u8> = document.descendants().filter_map(level).collect();
    assert!(levels.windows(2).all(|w| w[1] <= w[0] + 1), "{levels:?}");
    let svg = document.descendants().find(|n| n.tag_name().name() == "svg").expect("a drawing");
    assert_eq!(svg.attribute("role"), Some("img"));
    assert!(page.contains("@media print") && page.contains("prefers-color-scheme: dark"));
    assert!(!page.contains("<script") && !page.contains("src=") && !page.contains("url("), "it stands alone");
}

#[test]
fn the_page_is_the_same_each_time() {
    let (text, kernels) = layer();
    assert_eq!(page(&plan_of(&text, &kernels)), page(&plan_of(&text, &kernels)));
}

#[test]
fn nothing_that_a_user_writes_is_markup() {
    let odd = "k<i>&amp;\"'`\u{1}.mlir";
    let in_toml = "k<i>&amp;\\\"'`\\u0001.mlir";
    let text = [launch("a", in_toml, &["x", "y"]), host("s", &["y"], &["z"]), launch("b", in_toml, &["z", "w"])];
    let mut planned = plan_of(&text.concat(), &[copy(odd)]);
    // The graph's reader refuses such names of buffers; the page does not lean on that.
    let names = [("x", "x<b>"), ("y", "y\"&"), ("z", "z]]>"), ("w", "--><script>")];
    for (from, to) in names {
        planned.graph.buffers.values_mut().filter(|b| b.name == from).for_each(|b| b.name = to.into());
        let args = planned.plan.as_mut().unwrap().elfs.iter_mut().flat_map(|e| &mut e.args);
        args.filter(|a| a.name == from).for_each(|a| a.name = to.into());
    }
    planned.findings.push(
        Finding::warning(codes::AL0226, "`<script>alert(1)</script>` & \"more\" ` end")
            .at(airlink_diag::Span::file_start(planned.graph.file), "<here>")
            .found("<1>")
            .allowed("&2")
            .source("a > b")
            .remedy("write \"<x>\""),
    );
    let page = page(&planned);
    let document = parsed(&page);
    assert!(!page.contains("<script") && !page.contains("<b>x"), "{page}");
    let findings = squeezed(&section(&document, "findings"));
    for text in ["<script>alert(1)</script> & \"more\" ` end", "<here>", "found <1>", "allowed &2", "from a > b"] {
        assert!(findings.contains(text), "{text} in {findings}");
    }
    let arguments = section(&document, "arguments");
    let drawn = section(&document, "graph");
    for (_, name) in names {
        assert!(arguments.contains(name) && drawn.contains(name), "{name}");
    }
    assert!(page.contains('\u{fffd}'), "what XML cannot hold is replaced");
    let dot = dot(planned.plan.as_ref().unwrap(), &planned.graph);
    assert!(dot.contains(r#"[label="y\"&\n64 B""#), "{dot}");
}

#[test]
fn every_finding_stands_on_the_page_errors_first() {
    let (text, kernels) = layer();
    let mut planned = plan_of(&text, &kernels);
    planned.findings.push(Finding::note(codes::AL0214, "a note"));
    planned.findings.push(Finding::error(codes::AL0301, "an error").found("24 BDs").allowed("16").remedy("do less"));
    planned.findings.push(Finding::warning(codes::AL0226, "a warning"));
    let page = page(&planned);
    let document = parsed(&page);
    let list: Vec<String> =
        with_class(&document, "article", "finding").into_iter().map(|n| squeezed(&text_of(n))).collect();
    assert_eq!(list.len(), planned.findings.iter().count());
    assert!(list[0].starts_with("error AL0301 an error found 24 BDs allowed 16 help do less"), "{list:?}");
    for finding in planned.findings.iter() {
        let headline = finding.headline.replace('`', "");
        assert!(list.iter().any(|f| f.contains(finding.code.name()) && f.contains(&headline)), "{headline}");
    }
}

#[test]
fn an_elf_that_layers_share_is_drawn_once() {
    let (text, kernels) = model(16);
    let planned = plan_of(&text, &kernels);
    let plan = planned.plan.as_ref().unwrap();
    assert_eq!(plan.elfs.iter().map(|e| e.calls.len()).collect::<Vec<_>>(), [16, 16, 1]);
    let page = page(&planned);
    let document = parsed(&page);
    let drawn: Vec<String> = with_class(&document, "text", "name").into_iter().map(text_of).collect();
    assert_eq!(drawn, ["a_0", "attention_0", "b_0", "head"]);
    let titles: Vec<String> = with_class(&document, "text", "elf").into_iter().map(text_of).collect();
    assert_eq!(titles, ["prog_1 · 1 launch · ×16 calls", "prog_2 · 1 launch · ×16 calls", "prog_3 · 1 launch"]);
    assert!(page.contains("on the host, ×16"));
    // x_1 goes back to the first ELF and, from the last call, on to the head.
    let dot = dot(plan, &planned.graph);
    let has = |edge: &str, more: &str| dot.lines().any(|l| l.trim().starts_with(edge) && l.contains(more));
    assert!(has("s2 -> s0", "style=dashed") && has("s2 -> s2", "style=dashed"), "{dot}");
    assert!(dot.lines().any(|l| l.trim().starts_with("s2 -> s3") && !l.contains("dashed")), "{dot}");
    // Each call with the buffers that it passes.
    let calls = section(&document, "cuts");
    assert!((0..16).all(|i| calls.contains(&format!("u_{i}"))), "{calls}");
}

#[test]
fn a_program_too_long_to_draw_is_still_told() {
    let text: String =
        (0..401).map(|i| launch(&format!("l{i}"), "k.mlir", &[&format!("t{i}"), &format!("t{}", i + 1)])).collect();
    let planned = plan_of(&text, &[copy("k.mlir")]);
    let page = page(&planned);
    let document = parsed(&page);
    assert!(!page.contains("<svg"));
    assert!(section(&document, "graph").contains("401 steps are too many to draw"));
    assert!(section(&document, "cuts").contains("l400"));
}

/// A plan whose launches take what the test says.
fn with_resources(plan: &mut Plan, of: &[(&str, &[(ResourceKind, u64, u64)])]) {
    let resource = |(kind, used, allowed): &(ResourceKind, u64, u64)| Resource {
        kind: *kind,
        used: *used,
        allowed: *allowed,
        is_partial: *kind == ResourceKind::PushRuns,
    };
    let launches = of
        .iter()
        .map(|(name, list)| LaunchResources { name: name.to_string(), resources: list.iter().map(resource).collect() });
    plan.elfs[0].resources = Some(ElfResources {
        device: "npu2".into(),
        toolchain: "t".into(),
        launches: launches.collect(),
        program: ProgramUse { launches: 3, ..ProgramUse::default() },
    });
}

#[test]
fn bars_stand_fullest_first_with_their_numbers() {
    let (text, kernels) = layer();
    let mut planned = plan_of(&text, &kernels);
    let odd = [
        (ResourceKind::ShimBds, 3, 16),
        (ResourceKind::PushRuns, 257, 256),
        (ResourceKind::L1Bytes, 48 << 10, 64 << 10),
        (ResourceKind::Columns, 8, 8),
    ];
    let plain = [(ResourceKind::ShimBds, 11, 16)];
    with_resources(planned.plan.as_mut().unwrap(), &[("norm", &plain), ("q", &odd), ("rope", &plain)]);
    let page = page(&planned);
    let document = parsed(&page);
    let cards: Vec<_> = with_class(&document, "article", "card");
    let heads: Vec<String> = cards
        .iter()
        .map(|c| text_of(c.children().find(|n| n.has_tag_name(("http://www.w3.org/1999/xhtml", "h4"))).unwrap()))
        .collect();
    assert_eq!(heads[..2], ["norm, rope", "q"], "equal launches stand together");
    let bars = |card: Node<'_, '_>| -> Vec<(String, String)> {
        let rows = card.descendants().filter(|n| n.tag_name().name() == "tr");
        rows.map(|r| (r.attribute("class").unwrap().to_string(), squeezed(&text_of(r)))).collect()
    };
    let rows = bars(cards[1]);
    let classes: Vec<&str> = rows.iter().map(|(c, _)| c.as_str()).collect();
    assert_eq!(classes, ["over", "fine", "tight", "fine"], "{rows:?}");
    assert!(rows[0].1.contains("at least 257 / 256") && rows[0].1.ends_with("100 % over"), "{rows:?}");
    assert!(rows[2].1.contains("48.0 KiB / 64.0 KiB") && rows[2].1.ends_with("75 % tight"), "{rows:?}");
    assert!(page.contains("width:75%") && page.contains("width:100%"));
}

#[test]
fn the_drawing_for_graphviz_is_as_kept() {
    let (text, kernels) = layer();
    let planned = plan_of(&text, &kernels);
    insta::assert_snapshot!(dot(planned.plan.as_ref().unwrap(), &planned.graph));
}

fn logged(planned: &Planned, options: &PlanOptions, files: &[OutputFile]) -> String {
    log(&Outcome {
        command: "stitch",
        path: "graph.toml",
        graph: Some(&planned.graph),
        plan: planned.plan.as_ref(),
        options,
        findings: &planned.findings,
        files,
    })
}

#[test]
fn the_log_is_as_kept() {
    let (text, kernels) = layer();
    let planned = plan_of(&text, &kernels);
    let files = [OutputFile { name: "prog_1.elf".into(), size_bytes: 4096 }];
    insta::assert_snapshot!(logged(&planned, &PlanOptions::default(), &files));
}

#[test]
fn the_log_says_what_was_refused_and_turned_off() {
    let text = [
        launch("a", "k.mlir", &["x", "t"]),
        launch("b", "k.mlir", &["t", "u"]),
        launch("c", "k.mlir", &["u", "v"]) + "k_split = \"off\"\n",
        launch("d", "k.mlir", &["v", "y"]) + "fuse = \"never\"\n",
    ];
    let options = PlanOptions { max_launches: Some(2), ..PlanOptions::default() };
    let planned = plan_by(&text.concat(), &[copy("k.mlir")], &[], &options);
    let text = logged(&planned, &options, &[]);
    let row = |start: &str| text.lines().find(|l| l.starts_with(start)).unwrap_or_else(|| panic!("{start} in\n{text}"));
    assert!(row("| calls a run |").ends_with("| 4 | 3 | -1 |"));
    let refused = row("| `prog_1` |");
    assert!(
        refused.contains("refused: a limit") && refused.contains("3 launches, 2 allowed (--max-launches)"),
        "{refused}"
    );
    assert!(row("| `prog_2` |").contains("skipped"), "{text}");
    assert!(row("| `c` |").contains("off: K"), "{text}");
    assert!(text.contains("\nNot needed: 3 launches.\n"), "{text}");
    let options = PlanOptions { has_no_k_split: true, ..options };
    let text = logged(&planned, &options, &[]);
    assert!(text.contains("K is split nowhere: `--k-split off`"), "{text}");
}

#[test]
fn a_run_that_failed_logs_what_failed() {
    let mut findings = Findings::default();
    let file = findings.sources.add("some/where/g.toml", "name\n");
    let span = airlink_diag::Span::file_start(file);
    findings.push(Finding::warning(codes::AL0226, "a | b"));
    findings.push(Finding::error(codes::AL0203, "no `x|y` in *here* <b>").at(span, "here").remedy("two\nlines"));
    let options = PlanOptions::default();
    let outcome = Outcome {
        command: "stitch",
        path: "some/where/g.toml",
        graph: None,
        plan: None,
        options: &options,
        findings: &findings,
        files: &[],
    };
    let text = log(&outcome);
    assert!(text.starts_with("# stitch of `g.toml`: failed\n"), "{text}");
    assert!(text.contains("Findings: 1 error, 1 warning. Nothing was written but this log."), "{text}");
    // As seen from the graph.
    let row = r"| error | AL0203 | `g.toml:1:1` | no `x\|y` in \*here\* &lt;b> |  |  | two lines |";
    assert!(text.lines().any(|l| l == row), "{text}");
    assert!(text.find("AL0203") < text.find("AL0226"), "errors first");
    // Every row of a table has as many cells as its head.
    for table in text.split("\n\n").filter(|p| p.starts_with('|')) {
        let cells = |l: &str| l.replace("\\|", "").matches('|').count();
        assert!(table.lines().all(|l| cells(l) == cells(table.lines().next().unwrap())), "{table}");
    }
}

#[test]
fn totals_agree_with_the_plan() {
    let kernels = [gemv("g.mlir", 64, 64, 4, 8)];
    let weights = "[[buffer]]\nname = \"w\"\nrole = \"static\"\n";
    let text = [launch("a", "g.mlir", &["w", "x", "t"]), launch("b", "g.mlir", &["w", "t", "y"])].concat();
    let planned = plan_of(&format!("{weights}{text}"), &kernels);
    let plan = planned.plan.as_ref().unwrap();
    // 128 bytes each way; weights stay where they are; apart, t crosses twice.
    let text = logged(&planned, &PlanOptions::default(), &[]);
    assert!(text.contains("| 512 B | 256 B | -50 % |"), "{text}");
    assert_eq!(plan_json(plan, &planned.graph, &planned.findings).elfs.len(), 1);
}
