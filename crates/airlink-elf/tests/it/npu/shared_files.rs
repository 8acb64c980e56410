//! Real NPU files, which lie outside the work tree: read to the last byte, written back.

use std::path::{Path, PathBuf};

use airlink_elf::npu::{
    CdoCommand, ElfAbi, ExternalBuffers, Naming, NpuElf, OsAbi, SectionKind, cdo, control_code, control_packets,
    derive, empty_pdi, pack, pdi, read_npu_elf, uid, write_npu_elf,
};

use crate::tools::shared;

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut list: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    list.retain(|p| p.extension().is_some_and(|e| e == ending));
    list.sort();
    list
}

fn elfs() -> Option<Vec<(PathBuf, Vec<u8>, NpuElf)>> {
    let folder = shared("npu/elf")?;
    let read = |path: PathBuf| {
        let bytes = std::fs::read(&path).unwrap();
        let elf = read_npu_elf(&bytes).unwrap_or_else(|e| panic!("{path:?}: {e}"));
        (path, bytes, elf)
    };
    Some(files(&folder, "elf").into_iter().map(read).collect())
}

#[test]
fn every_elf_is_read_and_its_control_code_decodes_to_the_last_byte() {
    let Some(elfs) = elfs() else { return };
    assert_eq!(elfs.len(), 12);
    let mut op_count = 0;
    for (path, _, elf) in &elfs {
        // The one file of another family has control code of its own kind.
        assert_eq!(elf.os_abi != OsAbi::AIE2P, path.ends_with("baf35b77_1640_00_nop.elf"), "{path:?}");
        if elf.os_abi != OsAbi::AIE2P {
            continue;
        }
        for section in elf.sections().filter(|s| s.kind.is_control()) {
            let code = control_code(&section.bytes).unwrap_or_else(|e| panic!("{path:?} {}: {e}", section.name));
            op_count += code.all().unwrap_or_else(|e| panic!("{path:?} {}: {e}", section.name)).len();
        }
    }
    assert_eq!(op_count, 1947);
}

#[test]
fn what_is_read_is_written_byte_for_byte() {
    let Some(elfs) = elfs() else { return };
    let mut written = 0;
    for (path, bytes, elf) in &elfs {
        if elf.os_abi != OsAbi::AIE2P {
            assert!(write_npu_elf(elf).is_err());
            continue;
        }
        let ours = write_npu_elf(elf).unwrap_or_else(|e| panic!("{path:?}: {e}"));
        let first = ours.iter().zip(bytes).position(|(a, b)| a != b);
        assert_eq!(&ours, bytes, "{path:?} ABI {}: differs at {first:x?}", elf.abi);
        written += 1;
    }
    assert_eq!(written, 11);
}

#[test]
fn abi_1_0_and_2_1_differ_in_one_byte() {
    let Some(folder) = shared("npu/elf") else { return };
    let mut elf = read_npu_elf(&std::fs::read(folder.join("full.elf")).unwrap()).unwrap();
    assert_eq!(elf.abi, ElfAbi::V2_1);
    elf.abi = ElfAbi::V1_0;
    assert_eq!(write_npu_elf(&elf).unwrap(), std::fs::read(folder.join("full_abi10.elf")).unwrap());
}

#[test]
fn every_stream_decodes_to_the_last_byte() {
    let Some(folder) = shared("npu/txn") else { return };
    let mut streams = 0;
    for path in files(&folder, "bin") {
        let bytes = std::fs::read(&path).unwrap();
        if path.ends_with("ctrl_pkt0.bin") {
            assert!(control_code(&bytes).is_err(), "control packets are no control code");
            assert_eq!(control_packets(&bytes).unwrap().len(), 764);
            continue;
        }
        let code = control_code(&bytes).unwrap_or_else(|e| panic!("{path:?}: {e}"));
        assert_eq!(code.all().unwrap_or_else(|e| panic!("{path:?}: {e}")).len(), code.header.op_count as usize);
        streams += 1;
    }
    assert_eq!(streams, 6);
}

#[test]
fn every_pdi_and_cdo_decodes_to_the_last_byte_and_the_empty_one_is_ours() {
    let Some(folder) = shared("npu/pdi") else { return };
    for path in files(&folder, "pdi") {
        let bytes = std::fs::read(&path).unwrap();
        let image = pdi(&bytes).unwrap_or_else(|e| panic!("{path:?}: {e}"));
        assert_eq!((image.id_code, image.name.as_str()), (0x14ca_8093, "aie_image"), "{path:?}");
        assert_eq!(image.is_empty(), bytes.len() == 368, "{path:?}");
    }
    assert_eq!(empty_pdi(), std::fs::read(folder.join("empty.pdi")).unwrap());
    let cdos = files(&folder, "bin");
    assert_eq!(cdos.len(), 6);
    // What bootgen merges: the commands of all three files, but for how addresses and pads are spelled.
    let commands = |bytes: &[u8]| -> Vec<String> {
        let list = cdo(bytes).unwrap().into_iter().filter(|c| !matches!(c, CdoCommand::Nop { .. }));
        list.map(|c| format!("{c:x?}")).collect()
    };
    let parts = ["elfs", "init", "enable"].map(|part| folder.join(format!("small_aie_cdo_{part}.bin")));
    let parts: Vec<String> = parts.iter().flat_map(|p| commands(&std::fs::read(p).unwrap())).collect();
    let merged = std::fs::read(folder.join("small.pdi")).unwrap();
    assert_eq!(parts, commands(&merged[0x150..]));
    assert_eq!(parts.len(), 5);
}

/// The sum that AMD's assembler states for its own test of the older layout.
const GOLD_MD5: &str = "8bcab5baf77209dba2a124383324ac3c";

#[test]
fn the_older_layout_is_that_of_amds_assembler() {
    let Some(folder) = shared("npu/txn") else { return };
    let [code, packets, json] =
        ["ml_txn.bin", "ctrl_pkt0.bin", "external_buffer_id.json"].map(|f| std::fs::read(folder.join(f)).unwrap());
    let buffers: ExternalBuffers = serde_json::from_slice(&json).unwrap();
    let elf = pack(&code, Some(&packets), &buffers).unwrap();
    let bytes = write_npu_elf(&elf).unwrap();
    assert_eq!(md5(&bytes), GOLD_MD5);
    let again = read_npu_elf(&bytes).unwrap();
    assert_eq!(again.stated_uid, Some(uid(&elf)));
    assert_eq!(NpuElf { stated_uid: None, ..again }, elf);
}

fn md5(bytes: &[u8]) -> String {
    use md5::Digest as _;
    md5::Md5::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

#[test]
fn relocations_follow_from_the_control_code() {
    let Some(elfs) = elfs() else { return };
    let mut compared = 0;
    for (path, _, elf) in elfs.iter().filter(|(_, _, elf)| elf.os_abi == OsAbi::AIE2P) {
        for section in elf.sections().filter(|s| s.kind.is_control()) {
            let is_preemption = section.kind != SectionKind::ControlText;
            let naming = Naming {
                argument_base: elf.argument_base(),
                scratch: is_preemption.then(|| "scratch-pad-mem".into()),
                ..Naming::default()
            };
            let mut code = section.bytes.clone();
            let mut derived = derive(&mut code, &naming).unwrap_or_else(|e| panic!("{path:?} {}: {e}", section.name));
            // The assembler makes one size of all: that of the whole scratchpad.
            derived.iter_mut().filter(|_| is_preemption).for_each(|r| r.size = section.relocations[0].size);
            assert_eq!(derived, section.relocations, "{path:?} {}", section.name);
            assert_eq!(code, section.bytes, "{path:?} {}: an address is left where one is patched", section.name);
            compared += derived.len();
        }
    }
    assert_eq!(compared, 106);
}
