//! The symbols of one module.

use std::collections::BTreeMap;

use airlink_ir::{OperationRef, attr, children};

/// Every module-level symbol by name.
#[derive(Clone, Default)]
pub struct Symbols<'c, 'a> {
    by_name: BTreeMap<&'a str, OperationRef<'c, 'a>>,
    in_order: Vec<OperationRef<'c, 'a>>,
}

impl<'c, 'a> Symbols<'c, 'a> {
    pub fn of(module: OperationRef<'c, 'a>) -> Self {
        let mut symbols = Symbols::default();
        for op in children(module) {
            if let Some(name) = attr::string(op, "sym_name") {
                symbols.by_name.insert(name, op);
                symbols.in_order.push(op);
            }
        }
        symbols
    }

    pub fn get(&self, name: &str) -> Option<OperationRef<'c, 'a>> {
        self.by_name.get(name).copied()
    }

    /// In text order.
    pub fn iter(&self) -> impl Iterator<Item = OperationRef<'c, 'a>> {
        self.in_order.iter().copied()
    }
}
