//! The tables that an ELF with channels holds, and the services that it asks for. `mlir/include/airlink/Host/Streams.h`
//! writes the same; a change here is a change there, and a new [`STREAM_ABI`].

use std::ffi::{CStr, c_char, c_void};

/// The version of everything in this file.
pub(crate) const STREAM_ABI: u64 = 2;

/// A channel.
#[repr(C)]
pub(crate) struct RawChannel {
    pub name: *const c_char,
    pub place: *const c_char,
    /// 0 stream, 1 packet, 2 cascade, 3 memory-mapped.
    pub kind: i64,
    pub rank: i64,
    /// Extents on the putting side.
    pub members: *const i64,
    /// Extents on the getting side.
    pub destinations: *const i64,
}

/// A put, a get or a copy in the program.
#[repr(C)]
pub(crate) struct RawSite {
    pub place: *const c_char,
    /// Null for a copy.
    pub channel: *const RawChannel,
    pub element_bytes: i64,
    /// Indices of a put or get; the rank of a copy's source.
    pub index_count: i64,
    pub rank: i64,
    pub flags: i64,
    /// Null, or the elements in front of each dimension and then those behind.
    pub padding: *const i64,
}

/// The put names the destination that gets its elements.
pub(crate) const HAS_DESTINATION: i64 = 1;
/// A memtile may repeat this get or put for ever.
pub(crate) const IS_RELAY: i64 = 2;
/// The put reads a constant of the ELF, within its bounds.
pub(crate) const IS_CONSTANT: i64 = 4;

/// A buffer of the outside that the tiles of a herd see.
#[repr(C)]
pub(crate) struct RawAccess {
    /// Its word in the frame.
    pub word: i64,
    /// From its first element; -1 if unknown.
    pub bytes: i64,
    /// 1 read, 2 written.
    pub usage: i64,
}

/// A buffer in a tile's scratch block.
#[repr(C)]
pub(crate) struct RawLocal {
    pub offset: i64,
    pub bytes: i64,
    pub text: *const c_char,
}

/// A herd in the program.
#[repr(C)]
pub(crate) struct RawHerd {
    pub name: *const c_char,
    pub place: *const c_char,
    /// Herds of one name are the same tiles; null for none.
    pub symbol: *const c_char,
    pub frame_words: i64,
    pub scratch_bytes: i64,
    pub access_count: i64,
    pub accesses: *const RawAccess,
    pub local_count: i64,
    pub locals: *const RawLocal,
    /// The order of its tiles by their row-major numbers: 0 none, all run at the same time; 1 ascending, 2 descending, each
    /// runs to its end before the next starts; 3 no herd but a task, whose runs have no order of their own.
    pub order: i64,
}

/// The order of what is no herd.
pub(crate) const IS_TASK: i64 = 3;

pub(crate) type TileFunction = unsafe extern "C" fn(*const i64, *mut c_void, i64, i64);

/// What an ELF gets when it is loaded.
#[repr(C)]
pub(crate) struct Services {
    pub version: u64,
    pub size_bytes: u64,
    pub begin: unsafe extern "C" fn(i64),
    pub end: unsafe extern "C" fn(),
    pub put: unsafe extern "C" fn(*const RawSite, usize, *const i64, *const i64, i64) -> i64,
    pub get: unsafe extern "C" fn(*const RawSite, usize, *const i64, *const i64, i64) -> i64,
    pub copy: unsafe extern "C" fn(*const RawSite, usize, *const i64, usize, *const i64, *const i64, i64) -> i64,
    pub herd: unsafe extern "C" fn(*const RawHerd, TileFunction, i64, i64, *const i64, *const i64, i64) -> i64,
    pub alloc: unsafe extern "C" fn(*const c_char, i64, i64, i64) -> usize,
    pub free: unsafe extern "C" fn(usize, *const i64, i64),
    pub join: unsafe extern "C" fn(*const i64, i64) -> i64,
    pub fence: unsafe extern "C" fn(*const i64, i64),
    pub settle: unsafe extern "C" fn(usize, i64),
    pub enter: unsafe extern "C" fn(*const i64, i64),
    pub leave: unsafe extern "C" fn() -> i64,
    pub touch: unsafe extern "C" fn(*const RawSite, usize, *const i64, i64),
    pub lend: unsafe extern "C" fn(*const RawSite, usize, *const i64) -> usize,
}

/// The words of an array in the ELF.
///
/// # Safety
/// `count` words must lie at `words` for as long as the result is used.
pub(crate) unsafe fn words<'a, T>(words: *const T, count: i64) -> &'a [T] {
    match usize::try_from(count) {
        // SAFETY: by the promise above.
        Ok(count) if count > 0 && !words.is_null() => unsafe { std::slice::from_raw_parts(words, count) },
        _ => &[],
    }
}

/// A text of the ELF; empty for null.
///
/// # Safety
/// `text` must be null or a C string.
pub(crate) unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: by the promise above.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
