// Memrefs as pointers: descriptors, buffers, memory spaces.
#include "airlink/Host/Streams.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace airlink::host {

namespace {

// Buffers up to this size, and up to this sum per function, go on the stack, where LLVM can keep them in registers.
// Tiles of later versions run on small stacks of their own, hence the modest sum.
constexpr int64_t kStackBufferBytes = 4096;
constexpr int64_t kStackBytes = 32 * 1024;
// A cache line, and enough for any vector load.
constexpr int64_t kAlignment = 64;
// Around a guarded buffer lie bytes that belong to nobody: airlink-rt looks after each call whether they were written.
constexpr int64_t kFrontZoneBytes = 256;
constexpr int64_t kBackZoneBytes = 4096;
// Of a tile's buffers: they are many, and looked after each time that a tile has run.
constexpr int64_t kTileBackZoneBytes = 1024;
// What a 32-bit offset reaches.
constexpr int64_t kMaxScratchBytes = int64_t(1) << 30;
// Behind all of them: airlink-rt closes these pages, so that what runs on and on does not reach what the process keeps
// behind the ELF.
constexpr int64_t kGuardBytes = 2 << 20;

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

/// The functions that get a pointer into the buffer, through views and casts.
void collectCallees(Value value, llvm::SetVector<StringRef> &callees, llvm::SmallPtrSetImpl<Value> &seen) {
  if (!isa<MemRefType, LLVM::LLVMPointerType, LLVM::LLVMStructType>(value.getType()) || !seen.insert(value).second)
    return;
  for (Operation *user : value.getUsers()) {
    // Calls of services have no name: what they do with a pointer, airlink-rt checks.
    if (auto call = dyn_cast<LLVM::CallOp>(user); call && call.getCallee())
      callees.insert(*call.getCallee());
    else if (auto call = dyn_cast<func::CallOp>(user))
      callees.insert(call.getCallee());
    bool yields = isa<scf::YieldOp>(user);
    for (Value result : yields ? user->getParentOp()->getResults() : user->getResults())
      collectCallees(result, callees, seen);
    if (auto loop = dyn_cast<LoopLikeOpInterface>(user))
      for (Value argument : loop.getRegionIterArgs())
        collectCallees(argument, callees, seen);
  }
}

/// Buffers that lie between zones which airlink-rt watches, and the table that tells it where: `airlink_buffers`, an
/// array of {block, bytes in front, bytes, bytes behind, launch or -1, text}. The last row has a null block, and bytes and
/// place of the guard behind all of them. The text is the level, the type, the herd or segment, and the kernels that get the buffer, each on a line. The ELF itself neither
/// fills nor reads the zones: its code is as fast as without them.
class GuardedBuffers {
public:
  explicit GuardedBuffers(ModuleOp module)
      : module(module), symbols(module), builder(module.getContext()), loc(module.getLoc()),
        pointerType(LLVM::LLVMPointerType::get(module.getContext())) {}

  /// The global that holds the buffer and its zones; the buffer starts kFrontZoneBytes in.
  LLVM::GlobalOp add(Operation *alloc, int64_t bytes, ArrayRef<StringRef> callees) {
    auto function = alloc->getParentOfType<func::FuncOp>();
    int64_t launch = -1;
    StringRef number = function.getName();
    if (!number.consume_front("airlink.launch.") || number.getAsInteger(10, launch))
      launch = -1;
    std::string text = bufferText(alloc, callees);
    text.push_back('\0');
    LLVM::GlobalOp block = zeroed(kFrontZoneBytes + bytes + kBackZoneBytes);
    rows.push_back({block, string(text), bytes, launch});
    return block;
  }

  void writeTable() {
    if (rows.empty())
      return;
    auto i64 = builder.getI64Type();
    auto row = LLVM::LLVMStructType::getLiteral(module.getContext(), {pointerType, i64, i64, i64, i64, pointerType});
    auto type = LLVM::LLVMArrayType::get(row, rows.size() + 1);
    builder.setInsertionPointToEnd(module.getBody());
    // The last of the module, so that it lies behind the blocks.
    auto guardType = LLVM::LLVMArrayType::get(builder.getI8Type(), kGuardBytes);
    auto guard = LLVM::GlobalOp::create(builder, loc, guardType, /*isConstant=*/false, LLVM::Linkage::Internal,
                                        "airlink.guard", Attribute(), kAlignment);
    builder.createBlock(&guard.getInitializerRegion());
    LLVM::ReturnOp::create(builder, loc, LLVM::ZeroOp::create(builder, loc, guardType).getResult());
    builder.setInsertionPointToEnd(module.getBody());
    auto table = LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/true, LLVM::Linkage::External,
                                        "airlink_buffers", Attribute(), 8);
    builder.createBlock(&table.getInitializerRegion());
    Value content = LLVM::ZeroOp::create(builder, loc, type);
    for (auto [index, entry] : llvm::enumerate(rows)) {
      auto set = [&, row = int64_t(index)](int64_t field, Value value) {
        content = LLVM::InsertValueOp::create(builder, loc, content, value, ArrayRef<int64_t>{row, field});
      };
      set(0, LLVM::AddressOfOp::create(builder, loc, entry.block));
      set(1, i64Constant(builder, loc, kFrontZoneBytes));
      set(2, i64Constant(builder, loc, entry.bytes));
      set(3, i64Constant(builder, loc, kBackZoneBytes));
      set(4, i64Constant(builder, loc, entry.launch));
      set(5, LLVM::AddressOfOp::create(builder, loc, entry.text));
    }
    int64_t end = rows.size();
    content = LLVM::InsertValueOp::create(builder, loc, content, i64Constant(builder, loc, kGuardBytes),
                                          ArrayRef<int64_t>{end, 2});
    content = LLVM::InsertValueOp::create(builder, loc, content, LLVM::AddressOfOp::create(builder, loc, guard),
                                          ArrayRef<int64_t>{end, 5});
    LLVM::ReturnOp::create(builder, loc, content);
  }

private:
  struct Row {
    LLVM::GlobalOp block, text;
    int64_t bytes, launch;
  };

  LLVM::GlobalOp zeroed(int64_t bytes) {
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes);
    builder.setInsertionPointToStart(module.getBody());
    auto global = LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/false, LLVM::Linkage::Internal,
                                         "airlink.guarded", Attribute(), kAlignment);
    builder.createBlock(&global.getInitializerRegion());
    LLVM::ReturnOp::create(builder, loc, LLVM::ZeroOp::create(builder, loc, type).getResult());
    symbols.insert(global);
    return global;
  }

  LLVM::GlobalOp string(StringRef text) {
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), text.size());
    builder.setInsertionPointToStart(module.getBody());
    auto global = LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal,
                                         "airlink.guarded.text", builder.getStringAttr(text));
    symbols.insert(global);
    return global;
  }

  ModuleOp module;
  SymbolTable symbols;
  OpBuilder builder;
  Location loc;
  Type pointerType;
  SmallVector<Row> rows;
};

/// Whether a service gets a pointer into the buffer, through views and casts.
bool isTransferred(Value value, llvm::SmallPtrSetImpl<Value> &seen) {
  if (!isa<MemRefType, LLVM::LLVMPointerType, LLVM::LLVMStructType>(value.getType()) || !seen.insert(value).second)
    return false;
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    auto call = dyn_cast<LLVM::CallOp>(user);
    if (call && !call.getCallee())
      return true;
    bool yields = isa<scf::YieldOp>(user);
    for (Value result : yields ? user->getParentOp()->getResults() : user->getResults())
      if (isTransferred(result, seen))
        return true;
    auto loop = dyn_cast<LoopLikeOpInterface>(user);
    return loop && llvm::any_of(loop.getRegionIterArgs(), [&](Value value) { return isTransferred(value, seen); });
  });
}

/// Where a buffer lies. Those that kernels get are guarded: what code of others writes is anybody's guess. The rest only
/// in builds that look for mistakes, since LLVM keeps small buffers in registers and knows that nobody else writes them.
struct Placement {
  StaticMemory &memory;
  GuardedBuffers &guarded;
  std::optional<uint8_t> poison;
  /// Of the tile that the function runs; null for other functions.
  TileScratch *tile = nullptr;
  int64_t stackBytes = 0;
};

/// A place in the block that each tile has for itself, between zones as those of guarded buffers.
Value placeInScratch(OpBuilder &builder, Operation *alloc, int64_t bytes, ArrayRef<StringRef> callees,
                     TileScratch &tile) {
  int64_t offset = tile.bytes + kFrontZoneBytes;
  tile.buffers.push_back({offset, bytes, bufferText(alloc, callees)});
  tile.bytes = llvm::alignTo(offset + bytes + kTileBackZoneBytes, kAlignment);
  Value scratch = alloc->getParentOfType<func::FuncOp>().getArgument(1);
  return LLVM::GEPOp::create(builder, alloc->getLoc(), scratch.getType(), builder.getI8Type(), scratch,
                             ArrayRef<LLVM::GEPArg>{int32_t(offset)});
}

LogicalResult placeBuffer(Operation *alloc, Placement &place) {
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
  llvm::SetVector<StringRef> callees;
  llvm::SmallPtrSet<Value, 16> seen;
  collectCallees(buffer, callees, seen);
  bool isSmall = reserved <= kStackBufferBytes && place.stackBytes + reserved <= kStackBytes;
  seen.clear();
  if (place.tile && (place.poison || !callees.empty() || !isSmall || isTransferred(buffer, seen))) {
    if (place.tile->bytes + reserved > kMaxScratchBytes)
      return alloc->emitError("AL0701: the buffers of this tile are larger than 1 GiB");
    pointer = placeInScratch(builder, alloc, *bytes, callees.getArrayRef(), *place.tile);
  } else if (place.poison || !callees.empty()) {
    Value block = LLVM::AddressOfOp::create(builder, loc, place.guarded.add(alloc, *bytes, callees.getArrayRef()));
    pointer = LLVM::GEPOp::create(builder, loc, block.getType(), builder.getI8Type(), block,
                                  ArrayRef<LLVM::GEPArg>{int32_t(kFrontZoneBytes)});
  } else if (isSmall) {
    place.stackBytes += reserved;
    // In the entry block, so that a loop around the buffer does not grow the stack.
    builder.setInsertionPointToStart(&function.getBody().front());
    pointer = LLVM::AllocaOp::create(builder, loc, LLVM::LLVMPointerType::get(type.getContext()), builder.getI8Type(),
                                     i64Constant(builder, loc, reserved), kAlignment);
    builder.setInsertionPoint(alloc);
  } else {
    pointer = LLVM::AddressOfOp::create(builder, loc, place.memory.block(function, reserved));
  }
  if (place.poison)
    LLVM::MemsetOp::create(builder, loc, pointer,
                           LLVM::ConstantOp::create(builder, loc, builder.getI8Type(),
                                                    builder.getI8IntegerAttr(int8_t(*place.poison))),
                           i64Constant(builder, loc, *bytes), /*isVolatile=*/false);
  buffer.replaceAllUsesWith(memrefFromPointer(builder, loc, pointer, type));
  alloc->erase();
  return success();
}

} // namespace

LogicalResult placeBuffers(ModuleOp module, std::optional<uint8_t> poison, HerdTables &tiles) {
  module.walk([](memref::DeallocOp dealloc) { dealloc.erase(); });
  StaticMemory memory(module);
  GuardedBuffers guarded(module);
  bool failed = false;
  for (auto function : module.getOps<func::FuncOp>()) {
    SmallVector<Operation *> allocations;
    function.walk([&](Operation *op) {
      if (isa<memref::AllocOp, memref::AllocaOp>(op))
        allocations.push_back(op);
    });
    auto tile = tiles.find(function.getName());
    Placement place{memory, guarded, poison, tile == tiles.end() ? nullptr : &tile->second.scratch};
    for (Operation *alloc : allocations)
      failed |= mlir::failed(placeBuffer(alloc, place));
  }
  guarded.writeTable();
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

std::string bufferText(Operation *alloc, ArrayRef<StringRef> kernels) {
  auto type = cast<MemRefType>(alloc->getResult(0).getType());
  std::string text;
  llvm::raw_string_ostream out(text);
  int64_t space = memorySpace(type);
  out << (space == 2 ? "L1" : space == 1 ? "L2" : "local") << '\n' << type << '\n';
  if (auto owner = alloc->getAttrOfType<StringAttr>("airlink.owner"))
    out << owner.getValue();
  out << '\n';
  llvm::interleaveComma(kernels, out, [&](StringRef name) { out << "`@" << name << "`"; });
  return text;
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

Value memrefAt(OpBuilder &builder, Location loc, Value pointer, MemRefType type, ArrayRef<Value> dynamic) {
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  (void)type.getStridesAndOffset(strides, offset);
  // Accesses add the offset that the type names, so the buffer starts that much earlier; one that it leaves open is 0.
  if (!ShapedType::isDynamic(offset) && offset != 0)
    pointer = elementAddress(builder, loc, pointer, *elementBytes(type.getElementType()),
                             i64Constant(builder, loc, -offset));
  Value structure = LLVM::PoisonOp::create(builder, loc, descriptorType(type));
  auto set = [&](Value value, ArrayRef<int64_t> position) {
    structure = LLVM::InsertValueOp::create(builder, loc, structure, value, position);
  };
  set(pointer, {0});
  set(pointer, {1});
  set(i64Constant(builder, loc, ShapedType::isDynamic(offset) ? 0 : offset), {2});
  auto word = [&](int64_t known) {
    if (!ShapedType::isDynamic(known))
      return i64Constant(builder, loc, known);
    Value next = dynamic.front();
    dynamic = dynamic.drop_front();
    return next;
  };
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    set(word(type.getDimSize(dim)), {3, dim});
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    set(word(strides[dim]), {4, dim});
  return UnrealizedConversionCastOp::create(builder, loc, type, structure).getResult(0);
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
