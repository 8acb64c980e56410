//! Calling the entries of a host ELF, on a stack of their own, with faults turned into values.

mod error;

pub use error::{CallError, Fault, LaunchName};

use corosensei::{Coroutine, CoroutineResult};
use std::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

use crate::buffer::Side;
use crate::fp_mode::FpMode;
use crate::load::EntryFunction;
use crate::local::LocalBuffer;
use crate::stream::{self, Ended, Host, Right, StreamArgument, StreamFault, StreamOptions};
use crate::trap::{self, AltStack, Completed, Exit, GuardedStack};
use crate::{BufferSet, HostElf, Place, Protection, running};

/// Room for every L1 and L2 of an NPU2 at once (32 tiles of 64 KiB, 8 memtiles of 512 KiB) and frames beside them.
/// Pages that are never touched cost nothing.
const STACK_BYTES: usize = 16 << 20;

/// Between the frames of ELF code and our own: what runs past a buffer on the stack spoils its own frames and this.
const GAP_BYTES: usize = 64 << 10;

/// What calls need and can share: a stack, and one for the signal handler.
pub struct Caller {
    stack: GuardedStack,
    alt_stack: AltStack,
    /// For programs with channels.
    host: Host,
}

/// What to call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// All launches in order.
    Program,
    /// One launch, by its index in the manifest.
    Launch(usize),
}

/// One argument: a buffer, or a part of it that starts `offset_bytes` in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Index in the [`BufferSet`].
    pub buffer: usize,
    pub offset_bytes: u64,
}

/// A call that returned 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Time in the entry alone.
    pub duration: Duration,
    /// Whether the ELF left the floating-point mode as it found it. The thread's own mode is restored either way.
    pub fp_mode_kept: bool,
}

impl Argument {
    /// Buffer `i` as argument `i`, for a set made by [`BufferSet::for_manifest`].
    pub fn in_order(buffers: &BufferSet) -> Vec<Argument> {
        (0..buffers.len()).map(|buffer| Argument { buffer, offset_bytes: 0 }).collect()
    }
}

impl Caller {
    pub fn new() -> io::Result<Caller> {
        Caller::with_stack_bytes(STACK_BYTES)
    }

    /// With a stack of at least `stack_bytes`.
    pub fn with_stack_bytes(stack_bytes: usize) -> io::Result<Caller> {
        Ok(Caller { stack: GuardedStack::new(stack_bytes)?, alt_stack: AltStack::new()?, host: Host::new() })
    }

    /// How launches with channels are run from here on.
    pub fn set_stream_options(&mut self, options: StreamOptions) {
        self.host.options = options;
    }

    /// Runs an entry in the default floating-point mode and times it.
    ///
    /// After an error, the buffers hold whatever the ELF had written so far.
    ///
    /// # Errors
    /// Arguments that don't match the manifest, before anything runs; a fault; a code other than 0; bytes overwritten
    /// next to a buffer, found after the call.
    pub fn call(
        &mut self,
        elf: &HostElf,
        entry: Entry,
        buffers: &mut BufferSet,
        args: &[Argument],
    ) -> Result<Call, CallError> {
        let function = match entry {
            Entry::Program => elf.program(),
            Entry::Launch(k) => {
                elf.launch(k).ok_or(CallError::NoLaunch { index: k, count: elf.manifest().launches.len() })?
            }
        };
        let pointers = check_arguments(elf, buffers, args)?;
        let launch = |k: usize| LaunchName { index: k, name: elf.manifest().launches[k].name.clone() };
        let called = match entry {
            Entry::Program if elf.manifest().launches.len() == 1 => Some(launch(0)),
            Entry::Program => None,
            Entry::Launch(k) => Some(launch(k)),
        };
        elf.locals().iter().for_each(LocalBuffer::fill_zones);
        let note = running::note(match &called {
            Some(l) => format!("launch `{}` of `{}`", l.name, elf.manifest().name),
            None => format!("`{}`", elf.manifest().name),
        });
        let (exit, fp_mode_kept) = match elf.uses_streams() {
            false => self.run(function, &pointers).map_err(CallError::Stack)?,
            true => {
                let arguments = stream_arguments(elf, buffers, &pointers);
                let (ended, kept) = self.run_streams(function, &pointers, &arguments).map_err(CallError::Stack)?;
                if let Some(fault) = ended.fault {
                    let k = usize::try_from(ended.launch).ok().filter(|k| *k < elf.manifest().launches.len());
                    return Err(stream_error(fault, called.or(k.map(launch))));
                }
                (ended.exit, kept)
            }
        };
        drop(note);
        // What was overwritten tells more than where that led.
        if let Some(damage) = elf.locals().iter().find_map(LocalBuffer::damage) {
            let of = damage.launch.filter(|k| *k < elf.manifest().launches.len()).map(launch);
            return Err(CallError::Fault { launch: called.or(of), function: None, fault: Fault::Local(damage) });
        }
        let done = exit.map_err(|raw| {
            let launch = called.clone().or_else(|| error::launch_of(elf.manifest(), raw.instruction).map(launch));
            let function = elf.function_at(raw.instruction).filter(|name| is_kernel(name));
            // Compilers move code that seldom runs out of its function.
            let function = function.map(|name| name.strip_suffix(".cold").unwrap_or(name).to_string());
            CallError::Fault { launch, function, fault: Fault::from_raw(&raw, buffers) }
        })?;
        if let Some(damage) = buffers.damaged_margins().into_iter().next() {
            buffers.mend_margins();
            let place = match damage.side {
                Side::Before => Place::Before { buffer: damage.buffer, offset_bytes: damage.offset_bytes },
                Side::After => Place::After { buffer: damage.buffer, offset_bytes: damage.offset_bytes },
            };
            let fault = Fault::MarginWritten { place, count_bytes: damage.count_bytes };
            return Err(CallError::Fault { launch: called, function: None, fault });
        }
        match done.code {
            0 => Ok(Call { duration: Duration::from_nanos(done.nanoseconds), fp_mode_kept }),
            code => Err(CallError::Code { launch: called, code }),
        }
    }

    /// Runs a function that uses channels; whether it kept the floating-point mode.
    fn run_streams(
        &mut self,
        function: EntryFunction,
        pointers: &[*mut c_void],
        arguments: &[StreamArgument<'_>],
    ) -> io::Result<(Ended, bool)> {
        let _alt_stack = self.alt_stack.activate()?;
        let mode = FpMode::set_default();
        let ended =
            stream::run(&mut self.host, &mut self.stack, |call| behind_gap(call), function, pointers, arguments);
        let kept = FpMode::is_default();
        drop(mode);
        Ok((ended, kept))
    }

    /// Runs the function on our stack; whether it kept the floating-point mode.
    fn run(&mut self, function: EntryFunction, pointers: &[*mut c_void]) -> io::Result<(Exit, bool)> {
        let stack = (self.stack.guard(), self.stack.end());
        let (args, count) = (pointers.as_ptr(), pointers.len() as u64);
        let body = move |_: &corosensei::Yielder<(), ()>, ()| {
            trap::keep_link();
            let start = Instant::now();
            let code = behind_gap(|| {
                // SAFETY: the entry has this type by its ABI version, and gets one valid pointer for each argument of
                // its manifest; each buffer is at least as large as the manifest says.
                unsafe { function(args, count) }
            });
            let nanoseconds = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
            Exit::Ok(Completed { code, nanoseconds })
        };
        let _alt_stack = self.alt_stack.activate()?;
        // SAFETY: the closure borrows `pointers` through a raw pointer, and the coroutine ends before this function
        // returns: it never yields.
        let mut coroutine = unsafe { Coroutine::with_stack_unchecked(&mut self.stack, body) };
        let mode = FpMode::set_default();
        let result = trap::resume(&mut coroutine, stack, ());
        let kept = FpMode::is_default();
        drop(mode);
        match result {
            CoroutineResult::Return(exit) => Ok((exit, kept)),
            CoroutineResult::Yield(()) => unreachable!("an entry's coroutine has no way to yield"),
        }
    }
}

/// Runs `call` with [`GAP_BYTES`] of stack between its frames and the caller's.
#[inline(never)]
fn behind_gap<T>(call: impl FnOnce() -> T) -> T {
    let gap = MaybeUninit::<[u8; GAP_BYTES]>::uninit();
    std::hint::black_box(&gap);
    let result = call();
    std::hint::black_box(&gap);
    result
}

/// What launches with channels may do with each argument, by where it lies.
fn stream_arguments<'b>(elf: &HostElf, buffers: &'b BufferSet, pointers: &[*mut c_void]) -> Vec<StreamArgument<'b>> {
    let mut list = Vec::with_capacity(pointers.len());
    for (pointer, arg) in pointers.iter().zip(&elf.manifest().args) {
        let holder = buffers.iter().find(|b| {
            let start = b.as_ptr() as usize;
            (start..start + b.size_bytes().max(1)).contains(&(*pointer as usize))
        });
        let Some(buffer) = holder else { continue };
        let right = match buffer.protection() {
            Protection::ReadWrite => Right::Write,
            Protection::ReadOnly => Right::Read,
            Protection::Closed => Right::Nothing,
        };
        let size_bytes = usize::try_from(arg.bytes).unwrap_or(usize::MAX);
        list.push(StreamArgument { name: buffer.name(), start: *pointer as usize, size_bytes, right });
    }
    // The outer one of two that overlap stands first.
    list.sort_by_key(|a| (a.start, std::cmp::Reverse(a.size_bytes)));
    list
}

/// Damage beside a buffer is told in the same words as for launches without channels.
fn stream_error(fault: StreamFault, launch: Option<LaunchName>) -> CallError {
    match fault {
        StreamFault::Damage(damage) => CallError::Fault { launch, function: None, fault: Fault::Local(damage) },
        fault => CallError::Stream { launch, fault },
    }
}

/// Whether a function of an ELF is a kernel's and not one that the lowering made.
fn is_kernel(name: &str) -> bool {
    !name.starts_with("airlink")
}

/// The argument array: one pointer per argument, each with as many bytes behind it as the manifest says.
fn check_arguments(elf: &HostElf, buffers: &BufferSet, args: &[Argument]) -> Result<Vec<*mut c_void>, CallError> {
    let expected = &elf.manifest().args;
    if args.len() != expected.len() {
        return Err(CallError::ArgumentCount { found: args.len(), allowed: expected.len() });
    }
    let pointer = |(arg, expected): (&Argument, &crate::ManifestArg)| {
        let buffer = buffers.get(arg.buffer);
        let size_bytes = buffer.map_or(0, |b| b.size_bytes() as u64);
        let end = arg.offset_bytes.checked_add(expected.bytes);
        match buffer {
            Some(b) if end.is_some_and(|e| e <= size_bytes) => {
                Ok(b.as_ptr().wrapping_add(arg.offset_bytes as usize).cast())
            }
            _ => Err(CallError::ArgumentSize {
                name: expected.name.clone(),
                found: size_bytes.saturating_sub(arg.offset_bytes),
                allowed: expected.bytes,
            }),
        }
    };
    args.iter().zip(expected).map(pointer).collect()
}
