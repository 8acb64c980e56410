//! Two whole modules.

use std::rc::Rc;

use airlink_ir::{OperationRef, attr, children, function_body, name};

use super::{Difference, NameKind, Same, Symbols};

/// Compares two modules; empty if they are the same program.
pub fn modules<'c, 'a>(a: OperationRef<'c, 'a>, b: OperationRef<'c, 'a>) -> Vec<Difference<'c, 'a>> {
    let mut same = Same::new(Rc::new(Symbols::of(a)), Rc::new(Symbols::of(b)));
    same.attributes_except(a, b, &["sym_name"]);
    same.public_functions(a, b);
    same.definitions();
    same.the_rest();
    same.links();
    same.differences
}

impl<'c, 'a> Same<'c, 'a> {
    /// Public functions pair up by name, and those left by order.
    fn public_functions(&mut self, a: OperationRef<'c, 'a>, b: OperationRef<'c, 'a>) {
        let (left_a, mut left_b) = (public_functions(a), public_functions(b));
        let mut unnamed = Vec::new();
        for f in left_a {
            match left_b.iter().position(|g| attr::string(*g, "sym_name") == attr::string(f, "sym_name")) {
                Some(i) => {
                    let g = left_b.remove(i);
                    self.bind_symbols(f, g);
                }
                None => unnamed.push(f),
            }
        }
        for (f, g) in unnamed.into_iter().zip(left_b) {
            self.bind_symbols(f, g);
        }
    }

    /// Compares the definitions whose names are bound, and those that they bind in turn.
    pub fn definitions(&mut self) {
        while let Some((a, b)) = self.pending.pop_front() {
            if self.is_full() {
                return;
            }
            if name(a) == name(b) {
                self.op(a, b);
            } else {
                self.differ(Some(a), Some(b), format!("`{}` against `{}`", name(a), name(b)));
            }
        }
        self.judge_references();
    }

    /// Symbols that nothing refers to pair up by name, else with the first of their kind that is left.
    fn the_rest(&mut self) {
        let rest_a: Vec<_> = self.symbols_a.iter().filter(|op| !self.has_partner(*op, true)).collect();
        for a in rest_a {
            let kind = NameKind::of_symbol(a);
            let is_left = |op: &OperationRef<'c, 'a>| NameKind::of_symbol(*op) == kind && !self.has_partner(*op, false);
            let by_name = self.symbols_b.get(symbol(a)).filter(is_left);
            match by_name.or_else(|| self.symbols_b.iter().find(is_left)) {
                Some(b) => {
                    self.bind_symbols(a, b);
                    self.definitions();
                }
                None => {
                    self.differ(Some(a), None, format!("{} `@{}` has no partner", kind.as_str(), symbol(a)));
                }
            }
        }
        let rest_b: Vec<_> = self.symbols_b.iter().filter(|op| !self.has_partner(*op, false)).collect();
        for b in rest_b {
            self.differ(None, Some(b), format!("{} `@{}` has no partner", NameKind::of_symbol(b).as_str(), symbol(b)));
        }
    }

    fn has_partner(&self, op: OperationRef<'c, 'a>, is_a: bool) -> bool {
        let kind = NameKind::of_symbol(op);
        match is_a {
            true => self.names.get(kind, symbol(op)).is_some(),
            false => self.names.source(kind, symbol(op)).is_some(),
        }
    }

    /// Compares the objects of externs and herds: a file counts, unless it maps along with its symbol.
    fn links(&mut self) {
        let externs: Vec<_> = self.symbols_a.iter().filter(|op| NameKind::of_symbol(*op) == NameKind::Extern).collect();
        let mut files = std::collections::BTreeSet::new();
        for x in externs {
            let Some(y) = self.names.get(NameKind::Extern, symbol(x)).and_then(|n| self.symbols_b.get(n)) else {
                continue;
            };
            let (file_x, file_y) = (attr::string(x, "link_with"), attr::string(y, "link_with"));
            if file_x != file_y && symbol(x) == symbol(y) {
                let text = format!("`@{}` links with {file_x:?} against {file_y:?}", symbol(x));
                self.differ(Some(x), Some(y), text);
            }
            files.insert((file_x.unwrap_or_default(), file_y.unwrap_or_default()));
        }
        for (x, y) in std::mem::take(&mut self.herds) {
            let pair =
                (attr::string(x, "link_with").unwrap_or_default(), attr::string(y, "link_with").unwrap_or_default());
            if pair.0 != pair.1 && !files.contains(&pair) {
                let text = format!("a herd links with {:?} against {:?}", pair.0, pair.1);
                self.differ(Some(x), Some(y), text);
            }
        }
    }
}

fn symbol<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> &'a str {
    attr::string(op, "sym_name").unwrap_or_default()
}

fn public_functions<'c, 'a>(module: OperationRef<'c, 'a>) -> Vec<OperationRef<'c, 'a>> {
    children(module)
        .into_iter()
        .filter(|op| name(*op) == "func.func" && function_body(*op).is_some())
        .filter(|op| !matches!(attr::string(*op, "sym_visibility"), Some("private" | "nested")))
        .collect()
}
