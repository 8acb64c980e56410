//! Why a launch with channels cannot go on, in words that name tiles, channels and places.

use std::fmt;

use crate::LocalDamage;

/// Somebody who waits, and for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// ``tile [1, 0] of herd `@h` ``, `control code`.
    pub who: String,
    /// What it is in, with elements needed and there.
    pub what: String,
    /// `kernel.mlir:12:3`; empty if unknown.
    pub place: String,
}

/// What ended a launch with channels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamFault {
    /// Nobody can go on.
    Deadlock {
        waiting: Vec<Waiting>,
        /// Which of them keeps the others waiting.
        root: usize,
        /// Why the root waits, as far as that is known.
        reason: String,
        /// The bound of the FIFOs, if they have one.
        fifo_bytes: Option<u64>,
    },
    /// All is done, and streams hold elements that nobody got.
    Undrained { streams: Vec<(String, u64)>, put: u64, got: u64, place: String },
    /// A copy whose sides have other numbers of elements.
    Unequal { written: u64, read: u64, place: String },
    /// The two ends of a channel have elements of other sizes.
    ElementSize { channel: String, put_bytes: usize, got_bytes: usize, place: String },
    /// FIFOs and buffers would take more than they may.
    MemoryLimit { needed_bytes: u64, limit_bytes: u64, place: String },
    /// An index that the channel does not have.
    Index { channel: String, index: Vec<i64>, extents: Vec<i64>, place: String },
    /// A transfer that leaves its buffer, or that may not touch it.
    Access { what: String, place: String },
    /// Two who put into, or get from, one stream in no order.
    Shared { stream: String, end: &'static str, first: String, second: String, place: String },
    /// One transfer of packets for several destinations, or with and without one.
    Mixed { stream: String, first: Option<u32>, second: Option<u32>, place: String },
    /// Two tiles touch the same bytes in no order, and one of them writes.
    Race {
        object: String,
        bytes: u64,
        writer: String,
        other: String,
        both_write: bool,
        place: String,
        other_place: String,
    },
    /// Bytes next to a buffer of a tile or segment are not what they were.
    Damage(LocalDamage),
    /// Sizes that no memory can have.
    TooLarge { place: String },
    /// Stacks for tiles cannot be had.
    Stack(String),
}

impl StreamFault {
    /// Where it happened: `kernel.mlir:12:3`; empty if unknown.
    pub fn place(&self) -> &str {
        match self {
            StreamFault::Deadlock { waiting, root, .. } => waiting.get(*root).map_or("", |w| &w.place),
            StreamFault::Undrained { place, .. }
            | StreamFault::Unequal { place, .. }
            | StreamFault::ElementSize { place, .. }
            | StreamFault::MemoryLimit { place, .. }
            | StreamFault::Index { place, .. }
            | StreamFault::Access { place, .. }
            | StreamFault::Shared { place, .. }
            | StreamFault::Mixed { place, .. }
            | StreamFault::Race { place, .. }
            | StreamFault::TooLarge { place } => place,
            StreamFault::Damage(_) | StreamFault::Stack(_) => "",
        }
    }
}

impl fmt::Display for StreamFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StreamFault::Deadlock { waiting, root, .. } => match waiting.get(*root) {
                Some(w) => write!(f, "cannot go on: {} waits {}", w.who, w.what),
                None => write!(f, "cannot go on"),
            },
            StreamFault::Undrained { streams, .. } => {
                let list: Vec<String> = streams.iter().map(|(name, n)| format!("{name} holds {n}")).collect();
                write!(f, "ends with elements that nobody got: {}", list.join(", "))
            }
            StreamFault::Unequal { written, read, .. } => {
                write!(f, "copies {read} elements to a place for {written}")
            }
            StreamFault::ElementSize { channel, put_bytes, got_bytes, .. } => write!(
                f,
                "puts elements of {put_bytes} bytes into {channel} and gets elements of {got_bytes} bytes from it"
            ),
            StreamFault::MemoryLimit { needed_bytes, limit_bytes, .. } => {
                write!(f, "needs {needed_bytes} bytes for streams and buffers, {limit_bytes} are allowed")
            }
            StreamFault::Index { channel, index, extents, .. } => {
                write!(f, "uses index {index:?} of channel `@{channel}`, whose extents are {extents:?}")
            }
            StreamFault::Access { what, .. } => write!(f, "{what}"),
            StreamFault::Shared { stream, end, first, second, .. } => {
                write!(f, "{end} {stream} in {first} and in {second}, in no order")
            }
            StreamFault::Mixed { stream, first, second, .. } => {
                let name = |tag: &Option<u32>| tag.map_or("none".to_string(), |n| n.to_string());
                let (first, second) = (name(first), name(second));
                write!(f, "moves packets for destinations {first} and {second} in one transfer of {stream}")
            }
            StreamFault::Race { object, bytes, writer, other, both_write: true, .. } => {
                write!(f, "writes the same {bytes} bytes of {object} in {writer} and in {other}, in no order")
            }
            StreamFault::Race { object, bytes, writer, other, .. } => {
                write!(f, "writes {bytes} bytes of {object} in {writer} that {other} reads, in no order")
            }
            StreamFault::Damage(damage) => write!(f, "{damage}"),
            StreamFault::TooLarge { .. } => write!(f, "has a transfer whose sizes no memory can have"),
            StreamFault::Stack(error) => write!(f, "has no stack for a tile: {error}"),
        }
    }
}
