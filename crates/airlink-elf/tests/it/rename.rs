//! The renamer on small objects: what changes, what stays, what is refused.

use airlink_elf::{RenameError, RenameOptions, plan_rename, rename};

use crate::tools::map;

#[test]
fn refuses_what_is_no_object_by_saying_what_it_is() {
    let say = |bytes: &[u8]| {
        let error = rename(bytes, &map([]), RenameOptions::default()).unwrap_err();
        assert!(matches!(error, RenameError::NotElf { .. }), "{error:?}");
        error.finding("k.o").headline
    };
    assert_eq!(say(b"!<arch>\nfoo"), "`k.o` cannot be renamed: it is a static library (ar archive)");
    assert_eq!(say(b"BC\xc0\xde1234"), "`k.o` cannot be renamed: it is LLVM bitcode");
    assert_eq!(say(b"\xcf\xfa\xed\xfe\x07\0\0\x01"), "`k.o` cannot be renamed: it is a Mach-O object");
    assert_eq!(say(b""), "`k.o` cannot be renamed: it is an empty file");
    assert_eq!(say(b"hello\n"), "`k.o` cannot be renamed: it is a text file");
    let errors = plan_rename(b"\x7fELF", &map([]), RenameOptions::default()).unwrap_err();
    assert!(matches!(errors[..], [RenameError::Malformed { .. }]), "{errors:?}");
}
