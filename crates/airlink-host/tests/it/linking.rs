//! Linkers and what they leave open.

use std::path::Path;

use airlink_diag::Findings;
use airlink_host::{HostOptions, KernelObject, Linker, build_module};
use airlink_ir::Ir;
use airlink_plan::ObjectIdx;
use airlink_rt::Role;

use crate::support::{Arg, manifest, parsed, said};

const TEXT: &str = "
  func.func private @scale(memref<16xf32, 2>) attributes {link_with = \"scale.o\"}
  func.func @f(%a: memref<16xf32>) {
    air.launch () in () args(%s=%a) : memref<16xf32> {
      air.segment args(%t=%s) : memref<16xf32> {
        %c1 = arith.constant 1 : index
        air.herd tile (%x, %y) in (%nx=%c1, %ny=%c1) args(%h=%t) : memref<16xf32> {
          %l1 = memref.alloc() : memref<16xf32, 2>
          func.call @scale(%l1) : (memref<16xf32, 2>) -> ()
        }
      }
    }
    return
  }";
const ARGS: [Arg; 1] = [("a", "memref<16xf32>", Role::Input)];

fn complaint(objects: &[&KernelObject], options: &HostOptions) -> String {
    let (ir, mut findings) = (Ir::new(), Findings::default());
    let module = parsed(&ir, TEXT, &mut findings);
    assert!(build_module(&ir, &module, manifest("f", &ARGS, 1), objects, options, &mut findings).is_err());
    said(&findings)
}

#[test]
fn a_missing_kernel_is_told_at_its_call() {
    assert_eq!(
        complaint(&[], &HostOptions::default()),
        "error AL0702 line 9: `f` needs `scale`, which nothing defines\n"
    );
}

#[test]
fn an_object_that_is_none_is_the_linkers_word() {
    let object = KernelObject {
        index: ObjectIdx(0),
        file: "scale.o".into(),
        bytes: b"not an object".into(),
        kernels: vec![],
        source: None,
    };
    let text = complaint(&[&object], &HostOptions::default());
    assert!(text.starts_with("error AL0804: `ld.lld` could not link the host ELF"), "{text}");
    assert!(text.contains("scale.o") && !text.contains("/tmp"), "{text}");
}

#[test]
fn a_linker_that_does_not_run() {
    let options = HostOptions { linker: Some("/nowhere/ld".into()), ..HostOptions::default() };
    let text = complaint(&[], &options);
    assert_eq!(text, "error AL0803: the linker `/nowhere/ld`, which AIRLINK_LD names, does not run\n");
}

#[test]
fn compiler_drivers_link_as_well() {
    let mut findings = Findings::default();
    let linker = Linker::find(Some(Path::new("cc")), &mut findings).unwrap();
    assert!(!linker.version().is_empty());
    let options = HostOptions { linker: Some("cc".into()), ..HostOptions::default() };
    assert_eq!(complaint(&[], &options), "error AL0702 line 9: `f` needs `scale`, which nothing defines\n");
}
