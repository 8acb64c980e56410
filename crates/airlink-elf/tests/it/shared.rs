//! Real AIE objects, which lie outside the work tree.

use airlink_elf::{
    AieGeneration, FileType, Machine, ObjectQuery, RenameError, RenameOptions, find_object, object_summary,
    plan_rename, rename,
};
use camino::Utf8Path;
use indexmap::IndexMap;

use crate::readback::{assert_renamed, relocations};
use crate::tools::{map, shared};

const DEFAULT: RenameOptions = RenameOptions { references: false };

#[test]
fn aie_objects_are_renamed_there_and_back() {
    let Some(folder) = shared("npu/objects") else { return };
    let mut renamed = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let summary = object_summary(&bytes).unwrap();
        assert_eq!((summary.machine, summary.aie), (Machine::Aie, Some(AieGeneration::Aie2)), "{path:?}");
        assert_eq!(summary.class_bits, 32);
        let there: IndexMap<String, String> =
            summary.defined().map(|s| (s.name.clone(), format!("{}_k8192", s.name))).collect();
        if path.extension().is_none_or(|e| e != "o") {
            assert_eq!(summary.file_type, FileType::Executable);
            let refused = rename(&bytes, &there, DEFAULT).unwrap_err();
            assert_eq!(refused, RenameError::NotRelocatable { kind: "an executable (ET_EXEC)" }, "{path:?}");
            // Were they relocatable, their Chess tables would be in the way.
            let mut relocatable = bytes;
            relocatable[16] = 1;
            let refused = plan_rename(&relocatable, &there, DEFAULT).unwrap_err();
            assert!(matches!(refused[..], [RenameError::Chess { .. }]), "{refused:?}");
            continue;
        }
        assert_eq!(rename(&bytes, &map([]), DEFAULT).unwrap(), bytes);
        let away = rename(&bytes, &there, DEFAULT).unwrap();
        assert_renamed(&bytes, &away, &there);
        assert_eq!(relocations(&away).len(), relocations(&bytes).len());
        let back = there.iter().map(|(old, new)| (new.clone(), old.clone())).collect();
        assert_renamed(&bytes, &rename(&away, &back, DEFAULT).unwrap(), &map([]));
        renamed += 1;
    }
    assert_eq!(renamed, 2);
}

#[test]
fn an_aie_object_is_none_for_the_host() {
    let Some(folder) = shared("npu/objects") else { return };
    let folders = [Utf8Path::from_path(&folder).unwrap().to_owned()];
    let name = "triton_examples_silu_extern_func.o";
    let query = ObjectQuery { name, explicit: None, folders: &folders, machine: Machine::X86_64 };
    let search = find_object(&query).unwrap();
    assert!(search.found.is_none());
    assert!(search.passed_over[0].finding().headline.contains("it is an object for AIE2, not x86-64"));
    let found = find_object(&ObjectQuery { machine: Machine::Aie, ..query }).unwrap().found.expect("it fits");
    assert!(found.summary.defines("getExpBf16"));
    assert_eq!((found.summary.text_bytes, found.summary.data_bytes), (448, 4 * 1024 + 128));
}
