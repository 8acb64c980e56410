// Tokens: what they become where they mean something, and how they go where they don't.
#include "airlink/AIR/AIRDialect.h"
#include "airlink/Host/Host.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace airlink::host {

namespace {

/// Puts the body of an `air.execute` in its place.
void inlineExecute(air::ExecuteOp execute) {
  IRRewriter rewriter(execute.getContext());
  Block *body = &execute.getRegion().front();
  Operation *terminator = body->getTerminator();
  SmallVector<Value> values(terminator->getOperands());
  rewriter.inlineBlockBefore(body, execute);
  rewriter.eraseOp(terminator);
  for (auto [result, value] : llvm::zip_equal(llvm::drop_begin(execute->getResults()), values))
    rewriter.replaceAllUsesWith(result, value);
  rewriter.eraseOp(execute);
}

/// A token that has fired.
Value firedBefore(Operation *op) {
  OpBuilder builder(op);
  return arith::ConstantIntOp::create(builder, op->getLoc(), builder.getI64Type(), 0);
}

/// Everything asynchronous below `root`, without what `isKept` stops at.
void dropBelow(Operation *root, llvm::function_ref<bool(Operation *)> isKept) {
  SmallVector<Operation *> list;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op != root && isKept(op))
      return WalkResult::skip();
    if (isa<air::AsyncInterface>(op))
      list.push_back(op);
    return WalkResult::advance();
  });
  for (Operation *op : list) {
    if (Value token = tokenOf(op); token && !token.use_empty())
      token.replaceAllUsesWith(firedBefore(op));
    if (auto execute = dyn_cast<air::ExecuteOp>(op))
      inlineExecute(execute);
    else if (isa<air::WaitAllOp>(op))
      op->erase();
  }
}

} // namespace

Value tokenOf(Operation *op) {
  // It is the first result, and only `air.execute` has others.
  return isa<air::AsyncInterface>(op) && op->getNumResults() != 0 ? Value(op->getResult(0)) : Value();
}

void dropTokens(Operation *root) {
  dropBelow(root, [](Operation *) { return false; });
}

void lowerTokens(ModuleOp module) {
  Type integer = IntegerType::get(module.getContext(), 64);
  auto convert = [&](Value value) {
    if (isa<air::AsyncTokenType>(value.getType()))
      value.setType(integer);
  };
  module.walk([&](Operation *op) {
    llvm::for_each(op->getResults(), convert);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), convert);
  });
  for (auto function : module.getOps<func::FuncOp>()) {
    dropBelow(function, [](Operation *op) {
      // The entry itself may have a token, which nobody needs; what is in it is another matter.
      return isa<air::HierarchyInterface>(op->getParentOp());
    });
    function.walk([](Operation *op) {
      if (!isEntry(op))
        return;
      if (auto launch = dyn_cast<air::LaunchOp>(op))
        launch.getAsyncDependenciesMutable().clear();
      else if (auto segment = dyn_cast<air::SegmentOp>(op))
        segment.getAsyncDependenciesMutable().clear();
      else if (auto herd = dyn_cast<air::HerdOp>(op))
        herd.getAsyncDependenciesMutable().clear();
    });
  }
}

bool usesStreams(Operation *root) {
  return root
      ->walk([](Operation *op) {
        return isa<air::ChannelPutOp, air::ChannelGetOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

} // namespace airlink::host
