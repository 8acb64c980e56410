// Memrefs as pointers: descriptors, buffers, memory spaces.
#include "airlink/Host/Host.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

namespace airlink::host {

namespace {

// Buffers up to this size, and up to this sum per function, go on the stack, where LLVM can keep them in registers.
// Tiles of later versions run on small stacks of their own, hence the modest sum.
constexpr int64_t kStackBufferBytes = 4096;
constexpr int64_t kStackBytes = 32 * 1024;
// A cache line, and enough for any vector load.
constexpr int64_t kAlignment = 64;

LLVM::LLVMStructType descriptorType(MemRefType type) {
  MLIRContext *context = type.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context), i64 = IntegerType::get(context, 64);
  SmallVector<Type> fields{pointer, pointer, i64};
  if (type.getRank() > 0)
    fields.append(2, LLVM::LLVMArrayType::get(i64, type.getRank()));
  return LLVM::LLVMStructType::getLiteral(context, fields);
}

/// Whether the buffer, or a view of it, outlives the iteration that allocates it.
bool outlivesIteration(Value buffer) {
  for (Operation *user : buffer.getUsers()) {
    if (isa<scf::YieldOp>(user) && isa<LoopLikeOpInterface>(user->getParentOp()))
      return true;
    if ((isa<ViewLikeOpInterface>(user) || isa<scf::YieldOp>(user)) &&
        llvm::any_of(isa<scf::YieldOp>(user) ? user->getParentOp()->getResults() : user->getResults(),
                     [](Value result) { return isa<MemRefType>(result.getType()) && outlivesIteration(result); }))
      return true;
  }
  return false;
}

/// Hands out static memory. The n-th large buffer of every entry shares one block: entries never run at the same time.
/// Buffers of other functions have blocks of their own, since an entry may be in the middle of using its own.
class StaticMemory {
public:
  explicit StaticMemory(ModuleOp module) : module(module), symbols(module) {}

  LLVM::GlobalOp block(func::FuncOp function, int64_t bytes) {
    bool shared = function->hasAttr("airlink.body");
    unsigned slot = slots[function]++;
    LLVM::GlobalOp &global = shared ? sharedBlocks[slot] : ownBlocks[{function, slot}];
    if (!global) {
      OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
      global = LLVM::GlobalOp::create(builder, module.getLoc(), arrayOf(bytes), /*isConstant=*/false,
                                      LLVM::Linkage::Internal, "airlink.buffer", Attribute(), kAlignment);
      Block *body = builder.createBlock(&global.getInitializerRegion());
      builder.setInsertionPointToEnd(body);
      LLVM::ReturnOp::create(builder, module.getLoc(),
                             LLVM::ZeroOp::create(builder, module.getLoc(), arrayOf(bytes)).getResult());
      symbols.insert(global);
    } else if (bytes > int64_t(cast<LLVM::LLVMArrayType>(global.getType()).getNumElements())) {
      global.setGlobalTypeAttr(TypeAttr::get(arrayOf(bytes)));
      global.getInitializerRegion().front().front().getResult(0).setType(arrayOf(bytes));
    }
    return global;
  }

private:
  Type arrayOf(int64_t bytes) {
    return LLVM::LLVMArrayType::get(IntegerType::get(module.getContext(), 8), bytes);
  }

  ModuleOp module;
  SymbolTable symbols;
  DenseMap<Operation *, unsigned> slots;
  DenseMap<unsigned, LLVM::GlobalOp> sharedBlocks;
  DenseMap<std::pair<Operation *, unsigned>, LLVM::GlobalOp> ownBlocks;
};

LogicalResult placeBuffer(Operation *alloc, StaticMemory &memory, int64_t &stackBytes, std::optional<uint8_t> poison) {
  Value buffer = alloc->getResult(0);
  auto type = cast<MemRefType>(buffer.getType());
  std::optional<int64_t> bytes = bufferBytes(type);
  if (!bytes)
    return alloc->emitError("AL0701: the host target cannot place a buffer of type ")
           << type << ": its size or layout is not static";
  if (alloc->getParentOfType<LoopLikeOpInterface>() && outlivesIteration(buffer))
    return alloc->emitError("AL0701: a buffer that outlives the loop iteration that allocates it is not supported on "
                            "the host target");
  auto function = alloc->getParentOfType<func::FuncOp>();
  Location loc = alloc->getLoc();
  OpBuilder builder(alloc);
  Value pointer;
  int64_t reserved = llvm::alignTo(std::max<int64_t>(*bytes, 1), kAlignment);
  if (reserved <= kStackBufferBytes && stackBytes + reserved <= kStackBytes) {
    stackBytes += reserved;
    // In the entry block, so that a loop around the buffer does not grow the stack.
    builder.setInsertionPointToStart(&function.getBody().front());
    pointer = LLVM::AllocaOp::create(builder, loc, LLVM::LLVMPointerType::get(type.getContext()), builder.getI8Type(),
                                     i64Constant(builder, loc, reserved), kAlignment);
    builder.setInsertionPoint(alloc);
  } else {
    pointer = LLVM::AddressOfOp::create(builder, loc, memory.block(function, reserved));
  }
  if (poison)
    LLVM::MemsetOp::create(builder, loc, pointer,
                           LLVM::ConstantOp::create(builder, loc, builder.getI8Type(),
                                                    builder.getI8IntegerAttr(int8_t(*poison))),
                           i64Constant(builder, loc, *bytes), /*isVolatile=*/false);
  buffer.replaceAllUsesWith(memrefFromPointer(builder, loc, pointer, type));
  alloc->erase();
  return success();
}

} // namespace

LogicalResult placeBuffers(ModuleOp module, std::optional<uint8_t> poison) {
  module.walk([](memref::DeallocOp dealloc) { dealloc.erase(); });
  StaticMemory memory(module);
  bool failed = false;
  for (auto function : module.getOps<func::FuncOp>()) {
    SmallVector<Operation *> allocations;
    function.walk([&](Operation *op) {
      if (isa<memref::AllocOp, memref::AllocaOp>(op))
        allocations.push_back(op);
    });
    int64_t stackBytes = 0;
    for (Operation *alloc : allocations)
      failed |= mlir::failed(placeBuffer(alloc, memory, stackBytes, poison));
  }
  return failure(failed);
}

void stripMemorySpaces(ModuleOp module) {
  module.walk([](memref::MemorySpaceCastOp cast) {
    // The types may still differ in more than the space; both become equal below.
    cast.getResult().replaceAllUsesWith(cast.getSource());
    cast.erase();
  });
  AttrTypeReplacer replacer;
  replacer.addReplacement([](MemRefType type) -> std::optional<Type> {
    if (!type.getMemorySpace())
      return std::nullopt;
    return MemRefType::get(type.getShape(), type.getElementType(), type.getLayout());
  });
  replacer.addReplacement([](UnrankedMemRefType type) -> std::optional<Type> {
    return UnrankedMemRefType::get(type.getElementType(), Attribute());
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/true);
}

std::optional<int64_t> elementBytes(Type element) {
  if (element.isIndex())
    return 8;
  if (element.isInteger(1)) // one byte in memory
    return 1;
  if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() % 8 != 0)
    return std::nullopt;
  return element.getIntOrFloatBitWidth() / 8;
}

std::optional<int64_t> bufferBytes(MemRefType type) {
  std::optional<int64_t> bytes = elementBytes(type.getElementType());
  if (!bytes || !type.hasStaticShape() || !type.getLayout().isIdentity())
    return std::nullopt;
  for (int64_t extent : type.getShape())
    if (llvm::MulOverflow(*bytes, extent, *bytes))
      return std::nullopt;
  return bytes;
}

int64_t memorySpace(MemRefType type) {
  Attribute space = type.getMemorySpace();
  if (!space)
    return 0;
  auto integer = dyn_cast<IntegerAttr>(space);
  return integer ? integer.getValue().getSExtValue() : -1;
}

Value i64Constant(OpBuilder &builder, Location loc, int64_t value) {
  return LLVM::ConstantOp::create(builder, loc, builder.getI64Type(), builder.getI64IntegerAttr(value));
}

Value memrefFromPointer(OpBuilder &builder, Location loc, Value pointer, MemRefType type) {
  Value structure = LLVM::PoisonOp::create(builder, loc, descriptorType(type));
  auto set = [&](Value value, ArrayRef<int64_t> position) {
    structure = LLVM::InsertValueOp::create(builder, loc, structure, value, position);
  };
  set(pointer, {0});
  set(pointer, {1});
  set(i64Constant(builder, loc, 0), {2});
  int64_t stride = 1;
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    set(i64Constant(builder, loc, type.getDimSize(dim)), {3, dim});
    set(i64Constant(builder, loc, stride), {4, dim});
    stride *= type.getDimSize(dim);
  }
  return UnrealizedConversionCastOp::create(builder, loc, type, structure).getResult(0);
}

Descriptor::Descriptor(OpBuilder &builder, Location loc, Value memref)
    : builder(builder), loc(loc), type(cast<MemRefType>(memref.getType())),
      structure(UnrealizedConversionCastOp::create(builder, loc, descriptorType(type), memref).getResult(0)) {}

Value Descriptor::field(ArrayRef<int64_t> position) {
  return LLVM::ExtractValueOp::create(builder, loc, structure, position);
}

Value Descriptor::firstElement() {
  // The offset is read even where the type says 0: a cast may have hidden one.
  return elementAddress(builder, loc, field({1}), *elementBytes(type.getElementType()), field({2}));
}

Value Descriptor::size(unsigned dim) { return field({3, dim}); }

Value Descriptor::stride(unsigned dim) { return field({4, dim}); }

Value elementAddress(OpBuilder &builder, Location loc, Value pointer, int64_t elementBytes, Value index) {
  return LLVM::GEPOp::create(builder, loc, pointer.getType(), builder.getIntegerType(elementBytes * 8), pointer, index,
                             LLVM::GEPNoWrapFlags::inbounds);
}

} // namespace airlink::host
