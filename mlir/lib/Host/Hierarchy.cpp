// Launches, segments and herds as loops; what the host target cannot run yet.
#include "airlink/AIR/AIRDialect.h"
#include "airlink/Host/Host.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace airlink::host {

namespace {

bool isLevel(Operation *op) { return isa<air::LaunchOp, air::SegmentOp, air::HerdOp>(op); }

/// `launch `@q``, `herd`.
std::string described(Operation *op) {
  std::string text = op->getName().stripDialect().str();
  if (auto name = op->getAttrOfType<StringAttr>("sym_name"))
    text += " `@" + name.str() + "`";
  return text;
}

/// Why the host target cannot run `op`; empty if it can.
StringRef reasonAgainst(Operation *op) {
  if (isa<air::ChannelPutOp, air::ChannelGetOp>(op))
    return "uses channels";
  if (isa<air::ExecuteOp>(op))
    return "uses `air.execute`";
  auto isToken = [](Type type) { return isa<air::AsyncTokenType>(type); };
  if (llvm::any_of(op->getResultTypes(), isToken) || llvm::any_of(op->getOperandTypes(), isToken))
    return "is asynchronous";
  if (isa<air::RankOp, air::UniverseAllocOp, air::TranslateOp>(op))
    return "runs on several devices";
  if (isa<air::CustomOp>(op))
    return "holds an `air.custom`, whose meaning is outside the program";
  if (auto dma = dyn_cast<air::DmaMemcpyNdOp>(op)) {
    if (dma.getPadBefore() || dma.getPadAfter())
      return "pads a transfer";
    if (dma.getSrcRank() || dma.getDstRank())
      return "copies between devices";
  }
  return {};
}

/// The loops over the space of `op`, and its body inside them.
void inlineLevel(Operation *op, bool reversed) {
  auto level = cast<air::HierarchyInterface>(op);
  Location loc = op->getLoc();
  IRRewriter rewriter(op->getContext());
  rewriter.setInsertionPoint(op);
  Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0), one = arith::ConstantIndexOp::create(rewriter, loc, 1);
  SmallVector<Value> arguments;
  Operation *place = op;
  for (Value size : level.getSizes()) {
    auto loop = scf::ForOp::create(rewriter, loc, zero, size, one);
    place = loop.getBody()->getTerminator();
    rewriter.setInsertionPoint(place);
    Value id = loop.getInductionVar();
    if (reversed)
      id = arith::SubIOp::create(rewriter, loc, arith::SubIOp::create(rewriter, loc, size, one), id);
    arguments.push_back(id);
  }
  llvm::append_range(arguments, level.getSizes());
  llvm::append_range(arguments, level.getKernelOperands());
  Block *body = &op->getRegion(0).front();
  rewriter.eraseOp(body->getTerminator());
  rewriter.inlineBlockBefore(body, place, arguments);
  rewriter.eraseOp(op);
}

/// The buffer behind operand `number` of a herd, if each tile has one of its own.
memref::AllocOp tileBuffer(Value operand) {
  auto alloc = operand.getDefiningOp<memref::AllocOp>();
  return alloc && memorySpace(alloc.getType()) == 2 ? alloc : memref::AllocOp();
}

/// Tiles of the herd; nothing where a size is not constant.
std::optional<int64_t> tileCount(air::HerdOp herd) {
  int64_t count = 1;
  for (Value size : herd.getSizes()) {
    APInt value;
    if (!matchPattern(size, m_ConstantInt(&value)))
      return std::nullopt;
    count *= value.getSExtValue();
  }
  return count;
}

LogicalResult privatize(air::HerdOp herd, unsigned number) {
  memref::AllocOp alloc = tileBuffer(herd.getKernelOperands()[number]);
  if (!alloc)
    return success();
  for (Operation *user : alloc->getUsers())
    if (user != herd && !isa<memref::DeallocOp>(user))
      return alloc.emitError("AL0701: this L1 buffer is shared by several operations, which the host target cannot "
                             "order yet");
  std::optional<int64_t> tiles = tileCount(herd);
  std::optional<int64_t> bytes = bufferBytes(alloc.getType());
  if (!tiles || !bytes)
    return alloc.emitError("AL0701: this L1 buffer is handed to a herd, and the host target needs a constant number of "
                           "tiles and a static type for that");
  if (*tiles <= 1)
    return success();

  // One row per tile, and each tile's body sees its row under the type of one buffer.
  MemRefType single = alloc.getType();
  int64_t elements = single.getNumElements();
  auto rows = MemRefType::get({*tiles, elements}, single.getElementType(), MemRefLayoutAttrInterface(),
                              single.getMemorySpace());
  OpBuilder outside(alloc);
  auto shared = memref::AllocOp::create(outside, alloc.getLoc(), rows);
  Value(alloc).replaceAllUsesWith(shared);
  alloc.erase();

  Block *body = herd.getBody();
  BlockArgument argument = herd.getKernelArguments()[number];
  argument.setType(rows);
  OpBuilder builder = OpBuilder::atBlockBegin(body);
  Location loc = herd.getLoc();
  Value tile = arith::ConstantIndexOp::create(builder, loc, 0);
  for (auto [id, extent] : llvm::zip_equal(herd.getIds(), herd.getExtents()))
    tile = arith::AddIOp::create(builder, loc, arith::MulIOp::create(builder, loc, tile, extent), id);
  Value index = arith::MulIOp::create(builder, loc, tile, arith::ConstantIndexOp::create(builder, loc, elements));
  Value wide = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), index);
  Descriptor descriptor(builder, loc, argument);
  Value row = elementAddress(builder, loc, descriptor.firstElement(), *elementBytes(single.getElementType()), wide);
  Value own = memrefFromPointer(builder, loc, row, single);
  // All uses but the one that reads the descriptor.
  argument.replaceUsesWithIf(own, [&](OpOperand &use) { return !isa<UnrealizedConversionCastOp>(use.getOwner()); });
  return success();
}

} // namespace

bool isEntry(Operation *op) {
  return isLevel(op) && !op->getParentOfType<air::HierarchyInterface>();
}

LogicalResult checkSupported(ModuleOp module) {
  bool failed = false;
  module.walk<WalkOrder::PreOrder>([&](Operation *entry) {
    if (!isEntry(entry))
      return WalkResult::advance();
    SmallVector<StringRef> said;
    entry->walk<WalkOrder::PreOrder>([&](Operation *op) {
      StringRef reason = reasonAgainst(op);
      if (reason.empty() || llvm::is_contained(said, reason))
        return;
      said.push_back(reason);
      failed = true;
      InFlightDiagnostic error = op->emitError("AL0701: ") << described(entry) << " " << reason
                                                           << ", which the host target cannot run yet";
      if (op != entry)
        error.attachNote(entry->getLoc()) << "in this " << entry->getName().stripDialect();
    });
    return WalkResult::skip();
  });
  if (failed)
    return failure();
  module.walk([&](Operation *op) {
    if (StringRef reason = reasonAgainst(op); !reason.empty()) {
      op->emitError("AL0701: this operation ") << reason << ", which the host target cannot run yet";
      failed = true;
    }
  });
  return failure(failed);
}

LogicalResult privatizeTileBuffers(ModuleOp module) {
  bool failed = false;
  module.walk([&](air::HerdOp herd) {
    for (unsigned number = 0; number < herd.getKernelOperands().size(); ++number)
      failed |= mlir::failed(privatize(herd, number));
  });
  return failure(failed);
}

void inlineHierarchy(ModuleOp module, bool reversePoints) {
  SmallVector<Operation *> levels;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isLevel(op))
      levels.push_back(op);
  });
  for (Operation *op : levels)
    inlineLevel(op, reversePoints && isa<air::LaunchOp>(op));
  module.walk([](air::WaitAllOp wait) { wait.erase(); });
  for (auto channel : llvm::make_early_inc_range(module.getOps<air::ChannelOp>()))
    channel.erase();
}

} // namespace airlink::host
