//! Little-endian fields of byte strings whose lengths nobody vouches for.

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let field = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_le_bytes([field[0], field[1]]))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let field = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes([field[0], field[1], field[2], field[3]]))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from(u32_at(bytes, at)?) | u64::from(u32_at(bytes, at.checked_add(4)?)?) << 32)
}

/// Overwrites a field; none, and nothing written, where it does not lie in `bytes`.
pub(crate) fn put_u16(bytes: &mut [u8], at: usize, value: u16) -> Option<()> {
    bytes.get_mut(at..at.checked_add(2)?)?.copy_from_slice(&value.to_le_bytes());
    Some(())
}

/// As [`put_u16`], for a word.
pub(crate) fn put_u32(bytes: &mut [u8], at: usize, value: u32) -> Option<()> {
    bytes.get_mut(at..at.checked_add(4)?)?.copy_from_slice(&value.to_le_bytes());
    Some(())
}

/// The words of a byte string; a rest of one to three bytes is left out.
pub(crate) fn words(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]))
}

/// `value` rounded up to a multiple of `alignment`; none if that overflows. An alignment of 0 counts as 1.
pub(crate) fn align_up(value: usize, alignment: usize) -> Option<usize> {
    value.checked_next_multiple_of(alignment.max(1))
}
