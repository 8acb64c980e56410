//! A bounded run of the fuzz targets' bodies on stable Rust: the same inputs each time.

mod mutate;
mod seeds;

use std::time::Instant;

use airlink_fuzz::{CHOICES_LEN, Outcome, object_renamer, plan, toml_reader};

use mutate::{Random, mutate};

const TOML_ITERATIONS: usize = 20_000;
const OBJECT_ITERATIONS: usize = 20_000;
const PLAN_ITERATIONS: usize = 2_000;
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
