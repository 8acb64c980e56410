//! Small compiled kernels of our own.

use airlink_elf::npu::{
    Binding, ControlWriter, Direction, ElfAbi, FullParts, LinkOptions, LinkedLaunch, NpuElf, Omit, Part, ShimTransfer,
    Sync, empty_pdi, pack_full,
};

/// One transfer in and one out on column 0, of as many words.
pub fn transfer(direction: Direction, argument: u32, offset_bytes: u64, words: u32) -> ShimTransfer {
    let is_out = direction == Direction::S2MM;
    let bd = u32::from(is_out);
    ShimTransfer { column: 0, direction, channel: 0, bd, argument, offset_bytes, words, has_token: is_out }
}

pub fn wait() -> Sync {
    Sync { column: 0, row: 0, direction: 0, channel: 0, column_count: 1, row_count: 1 }
}

/// A core's control register, and a value to tell kernels apart.
pub const CORE: u32 = 2 << 20 | 0x3_2000;

/// Resets the array, configures it with `mark`, copies argument 0 to argument 1, and waits.
pub fn copy_code(mark: u32) -> ControlWriter {
    let mut code = ControlWriter::npu2(8);
    code.load_pdi(1).write(CORE, mark);
    code.transfer(&transfer(Direction::MM2S, 0, 0, 128)).transfer(&transfer(Direction::S2MM, 1, 0, 128)).sync(wait());
    code
}

pub fn elf_of(code: &ControlWriter, pdis: &[&[u8]], argument_count: usize) -> NpuElf {
    let code = code.finish().unwrap();
    pack_full(&FullParts { kernel: "main", instance: "k", argument_count, code: &code, pdis }).unwrap()
}

/// A kernel of [`copy_code`] with the empty configuration.
pub fn copy_kernel(mark: u32) -> NpuElf {
    elf_of(&copy_code(mark), &[&empty_pdi()], 2)
}

pub fn launch<'p>(name: &str, part: &'p Part, bindings: &[(u32, u64)]) -> LinkedLaunch<'p> {
    let bindings =
        bindings.iter().map(|(argument, offset_bytes)| Binding { argument: *argument, offset_bytes: *offset_bytes });
    LinkedLaunch { name: name.to_string(), part, bindings: bindings.collect() }
}

pub fn options(argument_count: usize) -> LinkOptions {
    LinkOptions { instance: "fused".to_string(), argument_count, abi: ElfAbi::V1_0, omit: Omit::default() }
}
