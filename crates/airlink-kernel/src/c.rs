//! The C side of an extern.

use crate::KernelType;

/// The C prototype of an extern on the host: ``void f(uint16_t *a0, int32_t a1)``. `None` for operands that have no place
/// in it.
///
/// A memref of any rank and space is one pointer to its first element, in row-major order; scalars go by value. An `index`
/// has 32 bits, as on the NPU; 16-bit floats are passed as their bits. `mlir/lib/Host/Externs.cpp` makes the calls.
pub fn c_prototype(symbol: &str, inputs: &[KernelType]) -> Option<String> {
    let operand = |(i, ty): (usize, &KernelType)| {
        Some(match ty {
            KernelType::MemRef(m) => format!("{} *a{i}", c_type(&m.element)?),
            KernelType::Other(text) => format!("{} a{i}", if text == "index" { "int32_t" } else { c_type(text)? }),
        })
    };
    let operands: Vec<String> = inputs.iter().enumerate().map(operand).collect::<Option<_>>()?;
    let list = if operands.is_empty() { "void".to_string() } else { operands.join(", ") };
    Some(format!("void {symbol}({list})"))
}

/// The C type of an element, or of a scalar but for `index`.
fn c_type(element: &str) -> Option<&'static str> {
    Some(match element {
        "bf16" | "f16" => "uint16_t",
        "i16" => "int16_t",
        "f32" => "float",
        "f64" => "double",
        "i1" => "uint8_t",
        "i8" => "int8_t",
        "i32" => "int32_t",
        "i64" | "index" => "int64_t",
        "si8" => "int8_t",
        "ui8" => "uint8_t",
        "si16" => "int16_t",
        "ui16" => "uint16_t",
        "si32" => "int32_t",
        "ui32" => "uint32_t",
        "si64" => "int64_t",
        "ui64" => "uint64_t",
        _ => return None,
    })
}
