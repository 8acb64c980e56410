//! Links eight compiled kernels whose control code configures 32 cores each: time of each step, and memory.

use std::time::{Duration, Instant};

use airlink_elf::npu::{
    Binding, ControlWriter, Direction, ElfAbi, FullParts, LinkOptions, LinkedLaunch, NpuElf, Omit, Part, ShimTransfer,
    Sync, empty_pdi, link, pack_full, prove, read_npu_elf, write_npu_elf,
};

const KERNEL_COUNT: u32 = 8;
/// Columns and rows of cores, and the words of each one's program.
const COLUMNS: u32 = 8;
const CORE_ROWS: u32 = 4;
const PROGRAM_WORDS: u32 = 2048;

fn main() {
    let files: Vec<Vec<u8>> = (0..KERNEL_COUNT).map(|i| write_npu_elf(&kernel(i)).expect("it fits")).collect();
    let input_bytes: usize = files.iter().map(Vec::len).sum();
    let before = peak_kib();
    let mut times: Vec<[Duration; 4]> = Vec::new();
    for _ in 0..31 {
        let start = Instant::now();
        let elfs: Vec<NpuElf> = files.iter().map(|f| read_npu_elf(f).expect("an NPU ELF")).collect();
        let parts: Vec<Part> = elfs.iter().map(|e| Part::of_elf(e).expect("a full ELF")).collect();
        drop(elfs);
        let read = start.elapsed();
        let launches: Vec<LinkedLaunch<'_>> = parts.iter().enumerate().map(launch).collect();
        let argument_count = parts.len() + 1;
        let options =
            LinkOptions { instance: "fused".to_string(), argument_count, abi: ElfAbi::V1_0, omit: Omit::default() };
        let linked = link(&launches, &options).expect("the kernels fit");
        let link = start.elapsed();
        prove(&linked.elf, &launches).expect("the same operations");
        let prove = start.elapsed();
        let written = write_npu_elf(&linked.elf).expect("it fits");
        assert!(written.len() > input_bytes / 2);
        times.push([read, link, prove, start.elapsed()]);
    }
    let median = |i: usize| {
        let mut list: Vec<Duration> = times.iter().map(|t| t[i]).collect();
        list.sort();
        list[list.len() / 2].as_secs_f64() * 1e3
    };
    let [read, link, prove, all] = [0, 1, 2, 3].map(median);
    println!(
        "{KERNEL_COUNT} kernels of {} kB: {all:.2} ms (read {read:.2}, link {:.2}, prove {:.2}, write {:.2})",
        input_bytes / KERNEL_COUNT as usize / 1000,
        link - read,
        prove - link,
        all - prove,
    );
    if let (Some(before), Some(after)) = (before, peak_kib()) {
        let grown = (after - before) * 1024;
        println!("memory: {:.1} times the {} kB of the inputs", grown as f64 / input_bytes as f64, input_bytes / 1000);
    }
}

/// Resets, configures every core with a program of its own, moves one vector in and out.
fn kernel(number: u32) -> NpuElf {
    let mut code = ControlWriter::npu2(COLUMNS as u8);
    code.load_pdi(1);
    for (column, row) in (0..COLUMNS).flat_map(|c| (2..2 + CORE_ROWS).map(move |r| (c, r))) {
        let tile = column << 25 | row << 20;
        let program: Vec<u32> = (0..PROGRAM_WORDS).map(|w| w.wrapping_mul(0x9e37_79b9) ^ tile ^ number).collect();
        code.mask_write(tile | 0x3_2000, 2, 2).block_write(tile | 0x2_0000, &program);
        code.write(tile | 0x3_2000, 1);
    }
    for (direction, argument) in [(Direction::MM2S, 0), (Direction::S2MM, 1)] {
        let bd = argument;
        let has_token = direction == Direction::S2MM;
        code.transfer(&ShimTransfer {
            column: 0,
            direction,
            channel: 0,
            bd,
            argument,
            offset_bytes: 0,
            words: 2048,
            has_token,
        });
    }
    code.sync(Sync { column: 0, row: 0, direction: 0, channel: 0, column_count: 1, row_count: 1 });
    let code = code.finish().expect("it fits");
    let parts = FullParts { kernel: "main", instance: "k", argument_count: 2, code: &code, pdis: &[&empty_pdi()] };
    pack_full(&parts).expect("its relocations follow")
}

fn launch((position, part): (usize, &Part)) -> LinkedLaunch<'_> {
    let argument = |i: usize| Binding { argument: (position + i) as u32, offset_bytes: 0 };
    LinkedLaunch { name: format!("l{position}"), part, bindings: vec![argument(0), argument(1)] }
}

/// The most memory that this process ever held, as Linux counts it.
fn peak_kib() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
