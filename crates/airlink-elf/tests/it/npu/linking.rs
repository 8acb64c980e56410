//! Linking, and the proof that nothing is lost in it.

use airlink_elf::npu::{
    ControlWriter, Direction, LinkError, LinkOptions, Linked, LinkedLaunch, LoadCache, Naming, NpuElf, Omit, OpKind,
    Part, ProofError, SectionKind, argument_address, canonical, control_code, derive, empty_pdi, link, operations,
    prove, read_npu_elf, write_npu_elf,
};

use super::made::{CORE, copy_code, copy_kernel, elf_of, launch, options, transfer, wait};
use crate::tools::shared;

fn parts(marks: &[u32]) -> Vec<Part> {
    marks.iter().map(|m| Part::of_elf(&copy_kernel(*m)).unwrap()).collect()
}

/// A chain: each launch reads what the one before wrote.
fn chain(parts: &[Part]) -> Vec<LinkedLaunch<'_>> {
    parts.iter().enumerate().map(|(i, p)| launch(&format!("l{i}"), p, &[(i as u32, 0), (i as u32 + 1, 0)])).collect()
}

fn linked(launches: &[LinkedLaunch<'_>], options: &LinkOptions) -> Linked {
    let linked = link(launches, options).unwrap_or_else(|e| panic!("{e:?}"));
    // What is linked is what the file says.
    let again = read_npu_elf(&write_npu_elf(&linked.elf).unwrap()).unwrap();
    assert_eq!(NpuElf { stated_uid: None, ..again }, linked.elf);
    linked
}

fn load_ids(elf: &NpuElf) -> Vec<u16> {
    let section = elf.kernels[0].instances[0].section(SectionKind::ControlText).unwrap();
    let loads = control_code(&section.bytes).unwrap().all().unwrap().into_iter().filter_map(|o| match o.kind {
        OpKind::LoadPdi { id, .. } => Some(id),
        _ => None,
    });
    loads.collect()
}

#[test]
fn equal_configurations_alternate_and_the_last_load_is_not_the_first() {
    for (count, expected) in [(1, vec![1, 2]), (2, vec![1, 2]), (3, vec![1, 2, 1, 2]), (4, vec![1, 2, 1, 2])] {
        let parts = parts(&(0..count).collect::<Vec<_>>());
        let linked = linked(&chain(&parts), &options(count as usize + 1));
        assert_eq!(load_ids(&linked.elf), expected, "{count} launches");
        assert_eq!(linked.has_closing_reset, count % 2 == 1);
        assert_eq!(linked.elf.common.len(), 2);
        prove(&linked.elf, &chain(&parts)).unwrap();
    }
}

#[test]
fn the_proof_notices_what_the_linker_forgets() {
    let parts = parts(&[1, 2, 3]);
    let launches = chain(&parts);
    let whole = linked(&launches, &options(4)).elf;
    prove(&whole, &launches).unwrap();
    let with = |omit| LinkOptions { omit, ..options(4) };
    let without_alternation = link(&launches, &with(Omit { alternation: true, ..Omit::default() })).unwrap().elf;
    let said = prove(&without_alternation, &launches).unwrap_err().to_string();
    assert!(said.starts_with("launch 1 does: reset; the fused program: write core(0,2) core control"), "{said}");
    let without_closing = link(&launches, &with(Omit { closing_reset: true, ..Omit::default() })).unwrap().elf;
    let said = prove(&without_closing, &launches).unwrap_err().to_string();
    assert!(said.starts_with("when it is run again, launch 0 does: reset; the fused program: "), "{said}");
    // Each relocation counts.
    let count = code_of(&whole).relocations.len();
    assert_eq!(count, 4 + 3 * 2);
    for missing in 0..count {
        let mut elf = whole.clone();
        code_mut(&mut elf).relocations.remove(missing);
        assert!(prove(&elf, &launches).is_err(), "relocation {missing} is missing and the proof holds");
        let mut elf = whole.clone();
        let relocation = &mut code_mut(&mut elf).relocations[missing];
        relocation.symbol = if relocation.symbol.starts_with(".pdi") { "0" } else { "9" }.into();
        assert!(prove(&elf, &launches).is_err(), "relocation {missing} is against another symbol");
    }
}

#[test]
fn the_proof_notices_any_other_word() {
    let parts = parts(&[1, 2]);
    let launches = chain(&parts);
    let whole = linked(&launches, &options(3)).elf;
    let size = code_of(&whole).bytes.len();
    let mut unnoticed = Vec::new();
    for at in (16..size).step_by(4) {
        let mut elf = whole.clone();
        code_mut(&mut elf).bytes[at + 1] ^= 1;
        if prove(&elf, &launches).is_ok() {
            unnoticed.push(at);
        }
    }
    // Pads, ids and sizes that the loader and the firmware do not read, words that the loader overwrites, inert patches.
    let inert = |at: usize| {
        let code = code_of(&whole);
        let operation = control_code(&code.bytes).unwrap().all().unwrap();
        let operation = operation.iter().find(|o| (o.offset..o.offset + o.bytes.len()).contains(&at)).unwrap();
        match operation.kind {
            OpKind::Patch { .. } | OpKind::LoadPdi { .. } => true,
            OpKind::Write { .. } => [0, 4, 12].contains(&(at - operation.offset)),
            OpKind::BlockWrite { .. } => [0, 4].contains(&(at - operation.offset)),
            OpKind::Sync(_) => [0, 12].contains(&(at - operation.offset)),
            _ => false,
        }
    };
    unnoticed.retain(|at| !inert(*at));
    assert!(unnoticed.is_empty(), "{unnoticed:x?}");
}

fn code_of(elf: &NpuElf) -> &airlink_elf::npu::Section {
    elf.kernels[0].instances[0].section(SectionKind::ControlText).unwrap()
}

fn code_mut(elf: &mut NpuElf) -> &mut airlink_elf::npu::Section {
    elf.kernels[0].instances[0].section_mut(SectionKind::ControlText).unwrap()
}

#[test]
fn relocations_of_a_fused_elf_follow_from_its_code_again() {
    let parts = parts(&[1, 2, 3]);
    let launches: Vec<_> =
        parts.iter().enumerate().map(|(i, p)| launch("l", p, &[(0, 64 * i as u64), (i as u32 + 1, 4)])).collect();
    let elf = linked(&launches, &options(4)).elf;
    let code = code_of(&elf);
    let mut bytes = code.bytes.clone();
    assert_eq!(derive(&mut bytes, &Naming::default()).unwrap(), code.relocations);
    assert_eq!(bytes, code.bytes);
    assert_eq!(
        code.relocations.iter().filter(|r| &*r.symbol == "0").map(|r| r.addend).collect::<Vec<_>>(),
        [0, 64, 128]
    );
}

#[test]
fn an_offset_beyond_4_gib_is_written_into_the_descriptor() {
    let parts = parts(&[1]);
    let far = (5_u64 << 30) + 64;
    let launches = [launch("l", &parts[0], &[(0, far), (1, 0)])];
    let elf = linked(&launches, &options(2)).elf;
    let relocation = code_of(&elf).relocations.iter().find(|r| &*r.symbol == "0").unwrap();
    assert_eq!(relocation.addend, 0);
    prove(&elf, &launches).unwrap();
}

#[test]
fn a_reset_in_front_of_a_load_is_dropped() {
    let mut closing = copy_code(1);
    closing.load_pdi(2);
    let first = Part::of_elf(&elf_of(&closing, &[&empty_pdi(), &empty_pdi()], 2)).unwrap();
    let second = Part::of_elf(&copy_kernel(2)).unwrap();
    let launches = [launch("a", &first, &[(0, 0), (1, 0)]), launch("b", &second, &[(1, 0), (2, 0)])];
    let linked = linked(&launches, &options(3));
    assert_eq!(load_ids(&linked.elf), [1, 2]);
    prove(&linked.elf, &launches).unwrap();
    assert_eq!(linked.ranges[0].end, linked.ranges[1].start);
    assert_eq!(linked.ranges[1].end as usize, code_of(&linked.elf).bytes.len());
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let part = |code: &ControlWriter| Part::of_elf(&elf_of(code, &[&empty_pdi()], 2)).unwrap();
    let good = part(&copy_code(1));
    let mut narrow = ControlWriter::npu2(4);
    narrow.load_pdi(1);
    let mut late = ControlWriter::npu2(8);
    late.write(CORE, 1).load_pdi(1);
    let mut never = ControlWriter::npu2(8);
    never.noop();
    let mut stateful = copy_code(1);
    stateful.create_scratchpad(64).update_state(0, 1);
    let mut larger = copy_code(1);
    larger.create_scratchpad(128);
    let mut preemptible = copy_code(1);
    preemptible.preempt(1);
    let two: &[(u32, u64)] = &[(0, 0), (1, 0)];
    let stateful = part(&stateful);
    let cases: [(&Part, Part, &[(u32, u64)], LinkError); 8] = [
        (&good, part(&narrow), two, LinkError::Header { launch: 1 }),
        (&good, part(&late), two, LinkError::NoReset { launch: 1 }),
        (&good, part(&never), two, LinkError::NoReset { launch: 1 }),
        (&good, good.clone(), &two[..1], LinkError::ArgumentCount { launch: 1, taken: 2, given: 1 }),
        (&good, good.clone(), &[(0, 2), (1, 0)], LinkError::Offset { launch: 1, argument: 0, offset_bytes: 2 }),
        (&stateful, stateful.clone(), two, LinkError::State { launch: 1, first: 0 }),
        (&stateful, part(&larger), two, LinkError::Scratchpad { launch: 1, bytes: 128, first: 0, first_bytes: 64 }),
        (&good, part(&preemptible), two, LinkError::NoPreemption { launch: 1 }),
    ];
    for (first, second, bindings, expected) in cases {
        let launches = [launch("a", first, two), launch("b", &second, bindings)];
        assert_eq!(link(&launches, &options(2)).unwrap_err(), [expected]);
    }
    assert_eq!(link(&[], &options(0)).unwrap_err(), [LinkError::Nothing]);
}

#[test]
fn a_stream_and_its_configuration_are_a_part() {
    // As for an xclbin: no load, and the aperture folded into what lies above argument 4.
    let mut code = ControlWriter::npu2(8);
    code.write(CORE, 7).transfer(&transfer(Direction::MM2S, 0, 0, 128));
    code.transfer(&transfer(Direction::S2MM, 5, 0x8000_0000 + 16, 128)).sync(wait());
    let part = Part::of_stream(&code.finish().unwrap(), &empty_pdi()).unwrap();
    assert_eq!(part.argument_count, 6);
    let addends: Vec<_> = part.code.relocations.iter().map(|r| (&*r.symbol, r.addend)).collect();
    assert_eq!(addends, [(".pdi.1", 0), ("0", 0), ("5", 16)]);
    let bindings: Vec<(u32, u64)> = (0..6).map(|i| (i, 0)).collect();
    let launches = [launch("a", &part, &bindings), launch("b", &part, &bindings)];
    let linked = linked(&launches, &options(6));
    prove(&linked.elf, &launches).unwrap();
    assert_eq!(load_ids(&linked.elf), [1, 2]);
    assert!(Part::of_stream(&copy_code(1).finish().unwrap(), &empty_pdi()).is_err(), "it loads a configuration itself");
}

#[test]
fn a_partial_elf_and_its_configuration_are_a_part() {
    let Some(folder) = shared("npu/elf") else { return };
    let elf = read_npu_elf(&std::fs::read(folder.join("4771afc9_17f0_10_df_bw.elf")).unwrap()).unwrap();
    assert!(Part::of_elf(&elf).is_err());
    let part = Part::of_partial_elf(&elf, &empty_pdi()).unwrap();
    assert_eq!(part.argument_count, 3);
    let bindings: Vec<(u32, u64)> = (0..3).map(|i| (i, 0)).collect();
    let launches = [launch("a", &part, &bindings), launch("b", &part, &bindings)];
    prove(&linked(&launches, &options(3)).elf, &launches).unwrap();
}

#[test]
fn ka_and_kb_give_the_operations_of_linked_ab() {
    let Some(folder) = shared("npu/elf") else { return };
    let read = |name: &str| read_npu_elf(&std::fs::read(folder.join(name)).unwrap()).unwrap();
    let parts = ["ka.elf", "kb.elf"].map(|f| Part::of_elf(&read(f)).unwrap());
    // Both take three arguments and use two.
    let launches =
        [launch("a", &parts[0], &[(0, 0), (1, 0), (2, 0)]), launch("b", &parts[1], &[(1, 0), (2, 0), (2, 0)])];
    let ours = linked(&launches, &options(3));
    prove(&ours.elf, &launches).unwrap();
    // Theirs passes the same proof, and does the same operation by operation.
    let theirs = read("linked_ab.elf");
    prove(&theirs, &launches).unwrap();
    let operations = |elf: &NpuElf| {
        let part = Part::of_elf(elf).unwrap();
        let (pdis, pm_packets) = (&part.pdis, &part.pm_packets);
        let program = airlink_elf::npu::Program { code: &part.code, data: None, pdis, pm_packets };
        let list = operations(program, |n| Some(argument_address(n)), &mut LoadCache::default()).unwrap();
        canonical(list).into_iter().map(|o| o.kind).collect::<Vec<_>>()
    };
    assert_eq!(operations(&ours.elf), operations(&theirs));
    // Here they may differ: which number a configuration has, and in what order they stand.
    let sizes = |elf: &NpuElf| elf.common.iter().map(|s| s.bytes.len()).collect::<Vec<_>>();
    assert_eq!(sizes(&ours.elf), sizes(&theirs));
    assert_eq!(code_of(&ours.elf).bytes.len(), code_of(&theirs).bytes.len());
    // With the arguments wired otherwise, it is another program.
    let other = [launch("a", &parts[0], &[(0, 0), (1, 0), (2, 0)]), launch("b", &parts[1], &[(2, 0), (1, 0), (2, 0)])];
    assert!(matches!(prove(&theirs, &other), Err(ProofError::Differs(_))));
}

#[test]
fn other_readers_see_the_same_file() {
    let parts = parts(&[1, 2]);
    let elf = linked(&chain(&parts), &options(3)).elf;
    let bytes = write_npu_elf(&elf).unwrap();
    let read = goblin::elf::Elf::parse(&bytes).unwrap();
    let name = |s: &goblin::elf::SectionHeader| read.shdr_strtab.get_at(s.sh_name).unwrap_or_default().to_string();
    let names: Vec<String> = read.section_headers.iter().map(name).collect();
    let expected = [
        "",
        ".shstrtab",
        ".strtab",
        ".symtab",
        ".pdi.1",
        ".pdi.2",
        ".ctrltext.0",
        ".dynstr",
        ".dynsym",
        ".rela.dyn",
        ".dynamic",
        ".group.0",
        ".note.xrt.configuration",
        ".note.xrt.UID",
    ];
    assert_eq!(names, expected);
    let text = read.section_headers[6].file_range().unwrap();
    assert_eq!(bytes[text], code_of(&elf).bytes);
    let symbols: Vec<&str> = read.syms.iter().filter_map(|s| read.strtab.get_at(s.st_name)).collect();
    assert_eq!(symbols, ["", "_Z4mainPcPcPc", "fused"]);
    if !crate::tools::have("readelf") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = crate::tools::write(folder.path(), "fused.elf", &bytes);
    let output = std::process::Command::new("readelf").arg("-aW").arg(path).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    // It minds that the program headers are in no loaded segment, as it does in AMD's files.
    for part in
        ["COMDAT group section [   11] `.group.0' [fused] contains 1 sections", "contains 6 entries", ".pdi.2 + 0"]
    {
        assert!(text.contains(part), "`{part}` is missing in\n{text}");
    }
}
