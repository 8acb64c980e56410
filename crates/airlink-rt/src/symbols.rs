//! Which function of a host ELF an instruction lies in.

use object::{Object, ObjectSymbol, SymbolKind};
use std::ffi::c_void;

/// The functions of an ELF, by their addresses in the file. Kernels are no exported symbols, so that the loader does not
/// know them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Functions(Vec<(u64, String)>);

impl Functions {
    pub(crate) fn of(file: &[u8]) -> Functions {
        let Ok(file) = object::File::parse(file) else { return Functions::default() };
        let is_code = |s: &object::Symbol<'_, '_>| s.kind() == SymbolKind::Text && s.is_definition();
        let named = |s: object::Symbol<'_, '_>| Some((s.address(), s.name().ok()?.to_string()));
        let mut list: Vec<(u64, String)> = file.symbols().filter(is_code).filter_map(named).collect();
        list.sort();
        Functions(list)
    }

    /// The function at `instruction`, if the object that is loaded there is the one that holds `entry`.
    pub(crate) fn at(&self, instruction: u64, entry: *const c_void) -> Option<&str> {
        let base = base_of(instruction as *const c_void)?;
        if base_of(entry) != Some(base) {
            return None;
        }
        let offset = instruction - base as u64;
        let after = self.0.partition_point(|(start, _)| *start <= offset);
        self.0.get(after.checked_sub(1)?).map(|(_, name)| name.as_str())
    }
}

/// Where the object that holds an address is loaded.
fn base_of(address: *const c_void) -> Option<usize> {
    // SAFETY: zero is a valid Dl_info.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: looks an address up in the loaded objects; any address is allowed.
    let known = unsafe { libc::dladdr(address, &mut found) } != 0;
    known.then_some(found.dli_fbase as usize)
}
