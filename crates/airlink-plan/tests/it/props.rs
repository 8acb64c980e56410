//! What holds of any plan.

use std::collections::HashSet;

use airlink_kernel::LocalKind;
use airlink_plan::{Plan, plan_json};
use proptest::prelude::*;

use crate::support::{Kernel, copy, host, launch, plan_of};

const TYPES: [&[&str]; 4] = [
    &["i32"],
    &["i64"],
    &["memref<4x64xbf16>", "memref<64xbf16>", "memref<8xbf16>"],
    &["memref<4x128xbf16>", "memref<128xbf16>", "memref<8xbf16>"],
];
const FILES: [Option<&str>; 4] = [None, Some("o.o"), Some("p.o"), Some("o_2.o")];
const SYMBOLS: [&str; 5] = ["f", "g", "a0_c", "f_2", "f_k128"];
const LOCALS: [(LocalKind, &str); 5] = [
    (LocalKind::Channel, "c"),
    (LocalKind::Channel, "c_2"),
    (LocalKind::Global, "x"),
    (LocalKind::Segment, "seg"),
    (LocalKind::Resource, "c"),
];

fn any_kernel() -> impl Strategy<Value = Kernel> {
    let externs =
        proptest::collection::btree_map(0..SYMBOLS.len(), (0..TYPES.len(), 0..FILES.len(), any::<bool>()), 0..4);
    let locals = proptest::sample::subsequence(LOCALS.to_vec(), 0..=LOCALS.len());
    (externs, locals).prop_map(|(externs, locals)| {
        let mut kernel = copy("");
        for (symbol, (ty, file, is_called)) in externs {
            kernel = match is_called {
                true => kernel.calls(SYMBOLS[symbol], TYPES[ty], FILES[file]),
                false => kernel.only_declares(SYMBOLS[symbol], TYPES[ty], FILES[file]),
            };
        }
        locals.into_iter().fold(kernel, |k, (kind, name)| k.local(kind, name))
    })
}

/// Kernels, and steps that run one of them or stand on the host.
fn any_graph() -> impl Strategy<Value = (String, Vec<Kernel>)> {
    let kernels = proptest::collection::vec(any_kernel(), 1..5);
    let steps = proptest::collection::vec((0..5usize, any::<bool>()), 1..9);
    (kernels, steps).prop_map(|(kernels, steps)| {
        let kernels: Vec<_> = kernels.into_iter().enumerate().map(|(i, k)| k.at(&format!("{i}.mlir"))).collect();
        let mut text = String::new();
        for (i, (kernel, has_host)) in steps.into_iter().enumerate() {
            let path = format!("{}.mlir", kernel % kernels.len());
            text += &launch(&format!("a{i}"), &path, &[&format!("t{i}"), &format!("t{}", i + 1)]);
            if has_host {
                text += &host(&format!("h{i}"), &[], &[]);
            }
        }
        (text, kernels)
    })
}

/// Every name in a fused module's symbol table, and per kind those outside of it.
fn assert_unique(plan: &Plan) {
    for elf in &plan.elfs {
        let mut symbols = HashSet::from([elf.name.as_str()]);
        for e in &elf.externs {
            assert!(symbols.insert(&e.symbol), "{} twice", e.symbol);
        }
        let mut others = HashSet::new();
        for local in elf.launches.iter().flat_map(|l| &l.locals) {
            let is_new = match local.kind.is_symbol() {
                true => symbols.insert(&local.to),
                false => others.insert((local.kind, &local.to)),
            };
            assert!(is_new, "{} twice", local.to);
        }
        for segment in elf.launches.iter().flat_map(|l| &l.entries).filter_map(|e| e.segment.as_ref()) {
            assert!(others.insert((LocalKind::Segment, segment)), "{segment} twice");
        }
    }
    let files: Vec<_> = plan.objects.iter().filter_map(|o| o.file.as_ref()).collect();
    assert_eq!(files.iter().collect::<HashSet<_>>().len(), files.len(), "{files:?}");
}

/// What a launch calls is what its variant holds, under one type.
fn assert_wired(plan: &Plan) {
    for elf in &plan.elfs {
        for launch in &elf.launches {
            for (original, to) in &launch.externs {
                let object = &plan.objects[to.object.0];
                assert_eq!(object.symbols[original].symbol, to.symbol);
                assert!(object.launches.contains(&launch.launch));
                assert!(elf.objects.contains(&to.object));
                let declared = elf.externs.iter().find(|e| e.symbol == to.symbol).expect("a declaration");
                let signature = object.symbols[original].signature.as_ref().unwrap();
                assert_eq!((&declared.inputs, &declared.link_with), (&signature.inputs, &to.link_with));
                assert!(to.link_with.is_none() || to.link_with == object.file);
            }
            for (file, to) in &launch.files {
                assert!(plan.objects.iter().any(|o| o.link_with.as_ref() == Some(file) && o.file.as_ref() == Some(to)));
            }
        }
    }
}

proptest! {
    #[test]
    fn names_are_unique_and_wired_and_the_same_twice((text, kernels) in any_graph()) {
        let (one, two) = (plan_of(&text, &kernels), plan_of(&text, &kernels));
        prop_assert_eq!(&one.plan, &two.plan);
        match &one.plan {
            Some(plan) => {
                prop_assert!(!one.findings.has_errors());
                assert_unique(plan);
                assert_wired(plan);
                let json = |p: &crate::support::Planned| serde_json::to_string(&plan_json(p.plan.as_ref().unwrap(), &p.graph, &p.findings)).unwrap();
                prop_assert_eq!(json(&one), json(&two));
            }
            None => prop_assert!(one.findings.iter().any(|f| f.code == airlink_diag::codes::AL0401)),
        }
    }
}
