//! What mutations start from.

use std::path::{Path, PathBuf};

use airlink_elf::npu::{
    Binding, ControlWriter, DESCRIPTION_SCHEMA, Description, Direction, ElfAbi, ExternalBuffers, FullParts,
    LinkOptions, LinkedLaunch, Omit, Part, ShimTransfer, Sync, describe, empty_pdi, link, pack, pack_full,
    write_npu_elf,
};

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
    b"n_split = 2\n",
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

pub const NPU_WORDS: &[&[u8]] = &[
    b"\x7fELF\x01\x01\x01E\x10",
    b"\0\0\0\0",
    b"\xff\xff\xff\xff",
    b"\xfc\xff\xff\xff",
    b"\x10\0\0\0",
    b"\x18\0\0\0",
    b"\x20\0\0\0",
    b"\x11\0\0\0",
    b"\x08\0\x01\0",
    b"\x81\0\0\0",
    b"\x01\0\0\0",
    b"\x05\0\0\0",
    b"\x09\x01\0\0",
    b"\x0a\0\0\0",
    b"\x05\x01\xff\0",
    b"\x11\x01\0\0",
    b".pdi.1\0",
    b".ctrltext.0\0",
    b"control-packet\0",
    b"\x00\xd0\x01\x00",
    b"\x04\xd0\x01\x00",
    b"\x80",
    b"\x01",
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

/// Control code of every operation, of one kernel, and of none.
pub fn streams() -> Vec<Vec<u8>> {
    let wait = Sync { column: 0, row: 0, direction: 0, channel: 0, column_count: 1, row_count: 1 };
    let transfer = |direction, argument| ShimTransfer {
        column: 0,
        direction,
        channel: 0,
        bd: argument,
        argument,
        offset_bytes: 64,
        words: 32,
        has_token: true,
    };
    let mut kernel = ControlWriter::npu2(8);
    kernel.load_pdi(1).mask_write(0x23_2000, 2, 2).block_write(0x22_0000, &[1, 2, 3, 4]).write(0x23_2000, 1);
    kernel.transfer(&transfer(Direction::MM2S, 0)).transfer(&transfer(Direction::S2MM, 1)).sync(wait);
    let mut every = kernel.clone();
    every.create_scratchpad(64).update_state(1, 2).mask_poll(0x1_d220, 0, 1).noop().preempt(1);
    every.load_pm(1, 1).block_write(0x1_d000, &[8; 8]).load_pdi(2);
    // A memtile's descriptor: its length and its address.
    every.block_write(0x1a_0000, &[8; 8]).patch(0x1a_0000, 0, 0).patch(0x1a_0004, 1, 0);
    [kernel, every, ControlWriter::npu2(4)].iter().map(|c| c.finish().expect("it fits")).collect()
}

/// The older layout and the newer one; a fused ELF that describes itself.
pub fn npu_elfs() -> Vec<Vec<u8>> {
    let streams = streams();
    let empty = empty_pdi();
    let full = |code: &[u8]| {
        let parts = FullParts { kernel: "main", instance: "k", argument_count: 2, code, pdis: &[&empty, &empty] };
        pack_full(&parts).expect("its relocations follow")
    };
    let part = Part::of_elf(&full(&streams[0])).expect("a full ELF");
    let launch = |name: &str, first: u32| {
        let bindings =
            vec![Binding { argument: first, offset_bytes: 0 }, Binding { argument: first + 1, offset_bytes: 4 }];
        LinkedLaunch { name: name.to_string(), part: &part, bindings }
    };
    let (instance, abi, omit) = ("fused".to_string(), ElfAbi::V2_1, Omit::default());
    let options = LinkOptions { instance, argument_count: 3, abi, omit };
    let mut fused = link(&[launch("a", 0), launch("b", 1)], &options).expect("they fit").elf;
    let description = Description {
        schema: DESCRIPTION_SCHEMA,
        name: "fused".to_string(),
        graph: "g".to_string(),
        arguments: Vec::new(),
        launches: Vec::new(),
        has_closing_reset: false,
    };
    describe(&mut fused, &description);
    let older = pack(&streams[0], Some(&[0; 64]), &ExternalBuffers::default()).expect("it fits");
    [older, full(&streams[0]), full(&streams[2]), fused].iter().map(|e| write_npu_elf(e).expect("it fits")).collect()
}

/// The empty PDI and its CDO, and one of every command.
pub fn configurations() -> Vec<Vec<u8>> {
    let empty = empty_pdi();
    let body: [u32; 30] = [
        0x2_0103, 0x23_2000, 2, 0x3_0102, 0x23_2000, 1, 1, 0x4_0101, 1, 2, 3, 4, 0x3_0108, 0, 1, 2, 0x1_0111, 0,
        0x4_0105, 0, 0x22_0000, 7, 8, 0x4_0107, 0, 1, 2, 3, 0x0_0111, 0x0_0100,
    ];
    let header = [4, 0x004f_4443, 0x200, body.len() as u32];
    let checksum = !header.iter().sum::<u32>();
    let every = header.into_iter().chain([checksum]).chain(body).flat_map(u32::to_le_bytes).collect();
    vec![empty[0x150..].to_vec(), empty, every]
}
