// `air.dma_memcpy_nd` and `memref.copy` as block copies.
//
// Both accesses are brought to one list of dimensions: extents of 1 are dropped, contiguous neighbours folded, and the
// two shapes split until they agree. Then the longest contiguous run is one copy and the rest are loops around it.
#include "airlink/AIR/AIRDialect.h"
#include "airlink/Host/Host.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace airlink::host {

namespace {

using Dim = AccessDim;

/// One dimension of both sides.
struct CommonDim {
  OpFoldResult size;
  OpFoldResult dstStride;
  OpFoldResult srcStride;
};

std::optional<int64_t> constant(OpFoldResult value) { return getConstantIntValue(value); }

bool isConstant(OpFoldResult value, int64_t expected) { return constant(value) == expected; }

class Copier {
public:
  Copier(Operation *op) : op(op), builder(op), loc(op->getLoc()) {}

  LogicalResult copy(Access dst, Access src) {
    bytes = *elementBytes(dst.type.getElementType());
    // A buffer of another memory is another buffer; within one memory the two may be the same.
    mayOverlap = memorySpace(dst.type) == memorySpace(src.type);
    dst.dims = folded(dst.dims);
    src.dims = folded(src.dims);
    for (const Dim &dim : dst.dims)
      if (isConstant(dim.stride, 0))
        return op->emitError("AL0701: the destination of this copy has stride 0: elements would overwrite each other");
    std::optional<int64_t> dstCount = count(dst.dims), srcCount = count(src.dims);
    if (dstCount && srcCount && *dstCount != *srcCount)
      return op->emitError("AL0701: this copy writes ")
             << *dstCount << " elements and reads " << *srcCount;
    if (dstCount && *dstCount == 0)
      return success();
    SmallVector<CommonDim> dims;
    if (common(dst.dims, src.dims, dims))
      nest(folded(dims), dst.start, src.start);
    else
      oneByOne(dst, src);
    return success();
  }

  /// A copy of the source with zeros in front of and behind each of its dimensions. Each element's place is worked out
  /// from its number: padding is rare, and its shapes are odd.
  LogicalResult copyPadded(Access dst, const Access &src, ArrayRef<int32_t> before, ArrayRef<int32_t> after) {
    bytes = *elementBytes(dst.type.getElementType());
    if (before.size() != src.dims.size() || after.size() != src.dims.size())
      return op->emitError("AL0701: this copy has ")
             << src.dims.size() << " dimensions and padding for " << before.size();
    for (const Dim &dim : dst.dims)
      if (isConstant(dim.stride, 0) && !isConstant(dim.size, 1))
        return op->emitError("AL0701: the destination of this copy has stride 0: elements would overwrite each other");
    SmallVector<Dim> padded(src.dims);
    for (auto [dim, front, back] : llvm::zip_equal(padded, before, after))
      dim.size = add(dim.size, builder.getIndexAttr(int64_t(front) + back));
    std::optional<int64_t> dstCount = count(dst.dims), srcCount = count(padded);
    if (dstCount && srcCount && *dstCount != *srcCount)
      return op->emitError("AL0701: this copy writes ")
             << *dstCount << " elements and reads " << *srcCount << " with its padding";
    OpFoldResult total = builder.getIndexAttr(1);
    for (const Dim &dim : padded)
      total = multiply(total, dim.size);
    OpBuilder::InsertionGuard guard(builder);
    auto loop = scf::ForOp::create(builder, loc, value(builder.getIndexAttr(0)), value(total),
                                   value(builder.getIndexAttr(1)));
    builder.setInsertionPointToStart(loop.getBody());
    Value number = loop.getInductionVar(), rest = number;
    OpFoldResult dstIndex = place(dst.dims, number), srcIndex = builder.getIndexAttr(0);
    Value inside = arith::ConstantIntOp::create(builder, loc, 1, 1);
    for (auto [dim, whole, front] : llvm::reverse(llvm::to_vector(llvm::zip_equal(src.dims, padded, before)))) {
      Value extent = value(whole.size);
      Value coordinate = arith::RemUIOp::create(builder, loc, rest, extent);
      rest = arith::DivUIOp::create(builder, loc, rest, extent);
      // In front of the source this wraps, and is as far outside as behind it.
      Value own = arith::SubIOp::create(builder, loc, coordinate, value(builder.getIndexAttr(front)));
      Value within = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, own, value(dim.size));
      inside = arith::AndIOp::create(builder, loc, inside, within);
      srcIndex = add(srcIndex, multiply(own, dim.stride));
    }
    auto choice = scf::IfOp::create(builder, loc, inside, /*withElseRegion=*/true);
    builder.setInsertionPointToStart(choice.thenBlock());
    move(dst.start, dstIndex, src.start, srcIndex, builder.getIndexAttr(1));
    builder.setInsertionPointToStart(choice.elseBlock());
    Type element = builder.getIntegerType(bytes * 8);
    Value zero = arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(element, 0));
    LLVM::StoreOp::create(builder, loc, zero, address(dst.start, dstIndex), bytes);
    return success();
  }

  Value firstElement(Value memref, ArrayRef<OpFoldResult> offsets, ArrayRef<Dim> dims) {
    Value start = Descriptor(builder, loc, memref).firstElement();
    OpFoldResult sum = builder.getIndexAttr(0);
    for (auto [offset, dim] : llvm::zip_equal(offsets, dims))
      sum = add(sum, multiply(offset, dim.stride));
    if (isConstant(sum, 0))
      return start;
    return at(start, sum, cast<MemRefType>(memref.getType()));
  }

  OpBuilder &getBuilder() { return builder; }

  OpFoldResult multiply(OpFoldResult a, OpFoldResult b) {
    std::optional<int64_t> x = constant(a), y = constant(b);
    if (x && y)
      return builder.getIndexAttr(*x * *y);
    if (x == 0 || y == 0)
      return builder.getIndexAttr(0);
    if (x == 1)
      return b;
    if (y == 1)
      return a;
    return arith::MulIOp::create(builder, loc, value(a), value(b)).getResult();
  }

  OpFoldResult add(OpFoldResult a, OpFoldResult b) {
    std::optional<int64_t> x = constant(a), y = constant(b);
    if (x && y)
      return builder.getIndexAttr(*x + *y);
    if (x == 0)
      return b;
    if (y == 0)
      return a;
    return arith::AddIOp::create(builder, loc, value(a), value(b)).getResult();
  }

private:
  Value value(OpFoldResult folded) {
    if (auto v = dyn_cast<Value>(folded))
      return v;
    return arith::ConstantIndexOp::create(builder, loc, *constant(folded));
  }

  Value at(Value pointer, OpFoldResult index, MemRefType type) {
    Value wide = constant(index) ? i64Constant(builder, loc, *constant(index))
                                 : Value(arith::IndexCastOp::create(builder, loc, builder.getI64Type(), value(index)));
    return elementAddress(builder, loc, pointer, *elementBytes(type.getElementType()), wide);
  }

  static std::optional<int64_t> count(ArrayRef<Dim> dims) {
    int64_t product = 1;
    for (const Dim &dim : dims) {
      std::optional<int64_t> size = constant(dim.size);
      if (!size || llvm::MulOverflow(product, *size, product))
        return std::nullopt;
    }
    return product;
  }

  /// Whether walking `outer` continues where one walk of `inner` ends.
  static bool continues(OpFoldResult outerStride, OpFoldResult innerSize, OpFoldResult innerStride) {
    std::optional<int64_t> a = constant(outerStride), n = constant(innerSize), b = constant(innerStride);
    return a && n && b && *a == *n * *b;
  }

  SmallVector<Dim> folded(ArrayRef<Dim> dims) {
    SmallVector<Dim> out;
    for (const Dim &dim : dims) {
      if (isConstant(dim.size, 1))
        continue;
      if (!out.empty() && constant(out.back().size) && continues(out.back().stride, dim.size, dim.stride))
        out.back() = {builder.getIndexAttr(*constant(out.back().size) * *constant(dim.size)), dim.stride};
      else
        out.push_back(dim);
    }
    return out;
  }

  SmallVector<CommonDim> folded(ArrayRef<CommonDim> dims) {
    SmallVector<CommonDim> out;
    for (const CommonDim &dim : dims) {
      if (!out.empty() && constant(out.back().size) && continues(out.back().dstStride, dim.size, dim.dstStride) &&
          continues(out.back().srcStride, dim.size, dim.srcStride))
        out.back() = {builder.getIndexAttr(*constant(out.back().size) * *constant(dim.size)), dim.dstStride,
                      dim.srcStride};
      else
        out.push_back(dim);
    }
    return out;
  }

  /// Splits the dimensions of both sides, from the innermost, until they are the same. False where an extent of one
  /// side is neither a divisor nor a multiple of the other's, or is not known.
  bool common(SmallVector<Dim> dst, SmallVector<Dim> src, SmallVector<CommonDim> &dims) {
    while (!dst.empty() && !src.empty()) {
      Dim a = dst.pop_back_val(), b = src.pop_back_val();
      std::optional<int64_t> m = constant(a.size), n = constant(b.size);
      if (!m || !n) {
        if (a.size != b.size)
          return false;
        dims.push_back({a.size, a.stride, b.stride});
        continue;
      }
      int64_t size = std::min(*m, *n);
      if (size == 0 || *m % size != 0 || *n % size != 0)
        return false;
      dims.push_back({builder.getIndexAttr(size), a.stride, b.stride});
      OpFoldResult step = builder.getIndexAttr(size);
      if (*m > size)
        dst.push_back({builder.getIndexAttr(*m / size), multiply(a.stride, step)});
      if (*n > size)
        src.push_back({builder.getIndexAttr(*n / size), multiply(b.stride, step)});
    }
    std::reverse(dims.begin(), dims.end());
    return dst.empty() && src.empty();
  }

  void nest(SmallVector<CommonDim> dims, Value dst, Value src) {
    OpFoldResult run = builder.getIndexAttr(1);
    if (!dims.empty() && isConstant(dims.back().dstStride, 1) && isConstant(dims.back().srcStride, 1))
      run = dims.pop_back_val().size;
    OpFoldResult dstIndex = builder.getIndexAttr(0), srcIndex = builder.getIndexAttr(0);
    OpBuilder::InsertionGuard guard(builder);
    for (const CommonDim &dim : dims) {
      auto loop = scf::ForOp::create(builder, loc, value(builder.getIndexAttr(0)), value(dim.size),
                                     value(builder.getIndexAttr(1)));
      builder.setInsertionPointToStart(loop.getBody());
      dstIndex = add(dstIndex, multiply(loop.getInductionVar(), dim.dstStride));
      srcIndex = add(srcIndex, multiply(loop.getInductionVar(), dim.srcStride));
    }
    move(dst, dstIndex, src, srcIndex, run);
  }

  Value address(Value pointer, OpFoldResult index) {
    if (isConstant(index, 0))
      return pointer;
    Value wide = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), value(index));
    return elementAddress(builder, loc, pointer, bytes, wide);
  }

  /// The index of the element with a number in row-major order.
  OpFoldResult place(ArrayRef<Dim> dims, Value number) {
    Value rest = number;
    OpFoldResult index = builder.getIndexAttr(0);
    for (const Dim &dim : llvm::reverse(dims)) {
      Value size = value(dim.size);
      Value coordinate = arith::RemUIOp::create(builder, loc, rest, size);
      index = add(index, multiply(coordinate, dim.stride));
      rest = arith::DivUIOp::create(builder, loc, rest, size);
    }
    return index;
  }

  /// Copies `run` contiguous elements.
  void move(Value dst, OpFoldResult dstIndex, Value src, OpFoldResult srcIndex, OpFoldResult run) {
    Type element = builder.getIntegerType(bytes * 8);
    dst = address(dst, dstIndex);
    src = address(src, srcIndex);
    if (isConstant(run, 1)) {
      Value moved = LLVM::LoadOp::create(builder, loc, element, src, bytes);
      LLVM::StoreOp::create(builder, loc, moved, dst, bytes);
      return;
    }
    OpFoldResult total = multiply(run, builder.getIndexAttr(bytes));
    Value length = constant(total) ? i64Constant(builder, loc, *constant(total))
                                   : Value(arith::IndexCastOp::create(builder, loc, builder.getI64Type(), value(total)));
    if (mayOverlap)
      LLVM::MemmoveOp::create(builder, loc, dst, src, length, /*isVolatile=*/false);
    else
      LLVM::MemcpyOp::create(builder, loc, dst, src, length, /*isVolatile=*/false);
  }

  /// The slow way for shapes that have no common split: each element's place is worked out from its number.
  void oneByOne(const Access &dst, const Access &src) {
    OpFoldResult total = builder.getIndexAttr(1);
    for (const Dim &dim : dst.dims)
      total = multiply(total, dim.size);
    OpBuilder::InsertionGuard guard(builder);
    auto loop = scf::ForOp::create(builder, loc, value(builder.getIndexAttr(0)), value(total),
                                   value(builder.getIndexAttr(1)));
    builder.setInsertionPointToStart(loop.getBody());
    Value number = loop.getInductionVar();
    OpFoldResult dstIndex = place(dst.dims, number), srcIndex = place(src.dims, number);
    move(dst.start, dstIndex, src.start, srcIndex, builder.getIndexAttr(1));
  }

  Operation *op;
  OpBuilder builder;
  Location loc;
  int64_t bytes = 0;
  bool mayOverlap = true;
};

/// The dimensions of the whole memref in its own layout.
FailureOr<SmallVector<Dim>> wholeBuffer(Operation *op, Copier &copier, Value memref, MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return op->emitError("AL0701: the host target cannot copy a buffer of type ") << type << ": its layout has no strides";
  OpBuilder &builder = copier.getBuilder();
  SmallVector<Dim> dims;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    auto known = [&](int64_t fixed, Value (Descriptor::*field)(unsigned)) -> OpFoldResult {
      if (!ShapedType::isDynamic(fixed))
        return builder.getIndexAttr(fixed);
      Descriptor descriptor(builder, op->getLoc(), memref);
      return arith::IndexCastOp::create(builder, op->getLoc(), builder.getIndexType(), (descriptor.*field)(dim))
          .getResult();
    };
    dims.push_back({known(type.getDimSize(dim), &Descriptor::size), known(strides[dim], &Descriptor::stride)});
  }
  return dims;
}

FailureOr<Access> access(Operation *op, Copier &copier, Value memref, ArrayRef<OpFoldResult> offsets,
                         ArrayRef<OpFoldResult> sizes, ArrayRef<OpFoldResult> strides) {
  auto type = dyn_cast<MemRefType>(memref.getType());
  if (!type)
    return op->emitError("AL0701: the host target copies ranked buffers only, this one is ") << memref.getType();
  if (!elementBytes(type.getElementType()))
    return op->emitError("AL0701: the host target cannot copy elements of type ") << type.getElementType();
  Access result{memref, type, {}, {}};
  if (sizes.empty() && strides.empty()) {
    FailureOr<SmallVector<Dim>> dims = wholeBuffer(op, copier, memref, type);
    if (failed(dims))
      return failure();
    result.dims = *dims;
  } else {
    if (sizes.size() != strides.size())
      return op->emitError("AL0701: this access has ") << sizes.size() << " sizes and " << strides.size() << " strides";
    for (auto [size, stride] : llvm::zip_equal(sizes, strides))
      result.dims.push_back({size, stride});
  }
  SmallVector<OpFoldResult> all(offsets);
  if (all.size() < result.dims.size())
    all.insert(all.begin(), result.dims.size() - all.size(), copier.getBuilder().getIndexAttr(0));
  if (all.size() != result.dims.size())
    return op->emitError("AL0701: this access has ") << all.size() << " offsets for " << result.dims.size()
                                                     << " dimensions";
  result.start = copier.firstElement(memref, all, result.dims);
  return result;
}

LogicalResult lowerDma(air::DmaMemcpyNdOp dma) {
  Copier copier(dma);
  auto mixed = [&](ArrayRef<int64_t> fixed, ValueRange dynamic) {
    return getMixedValues(fixed, dynamic, copier.getBuilder());
  };
  FailureOr<Access> dst =
      access(dma, copier, dma.getDst(), mixed(dma.getStaticDstOffsets(), dma.getDynamicDstOffsets()),
             mixed(dma.getStaticDstSizes(), dma.getDynamicDstSizes()),
             mixed(dma.getStaticDstStrides(), dma.getDynamicDstStrides()));
  if (failed(dst))
    return failure();
  FailureOr<Access> src =
      access(dma, copier, dma.getSrc(), mixed(dma.getStaticSrcOffsets(), dma.getDynamicSrcOffsets()),
             mixed(dma.getStaticSrcSizes(), dma.getDynamicSrcSizes()),
             mixed(dma.getStaticSrcStrides(), dma.getDynamicSrcStrides()));
  if (failed(src))
    return failure();
  if (elementBytes(dst->type.getElementType()) != elementBytes(src->type.getElementType()))
    return dma.emitError("AL0701: this copy writes elements of type ")
           << dst->type.getElementType() << " and reads " << src->type.getElementType();
  std::optional<ArrayRef<int32_t>> before = dma.getPadBefore(), after = dma.getPadAfter();
  if (failed(before && after ? copier.copyPadded(*dst, *src, *before, *after) : copier.copy(*dst, *src)))
    return failure();
  dma.erase();
  return success();
}

LogicalResult lowerCopy(memref::CopyOp copy) {
  Copier copier(copy);
  FailureOr<Access> dst = access(copy, copier, copy.getTarget(), {}, {}, {});
  if (failed(dst))
    return failure();
  FailureOr<Access> src = access(copy, copier, copy.getSource(), {}, {}, {});
  if (failed(src) || failed(copier.copy(*dst, *src)))
    return failure();
  copy.erase();
  return success();
}

} // namespace

FailureOr<Access> readAccess(Operation *op, Value memref, ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes,
                             ArrayRef<OpFoldResult> strides) {
  Copier copier(op);
  return access(op, copier, memref, offsets, sizes, strides);
}

LogicalResult lowerCopies(ModuleOp module) {
  bool failed = false;
  module.walk([&](Operation *op) {
    if (auto dma = dyn_cast<air::DmaMemcpyNdOp>(op))
      failed |= mlir::failed(lowerDma(dma));
    else if (auto copy = dyn_cast<memref::CopyOp>(op))
      failed |= mlir::failed(lowerCopy(copy));
  });
  return failure(failed);
}

} // namespace airlink::host
