// The functions of a host ELF that others call.
//
//   int32_t airlink_launch_<k>(void *const *args, uint64_t n);   launch k alone
//   int32_t airlink_run(void *const *args, uint64_t n);          all, in program order
//   int32_t airlink_call_<function>(T0 *, T1 *, ...);            airlink_run for C programs
//
// 0 is success, 1 a wrong n, 2 a program with channels that no run time was bound to. The launches need what stands before them at function level: it is copied into each, if
// it only computes. Where it does more (an allocation, a loop around launches, several blocks), launches cannot be run
// apart, and only airlink_run is there.
#include "airlink/Host/Host.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace airlink::host {

namespace {

LogicalResult checkArguments(func::FuncOp function) {
  bool failed = function.getNumResults() != 0;
  if (failed)
    function.emitError("AL0701: `") << function.getName() << "` returns values, which the host target cannot hand out";
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (type && bufferBytes(type))
      continue;
    failed = true;
    if (type)
      emitError(argument.getLoc(), "AL0701: argument ")
          << argument.getArgNumber() << " of `" << function.getName() << "` has type " << type
          << "; the host target needs a static shape and the identity layout";
    else
      emitError(argument.getLoc(), "AL0705: argument ")
          << argument.getArgNumber() << " of `" << function.getName() << "` is a scalar of type " << argument.getType()
          << ", which the host interface has no place for";
  }
  return failure(failed);
}

/// The launches of the function if each can be run alone.
std::optional<SmallVector<Operation *>> separateLaunches(func::FuncOp function) {
  if (!llvm::hasSingleElement(function.getBody()))
    return std::nullopt;
  SmallVector<Operation *> launches;
  for (Operation &op : function.getBody().front()) {
    if (isEntry(&op))
      launches.push_back(&op);
    else if (!op.hasTrait<OpTrait::IsTerminator>() && !isMemoryEffectFree(&op))
      return std::nullopt;
  }
  return launches;
}

/// What `op` needs of the function's block, itself included, in order.
SmallVector<Operation *> slice(Operation *op) {
  Block *block = op->getBlock();
  llvm::SetVector<Operation *> needed;
  needed.insert(op);
  for (unsigned next = 0; next < needed.size(); ++next)
    needed[next]->walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        if (Operation *definition = operand.getDefiningOp())
          if (Operation *ancestor = block->findAncestorOpInBlock(*definition))
            needed.insert(ancestor);
    });
  SmallVector<Operation *> ordered(needed.begin(), needed.end());
  llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return ordered;
}

/// Builds the entries of one function.
class Entries {
public:
  explicit Entries(func::FuncOp function)
      : function(function), loc(function.getLoc()), builder(function), context(function.getContext()),
        pointerType(LLVM::LLVMPointerType::get(context)) {}

  void build() {
    SmallVector<func::FuncOp> bodies;
    std::string name = function.getName().str();
    std::optional<SmallVector<Operation *>> launches = separateLaunches(function);
    if (launches) {
      for (auto [number, launch] : llvm::enumerate(*launches)) {
        bodies.push_back(launchBody(number, launch));
        entry("airlink_launch_" + std::to_string(number), bodies.back());
      }
      entry("airlink_run", bodies);
    } else {
      func::FuncOp body = function.clone();
      asBody(body, "airlink.program");
      builder.insert(body);
      entry("airlink_run", body);
    }
    callEntry("airlink_call_" + name);
    function.erase();
  }

private:
  void asBody(func::FuncOp body, StringRef name) {
    body->setDiscardableAttrs(DictionaryAttr::get(context));
    body.removeArgAttrsAttr();
    body.setName(name);
    body.setPrivate();
    body->setAttr("airlink.body", builder.getUnitAttr());
  }

  func::FuncOp launchBody(unsigned number, Operation *launch) {
    auto body = func::FuncOp::create(builder, launch->getLoc(), "airlink.launch." + std::to_string(number),
                                     function.getFunctionType());
    asBody(body, body.getName());
    Block *block = body.addEntryBlock();
    OpBuilder inside = OpBuilder::atBlockBegin(block);
    IRMapping mapping;
    mapping.map(function.getArguments(), block->getArguments());
    for (Operation *op : slice(launch))
      inside.clone(*op, mapping);
    func::ReturnOp::create(inside, loc);
    return body;
  }

  /// `i32 name(ptr args, i64 n)`: checks n, then calls the bodies in order.
  void entry(StringRef name, ArrayRef<func::FuncOp> bodies) {
    auto i32 = builder.getI32Type();
    auto entry = func::FuncOp::create(builder, loc, name,
                                      builder.getFunctionType({pointerType, builder.getI64Type()}, {i32}));
    Block *check = entry.addEntryBlock(), *run = entry.addBlock(), *refuse = entry.addBlock();
    OpBuilder inside = OpBuilder::atBlockEnd(check);
    Value count = i64Constant(inside, loc, function.getNumArguments());
    Value fits = arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::eq, check->getArgument(1), count);
    Value code = arith::ConstantIntOp::create(inside, loc, i32, 1);
    if (auto services = function->getParentOfType<ModuleOp>().lookupSymbol<LLVM::GlobalOp>("airlink.services")) {
      Value table = LLVM::LoadOp::create(inside, loc, pointerType, LLVM::AddressOfOp::create(inside, loc, services), 8);
      Value none = LLVM::ZeroOp::create(inside, loc, pointerType);
      Value isBound = LLVM::ICmpOp::create(inside, loc, LLVM::ICmpPredicate::ne, table, none);
      Value unbound = arith::ConstantIntOp::create(inside, loc, i32, 2);
      code = arith::SelectOp::create(inside, loc, fits, unbound, code);
      fits = arith::AndIOp::create(inside, loc, fits, isBound);
    }
    cf::CondBranchOp::create(inside, loc, fits, run, refuse);
    inside.setInsertionPointToEnd(refuse);
    func::ReturnOp::create(inside, loc, code);
    inside.setInsertionPointToEnd(run);
    SmallVector<Value> buffers;
    for (BlockArgument argument : function.getArguments()) {
      Value slot = LLVM::GEPOp::create(inside, loc, pointerType, pointerType, check->getArgument(0),
                                       ArrayRef<LLVM::GEPArg>{int32_t(argument.getArgNumber())});
      Value pointer = LLVM::LoadOp::create(inside, loc, pointerType, slot);
      buffers.push_back(memrefFromPointer(inside, loc, pointer, cast<MemRefType>(argument.getType())));
    }
    for (func::FuncOp body : bodies)
      func::CallOp::create(inside, loc, body, buffers);
    func::ReturnOp::create(inside, loc, Value(arith::ConstantIntOp::create(inside, loc, i32, 0)));
  }

  /// `i32 name(ptr, ptr, ...)`: packs the pointers and calls airlink_run.
  void callEntry(StringRef name) {
    auto i32 = builder.getI32Type();
    unsigned count = function.getNumArguments();
    SmallVector<Type> pointers(count, pointerType);
    auto entry = func::FuncOp::create(builder, loc, name, builder.getFunctionType(pointers, {i32}));
    Block *block = entry.addEntryBlock();
    OpBuilder inside = OpBuilder::atBlockEnd(block);
    Value size = i64Constant(inside, loc, std::max(count, 1u));
    Value array = LLVM::AllocaOp::create(inside, loc, pointerType, pointerType, size);
    for (BlockArgument argument : block->getArguments()) {
      Value slot = LLVM::GEPOp::create(inside, loc, pointerType, pointerType, array,
                                       ArrayRef<LLVM::GEPArg>{int32_t(argument.getArgNumber())});
      LLVM::StoreOp::create(inside, loc, argument, slot);
    }
    auto call = func::CallOp::create(inside, loc, "airlink_run", TypeRange{i32},
                                     ValueRange{array, i64Constant(inside, loc, count)});
    func::ReturnOp::create(inside, loc, call.getResults());
  }

  func::FuncOp function;
  Location loc;
  OpBuilder builder;
  MLIRContext *context;
  Type pointerType;
};

} // namespace

LogicalResult buildEntries(func::FuncOp function) {
  if (failed(checkArguments(function)))
    return failure();
  Entries(function).build();
  return success();
}

} // namespace airlink::host
