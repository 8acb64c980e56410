//! Seeded numbers for kernels.

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// bf16 numbers of ordinary size: exponents from 2^-7 to 2^0, either sign.
    pub fn ordinary(&mut self, n: usize) -> Vec<u16> {
        let one = |r: &mut Random| {
            let bits = (r.bits() >> 32) as u16;
            (bits & 0x807f) | ((0x78 + ((r.bits() >> 40) as u16 & 7)) << 7)
        };
        (0..n).map(|_| one(self)).collect()
    }

    /// Any bf16 pattern, with subnormals, infinities and NaN among them.
    pub fn patterns(&mut self, n: usize) -> Vec<u16> {
        (0..n).map(|_| (self.bits() >> 40) as u16).collect()
    }

    pub fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| (self.bits() >> 40) as u8).collect()
    }
}
