//! Renames all of 10,000 symbols of one object: median and fastest time, and how `llvm-objcopy` fares on the same file.

use std::process::Command;
use std::time::{Duration, Instant};

use airlink_elf::{RenameOptions, rename};
use indexmap::IndexMap;
use object::write::{Object, Relocation, StandardSection, Symbol, SymbolSection};
use object::{Architecture, BinaryFormat, Endianness, SymbolFlags, SymbolKind, SymbolScope};

const SYMBOL_COUNT: usize = 10_000;
const OBJCOPY: &str = "/usr/lib/llvm-22/bin/llvm-objcopy";

fn main() {
    let bytes = object();
    let names = (0..SYMBOL_COUNT).map(|i| (name(i), format!("{}_k8192", name(i))));
    let map: IndexMap<String, String> = names.collect();
    let ours = measure(31, || {
        let renamed = rename(&bytes, &map, RenameOptions::default()).expect("every name is defined");
        assert!(renamed.len() > bytes.len());
    });
    println!("airlink rename, {SYMBOL_COUNT} symbols in {} kB: {ours}", bytes.len() / 1000);
    match objcopy(&bytes, &map) {
        Some(theirs) => {
            let ratio = theirs.median.as_secs_f64() / ours.median.as_secs_f64();
            println!("llvm-objcopy --redefine-syms, as a process with its file: {theirs}, {ratio:.1} times as long");
        }
        None => println!("llvm-objcopy is not at {OBJCOPY}: nothing to compare with"),
    }
}

fn name(index: usize) -> String {
    format!("matvec_vectorized_bf16_bf16_{index}")
}

/// Functions of eight bytes that call each other, each with a relocation.
fn object() -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let text = object.section_id(StandardSection::Text);
    let mut previous = None;
    for index in 0..SYMBOL_COUNT {
        let at = object.append_section_data(text, &[0xe8, 0, 0, 0, 0, 0xc3, 0x90, 0x90], 8);
        let symbol = object.add_symbol(Symbol {
            name: name(index).into_bytes(),
            value: at,
            size: 8,
            kind: SymbolKind::Text,
            scope: SymbolScope::Dynamic,
            weak: false,
            section: SymbolSection::Section(text),
            flags: SymbolFlags::None,
        });
        let relocation = Relocation {
            offset: at + 1,
            symbol: previous.unwrap_or(symbol),
            addend: -4,
            flags: object::RelocationFlags::Generic {
                kind: object::RelocationKind::Relative,
                encoding: object::RelocationEncoding::X86Branch,
                size: 32,
            },
        };
        object.add_relocation(text, relocation).expect("a call is a known relocation");
        previous = Some(symbol);
    }
    object.write().expect("the object is well formed")
}

fn objcopy(bytes: &[u8], map: &IndexMap<String, String>) -> Option<Times> {
    if !std::path::Path::new(OBJCOPY).exists() {
        return None;
    }
    let dir = tempfile::tempdir().expect("a folder for temporary files");
    let [input, output, list] = ["in.o", "out.o", "map"].map(|f| dir.path().join(f));
    let lines: String = map.iter().map(|(old, new)| format!("{old} {new}\n")).collect();
    std::fs::write(&input, bytes).and_then(|()| std::fs::write(&list, lines)).expect("the folder is writable");
    Some(measure(11, || {
        let mut command = Command::new(OBJCOPY);
        command.arg(format!("--redefine-syms={}", list.display())).args([&input, &output]);
        assert!(command.status().expect("llvm-objcopy starts").success());
    }))
}

struct Times {
    median: Duration,
    fastest: Duration,
}

impl std::fmt::Display for Times {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        write!(f, "median {:.2} ms, fastest {:.2} ms", ms(self.median), ms(self.fastest))
    }
}

fn measure(runs: usize, mut run: impl FnMut()) -> Times {
    let mut times: Vec<Duration> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort();
    Times { median: times[runs / 2], fastest: times[0] }
}
