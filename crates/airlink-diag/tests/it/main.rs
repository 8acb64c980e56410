use airlink_diag::{Finding, Findings, Severity, Span, codes, render};

fn sample() -> (Findings, Finding) {
    let mut findings = Findings::default();
    let graph = findings.sources.add("graph.toml", "[graph]\r\nname = \"é\"\r\n\targs = [\"wq\"]\r\n");
    let kernel = findings.sources.add("gemv.mlir", "func.func @mv(%a: i32)\n");
    let text = findings.sources.text(graph);
    let at = text.find("\"wq\"").unwrap();
    let finding = Finding::error(codes::AL0203, "launch `q` gives 1 argument, `@mv` takes 2")
        .at(Span::new(graph, at..at + 4), "1 given")
        .also(findings.sources.word_span(kernel, 1, 11), "declared here")
        .found("1")
        .allowed("2")
        .remedy("add the missing buffer to `args`");
    (findings, finding)
}

#[test]
fn columns_count_characters_and_survive_tabs_utf8_and_crlf() {
    let (findings, finding) = sample();
    assert_eq!(
        render::short(&finding, &findings.sources),
        "graph.toml:3:10: error[AL0203]: launch `q` gives 1 argument, `@mv` takes 2\n"
    );
    let graph = findings.sources.find("graph.toml").unwrap();
    let accent = findings.sources.text(graph).find('é').unwrap();
    let after = findings.sources.line_column(graph, accent + 'é'.len_utf8());
    assert_eq!((after.line, after.column), (2, 10));
}

#[test]
fn human_form_shows_both_places_the_numbers_and_the_remedy() {
    let (findings, finding) = sample();
    let text = render::human(&finding, &findings.sources, false, 100);
    for part in [
        "error[AL0203]",
        "graph.toml:3:",
        "1 given",
        "gemv.mlir:1:11",
        "declared here",
        "found 1, allowed 2",
        "help: add",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}

#[test]
fn json_form_is_one_line_with_every_field() {
    let (findings, finding) = sample();
    let line = render::json(&finding, &findings.sources);
    let value: serde_json::Value = serde_json::from_str(line.trim_end()).unwrap();
    assert_eq!(line.matches('\n').count(), 1);
    let keys: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["code", "severity", "headline", "spans", "found", "allowed", "source", "remedy"]);
    assert_eq!(value["spans"][1]["file"], "gemv.mlir");
    assert_eq!(value["spans"][1]["end_column"], 14);
}

#[test]
fn findings_come_in_file_order_and_once() {
    let (mut findings, finding) = sample();
    let file = findings.sources.find("graph.toml").unwrap();
    findings.push(Finding::warning(codes::AL0212, "no place"));
    findings.push(finding.clone());
    findings.push(Finding::note(codes::AL0214, "first").at(Span::file_start(file), ""));
    findings.push(finding);
    let order: Vec<_> = findings.in_file_order().iter().map(|f| f.code.name()).collect();
    assert_eq!(order, ["AL0214", "AL0203", "AL0212"]);
    assert!(findings.check().is_err());
    assert_eq!(findings.count(Severity::Error), 1);
}

#[test]
fn spans_past_the_end_are_shown_not_a_panic() {
    let mut findings = Findings::default();
    let file = findings.sources.add("a", "x\n");
    for span in [Span::new(file, 2..2), Span::new(file, 5..9), Span::new(file, 0..9)] {
        let text = render::human(&Finding::error(codes::AL0102, "bad").at(span, "here"), &findings.sources, false, 80);
        assert!(text.contains("bad"), "{text}");
    }
}

#[test]
fn codes_are_in_order_and_found_in_any_case() {
    let names: Vec<_> = codes::ALL.iter().map(|c| c.name()).collect();
    assert!(names.is_sorted());
    assert_eq!(airlink_diag::Code::find("al0203"), Some(codes::AL0203));
    assert_eq!(codes::AL0203.stage(), 2);
}
