//! Made-up maps on made-up objects, and made-up bytes.

use airlink_elf::{RenameOptions, exported_symbols, manifest, object_summary, plan_rename, rename, undefined_symbols};
use indexmap::IndexMap;
use object::SymbolScope;
use proptest::prelude::*;

use crate::made::{self, Maker, TARGETS};
use crate::readback::{assert_renamed, names};

const DEFAULT: RenameOptions = RenameOptions { references: false };

/// Names with many common tails, so that tables share strings.
fn name() -> impl Strategy<Value = String> {
    prop::string::string_regex("(_Z|_ZZ|_ZGV)?[ab]{1,3}(E1s)?(_k8)?").unwrap()
}

#[derive(Clone, Debug)]
struct Description {
    target: usize,
    /// Name, local, weak, variable; the first of equal names counts.
    symbols: Vec<(String, bool, bool, bool)>,
    undefined: Vec<String>,
}

fn description() -> impl Strategy<Value = Description> {
    let symbols = prop::collection::vec((name(), any::<bool>(), any::<bool>(), any::<bool>()), 1..12);
    (0..TARGETS.len(), symbols, prop::collection::vec(name(), 0..3))
        .prop_map(|(target, symbols, undefined)| Description { target, symbols, undefined })
}

fn make(description: &Description) -> Vec<u8> {
    let (_, architecture, endianness) = TARGETS[description.target];
    let mut maker = Maker::new(architecture, endianness);
    let mut seen = std::collections::BTreeSet::new();
    for (name, is_local, is_weak, is_variable) in &description.symbols {
        if !seen.insert(name.clone()) {
            continue;
        }
        let scope = if *is_local { SymbolScope::Compilation } else { SymbolScope::Dynamic };
        if *is_variable {
            maker.variable(name, scope);
        } else {
            let symbol = maker.function(name, scope, *is_weak && !*is_local);
            if *is_weak && !*is_local {
                maker.group(symbol, &[symbol]);
            }
        }
    }
    for name in &description.undefined {
        if seen.insert(name.clone()) {
            maker.undefined(name);
        }
    }
    maker.write()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// A map either does just what its plan says and can be undone, or is refused; both functions agree on which.
    #[test]
    fn maps_do_what_their_plan_says(
        description in description(),
        map in prop::collection::vec((any::<prop::sample::Index>(), name()), 0..6),
    ) {
        let before = make(&description);
        let names = names(&before);
        let map: IndexMap<String, String> =
            map.into_iter().map(|(i, new)| (names[i.index(names.len())].clone(), new)).collect();
        match plan_rename(&before, &map, DEFAULT) {
            Err(errors) => {
                prop_assert!(!errors.is_empty());
                prop_assert_eq!(rename(&before, &map, DEFAULT), Err(errors[0].clone()));
            }
            Ok(plan) => {
                let after = rename(&before, &map, DEFAULT).unwrap();
                assert_renamed(&before, &after, &plan.renames);
                // With what is to keep its name: on the way back the new owner of such a symbol would carry it along.
                let asked: IndexMap<String, String> = map.iter().map(|(o, n)| (n.clone(), o.clone())).collect();
                let kept = map.iter().filter(|(o, n)| o == n);
                // All that changed, changed back: nothing has to follow, so nothing but the string table differs.
                let back = plan.renames.iter().chain(kept).map(|(o, n)| (n.clone(), o.clone())).collect();
                let home = rename(&after, &back, DEFAULT).unwrap();
                assert_renamed(&before, &home, &IndexMap::new());
                // And where only what was asked for is asked back, the companions find home by themselves.
                if let Ok(back) = plan_rename(&after, &asked, DEFAULT) {
                    let all: IndexMap<String, String> = plan.renames.iter().map(|(o, n)| (n.clone(), o.clone())).collect();
                    for (new, old) in &back.renames {
                        prop_assert_eq!(all.get(new), Some(old));
                    }
                }
            }
        }
    }

    /// Bytes changed anywhere: refused or done, in bounded size, without a panic.
    #[test]
    fn corrupted_objects_are_refused_or_renamed(
        target in 0..TARGETS.len(),
        patches in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        header_patches in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(vec![0_u8, 1, 0x7f, 0x80, 0xff])), 0..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let (_, architecture, endianness) = TARGETS[target];
        let mut bytes = made::kernel(architecture, endianness);
        // Section headers stand at the end; a damaged one is worth more than a damaged instruction.
        let tail = bytes.len().saturating_sub(64 * 16);
        for (at, value) in patches {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        for (at, value) in header_patches {
            let at = tail + at.index(bytes.len() - tail);
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        try_everything(&bytes)?;
    }

    #[test]
    fn arbitrary_bytes_are_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..300), is_elf in any::<bool>()) {
        if is_elf {
            bytes.splice(0..0, *b"\x7fELF");
        }
        try_everything(&bytes)?;
    }
}

fn try_everything(bytes: &[u8]) -> Result<(), TestCaseError> {
    let map = crate::tools::map([("mv", "mv_k8192"), ("_Z3doti", "zero_2")]);
    let (plan, renamed) = (plan_rename(bytes, &map, DEFAULT), rename(bytes, &map, DEFAULT));
    match (&plan, &renamed) {
        (Ok(_), Ok(out)) => prop_assert!(out.len() >= bytes.len() && out.len() < 2 * bytes.len() + 8192),
        (Ok(_), Err(error)) => prop_assert!(false, "refused against the plan: {:?}", error),
        (Err(errors), Err(error)) => prop_assert_eq!(&errors[0], error),
        (Err(errors), Ok(_)) => prop_assert!(false, "refused only by the plan: {:?}", errors),
    }
    for error in plan.err().into_iter().flatten().chain(renamed.err()) {
        prop_assert!(!error.finding("k.o").headline.is_empty());
    }
    let _ = object_summary(bytes);
    let _ = manifest(bytes);
    let _ = undefined_symbols(bytes);
    let _ = exported_symbols(bytes);
    Ok(())
}
