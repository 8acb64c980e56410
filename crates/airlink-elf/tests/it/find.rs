//! The search for the object behind a `link_with` name.

use airlink_diag::codes;
use airlink_elf::{FindError, Machine, ObjectQuery, ObjectSearch, Unfit, find_object};
use camino::{Utf8Path, Utf8PathBuf};
use object::{Architecture, Endianness};

use crate::made;

struct Folders {
    dir: tempfile::TempDir,
}

impl Folders {
    fn new() -> Folders {
        Folders { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> Utf8PathBuf {
        Utf8Path::from_path(self.dir.path()).unwrap().join(name)
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Utf8PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn search(&self, folders: &[&str], explicit: Option<&Utf8Path>) -> Result<ObjectSearch, FindError> {
        let folders: Vec<Utf8PathBuf> = folders.iter().map(|f| self.path(f)).collect();
        find_object(&ObjectQuery { name: "mv.o", explicit, folders: &folders, machine: Machine::X86_64 })
    }
}

fn x86() -> Vec<u8> {
    made::kernel(Architecture::X86_64, Endianness::Little)
}

fn aarch64() -> Vec<u8> {
    made::kernel(Architecture::Aarch64, Endianness::Little)
}

#[test]
fn the_first_fitting_object_is_taken_and_others_are_told() {
    let folders = Folders::new();
    folders.put("a/mv.o", &aarch64());
    folders.put("b/mv.o", b"BC\xc0\xde");
    std::fs::create_dir_all(folders.path("c/mv.o")).unwrap();
    let expected = folders.put("d/mv.o", &x86());
    folders.put("e/mv.o", &x86());
    let search = folders.search(&["nowhere", "a", "b", "a", "c", "d", "e"], None).unwrap();
    let found = search.found.expect("one fits");
    assert_eq!((&found.path, &found.bytes), (&expected, &x86()));
    assert_eq!(found.hash, blake3::hash(&x86()).to_string());
    assert!(found.summary.defines("mv"));

    let told: Vec<_> = search.passed_over.iter().map(|p| (p.path.clone(), p.unfit.clone())).collect();
    let bitcode = Unfit::NoObject { reason: "it is LLVM bitcode".into() };
    let other = Unfit::Machine { name: "AArch64".into(), machine: Machine::Aarch64 };
    assert_eq!(told, [(folders.path("a/mv.o"), other), (folders.path("b/mv.o"), bitcode)]);
    let note = search.passed_over[0].finding();
    assert_eq!((note.code, note.severity), (codes::AL0708, airlink_diag::Severity::Note));
    assert!(note.headline.ends_with("is passed over: it is an object for AArch64, not x86-64"), "{}", note.headline);
    let note = search.passed_over[1].finding();
    assert!(
        note.headline.ends_with("is passed over: it is LLVM bitcode, not an object for x86-64"),
        "{}",
        note.headline
    );
}

#[test]
fn no_object_is_no_error() {
    let folders = Folders::new();
    assert_eq!(folders.search(&[], None).unwrap(), ObjectSearch::default());
    folders.put("a/mv.o", &aarch64());
    let search = folders.search(&["a"], None).unwrap();
    assert_eq!((search.found, search.passed_over.len()), (None, 1));
    let query = ObjectQuery { name: "", explicit: None, folders: &[folders.path("a")], machine: Machine::X86_64 };
    assert_eq!(find_object(&query).unwrap(), ObjectSearch::default());
}

#[test]
fn a_file_named_by_the_user_is_taken_or_an_error() {
    let folders = Folders::new();
    folders.put("a/mv.o", &x86());
    let mine = folders.put("mine.o", &x86());
    let search = folders.search(&["a"], Some(&mine)).unwrap();
    assert_eq!(search.found.map(|f| f.path), Some(mine));

    let fail = |path: &Utf8Path| folders.search(&["a"], Some(path)).unwrap_err().finding();
    let finding = fail(&folders.put("arm.o", &aarch64()));
    assert_eq!(finding.code, codes::AL0709);
    assert_eq!((finding.found.as_deref(), finding.allowed.as_deref()), (Some("AArch64"), Some("x86-64")));

    let finding = fail(&folders.put("lib.a", b"!<arch>\n"));
    assert_eq!(finding.code, codes::AL0715);
    assert!(finding.headline.ends_with("is not a kernel object: it is a static library (ar archive)"));

    let mut executable = x86();
    executable[16] = 2;
    assert_eq!(fail(&folders.put("exe.o", &executable)).code, codes::AL0715);
    assert_eq!(fail(&folders.put("cut.o", &x86()[..80])).code, codes::AL0715);

    assert_eq!(fail(&folders.path("none.o")).code, codes::AL0801);
    assert_eq!(fail(&folders.path("a")).code, codes::AL0801, "a folder");
}
