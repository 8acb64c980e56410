//! Launches over more columns: exactly those of the plan are accepted.

use airlink_ir::{Ir, parse_text, print};

use crate::programs::{accepts, program};

#[test]
fn faulty_wide_launches_are_refused() {
    let ir = Ir::new();
    let program = program(&ir, "two_launches");
    let elf = &program.plan.elfs[0];
    assert!(elf.n_splits.iter().any(|s| (s.factor, s.columns, s.points) == (2, 4, 8)), "{:?}", elf.n_splits);
    let mut findings = program.findings.clone();
    let module =
        airlink_stitch::stitch(&ir, &program.graph, &program.kernels, elf, &mut findings).expect("it stitches");
    let text = print(&module.as_operation(), false);
    let is_accepted = |text: &str| {
        let module = parse_text(&ir, text, "fused").unwrap_or_else(|| panic!("{}\n{text}", ir.take_error_text()));
        accepts(&program, &program.plan, 0, &module)
    };
    assert!(is_accepted(&text));
    let with = |from: &str, to: &str| {
        assert!(text.contains(from), "`{from}` in {text}");
        text.replace(from, to)
    };
    let rows = |rows: &str| with("memref<64x256xbf16, 1", &format!("memref<{rows}x256xbf16, 1"));
    let faults = [
        ("points of another stride", with("(s0 * 2)", "(s0 * 3)")),
        ("points that overlap", with("(s0 * 2)", "(s0 + 2)")),
        ("more rows than the panel moves", with("[64, 256] [256, 1]", "[32, 256] [256, 1]")),
        ("fewer results", with("[64] [1]", "[32] [1]")),
        ("another stride", with("[64, 256] [256, 1]", "[64, 256] [512, 1]")),
        ("more columns instead of rows", with("[64, 256] [256, 1]", "[32, 512] [256, 1]")),
        ("buffers that are too large", rows("128")),
        ("buffers that are too small", rows("32")),
    ];
    for (what, fault) in faults {
        assert_ne!(fault, text, "{what}");
        assert!(!is_accepted(&fault), "{what} is accepted");
    }
    for (what, change) in [("twice the factor", 4), ("no factor", 1)] {
        let mut plan = program.plan.clone();
        plan.elfs[0].n_splits[0].factor = change;
        assert!(!accepts(&program, &plan, 0, &module), "{what} is accepted");
    }
    let mut plan = program.plan.clone();
    plan.elfs[0].n_splits[0].panels.pop();
    assert!(!accepts(&program, &plan, 0, &module), "a panel less is accepted");
    plan.elfs[0].n_splits.clear();
    assert!(!accepts(&program, &plan, 0, &module), "a split that the plan has not is accepted");
}

/// The extents of grid and herd, each by the constant that it is.
#[test]
fn faulty_extents_are_refused() {
    let ir = Ir::new();
    let program = program(&ir, "two_launches");
    let elf = &program.plan.elfs[0];
    let mut findings = program.findings.clone();
    let module =
        airlink_stitch::stitch(&ir, &program.graph, &program.kernels, elf, &mut findings).expect("it stitches");
    let text = print(&module.as_operation(), false);
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    let herd = lines.iter().position(|l| l.contains("air.herd @proj_")).expect("the wide herd");
    let launch = lines[..herd].iter().rposition(|l| l.contains("air.launch (")).expect("its launch");
    for (what, at) in [("launch", launch - 1), ("herd", herd - 1)] {
        assert!(lines[at].contains("arith.constant") && lines[at].ends_with(": index"), "{}", lines[at]);
        let good = lines[at].clone();
        for value in [1, 3, 16] {
            lines[at] = format!("{}= arith.constant {value} : index", good.split('=').next().expect("a name"));
            let fault = lines.join("\n");
            let module =
                parse_text(&ir, &fault, "fused").unwrap_or_else(|| panic!("{}\n{fault}", ir.take_error_text()));
            assert!(!accepts(&program, &program.plan, 0, &module), "{value} before {what} is accepted");
        }
        lines[at] = good;
    }
}
