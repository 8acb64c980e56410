//! Inputs from seeds: bytes flipped, cut, doubled, spliced, and words put in.

/// SplitMix64: small, and the same on every machine.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn byte(&mut self) -> u8 {
        self.next() as u8
    }

    /// A number below `end`, which is above 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// One of the seeds after up to `edits_max` edits.
pub fn mutate(random: &mut Random, seeds: &[Vec<u8>], words: &[&[u8]], edits_max: usize) -> Vec<u8> {
    let mut bytes = seeds[random.below(seeds.len())].clone();
    for _ in 0..random.below(edits_max + 1) {
        edit(random, &mut bytes, seeds, words);
    }
    bytes
}

fn edit(random: &mut Random, bytes: &mut Vec<u8>, seeds: &[Vec<u8>], words: &[&[u8]]) {
    let at = random.below(bytes.len() + 1);
    let end = (at + random.below(16)).min(bytes.len());
    match random.below(9) {
        0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        1 if at < bytes.len() => bytes[at] = random.byte(),
        2 => drop(bytes.drain(at..end)),
        3 => {
            let doubled = bytes[at..end].to_vec();
            bytes.splice(at..at, doubled);
        }
        4 => drop(bytes.splice(at..at, words[random.below(words.len())].iter().copied())),
        5 | 6 => {
            // In place, so that offsets behind it stay right.
            let word = words[random.below(words.len())];
            let end = (at + word.len()).min(bytes.len());
            bytes[at..end].copy_from_slice(&word[..end - at]);
        }
        7 if random.below(4) == 0 => bytes.truncate(at),
        8 if random.below(4) == 0 => {
            let other = &seeds[random.below(seeds.len())];
            let from = random.below(other.len() + 1);
            bytes.truncate(at);
            bytes.extend_from_slice(&other[from..]);
        }
        _ => swap_lines(random, bytes),
    }
}

/// Moves a line elsewhere: in text an entry changes its table; in an object, bytes between two 0x0a move.
fn swap_lines(random: &mut Random, bytes: &mut Vec<u8>) {
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
    if lines.len() < 2 {
        return;
    }
    let line = lines.remove(random.below(lines.len()));
    lines.insert(random.below(lines.len() + 1), line);
    *bytes = lines.concat();
}
