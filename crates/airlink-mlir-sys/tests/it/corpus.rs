//! Every module of the shared corpus parses, and its print is stable.

use crate::support::{context as fresh, mlir_files, parse, print, shared};

#[test]
fn parses_and_prints_the_same_again() {
    let Some(shared) = shared() else { return };
    let mut failures = Vec::new();
    let mut count = 0;
    for directory in ["corpus/kernels", "corpus/extra", "corpus/fused", "corpus/odd", "placements/modules"] {
        for path in mlir_files(&shared.join(directory)) {
            let name = path.strip_prefix(&shared).unwrap().to_str().unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            // A context each: resource keys of one file must not rename those of another.
            let context = fresh();
            count += 1;
            match parse(&context, &text, name) {
                Err(report) => failures.push(report),
                Ok(module) => {
                    let printed = print(&module);
                    let other = fresh();
                    let again = parse(&other, &printed, name).map(|module| print(&module));
                    if again.as_ref() != Ok(&printed) {
                        failures.push(format!("{name}: the print of the print differs\n{again:?}"));
                    }
                }
            }
        }
    }
    eprintln!("{count} modules");
    assert!(failures.is_empty(), "{} of {count} modules:\n{}", failures.len(), failures.join("\n"));
    assert!(count > 0, "no modules below {}", shared.display());
}
