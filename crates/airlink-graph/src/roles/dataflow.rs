//! What the reads and writes of one buffer make of it in each ELF.

use indexmap::IndexMap;

use crate::effects::Effect;
use crate::ranges::{Ranges, subtract};
use crate::{ByteRange, Role};

/// What one ELF does with the buffer.
#[derive(Default)]
struct Use {
    written: Ranges,
    is_written: bool,
    /// It reads bytes that it has not written before.
    needs_old: bool,
    /// What it writes is read outside of it, or by nobody.
    leaves_new: bool,
}

/// Bytes as last written by an ELF.
struct Pending {
    range: ByteRange,
    elf: Option<usize>,
    is_read: bool,
}

/// The role per ELF that touches the buffer. `elf_of_step` gives none for what runs outside of every ELF.
pub fn derive(effects: &[Effect], elf_of_step: impl Fn(usize) -> Option<usize>) -> IndexMap<usize, Role> {
    let mut uses: IndexMap<usize, Use> = IndexMap::new();
    let mut pending: Vec<Pending> = Vec::new();
    for effect in effects {
        let elf = elf_of_step(effect.step_index);
        let this = elf.map(|e| uses.entry(e).or_default());
        if effect.is_write {
            if let Some(this) = this {
                this.is_written = true;
                this.written.add(effect.range);
            }
            pending = overwrite(pending, effect.range, elf, &mut uses);
        } else {
            if let Some(this) = this {
                this.needs_old |= !this.written.missing(effect.range).is_empty();
            }
            for p in pending.iter_mut().filter(|p| p.range.overlaps(effect.range)) {
                p.is_read = true;
                // Read by the host or by another ELF.
                if let Some(writer) = p.elf.filter(|w| Some(*w) != elf) {
                    uses.entry(writer).or_default().leaves_new = true;
                }
            }
        }
    }
    for writer in pending.iter().filter(|p| !p.is_read).filter_map(|p| p.elf) {
        uses.entry(writer).or_default().leaves_new = true;
    }
    uses.into_iter().map(|(elf, u)| (elf, u.role())).collect()
}

/// Takes `range` out of `pending` and adds it as written by `elf`.
fn overwrite(
    pending: Vec<Pending>,
    range: ByteRange,
    elf: Option<usize>,
    uses: &mut IndexMap<usize, Use>,
) -> Vec<Pending> {
    let mut left = Vec::with_capacity(pending.len() + 1);
    for p in pending {
        // Overwritten from outside and never read: nobody but the host can have a use for it.
        let is_lost = p.range.overlaps(range) && !p.is_read && p.elf != elf;
        if let Some(writer) = p.elf.filter(|_| is_lost) {
            uses.entry(writer).or_default().leaves_new = true;
        }
        left.extend(subtract(p.range, range).map(|range| Pending { range, ..p }));
    }
    left.push(Pending { range, elf, is_read: false });
    left
}

impl Use {
    fn role(&self) -> Role {
        match (self.is_written, self.needs_old) {
            (true, true) => Role::Inout,
            (true, false) if self.leaves_new => Role::Output,
            (true, false) => Role::Intermediate,
            (false, _) => Role::Input,
        }
    }
}
