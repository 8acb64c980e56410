//! Named parts of buffers, at the top of the fused function.

use airlink_graph::{LaunchGraph, View};
use airlink_ir::edit::parse_type;
use airlink_ir::melior::ir::attribute::{DenseI32ArrayAttribute, DenseI64ArrayAttribute};
use airlink_ir::melior::ir::block::BlockLike;
use airlink_ir::melior::ir::operation::OperationBuilder;
use airlink_ir::melior::ir::{Identifier, Location, ValueLike};
use airlink_ir::{Type, Value};
use airlink_kernel::{KernelType, MemRefType};
use airlink_plan::ElfPlan;

use crate::Fused;

impl<'c> Fused<'c> {
    /// Makes a value for each view of the ELF, in graph order: a subview, and a cast where the view's type asks for it.
    /// A view whose offset is folded into access lists starts where its buffer does.
    pub fn add_views(&mut self, graph: &LaunchGraph, elf: &ElfPlan) {
        for &index in &elf.views {
            let view = graph.view(index);
            let Some(arg) = elf.args.iter().position(|a| a.buffer == view.of) else { continue };
            let Some(buffer) = elf.args[arg].ty.as_memref() else { continue };
            let mut part = view.clone();
            if view.is_folded() {
                part.offsets.fill(0);
                part.offset_elements = 0;
            }
            let value = self.subview(self.args[arg], buffer, &part);
            let value = self.cast(value, parse_type(self.ir, &view.ty.to_string()));
            self.views.insert(index, value);
        }
    }

    fn subview(&self, source: Value<'c, 'c>, buffer: &MemRefType, view: &View) -> Value<'c, 'c> {
        let context = self.ir.context();
        let list = |values: &[u64]| DenseI64ArrayAttribute::new(context, &signed(values)).into();
        let named = |name, attribute| (Identifier::new(context, name), attribute);
        let result = parse_type(self.ir, &subview_type(buffer, view));
        let op = OperationBuilder::new("memref.subview", Location::unknown(context))
            .add_operands(&[source])
            .add_attributes(&[
                named("static_offsets", list(&view.offsets)),
                named("static_sizes", list(&view.sizes)),
                named("static_strides", list(&view.strides)),
                named("operandSegmentSizes", DenseI32ArrayAttribute::new(context, &[1, 0, 0, 0]).into()),
            ])
            .add_results(&[result])
            .build()
            .expect("a subview builds");
        self.block.append_operation(op).result(0).expect("it has a result").into()
    }

    fn cast(&self, value: Value<'c, 'c>, wanted: Type<'c>) -> Value<'c, 'c> {
        if value.r#type() == wanted {
            return value;
        }
        let op = OperationBuilder::new("memref.cast", Location::unknown(self.ir.context()))
            .add_operands(&[value])
            .add_results(&[wanted])
            .build()
            .expect("a cast builds");
        self.block.append_operation(op).result(0).expect("it has a result").into()
    }
}

fn signed(values: &[u64]) -> Vec<i64> {
    values.iter().map(|v| *v as i64).collect()
}

/// The type of a subview: extents and strides of the buffer, without the unit dimensions that the view's own type does
/// not have.
fn subview_type(buffer: &MemRefType, view: &View) -> String {
    let extents: Vec<u64> = buffer.shape.iter().map(|d| d.unwrap_or(1)).collect();
    let mut strides = vec![1u64; extents.len()];
    for i in (1..extents.len()).rev() {
        strides[i - 1] = strides[i] * extents[i];
    }
    let wanted = match &view.ty {
        KernelType::MemRef(m) => m.shape.clone(),
        KernelType::Other(_) => Vec::new(),
    };
    let mut kept = Vec::new();
    let mut left = &wanted[..];
    let mut to_drop = view.sizes.len().saturating_sub(wanted.len());
    for (i, &size) in view.sizes.iter().enumerate() {
        let is_unit_to_drop = size == 1 && to_drop > 0 && left.first() != Some(&Some(1));
        if is_unit_to_drop {
            to_drop -= 1;
            continue;
        }
        left = left.get(1..).unwrap_or_default();
        kept.push((size, strides[i] * view.strides[i]));
    }
    let shape: String = kept.iter().map(|(size, _)| format!("{size}x")).collect();
    let strides: Vec<String> = kept.iter().map(|(_, stride)| stride.to_string()).collect();
    let offset = match view.offset_elements {
        0 => String::new(),
        n => format!(", offset: {n}"),
    };
    let space = buffer.space.as_ref().map_or(String::new(), |s| format!(", {s}"));
    format!("memref<{shape}{}, strided<[{}]{offset}>{space}>", buffer.element, strides.join(", "))
}
