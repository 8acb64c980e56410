//! What two NPU ELFs differ in: for the host program that opens them, and for the array.

use std::collections::BTreeMap;

use super::describe::{Description, description};
use super::image::{Instance, Kernel, NpuElf};
use super::normal::{LoadCache, NormalOp, argument_address, canonical, operations};
use super::proof::Contents;

/// One difference between two ELFs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElfDifference {
    /// Whether a host program must change with it; else the array does something else.
    pub is_abi: bool,
    pub text: String,
}

/// The differences between `a` and `b`: none if a host program may take one for the other and gets the same from it.
pub fn diff(a: &NpuElf, b: &NpuElf) -> Vec<ElfDifference> {
    let (mut texts, mut others) = (Vec::new(), Vec::new());
    let mut abi = |text: String| texts.push(text);
    if a.os_abi != b.os_abi {
        abi(format!("for {} in a, for {} in b", a.os_abi, b.os_abi));
    }
    if a.abi != b.abi {
        let what =
            if a.abi.is_grouped() == b.abi.is_grouped() { "the loader must know" } else { "the layout differs:" };
        abi(format!("{what} ABI {} for a, ABI {} for b", a.abi, b.abi));
    }
    if a.column_count != b.column_count {
        let text = |c: Option<u32>| c.map_or("no columns of its own".to_string(), |c| format!("{c} columns"));
        abi(format!("a partition with {} for a, with {} for b", text(a.column_count), text(b.column_count)));
    }
    let described = (description(a).ok().flatten(), description(b).ok().flatten());
    let order = argument_order(&described, &mut abi);
    for pair in pairs(a, b, &mut abi) {
        if signature_differs(pair.a.0, pair.b.0, &pair.name, &mut abi) {
            continue;
        }
        others.extend(operation_differences((a, pair.a.1), (b, pair.b.1), &pair.name, &order));
    }
    texts.into_iter().map(|text| ElfDifference { is_abi: true, text }).chain(others).collect()
}

/// An instance of each ELF that a host program opens by one name.
struct Pair<'e> {
    name: String,
    a: (&'e Kernel, &'e Instance),
    b: (&'e Kernel, &'e Instance),
}

fn open_name((kernel, instance): (&Kernel, &Instance)) -> String {
    kernel.signature.as_ref().map_or(String::new(), |s| format!("{}:{}", s.name, instance.id))
}

fn pairs<'e>(a: &'e NpuElf, b: &'e NpuElf, abi: &mut impl FnMut(String)) -> Vec<Pair<'e>> {
    let (of_a, of_b): (Vec<_>, Vec<_>) = (a.instances().collect(), b.instances().collect());
    // One each: the same thing, whatever it is called.
    if let ([only_a], [only_b]) = (&of_a[..], &of_b[..]) {
        let (name_a, name_b) = (open_name(*only_a), open_name(*only_b));
        if name_a != name_b {
            abi(format!("a host program opens `{name_a}` in a, `{name_b}` in b"));
        }
        return vec![Pair { name: name_b, a: *only_a, b: *only_b }];
    }
    let mut list = Vec::new();
    // Names may stand twice: then the first goes with the first.
    let mut by_name: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for other in of_b.iter().rev() {
        by_name.entry(open_name(*other)).or_default().push(*other);
    }
    for one in &of_a {
        let name = open_name(*one);
        match by_name.get_mut(&name).and_then(Vec::pop) {
            Some(other) => list.push(Pair { name, a: *one, b: other }),
            None => abi(format!("`{name}` is in a only")),
        }
    }
    by_name.iter().filter(|(_, left)| !left.is_empty()).for_each(|(name, _)| abi(format!("`{name}` is in b only")));
    list
}

/// Per argument of `a`, its number in `b`: by name, where both describe themselves.
struct ArgumentOrder(Option<Vec<Option<u32>>>);

fn argument_order(
    described: &(Option<Description>, Option<Description>),
    abi: &mut impl FnMut(String),
) -> ArgumentOrder {
    let (Some(a), Some(b)) = described else { return ArgumentOrder(None) };
    let mut order = Vec::new();
    for argument in &a.arguments {
        let (index, name) = (argument.index, &argument.name);
        let Some(other) = b.arguments.iter().find(|o| o.name == *name) else {
            abi(format!("argument {index} `{name}` of a is not in b"));
            order.push(None);
            continue;
        };
        if other.index != index {
            abi(format!("argument {index} `{name}` of a is argument {} in b", other.index));
        }
        if other.ty != argument.ty {
            abi(format!("`{name}` is `{}` in a, `{}` in b", argument.ty, other.ty));
        }
        if other.role != argument.role {
            abi(format!("`{name}` is {} in a, {} in b", argument.role, other.role));
        }
        order.push(u32::try_from(other.index).ok());
    }
    for other in b.arguments.iter().filter(|o| a.arguments.iter().all(|argument| argument.name != o.name)) {
        abi(format!("argument {} `{}` of b is not in a", other.index, other.name));
    }
    ArgumentOrder(Some(order))
}

impl ArgumentOrder {
    /// An argument of `a` as one of `b`; one that `b` lacks gets a number that none has.
    fn of_b(&self, argument: u32) -> u32 {
        const LACKING: u32 = 500;
        match &self.0 {
            None => argument,
            Some(order) => order.get(argument as usize).copied().flatten().unwrap_or(LACKING),
        }
    }
}

/// Reports signatures that differ in what a host program passes; whether their operations cannot be compared.
fn signature_differs(a: &Kernel, b: &Kernel, name: &str, abi: &mut impl FnMut(String)) -> bool {
    let arguments = |k: &Kernel| k.signature.as_ref().map(|s| s.arguments.clone());
    match (arguments(a), arguments(b)) {
        (Some(of_a), Some(of_b)) if of_a != of_b => {
            abi(format!("`{name}` takes {} arguments in a, {} in b", of_a.len(), of_b.len()));
            false
        }
        (Some(_), None) | (None, Some(_)) => true,
        _ => false,
    }
}

/// At most this many operations are listed; the rest is counted.
const LISTED_MAX: usize = 5;

fn operation_differences(
    (a, instance_a): (&NpuElf, &Instance),
    (b, instance_b): (&NpuElf, &Instance),
    name: &str,
    order: &ArgumentOrder,
) -> Vec<ElfDifference> {
    let plain = |text: String| ElfDifference { is_abi: false, text };
    let ops_a = normal(a, instance_a, |n| order.of_b(n));
    let ops_b = normal(b, instance_b, |n| n);
    let (ops_a, ops_b) = match (ops_a, ops_b) {
        (Ok(ops_a), Ok(ops_b)) => (ops_a, ops_b),
        (Err(what), _) => return vec![plain(format!("`{name}` of a cannot be run: {what}"))],
        (_, Err(what)) => return vec![plain(format!("`{name}` of b cannot be run: {what}"))],
    };
    let (only_a, only_b) = unmatched(&ops_a, &ops_b);
    let mut list = Vec::new();
    for (side, only) in [("a", only_a), ("b", only_b)] {
        let listed = only.iter().take(LISTED_MAX);
        list.extend(listed.map(|op| plain(format!("`{name}`, {:#x} in {side} only: {}", op.offset, op.kind))));
        if only.len() > LISTED_MAX {
            list.push(plain(format!("`{name}`: {} more operations are in {side} only", only.len() - LISTED_MAX)));
        }
    }
    list
}

fn normal(elf: &NpuElf, instance: &Instance, argument: impl Fn(u32) -> u32) -> Result<Vec<NormalOp>, String> {
    let contents = Contents::of(elf);
    let program = contents.program(instance).ok_or("it has no control code")?;
    let base = elf.argument_base();
    // Symbols of the older layout count three arguments that no kernel has.
    let address = |number: u32| Some(argument_address(argument(number.checked_sub(base)?)));
    Ok(canonical(operations(program, address, &mut LoadCache::default())?))
}

/// The operations between equal beginnings and equal ends; those in it that both have in one place are left out.
fn unmatched<'o>(a: &'o [NormalOp], b: &'o [NormalOp]) -> (Vec<&'o NormalOp>, Vec<&'o NormalOp>) {
    let same = |(x, y): &(&NormalOp, &NormalOp)| x.kind == y.kind;
    let start = a.iter().zip(b).take_while(same).count();
    let (a, b) = (&a[start..], &b[start..]);
    let end = a.iter().rev().zip(b.iter().rev()).take_while(same).count();
    let (a, b) = (&a[..a.len() - end], &b[..b.len() - end]);
    if a.len() != b.len() {
        return (a.iter().collect(), b.iter().collect());
    }
    a.iter().zip(b).filter(|(x, y)| x.kind != y.kind).unzip()
}
