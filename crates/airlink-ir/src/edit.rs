//! Edits of IR: taking ops and blocks from where they are, operands, uses and attributes.
//!
//! References to ops and blocks are copies that melior does not tie to what they point to. Whoever erases an op must
//! not use a reference to it again; the functions here that erase say so.

use airlink_mlir_sys as sys;
use melior::ir::attribute::AttributeLike;
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, OperationMutLike, OperationRefMut};
use melior::ir::{
    Attribute, BlockRef, Module, Operation, OperationRef, RegionLike, RegionRef, Type, TypeLike, Value, ValueLike,
};
use mlir_sys as m;

use crate::attr;

/// Takes an op out of its block, or out of nowhere; the caller owns it now.
pub fn detach<'c>(op: OperationRef<'c, '_>) -> Operation<'c> {
    // SAFETY: the op is valid, and after the removal nothing else owns it.
    unsafe {
        m::mlirOperationRemoveFromParent(op.to_raw());
        Operation::from_raw(op.to_raw())
    }
}

/// Erases an op whose results nothing uses. References to it and into it are dead.
pub fn erase(op: OperationRef<'_, '_>) {
    drop(detach(op));
}

/// A copy of a module.
pub fn clone_module<'c>(module: &Module<'c>) -> Module<'c> {
    // SAFETY: the clone of a module op is a module op that nothing else owns.
    unsafe { Module::from_raw(m::mlirModuleFromOperation(m::mlirOperationClone(module.as_operation().to_raw()))) }
}

/// Uses `with` wherever `of` is used.
pub fn replace_uses<'c>(of: Value<'c, '_>, with: Value<'c, '_>) {
    // SAFETY: both values are valid.
    unsafe { m::mlirValueReplaceAllUsesOfWith(of.to_raw(), with.to_raw()) }
}

/// Whether anything uses the value.
pub fn is_used(value: Value<'_, '_>) -> bool {
    // SAFETY: the value is valid.
    unsafe { !m::mlirOpOperandIsNull(m::mlirValueGetFirstUse(value.to_raw())) }
}

pub fn set_operand<'c, 'a>(op: OperationRef<'c, 'a>, index: usize, value: Value<'c, 'a>) {
    assert!(index < op.operand_count(), "operand out of range");
    // SAFETY: the op is valid and the index in range.
    unsafe { m::mlirOperationSetOperand(op.to_raw(), index as isize, value.to_raw()) }
}

/// Gives a value another type; whoever uses it must agree.
pub fn set_type<'c>(value: Value<'c, '_>, ty: Type<'c>) {
    // SAFETY: the value and the type are valid, and of one context.
    unsafe { m::mlirValueSetType(value.to_raw(), ty.to_raw()) }
}

pub fn set_attribute<'c, 'a>(op: OperationRef<'c, 'a>, name: &str, value: Attribute<'c>) {
    // SAFETY: the op is valid, and so is its raw reference as long as `op` is.
    let mut op = unsafe { OperationRefMut::from_raw(op.to_raw()) };
    op.set_attribute(name, value);
}

/// Removes an attribute; false if there was none.
pub fn remove_attribute<'c, 'a>(op: OperationRef<'c, 'a>, name: &str) -> bool {
    // SAFETY: as for `set_attribute`.
    let mut op = unsafe { OperationRefMut::from_raw(op.to_raw()) };
    op.remove_attribute(name).is_ok()
}

/// Appends an op that lives elsewhere to `block`; it stays the same op.
pub fn move_to_end<'c, 'a>(op: OperationRef<'c, 'a>, block: BlockRef<'c, 'a>) {
    block.append_operation(detach(op));
}

/// Appends a block that lives elsewhere to `region`; it stays the same block.
pub fn move_block<'c, 'a>(block: BlockRef<'c, 'a>, region: RegionRef<'c, 'a>) {
    // SAFETY: both are valid; a detached block has no owner until the region takes it.
    unsafe {
        m::mlirBlockDetach(block.to_raw());
        m::mlirRegionAppendOwnedBlock(region.to_raw(), block.to_raw());
    }
}

/// Parses a type of our own making.
///
/// # Panics
/// If the text is no type: that is a bug of the caller.
pub fn parse_type<'c>(ir: &'c crate::Ir, text: &str) -> Type<'c> {
    Type::parse(ir.context(), text).unwrap_or_else(|| panic!("`{text}` is no type"))
}

/// A dictionary attribute.
pub fn dictionary<'c>(ir: &'c crate::Ir, entries: &[(&str, Attribute<'c>)]) -> Attribute<'c> {
    let named: Vec<_> = entries
        .iter()
        .map(|(name, attribute)| m::MlirNamedAttribute {
            // SAFETY: the context and the text are valid.
            name: unsafe { m::mlirIdentifierGet(ir.context().to_raw(), attr::raw(name)) },
            attribute: attribute.to_raw(),
        })
        .collect();
    // SAFETY: the pointer and the length belong together.
    unsafe {
        Attribute::from_raw(m::mlirDictionaryAttrGet(ir.context().to_raw(), named.len() as isize, named.as_ptr()))
    }
}

/// A reference to the same op that is not tied to a borrow of its module, so that a builder can keep the module and
/// places in it. It must not outlive the module.
pub fn untied<'c>(op: OperationRef<'c, '_>) -> OperationRef<'c, 'c> {
    // SAFETY: the op is valid; how long is the caller's promise, as with every reference that melior hands out.
    unsafe { OperationRef::from_raw(op.to_raw()) }
}

/// As [`untied`], for a block.
pub fn untied_block<'c>(block: BlockRef<'c, '_>) -> BlockRef<'c, 'c> {
    // SAFETY: as for `untied`.
    unsafe { BlockRef::from_raw(block.to_raw()) }
}

/// Renames symbols below `root`: definitions and every reference, in one walk. Strings never change.
pub fn rename_symbols(root: OperationRef<'_, '_>, ir: &crate::Ir, names: &[(&str, &str)]) {
    if names.is_empty() {
        return;
    }
    let from: Vec<_> = names.iter().map(|(old, _)| attr::raw(old)).collect();
    let to: Vec<_> = names.iter().map(|(_, new)| attr::raw(new)).collect();
    // SAFETY: both lists have the length given and outlive the call.
    unsafe {
        sys::airlinkReplaceSymbolUses(root.to_raw(), names.len() as isize, from.as_ptr(), to.as_ptr());
    }
    for op in crate::children(root) {
        let Some(old) = attr::string(op, "sym_name") else { continue };
        if let Some((_, new)) = names.iter().find(|(name, _)| *name == old) {
            set_attribute(op, "sym_name", string(ir, new));
        }
    }
}

/// Gives the dense resources below `root` other keys; the bytes are shared.
pub fn rename_resources(root: OperationRef<'_, '_>, names: &[(&str, &str)]) {
    if names.is_empty() {
        return;
    }
    let from: Vec<_> = names.iter().map(|(old, _)| attr::raw(old)).collect();
    let to: Vec<_> = names.iter().map(|(_, new)| attr::raw(new)).collect();
    // SAFETY: as for `rename_symbols`.
    unsafe {
        sys::airlinkRenameDenseResources(root.to_raw(), names.len() as isize, from.as_ptr(), to.as_ptr());
    }
}

/// The attributes of a function's argument, by name.
pub fn argument_attributes<'c>(function: OperationRef<'c, '_>, index: usize) -> Vec<(&'c str, Attribute<'c>)> {
    // SAFETY: the op is valid; an index out of range gives null.
    let raw = unsafe { sys::airlinkFunctionGetArgumentAttributes(function.to_raw(), index as isize) };
    // SAFETY: a non-null attribute is valid.
    unsafe { Attribute::from_option_raw(raw) }.map_or(Vec::new(), attr::entries)
}

/// Sets an attribute of a function's argument; false if there is no such argument.
pub fn set_argument_attribute<'c>(
    function: OperationRef<'c, '_>,
    index: usize,
    name: &str,
    attribute: Attribute<'c>,
) -> bool {
    // SAFETY: the op, the text and the attribute are valid.
    unsafe {
        sys::airlinkFunctionSetArgumentAttribute(function.to_raw(), index as isize, attr::raw(name), attribute.to_raw())
    }
}

/// A string attribute.
pub fn string<'c>(ir: &'c crate::Ir, text: &str) -> Attribute<'c> {
    melior::ir::attribute::StringAttribute::new(ir.context(), text).into()
}
