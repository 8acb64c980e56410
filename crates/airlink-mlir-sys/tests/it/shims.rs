//! IR surgery through the C functions.

use std::{ffi::c_void, ptr::from_mut};

use airlink_mlir_sys::{mlir_sys::*, *};
use melior::{
    Context,
    ir::{Attribute, AttributeLike, Module, Type, TypeLike, operation::OperationLike},
};

use crate::support::{context, parse, print, string_ref};

fn text_of(reference: MlirStringRef) -> String {
    // SAFETY: MLIR's strings are UTF-8 here, and alive during the callback or as long as the context.
    let bytes = unsafe { std::slice::from_raw_parts(reference.data.cast::<u8>(), reference.length) };
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Operation #`index` of the module's body.
fn top_level(module: &Module, index: usize) -> MlirOperation {
    // SAFETY: the tests ask only for operations that are there.
    unsafe {
        let mut op = mlirBlockGetFirstOperation(body(module.as_operation().to_raw()));
        for _ in 0..index {
            op = mlirOperationGetNextInBlock(op);
        }
        op
    }
}

/// First block of the first region.
unsafe fn body(op: MlirOperation) -> MlirBlock {
    unsafe { mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0)) }
}

unsafe extern "C" fn record_use(user: MlirOperation, reference: MlirAttribute, name: MlirStringRef, data: *mut c_void) {
    // SAFETY: `uses` passes a live vector; the handles are valid during the callback.
    unsafe {
        let op = text_of(mlirIdentifierStr(mlirOperationGetName(user)));
        let reference = Attribute::from_raw(reference).to_string();
        (*data.cast::<Vec<String>>()).push(format!("{op} {} {reference}", text_of(name)));
    }
}

fn uses(module: &Module, symbol: &str) -> Vec<String> {
    let mut found = Vec::<String>::new();
    // SAFETY: the callback gets the vector it expects.
    unsafe {
        airlinkSymbolUses(module.as_operation().to_raw(), string_ref(symbol), record_use, from_mut(&mut found).cast())
    };
    found
}

fn replace(module: &Module, pairs: &[(&str, &str)]) -> isize {
    let from: Vec<_> = pairs.iter().map(|pair| string_ref(pair.0)).collect();
    let to: Vec<_> = pairs.iter().map(|pair| string_ref(pair.1)).collect();
    // SAFETY: both lists have as many elements as is said.
    unsafe {
        airlinkReplaceSymbolUses(module.as_operation().to_raw(), pairs.len() as isize, from.as_ptr(), to.as_ptr())
    }
}

const SYMBOLS: &str = r#"
air.channel @c []
air.channel @d []
func.func private @ext()
func.func @k(%m: memref<4xf32>) attributes {note = "@c stays", list = [@c, [@d, {deep = @c}]]} {
  air.channel.put @c[] (%m[] [] []) : (memref<4xf32>)
  air.channel.get @d[] (%m[] [] []) : (memref<4xf32>)
  call @ext() : () -> ()
  air.wait_all {pair = @h::@c, metadata = @c}
  return
}
module @nested {
  func.func private @ext()
  func.func @inner() {
    call @ext() : () -> ()
    return
  }
}
"#;

#[test]
fn finds_every_use() {
    let context = context();
    let module = parse(&context, SYMBOLS, "s.mlir").unwrap();
    assert_eq!(
        uses(&module, "c"),
        ["func.func list @c", "air.channel.put chan_name @c", "air.wait_all metadata @c", "air.wait_all pair @h::@c",]
    );
    assert_eq!(uses(&module, "ext"), ["func.call callee @ext"]);
    assert_eq!(uses(&module, "").len(), 7);
    assert_eq!(uses(&module, "k"), Vec::<String>::new());
}

#[test]
fn replaces_many_symbols_at_once() {
    let context = context();
    let module = parse(&context, SYMBOLS, "s.mlir").unwrap();
    // c and d change places, which a sequence of single replacements could not do.
    assert_eq!(replace(&module, &[("c", "d"), ("d", "c"), ("ext", "a.ext"), ("h", "a_h")]), 5);
    assert_eq!(
        uses(&module, ""),
        [
            "func.func list @d",
            "func.func list @c",
            "air.channel.put chan_name @d",
            "air.channel.get chan_name @c",
            "func.call callee @a.ext",
            "air.wait_all metadata @d",
            "air.wait_all pair @a_h::@d",
        ]
    );
    let text = print(&module);
    for untouched in ["note = \"@c stays\"", "sym_name = \"c\"", "sym_name = \"ext\"", "callee = @ext"] {
        assert!(text.contains(untouched), "{untouched}\n{text}");
    }
    assert_eq!(replace(&module, &[("nothing", "x")]), 0);
    assert_eq!(replace(&module, &[]), 0);
}

#[test]
fn edits_function_arguments() {
    let context = context();
    let text = "func.func private @declared(i32)
    func.func @k(%a: i32 {x.note}) -> i32 {
      return %a : i32
    }";
    let module = parse(&context, text, "k.mlir").unwrap();
    let none = MlirAttribute { ptr: std::ptr::null() };
    // SAFETY: handles are of this context; null attributes are allowed where used.
    unsafe {
        let (declared, k) = (top_level(&module, 0), top_level(&module, 1));
        let unit = mlirUnitAttrGet(context.to_raw());
        assert!(airlinkFunctionSetArgumentAttribute(k, 0, string_ref("x.note"), none), "null removes");
        assert!(airlinkFunctionSetArgumentAttribute(k, 0, string_ref("x.set"), unit));
        assert!(!airlinkFunctionSetArgumentAttribute(k, 1, string_ref("x.set"), unit), "no such argument");
        let add = mlirBlockGetFirstOperation(body(k));
        assert!(!airlinkFunctionSetArgumentAttribute(add, 0, string_ref("x.set"), unit), "no function");
        assert_eq!(Attribute::from_raw(airlinkFunctionGetArgumentAttributes(k, 0)).to_string(), "{x.set}");
        assert!(airlinkFunctionGetArgumentAttributes(declared, 0).ptr.is_null());
        assert!(airlinkFunctionGetArgumentAttributes(k, 7).ptr.is_null());
    }
    let text = print(&module);
    assert!(text.contains("@k(%arg0: i32 {x.set})"), "{text}");
    assert!(module.as_operation().verify());
}

fn resolve(context: &Context, location: &str) -> Option<(String, [u32; 4])> {
    let module = parse(context, &format!("module attributes {{x.l = {location}}} {{\n}}"), "l.mlir").unwrap();
    let attribute = module.as_operation().attribute("x.l").unwrap().to_raw();
    let mut range = AirlinkFileRange { file: string_ref(""), line: 0, column: 0, end_line: 0, end_column: 0 };
    // SAFETY: the attribute is a location.
    let found = unsafe { airlinkLocationResolve(mlirLocationFromAttribute(attribute), &mut range) };
    found.then(|| (text_of(range.file), [range.line, range.column, range.end_line, range.end_column]))
}

#[test]
fn resolves_locations() {
    let context = context();
    let at = |line, column| Some(("a.mlir".to_string(), [line, column, line, column]));
    assert_eq!(resolve(&context, "loc(\"a.mlir\":3:7)"), at(3, 7));
    assert_eq!(resolve(&context, "loc(\"a.mlir\":3:7 to 4:9)"), Some(("a.mlir".into(), [3, 7, 4, 9])));
    assert_eq!(resolve(&context, "loc(\"name\"(\"a.mlir\":3:7))"), at(3, 7));
    assert_eq!(resolve(&context, "loc(callsite(\"a.mlir\":1:2 at \"b.mlir\":3:4))"), at(1, 2));
    assert_eq!(resolve(&context, "loc(callsite(unknown at \"a.mlir\":3:4))"), at(3, 4));
    assert_eq!(resolve(&context, "loc(fused[unknown, \"name\"(\"a.mlir\":5:6), \"b.mlir\":1:1])"), at(5, 6));
    assert_eq!(resolve(&context, "loc(unknown)"), None);
    assert_eq!(resolve(&context, "loc(\"name\")"), None);
}

unsafe extern "C" fn record_resource(key: MlirStringRef, bytes: *const c_void, length: usize, data: *mut c_void) {
    // SAFETY: `resources` passes a live vector; the bytes are alive during the callback.
    unsafe {
        let bytes = std::slice::from_raw_parts(bytes.cast::<u8>(), length);
        (*data.cast::<Vec<(String, Vec<u8>)>>()).push((text_of(key), bytes.to_vec()));
    }
}

fn resources(module: &Module) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::<(String, Vec<u8>)>::new();
    // SAFETY: the callback gets the vector it expects.
    unsafe { airlinkDenseResources(module.as_operation().to_raw(), record_resource, from_mut(&mut found).cast()) };
    found
}

fn with_resource(name: &str, value: u8) -> String {
    format!(
        "func.func @{name}() -> tensor<1xi32> {{
          %z = arith.constant dense_resource<w> : tensor<1xi32>
          return %z : tensor<1xi32>
        }}
        {{-# dialect_resources: {{ builtin: {{ w: \"0x04000000{value:02X}000000\" }} }} #-}}"
    )
}

/// What MLIR does with one key in two files, and that renaming the suffixed one works and keeps the bytes.
#[test]
fn resource_keys_of_two_files() {
    let context = context();
    let a = parse(&context, &with_resource("a", 7), "a.mlir").unwrap();
    let b = parse(&context, &with_resource("b", 8), "b.mlir").unwrap();
    assert_eq!(resources(&a), [("w".to_string(), vec![7, 0, 0, 0])]);
    assert_eq!(resources(&b), [("w_1".to_string(), vec![8, 0, 0, 0])]);

    // Merged, both blobs are printed without any help.
    // SAFETY: the function leaves one block of this context for another.
    unsafe {
        let function = top_level(&b, 0);
        mlirOperationRemoveFromParent(function);
        mlirBlockAppendOwnedOperation(body(a.as_operation().to_raw()), function);
    }
    let other = self::context();
    let again = parse(&other, &print(&a), "merged").unwrap();
    assert_eq!(resources(&again), [("w".to_string(), vec![7, 0, 0, 0]), ("w_1".to_string(), vec![8, 0, 0, 0])]);

    let rename = |from: &str, to: &str| {
        // SAFETY: one pair.
        unsafe { airlinkRenameDenseResources(a.as_operation().to_raw(), 1, &string_ref(from), &string_ref(to)) }
    };
    assert_eq!(rename("w_1", "b_w"), 1);
    assert_eq!(rename("absent", "x"), 0);
    let text = print(&a);
    assert!(text.contains("dense_resource<b_w>") && text.contains("b_w: \"0x0400000008000000\""), "{text}");
    assert!(!text.contains("w_1"), "{text}");
    assert_eq!(rename("b_w", "w"), 0, "taken in the context");
    assert_eq!(resources(&a)[1].1, [8, 0, 0, 0]);
}

#[test]
fn tokens_are_told_from_other_types() {
    let context = context();
    // SAFETY: the types are valid.
    let is_token = |text: &str| unsafe { airlinkTypeIsAsyncToken(Type::parse(&context, text).unwrap().to_raw()) };
    assert!(is_token("!air.async.token") && !is_token("!air.universe") && !is_token("i32"));
}
