//! What a check found: the rule, the number found, the number allowed and where the limit comes from.

use serde::Serialize;
use std::fmt;

use crate::device::Limit;

/// One broken limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    pub rule: Rule,
    /// The dimension as the hardware counts: 0 is the innermost, 3 of a shim BD the iteration.
    pub dim: Option<usize>,
    /// In `unit`.
    pub found: i128,
    pub allowed: Bound,
    pub unit: &'static str,
    pub source: &'static str,
    /// One sentence that stands alone.
    pub text: String,
}

/// What a number has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Bound {
    AtLeast(i128),
    AtMost(i128),
    Exactly(i128),
    MultipleOf(i128),
}

impl Bound {
    pub(crate) fn at_most(limit: Limit) -> Bound {
        Bound::AtMost(i128::from(limit.value))
    }

    pub fn holds(self, found: i128) -> bool {
        match self {
            Bound::AtLeast(n) => found >= n,
            Bound::AtMost(n) => found <= n,
            Bound::Exactly(n) => found == n,
            Bound::MultipleOf(n) => n == 0 || found % n == 0,
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::AtLeast(n) => write!(f, "at least {n}"),
            Bound::AtMost(n) => write!(f, "at most {n}"),
            Bound::Exactly(n) => write!(f, "exactly {n}"),
            Bound::MultipleOf(n) => write!(f, "a multiple of {n}"),
        }
    }
}

impl Fault {
    /// A fault whose text names the thing, the number found and the number allowed.
    pub(crate) fn new(rule: Rule, what: &str, found: i128, allowed: Bound, unit: Unit) -> Fault {
        let text = format!("{what}: {found} {}, allowed {allowed}", unit.0);
        Fault { rule, dim: None, found, allowed, unit: unit.0, source: unit.1, text }
    }

    pub(crate) fn at(mut self, dim: usize) -> Fault {
        self.dim = Some(dim);
        self
    }

    pub(crate) fn saying(mut self, text: String) -> Fault {
        self.text = text;
        self
    }

    /// A number so large that nothing can be computed with it.
    pub(crate) fn too_large(what: &str) -> Fault {
        let unit = Unit("elements", "64-bit arithmetic");
        Fault::new(Rule::TooLarge, what, i128::from(i64::MAX) + 1, Bound::AtMost(i64::MAX.into()), unit)
            .saying(format!("{what} does not fit 64 bits"))
    }

    /// A fault unless the bound holds.
    pub(crate) fn unless(rule: Rule, what: &str, found: i128, allowed: Bound, unit: Unit) -> Option<Fault> {
        (!allowed.holds(found)).then(|| Fault::new(rule, what, found, allowed, unit))
    }

    /// A fault if there are more than the limit allows.
    pub(crate) fn above(
        rule: Rule,
        what: &str,
        found: impl Into<i128>,
        limit: Limit,
        unit: &'static str,
    ) -> Option<Fault> {
        Fault::unless(rule, what, found.into(), Bound::at_most(limit), Unit(unit, limit.source))
    }
}

/// A unit in full and the source of the limit that counts in it.
#[derive(Clone, Copy)]
pub(crate) struct Unit(pub &'static str, pub &'static str);

/// The rules, shim BDs (S), mem- and core-tile BDs (B), GEMV (G) and whole tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Rule {
    /// Every size of a shim BD is at least 1.
    S1,
    /// The innermost size of a shim BD fills whole 32-bit words.
    S2,
    /// A stride of a shim BD is positive where its size is above 1.
    S3,
    /// A stride of a shim BD is a whole number of words, but for an innermost stride of 1 element.
    S4,
    /// The two inner sizes of a shim BD fit the wrap field, unless the BD is linear.
    S5,
    /// The third size of a shim BD is implied by the length: nothing can break it.
    S6,
    /// The iteration size of a shim BD fits its field.
    S7,
    /// A stride of a shim BD fits the step field, in words.
    S8,
    /// The offset of a shim BD is a whole number of words.
    S9,
    /// The length of a shim BD is the product of its three inner sizes and fits its field.
    S10,
    /// Packet id and type fit their fields.
    S11,
    /// A shim BD with too large sizes can be taken apart.
    S12,
    /// The length of a tile BD is a whole number of words.
    B1,
    /// The length of a tile BD fits its field.
    B2,
    /// A BD has no more dimensions than its tile kind.
    B3,
    /// The last element that a tile BD reaches lies in its buffer.
    B4,
    /// Every size of a tile BD is small enough, in elements.
    B5,
    /// Every stride of a tile BD is positive, within the buffer and small enough, in elements.
    B6,
    /// Elements that are not 32 bits wide need an innermost stride of 1; other strides and the innermost size are whole
    /// words.
    B7,
    /// The offset of a tile BD is a whole number of words.
    B8,
    /// A core's DMA uses buffers of its own tile.
    B9,
    /// The BDs of a tile are few enough.
    B10,
    /// The BDs of the channels of one parity are few enough.
    B11,
    /// A size of a core BD fits the true wrap field, which the tools don't check. A warning.
    B12,
    /// Size and stride of a BD's iteration fit and make sense.
    Iteration,
    /// A field of a BD as the control code writes it.
    Field,
    /// Runs of one push.
    Repeat,
    /// A BD id that its tile has not.
    BdId,
    /// A size cannot be split into parts that are whole words.
    NoChunk,
    /// Shim transfers move elements of 8, 16 or 32 bits.
    ElementWidth,
    /// A number does not fit 64 bits.
    TooLarge,
    /// A repeat under a dimension that moves: the hardware would repeat the whole, not the part.
    RepeatOrder,
    /// BDs that live at once on a shim tile.
    LiveBds,
    /// BDs that nothing gives back.
    Leak,
    /// An await without a token.
    Token,
    /// Pushes that are outstanding on a channel. A warning: the push that finds the queue full is dropped.
    Queue,
    /// Shim DMA channels.
    ShimChannels,
    /// DMA channels of a mem or core tile.
    TileChannels,
    /// A channel that is pinned and that the tile has not.
    ChannelPin,
    /// Herds fit the array together.
    HerdPlacement,
    /// A cascade goes to the neighbour in the east or south.
    Cascade,
    /// Streams over one boundary. A warning, an estimate.
    Routing,
    /// L1 bytes.
    L1Bytes,
    /// L2 bytes.
    L2Bytes,
    /// Program bytes.
    ProgramBytes,
    /// Locks of a tile.
    Locks,
    /// Value of a lock.
    LockValue,
    /// Host arguments of an xclbin.
    HostArgs,
    /// A full ELF for a device that has none.
    FullElf,
    /// An odd number of PDI loads. A warning: the second dispatch goes wrong.
    PdiParity,
    /// An odd trip count under ping-pong. A warning.
    OddTrips,
    /// More chunks than a compile can take. A warning.
    ManyChunks,
    /// Two things of one name in one module.
    SameName,
    /// Raw DMAs and channels in one segment.
    MixedDma,
    /// `m` is a multiple of `tile_m * herd_m`.
    G1,
    /// `tile_m` is a multiple of `m_input`.
    G2,
    /// `k` is a multiple of the vector width.
    G3,
    /// The L2 panel of a launch fits one mem tile.
    G4,
    /// `tile_m` elements fill whole words.
    G5,
    /// L1 bytes of a GEMV core.
    G6,
    /// The rows of one transfer fit the length field of a core BD.
    G7,
    /// Reads of the vector per push.
    G8,
}

impl Rule {
    /// Whether what breaks this rule still compiles: suspicious or silently wrong.
    pub fn is_warning(self) -> bool {
        use Rule::*;
        matches!(self, B12 | Queue | Routing | PdiParity | OddTrips | ManyChunks | RepeatOrder)
    }
}
