//! Reading attributes. melior's own string accessors panic on the empty string, which real modules hold.

use melior::ir::attribute::AttributeLike;
use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, OperationRef};
use mlir_sys as m;

/// A string that MLIR owns. Text that is not UTF-8 reads as empty.
///
/// # Safety
/// `raw` must point to `length` bytes that live as long as `'a`.
pub(crate) unsafe fn text<'a>(raw: m::MlirStringRef) -> &'a str {
    if raw.length == 0 {
        return "";
    }
    // SAFETY: by the contract above.
    std::str::from_utf8(unsafe { std::slice::from_raw_parts(raw.data.cast(), raw.length) }).unwrap_or_default()
}

/// A `&str` as MLIR takes it.
pub(crate) fn raw(text: &str) -> m::MlirStringRef {
    m::MlirStringRef { data: text.as_ptr().cast(), length: text.len() }
}

/// The value of a string attribute of `op`.
pub fn string<'c: 'a, 'a>(op: OperationRef<'c, 'a>, name: &str) -> Option<&'a str> {
    as_string(op.attribute(name).ok()?)
}

/// The text of a string attribute; `None` for another kind.
pub fn as_string<'c>(attribute: Attribute<'c>) -> Option<&'c str> {
    // SAFETY: the attribute is valid; its text lives in the context.
    unsafe {
        m::mlirAttributeIsAString(attribute.to_raw()).then(|| text(m::mlirStringAttrGetValue(attribute.to_raw())))
    }
}

/// The name in a symbol reference attribute without nested parts; `None` for another kind.
pub fn flat_symbol<'c: 'a, 'a>(op: OperationRef<'c, 'a>, name: &str) -> Option<&'a str> {
    let attribute = op.attribute(name).ok()?;
    // SAFETY: the attribute is valid; its text lives in the context.
    unsafe {
        m::mlirAttributeIsAFlatSymbolRef(attribute.to_raw())
            .then(|| text(m::mlirFlatSymbolRefAttrGetValue(attribute.to_raw())))
    }
}

/// Every attribute of `op` by name, inherent ones included, in MLIR's order: sorted by name.
pub fn all<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Vec<(&'a str, Attribute<'c>)> {
    (0..op.attribute_count())
        .filter_map(|i| {
            // SAFETY: `i` is in range; the name lives in the context.
            let named = unsafe { m::mlirOperationGetAttribute(op.to_raw(), i as isize) };
            let name = unsafe { text(m::mlirIdentifierStr(named.name)) };
            // SAFETY: attributes of a valid op are valid.
            Some((name, unsafe { Attribute::from_option_raw(named.attribute) }?))
        })
        .collect()
}

/// The elements of an array attribute; empty for another kind.
pub fn elements<'c>(attribute: Attribute<'c>) -> Vec<Attribute<'c>> {
    // SAFETY: the attribute is valid, indices are in range, elements live in the context.
    unsafe {
        if !m::mlirAttributeIsAArray(attribute.to_raw()) {
            return Vec::new();
        }
        (0..m::mlirArrayAttrGetNumElements(attribute.to_raw()))
            .map(|i| Attribute::from_raw(m::mlirArrayAttrGetElement(attribute.to_raw(), i)))
            .collect()
    }
}

/// The entries of a dictionary attribute; empty for another kind.
pub fn entries<'c>(attribute: Attribute<'c>) -> Vec<(&'c str, Attribute<'c>)> {
    // SAFETY: as for `elements`.
    unsafe {
        if !m::mlirAttributeIsADictionary(attribute.to_raw()) {
            return Vec::new();
        }
        (0..m::mlirDictionaryAttrGetNumElements(attribute.to_raw()))
            .map(|i| m::mlirDictionaryAttrGetElement(attribute.to_raw(), i))
            .map(|n| (text(m::mlirIdentifierStr(n.name)), Attribute::from_raw(n.attribute)))
            .collect()
    }
}

/// The value of an integer attribute, up to 64 bits.
pub fn integer(attribute: Attribute<'_>) -> Option<i64> {
    // SAFETY: the attribute is valid and an integer.
    unsafe { m::mlirAttributeIsAInteger(attribute.to_raw()).then(|| m::mlirIntegerAttrGetValueInt(attribute.to_raw())) }
}

/// The key of a `dense_resource` attribute.
pub fn resource_key(attribute: Attribute<'_>) -> Option<String> {
    // SAFETY: the attribute is valid.
    if !unsafe { m::mlirAttributeIsADenseResourceElements(attribute.to_raw()) } {
        return None;
    }
    // The C interface gives no key; it is the text between the first brackets.
    let text = attribute.to_string();
    let inner = text.strip_prefix("dense_resource<")?;
    let key = match inner.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"')?.0,
        None => inner.split_once('>')?.0,
    };
    Some(key.to_string())
}

/// The parts of a symbol reference, the module's symbol first; `None` for another kind of attribute.
pub fn symbol_path<'c>(attribute: Attribute<'c>) -> Option<Vec<&'c str>> {
    // SAFETY: the attribute is valid and a symbol reference; positions are in range; texts live in the context.
    unsafe {
        let raw = attribute.to_raw();
        if !m::mlirAttributeIsASymbolRef(raw) {
            return None;
        }
        let nested = (0..m::mlirSymbolRefAttrGetNumNestedReferences(raw))
            .map(|i| text(m::mlirSymbolRefAttrGetRootReference(m::mlirSymbolRefAttrGetNestedReference(raw, i))));
        Some(std::iter::once(text(m::mlirSymbolRefAttrGetRootReference(raw))).chain(nested).collect())
    }
}

/// The bytes of a `dense_resource` attribute; none for another kind.
pub fn resource_bytes<'c>(attribute: Attribute<'c>) -> &'c [u8] {
    // SAFETY: the attribute is valid; its blob lives in the context.
    unsafe {
        let raw = airlink_mlir_sys::airlinkDenseResourceBytes(attribute.to_raw());
        if raw.length == 0 { &[] } else { std::slice::from_raw_parts(raw.data.cast(), raw.length) }
    }
}

/// The elements of a dense array of i64; `None` for another kind of attribute.
pub fn i64_array(attribute: Attribute<'_>) -> Option<Vec<i64>> {
    // SAFETY: the attribute is valid and of the kind; positions are in range.
    unsafe {
        let raw = attribute.to_raw();
        if !m::mlirAttributeIsADenseI64Array(raw) {
            return None;
        }
        Some((0..m::mlirDenseArrayGetNumElements(raw)).map(|i| m::mlirDenseI64ArrayGetElement(raw, i)).collect())
    }
}
