//! Whatever the text, the reader neither panics nor points outside of it.

use proptest::prelude::*;

use crate::support::read;

const SEED: &str = r#"[graph]
name = "g"
device = "npu2"
ref = { rope = "rope_halfsplit" }
[graph.compiler]
ping_pong = "off"
runtime_tiling = [16, 16]
[[buffer]]
name = "w"
type = "memref<2x8xbf16>"
role = "static"
[[view]]
name = "row"
of = "w"
offsets = [1, 0]
sizes = [1, 8]
strides = [1, 1]
type = "memref<8xbf16>"
[[block]]
name = "layer"
count = 3
[[block.launch]]
name = "q_{i}"
kernel = "é.mlir"
args = ["w", "x_{i}", "x_{i+1}"]
k_split = 70
[[host]]
name = "attention"
reads = ["x_1"]
[[elf]]
name = "e"
launches = ["q_0"]
"#;

const WORDS: &[&str] = &[
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "\"",
    "'''",
    "\"\"\"",
    "=",
    ".",
    ",",
    "\n",
    "\r\n",
    "\t",
    "#",
    "-1",
    "0x",
    "1e9",
    "nan",
    "1979-05-27",
    "{i}",
    "{i-1}",
    "{i+999999999999999999}",
    "é",
    "\u{feff}",
    "\0",
    "\\u0000",
    "[[launch]]",
    "[[block]]",
    "count",
    "99999999999999999999",
    "18446744073709551615",
    "true",
    "[graph]",
    "a.b.c",
];

/// Places where a piece of the text goes, and a word comes in.
fn edits() -> impl Strategy<Value = Vec<(prop::sample::Index, usize, Option<usize>)>> {
    prop::collection::vec((any::<prop::sample::Index>(), 0..12usize, prop::option::of(0..WORDS.len())), 0..8)
}

fn edit(text: &str, edits: &[(prop::sample::Index, usize, Option<usize>)]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for (at, removed, word) in edits {
        let at = at.index(chars.len() + 1);
        let end = (at + removed).min(chars.len());
        let word = word.map_or("", |w| WORDS[w]);
        chars.splice(at..end, word.chars());
    }
    chars.into_iter().collect()
}

fn check(text: &str) {
    let (graph, findings) = read(text);
    assert_eq!(graph.is_none(), findings.has_errors(), "{text}");
    for label in findings.iter().flat_map(|f| &f.labels) {
        let (start, end) = (label.span.start, label.span.end);
        assert!(start <= end && end <= text.len(), "{start}..{end} in {text:?}");
        assert!(text.is_char_boundary(start) && text.is_char_boundary(end), "{start}..{end} in {text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_graphs(edits in edits()) {
        check(&edit(SEED, &edits));
    }

    #[test]
    fn any_text(text in "\\PC{0,200}") {
        check(&text);
    }

    #[test]
    fn any_words(words in prop::collection::vec(0..WORDS.len(), 0..60)) {
        check(&words.iter().map(|w| WORDS[*w]).collect::<String>());
    }
}

#[test]
fn the_seed_itself_is_read() {
    check(SEED);
    assert!(read(SEED).0.is_some());
}
