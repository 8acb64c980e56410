//! The object renamer on any bytes and maps.

use airlink_elf::{
    ObjectSummary, RenameOptions, RenamePlan, exported_symbols, file_kind, manifest, object_sections, object_summary,
    plan_rename, rename, undefined_symbols,
};
use indexmap::IndexMap;

use crate::Outcome;
use crate::choices::Choices;

/// The last bytes of an input choose the map; those before are the object.
pub const CHOICES_LEN: usize = 16;

const NEW_NAMES: &[&str] = &["mv_k8192", "a", "_ZZ1avE1x", "_Z3addi_2", "b", "row_2", "", "a\0b", "é"];

/// Renames symbols of an object: the plan and the rename agree, and what is renamed is the same object under the new
/// names, and itself again once they are taken back.
pub fn object_renamer(bytes: &[u8]) -> Outcome {
    let (object, choices) = bytes.split_at(bytes.len().saturating_sub(CHOICES_LEN));
    let mut choices = Choices::new(choices);
    let summary = object_summary(object);
    assert!(!file_kind(object).is_empty());
    let (sections, _, _, _) =
        (object_sections(object), manifest(object), undefined_symbols(object), exported_symbols(object));
    assert_eq!(summary.is_ok(), sections.is_ok(), "symbols read and sections not, or the other way round");
    let options = RenameOptions { references: choices.one_in(4) };
    let map = any_map(summary.as_ref().ok(), &mut choices);
    let (plan, renamed) = (plan_rename(object, &map, options), rename(object, &map, options));
    match (plan, renamed) {
        (Ok(plan), Ok(after)) => {
            let before = summary.expect("what is renamed can be read");
            check_renamed(object, &before, &after, &map, &plan, options);
            Outcome::Accepted
        }
        (Err(errors), Err(error)) => {
            assert_eq!(errors[0], error);
            for error in errors {
                assert!(!error.finding("k.o").headline.is_empty());
            }
            Outcome::Refused
        }
        (plan, renamed) => panic!("plan and rename differ: {plan:?}, {:?}", renamed.map(|b| b.len())),
    }
}

/// Old names mostly of the object, new names mostly free.
fn any_map(summary: Option<&ObjectSummary>, choices: &mut Choices<'_>) -> IndexMap<String, String> {
    let names: Vec<&str> = summary.map_or(&[][..], |s| &s.symbols).iter().map(|s| s.name.as_str()).collect();
    let mut map = IndexMap::new();
    for _ in 0..choices.below(4) {
        let old = match names.is_empty() || choices.one_in(8) {
            true => choices.pick(NEW_NAMES),
            false => *choices.pick(&names),
        };
        let new = match choices.below(4) {
            0 => format!("{old}_k8192"),
            1 if !names.is_empty() => choices.pick(&names).to_string(),
            _ => choices.pick(NEW_NAMES).to_string(),
        };
        map.insert(old.to_string(), new);
    }
    map
}

fn check_renamed(
    object: &[u8],
    before: &ObjectSummary,
    after: &[u8],
    map: &IndexMap<String, String>,
    plan: &RenamePlan,
    options: RenameOptions,
) {
    assert!(after.len() < 2 * object.len() + 8192, "{} bytes became {}", object.len(), after.len());
    if plan.renames.is_empty() {
        assert_eq!(object, after, "nothing is renamed, and the bytes differ");
    }
    // Once something is called like a static local or a guard, names no longer tell which of them belongs to what.
    let is_unclear = map.iter().any(|(old, new)| old != new && (new.starts_with("_ZZ") || new.starts_with("_ZG")));
    // A name that is no UTF-8 stands in no plan as it is.
    if is_unclear || before.symbols.iter().any(|s| s.name.contains('\u{fffd}')) {
        return;
    }
    let renamed = object_summary(after).unwrap_or_else(|e| panic!("unreadable after the rename: {e}"));
    assert_same_but_names(before, &renamed, &plan.renames, options);
    let mut back: IndexMap<String, String> = plan.renames.iter().map(|(o, n)| (n.clone(), o.clone())).collect();
    // `a → a` keeps a companion where it is; it must be kept on the way back as well.
    back.extend(map.iter().filter(|(o, n)| o == n).map(|(o, n)| (o.clone(), n.clone())));
    // A damaged object may have names twice over, and one of them keeps what another left: then it says so.
    let Ok(home) = rename(after, &back, options) else { return };
    let home = object_summary(&home).unwrap_or_else(|e| panic!("unreadable once taken back: {e}"));
    assert_same_but_names(before, &home, &IndexMap::new(), options);
}

fn assert_same_but_names(
    before: &ObjectSummary,
    after: &ObjectSummary,
    renames: &IndexMap<String, String>,
    options: RenameOptions,
) {
    let mut expected = before.clone();
    for symbol in &mut expected.symbols {
        let may_change = options.references || symbol.definition != airlink_elf::Definition::Undefined;
        if let Some(new) = renames.get(&symbol.name).filter(|_| may_change) {
            symbol.name = new.clone();
        }
    }
    // A damaged header may call the string table code or data, and that table grows.
    for (expected, found) in [
        (&mut expected.text_bytes, after.text_bytes),
        (&mut expected.data_bytes, after.data_bytes),
        (&mut expected.rodata_bytes, after.rodata_bytes),
        (&mut expected.bss_bytes, after.bss_bytes),
    ] {
        assert!(found >= *expected, "a section shrank");
        *expected = found;
    }
    assert_eq!(&expected, after, "more than names changed");
}
