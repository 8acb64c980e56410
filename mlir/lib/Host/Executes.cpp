// Code of a launch's control code that touches memory itself, as tasks.
//
// Control code only issues. An `air.execute` that stores or calls would have to wait until what was issued before is done
// with that memory, and if that waits for what the text issues later, for ever. So it becomes a herd of one tile: a record
// like a transfer, ordered by its tokens and by the memory it touches.
#include "airlink/Host/Streams.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace airlink::host {

namespace {

bool isConstant(Value value) { return matchPattern(value, m_Constant()); }

/// Whether a value is memory of the program that changes: airlink-rt does not know it, and orders nothing by it.
bool isVariable(Value value) {
  auto get = value.getDefiningOp<memref::GetGlobalOp>();
  auto global = get ? SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(get, get.getNameAttr()) : memref::GlobalOp();
  return global && !global.getConstant();
}

/// Whether a herd can get a value.
bool canBeHanded(Value value) {
  Type type = value.getType();
  if (isVariable(value))
    return false;
  if (isConstant(value) || type.isIndex())
    return true;
  if (auto memref = dyn_cast<MemRefType>(type)) {
    SmallVector<int64_t> strides;
    int64_t offset;
    return elementBytes(memref.getElementType()) && succeeded(memref.getStridesAndOffset(strides, offset));
  }
  return type.isIntOrFloat() && type.getIntOrFloatBitWidth() <= 64;
}

/// Whether the body touches memory in code of its own, and does nothing that only control code can: transfers are
/// records already, and buffers are made and given back where their text stands.
bool touchesMemoryItself(air::ExecuteOp execute) {
  bool touches = false;
  WalkResult walked = execute.getRegion().walk([&](Operation *op) {
    if (isa<air::ExecuteTerminatorOp, memref::CopyOp>(op))
      return WalkResult::advance();
    if (isa<air::AIRDialect>(op->getDialect()) || isa<memref::AllocOp, memref::AllocaOp, memref::DeallocOp>(op) ||
        llvm::any_of(op->getResults(), isVariable))
      return WalkResult::interrupt();
    bool isSilent = op->getNumRegions() != 0 || op->hasTrait<OpTrait::IsTerminator>() ||
                    isa<ViewLikeOpInterface>(op) || isMemoryEffectFree(op);
    touches |= !isSilent;
    return WalkResult::advance();
  });
  return touches && !walked.wasInterrupted();
}

void makeTask(air::ExecuteOp execute, ArrayRef<Value> captured) {
  OpBuilder builder(execute);
  Location loc = execute.getLoc();
  SmallVector<Value> constants, operands;
  for (Value value : captured)
    (isConstant(value) ? constants : operands).push_back(value);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto herd = air::HerdOp::create(builder, loc, execute->getResult(0).getType(), StringAttr(), StringAttr(),
                                  execute.getAsyncDependencies(), ValueRange{one, one}, operands);
  herd->setAttr("airlink.execute", builder.getUnitAttr());
  Region &region = herd.getRegion();
  Block *body = region.empty() ? builder.createBlock(&region) : &region.front();
  body->clear();
  body->eraseArguments(0, body->getNumArguments());
  // Two ids and two extents, which nobody asks for.
  for (unsigned i = 0; i < 4; ++i)
    body->addArgument(builder.getIndexType(), loc);
  Block *code = &execute.getRegion().front();
  body->getOperations().splice(body->end(), code->getOperations(), code->begin(),
                               Block::iterator(code->getTerminator()));
  for (Value operand : operands)
    replaceAllUsesInRegionWith(operand, body->addArgument(operand.getType(), loc), region);
  builder.setInsertionPointToStart(body);
  for (Value constant : constants) {
    Operation *own = builder.clone(*constant.getDefiningOp());
    replaceAllUsesInRegionWith(constant, own->getResult(cast<OpResult>(constant).getResultNumber()), region);
  }
  builder.setInsertionPointToEnd(body);
  air::HerdTerminatorOp::create(builder, loc);
  execute->getResult(0).replaceAllUsesWith(herd->getResult(0));
  execute.erase();
}

} // namespace

void makeTasksOfExecutes(Operation *entry) {
  SmallVector<air::ExecuteOp> executes;
  entry->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<air::HerdOp>(op))
      return WalkResult::skip();
    // What it hands out, later text may need at once.
    if (auto execute = dyn_cast<air::ExecuteOp>(op); execute && execute->getNumResults() == 1)
      executes.push_back(execute);
    return WalkResult::advance();
  });
  for (air::ExecuteOp execute : executes) {
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(execute.getRegion(), captured);
    if (touchesMemoryItself(execute) && llvm::all_of(captured, canBeHanded))
      makeTask(execute, captured.getArrayRef());
  }
}

} // namespace airlink::host
