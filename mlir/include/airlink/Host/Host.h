// The host target's lowering of AIR: what its steps share. `LowerAir.cpp` is the pass that runs them in order.
#ifndef AIRLINK_HOST_HOST_H
#define AIRLINK_HOST_HOST_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include <optional>

namespace airlink::host {

// A diagnostic of these steps starts with a code and a colon (`AL0701: ...`); airlink-host makes a finding of it.

/// Whether `op` is a launch, or a segment or herd that stands in no launch.
bool isEntry(mlir::Operation *op);

/// Whether `root` or what it holds puts into or gets from a channel.
bool usesStreams(mlir::Operation *root);

/// Makes integers of tokens, so that they can go through loops and frames. Between launches they say nothing that program
/// order does not, and go.
void lowerTokens(mlir::ModuleOp module);

/// The token result of an operation, whatever its type has become; null if it has none. The accessors of the dialect
/// want the type that it had.
mlir::Value tokenOf(mlir::Operation *op);

/// Runs what is asynchronous below `root` in program order: no token means anything there.
void dropTokens(mlir::Operation *root);

/// One dimension of an access; strides in elements. Extent and stride are index values or constants.
struct AccessDim {
  mlir::OpFoldResult size, stride;
};

/// What a transfer reads or writes.
struct Access {
  mlir::Value memref;
  mlir::MemRefType type;
  llvm::SmallVector<AccessDim> dims;
  /// Address of the first element.
  mlir::Value start;
};

/// The access of `op` that three lists describe; empty lists are the whole buffer. Fewer offsets than sizes belong to the
/// innermost dimensions.
mlir::FailureOr<Access> readAccess(mlir::Operation *op, mlir::Value memref, llvm::ArrayRef<mlir::OpFoldResult> offsets,
                                   llvm::ArrayRef<mlir::OpFoldResult> sizes, llvm::ArrayRef<mlir::OpFoldResult> strides);

/// Reports everything in the module that the host target cannot run, one error per launch and reason.
mlir::LogicalResult checkSupported(mlir::ModuleOp module);

/// Turns `function` into entries: `airlink_launch_<k>` for each launch where the function-level operations allow that,
/// `airlink_run` and `airlink_call_<function>`. Erases `function`.
mlir::LogicalResult buildEntries(mlir::func::FuncOp function);

/// Gives each tile its own copy of the L1 buffers that a segment hands to a herd.
mlir::LogicalResult privatizeTileBuffers(mlir::ModuleOp module);

/// Drops copies into buffers that are only read, from memory that nothing changes meanwhile: the buffer is that memory.
/// A kernel counts as a reader of operands that its declaration calls `llvm.readonly`. Launches without channels lose
/// their tokens on the way.
void forwardCopies(mlir::ModuleOp module);

/// Turns `air.dma_memcpy_nd` and `memref.copy` into block copies, in loops where the access is not contiguous.
mlir::LogicalResult lowerCopies(mlir::ModuleOp module);

/// Turns calls of private functions without a body into calls with the C interface of kernels: bare pointers.
mlir::LogicalResult lowerExternCalls(mlir::ModuleOp module);

/// Turns launches, segments and herds into loops, launch points and tiles in reverse if asked.
void inlineHierarchy(mlir::ModuleOp module, bool reversed);

/// Drops the memory spaces from all types: on the host all of them are plain memory.
void stripMemorySpaces(mlir::ModuleOp module);

/// Bytes of one element; nothing for types that don't fill whole bytes.
std::optional<int64_t> elementBytes(mlir::Type element);

/// Bytes of the whole buffer; nothing where the shape is dynamic, the layout is not the identity, or the elements don't
/// fill whole bytes.
std::optional<int64_t> bufferBytes(mlir::MemRefType type);

/// Memory space as an integer: 0 is L3, 1 is L2, 2 is L1; -1 for anything else.
int64_t memorySpace(mlir::MemRefType type);

/// Level, type, owner and kernels of a buffer, each on a line: what airlink-rt says about it.
std::string bufferText(mlir::Operation *alloc, llvm::ArrayRef<llvm::StringRef> kernels);

/// A memref whose first element, offset applied, lies at `pointer`. `dynamic` are its sizes, then its strides, as far as
/// the type does not know them, as i64.
mlir::Value memrefAt(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value pointer, mlir::MemRefType type,
                     llvm::ArrayRef<mlir::Value> dynamic);

/// A memref over static row-major memory at `pointer`.
mlir::Value memrefFromPointer(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value pointer, mlir::MemRefType type);

/// The fields of a memref's descriptor.
class Descriptor {
public:
  Descriptor(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value memref);
  /// Address of the element that all indices 0 name, with the offset applied.
  mlir::Value firstElement();
  /// Size and stride of a dimension, as i64.
  mlir::Value size(unsigned dim);
  mlir::Value stride(unsigned dim);

private:
  mlir::Value field(llvm::ArrayRef<int64_t> position);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::MemRefType type;
  mlir::Value structure;
};

/// `pointer + index * size of element`.
mlir::Value elementAddress(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value pointer, int64_t elementBytes,
                           mlir::Value index);

/// An i64 constant of the LLVM dialect.
mlir::Value i64Constant(mlir::OpBuilder &builder, mlir::Location loc, int64_t value);

} // namespace airlink::host

#endif // AIRLINK_HOST_HOST_H
