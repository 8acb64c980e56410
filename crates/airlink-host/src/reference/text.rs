//! A writer of MLIR text for one kernel function: values with their types, loops, and the few ops that kernels need.

use std::fmt::{Display, Write};

/// Element types that kernel code computes with. bf16 travels as [`Elem::I16`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Elem {
    I1,
    I8,
    I16,
    I32,
    I64,
    F32,
    F64,
    Ptr,
}

/// A scalar (one lane) or a 1-D vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ty {
    pub elem: Elem,
    pub lanes: u32,
}

/// An SSA value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    id: u32,
    pub ty: Ty,
}

/// The text of a function body under construction.
pub(super) struct Body {
    text: String,
    next_id: u32,
    depth: usize,
}

pub(super) const I32: Ty = Ty::scalar(Elem::I32);
pub(super) const I64: Ty = Ty::scalar(Elem::I64);
pub(super) const PTR: Ty = Ty::scalar(Elem::Ptr);

/// A module with one function `symbol` whose arguments have the types `args`.
pub(super) fn module(symbol: &str, args: &[Ty], build: impl FnOnce(&mut Body, &[Value])) -> String {
    let mut body = Body { text: String::new(), next_id: 0, depth: 2 };
    let values: Vec<Value> = args.iter().map(|ty| body.fresh(*ty)).collect();
    build(&mut body, &values);
    let params: Vec<String> = values.iter().map(|v| format!("{v}: {}", v.ty)).collect();
    format!("module {{\n  func.func @{}({}) {{\n{}    return\n  }}\n}}\n", quoted(symbol), params.join(", "), body.text)
}

/// The text of a function that returns one value, to stand in any module. `visibility` is `private ` or nothing.
pub(super) fn function(
    visibility: &str,
    symbol: &str,
    args: &[Ty],
    result: Ty,
    build: impl FnOnce(&mut Body, &[Value]) -> Value,
) -> String {
    let mut body = Body { text: String::new(), next_id: 0, depth: 2 };
    let args: Vec<Value> = args.iter().map(|ty| body.fresh(*ty)).collect();
    let value = build(&mut body, &args);
    let params = args.iter().map(|v| format!("{v}: {}", v.ty)).collect::<Vec<_>>().join(", ");
    let (text, name) = (body.text, quoted(symbol));
    format!("  func.func {visibility}@{name}({params}) -> {result} {{\n{text}    return {value} : {result}\n  }}\n")
}

impl Ty {
    pub const fn scalar(elem: Elem) -> Ty {
        Ty { elem, lanes: 1 }
    }

    pub const fn vector(elem: Elem, lanes: u32) -> Ty {
        Ty { elem, lanes }
    }

    /// The same number of lanes of another element type.
    pub const fn of(self, elem: Elem) -> Ty {
        Ty { elem, lanes: self.lanes }
    }
}

impl Body {
    fn fresh(&mut self, ty: Ty) -> Value {
        self.next_id += 1;
        Value { id: self.next_id - 1, ty }
    }

    fn line(&mut self, text: impl Display) {
        let _ = writeln!(self.text, "{:1$}{text}", "", self.depth * 2);
    }

    fn define(&mut self, ty: Ty, text: impl Display) -> Value {
        let value = self.fresh(ty);
        self.line(format_args!("{value} = {text}"));
        value
    }

    /// An integer constant, in every lane.
    pub fn int(&mut self, ty: Ty, number: i64) -> Value {
        self.constant(ty, number)
    }

    /// A float constant, in every lane. Its bits are written, so nothing is lost on the way.
    pub fn float(&mut self, lanes: u32, number: f32) -> Value {
        self.constant(Ty::vector(Elem::F32, lanes), format_args!("0x{:08X}", number.to_bits()))
    }

    fn constant(&mut self, ty: Ty, number: impl Display) -> Value {
        match ty.lanes {
            1 => self.define(ty, format_args!("arith.constant {number} : {ty}")),
            _ => self.define(ty, format_args!("arith.constant dense<{number}> : {ty}")),
        }
    }

    /// An op on values of one type with a result of that type: `arith.addf`, `math.fma`.
    pub fn op(&mut self, name: &str, operands: &[Value]) -> Value {
        let ty = operands[0].ty;
        let list = join(operands);
        self.define(ty, format_args!("{name} {list} : {ty}"))
    }

    /// The sum of two integers.
    pub fn add(&mut self, a: Value, b: Value) -> Value {
        self.op("arith.addi", &[a, b])
    }

    /// `a + number` for an i64.
    pub fn plus(&mut self, a: Value, number: i64) -> Value {
        let number = self.int(I64, number);
        self.add(a, number)
    }

    /// `a * number` for an i64.
    pub fn times(&mut self, a: Value, number: i64) -> Value {
        let number = self.int(I64, number);
        self.op("arith.muli", &[a, number])
    }

    /// A cast, lane by lane: `arith.extui`, `arith.bitcast`.
    pub fn cast(&mut self, name: &str, value: Value, elem: Elem) -> Value {
        let to = value.ty.of(elem);
        self.define(to, format_args!("{name} {value} : {} to {to}", value.ty))
    }

    /// `arith.cmpi` or `arith.cmpf`.
    pub fn compare(&mut self, name: &str, predicate: &str, a: Value, b: Value) -> Value {
        self.define(a.ty.of(Elem::I1), format_args!("{name} {predicate}, {a}, {b} : {}", a.ty))
    }

    /// Lane by lane: `yes` where `condition` holds, else `no`.
    pub fn select(&mut self, condition: Value, yes: Value, no: Value) -> Value {
        match yes.ty.lanes {
            1 => self.define(yes.ty, format_args!("arith.select {condition}, {yes}, {no} : {}", yes.ty)),
            _ => {
                let text = format!("arith.select {condition}, {yes}, {no} : {}, {}", condition.ty, yes.ty);
                self.define(yes.ty, text)
            }
        }
    }

    /// The scalar in every lane.
    pub fn broadcast(&mut self, scalar: Value, lanes: u32) -> Value {
        let to = Ty::vector(scalar.ty.elem, lanes);
        match lanes {
            1 => scalar,
            _ => self.define(to, format_args!("vector.broadcast {scalar} : {} to {to}", scalar.ty)),
        }
    }

    /// Lanes of `a` and `b`, chosen by position in their concatenation.
    pub fn shuffle(&mut self, a: Value, b: Value, lanes: &[u32]) -> Value {
        let to = Ty::vector(a.ty.elem, lanes.len() as u32);
        let list = lanes.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        self.define(to, format_args!("vector.shuffle {a}, {b} [{list}] : {}, {}", a.ty, b.ty))
    }

    /// One lane as a scalar.
    pub fn extract(&mut self, vector: Value, lane: u32) -> Value {
        let to = Ty::scalar(vector.ty.elem);
        self.define(to, format_args!("vector.extract {vector}[{lane}] : {to} from {}", vector.ty))
    }

    /// The address of element `index` (i64) of an array of `elem`.
    pub fn address(&mut self, base: Value, elem: Elem, index: Value) -> Value {
        let elem = Ty::scalar(elem);
        self.define(PTR, format_args!("llvm.getelementptr {base}[{index}] : (!llvm.ptr, i64) -> !llvm.ptr, {elem}"))
    }

    /// Loads from an address that is aligned to `align_bytes`.
    pub fn load_at(&mut self, address: Value, ty: Ty, align_bytes: u32) -> Value {
        self.define(ty, format_args!("llvm.load {address} {{alignment = {align_bytes} : i64}} : !llvm.ptr -> {ty}"))
    }

    /// Loads `ty` from element `index` of an array of its element type.
    pub fn load(&mut self, base: Value, index: Value, ty: Ty) -> Value {
        let address = self.address(base, ty.elem, index);
        self.load_at(address, ty, ty.elem.size_bytes())
    }

    /// Stores to an address that is aligned to `align_bytes`.
    pub fn store_at(&mut self, value: Value, address: Value, align_bytes: u32) {
        let ty = value.ty;
        self.line(format_args!("llvm.store {value}, {address} {{alignment = {align_bytes} : i64}} : {ty}, !llvm.ptr"));
    }

    /// Stores to element `index` of an array of the value's element type.
    pub fn store(&mut self, value: Value, base: Value, index: Value) {
        let address = self.address(base, value.ty.elem, index);
        self.store_at(value, address, value.ty.elem.size_bytes());
    }

    /// Asks for the cache line at an address that will be read soon; any address is allowed.
    pub fn prefetch(&mut self, address: Value) {
        self.line(format_args!(
            "\"llvm.intr.prefetch\"({address}) <{{cache = 1 : i32, hint = 3 : i32, rw = 0 : i32}}> : (!llvm.ptr) -> ()"
        ));
    }

    /// A stack array. To be called outside loops.
    pub fn stack_array(&mut self, elem: Elem, count: i64) -> Value {
        let count = self.int(I64, count);
        let elem = Ty::scalar(elem);
        self.define(PTR, format_args!("llvm.alloca {count} x {elem} {{alignment = 64 : i64}} : (i64) -> !llvm.ptr"))
    }

    /// `for iv in (low..high).step_by(step)` over i64 that carries values; `each` returns their next values.
    pub fn loop_over(
        &mut self,
        (low, high, step): (Value, Value, i64),
        carried: &[Value],
        each: impl FnOnce(&mut Body, Value, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let step = self.int(I64, step);
        let results: Vec<Value> = carried.iter().map(|v| self.fresh(v.ty)).collect();
        let inner: Vec<Value> = carried.iter().map(|v| self.fresh(v.ty)).collect();
        let iv = self.fresh(I64);
        let types = carried.iter().map(|v| v.ty.to_string()).collect::<Vec<_>>().join(", ");
        let inits = inner.iter().zip(carried).map(|(i, c)| format!("{i} = {c}")).collect::<Vec<_>>().join(", ");
        let range = format!("scf.for {iv} = {low} to {high} step {step}");
        match carried {
            [] => self.line(format_args!("{range} : i64 {{")),
            _ => {
                let heads = join(&results);
                self.line(format_args!("{heads} = {range} iter_args({inits}) -> ({types}) : i64 {{"));
            }
        }
        self.depth += 1;
        let yielded = each(self, iv, &inner);
        if !carried.is_empty() {
            let list = join(&yielded);
            self.line(format_args!("scf.yield {list} : {types}"));
        }
        self.depth -= 1;
        self.line("}");
        results
    }

    /// A loop from 0 to a constant that carries nothing.
    pub fn count(&mut self, high: i64, step: i64, each: impl FnOnce(&mut Body, Value)) {
        let high = self.int(I64, high);
        self.repeat(high, step, each);
    }

    /// A loop from 0 that carries nothing.
    pub fn repeat(&mut self, high: Value, step: i64, each: impl FnOnce(&mut Body, Value)) {
        let low = self.int(I64, 0);
        self.loop_over((low, high, step), &[], |b, iv, _| {
            each(b, iv);
            Vec::new()
        });
    }

    /// `if condition`, which carries values: `then` returns what they become.
    pub fn when(
        &mut self,
        condition: Value,
        carried: &[Value],
        then: impl FnOnce(&mut Body) -> Vec<Value>,
    ) -> Vec<Value> {
        let results: Vec<Value> = carried.iter().map(|v| self.fresh(v.ty)).collect();
        let types = carried.iter().map(|v| v.ty.to_string()).collect::<Vec<_>>().join(", ");
        match carried {
            [] => self.line(format_args!("scf.if {condition} {{")),
            _ => {
                let heads = join(&results);
                self.line(format_args!("{heads} = scf.if {condition} -> ({types}) {{"));
            }
        }
        self.depth += 1;
        let yielded = then(self);
        if !carried.is_empty() {
            let (yes, no) = (join(&yielded), join(carried));
            self.line(format_args!("scf.yield {yes} : {types}"));
            self.depth -= 1;
            self.line("} else {");
            self.depth += 1;
            self.line(format_args!("scf.yield {no} : {types}"));
        }
        self.depth -= 1;
        self.line("}");
        results
    }

    /// An i32 argument as a loop bound.
    pub fn extend(&mut self, number: Value) -> Value {
        self.cast("arith.extsi", number, Elem::I64)
    }
}

impl Elem {
    pub const fn size_bytes(self) -> u32 {
        match self {
            Elem::I1 | Elem::I8 => 1,
            Elem::I16 => 2,
            Elem::I32 | Elem::F32 => 4,
            Elem::I64 | Elem::F64 | Elem::Ptr => 8,
        }
    }
}

impl Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "%{}", self.id)
    }
}

impl Display for Ty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let elem = match self.elem {
            Elem::I1 => "i1",
            Elem::I8 => "i8",
            Elem::I16 => "i16",
            Elem::I32 => "i32",
            Elem::I64 => "i64",
            Elem::F32 => "f32",
            Elem::F64 => "f64",
            Elem::Ptr => "!llvm.ptr",
        };
        match self.lanes {
            1 => f.write_str(elem),
            n => write!(f, "vector<{n}x{elem}>"),
        }
    }
}

fn join(values: &[Value]) -> String {
    values.iter().map(Value::to_string).collect::<Vec<_>>().join(", ")
}

/// A symbol as MLIR spells it after `@`.
fn quoted(symbol: &str) -> String {
    let plain = symbol.chars().all(|c| c.is_ascii_alphanumeric() || "_$.".contains(c))
        && !symbol.starts_with(|c: char| c.is_ascii_digit() || "$.".contains(c))
        && !symbol.is_empty();
    if plain {
        return symbol.to_string();
    }
    let mut out = String::from("\"");
    for byte in symbol.bytes() {
        match byte {
            b'"' | b'\\' | 0..=0x1f | 0x7f..=0xff => {
                let _ = write!(out, "\\{byte:02X}");
            }
            _ => out.push(byte as char),
        }
    }
    out.push('"');
    out
}
