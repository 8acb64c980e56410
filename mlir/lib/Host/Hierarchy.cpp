// Launches, segments and herds as loops; what the host target cannot run yet.
#include "airlink/AIR/AIRDialect.h"
#include "airlink/Host/Streams.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

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

Value givenFor(BlockArgument argument) {
  auto level = dyn_cast<air::HierarchyInterface>(argument.getOwner()->getParentOp());
  unsigned first = level ? 2 * level.getNumDims() : 0;
  return level && argument.getArgNumber() >= first ? level.getKernelOperands()[argument.getArgNumber() - first] : Value();
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
  for (Operation *op : levels) {
    TileOrder order = orderOf(op);
    bool isBackwards = order == TileOrder::Any ? reversed && !isa<air::SegmentOp>(op) : order == TileOrder::Descending;
    inlineLevel(op, isBackwards);
  }
  for (auto channel : llvm::make_early_inc_range(module.getOps<air::ChannelOp>()))
    channel.erase();
}

} // namespace airlink::host
