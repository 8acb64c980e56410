// Herds of launches with channels: the body becomes a function that runs one tile on a stack of its own,
//
//   void tile(const int64_t *frame, void *scratch, int64_t x, int64_t y);
//
// and the herd a call that issues its tiles. The frame holds what the body sees of the outside, as words: extents, scalars
// and pointers. `scratch` is a block of memory for the buffers that the tile allocates.
#include "airlink/Host/Streams.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

namespace airlink::host {

namespace {

constexpr int64_t kReads = 1, kWrites = 2;

/// What is done to a buffer through this value, its views and what holds it in inner regions.
void collectUse(Value buffer, int64_t &use, llvm::SmallPtrSetImpl<Value> &seen) {
  if (!isa<BaseMemRefType>(buffer.getType()) || !seen.insert(buffer).second)
    return;
  for (OpOperand &operand : buffer.getUses()) {
    Operation *user = operand.getOwner();
    if (auto dma = dyn_cast<air::DmaMemcpyNdOp>(user)) {
      use |= (dma.getDst() == buffer ? kWrites : 0) | (dma.getSrc() == buffer ? kReads : 0);
    } else if (isa<air::ChannelPutOp, memref::LoadOp, vector::TransferReadOp, vector::LoadOp>(user)) {
      use |= kReads;
    } else if (isa<air::ChannelGetOp, memref::StoreOp, vector::TransferWriteOp, vector::StoreOp>(user)) {
      use |= kWrites;
    } else if (auto copy = dyn_cast<memref::CopyOp>(user)) {
      use |= (copy.getTarget() == buffer ? kWrites : 0) | (copy.getSource() == buffer ? kReads : 0);
    } else if (isa<ViewLikeOpInterface>(user)) {
      for (Value result : user->getResults())
        collectUse(result, use, seen);
    } else if (!isa<memref::DeallocOp>(user)) {
      // Calls, yields and whatever else there is.
      use |= kReads | kWrites;
      if (auto loop = dyn_cast<LoopLikeOpInterface>(user))
        for (Value argument : loop.getRegionIterArgs())
          collectUse(argument, use, seen);
    }
  }
}

/// Bytes from the first element to the end of the last; -1 where the type does not say.
int64_t reachedBytes(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset, last = 0;
  if (!type.hasStaticShape() || failed(type.getStridesAndOffset(strides, offset)))
    return -1;
  for (auto [extent, stride] : llvm::zip_equal(type.getShape(), strides)) {
    int64_t step;
    if (extent == 0)
      return 0;
    if (ShapedType::isDynamic(stride) || stride < 0 || llvm::MulOverflow(extent - 1, stride, step) ||
        llvm::AddOverflow(last, step, last))
      return -1;
  }
  int64_t bytes;
  return llvm::MulOverflow(last + 1, *elementBytes(type.getElementType()), bytes) ? -1 : bytes;
}

class Outliner {
public:
  Outliner(air::HerdOp herd, Runtime &runtime, HerdTables &tables)
      : herd(herd), runtime(runtime), tables(tables), outside(herd), loc(herd.getLoc()),
        i64(outside.getI64Type()), pointer(LLVM::LLVMPointerType::get(herd.getContext())) {}

  LogicalResult run() {
    if (herd.getSizes().size() > 2)
      return herd.emitError("AL0701: the host target runs herds of one or two dimensions, this one has ")
             << herd.getSizes().size();
    createFunction();
    for (auto [size, extent] : llvm::zip_equal(herd.getSizes(), herd.getExtents()))
      if (failed(capture(size, extent)))
        return failure();
    for (auto [operand, argument] : llvm::zip_equal(herd.getKernelOperands(), herd.getKernelArguments()))
      if (failed(capture(operand, argument)))
        return failure();
    issue();
    return success();
  }

private:
  void createFunction() {
    auto module = herd->getParentOfType<ModuleOp>();
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    std::string name = "airlink.tile." + std::to_string(tables.size());
    function = func::FuncOp::create(builder, loc, name, builder.getFunctionType({pointer, pointer, i64, i64}, {}));
    function.setPrivate();
    function->setAttr("airlink.tile", builder.getUnitAttr());
    Block *entry = function.addEntryBlock();
    inside.setInsertionPointToEnd(entry);
    for (auto [index, id] : llvm::enumerate(herd.getIds()))
      replacements.push_back(
          arith::IndexCastOp::create(inside, loc, inside.getIndexType(), entry->getArgument(2 + index)));
  }

  /// Hands a value to the function as words of the frame.
  LogicalResult capture(Value outer, BlockArgument inner) {
    Type type = outer.getType();
    if (std::optional<int64_t> constant = getConstantIntValue(outer); constant && type.isIndex()) {
      replacements.push_back(arith::ConstantIndexOp::create(inside, loc, *constant));
      return success();
    }
    if (auto memref = dyn_cast<MemRefType>(type))
      return captureBuffer(outer, memref, inner);
    if (type.isIndex()) {
      frame.push_back(outer);
      replacements.push_back(arith::IndexCastOp::create(inside, loc, type, nextWord()));
      return success();
    }
    if (!type.isIntOrFloat() || type.getIntOrFloatBitWidth() > 64)
      return herd.emitError("AL0701: the host target cannot hand a value of type ") << type << " to a herd";
    unsigned width = type.getIntOrFloatBitWidth();
    Type bits = outside.getIntegerType(width);
    Value word = type == bits ? outer : Value(arith::BitcastOp::create(outside, loc, bits, outer));
    frame.push_back(width < 64 ? Value(arith::ExtUIOp::create(outside, loc, i64, word)) : word);
    Value back = nextWord();
    back = width < 64 ? Value(arith::TruncIOp::create(inside, loc, bits, back)) : back;
    replacements.push_back(type == bits ? back : Value(arith::BitcastOp::create(inside, loc, type, back)));
    return success();
  }

  LogicalResult captureBuffer(Value outer, MemRefType type, BlockArgument inner) {
    SmallVector<int64_t> strides;
    int64_t offset;
    if (!elementBytes(type.getElementType()) || failed(type.getStridesAndOffset(strides, offset)))
      return herd.emitError("AL0701: the host target cannot hand a buffer of type ") << type << " to a herd";
    int64_t use = 0;
    llvm::SmallPtrSet<Value, 8> seen;
    collectUse(inner, use, seen);
    accesses.push_back({int64_t(frame.size()), reachedBytes(type), use});
    Descriptor descriptor(outside, loc, outer);
    frame.push_back(LLVM::PtrToIntOp::create(outside, loc, i64, descriptor.firstElement()));
    Value address = LLVM::IntToPtrOp::create(inside, loc, pointer, nextWord());
    SmallVector<Value> dynamic;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (type.isDynamicDim(dim)) {
        frame.push_back(descriptor.size(dim));
        dynamic.push_back(nextWord());
      }
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (ShapedType::isDynamic(strides[dim])) {
        frame.push_back(descriptor.stride(dim));
        dynamic.push_back(nextWord());
      }
    replacements.push_back(memrefAt(inside, loc, address, type, dynamic));
    return success();
  }

  /// The word of the frame that was pushed last, inside.
  Value nextWord() {
    Value slot = LLVM::GEPOp::create(inside, loc, pointer, i64, function.getArgument(0),
                                     ArrayRef<LLVM::GEPArg>{int32_t(frame.size() - 1)});
    return LLVM::LoadOp::create(inside, loc, i64, slot, 8);
  }

  void issue() {
    HerdTable &table = tables[function.getName()];
    table.head = {runtime.text(described(herd)), runtime.text(placeText(loc)),
                  herd.getSymName() ? Word(runtime.text(*herd.getSymName())) : Word(LLVM::GlobalOp()),
                  int64_t(frame.size())};
    table.accesses = accesses;
    table.order = herd->hasAttr("airlink.execute") ? TileOrder::Task : orderOf(herd);
    table.site = runtime.table({int64_t(0)}); // Filled by finishHerds.

    SmallVector<OpFoldResult> words(frame.begin(), frame.end());
    SmallVector<OpFoldResult> tokens(herd.getAsyncDependencies().begin(), herd.getAsyncDependencies().end());
    auto size = [&](unsigned dim) -> Value {
      if (dim >= herd.getSizes().size())
        return i64Constant(outside, loc, 1);
      return arith::IndexCastOp::create(outside, loc, i64, herd.getSizes()[dim]);
    };
    auto type = function.getFunctionType();
    Value code = func::ConstantOp::create(outside, loc, type, function.getName());
    code = UnrealizedConversionCastOp::create(outside, loc, pointer, code).getResult(0);
    Value token = runtime.call(outside, loc, Service::Herd,
                               {runtime.address(outside, loc, table.site), code, size(0), size(1),
                                runtime.array(outside, loc, words), runtime.array(outside, loc, tokens),
                                i64Constant(outside, loc, tokens.size())});
    moveBody();
    if (Value old = tokenOf(herd))
      old.replaceAllUsesWith(token);
    herd.erase();
  }

  void moveBody() {
    IRRewriter rewriter(herd.getContext());
    // What is said about a buffer later needs the name of the herd, which is gone then.
    herd.walk([&](memref::AllocOp alloc) {
      alloc->setAttr("airlink.owner", StringAttr::get(alloc.getContext(), described(herd)));
    });
    Block *body = herd.getBody(), *entry = &function.getBody().front();
    rewriter.eraseOp(body->getTerminator());
    rewriter.inlineBlockBefore(body, entry, entry->end(), replacements);
    rewriter.setInsertionPointToEnd(entry);
    func::ReturnOp::create(rewriter, loc);
  }

  air::HerdOp herd;
  Runtime &runtime;
  HerdTables &tables;
  OpBuilder outside;
  OpBuilder inside{herd.getContext()};
  Location loc;
  Type i64, pointer;
  func::FuncOp function;
  SmallVector<Value> replacements;
  SmallVector<Value> frame;
  SmallVector<std::array<int64_t, 3>> accesses;
};

} // namespace

LogicalResult outlineHerd(air::HerdOp herd, Runtime &runtime, HerdTables &tables) {
  return Outliner(herd, runtime, tables).run();
}

bool isTile(func::FuncOp function) { return function->hasAttr("airlink.tile"); }

void finishHerds(Runtime &runtime, HerdTables &tables) {
  for (auto &[name, table] : tables) {
    SmallVector<Word> words = table.head, rows;
    words.push_back(table.scratch.bytes);
    words.push_back(int64_t(table.accesses.size()));
    for (auto &access : table.accesses)
      rows.append(access.begin(), access.end());
    words.push_back(rows.empty() ? LLVM::GlobalOp() : runtime.table(rows));
    words.push_back(int64_t(table.scratch.buffers.size()));
    rows.clear();
    for (TileScratch::Buffer &buffer : table.scratch.buffers)
      rows.append({buffer.offset, buffer.bytes, runtime.text(buffer.text)});
    words.push_back(rows.empty() ? LLVM::GlobalOp() : runtime.table(rows));
    words.push_back(static_cast<int64_t>(table.order));
    runtime.replaceTable(table.site, runtime.table(words));
  }
}

} // namespace airlink::host
