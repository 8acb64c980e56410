//! What can go wrong in a call, in words that name launches and buffers.

use std::ffi::{CStr, c_void};
use std::fmt;
use std::io;

use crate::buffer::{BufferSet, Place, Protection};
use crate::local::LocalDamage;
use crate::stream::StreamFault;
use crate::trap::{Access, RawFault};
use crate::{Manifest, Role};

/// A call that did not return 0.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error("{found} arguments for a program that takes {allowed}")]
    ArgumentCount { found: usize, allowed: usize },
    #[error("argument `{name}` has {found} bytes, the program needs {allowed}")]
    ArgumentSize { name: String, found: u64, allowed: u64 },
    #[error("launch {index} of a program with {count} launches")]
    NoLaunch { index: usize, count: usize },
    #[error("no stack for the call: {0}")]
    Stack(io::Error),
    /// `launch` is `None` where the whole program was called and the machine cannot tell which launch ran: calling
    /// launch by launch can. `function` is the kernel that ran, where the machine can tell.
    #[error("{}{} {fault}", Who(launch), In(function))]
    Fault { launch: Option<LaunchName>, function: Option<String>, fault: Fault },
    /// A launch with channels that cannot go on.
    #[error("{} {fault}", Who(launch))]
    Stream { launch: Option<LaunchName>, fault: StreamFault },
    #[error("{} returned error code {code}", Who(launch))]
    Code { launch: Option<LaunchName>, code: i32 },
}

/// A launch by index and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchName {
    pub index: usize,
    pub name: String,
}

/// What the code of an ELF did that ended it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An access to memory that may not be touched, or not like this.
    Memory {
        access: Access,
        /// `None` for an address that no memory can have (non-canonical).
        address: Option<u64>,
        place: Place,
    },
    /// The call went on to its end, but bytes next to a buffer are not what they were.
    MarginWritten {
        place: Place,
        count_bytes: u64,
    },
    /// Bytes next to an L1 or L2 buffer are not what they were.
    Local(LocalDamage),
    StackOverflow {
        stack_bytes: u64,
    },
    /// An integer division by zero, or one that overflows.
    Arithmetic,
    IllegalInstruction,
    /// The instruction that compilers put where code gives up: `__builtin_trap`, unreachable code, a sanitizer's check.
    Trap,
}

impl Fault {
    pub(super) fn from_raw(raw: &RawFault, buffers: &BufferSet) -> Fault {
        if let Some(stack_bytes) = raw.overflowed_bytes {
            return Fault::StackOverflow { stack_bytes: stack_bytes as u64 };
        }
        match raw.signal {
            libc::SIGFPE => Fault::Arithmetic,
            libc::SIGILL if is_trap(raw.instruction) => Fault::Trap,
            libc::SIGILL => Fault::IllegalInstruction,
            _ => Fault::Memory {
                access: raw.access,
                address: raw.address,
                place: raw.address.map_or(Place::Elsewhere, |a| buffers.locate(a)),
            },
        }
    }
}

/// Whether the instruction that was refused is the one that exists to be refused.
fn is_trap(instruction: u64) -> bool {
    // x86-64: `ud2` and the `ud1` of sanitizers. Source: Intel SDM volume 2, UD.
    const TRAPS: [[u8; 2]; 2] = [[0x0f, 0x0b], [0x0f, 0xb9]];
    if cfg!(not(target_arch = "x86_64")) {
        return false;
    }
    // A sanitizer's has a prefix in front.
    // SAFETY: the CPU has just fetched these bytes, so they are there and readable.
    let bytes = unsafe { (instruction as *const [u8; 3]).read_unaligned() };
    TRAPS.iter().any(|t| bytes.starts_with(t) || bytes[1..] == *t)
}

/// The launch whose entry holds an instruction. Code that a launch calls or that was inlined elsewhere has none.
pub(super) fn launch_of(manifest: &Manifest, instruction: u64) -> Option<usize> {
    // SAFETY: zero is a valid Dl_info.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: looks an address up in the loaded objects; any address is allowed.
    let known = unsafe { libc::dladdr(instruction as *const c_void, &mut found) } != 0;
    if !known || found.dli_sname.is_null() {
        return None;
    }
    // SAFETY: dladdr points to a string in the loaded object, which stays open during the call.
    let symbol = unsafe { CStr::from_ptr(found.dli_sname) }.to_str().ok()?;
    manifest.launches.iter().position(|l| l.entry == symbol)
}

struct Who<'a>(&'a Option<LaunchName>);

impl fmt::Display for Who<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(l) => write!(f, "launch {} `{}`", l.index, l.name),
            None => f.write_str("the program"),
        }
    }
}

struct In<'a>(&'a Option<String>);

impl fmt::Display for In<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(name) => write!(f, ", in `{name}`,"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Memory { access: Access::Execute, address: Some(address), .. } => {
                write!(f, "jumped to address {address:#x}, where there is no code")
            }
            Fault::Memory { address: None, .. } => f.write_str("used an address that no memory can have"),
            Fault::Memory { access, place, address: Some(address) } => {
                let verb = match access {
                    Access::Read | Access::Execute => "read",
                    Access::Write => "wrote",
                    Access::Unknown => "touched memory",
                };
                write!(f, "{verb} ")?;
                write_place(f, place, *address)
            }
            Fault::MarginWritten { place, count_bytes } => {
                f.write_str("wrote ")?;
                write_place(f, place, 0)?;
                write!(
                    f,
                    " ({} after the call)",
                    if *count_bytes == 1 { "1 byte differs".into() } else { format!("{count_bytes} bytes differ") }
                )
            }
            Fault::StackOverflow { stack_bytes } => {
                write!(f, "used more than its {stack_bytes} bytes of stack")
            }
            Fault::Arithmetic => f.write_str("divided an integer by zero"),
            Fault::Local(damage) => damage.fmt(f),
            Fault::Trap => f.write_str("gave up: it reached a trap, as `__builtin_trap` and failed checks are"),
            Fault::IllegalInstruction => f.write_str("ran an instruction that this CPU does not have"),
        }
    }
}

fn write_place(f: &mut fmt::Formatter<'_>, place: &Place, address: u64) -> fmt::Result {
    match place {
        Place::After { buffer, offset_bytes: 0 } => write!(f, "right past the end of `{buffer}`"),
        Place::After { buffer, offset_bytes: n } => write!(f, "{} past the end of `{buffer}`", Bytes(*n)),
        Place::Before { buffer, offset_bytes: n } => write!(f, "{} before the start of `{buffer}`", Bytes(*n)),
        Place::Inside { buffer, role: Role::Static, protection: Protection::ReadOnly, offset_bytes } => {
            write!(f, "to the static buffer `{buffer}`, at byte {offset_bytes}")
        }
        Place::Inside { buffer, protection: Protection::Closed, role, offset_bytes } => {
            write!(f, "at byte {offset_bytes} of `{buffer}`, whose role is {}", role.name())
        }
        Place::Inside { buffer, protection: Protection::ReadOnly, offset_bytes, .. } => {
            write!(f, "at byte {offset_bytes} of `{buffer}`, which is read-only here")
        }
        Place::Inside { buffer, offset_bytes, .. } => write!(f, "at byte {offset_bytes} of `{buffer}`"),
        Place::Null => write!(f, "at address {address:#x}: a null pointer"),
        Place::Elsewhere => write!(f, "at address {address:#x}, outside every buffer"),
    }
}

struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} byte{}", self.0, if self.0 == 1 { "" } else { "s" })
    }
}
