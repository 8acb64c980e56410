//! 1,000 seeded faults in fused modules and in plans: the checker alone must refuse every one.
//!
//! A fault in a module is an edit of its text that still parses and verifies. Only edits that change the program are
//! planted: what is swapped differs, what is renamed goes to another name. So no mutant is equivalent to its original.

use std::collections::BTreeMap;

use airlink_ir::{Ir, parse_text, print};
use airlink_plan::{ElfPlan, Plan};

use crate::programs::{GRAPHS, Program, accepts, program};

const MUTANT_COUNT: usize = 1_000;

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % limit.max(1)
    }
}

#[test]
fn a_thousand_faults_are_refused() {
    let mut random = Random(0x5EED_0001);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut survivors = Vec::new();
    let mut planted = 0;
    let ir = Ir::new();
    let programs: Vec<Program> = GRAPHS.iter().map(|name| program(&ir, name)).collect();
    let texts: Vec<Vec<String>> = programs.iter().map(|p| stitched(&ir, p)).collect();
    while planted < MUTANT_COUNT {
        let which = random.below(programs.len());
        let (program, texts) = (&programs[which], &texts[which]);
        let elf = random.below(texts.len());
        // A quarter in plans, whatever share of edits finds something to change.
        let (kind, is_accepted, what) = match planted % 4 {
            0 => {
                let Some((kind, plan)) = plan_fault(&program.plan, elf, &mut random) else { continue };
                let module = parse_text(&ir, &texts[elf], "fused").expect("the original parses");
                (kind, accepts(program, &plan, elf, &module), kind.to_string())
            }
            _ => {
                let Some((kind, text)) = module_fault(&texts[elf], &mut random) else { continue };
                let module = parse_text(&ir, &text, "fused");
                ir.take_error_text();
                // MLIR's own verifier refuses some edits; those prove nothing here.
                let Some(module) = module else { continue };
                (kind, accepts(program, &program.plan, elf, &module), first_difference(&texts[elf], &text))
            }
        };
        planted += 1;
        *counts.entry(kind).or_default() += 1;
        if is_accepted {
            survivors.push(format!("{} {kind}: {what}", GRAPHS[which]));
        }
    }
    for (kind, count) in &counts {
        println!("{count:>5} {kind}");
    }
    println!("{planted:>5} planted, {} accepted", survivors.len());
    assert!(counts.len() >= 12, "too few kinds: {counts:?}");
    assert!(survivors.is_empty(), "{}", survivors.join("\n"));
}

fn stitched(ir: &Ir, program: &Program<'_>) -> Vec<String> {
    let mut findings = program.findings.clone();
    let stitch = |elf| {
        let module =
            airlink_stitch::stitch(ir, &program.graph, &program.kernels, elf, &mut findings).expect("it stitches");
        print(&module.as_operation(), false)
    };
    program.plan.elfs.iter().map(stitch).collect()
}

fn first_difference(a: &str, b: &str) -> String {
    let pair = a.lines().zip(b.lines()).find(|(x, y)| x != y);
    pair.map_or("lines removed".into(), |(x, y)| format!("{} -> {}", x.trim(), y.trim()))
}

/// Edits one line; `None` where the edit finds nothing to change.
fn module_fault(text: &str, random: &mut Random) -> Option<(&'static str, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let at = random.below(lines.len());
    let line = lines[at];
    let is_transfer = ["air.dma_memcpy_nd", "air.channel.put", "air.channel.get"].iter().any(|t| line.contains(t));
    let (kind, edited) = match random.below(8) {
        0 if is_transfer => ("dropped transfer", String::new()),
        0 if line.contains("func.call") => ("dropped call", String::new()),
        1 if line.contains("air.launch") || line.contains("air.herd") => ("swapped operand", swap_args(line, random)?),
        2 if line.contains("air.launch") || line.contains("air.herd") => ("alias", alias(line, random)?),
        3 if is_transfer => ("changed access", change_number(line, random)?),
        3 if line.contains("affine_map") => ("changed map", change_number(line, random)?),
        3 if line.contains("arith.constant") => ("changed constant", change_number(line, random)?),
        4 => ("wrong object", line.replace(".o\"", "_x.o\"")),
        5 if line.contains("attributes {link_with") => {
            ("lost attribute", line.split(" attributes {").next()?.to_string() + tail(line))
        }
        5 if line.starts_with("module attributes") => ("lost attribute", "module {".into()),
        5 if line.contains("{airlink.bank") => ("lost attribute", line.replacen(" {airlink.bank = 0 : i32}", "", 1)),
        5 if line.contains("air.channel @") => ("changed channel", change_number(line, random)?),
        6 => ("another operation", another_operation(line)?),
        7 if line.contains("func.call @") => ("wrong extern", line.replace("_k512(", "(").replace("_k768(", "_k512(")),
        7 if line.contains("memref.alloc()") => ("changed buffer", change_number(line, random)?),
        _ => return None,
    };
    if edited == line {
        return None;
    }
    let mut edited_lines: Vec<&str> = lines.clone();
    edited_lines[at] = &edited;
    Some((kind, edited_lines.join("\n") + "\n"))
}

fn tail(line: &str) -> &'static str {
    if line.ends_with('{') { " {" } else { "" }
}

/// The outer names in `args(%a=%x, %b=%y)`, as byte ranges.
fn outer_names(line: &str) -> Vec<std::ops::Range<usize>> {
    let Some(start) = line.find("args(") else { return Vec::new() };
    let end = line[start..].find(')').map_or(line.len(), |e| start + e);
    let mut names = Vec::new();
    let mut from = start;
    while let Some(i) = line[from..end].find('=') {
        let first = from + i + 1;
        let last = line[first..end].find([',', ')']).map_or(end, |e| first + e);
        names.push(first..last);
        from = last;
    }
    names
}

fn swap_args(line: &str, random: &mut Random) -> Option<String> {
    let names = outer_names(line);
    let (i, j) = (random.below(names.len()), random.below(names.len()));
    let (first, second) = (names.get(i.min(j))?.clone(), names.get(i.max(j))?.clone());
    if i == j {
        return None;
    }
    let (a, b) = (&line[first.clone()], &line[second.clone()]);
    Some(format!("{}{b}{}{a}{}", &line[..first.start], &line[first.end..second.start], &line[second.end..]))
}

fn alias(line: &str, random: &mut Random) -> Option<String> {
    let names = outer_names(line);
    let (i, j) = (random.below(names.len()), random.below(names.len()));
    let (from, to) = (names.get(i)?.clone(), names.get(j)?.clone());
    Some(format!("{}{}{}", &line[..to.start], &line[from], &line[to.end..]))
}

/// Adds one to an integer that stands alone: not part of a name, a type or a float.
fn change_number(line: &str, random: &mut Random) -> Option<String> {
    let bytes = line.as_bytes();
    let mut places = Vec::new();
    let mut i = 0;
    while i < bytes.len() {
        if !bytes[i].is_ascii_digit() {
            i += 1;
            continue;
        }
        let start = i;
        while i < bytes.len() && bytes[i].is_ascii_digit() {
            i += 1;
        }
        let before = start.checked_sub(1).map_or(b' ', |b| bytes[b]);
        let after = bytes.get(i).copied().unwrap_or(b' ');
        if b" [(<".contains(&before) && b" ],)x".contains(&after) && i - start < 9 {
            places.push(start..i);
        }
    }
    let place = places.get(random.below(places.len()))?.clone();
    let number: u64 = line[place.clone()].parse().ok()?;
    Some(format!("{}{}{}", &line[..place.start], number + 1, &line[place.end..]))
}

fn another_operation(line: &str) -> Option<String> {
    [
        ("arith.addf", "arith.subf"),
        ("arith.mulf", "arith.addf"),
        ("arith.divf", "arith.mulf"),
        ("math.rsqrt", "math.sqrt"),
    ]
    .iter()
    .find(|(from, _)| line.contains(from))
    .map(|(from, to)| line.replace(from, to))
}

fn another_number_of_parts(elf: &mut ElfPlan) -> Option<&'static str> {
    elf.splits.first_mut()?.parts *= 2;
    Some("plan: another number of parts")
}

/// No more columns, or others than the module has, or other panels.
fn another_width(elf: &mut ElfPlan, random: &mut Random) -> Option<&'static str> {
    let at = random.below(elf.n_splits.len());
    let split = elf.n_splits.get_mut(at)?;
    match random.below(7) {
        0 => split.factor += 1,
        1 => split.columns += 1,
        2 => split.points += split.factor,
        3 => split.dimension += 1,
        4 => drop(split.panels.pop()),
        5 => split.panels.first_mut()?.l3_dimension += 1,
        _ => drop(elf.n_splits.remove(at)),
    }
    Some("plan: another width")
}

/// No pieces, or others than the module has: fewer, longer, elsewhere or under another name.
fn another_cut(elf: &mut ElfPlan, random: &mut Random) -> Option<&'static str> {
    let split = elf.row_splits.first_mut()?;
    if random.below(7) == 6 {
        elf.row_splits.clear();
        return Some("plan: a row split less");
    }
    let at = random.below(split.pieces.len());
    match random.below(6) {
        0 => drop(split.pieces.remove(at)),
        1 => split.pieces[at].count += 1,
        2 => split.pieces[at].first += 1,
        3 => split.points += 1,
        4 => split.dimension += 1,
        _ => split.pieces[at].names.first_mut()?.to.push('x'),
    }
    Some("plan: other pieces")
}

fn another_call_buffer(elf: &mut ElfPlan, random: &mut Random) -> Option<&'static str> {
    let call = random.below(elf.calls.len());
    let args = &mut elf.calls.get_mut(call)?.args;
    let (i, j) = (random.below(args.len()), random.below(args.len()));
    (args[i] != args[j]).then(|| args.swap(i, j))?;
    Some("plan: swapped buffers of a call")
}

fn another_calls_launches(elf: &mut ElfPlan, random: &mut Random) -> Option<&'static str> {
    let (i, j) = (random.below(elf.calls.len()), random.below(elf.calls.len()));
    let other = elf.calls.get(j).filter(|_| i != j)?.launches.clone();
    elf.calls[i].launches = other;
    Some("plan: launches of another call")
}

/// A plan that says something else than the module does.
fn plan_fault(plan: &Plan, elf: usize, random: &mut Random) -> Option<(&'static str, Plan)> {
    let mut plan = plan.clone();
    let elf = &mut plan.elfs[elf];
    let count = elf.launches.len();
    let (first, second) = (random.below(count), random.below(count));
    let other_kernels = first != second && elf.launches[first].kernel != elf.launches[second].kernel;
    let launch = &mut elf.launches[first];
    let kind = match random.below(17) {
        14 => another_call_buffer(elf, random)?,
        15 => another_calls_launches(elf, random)?,
        0 => {
            let (i, j) = (random.below(launch.operands.len()), random.below(launch.operands.len()));
            if launch.operands[i] == launch.operands[j] {
                return None;
            }
            launch.operands.swap(i, j);
            "plan: swapped operand"
        }
        1 => {
            let at = random.below(launch.locals.len());
            launch.locals.get_mut(at)?.to.push('x');
            "plan: another local name"
        }
        2 => {
            let at = random.below(launch.externs.len());
            launch.externs.get_index_mut(at)?.1.symbol.push('x');
            "plan: another extern"
        }
        3 if other_kernels => {
            elf.launches.swap(first, second);
            "plan: swapped launches"
        }
        4 => {
            elf.launches.remove(first);
            "plan: a launch less"
        }
        5 => {
            let at = random.below(elf.externs.len());
            elf.externs.get_mut(at)?.link_with = Some("x.o".into());
            "plan: another object"
        }
        6 => {
            let entry = launch.entries.iter_mut().find(|e| e.segment.is_some())?;
            entry.segment.as_mut()?.push('x');
            "plan: another segment"
        }
        7 => {
            let at = random.below(launch.files.len());
            launch.files.get_index_mut(at)?.1.push('x');
            "plan: another file of herds"
        }
        8 => {
            let other = random.below(elf.args.len());
            launch.operands[0].arg = Some(other).filter(|o| *o != launch.operands[0].arg)?;
            "plan: another buffer"
        }
        9 => {
            let at = random.below(elf.args.len());
            elf.args.get_mut(at)?.name.push('x');
            "plan: another argument name"
        }
        10 => elf.splits.pop().map(|_| "plan: a split less")?,
        11 => another_number_of_parts(elf)?,
        12 | 13 => another_cut(elf, random)?,
        16 => another_width(elf, random)?,
        _ => return None,
    };
    Some((kind, plan))
}
