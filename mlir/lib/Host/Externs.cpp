// Calls of kernels that an object file defines, with the C interface that they have on the NPU.
#include "airlink/Host/Host.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace airlink::host {

namespace {

/// How a value of this type travels in C: memrefs are pointers, an index has 32 bits on the NPU, and bf16 goes as its
/// bits, since compilers disagree on the register of `__bf16`. Null for types that have no place in the interface.
Type interfaceType(Type type) {
  MLIRContext *context = type.getContext();
  if (isa<MemRefType>(type))
    return LLVM::LLVMPointerType::get(context);
  if (type.isIndex())
    return IntegerType::get(context, 32);
  if (type.isBF16() || type.isF16())
    return IntegerType::get(context, 16);
  if (type.isF32() || type.isF64() || type.isInteger(8) || type.isInteger(16) || type.isInteger(32) ||
      type.isInteger(64))
    return type;
  return {};
}

/// Whether elements lie one after the other in row-major order, at whatever offset.
bool isContiguous(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset, expected = 1;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return false;
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    int64_t extent = type.getDimSize(dim);
    if (extent != 1 && strides[dim] != expected)
      return false;
    // An extent that is not known may only be the outermost: above it no stride can be checked.
    if (ShapedType::isDynamic(extent))
      return dim == 0;
    expected *= extent;
  }
  return true;
}

/// The buffer behind casts, which may hide its offset but do not move it.
Value behindCasts(Value memref) {
  while (auto cast = memref.getDefiningOp<memref::CastOp>()) {
    if (!isa<MemRefType>(cast.getSource().getType()))
      break;
    memref = cast.getSource();
  }
  return memref;
}

class CallLowering {
public:
  CallLowering(func::CallOp call, LLVM::LLVMFuncOp target) : call(call), target(target), builder(call) {}

  LogicalResult run() {
    SmallVector<Value> arguments;
    for (auto [number, operand] : llvm::enumerate(call.getOperands())) {
      FailureOr<Value> argument = isa<MemRefType>(operand.getType()) ? pointer(number, operand) : scalar(operand);
      if (failed(argument))
        return failure();
      arguments.push_back(*argument);
    }
    LLVM::CallOp::create(builder, call.getLoc(), target, arguments);
    call.erase();
    return success();
  }

private:
  FailureOr<Value> pointer(unsigned number, Value operand) {
    Value buffer = behindCasts(operand);
    auto type = cast<MemRefType>(buffer.getType());
    if (!elementBytes(type.getElementType()))
      return call.emitError("AL0701: operand ")
             << number << " of the call of `" << call.getCallee() << "` has elements of type " << type.getElementType()
             << ", which do not fill whole bytes";
    if (!isContiguous(type))
      return call.emitError("AL0701: operand ")
             << number << " of the call of `" << call.getCallee() << "` is not contiguous: a kernel gets a pointer and "
             << "cannot know the strides of " << type;
    auto [strides, offset] = type.getStridesAndOffset();
    if (offset != 0)
      call.emitWarning("AL0713: operand ")
          << number << " of the call of `" << call.getCallee()
          << "` may start inside its buffer; the NPU passes the buffer's first element instead";
    return Descriptor(builder, call.getLoc(), buffer).firstElement();
  }

  FailureOr<Value> scalar(Value operand) {
    Type type = operand.getType(), wanted = interfaceType(type);
    if (type == wanted)
      return operand;
    if (type.isIndex())
      return Value(arith::IndexCastOp::create(builder, call.getLoc(), wanted, operand));
    return Value(arith::BitcastOp::create(builder, call.getLoc(), wanted, operand));
  }

  func::CallOp call;
  LLVM::LLVMFuncOp target;
  OpBuilder builder;
};

/// Replaces the declaration; null after an error.
LLVM::LLVMFuncOp declare(func::FuncOp function) {
  if (function.getNumResults() != 0) {
    function.emitError("AL0701: the extern `") << function.getName() << "` returns a value; kernels return nothing";
    return {};
  }
  SmallVector<Type> inputs;
  for (Type type : function.getArgumentTypes()) {
    Type passed = interfaceType(type);
    if (!passed) {
      function.emitError("AL0701: the extern `")
          << function.getName() << "` takes a value of type " << type << ", which the host target cannot pass";
      return {};
    }
    inputs.push_back(passed);
  }
  // Behind the function: an insertion point at an op that is erased is none.
  OpBuilder builder(function->getContext());
  builder.setInsertionPointAfter(function);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(function.getContext()), inputs);
  std::string name = function.getName().str();
  Location loc = function.getLoc();
  function.erase();
  return LLVM::LLVMFuncOp::create(builder, loc, name, type);
}

} // namespace

LogicalResult lowerExternCalls(ModuleOp module) {
  llvm::StringMap<SmallVector<func::CallOp>> calls;
  module.walk([&](func::CallOp call) { calls[call.getCallee()].push_back(call); });
  bool failed = false;
  for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
    if (!function.isExternal())
      continue;
    auto found = calls.find(function.getName());
    if (found == calls.end()) {
      function.erase();
      continue;
    }
    LLVM::LLVMFuncOp target = declare(function);
    failed |= !target;
    if (target)
      for (func::CallOp call : found->second)
        failed |= mlir::failed(CallLowering(call, target).run());
  }
  return failure(failed);
}

} // namespace airlink::host
