//! Element types of arguments: their width, and the 16-bit floats.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The element type of an argument, named as MLIR prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Element {
    Bf16,
    F16,
    F32,
    F64,
    /// One byte per element in memory, 0 or 1.
    I1,
    I8,
    I16,
    I32,
    I64,
    Ui8,
    Ui16,
    Ui32,
    Ui64,
}

/// How the bits of an element are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Float,
    Signed,
    Unsigned,
}

impl Element {
    pub const ALL: [Element; 13] = {
        use Element::*;
        [Bf16, F16, F32, F64, I1, I8, I16, I32, I64, Ui8, Ui16, Ui32, Ui64]
    };

    /// From the text of an MLIR element type; `None` for one that the host ABI does not have (`i4`, `f8E4M3FN`,
    /// `index`). `si8` is `i8`: the bits are the same.
    pub fn from_mlir(text: &str) -> Option<Element> {
        let plain = text.strip_prefix('s').filter(|t| t.starts_with('i')).unwrap_or(text);
        Self::ALL.into_iter().find(|e| e.name() == plain && (plain == text || plain != "i1"))
    }

    /// `bf16`.
    pub fn name(self) -> &'static str {
        match self {
            Element::Bf16 => "bf16",
            Element::F16 => "f16",
            Element::F32 => "f32",
            Element::F64 => "f64",
            Element::I1 => "i1",
            Element::I8 => "i8",
            Element::I16 => "i16",
            Element::I32 => "i32",
            Element::I64 => "i64",
            Element::Ui8 => "ui8",
            Element::Ui16 => "ui16",
            Element::Ui32 => "ui32",
            Element::Ui64 => "ui64",
        }
    }

    /// Bytes of one element in memory.
    pub fn size_bytes(self) -> usize {
        match self {
            Element::I1 | Element::I8 | Element::Ui8 => 1,
            Element::Bf16 | Element::F16 | Element::I16 | Element::Ui16 => 2,
            Element::F32 | Element::I32 | Element::Ui32 => 4,
            Element::F64 | Element::I64 | Element::Ui64 => 8,
        }
    }

    /// Bits of one element in memory: 8 for `i1`.
    pub fn bits(self) -> u64 {
        self.size_bytes() as u64 * 8
    }

    pub(crate) fn kind(self) -> Kind {
        match self {
            Element::Bf16 | Element::F16 | Element::F32 | Element::F64 => Kind::Float,
            Element::I8 | Element::I16 | Element::I32 | Element::I64 => Kind::Signed,
            Element::I1 | Element::Ui8 | Element::Ui16 | Element::Ui32 | Element::Ui64 => Kind::Unsigned,
        }
    }

    /// The bits of one element as an integer. `bytes` holds exactly one element, little endian.
    pub(crate) fn bits_of(self, bytes: &[u8]) -> u64 {
        match *bytes {
            [a] => u64::from(a),
            [a, b] => u64::from(u16::from_le_bytes([a, b])),
            [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
            [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            _ => 0,
        }
    }

    /// The value as `f64`: exact but for 64-bit integers beyond 2^53.
    pub(crate) fn value_of_bits(self, bits: u64) -> f64 {
        match self {
            Element::Bf16 => f64::from(bf16_to_f32(bits as u16)),
            Element::F16 => f64::from(f16_to_f32(bits as u16)),
            Element::F32 => f64::from(f32::from_bits(bits as u32)),
            Element::F64 => f64::from_bits(bits),
            Element::I8 => f64::from(bits as u8 as i8),
            Element::I16 => f64::from(bits as u16 as i16),
            Element::I32 => f64::from(bits as u32 as i32),
            Element::I64 => bits as i64 as f64,
            Element::I1 | Element::Ui8 | Element::Ui16 | Element::Ui32 | Element::Ui64 => bits as f64,
        }
    }

    /// The values of a whole buffer as `f64`, in row-major order; bytes after the last whole element are left out.
    pub fn values(self, bytes: &[u8]) -> impl ExactSizeIterator<Item = f64> + '_ {
        bytes.chunks_exact(self.size_bytes()).map(move |b| self.value_of_bits(self.bits_of(b)))
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Rounds to bf16: to nearest, ties to even. NaN becomes a quiet NaN of the same sign.
pub fn bf16_from_f32(value: f32) -> u16 {
    let bits = value.to_bits();
    if value.is_nan() {
        return (bits >> 16) as u16 | 0x0040;
    }
    // The sum cannot wrap: the largest finite pattern and infinity stay below 2^32 with the sign on top.
    ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16) as u16
}

/// Widens bf16: exact.
pub fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// Rounds to IEEE half precision: to nearest, ties to even. NaN becomes a quiet NaN of the same sign.
pub fn f16_from_f32(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16) as u16 & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude > 0x7f80_0000 {
        return sign | 0x7e00 | (magnitude >> 13) as u16 & 0x01ff;
    }
    // 65520 and above round to infinity.
    if magnitude >= 0x477f_f000 {
        return sign | 0x7c00;
    }
    // 2^-14 is the smallest normal number.
    if magnitude >= 0x3880_0000 {
        let rebiased = magnitude - (112 << 23);
        return sign | ((rebiased + 0x0fff + ((rebiased >> 13) & 1)) >> 13) as u16;
    }
    // Adding 0.5 puts a unit of the subnormal result (2^-24) at the last place of an f32, and the FPU rounds.
    let shifted = f32::from_bits(magnitude) + 0.5;
    sign | (shifted.to_bits() - 0.5f32.to_bits()) as u16
}

/// Widens IEEE half precision: exact.
pub fn f16_to_f32(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let magnitude = u32::from(bits & 0x7fff);
    match magnitude {
        0x7c00.. => f32::from_bits(sign | 0x7f80_0000 | (magnitude & 0x03ff) << 13),
        0x0400.. => f32::from_bits(sign | ((magnitude << 13) + (112 << 23))),
        _ => f32::from_bits(sign | (magnitude as f32 * f32::from_bits(0x3380_0000)).to_bits()),
    }
}
