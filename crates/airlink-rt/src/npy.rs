//! NumPy's `.npy` files as arguments and results.
//!
//! NumPy has no bf16. It is written as `<u2`, the bits, so that `numpy.load` works without more packages;
//! `array.view(ml_dtypes.bfloat16)` or `(array.astype("u4") << 16).view("f4")` gives the values. Read are:
//!
//! | element | dtypes |
//! |---|---|
//! | `bf16` | `u2` and `V2` (the bits; `V2` is what `ml_dtypes` saves), `f4` (rounded to nearest, ties to even) |
//! | `f16` | `f2`, `f4` (rounded likewise) |
//! | `f32`, `f64` | `f4`; `f8` |
//! | `i1` | `b1` |
//! | integers | signed or unsigned of the same width: MLIR's `i8` is neither |
//!
//! Either byte order and either axis order is read; little endian and row-major is written.

use npyz::{DType, Endianness, NpyHeader, Order, TypeChar, WriterBuilder};
use std::io::{self, Read, Write};

use crate::element::{Element, Kind, bf16_from_f32, f16_from_f32};

/// An array that is not what the argument needs.
#[derive(Debug, thiserror::Error)]
pub enum NpyError {
    #[error("not an .npy file: {0}")]
    Header(String),
    #[error("the array has dtype {found}, the argument takes {}", allowed.join(", "))]
    Type { found: String, allowed: Vec<String> },
    #[error("the array has shape {}, the argument has {}", shape_text(found), shape_text(allowed))]
    Shape { found: Vec<u64>, allowed: Vec<u64> },
    #[error("the file holds {found} bytes of data, its header says {allowed}")]
    Length { found: u64, allowed: u64 },
    #[error("{found} bytes for an array of {allowed}")]
    Buffer { found: u64, allowed: u64 },
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Reads a file into the bytes of an argument.
///
/// # Errors
/// The shape must be equal, extent by extent, and the dtype one of the list above; nothing may follow the data. `out`
/// is then in an unspecified state.
pub fn read(reader: &mut dyn Read, element: Element, shape: &[u64], out: &mut [u8]) -> Result<(), NpyError> {
    let header = read_header(reader)?;
    let source = Source::of(&header, element)?;
    if header.shape() != shape {
        return Err(NpyError::Shape { found: header.shape().to_vec(), allowed: shape.to_vec() });
    }
    check_size(element, shape, out.len())?;
    let count = out.len() / element.size_bytes();
    read_elements(reader, source, element, out)?;
    let rest = io::copy(reader, &mut io::sink())?;
    if rest > 0 {
        let allowed = (count * source.size_bytes) as u64;
        return Err(NpyError::Length { found: allowed + rest, allowed });
    }
    if header.order() == Order::Fortran && shape.len() > 1 {
        let stored = out.to_vec();
        to_row_major(element.size_bytes(), shape, &stored, out);
    }
    Ok(())
}

/// Writes the bytes of an argument as a file.
///
/// # Errors
/// Those of the writer, and bytes that are not as many as the shape says.
pub fn write(writer: &mut dyn Write, element: Element, shape: &[u64], bytes: &[u8]) -> Result<(), NpyError> {
    check_size(element, shape, bytes.len())?;
    let dtype = DType::Plain(
        written_dtype(element).parse().map_err(|e: npyz::ParseTypeStrError| NpyError::Header(e.to_string()))?,
    );
    npyz::WriteOptions::new_header_only().dtype(dtype).shape(shape).writer(&mut *writer).write_header_only()?;
    Ok(writer.write_all(bytes)?)
}

/// The dtype that [`write`] uses.
pub fn written_dtype(element: Element) -> &'static str {
    match element {
        Element::Bf16 | Element::Ui16 => "<u2",
        Element::F16 => "<f2",
        Element::F32 => "<f4",
        Element::F64 => "<f8",
        Element::I1 => "|b1",
        Element::I8 => "|i1",
        Element::I16 => "<i2",
        Element::I32 => "<i4",
        Element::I64 => "<i8",
        Element::Ui8 => "|u1",
        Element::Ui32 => "<u4",
        Element::Ui64 => "<u8",
    }
}

/// How the file's elements become ours.
#[derive(Clone, Copy)]
struct Source {
    size_bytes: usize,
    swapped: bool,
    /// From f32 to the 16 bits of the argument's type.
    rounded: bool,
}

impl Source {
    fn of(header: &NpyHeader, element: Element) -> Result<Source, NpyError> {
        let wrong = || NpyError::Type { found: header.dtype().descr(), allowed: allowed_dtypes(element) };
        let DType::Plain(dtype) = header.dtype() else {
            return Err(wrong());
        };
        let accepted =
            accepted(element).into_iter().find(|&(c, n, _)| c == dtype.type_char() && n == dtype.size_field());
        let (char, size, rounded) = accepted.ok_or_else(wrong)?;
        let swapped = dtype.endianness() == Endianness::Big && char != TypeChar::RawData;
        Ok(Source { size_bytes: size as usize, swapped, rounded })
    }
}

/// Kinds and sizes that an element type is read from, and whether they are rounded.
fn accepted(element: Element) -> Vec<(TypeChar, u64, bool)> {
    let size = element.size_bytes() as u64;
    match (element, element.kind()) {
        (Element::Bf16, _) => {
            vec![(TypeChar::Uint, 2, false), (TypeChar::RawData, 2, false), (TypeChar::Float, 4, true)]
        }
        (Element::F16, _) => vec![(TypeChar::Float, 2, false), (TypeChar::Float, 4, true)],
        (Element::I1, _) => vec![(TypeChar::Bool, 1, false)],
        (_, Kind::Float) => vec![(TypeChar::Float, size, false)],
        (_, Kind::Signed | Kind::Unsigned) => {
            vec![(TypeChar::Int, size, false), (TypeChar::Uint, size, false)]
        }
    }
}

fn allowed_dtypes(element: Element) -> Vec<String> {
    accepted(element).into_iter().map(|(c, n, _)| format!("{}{n}", c.to_str())).collect()
}

/// The header, after two checks that the parser does not make: it would recurse and multiply without a limit.
fn read_header(reader: &mut dyn Read) -> Result<NpyHeader, NpyError> {
    const HEADER_LIMIT_BYTES: u64 = 1 << 16;
    let not_npy = |why: &str| NpyError::Header(why.to_string());
    let short = |e: io::Error| match e.kind() {
        io::ErrorKind::UnexpectedEof => not_npy("it ends within the header"),
        _ => NpyError::Io(e),
    };
    let mut head = vec![0; 10];
    reader.read_exact(&mut head).map_err(short)?;
    if &head[..6] != b"\x93NUMPY" {
        return Err(not_npy("it does not start with the magic bytes"));
    }
    if head[6] > 1 {
        head.resize(12, 0);
        reader.read_exact(&mut head[10..]).map_err(short)?;
    }
    let text_bytes = head[8..].iter().rev().fold(0, |n, &b| n << 8 | u64::from(b));
    if text_bytes > HEADER_LIMIT_BYTES {
        return Err(not_npy("its header is longer than any that NumPy writes"));
    }
    let start = head.len();
    head.resize(start + text_bytes as usize, 0);
    reader.read_exact(&mut head[start..]).map_err(short)?;
    check_header_text(&head[start..])?;
    NpyHeader::from_reader(&head[..]).map_err(|e| NpyError::Header(e.to_string()))
}

fn check_header_text(text: &[u8]) -> Result<(), NpyError> {
    const DEPTH_LIMIT: usize = 16;
    let deepest = text.iter().scan(0usize, |depth, b| {
        match b {
            b'(' | b'[' | b'{' => *depth += 1,
            b')' | b']' | b'}' => *depth = depth.saturating_sub(1),
            _ => {}
        }
        Some(*depth)
    });
    if deepest.max().unwrap_or(0) > DEPTH_LIMIT {
        return Err(NpyError::Header("its header is nested too deeply".into()));
    }
    // Sizes of any array that fits into memory have a product below this.
    let numbers = text.split(|b| !b.is_ascii_digit()).filter(|n| !n.is_empty());
    let product = numbers.map(number).try_fold(1u64, |p, n| p.checked_mul(n?.max(1)));
    match product {
        Some(p) if p < 1 << 60 => Ok(()),
        _ => Err(NpyError::Header("its shape is too large".into())),
    }
}

fn number(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0u64, |n, d| n.checked_mul(10)?.checked_add(u64::from(d - b'0')))
}

fn read_elements(reader: &mut dyn Read, source: Source, element: Element, out: &mut [u8]) -> Result<(), NpyError> {
    const CHUNK_ELEMENTS: usize = 16 << 10;
    let allowed = (out.len() / element.size_bytes() * source.size_bytes) as u64;
    let mut chunk = vec![0; CHUNK_ELEMENTS * source.size_bytes];
    let mut found = 0;
    for out in out.chunks_mut(CHUNK_ELEMENTS * element.size_bytes()) {
        let chunk = &mut chunk[..out.len() / element.size_bytes() * source.size_bytes];
        let got = read_up_to(reader, chunk)?;
        found += got as u64;
        if got < chunk.len() {
            return Err(NpyError::Length { found, allowed });
        }
        if source.swapped {
            chunk.chunks_exact_mut(source.size_bytes).for_each(<[u8]>::reverse);
        }
        if source.rounded {
            let round = if element == Element::Bf16 { bf16_from_f32 } else { f16_from_f32 };
            for (out, value) in out.chunks_exact_mut(2).zip(chunk.chunks_exact(4)) {
                let value = f32::from_le_bytes([value[0], value[1], value[2], value[3]]);
                out.copy_from_slice(&round(value).to_le_bytes());
            }
        } else {
            out.copy_from_slice(chunk);
        }
    }
    Ok(())
}

/// Like `read_exact`, but says how much there was.
fn read_up_to(reader: &mut dyn Read, out: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while done < out.len() {
        match reader.read(&mut out[done..]) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(done)
}

/// Reorders elements from first-axis-fastest to last-axis-fastest.
fn to_row_major(size_bytes: usize, shape: &[u64], stored: &[u8], out: &mut [u8]) {
    let mut position = vec![0u64; shape.len()];
    for out in out.chunks_exact_mut(size_bytes) {
        let at = position.iter().zip(shape).rev().fold(0, |at, (&p, &n)| at * n + p) as usize * size_bytes;
        out.copy_from_slice(&stored[at..at + size_bytes]);
        for (p, &n) in position.iter_mut().zip(shape).rev() {
            *p += 1;
            if *p < n {
                break;
            }
            *p = 0;
        }
    }
}

fn check_size(element: Element, shape: &[u64], found: usize) -> Result<(), NpyError> {
    let allowed = shape.iter().try_fold(element.size_bytes() as u64, |n, &d| n.checked_mul(d)).unwrap_or(u64::MAX);
    match found as u64 == allowed {
        true => Ok(()),
        false => Err(NpyError::Buffer { found: found as u64, allowed }),
    }
}

/// As NumPy prints a shape: `(2, 3)`, `(2,)`.
fn shape_text(shape: &[u64]) -> String {
    match shape {
        [one] => format!("({one},)"),
        many => format!("({})", many.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
    }
}
