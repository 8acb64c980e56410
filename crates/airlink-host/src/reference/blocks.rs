//! Matrix products of 8x8 blocks, and the row operations of flash attention on matrices stored in such blocks.
//!
//! A blocked matrix with M rows and N columns is stored block column by block column: element (i, j) is element
//! `(j / 8 * M + i) * 8 + j % 8`. So a row's eight columns of one block stand together.

use airlink_kernel::KernelType;

use super::math::exp2;
use super::numbers::{greater, load_bf16, narrow, round, store_bf16, tree_greatest, tree_sum, widen};
use super::text::{Body, Elem, I64, PTR, Ty, Value, module};
use super::{Reference, memref};

/// Rows and columns of a block.
const SIDE: i64 = 8;
/// Deepest product whose panel still fits a small stack.
const DEEPEST: i64 = 1024;
/// The lowest finite bf16.
const LOWEST: f32 = f32::from_bits(0xff7f_0000);

pub(super) static MATMUL_BLOCKS: Reference = Reference {
    name: "matmul_blocks",
    revision: 1,
    symbols: &[
        "matmul_g_b_bf16",
        "op_has_no_registered_library_name",
        "op_has_no_registered_library_name_m32",
        "op_has_no_registered_library_name_m64",
    ],
    signature: "(bf16 a[m][k], bf16 b[k][n], bf16 or f32 c[m][n])",
    meaning: "c += a * b. a and c are stored in 8x8 blocks, block column by block column, rows first inside a block; b's \
        blocks follow down its block columns, rows first inside.",
    rounding: "Each element starts at c and takes its products in rising k by fused multiply-adds in f32; once to bf16 at \
        the end, or not at all if c is f32. The public objects may go through bfp16 blocks.",
    build: |symbol, inputs| build_matmul(symbol, inputs, false),
};

pub(super) static MATMUL_BLOCKS_T: Reference = Reference {
    name: "matmul_blocks_transposed",
    revision: 1,
    symbols: &["matmul_a_b_bf16"],
    signature: "(bf16 a[m][k], bf16 b[n][k], bf16 c[m][n])",
    meaning: "c += a * transposed b. All three are stored in 8x8 blocks, block column by block column, rows first inside.",
    rounding: "As `matmul_blocks`.",
    build: |symbol, inputs| build_matmul(symbol, inputs, true),
};

pub(super) static SCALE_ROWS: Reference = Reference {
    name: "scale_rows",
    revision: 1,
    symbols: &["mul_r_gp"],
    signature: "(bf16 r[m], bf16 c[m][n])",
    meaning: "c[i][j] *= r[i], with c in 8x8 blocks, block column by block column.",
    rounding: "The product once to bf16.",
    build: |symbol, inputs| build_scale_rows(symbol, inputs, |_, r| r),
};

pub(super) static DIVIDE_ROWS: Reference = Reference {
    name: "divide_rows",
    revision: 1,
    symbols: &["div_gp_sp"],
    signature: "(bf16 s[m], bf16 c[m][n])",
    meaning: "c[i][j] *= 1 / s[i], with c in 8x8 blocks, block column by block column.",
    rounding: "The reciprocal to bf16; the product to bf16.",
    build: |symbol, inputs| {
        build_scale_rows(symbol, inputs, |b, s| {
            let one = b.float(1, 1.0);
            let exact = b.op("arith.divf", &[one, s]);
            round(b, exact)
        })
    },
};

pub(super) static SOFTMAX_D64: Reference = Reference {
    name: "softmax_step_d64",
    revision: 1,
    symbols: &["fused_softmax"],
    signature: "(bf16 g[m][n], bf16 u[m], bf16 s[m], bf16 r[m])",
    meaning: "One step of a running softmax over the rows of g, in 8x8 blocks: w[i] = the greatest of u[i] and row i; \
        g = 2^((g - w) * t); r = 2^((u - w) * t); s = the row sums of the new g; u = w. t = log2(e) / sqrt(d) as bf16, with \
        the d of 64 that public objects have unless built otherwise.",
    rounding: "The difference to bf16 (not below the lowest finite one), times t in f32, 2^x to bf16. Sums: 8 f32 lanes, \
        one per column of a block, over the blocks in order; added by halves 4, 2, 1; to bf16.",
    build: |symbol, inputs| build_softmax(symbol, inputs, 64.0),
};

pub(super) static SOFTMAX_D128: Reference = Reference {
    name: "softmax_step_d128",
    symbols: &[],
    meaning: "As `softmax_step_d64`, for d = 128; only by name.",
    rounding: "As `softmax_step_d64`.",
    build: |symbol, inputs| build_softmax(symbol, inputs, 128.0),
    ..SOFTMAX_D64
};

pub(super) static RESCALE_D64: Reference = Reference {
    name: "softmax_rescale_d64",
    revision: 1,
    symbols: &["exp_up_minus_u"],
    signature: "(bf16 v[m], bf16 u[m], bf16 r[m])",
    meaning: "r = 2^((v - u) * t), with t as in `softmax_step_d64`.",
    rounding: "As `softmax_step_d64`.",
    build: |symbol, inputs| build_rescale(symbol, inputs, 64.0),
};

pub(super) static RESCALE_D128: Reference = Reference {
    name: "softmax_rescale_d128",
    symbols: &[],
    meaning: "As `softmax_rescale_d64`, for d = 128; only by name.",
    build: |symbol, inputs| build_rescale(symbol, inputs, 128.0),
    ..RESCALE_D64
};

/// Extents of a product, in blocks.
#[derive(Clone, Copy)]
struct Product {
    rows: i64,
    inner: i64,
    columns: i64,
    transposed: bool,
    /// Of the result: [`Elem::I16`] for bf16, or f32.
    out: Elem,
}

fn build_matmul(symbol: &str, inputs: &[KernelType], transposed: bool) -> Option<String> {
    let [a, b, c] = inputs else { return None };
    let (out, c) = match memref(c, "bf16") {
        Some(c) => (Elem::I16, c),
        None => (Elem::F32, memref(c, "f32").filter(|_| !transposed)?),
    };
    let [mk, kn, mn] = [memref(a, "bf16")?, memref(b, "bf16")?, c].map(|m| m.element_count());
    let (mk, kn, mn) = (mk? as i64, kn? as i64, mn? as i64);
    // mk * kn / mn = k^2 gives k where the shapes are flat.
    let k = square_root(mk.checked_mul(kn)?, mn)?;
    let x = Product { rows: mk / k / SIDE, inner: k / SIDE, columns: kn / k / SIDE, transposed, out };
    let whole = [mk / k, k, kn / k].into_iter().all(|n| n % SIDE == 0 && n > 0) && mk % k == 0 && kn % k == 0;
    (whole && k <= DEEPEST).then(|| {
        module(symbol, &[PTR, PTR, PTR], |body, args| {
            let [a, b, c] = args else { unreachable!() };
            matmul(body, x, (*a, *b, *c));
        })
    })
}

/// The square root of `numerator / denominator` if it is an integer.
fn square_root(numerator: i64, denominator: i64) -> Option<i64> {
    if denominator <= 0 || numerator % denominator != 0 {
        return None;
    }
    let square = numerator / denominator;
    (1..=DEEPEST).find(|k| k * k == square)
}

fn matmul(body: &mut Body, x: Product, (a, b, c): (Value, Value, Value)) {
    let panel = body.stack_array(Elem::F32, x.inner * SIDE * SIDE);
    let block = body.stack_array(Elem::F32, SIDE * SIDE);
    body.count(x.columns, 1, |body, column| {
        fill_panel(body, x, (b, column), panel);
        body.count(x.rows, 1, |body, row| {
            let before = body.times(column, x.rows);
            let at = body.add(before, row);
            let first = body.times(at, SIDE * SIDE);
            let c = body.address(c, x.out, first);
            let start: Vec<Value> = (0..SIDE).map(|r| load_row(body, x.out, c, r)).collect();
            let (low, high) = (body.int(I64, 0), body.int(I64, x.inner));
            let sums = body.loop_over((low, high, 1), &start, |body, i, sums| {
                let before = body.times(i, x.rows);
                let at = body.add(before, row);
                let first = body.times(at, SIDE * SIDE);
                let a = body.address(a, Elem::I16, first);
                block_step(body, (a, panel, i), block, sums)
            });
            for (r, sum) in sums.into_iter().enumerate() {
                let at = body.int(I64, r as i64 * SIDE);
                match x.out {
                    Elem::F32 => body.store(sum, c, at),
                    _ => store_bf16(body, sum, c, at),
                }
            }
        });
    });
}

fn load_row(body: &mut Body, elem: Elem, c: Value, row: i64) -> Value {
    let at = body.int(I64, row * SIDE);
    match elem {
        Elem::F32 => body.load(c, at, Ty::vector(Elem::F32, SIDE as u32)),
        _ => load_bf16(body, c, at, SIDE as u32),
    }
}

/// One block column of b as f32: `panel[k][8]`.
fn fill_panel(body: &mut Body, x: Product, (b, column): (Value, Value), panel: Value) {
    body.count(x.inner, 1, |body, i| {
        let to = body.times(i, SIDE * SIDE);
        let to = body.address(panel, Elem::F32, to);
        let (major, extent, minor) = if x.transposed { (i, x.columns, column) } else { (column, x.inner, i) };
        let before = body.times(major, extent);
        let at = body.add(before, minor);
        let first = body.times(at, SIDE * SIDE);
        let from = body.address(b, Elem::I16, first);
        for line in 0..SIDE {
            let at = body.int(I64, line * SIDE);
            let row = load_bf16(body, from, at, SIDE as u32);
            if !x.transposed {
                body.store(row, to, at);
                continue;
            }
            for lane in 0..SIDE {
                let value = body.extract(row, lane as u32);
                let at = body.int(I64, lane * SIDE + line);
                body.store(value, to, at);
            }
        }
    });
}

/// Adds the product of one block of a and one of the panel to the eight rows of sums. The block goes through memory as
/// f32, from where each element is broadcast by a load.
fn block_step(body: &mut Body, (a, panel, i): (Value, Value, Value), block: Value, sums: &[Value]) -> Vec<Value> {
    for line in 0..SIDE {
        let at = body.int(I64, line * SIDE);
        let row = load_bf16(body, a, at, SIDE as u32);
        body.store(row, block, at);
    }
    let first = body.times(i, SIDE * SIDE);
    let panel = body.address(panel, Elem::F32, first);
    let mut sums = sums.to_vec();
    for k in 0..SIDE {
        let at = body.int(I64, k * SIDE);
        let b = body.load(panel, at, Ty::vector(Elem::F32, SIDE as u32));
        for (r, sum) in sums.iter_mut().enumerate() {
            let at = body.int(I64, r as i64 * SIDE + k);
            let a = body.load(block, at, Ty::scalar(Elem::F32));
            let a = body.broadcast(a, SIDE as u32);
            *sum = body.op("math.fma", &[a, b, *sum]);
        }
    }
    sums
}

fn build_scale_rows(symbol: &str, inputs: &[KernelType], factor: impl Fn(&mut Body, Value) -> Value) -> Option<String> {
    let [r, c] = inputs else { return None };
    let (m, blocks) = blocked(r, c)?;
    Some(module(symbol, &[PTR, PTR], |b, args| {
        let [r, c] = args else { unreachable!() };
        b.count(m, 1, |b, row| {
            let r = load_bf16(b, *r, row, 1);
            let r = factor(b, r);
            let r = b.broadcast(r, SIDE as u32);
            each_block(b, (m, blocks, row), &[], |b, at, _| {
                let x = load_bf16(b, *c, at, SIDE as u32);
                let product = b.op("arith.mulf", &[x, r]);
                store_bf16(b, product, *c, at);
                Vec::new()
            });
        });
    }))
}

fn build_softmax(symbol: &str, inputs: &[KernelType], d: f32) -> Option<String> {
    let [g, u, s, r] = inputs else { return None };
    let (m, blocks) = blocked(u, g)?;
    let rows = [s, r].into_iter().all(|t| memref(t, "bf16").and_then(|t| t.element_count()) == Some(m as u64));
    rows.then(|| {
        module(symbol, &[PTR, PTR, PTR, PTR], |b, args| {
            let [g, u, s, r] = args else { unreachable!() };
            b.count(m, 1, |b, row| {
                let place = (m, blocks, row);
                let lowest = b.float(SIDE as u32, LOWEST);
                let greatest = each_block(b, place, &[lowest], |b, at, best| {
                    let x = load_bf16(b, *g, at, SIDE as u32);
                    vec![greater(b, best[0], x)]
                });
                let in_row = tree_greatest(b, greatest[0]);
                let old = load_bf16(b, *u, row, 1);
                let new = greater(b, old, in_row);
                store_bf16(b, new, *u, row);
                let rescale = shifted_exp(b, old, new, d);
                b.store(rescale, *r, row);
                let new = b.broadcast(new, SIDE as u32);
                let zero = b.float(SIDE as u32, 0.0);
                let sums = each_block(b, place, &[zero], |b, at, sums| {
                    let x = load_bf16(b, *g, at, SIDE as u32);
                    let e = shifted_exp(b, x, new, d);
                    b.store(e, *g, at);
                    let e = widen(b, e);
                    vec![b.op("arith.addf", &[sums[0], e])]
                });
                let sum = tree_sum(b, sums[0]);
                store_bf16(b, sum, *s, row);
            });
        })
    })
}

fn build_rescale(symbol: &str, inputs: &[KernelType], d: f32) -> Option<String> {
    let [v, u, r] = inputs else { return None };
    let [v, u, r] = [v, u, r].map(|t| memref(t, "bf16").and_then(|m| m.element_count()));
    let m = v?;
    (u == v && r == v).then(|| {
        module(symbol, &[PTR, PTR, PTR], |b, args| {
            let [v, u, r] = args else { unreachable!() };
            let m = b.int(I64, m as i64);
            super::elementwise::chunks(b, m, 8, |b, i, lanes| {
                let (v, u) = (load_bf16(b, *v, i, lanes), load_bf16(b, *u, i, lanes));
                let e = shifted_exp(b, v, u, d);
                b.store(e, *r, i);
            });
        })
    })
}

/// `2^((x - u) * log2(e) / sqrt(d))` as bf16 patterns.
fn shifted_exp(b: &mut Body, x: Value, u: Value, d: f32) -> Value {
    let difference = b.op("arith.subf", &[x, u]);
    let difference = round(b, difference);
    let lowest = b.float(x.ty.lanes, LOWEST);
    let below = b.compare("arith.cmpf", "olt", difference, lowest);
    let difference = b.select(below, lowest, difference);
    let factor = b.float(x.ty.lanes, nearest_bf16(std::f32::consts::LOG2_E / d.sqrt()));
    let exponent = b.op("arith.mulf", &[difference, factor]);
    let e = exp2(b, exponent);
    narrow(b, e)
}

/// The nearest bf16 of a finite f32, ties to even.
fn nearest_bf16(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits((bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff_0000)
}

/// Runs `each` with the index of every block's eight elements of one row.
fn each_block(
    b: &mut Body,
    (m, blocks, row): (i64, i64, Value),
    carried: &[Value],
    each: impl FnOnce(&mut Body, Value, &[Value]) -> Vec<Value>,
) -> Vec<Value> {
    let (low, high) = (b.int(I64, 0), b.int(I64, blocks));
    b.loop_over((low, high, 1), carried, |b, block, carried| {
        let before = b.times(block, m);
        let line = b.add(before, row);
        let at = b.times(line, SIDE);
        each(b, at, carried)
    })
}

/// Rows of `r[m]`, and block columns of c, which has m rows.
fn blocked(r: &KernelType, c: &KernelType) -> Option<(i64, i64)> {
    let (m, n) = (memref(r, "bf16")?.element_count()? as i64, memref(c, "bf16")?.element_count()? as i64);
    (m > 0 && m % SIDE == 0 && n % (m * SIDE) == 0).then_some((m, n / (m * SIDE)))
}
