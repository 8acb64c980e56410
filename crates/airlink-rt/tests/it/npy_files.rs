//! `.npy` files: round trips, conversions, and what is refused.

use airlink_rt::npy::{read, write};
use airlink_rt::*;

/// A file by hand: version 1.0, with this header text.
fn file(header: &str, data: &[u8]) -> Vec<u8> {
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    let text = format!("{header}\n");
    out.extend((text.len() as u16).to_le_bytes());
    out.extend(text.as_bytes());
    out.extend(data);
    out
}

fn header(descr: &str, fortran: &str, shape: &str) -> String {
    format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}")
}

fn read_all(bytes: &[u8], element: Element, shape: &[u64]) -> Result<Vec<u8>, String> {
    let count: u64 = shape.iter().product();
    let mut out = vec![0; count as usize * element.size_bytes()];
    read(&mut &bytes[..], element, shape, &mut out).map_err(|e| e.to_string())?;
    Ok(out)
}

#[test]
fn every_element_type_comes_back() {
    for element in Element::ALL {
        for shape in [&[3u64, 5][..], &[7], &[], &[2, 0, 3]] {
            let count: u64 = shape.iter().product();
            let mut bytes = vec![0; count as usize * element.size_bytes()];
            inputs::fill(element, Role::Static, 1, "x", &mut bytes);
            let mut written = Vec::new();
            write(&mut written, element, shape, &bytes).unwrap();
            assert_eq!(read_all(&written, element, shape).unwrap(), bytes, "{element} {shape:?}");
        }
    }
}

#[test]
fn the_header_is_what_numpy_writes() {
    let mut written = Vec::new();
    write(&mut written, Element::Bf16, &[2, 3], &[0; 12]).unwrap();
    let text = String::from_utf8_lossy(&written[10..written.len() - 12]).into_owned();
    assert_eq!(&written[..8], b"\x93NUMPY\x01\x00");
    assert_eq!((written.len() - 12) % 64, 0);
    assert!(text.contains("'descr': '<u2'") && text.contains("'shape': (2, 3, )") && text.ends_with('\n'), "{text}");
}

#[test]
fn bf16_is_read_from_its_bits_and_from_f32() {
    let bits: Vec<u8> = [0x3f80u16, 0xc000].iter().flat_map(|b| b.to_le_bytes()).collect();
    for descr in ["<u2", "<V2", "|V2"] {
        assert_eq!(read_all(&file(&header(descr, "False", "(2,)"), &bits), Element::Bf16, &[2]).unwrap(), bits);
    }
    // 1 + 2^-8 lies in the middle and goes to the even one.
    let f32s: Vec<u8> = [1.0 + 1.0 / 256.0f32, -2.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    assert_eq!(read_all(&file(&header("<f4", "False", "(2,)"), &f32s), Element::Bf16, &[2]).unwrap(), bits);
    let big: Vec<u8> = [1.0f32, -2.0].iter().flat_map(|v| v.to_be_bytes()).collect();
    assert_eq!(read_all(&file(&header(">f4", "False", "(2,)"), &big), Element::Bf16, &[2]).unwrap(), bits);
}

#[test]
fn column_major_arrays_are_turned() {
    // [[1, 2, 3], [4, 5, 6]] column by column.
    let stored = [1u8, 4, 2, 5, 3, 6];
    let f = file(&header("|u1", "True", "(2, 3)"), &stored);
    assert_eq!(read_all(&f, Element::I8, &[2, 3]).unwrap(), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn data_larger_than_a_chunk_is_read_whole() {
    let values: Vec<u8> = (0..50_001).flat_map(|i| (i as f32).to_le_bytes()).collect();
    let read = read_all(&file(&header("<f4", "False", "(50001,)"), &values), Element::Bf16, &[50_001]).unwrap();
    let expected: Vec<u8> = (0..50_001).flat_map(|i| bf16_from_f32(i as f32).to_le_bytes()).collect();
    assert_eq!(read, expected);
}

#[test]
fn wrong_shapes_and_types_name_what_was_found_and_what_is_allowed() {
    let f = |descr, shape| file(&header(descr, "False", shape), &[0; 64]);
    assert_eq!(
        read_all(&f("<u2", "(2, 16)"), Element::Bf16, &[32]).unwrap_err(),
        "the array has shape (2, 16), the argument has (32,)"
    );
    assert_eq!(
        read_all(&f("<u2", "()"), Element::Bf16, &[1]).unwrap_err(),
        "the array has shape (), the argument has (1,)"
    );
    assert_eq!(
        read_all(&f("<f8", "(8,)"), Element::Bf16, &[8]).unwrap_err(),
        "the array has dtype '<f8', the argument takes u2, V2, f4"
    );
    assert_eq!(
        read_all(&f("<f2", "(32,)"), Element::I16, &[32]).unwrap_err(),
        "the array has dtype '<f2', the argument takes i2, u2"
    );
    let record = "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }";
    assert_eq!(
        read_all(&file(record, &[0; 8]), Element::F32, &[2]).unwrap_err(),
        "the array has dtype [('a', '<f4'), ], the argument takes f4"
    );
}

#[test]
fn short_and_long_files_are_refused() {
    let f = |bytes: &[u8]| file(&header("<f4", "False", "(4,)"), bytes);
    let read = |file: &[u8]| read_all(file, Element::F32, &[4]).unwrap_err();
    assert_eq!(read(&f(&[0; 15])), "the file holds 15 bytes of data, its header says 16");
    assert_eq!(read(&f(&[0; 19])), "the file holds 19 bytes of data, its header says 16");
    assert_eq!(read(b"\x93NUM"), "not an .npy file: it ends within the header");
    assert_eq!(read(&[0; 64]), "not an .npy file: it does not start with the magic bytes");
    let whole = f(&[0; 16]);
    for length in 0..whole.len() {
        read_all(&whole[..length], Element::F32, &[4]).unwrap_err();
    }
}

#[test]
fn hostile_headers_end_in_errors() {
    let read = |header: &str| read_all(&file(header, &[]), Element::F32, &[4]).unwrap_err();
    let deep = format!("{}{}", "(".repeat(30_000), ")".repeat(30_000));
    assert_eq!(read(&deep), "not an .npy file: its header is nested too deeply");
    let huge = header("<f4", "False", "(4294967296, 4294967296, 0)");
    assert_eq!(read(&huge), "not an .npy file: its shape is too large");
    assert_eq!(read(&header("<f4", "False", "(99999999999999999999999,)")), "not an .npy file: its shape is too large");
    for text in ["", "{}", "[]", "{'descr': '<f4'}", "\u{e9}", "{'descr': 'é', 'fortran_order': False, 'shape': (4,)}"]
    {
        assert!(read(text).starts_with("not an .npy file: "), "{text}");
    }
    let mut long = b"\x93NUMPY\x02\x00".to_vec();
    long.extend(u32::MAX.to_le_bytes());
    assert_eq!(
        read_all(&long, Element::F32, &[4]).unwrap_err(),
        "not an .npy file: its header is longer than any that NumPy writes"
    );
}

#[test]
fn no_byte_of_a_header_can_do_harm() {
    let whole = file(&header("<f4", "False", "(2, 2)"), &[0; 16]);
    let mut accepted = 0;
    for at in 0..whole.len() - 16 {
        for value in 0..=255 {
            let mut bytes = whole.clone();
            bytes[at] = value;
            accepted += usize::from(read_all(&bytes, Element::F32, &[2, 2]).is_ok());
        }
    }
    // Other blanks, quotes and the like: few.
    assert!(accepted < whole.len() * 8, "{accepted} of {}", whole.len() * 256);
}

#[test]
fn writing_bytes_that_do_not_fit_the_shape_is_an_error() {
    let error = write(&mut Vec::new(), Element::F32, &[4], &[0; 15]).unwrap_err();
    assert_eq!(error.to_string(), "15 bytes for an array of 16");
}
