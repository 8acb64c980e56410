//! Launches over parts of a grid: exactly those of the plan are accepted.

use airlink_ir::{Ir, parse_text, print};

use crate::programs::{Program, accepts, program};

/// The fused module of the graph with a row split, as text.
fn stitched(ir: &Ir, program: &Program<'_>) -> String {
    let mut findings = program.findings.clone();
    let elf = &program.plan.elfs[0];
    let module = airlink_stitch::stitch(ir, &program.graph, &program.kernels, elf, &mut findings).expect("it stitches");
    print(&module.as_operation(), false)
}

#[test]
fn faulty_pieces_are_refused() {
    let ir = Ir::new();
    let program = program(&ir, "vocab_prime");
    assert_eq!(program.plan.elfs[0].row_splits[0].pieces.len(), 3);
    let text = stitched(&ir, &program);
    let is_accepted = |text: &str| {
        let module = parse_text(&ir, text, "fused").unwrap_or_else(|| panic!("{}\n{text}", ir.take_error_text()));
        accepts(&program, &program.plan, 0, &module)
    };
    assert!(is_accepted(&text));
    let launches: Vec<&str> = text.split("\n    air.launch (").collect();
    assert_eq!(launches.len(), 4);
    // The second piece with the constant before it, which ends what stands in front.
    let head = |part: &str| part.rfind("\n    %").expect("a constant").to_string();
    assert!(!head(launches[1]).is_empty());
    let with = |from: &str, to: &str| {
        assert!(text.contains(from), "`{from}` in {text}");
        text.replacen(from, to, 1)
    };
    let faults = [
        ("wrong base", with("s0 + 174)", "s0 + 175)")),
        ("overlap", with("s0 + 348)", "s0 + 174)")),
        ("wrong count", with("arith.constant 174 : index", "arith.constant 173 : index")),
        ("too many points", with("arith.constant 173 : index", "arith.constant 174 : index")),
        ("another name", with("@lm_head_gemv_seg_p2", "@lm_head_gemv_seg_p4")),
        ("a name twice", with("@lm_head_gemv_seg_p3", "@lm_head_gemv_seg_p2")),
        ("another scale", with("s0 + 174)", "s0 * 2 + 174)")),
        ("missing piece", without_last_piece(&text)),
        ("a piece twice", with_first_piece_twice(&text)),
        ("an id that is not moved", with_raw_id(&text)),
    ];
    for (what, fault) in faults {
        assert_ne!(fault, text, "{what}");
        assert!(!is_accepted(&fault), "{what} is accepted");
    }
}

/// Where each launch begins, and where the last one ends.
fn places(text: &str) -> (Vec<usize>, usize) {
    let starts: Vec<usize> = text.match_indices("    air.launch (").map(|(i, _)| i).collect();
    let end = text.rfind("    return").expect("the function returns");
    (starts, end)
}

fn without_last_piece(text: &str) -> String {
    let (starts, end) = places(text);
    format!("{}{}", &text[..starts[2]], &text[end..])
}

fn with_first_piece_twice(text: &str) -> String {
    let (starts, end) = places(text);
    let last_end = text[starts[1]..].find("\n    }\n").map(|i| starts[1] + i + "\n    }\n".len()).expect("it ends");
    let second = &text[starts[1]..last_end];
    format!("{}{second}{}", &text[..end], &text[end..])
}

/// Takes the launch id itself for what the moved one is passed as.
fn with_raw_id(text: &str) -> String {
    let (starts, _) = places(text);
    let body = &text[starts[1]..];
    let id = body.split(['(', ')']).nth(1).expect("an id").to_string();
    let moved = body.lines().nth(1).and_then(|l| l.trim().split(' ').next()).expect("the moved id").to_string();
    let passed = format!("={moved},");
    let at = starts[1] + body.find(&passed).expect("it is passed");
    format!("{}={id},{}", &text[..at], &text[at + passed.len()..])
}
