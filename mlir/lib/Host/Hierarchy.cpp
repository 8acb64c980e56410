// Launches, segments and herds as loops; what the host target cannot run yet.
#include "airlink/AIR/AIRDialect.h"
#include "airlink/Host/Streams.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

namespace airlink::host {

namespace {

bool isLevel(Operation *op) { return isa<air::LaunchOp, air::SegmentOp, air::HerdOp>(op); }

/// Why the host target cannot run `op`; empty if it can.
StringRef reasonAgainst(Operation *op) {
  if (isa<air::RankOp, air::UniverseAllocOp, air::TranslateOp>(op))
    return "runs on several devices";
  if (isa<air::CustomOp>(op))
    return "holds an `air.custom`, whose meaning is outside the program";
  if (auto dma = dyn_cast<air::DmaMemcpyNdOp>(op)) {
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

/// Tiles of the herd; nothing where a size is not constant.
std::optional<int64_t> tileCount(air::HerdOp herd) {
  int64_t count = 1;
  for (Value size : herd.getSizes()) {
    std::optional<int64_t> known = getConstantIntValue(size);
    if (!known)
      return std::nullopt;
    count *= *known;
  }
  return count;
}

/// Whether an access starts with the ids of the herd, one of each: it stays in the tile's own part of the buffer.
bool startsWithIds(air::HerdOp herd, ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes) {
  if (offsets.size() < herd.getIds().size() || sizes.size() != offsets.size())
    return false;
  for (auto [id, offset, size] : llvm::zip(herd.getIds(), offsets, sizes))
    if (offset != OpFoldResult(Value(id)) || getConstantIntValue(size) != 1)
      return false;
  return true;
}

/// Whether every tile touches no more of the buffer than the part that its ids select: then all may share it.
bool isDividedByTiles(air::HerdOp herd, BlockArgument buffer) {
  auto [strides, offset] = cast<MemRefType>(buffer.getType()).getStridesAndOffset();
  return llvm::all_of(buffer.getUses(), [&](OpOperand &use) {
    if (auto view = dyn_cast<memref::SubViewOp>(use.getOwner()))
      return startsWithIds(herd, view.getMixedOffsets(), view.getMixedSizes());
    auto dma = dyn_cast<air::DmaMemcpyNdOp>(use.getOwner());
    if (!dma)
      return false;
    Builder builder(dma.getContext());
    bool isSource = use.get() == dma.getSrc();
    if (isSource && use.get() == dma.getDst())
      return false;
    ArrayRef<int64_t> transferStrides = isSource ? dma.getStaticSrcStrides() : dma.getStaticDstStrides();
    if (!ArrayRef<int64_t>(strides).take_front(herd.getIds().size())
             .equals(transferStrides.take_front(herd.getIds().size())))
      return false;
    return isSource ? startsWithIds(herd,
                                    getMixedValues(dma.getStaticSrcOffsets(), dma.getDynamicSrcOffsets(), builder),
                                    getMixedValues(dma.getStaticSrcSizes(), dma.getDynamicSrcSizes(), builder))
                    : startsWithIds(herd,
                                    getMixedValues(dma.getStaticDstOffsets(), dma.getDynamicDstOffsets(), builder),
                                    getMixedValues(dma.getStaticDstSizes(), dma.getDynamicDstSizes(), builder));
  });
}

/// A herd that gets an L1 buffer, and as which of its operands.
struct TileUse {
  air::HerdOp herd;
  unsigned number;

  BlockArgument argument() { return herd.getKernelArguments()[number]; }
};

/// The herds that use the buffer; an error if something else does.
LogicalResult collectTileUses(memref::AllocOp alloc, SmallVectorImpl<TileUse> &uses) {
  for (OpOperand &use : alloc->getUses()) {
    Operation *user = use.getOwner();
    if (isa<memref::DeallocOp>(user))
      continue;
    auto herd = dyn_cast<air::HerdOp>(user);
    if (!herd)
      return alloc.emitError("AL0701: this L1 buffer is used outside of herds, which the host target cannot order yet");
    uses.push_back({herd, use.getOperandNumber() - herd.getKernelOperands().getBeginOperandIndex()});
  }
  return success();
}

/// Whether a loop or a branch hands the buffer on: then it may be another one each time.
bool isCarried(Value buffer) {
  return llvm::any_of(buffer.getUsers(), [](Operation *user) {
    if (isa<ViewLikeOpInterface>(user))
      return llvm::any_of(user->getResults(), isCarried);
    return isa<LoopLikeOpInterface>(user) || user->hasTrait<OpTrait::IsTerminator>();
  });
}

/// Whether nothing of the buffer is left over from a run of the herd to the next, so that each tile may have one of its
/// own for the run.
bool isOfOneRun(memref::AllocOp alloc, ArrayRef<TileUse> uses) {
  if (uses.size() != 1 || uses.front().herd->getBlock() != alloc->getBlock() || !bufferBytes(alloc.getType()))
    return false;
  TileUse use = uses.front();
  return !isCarried(use.argument());
}

/// Lets each tile allocate the buffer. Whoever looks at the body then sees that nobody else has it.
void moveInside(memref::AllocOp alloc, TileUse use) {
  OpBuilder builder = OpBuilder::atBlockBegin(use.herd.getBody());
  auto own = memref::AllocOp::create(builder, alloc.getLoc(), alloc.getType());
  BlockArgument argument = use.argument();
  argument.replaceAllUsesWith(own);
  use.herd.getBody()->eraseArgument(argument.getArgNumber());
  use.herd.getKernelOperandsMutable().erase(use.number);
  for (Operation *dealloc : llvm::make_early_inc_range(alloc->getUsers()))
    dealloc->erase();
  alloc.erase();
}

/// Hands `use` its tile's row of `rows` under the type of one buffer.
void selectRow(TileUse use, MemRefType rows, MemRefType single) {
  BlockArgument argument = use.argument();
  argument.setType(rows);
  OpBuilder builder = OpBuilder::atBlockBegin(use.herd.getBody());
  Location loc = use.herd.getLoc();
  Value tile = arith::ConstantIndexOp::create(builder, loc, 0);
  for (auto [id, extent] : llvm::zip_equal(use.herd.getIds(), use.herd.getExtents()))
    tile = arith::AddIOp::create(builder, loc, arith::MulIOp::create(builder, loc, tile, extent), id);
  Value elements = arith::ConstantIndexOp::create(builder, loc, single.getNumElements());
  Value index = arith::MulIOp::create(builder, loc, tile, elements);
  Value wide = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), index);
  Descriptor descriptor(builder, loc, argument);
  Value row = elementAddress(builder, loc, descriptor.firstElement(), *elementBytes(single.getElementType()), wide);
  Value own = memrefFromPointer(builder, loc, row, single);
  // All uses but the one that reads the descriptor.
  argument.replaceUsesWithIf(own, [&](OpOperand &use) { return !isa<UnrealizedConversionCastOp>(use.getOwner()); });
}

LogicalResult privatize(memref::AllocOp alloc) {
  SmallVector<TileUse> uses;
  auto isHerdUse = [](Operation *user) { return isa<air::HerdOp>(user); };
  if (memorySpace(alloc.getType()) != 2 || llvm::none_of(alloc->getUsers(), isHerdUse))
    return success();
  if (failed(collectTileUses(alloc, uses)))
    return failure();
  air::HerdOp first = uses.front().herd;
  std::optional<int64_t> tiles = tileCount(first);
  auto isSingle = [](TileUse &use) { return tileCount(use.herd) == 1; };
  bool isDivided = llvm::all_of(uses, [](TileUse &use) { return isDividedByTiles(use.herd, use.argument()); });
  if (!isDivided && isOfOneRun(alloc, uses)) {
    moveInside(alloc, uses.front());
    return success();
  }
  if (isDivided || llvm::all_of(uses, isSingle))
    return success();
  if (!tiles || !bufferBytes(alloc.getType()))
    return alloc.emitError("AL0701: this L1 buffer is handed to a herd, and the host target needs a constant number of "
                           "tiles and a static type for that");
  for (TileUse &use : llvm::drop_begin(uses))
    // Herds of one name and shape are the same tiles.
    if (!first.getSymNameAttr() || use.herd.getSymNameAttr() != first.getSymNameAttr() ||
        tileCount(use.herd) != tiles)
      return alloc.emitError("AL0701: this L1 buffer is shared by several herds, which the host target cannot order yet");

  MemRefType single = alloc.getType();
  auto rows = MemRefType::get({*tiles, single.getNumElements()}, single.getElementType(), MemRefLayoutAttrInterface(),
                              single.getMemorySpace());
  OpBuilder builder(alloc);
  auto shared = memref::AllocOp::create(builder, alloc.getLoc(), rows);
  Value(alloc).replaceAllUsesWith(shared);
  alloc.erase();
  for (TileUse use : uses)
    selectRow(use, rows, single);
  return success();
}

} // namespace

std::string described(Operation *op) {
  // A herd that the text does not have.
  if (op->hasAttr("airlink.execute"))
    return "`air.execute`";
  std::string text = op->getName().stripDialect().str();
  if (auto name = op->getAttrOfType<StringAttr>("sym_name"))
    text += " `@" + name.str() + "`";
  return text;
}

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
    StringRef reason = reasonAgainst(op);
    if (isa<air::ChannelPutOp, air::ChannelGetOp>(op) && !op->getParentOfType<air::HierarchyInterface>())
      reason = "uses a channel outside of launches";
    if (!reason.empty()) {
      op->emitError("AL0701: this operation ") << reason << ", which the host target cannot run yet";
      failed = true;
    }
  });
  return failure(failed);
}

LogicalResult privatizeTileBuffers(ModuleOp module) {
  bool failed = false;
  SmallVector<memref::AllocOp> allocs;
  module.walk([&](memref::AllocOp alloc) { allocs.push_back(alloc); });
  for (memref::AllocOp alloc : allocs)
    failed |= mlir::failed(privatize(alloc));
  return failure(failed);
}

void inlineHierarchy(ModuleOp module, bool reversed) {
  // What is said about a buffer later needs the name of its level, which is gone then.
  module.walk([](memref::AllocOp alloc) {
    if (auto level = alloc->getParentOfType<air::HierarchyInterface>())
      alloc->setAttr("airlink.owner", StringAttr::get(alloc.getContext(), described(level)));
  });
  SmallVector<Operation *> levels;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isLevel(op))
      levels.push_back(op);
  });
  for (Operation *op : levels)
    inlineLevel(op, reversed && !isa<air::SegmentOp>(op));
  for (auto channel : llvm::make_early_inc_range(module.getOps<air::ChannelOp>()))
    channel.erase();
}

} // namespace airlink::host
