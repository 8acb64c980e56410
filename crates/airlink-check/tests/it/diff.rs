//! `airlink diff` on small pairs.

use airlink_check::same::modules;
use airlink_ir::{Ir, edit::untied, parse_text};

const BASE: &str = r#"
air.channel @c [2]
func.func private @mv(memref<8xbf16, 2 : i32>) attributes {link_with = "mv.o"}
func.func @f(%a: memref<8xbf16>, %b: memref<8xbf16>) {
  air.launch @l () in () args(%x=%a, %y=%b) : memref<8xbf16>, memref<8xbf16> {
    air.segment @s args(%p=%x, %q=%y) : memref<8xbf16>, memref<8xbf16> {
      %one = arith.constant 1 : index
      air.herd @h tile (%i, %j) in (%n=%one, %m=%one) args(%u=%p, %v=%q) : memref<8xbf16>, memref<8xbf16> attributes {link_with = "mv.o"} {
        %l1 = memref.alloc() : memref<8xbf16, 2 : i32>
        air.dma_memcpy_nd (%l1[] [] [], %u[0] [8] [1]) {id = 1 : i32} : (memref<8xbf16, 2 : i32>, memref<8xbf16>)
        func.call @mv(%l1) : (memref<8xbf16, 2 : i32>) -> ()
        air.channel.put @c[%i] (%l1[] [] []) : (memref<8xbf16, 2 : i32>)
        air.dma_memcpy_nd (%v[] [] [], %l1[] [] []) : (memref<8xbf16>, memref<8xbf16, 2 : i32>)
      }
    }
  }
  return
}
"#;

fn is_same(a: &str, b: &str) -> bool {
    let ir = Ir::new();
    let parse =
        |text: &str| parse_text(&ir, text, "a.mlir").unwrap_or_else(|| panic!("{}\n{text}", ir.take_error_text()));
    let (a, b) = (parse(a), parse(b));
    modules(untied(a.as_operation()), untied(b.as_operation())).is_empty()
}

fn with(changes: &[(&str, &str)]) -> String {
    changes.iter().fold(BASE.to_string(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    })
}

#[test]
fn names_of_values_symbols_and_hierarchy_do_not_count() {
    for changes in [
        &[("%l1", "%buffer")][..],
        &[("@c", "@other")],
        &[("@l ", "@launch "), ("@s ", "@segment "), ("@h ", "@herd ")],
        &[("@f(", "@g(")],
        &[("@mv(", "@mv_k8("), ("\"mv.o\"", "\"mv_k8.o\"")],
    ] {
        assert!(is_same(BASE, &with(changes)) && is_same(&with(changes), BASE), "{changes:?}");
    }
}

#[test]
fn everything_else_does() {
    for (from, to) in [
        ("[2]", "[3]"),
        ("\"mv.o\"", "\"other.o\""),
        ("%u[0] [8] [1]", "%u[0] [4] [2]"),
        ("{id = 1 : i32}", "{id = 2 : i32}"),
        (" {id = 1 : i32}", ""),
        ("args(%u=%p, %v=%q)", "args(%u=%q, %v=%p)"),
        ("args(%x=%a, %y=%b)", "args(%x=%a, %y=%a)"),
        ("        func.call @mv(%l1) : (memref<8xbf16, 2 : i32>) -> ()\n", ""),
        ("arith.constant 1 : index", "arith.constant 2 : index"),
    ] {
        let other = with(&[(from, to)]);
        assert!(!is_same(BASE, &other) && !is_same(&other, BASE), "{from} -> {to}");
    }
}

#[test]
fn two_channels_are_not_one() {
    let two = with(&[
        ("air.channel @c [2]", "air.channel @c [2]\nair.channel @d [2]"),
        (
            "        air.channel.put",
            "        air.channel.put @d[%i] (%l1[] [] []) : (memref<8xbf16, 2 : i32>)\n        air.channel.put",
        ),
    ]);
    let one = two.replace("put @d[", "put @c[");
    assert!(is_same(&two, &two));
    assert!(!is_same(&two, &one) && !is_same(&one, &two));
}
