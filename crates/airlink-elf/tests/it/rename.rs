//! The renamer on small objects: what changes and what stays, for every class and byte order.

use airlink_elf::{RenameOptions, plan_rename, rename};
use object::SymbolScope;

use crate::made::{self, Maker, TARGETS};
use crate::readback::{assert_renamed, names, relocations};
use crate::tools::map;

const DEFAULT: RenameOptions = RenameOptions { references: false };

#[test]
fn definitions_change_their_names_and_nothing_else_changes() {
    for &(target, architecture, endianness) in TARGETS {
        let before = made::kernel(architecture, endianness);
        let renames = map([
            ("mv", "mv_k8192"),
            ("zero", "z"),
            ("lut", "a_much_longer_name_for_the_table"),
            ("_Z3doti", "_Z3doti_2"),
            ("scratch", "scratch_2"),
            ("row", "row_2"),
            ("hook", "hook_2"),
        ]);
        let after = rename(&before, &renames, DEFAULT).unwrap_or_else(|e| panic!("{target}: {e}"));
        assert_renamed(&before, &after, &renames);
        let expected: Vec<String> = relocations(&before)
            .iter()
            .map(|r| {
                let mut parts: Vec<&str> = r.split(' ').collect();
                parts[1] = renames.get(parts[1]).map_or(parts[1], String::as_str);
                parts.join(" ")
            })
            .collect();
        assert_eq!(relocations(&after), expected, "{target}");
    }
}

#[test]
fn a_map_that_changes_nothing_gives_the_same_bytes() {
    for &(target, architecture, endianness) in TARGETS {
        let before = made::kernel(architecture, endianness);
        assert_eq!(rename(&before, &map([]), DEFAULT).unwrap(), before, "{target}");
        assert_eq!(rename(&before, &map([("mv", "mv"), ("row", "row")]), DEFAULT).unwrap(), before, "{target}");
    }
}

#[test]
fn renaming_back_restores_every_byte_but_the_string_table() {
    for &(target, architecture, endianness) in TARGETS {
        let before = made::kernel(architecture, endianness);
        let there = map([("mv", "x"), ("row", "row_9"), ("lut", "t")]);
        let back = map([("x", "mv"), ("row_9", "row"), ("t", "lut")]);
        let away = rename(&before, &there, DEFAULT).unwrap();
        let home = rename(&away, &back, DEFAULT).unwrap();
        // Nothing is renamed: only the string table's header and what follows the old file may differ.
        assert_renamed(&before, &home, &map([]));
        let again = rename(&home, &there, DEFAULT).unwrap();
        assert_eq!(again, away, "{target}: the table holds both names now and does not grow");
    }
}

/// Where a table holds one name twice, a search for it cannot know which one a symbol had.
#[test]
fn renaming_back_finds_the_old_place_among_equal_strings() {
    let mut maker = Maker::x86_64();
    maker.function("ab", SymbolScope::Dynamic, false);
    maker.function("cc", SymbolScope::Dynamic, false);
    let mut bytes = maker.write();
    // The table holds "ab" and "cc"; make the second a copy of the first, which nothing forbids, and let the symbol
    // `ab` use the copy.
    let at = bytes.windows(7).position(|w| w == b"\0ab\0cc\0" || w == b"\0cc\0ab\0").expect("both names in a row");
    bytes[at..at + 7].copy_from_slice(b"\0ab\0ab\0");
    let copy = rename(&bytes, &map([("ab", "ab")]), DEFAULT).unwrap();
    assert_eq!(copy, bytes);
    let away = rename(&bytes, &map([("ab", "x")]), DEFAULT).unwrap();
    assert_eq!(names(&away), ["x", "x"], "both symbols are called `ab`, at two places");
    let home = rename(&away, &map([("x", "ab")]), DEFAULT).unwrap();
    assert_renamed(&bytes, &home, &map([]));
}

#[test]
fn swaps_and_chains_are_one_step() {
    let before = made::kernel(TARGETS[0].1, TARGETS[0].2);
    let renames = map([("mv", "zero"), ("zero", "mv"), ("lut", "hook"), ("hook", "hook_2")]);
    let after = rename(&before, &renames, DEFAULT).unwrap();
    assert_renamed(&before, &after, &renames);
}

#[test]
fn references_keep_their_names_unless_asked_for() {
    let before = made::kernel(TARGETS[0].1, TARGETS[0].2);
    let renames = map([("mv", "mv_2"), ("memcpy", "my_memcpy")]);
    assert!(rename(&before, &renames, DEFAULT).is_err());
    let after = rename(&before, &renames, RenameOptions { references: true }).unwrap();
    let changed: Vec<String> = names(&after).into_iter().filter(|n| !names(&before).contains(n)).collect();
    assert_eq!(changed, ["mv_2", "my_memcpy"]);
    assert!(!names(&after).contains(&"memcpy".to_string()));
}

/// After a partial link a file may have a local definition and a reference to another file's function of that name.
#[test]
fn a_reference_beside_a_local_definition_keeps_its_name() {
    let mut maker = Maker::x86_64();
    maker.function("x", SymbolScope::Compilation, false);
    maker.undefined("x");
    let before = maker.write();
    let renames = map([("x", "y")]);
    let after = rename(&before, &renames, DEFAULT).unwrap();
    assert_renamed(&before, &after, &renames);
    assert_eq!(names(&after), ["y", "x"]);
}

#[test]
fn the_plan_tells_what_follows_and_what_stays_shared() {
    let mut maker = Maker::x86_64();
    let helper = maker.function("_Z6helperi", SymbolScope::Dynamic, true);
    let counter = maker.function("_ZZ6helperiE1s", SymbolScope::Dynamic, true);
    let guard = maker.function("_ZGVZ6helperiE1s", SymbolScope::Dynamic, true);
    let other = maker.function("_Z5otheri", SymbolScope::Dynamic, true);
    for symbol in [helper, counter, guard, other] {
        maker.group(symbol, &[symbol]);
    }
    maker.function("kern", SymbolScope::Dynamic, false);
    let bytes = maker.write();

    let plan = plan_rename(&bytes, &map([("kern", "kern_2"), ("_Z6helperi", "h")]), DEFAULT).unwrap();
    assert_eq!(
        plan.companions,
        map([("_ZZ6helperiE1s", "_ZZ6helperiE1s.h"), ("_ZGVZ6helperiE1s", "_ZGVZ6helperiE1s.h")])
    );
    assert_eq!(plan.renames.len(), 4);
    assert_eq!(plan.shared, ["_Z5otheri"]);
    let note = plan.shared_finding("k.o").expect("something is shared");
    assert_eq!(
        note.headline,
        "`_Z5otheri` of `k.o` keeps its name, so a linker merges it with equal names of other objects"
    );

    // Named in the map, a companion gets the name given, or keeps its own.
    let by_hand = map([("_Z6helperi", "h"), ("_ZZ6helperiE1s", "s2"), ("_ZGVZ6helperiE1s", "_ZGVZ6helperiE1s")]);
    let plan = plan_rename(&bytes, &by_hand, DEFAULT).unwrap();
    assert_eq!(plan.renames, map([("_Z6helperi", "h"), ("_ZZ6helperiE1s", "s2")]));
    assert_eq!(plan.companions, map([]));

    let nothing = plan_rename(&bytes, &map([]), DEFAULT).unwrap();
    assert_eq!((nothing.renames.len(), nothing.shared.len()), (0, 0));
}
