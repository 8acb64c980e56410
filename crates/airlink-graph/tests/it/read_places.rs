//! Byte places with the line ends and characters that files come with.

use airlink_graph::StepEntry;

use crate::support::{lines, read, read_ok};

const TEXT: &str = "# é 漢字 comment\n[graph]\nname = \"g\"\n\n[[launch]]\n\tname\t= \"q\" # 🙂\nkernel = \"größe.mlir\"\nargs = [ \"x\",\n\t\"y\" ]\n";

fn check_places(text: &str) {
    let (graph, findings) = read(text);
    assert_eq!(lines(&findings), Vec::<String>::new());
    let StepEntry::Launch(launch) = &graph.unwrap().steps[0] else { panic!() };
    let all = [(&launch.name, "\"q\""), (&launch.kernel, "\"größe.mlir\""), (&launch.args.value[1], "\"y\"")];
    for (placed, source) in all {
        assert_eq!(findings.sources.snippet(placed.span), source, "{text:?}");
    }
    assert_eq!(findings.sources.line_column(launch.name.span.file, launch.args.value[1].span.start).line, 9);
    assert_eq!(findings.sources.line_column(launch.name.span.file, launch.args.value[1].span.start).column, 2);
}

#[test]
fn unix_line_ends_tabs_and_utf8() {
    check_places(TEXT);
}

#[test]
fn windows_line_ends() {
    check_places(&TEXT.replace('\n', "\r\n"));
}

#[test]
fn byte_order_mark() {
    check_places(&format!("\u{feff}{TEXT}"));
    check_places(&format!("\u{feff}{}", TEXT.replace('\n', "\r\n")));
}

#[test]
fn findings_point_at_the_same_words_whatever_the_line_ends() {
    let text = TEXT.replace("kernel", "kernle");
    for text in [text.clone(), text.replace('\n', "\r\n"), format!("\u{feff}{text}")] {
        let (_, findings) = read(&text);
        let finding = findings.iter().next().unwrap();
        assert_eq!(findings.sources.snippet(finding.labels[0].span), "kernle");
        assert_eq!(finding.remedy.as_deref(), Some("write `kernel`"));
        assert_eq!(findings.iter().count(), 1);
    }
}

#[test]
fn inline_tables_have_places_too() {
    let graph = read_ok(
        "graph = { name = \"g\" }\nlaunch = [{ name = \"b\", kernel = \"k\", args = [] }]\n[[host]]\nname = \"h\"\n",
    );
    let order: Vec<_> = graph.steps.iter().map(|s| matches!(s, StepEntry::Launch(_))).collect();
    assert_eq!(order, [true, false]);
}
