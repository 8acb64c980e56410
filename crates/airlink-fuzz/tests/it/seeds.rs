//! What mutations start from.

use std::path::{Path, PathBuf};

use object::write::{Comdat, Object, Relocation, StandardSection, Symbol, SymbolSection};
use object::{
    Architecture, BinaryFormat, ComdatKind, Endianness, RelocationEncoding, RelocationFlags, RelocationKind,
    SectionKind, SymbolFlags, SymbolKind, SymbolScope,
};

pub const TOML_WORDS: &[&[u8]] = &[
    b"[[launch]]\n",
    b"[[host]]\n",
    b"[[block]]\n",
    b"[[block.launch]]\n",
    b"[[view]]\n",
    b"[[buffer]]\n",
    b"[[elf]]\n",
    b"[graph]\n",
    b"[graph.compiler]\n",
    b"name = \"x\"\n",
    b"type = \"memref<4x?xf32, strided<[1], offset: ?>>\"\n",
    b"count = 3\n",
    b"role = \"dead\"\n",
    b"{i}",
    b"{i+1}",
    b"{i-1}",
    b"\"",
    b"'''",
    b"\"\"\"",
    b"[",
    b"]",
    b"{",
    b"}",
    b"=",
    b",",
    b".",
    b"#",
    b"\r\n",
    b"\t",
    b"\0",
    b"\xef\xbb\xbf",
    b"\xff",
    b"\\u0000",
    b"\\uD800",
    b"-1",
    b"1e9",
    b"nan",
    b"0x",
    b"18446744073709551615",
    b"9223372036854775808",
    b"1979-05-27",
    b"true",
    b"memref<",
    b"memref<0xf32>",
    b"{i+9223372036854775807}",
    b"\xc3\xa9",
    b"fuse = \"never\"\n",
    b"k_split = 70\n",
    b"row_split = 5\n",
    b"partition = \"auto\"\n",
    b"func = \"k\"\n",
    b"ref = { a = \"b\" }\n",
];

pub const OBJECT_WORDS: &[&[u8]] = &[
    b"\x7fELF",
    b"\0",
    b"\0\0\0\0",
    b"\xff\xff\xff\xff",
    b"\xff\xff\xff\xff\xff\xff\xff\xff",
    b"\0\0\0\0\0\0\0\x80",
    b"\x01\0\0\0",
    b"\x02\0\0\0",
    b"\x03\0\0\0",
    b"\x11\0\0\0",
    b"\x12\0\0\0",
    b"\x40\0\0\0\0\0\0\0",
    b"\xff\xf1",
    b"\xff\xff",
    b"mv\0",
    b"_ZZ2mvE1x\0",
    b"\x01",
    b"\x7f",
    b"\x80",
    b"\xff",
];

/// The graphs of the fixtures, good and bad.
pub fn graphs() -> Vec<Vec<u8>> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let good = entries(&fixtures.join("graphs")).into_iter().filter(|p| p.extension().is_some_and(|e| e == "toml"));
    let bad = entries(&fixtures.join("bad")).into_iter().map(|p| p.join("graph.toml")).filter(|p| p.is_file());
    let seeds: Vec<Vec<u8>> = good.chain(bad).map(|p| std::fs::read(p).expect("readable")).collect();
    assert!(seeds.len() > 10, "the fixtures are missing");
    seeds
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut list: Vec<_> = std::fs::read_dir(folder).expect("a folder").map(|e| e.expect("readable").path()).collect();
    list.sort();
    list
}

/// Objects of both classes and byte orders: functions in sections of their own, a local, a static local with its
/// guard, a weak one in a COMDAT group, a variable, an undefined symbol and a relocation.
pub fn objects() -> Vec<Vec<u8>> {
    let targets = [
        (Architecture::X86_64, Endianness::Little),
        (Architecture::I386, Endianness::Little),
        (Architecture::PowerPc, Endianness::Big),
        (Architecture::PowerPc64, Endianness::Big),
    ];
    targets.into_iter().map(|(architecture, endianness)| object(architecture, endianness)).collect()
}

fn object(architecture: Architecture, endianness: Endianness) -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, architecture, endianness);
    let mut add = |name: &str, section, kind, scope, weak| {
        let name = name.as_bytes().to_vec();
        object.add_symbol(Symbol { name, value: 0, size: 8, kind, scope, weak, section, flags: SymbolFlags::None })
    };
    let memcpy = add("memcpy", SymbolSection::Undefined, SymbolKind::Unknown, SymbolScope::Unknown, false);
    add("scratch", SymbolSection::Common, SymbolKind::Data, SymbolScope::Linkage, false);
    let functions = [
        ("row", SymbolScope::Compilation, false),
        ("mv", SymbolScope::Dynamic, false),
        ("_Z3addi", SymbolScope::Dynamic, true),
    ];
    for (name, scope, weak) in functions {
        let section = object.add_section(Vec::new(), format!(".text.{name}").into_bytes(), SectionKind::Text);
        object.append_section_data(section, &[0x90; 16], 16);
        let symbol = object.add_symbol(Symbol {
            name: name.as_bytes().to_vec(),
            value: 0,
            size: 16,
            kind: SymbolKind::Text,
            scope,
            weak,
            section: SymbolSection::Section(section),
            flags: SymbolFlags::None,
        });
        if weak {
            object.add_comdat(Comdat { kind: ComdatKind::Any, symbol, sections: vec![section] });
        }
        let (kind, encoding) = (RelocationKind::Absolute, RelocationEncoding::Generic);
        let flags = RelocationFlags::Generic { kind, encoding, size: 32 };
        object
            .add_relocation(section, Relocation { offset: 4, symbol: memcpy, addend: 0, flags })
            .expect("a relocation");
    }
    let section = object.section_id(StandardSection::Data);
    for name in ["_ZZ3addiE1x", "_ZGVZ3addiE1x", "table"] {
        let value = object.append_section_data(section, &[7; 8], 8);
        object.add_symbol(Symbol {
            name: name.as_bytes().to_vec(),
            value,
            size: 8,
            kind: SymbolKind::Data,
            scope: SymbolScope::Dynamic,
            weak: false,
            section: SymbolSection::Section(section),
            flags: SymbolFlags::None,
        });
    }
    object.write().expect("an object")
}
