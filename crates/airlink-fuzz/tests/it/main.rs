//! A bounded run of the fuzz targets' bodies on stable Rust: the same inputs each time.

mod mutate;
mod seeds;

use std::time::Instant;

use airlink_fuzz::{CHOICES_LEN, Outcome, configuration, control, npu_elf, object_renamer, plan, toml_reader};

use mutate::{Random, mutate};

const TOML_ITERATIONS: usize = 20_000;
const OBJECT_ITERATIONS: usize = 20_000;
const PLAN_ITERATIONS: usize = 2_000;
const NPU_ITERATIONS: usize = 20_000;
/// Bytes of choices for a plan.
const PLAN_LEN: usize = 192;

#[test]
fn the_toml_reader_on_mutated_graphs() {
    let seeds = seeds::graphs();
    for seed in &seeds {
        toml_reader(seed);
    }
    run("toml_reader", TOML_ITERATIONS, toml_reader, |random| mutate(random, &seeds, seeds::TOML_WORDS, 4));
}

#[test]
fn the_object_renamer_on_mutated_objects() {
    let seeds = seeds::objects();
    run("object_renamer", OBJECT_ITERATIONS, object_renamer, |random| {
        let mut bytes = mutate(random, &seeds, seeds::OBJECT_WORDS, 3);
        bytes.extend((0..CHOICES_LEN).map(|_| random.byte()));
        bytes
    });
}

#[test]
fn the_plan_of_made_up_graphs() {
    run("plan", PLAN_ITERATIONS, plan, |random| (0..PLAN_LEN).map(|_| random.byte()).collect());
}

#[test]
fn the_npu_elf_reader_on_mutated_elfs() {
    let seeds = seeds::npu_elfs();
    run("npu_elf", NPU_ITERATIONS, npu_elf, |random| mutate(random, &seeds, seeds::NPU_WORDS, 3));
}

#[test]
fn the_control_code_reader_on_mutated_streams() {
    let seeds = seeds::streams();
    run("control", NPU_ITERATIONS, control, |random| mutate(random, &seeds, seeds::NPU_WORDS, 3));
}

#[test]
fn the_configuration_reader_on_mutated_pdis_and_cdos() {
    let seeds = seeds::configurations();
    run("configuration", NPU_ITERATIONS, configuration, |random| mutate(random, &seeds, seeds::NPU_WORDS, 3));
}

/// Tries `iterations` inputs. What panics is printed in full, to become a regression test of the crate at fault.
fn run(name: &str, iterations: usize, target: fn(&[u8]) -> Outcome, mut make: impl FnMut(&mut Random) -> Vec<u8>) {
    let start = Instant::now();
    let mut random = Random::new(seed(name));
    let mut accepted_count = 0;
    for i in 0..iterations {
        let input = make(&mut random);
        match std::panic::catch_unwind(|| target(&input)) {
            Ok(outcome) => accepted_count += usize::from(outcome == Outcome::Accepted),
            Err(panic) => {
                eprintln!("{name}: input {i} panics: b\"{}\"", input.escape_ascii());
                std::panic::resume_unwind(panic);
            }
        }
    }
    println!("{name}: {iterations} inputs, {accepted_count} accepted, {:.1} s", start.elapsed().as_secs_f64());
    // A run that gets nothing through, or everything, tries less than it says.
    assert!(
        accepted_count * 50 > iterations && accepted_count < iterations,
        "{accepted_count} of {iterations} accepted"
    );
}

fn seed(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}
