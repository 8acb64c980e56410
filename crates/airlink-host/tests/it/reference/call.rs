//! Compiling a reference kernel as the product does, and calling it with buffers between guards.

use airlink_diag::Findings;
use airlink_host::reference::{find, object};
use airlink_host::{HostOptions, KernelObject, build_module};
use airlink_ir::Ir;
use airlink_kernel::KernelType;
use airlink_plan::ObjectIdx;
use airlink_rt::Role;

use crate::support::{self, Running, manifest, parsed};

/// An operand: a scalar, or a buffer that the kernel may write.
pub enum Arg<'a> {
    I32(i32),
    Bf16(&'a mut Vec<u16>),
    F32(&'a mut Vec<f32>),
    Bytes(&'a mut Vec<u8>),
}

/// A reference kernel for one signature.
pub struct Kernel {
    object: KernelObject,
    options: HostOptions,
}

/// A function from f32 to f32 that is applied to every element of arrays.
pub struct Function<'a> {
    text: &'a str,
    symbol: &'a str,
    lanes: u32,
}

impl Kernel {
    pub fn new(name: &str, types: &[&str]) -> Kernel {
        Kernel::with(name, types, HostOptions::default())
    }

    pub fn with(name: &str, types: &[&str], options: HostOptions) -> Kernel {
        let (ir, mut findings) = (Ir::new(), Findings::default());
        let types: Vec<KernelType> = types.iter().map(|t| KernelType::parse(t).unwrap()).collect();
        let Ok(bytes) = object(&ir, find(name).unwrap(), "kernel", &types, &options, &mut findings) else {
            panic!("{name} {types:?}: {}", support::said(&findings));
        };
        Kernel {
            object: KernelObject {
                index: ObjectIdx(0),
                file: "kernel.o".into(),
                bytes,
                kernels: Vec::new(),
                source: None,
            },
            options,
        }
    }

    /// Calls it once with buffers of exactly these sizes.
    pub fn call(&self, args: &mut [Arg]) {
        let (mut types, mut loads, mut operands) = (Vec::new(), String::new(), Vec::new());
        for (i, arg) in args.iter().enumerate() {
            types.push(arg.buffer_type());
            match arg {
                Arg::I32(_) => {
                    loads += &format!("  %v{i} = memref.load %a{i}[%zero] : memref<1xi32>\n");
                    operands.push((format!("%v{i}"), "i32".to_string()));
                }
                _ => operands.push((format!("%a{i}"), arg.buffer_type())),
            }
        }
        let [values, operand_types] = [list(operands.iter().map(|o| &o.0)), list(operands.iter().map(|o| &o.1))];
        let text = format!(
            "func.func private @kernel({operand_types})\nfunc.func @test({}) {{\n  %zero = arith.constant 0 : index\n{loads}  \
             func.call @kernel({values}) : ({operand_types}) -> ()\n  return\n}}\n",
            parameters(&types)
        );
        run(&text, &types, &[&self.object], &self.options, args);
    }
}

impl<'a> Function<'a> {
    /// `text` defines the private function `symbol`, which takes any number of values of `lanes` f32 and returns one.
    pub fn new(text: &'a str, symbol: &'a str, lanes: u32) -> Function<'a> {
        Function { text, symbol, lanes }
    }

    /// Element by element; the length is a multiple of the lanes.
    pub fn call(&self, x: &[Vec<f32>]) -> Vec<f32> {
        let (count, lanes, symbol) = (x[0].len(), self.lanes, self.symbol);
        let buffer = format!("memref<{count}xf32>");
        let (value, load, store) = match lanes {
            1 => ("f32".to_string(), "memref.load", "memref.store"),
            n => (format!("vector<{n}xf32>"), "vector.load", "vector.store"),
        };
        let suffix = if lanes == 1 { String::new() } else { format!(", {value}") };
        let loads: String =
            (0..x.len()).map(|i| format!("    %v{i} = {load} %a{i}[%i] : {buffer}{suffix}\n")).collect();
        let values = list((0..x.len()).map(|i| format!("%v{i}")));
        let value_types = list(vec![&value; x.len()]);
        let types = vec![buffer.clone(); x.len() + 1];
        let text = format!(
            "{}func.func @test({}) {{\n  %zero = arith.constant 0 : index\n  %end = arith.constant {count} : index\n  \
             %step = arith.constant {lanes} : index\n  scf.for %i = %zero to %end step %step {{\n{loads}    \
             %y = func.call @{symbol}({values}) : ({value_types}) -> {value}\n    \
             {store} %y, %a{}[%i] : {buffer}{suffix}\n  }}\n  return\n}}\n",
            self.text,
            parameters(&types),
            x.len()
        );
        let mut arrays: Vec<Vec<f32>> = x.to_vec();
        arrays.push(vec![0.0; count]);
        let mut args: Vec<Arg> = arrays.iter_mut().map(Arg::F32).collect();
        run(&text, &types, &[], &HostOptions::default(), &mut args);
        arrays.pop().unwrap()
    }
}

fn run(text: &str, types: &[String], objects: &[&KernelObject], options: &HostOptions, args: &mut [Arg]) {
    let (ir, mut findings) = (Ir::new(), Findings::default());
    let module = parsed(&ir, text, &mut findings);
    let arguments: Vec<support::Arg> =
        (0..).zip(types).map(|(i, ty)| (&*format!("a{i}").leak(), &*ty.clone().leak(), Role::Inout)).collect();
    let mut manifest = manifest("test", &arguments, 0);
    manifest.cpu = options.cpu;
    let Ok(elf) = build_module(&ir, &module, manifest, objects, options, &mut findings) else {
        panic!("{}", support::said(&findings));
    };
    let mut running = Running::new(&elf);
    for (i, arg) in args.iter().enumerate() {
        let bytes = arg.bytes();
        running.bytes_mut(&format!("a{i}"))[..bytes.len()].copy_from_slice(&bytes);
    }
    running.run();
    for (i, arg) in args.iter_mut().enumerate() {
        arg.take(running.bytes_mut(&format!("a{i}")));
    }
}

impl Arg<'_> {
    /// An empty buffer still has a place: one element that no kernel may touch.
    fn buffer_type(&self) -> String {
        let (count, element) = match self {
            Arg::I32(_) => (1, "i32"),
            Arg::Bf16(v) => (v.len(), "bf16"),
            Arg::F32(v) => (v.len(), "f32"),
            Arg::Bytes(v) => (v.len(), "i8"),
        };
        format!("memref<{}x{element}>", count.max(1))
    }

    fn bytes(&self) -> Vec<u8> {
        match self {
            Arg::I32(n) => n.to_le_bytes().to_vec(),
            Arg::Bf16(v) => v.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Arg::F32(v) => v.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Arg::Bytes(v) => v.to_vec(),
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        match self {
            Arg::I32(_) => {}
            Arg::Bf16(v) => v.iter_mut().zip(bytes.chunks(2)).for_each(|(x, b)| *x = u16::from_le_bytes([b[0], b[1]])),
            Arg::F32(v) => {
                v.iter_mut().zip(bytes.chunks(4)).for_each(|(x, b)| *x = f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            }
            Arg::Bytes(v) => v.iter_mut().zip(bytes).for_each(|(x, b)| *x = *b),
        }
    }
}

fn parameters(types: &[String]) -> String {
    list((0..).zip(types).map(|(i, ty)| format!("%a{i}: {ty}")))
}

fn list(parts: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    parts.into_iter().map(|p| p.as_ref().to_string()).collect::<Vec<_>>().join(", ")
}
