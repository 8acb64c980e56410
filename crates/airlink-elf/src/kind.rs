//! What a file is, for messages about files that are not what was asked for.

/// What the bytes are, as a noun phrase for messages: `a static library (ar archive)`.
///
/// Goes by the first bytes alone; an ELF file is `an ELF file` or `an ELF object` here, whatever is wrong with it.
pub fn file_kind(bytes: &[u8]) -> &'static str {
    if bytes.is_empty() {
        return "an empty file";
    }
    if let Some(what) = binary_kind(bytes) {
        return what;
    }
    let head = &bytes[..bytes.len().min(4096)];
    match std::str::from_utf8(head) {
        Ok(text) if text.contains("define ") && text.contains("target ") => "LLVM IR as text",
        Ok(text) if looks_like_mlir(text) => "MLIR as text",
        Ok(text) if !text.contains('\0') => "a text file",
        _ => "a file of no known kind",
    }
}

/// What a file of a known binary format is; none for text and for the unknown.
pub fn binary_kind(bytes: &[u8]) -> Option<&'static str> {
    // `e_type` of a relocatable file, in either byte order.
    if bytes.starts_with(b"\x7fELF") && matches!(bytes.get(16..18), Some([1, 0] | [0, 1])) {
        return Some("an ELF object");
    }
    let known = MAGICS.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, what)| *what);
    known.or_else(|| is_coff(bytes).then_some("a COFF object"))
}

const MAGICS: &[(&[u8], &str)] = &[
    (b"\x7fELF", "an ELF file"),
    (b"!<arch>\n", "a static library (ar archive)"),
    (b"!<thin>\n", "a thin static library (ar archive)"),
    (b"BC\xc0\xde", "LLVM bitcode"),
    (b"\xde\xc0\x17\x0b", "LLVM bitcode (wrapped)"),
    (b"ML\xefR", "MLIR bytecode"),
    (b"\xfe\xed\xfa\xce", "a Mach-O object"),
    (b"\xfe\xed\xfa\xcf", "a Mach-O object"),
    (b"\xce\xfa\xed\xfe", "a Mach-O object"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O object"),
    (b"\xca\xfe\xba\xbe", "a Mach-O universal file"),
    (b"\0asm", "a WebAssembly module"),
    (b"MZ", "a Windows executable"),
    (b"xclbin2\0", "an xclbin"),
    (b"\x1f\x8b", "a gzip file"),
    (b"PK\x03\x04", "a zip file"),
];

/// COFF has no magic: a known machine, then a plausible section count and no optional header.
fn is_coff(bytes: &[u8]) -> bool {
    let (Some(machine), Some(&[optional_lo, optional_hi])) = (bytes.get(..2), bytes.get(16..18)) else { return false };
    matches!(machine, b"\x64\x86" | b"\x4c\x01" | b"\x64\xaa") && optional_lo == 0 && optional_hi == 0
}

fn looks_like_mlir(text: &str) -> bool {
    ["func.func", "module {", "module @", "aie.device", "air.launch"].iter().any(|w| text.contains(w))
}
