//! Bytes as choices.

/// Hands out the bytes of an input one by one; zeros once they are used up, so that every input means something.
pub struct Choices<'b> {
    bytes: &'b [u8],
}

impl<'b> Choices<'b> {
    pub fn new(bytes: &'b [u8]) -> Choices<'b> {
        Choices { bytes }
    }

    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        *first
    }

    /// A number below `end`, which is above 0.
    pub fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        // Used-up input chooses the plain case.
        self.below(n) + 1 == n
    }

    pub fn pick<'t, T>(&mut self, list: &'t [T]) -> &'t T {
        &list[self.below(list.len())]
    }
}
