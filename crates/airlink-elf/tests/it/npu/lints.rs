//! Each lint has a file that raises it, and a good file raises none.

use airlink_diag::Severity;
use airlink_elf::npu::{
    ControlWriter, DESCRIPTION_SCHEMA, DescribedArgument, Description, Direction, NpuElf, Relocation, Scheme, Section,
    SectionKind, describe, empty_pdi, lint, lint_stream, read_npu_elf, write_npu_elf,
};

use super::made::{CORE, copy_code, copy_kernel, elf_of, transfer, wait};
use crate::tools::shared;

/// Two copies of the empty configuration, loaded in turn: what a fused program of two launches looks like.
fn good() -> NpuElf {
    let mut code = copy_code(1);
    code.load_pdi(2).write(CORE, 2);
    code.transfer(&transfer(Direction::MM2S, 1, 0, 128)).transfer(&transfer(Direction::S2MM, 2, 0, 128)).sync(wait());
    elf_of(&code, &[&empty_pdi(), &empty_pdi()], 3)
}

fn said(elf: &NpuElf) -> Vec<String> {
    let text = |f: &airlink_diag::Finding| format!("{} {}", f.severity.as_str(), f.code);
    lint(elf, "x.elf").iter().map(text).collect()
}

fn code_mut(elf: &mut NpuElf) -> &mut Section {
    elf.kernels[0].instances[0].section_mut(SectionKind::ControlText).unwrap()
}

#[test]
fn a_good_file_raises_nothing() {
    assert_eq!(said(&good()), Vec::<String>::new());
    let mut sized = good();
    describe(&mut sized, &sizes(512));
    assert_eq!(said(&sized), Vec::<String>::new());
    let again = read_npu_elf(&write_npu_elf(&sized).unwrap()).unwrap();
    assert_eq!(said(&again), Vec::<String>::new());
}

#[test]
fn al0640_a_configuration_twice_in_a_row() {
    let mut code = copy_code(1);
    code.load_pdi(1).write(CORE, 2).load_pdi(2);
    assert_eq!(said(&elf_of(&code, &[&empty_pdi(), &empty_pdi()], 2)), ["warning AL0640"]);
}

#[test]
fn al0641_right_once_and_wrong_on_every_later_dispatch() {
    assert_eq!(said(&copy_kernel(1)), ["warning AL0641"]);
    let mut code = copy_code(1);
    code.load_pdi(2).load_pdi(1);
    assert_eq!(said(&elf_of(&code, &[&empty_pdi(), &empty_pdi()], 2)), ["warning AL0641"]);
}

#[test]
fn al0642_a_transfer_that_nothing_waits_for() {
    let two = [&empty_pdi()[..], &empty_pdi()];
    // In front of the next load; at the end; behind an earlier wait.
    let mut code = ControlWriter::npu2(8);
    code.load_pdi(1).transfer(&transfer(Direction::S2MM, 1, 0, 128)).load_pdi(2);
    assert_eq!(said(&elf_of(&code, &two, 2)), ["warning AL0642"]);
    let mut code = ControlWriter::npu2(8);
    code.load_pdi(1).load_pdi(2).transfer(&transfer(Direction::S2MM, 1, 0, 128));
    assert_eq!(said(&elf_of(&code, &two, 2)), ["warning AL0642"]);
    code.sync(wait()).transfer(&transfer(Direction::S2MM, 1, 0, 128));
    assert_eq!(said(&elf_of(&code, &two, 2)), ["warning AL0642"]);
    // A wait over several columns, and one for the channel's status, will do.
    for polls in [false, true] {
        let mut code = ControlWriter::npu2(8);
        let out = airlink_elf::npu::ShimTransfer { column: 2, ..transfer(Direction::S2MM, 1, 0, 128) };
        code.load_pdi(1).load_pdi(2).transfer(&out);
        match polls {
            true => code.mask_poll(2 << 25 | 0x1_d220, 0, 0x38_0000),
            false => code.sync(airlink_elf::npu::Sync { column_count: 4, ..wait() }),
        };
        assert_eq!(said(&elf_of(&code, &two, 2)), Vec::<String>::new(), "{polls}");
    }
    assert_eq!(lint_stream(&code.finish().unwrap(), "x.bin")[0].code.name(), "AL0642");
}

#[test]
fn al0643_a_relocation_that_the_loader_refuses() {
    let mut elf = good();
    let end = code_mut(&mut elf).bytes.len() as u32;
    code_mut(&mut elf).relocations[1].offset = end - 8;
    assert_eq!(said(&elf), ["error AL0643"]);
    let mut elf = good();
    code_mut(&mut elf).relocations[1].scheme = Scheme(11);
    assert_eq!(said(&elf), ["error AL0643"]);
    code_mut(&mut elf).relocations[1] = Relocation { offset: u32::MAX, ..code_mut(&mut elf).relocations[2].clone() };
    assert_eq!(said(&elf), ["error AL0643"]);
}

fn sizes(bytes: u64) -> Description {
    let argument = |index: usize| DescribedArgument {
        index,
        name: format!("b{index}"),
        ty: "memref<128xf32>".to_string(),
        shape: vec![Some(128)],
        role: "input".to_string(),
        bytes: Some(bytes),
    };
    Description {
        schema: DESCRIPTION_SCHEMA,
        name: "k".to_string(),
        graph: "g".to_string(),
        arguments: (0..3).map(argument).collect(),
        launches: Vec::new(),
        has_closing_reset: false,
    }
}

#[test]
fn al0644_a_transfer_outside_its_buffer() {
    let mut elf = good();
    describe(&mut elf, &sizes(508));
    // Transfers of 512 bytes; two are of one argument, which is said once.
    assert_eq!(said(&elf), vec!["error AL0644"; 3]);
    // Addresses that lose their last bits, whatever the size.
    let mut elf = good();
    code_mut(&mut elf).relocations[1].addend = 2;
    let all = said(&elf);
    assert!(all.contains(&"error AL0644".to_string()), "{all:?}");
}

#[test]
fn al0644_counts_strides_and_repeats() {
    let mut code = ControlWriter::npu2(8);
    // 4 rows of 8 words, 32 words apart, then twice with 200 words between: (200 + 3 * 32 + 8) * 4 = 1,216 bytes.
    let bd = [32, 0, 0, 8 << 20, 4 << 20 | 31, 0x0200_0000, 1 << 20 | 199, 0x0200_0000];
    code.load_pdi(1).block_write(0x1_d000, &bd).patch(0x1_d004, 0, 0).write(0x1_d214, 1 << 16).load_pdi(2);
    for (bytes, expected) in [(1216, vec![]), (1212, vec!["error AL0644"])] {
        let mut elf = elf_of(&code, &[&empty_pdi(), &empty_pdi()], 1);
        describe(&mut elf, &sizes(bytes));
        assert_eq!(said(&elf), expected, "{bytes}");
    }
}

#[test]
fn al0645_a_configuration_that_nothing_loads() {
    let mut elf = good();
    let dead = Section { name: ".pdi.3".to_string(), ..elf.common[0].clone() };
    elf.common.push(dead);
    assert_eq!(said(&elf), ["note AL0645"]);
}

#[test]
fn al0646_an_unknown_operation() {
    let mut elf = good();
    code_mut(&mut elf).bytes[16] = 0x42;
    assert_eq!(said(&elf), ["error AL0646"]);
    let mut code = copy_code(1).finish().unwrap();
    code[16] = 0x42;
    assert_eq!(lint_stream(&code, "x.bin")[0].code.name(), "AL0646");
}

#[test]
fn al0647_relocations_that_contradict_the_code() {
    let change: [fn(&mut Section); 5] = [
        |s| drop(s.relocations.pop()),
        |s| s.relocations[1].addend += 64,
        |s| s.relocations[1].symbol = "1".into(),
        |s| s.relocations[1].size += 4,
        // An address that is left in a descriptor.
        |s| s.bytes[s.relocations[1].offset as usize + 5] = 1,
    ];
    for (i, change) in change.into_iter().enumerate() {
        let mut elf = good();
        change(code_mut(&mut elf));
        assert_eq!(said(&elf), ["warning AL0647"], "change {i}");
    }
}

#[test]
fn al0648_an_identity_that_does_not_fit() {
    let mut bytes = write_npu_elf(&good()).unwrap();
    assert_eq!(said(&read_npu_elf(&bytes).unwrap()), Vec::<String>::new());
    let mark = bytes.windows(4).position(|w| w == CORE.to_le_bytes()).unwrap() + 8;
    bytes[mark] ^= 2;
    assert_eq!(said(&read_npu_elf(&bytes).unwrap()), ["warning AL0648"]);
}

#[test]
fn al0649_relocations_against_nothing() {
    for symbol in [".pdi.9", "3", "ifm", "control-packet", "ctrlpkt-pm-1"] {
        let mut elf = good();
        code_mut(&mut elf).relocations[0].symbol = symbol.into();
        let all = said(&elf);
        assert_eq!(all.iter().filter(|s| *s == "error AL0649").count(), 1, "{symbol}: {all:?}");
    }
}

#[test]
fn al0732_a_configuration_that_is_none() {
    let mut elf = good();
    elf.common[0].bytes[0x60] ^= 1;
    assert_eq!(said(&elf), ["warning AL0732"]);
}

#[test]
fn real_files_raise_what_is_known_of_them() {
    let Some(folder) = shared("npu/elf") else { return };
    let of = |name: &str| {
        let elf = read_npu_elf(&std::fs::read(folder.join(name)).unwrap()).unwrap();
        lint(&elf, name).into_iter().map(|f| f.code.name().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(of("linked_ab.elf"), Vec::<String>::new());
    // Three configurations, two of which are loaded.
    assert_eq!(of("full.elf"), ["AL0645"]);
    for single in ["ka.elf", "kb.elf"] {
        assert_eq!(of(single), ["AL0641", "AL0645"], "{single}");
    }
    let severe =
        ["54980cf2_17f0_10_preemption_memtile_4x4.elf", "5b92a10d_17f0_10_nop.elf", "4771afc9_17f0_10_df_bw.elf"];
    for name in severe {
        let elf = read_npu_elf(&std::fs::read(folder.join(name)).unwrap()).unwrap();
        let errors = lint(&elf, name).into_iter().filter(|f| f.severity == Severity::Error).collect::<Vec<_>>();
        assert_eq!(errors, [], "{name}");
    }
}
