//! The text of a small graph: mostly right, so that most of them reach the plan.

use std::fmt::Write;

use crate::choices::Choices;
use crate::planned::kernels::{Kernel, TYPES};

const ROLES: &[&str] = &["static", "input", "output", "intermediate", "inout", "dead"];
/// Views of the buffers `b1_*` and `b5_*`: offsets, sizes and type.
const VIEWS: &[(usize, &str, &str, &str)] = &[
    (1, "[0, 0]", "[1, 16]", "memref<16xf32>"),
    (1, "[2, 0]", "[1, 16]", "memref<16xf32>"),
    (1, "[3, 0]", "[1, 16]", "memref<16xf32, strided<[1], offset: 48>>"),
    (5, "[48]", "[16]", "memref<16xf32>"),
    (5, "[60]", "[16]", "memref<16xf32>"),
    (1, "[0, 0]", "[4, 16]", "memref<4x16xf32>"),
];

pub fn graph(kernels: &[Kernel], choices: &mut Choices<'_>) -> String {
    let mut out = String::from("[graph]\nname = \"prog\"\ndevice = \"npu2\"\n");
    let mut views = Vec::new();
    for i in 0..choices.below(4) {
        let (ty, offsets, sizes, view) = choices.pick(VIEWS);
        let of = buffer(*ty, choices);
        let _ = write!(out, "[[view]]\nname = \"v{i}\"\nof = \"{of}\"\noffsets = {offsets}\nsizes = {sizes}\n");
        let _ = writeln!(out, "type = \"{view}\"");
        views.push((format!("v{i}"), *view));
    }
    for i in 0..choices.below(3) {
        let ty = choices.below(TYPES.len());
        let _ = writeln!(out, "[[buffer]]\nname = \"b{ty}_{i}\"\ntype = \"{}\"", TYPES[ty]);
        if choices.one_in(2) {
            let _ = writeln!(out, "role = \"{}\"", choices.pick(ROLES));
        }
    }
    let mut launches = Vec::new();
    for i in 0..1 + choices.below(6) {
        step(&mut out, i, kernels, &views, choices, &mut launches);
    }
    if choices.one_in(3) {
        cuts(&mut out, &launches, choices);
    }
    out
}

/// A launch, a block of one, or a launch with a host step behind it.
fn step(
    out: &mut String,
    i: usize,
    kernels: &[Kernel],
    views: &[(String, &str)],
    choices: &mut Choices<'_>,
    launches: &mut Vec<String>,
) {
    let kernel = choices.pick(kernels);
    let args: Vec<String> = kernel.args.iter().map(|(ty, _)| operand(ty, views, choices)).collect();
    let (head, name) = match choices.one_in(6) {
        true => {
            let count = 1 + choices.below(3);
            let _ = writeln!(out, "[[block]]\nname = \"block{i}\"\ncount = {count}");
            launches.extend((0..count).map(|n| format!("a{i}_{n}")));
            ("block.launch", format!("a{i}_{{i}}"))
        }
        false => {
            launches.push(format!("a{i}"));
            ("launch", format!("a{i}"))
        }
    };
    let _ = writeln!(out, "[[{head}]]\nname = \"{name}\"\nkernel = \"{}\"\nargs = {args:?}", kernel.path);
    match choices.below(14) {
        9 => out.push_str("fuse = \"never\"\n"),
        10 => out.push_str("k_split = 2\n"),
        12 => out.push_str("row_split = 2\n"),
        13 => out.push_str("n_split = 2\n"),
        11 => {
            let (reads, writes) = (buffer(choices.below(TYPES.len()), choices), buffer(0, choices));
            let _ = writeln!(out, "[[host]]\nname = \"h{i}\"\nreads = [\"{reads}\"]\nwrites = [\"{writes}\"]");
        }
        _ => {}
    }
}

/// A view of the type, where there is one, or one of the few buffers of it.
fn operand(ty: &str, views: &[(String, &str)], choices: &mut Choices<'_>) -> String {
    let fitting: Vec<&String> = views.iter().filter(|(_, t)| *t == ty).map(|(n, _)| n).collect();
    if !fitting.is_empty() && choices.one_in(2) {
        return choices.pick(&fitting).to_string();
    }
    // Once in a while a buffer of another type.
    let of_type = TYPES.iter().position(|t| *t == ty).unwrap_or(0);
    buffer(if choices.one_in(64) { 0 } else { of_type }, choices)
}

fn buffer(ty: usize, choices: &mut Choices<'_>) -> String {
    format!("b{ty}_{}", choices.below(4))
}

/// The launches in parts of some length, sometimes with arguments of which some may be missing.
fn cuts(out: &mut String, launches: &[String], choices: &mut Choices<'_>) {
    let mut rest = launches;
    let mut i = 0;
    while !rest.is_empty() {
        let (part, behind) = rest.split_at(1 + choices.below(rest.len()));
        rest = behind;
        let _ = writeln!(out, "[[elf]]\nname = \"e{i}\"\nlaunches = {part:?}");
        if choices.one_in(3) {
            let all = (0..TYPES.len()).flat_map(|t| (0..4).map(move |n| format!("b{t}_{n}")));
            let kept: Vec<String> = all.filter(|_| !choices.one_in(16)).collect();
            let _ = writeln!(out, "args = {kept:?}");
        }
        i += 1;
    }
}
