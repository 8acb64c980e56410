//! Attributes under the bijection of names.

use airlink_ir::melior::ir::attribute::AttributeLike;
use airlink_ir::melior::ir::operation::OperationLike;
use airlink_ir::{Attribute, OperationRef, attr, name};

use super::{NameKind, Same};

impl<'c, 'a> Same<'c, 'a> {
    /// Compares every attribute of two ops of one name.
    pub(crate) fn attributes(&mut self, a: OperationRef<'c, 'a>, b: OperationRef<'c, 'a>) -> bool {
        self.attributes_except(a, b, self.ignored_attributes)
    }

    /// Compares the attributes of two ops but for those named.
    pub fn attributes_except(&mut self, a: OperationRef<'c, 'a>, b: OperationRef<'c, 'a>, except: &[&str]) -> bool {
        let mut same = true;
        for (key, x) in attr::all(a) {
            if except.contains(&key) {
                continue;
            }
            match b.attribute(key) {
                Ok(y) => {
                    let is_equal = match self.shifted_list(a, b, key) {
                        Some(is_shifted) => is_shifted,
                        None => self.named_attribute(a, key, x, y),
                    };
                    if !is_equal {
                        let text = format!("`{key}` of `{}` is {x} against {y}", name(a));
                        same = self.differ(Some(a), Some(b), text);
                    }
                }
                Err(_) => {
                    same = self.differ(Some(a), Some(b), format!("`{}` lost its attribute `{key} = {x}`", name(a)));
                }
            }
        }
        for (key, y) in attr::all(b) {
            if !except.contains(&key) && a.attribute(key).is_err() && !self.is_merged(b, key, y) {
                same = self.differ(Some(a), Some(b), format!("`{}` gained the attribute `{key} = {y}`", name(a)));
            }
        }
        same
    }

    /// Whether a declaration has an attribute from another one that the plan merged it with. Which object it links with
    /// is compared with the plan elsewhere.
    fn is_merged(&self, declaration: OperationRef<'c, 'a>, key: &str, value: Attribute<'c>) -> bool {
        if self.merged.is_empty() || name(declaration) != "func.func" {
            return false;
        }
        let symbol = attr::string(declaration, "sym_name").unwrap_or_default();
        let planned = self.merged.get(&(symbol.to_string(), key.to_string()));
        planned.is_some_and(|text| key == "link_with" || *text == value.to_string())
    }

    fn named_attribute(&mut self, op: OperationRef<'c, 'a>, key: &str, x: Attribute<'c>, y: Attribute<'c>) -> bool {
        match (key, attr::as_string(x), attr::as_string(y)) {
            // A label for whoever gives the op its meaning: nothing refers to it, and no plan renames it.
            ("sym_name", Some(x), Some(y)) if name(op) == "air.custom" => x == y,
            ("sym_name", Some(x), Some(y)) => match NameKind::of_hierarchy(op) {
                Some(kind) => self.names.bind(kind, x, y),
                None => self.names.bind(NameKind::of_symbol(op), x, y),
            },
            // Objects are judged apart: against each other by `Same::links`, against a plan with the launch.
            ("link_with", Some(_), Some(_)) => true,
            _ => self.attribute(x, y),
        }
    }

    /// Whether two attributes are equal once symbol references are mapped.
    pub(super) fn attribute(&mut self, x: Attribute<'c>, y: Attribute<'c>) -> bool {
        if x == y && !has_symbol(x) {
            return true;
        }
        if let (Some(x), Some(y)) = (attr::symbol_path(x), attr::symbol_path(y)) {
            return x.len() == y.len() && x.iter().zip(&y).all(|(x, y)| self.symbol(x, y));
        }
        if let (Some(_), Some(_)) = (attr::resource_key(x), attr::resource_key(y)) {
            return attr::resource_bytes(x) == attr::resource_bytes(y) && resource_type(x) == resource_type(y);
        }
        let (list_x, list_y) = (attr::elements(x), attr::elements(y));
        if !list_x.is_empty() && list_x.len() == list_y.len() {
            return list_x.into_iter().zip(list_y).all(|(x, y)| self.attribute(x, y));
        }
        let (dict_x, dict_y) = (attr::entries(x), attr::entries(y));
        !dict_x.is_empty()
            && dict_x.len() == dict_y.len()
            && dict_x.into_iter().zip(dict_y).all(|((k, x), (l, y))| k == l && self.attribute(x, y))
    }

    /// A reference by name. The first part names a symbol of the module, whose definition is then compared too; a launch,
    /// segment or herd of that name must have the other as its partner, and what nothing defines must be called the same.
    fn symbol(&mut self, x: &str, y: &str) -> bool {
        match (self.symbols_a.get(x), self.symbols_b.get(y)) {
            (Some(a), Some(b)) => self.bind_symbols(a, b),
            (None, None) => {
                // The op of that name may come later: judged when all names are bound.
                self.references.push((x.to_string(), y.to_string()));
                true
            }
            _ => false,
        }
    }

    /// Judges the references to what is no symbol of the module, once every launch, segment and herd has its partner.
    pub(super) fn judge_references(&mut self) {
        for (x, y) in std::mem::take(&mut self.references) {
            let kinds = [NameKind::Herd, NameKind::Segment, NameKind::Launch];
            let partners: Vec<&str> = kinds.into_iter().filter_map(|kind| self.names.get(kind, &x)).collect();
            let is_same = if partners.is_empty() { x == y } else { partners.contains(&y.as_str()) };
            if !is_same {
                self.differ(None, None, format!("a reference to `@{x}` is one to `@{y}`"));
            }
        }
    }

    /// Says that definition `a` is definition `b`, to be compared later; false if either has another partner.
    pub fn bind_symbols(&mut self, a: OperationRef<'c, 'a>, b: OperationRef<'c, 'a>) -> bool {
        let (kind, kind_b) = (NameKind::of_symbol(a), NameKind::of_symbol(b));
        let (Some(x), Some(y)) = (attr::string(a, "sym_name"), attr::string(b, "sym_name")) else { return false };
        let is_new = self.names.get(kind, x).is_none();
        if kind != kind_b || !self.names.bind(kind, x, y) {
            return false;
        }
        if is_new {
            self.pending.push_back((a, b));
        }
        true
    }
}

fn resource_type(attribute: Attribute<'_>) -> String {
    attribute.r#type().to_string()
}

fn has_symbol(attribute: Attribute<'_>) -> bool {
    attr::symbol_path(attribute).is_some()
        || attr::elements(attribute).into_iter().any(has_symbol)
        || attr::entries(attribute).into_iter().any(|(_, a)| has_symbol(a))
}
