//! Launches with channels: streams, tiles that run at the same time, and control code that only issues.
//!
//! Each destination of a channel is a FIFO of bytes. Tiles are coroutines that run in program order and wait in a get
//! until enough bytes are there. Control code never waits for a transfer: it issues *records* (a put, a get, a copy, a
//! herd, ...), each of which starts when the tokens it names have fired, when no earlier record that is not done conflicts
//! with it over memory, and when it is its turn on its channel.
//!
//! A put that control code issued moves its bytes when somebody asks for them, straight from where they are. So a program
//! of any length runs in little memory, whatever the order of its text. Where nobody can go on, what waits in front of a
//! FIFO goes in all the same: streams hold as much as it takes, so a program that stops then stops for every size of its
//! buffers. `fifo_bytes` bounds them instead.

mod abi;
mod at_once;
mod channels;
mod cursor;
mod deadlock;
mod engine;
mod latches;
mod memory;
mod packets;
mod races;
mod records;
mod relays;
mod report;
mod scheduler;
mod scratch;
mod services;
mod transfers;

pub(crate) use abi::Services;
pub(crate) use memory::Right;
pub(crate) use records::{Id, Records};
pub use report::{StreamFault, Waiting};
pub(crate) use scheduler::{Ended, Host, StreamArgument, run};
pub(crate) use services::SERVICES;

/// How launches with channels are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamOptions {
    /// Bytes that each FIFO holds; unbounded if none.
    pub fifo_bytes: Option<u64>,
    /// Which of the tiles that can go on goes on.
    pub schedule: Schedule,
    /// Bytes that FIFOs and the buffers of segments may take together.
    pub memory_limit_bytes: u64,
    /// Memtiles repeat gets and puts that only pass on what comes, as long as there is something to get.
    pub self_loop_relays: bool,
}

/// An order of tiles. Results must not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// Who has waited longest.
    Oldest,
    /// Who has waited shortest.
    Newest,
    /// Anyone, by this seed.
    Seeded(u64),
}

impl Default for StreamOptions {
    fn default() -> StreamOptions {
        StreamOptions {
            fifo_bytes: None,
            schedule: Schedule::Oldest,
            memory_limit_bytes: StreamOptions::MEMORY_LIMIT_BYTES,
            self_loop_relays: false,
        }
    }
}

impl StreamOptions {
    /// What a desktop can spare, and far more than the memory of any NPU.
    pub const MEMORY_LIMIT_BYTES: u64 = 4 << 30;
}
