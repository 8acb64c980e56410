// Staging copies that nobody can observe: a buffer that one copy fills with a contiguous run of memory which nothing
// changes meanwhile is that memory. Most of a GEMV's time on the host would otherwise go into moving weights from buffer
// to buffer.
//
// In launches with channels transfers start when they can and not when the text has come to them. That changes nothing
// here: memory that the whole launch leaves alone is the same at every time.
#include "airlink/AIR/AIRDialect.h"
#include "airlink/Host/Streams.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

namespace airlink::host {

namespace {

/// How far tiles are ahead of the next buffer that they ask for in order.
constexpr int64_t kBeyondBytes = 64 << 10;

/// Whether the declaration says that the kernel only reads this operand.
bool isReadByCall(OpOperand &use) {
  auto call = dyn_cast<func::CallOp>(use.getOwner());
  if (!call)
    return false;
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
  return callee && callee.isExternal() &&
         callee.getArgAttr(use.getOperandNumber(), LLVM::LLVMDialect::getReadonlyAttrName());
}

/// What is done to a buffer below a launch.
struct Uses {
  SmallVector<Operation *> writers;
  SmallVector<Operation *> readers;
  /// Something that is neither a plain read nor a plain write by a transfer.
  bool isObserved = false;
};

using Casts = llvm::SmallPtrSet<Operation *, 16>;

/// Follows views and inner regions. `foreign` are casts to descriptors that were there before: through the others, which
/// forwarding makes, a buffer is only read.
void collectUses(Value buffer, const Casts &foreign, Uses &uses) {
  for (OpOperand &use : buffer.getUses()) {
    Operation *user = use.getOwner();
    if (auto dma = dyn_cast<air::DmaMemcpyNdOp>(user)) {
      if (dma.getDst() == buffer)
        uses.writers.push_back(user);
      if (dma.getSrc() == buffer)
        uses.readers.push_back(user);
    } else if (isa<air::ChannelGetOp>(user)) {
      uses.writers.push_back(user);
    } else if (isa<memref::LoadOp, vector::TransferReadOp, vector::LoadOp, air::ChannelPutOp>(user) ||
               isReadByCall(use)) {
      uses.readers.push_back(user);
    } else if (auto level = dyn_cast<air::HierarchyInterface>(user)) {
      unsigned first = level.getKernelOperands().getBeginOperandIndex();
      collectUses(level.getKernelArguments()[use.getOperandNumber() - first], foreign, uses);
    } else if (isa<memref::SubViewOp, memref::CastOp, memref::ExpandShapeOp, memref::CollapseShapeOp>(user)) {
      collectUses(user->getResult(0), foreign, uses);
    } else if (isa<UnrealizedConversionCastOp>(user)) {
      uses.isObserved |= foreign.contains(user);
    } else if (!isa<memref::DeallocOp>(user)) {
      uses.isObserved = true;
    }
  }
}

/// The value at the outside of the launch that an argument of its levels stands for.
Value outermost(Value value) {
  while (auto argument = dyn_cast<BlockArgument>(value)) {
    Value given = isa<air::LaunchOp>(argument.getOwner()->getParentOp()) ? Value() : givenFor(argument);
    if (!given)
      break;
    value = given;
  }
  return value;
}

/// Whether an access is one run of elements from its start on.
bool isRun(MemRefType type, ArrayRef<OpFoldResult> sizes, ArrayRef<OpFoldResult> strides) {
  SmallVector<int64_t> extents, steps;
  if (sizes.empty()) {
    int64_t offset;
    if (!type.hasStaticShape() || failed(type.getStridesAndOffset(steps, offset)))
      return false;
    extents.assign(type.getShape().begin(), type.getShape().end());
  } else {
    for (auto [size, stride] : llvm::zip_equal(sizes, strides)) {
      std::optional<int64_t> extent = getConstantIntValue(size), step = getConstantIntValue(stride);
      if (!extent || !step)
        return false;
      extents.push_back(*extent);
      steps.push_back(*step);
    }
  }
  int64_t expected = 1;
  for (auto [extent, step] : llvm::reverse(llvm::zip_equal(extents, steps))) {
    if (extent != 1 && step != expected)
      return false;
    expected *= extent;
  }
  return true;
}

class Forwarding {
public:
  explicit Forwarding(air::LaunchOp launch) : launch(launch), tilesTakeTurns(usesStreams(launch)) {
    launch.walk([&](UnrealizedConversionCastOp cast) { foreign.insert(cast); });
  }

  /// Forwards until nothing more can be: an L1 buffer may be a part of an L2 buffer that was forwarded.
  void run() {
    bool changed = true;
    while (changed) {
      changed = false;
      SmallVector<memref::AllocOp> allocs;
      launch.walk([&](memref::AllocOp alloc) { allocs.push_back(alloc); });
      for (memref::AllocOp alloc : allocs)
        changed |= forward(alloc);
    }
    launch.walk([&](memref::AllocOp alloc) { lend(alloc); });
  }

private:
  bool forward(memref::AllocOp alloc) {
    Uses uses;
    collectUses(alloc, foreign, uses);
    if (uses.isObserved || uses.writers.size() != 1 || uses.readers.empty() || !bufferBytes(alloc.getType()))
      return false;
    auto fill = dyn_cast<air::DmaMemcpyNdOp>(uses.writers.front());
    if (!fill || fill.getDst() != alloc || !fillsAll(fill, alloc.getType()))
      return false;
    // Others may wait for it; tiles run in program order whatever they wait for.
    if (!fill->getParentOfType<air::HerdOp>() && (tokenOf(fill) || !fill.getAsyncDependencies().empty()))
      return false;
    if (!isUsedBehind(alloc, fill) || !isUnchanged(fill.getSrc()))
      return false;
    return replace(alloc, fill, uses.readers);
  }

  /// Whether all that has to do with the buffer stands behind what fills it, in the same block or below.
  static bool isUsedBehind(memref::AllocOp alloc, Operation *fill) {
    return llvm::all_of(alloc->getUsers(), [&](Operation *user) {
      Operation *beside = fill->getBlock()->findAncestorOpInBlock(*user);
      return user == fill || isa<memref::DeallocOp>(user) || (beside && fill->isBeforeInBlock(beside));
    });
  }

  /// A tile's buffer that a get fills and that is only read from there on: it may as well lie where the data is.
  void lend(memref::AllocOp alloc) {
    Uses uses;
    collectUses(alloc, foreign, uses);
    auto herd = alloc->getParentOfType<air::HerdOp>();
    if (!herd || uses.isObserved || uses.writers.size() != 1 || uses.readers.empty() || !bufferBytes(alloc.getType()))
      return;
    auto get = dyn_cast<air::ChannelGetOp>(uses.writers.front());
    // A put is checked to read a buffer of its tile.
    bool isPut = llvm::any_of(uses.readers, [](Operation *reader) { return isa<air::ChannelPutOp>(reader); });
    if (!get || get.getDst() != alloc || isPut || !isUsedBehind(alloc, get))
      return;
    Builder builder(get.getContext());
    if (isWhole(alloc.getType(), getMixedValues(get.getStaticDstOffsets(), get.getDynamicDstOffsets(), builder),
                getMixedValues(get.getStaticDstSizes(), get.getDynamicDstSizes(), builder),
                getMixedValues(get.getStaticDstStrides(), get.getDynamicDstStrides(), builder)))
      get->setAttr(kLent, builder.getUnitAttr());
  }

  /// Whether an access is all of a buffer, in its order.
  static bool isWhole(MemRefType type, ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes,
                      ArrayRef<OpFoldResult> strides) {
    if (!isRun(type, sizes, strides))
      return false;
    return sizes.empty() || (elementCount(type, sizes) == type.getNumElements() &&
                             llvm::all_of(offsets, [](OpFoldResult at) { return getConstantIntValue(at) == 0; }));
  }

  static bool fillsAll(air::DmaMemcpyNdOp fill, MemRefType type) {
    Builder builder(fill.getContext());
    if (fill.getPadBefore() || fill.getPadAfter())
      return false;
    auto srcType = dyn_cast<MemRefType>(fill.getSrc().getType());
    auto srcSizes = getMixedValues(fill.getStaticSrcSizes(), fill.getDynamicSrcSizes(), builder);
    auto srcStrides = getMixedValues(fill.getStaticSrcStrides(), fill.getDynamicSrcStrides(), builder);
    return srcType && srcType.getElementType() == type.getElementType() && isRun(srcType, srcSizes, srcStrides) &&
           elementCount(srcType, srcSizes) == type.getNumElements() &&
           isWhole(type, getMixedValues(fill.getStaticDstOffsets(), fill.getDynamicDstOffsets(), builder),
                   getMixedValues(fill.getStaticDstSizes(), fill.getDynamicDstSizes(), builder),
                   getMixedValues(fill.getStaticDstStrides(), fill.getDynamicDstStrides(), builder));
  }

  static int64_t elementCount(MemRefType type, ArrayRef<OpFoldResult> sizes) {
    if (sizes.empty())
      return type.hasStaticShape() ? type.getNumElements() : -1;
    int64_t count = 1;
    for (OpFoldResult size : sizes)
      count *= getConstantIntValue(size).value_or(0);
    return count;
  }

  /// Whether nothing in the launch writes the memory behind a value, and no argument of the launch that is written may be
  /// the same memory.
  bool isUnchanged(Value source) {
    Value origin = outermost(source);
    if (forwarded.contains(origin))
      return true;
    auto argument = dyn_cast<BlockArgument>(origin);
    if (!argument || argument.getOwner() != launch.getBody())
      return false;
    for (BlockArgument other : launch.getKernelArguments()) {
      if (!isa<MemRefType>(other.getType()))
        continue;
      Uses uses;
      collectUses(other, foreign, uses);
      bool isSame = other == argument;
      if ((isSame || mayAlias(other, argument)) && (uses.isObserved || !uses.writers.empty()))
        return false;
    }
    return true;
  }

  /// Whether two arguments of the launch may share memory: views of one argument of the function.
  bool mayAlias(BlockArgument a, BlockArgument b) {
    auto root = [&](BlockArgument argument) {
      Value value = launch.getKernelOperands()[argument.getArgNumber() - 2 * launch.getNumDims()];
      while (Operation *definition = value.getDefiningOp()) {
        auto view = dyn_cast<ViewLikeOpInterface>(definition);
        if (!view)
          break;
        value = view.getViewSource();
      }
      return value;
    };
    return root(a) == root(b);
  }

  /// Lets the buffer be the source of its copy.
  bool replace(memref::AllocOp alloc, air::DmaMemcpyNdOp fill, ArrayRef<Operation *> readers) {
    Builder builder(fill.getContext());
    FailureOr<Access> access =
        readAccess(fill, fill.getSrc(), getMixedValues(fill.getStaticSrcOffsets(), fill.getDynamicSrcOffsets(), builder),
                   getMixedValues(fill.getStaticSrcSizes(), fill.getDynamicSrcSizes(), builder),
                   getMixedValues(fill.getStaticSrcStrides(), fill.getDynamicSrcStrides(), builder));
    if (failed(access))
      return false;
    OpBuilder inside(fill);
    Value same = memrefFromPointer(inside, fill.getLoc(), access->start, alloc.getType());
    if (auto herd = fill->getParentOfType<air::HerdOp>(); herd && tilesTakeTurns)
      if (Value distance = distanceAhead(herd, fill, access->start, *bufferBytes(alloc.getType())))
        for (Operation *read : readers)
          prefetch(read, distance);
    forwarded.insert(same);
    for (Operation *user : llvm::make_early_inc_range(alloc->getUsers()))
      if (isa<memref::DeallocOp>(user))
        user->erase();
    if (Value token = tokenOf(fill))
      token.replaceAllUsesWith(i64Constant(inside, fill.getLoc(), 0));
    fill.erase();
    // What is left reads behind the copy.
    alloc.getResult().replaceAllUsesWith(same);
    alloc.erase();
    return true;
  }

  /// How far ahead a tile asks, in bytes; null if there is nothing to ask for.
  Value distanceAhead(air::HerdOp herd, air::DmaMemcpyNdOp fill, Value start, int64_t bytes) {
    Value distance = forwarded.contains(outermost(fill.getSrc())) ? distanceInOrder(herd, fill, start, bytes) : Value();
    return distance ? distance : distanceToNext(herd, fill, start);
  }

  /// Where the tiles together read all of a buffer, each a part in each turn of at most one loop, they ask for the next such
  /// buffer behind it in the order of its addresses, whatever order they read in: memory is faster that way.
  static Value distanceInOrder(air::HerdOp herd, air::DmaMemcpyNdOp fill, Value start, int64_t bytes) {
    auto whole = dyn_cast<MemRefType>(fill.getSrc().getType());
    std::optional<int64_t> wholeBytes = whole ? bufferBytes(whole) : std::nullopt;
    SmallVector<int64_t> sizes;
    for (Value size : herd.getSizes())
      sizes.push_back(getConstantIntValue(size).value_or(0));
    auto loop = dyn_cast<scf::ForOp>(fill->getParentOp());
    Operation *outer = loop ? loop->getParentOp() : fill->getParentOp();
    std::optional<int64_t> first = loop ? getConstantIntValue(loop.getLowerBound()) : 0;
    std::optional<int64_t> end = loop ? getConstantIntValue(loop.getUpperBound()) : 1;
    std::optional<int64_t> step = loop ? getConstantIntValue(loop.getStep()) : 1;
    if (outer != herd || !wholeBytes || sizes.empty() || sizes.size() > 2 || first != 0 || !end || step != 1)
      return {};
    int64_t columns = sizes[0], rows = sizes.size() == 2 ? sizes[1] : 1, parts = 0;
    if (llvm::MulOverflow(columns * rows, *end, parts) || llvm::MulOverflow(parts, bytes, parts) || parts != *wholeBytes)
      return {};
    OpBuilder builder(fill);
    Location loc = fill.getLoc();
    Type i64 = builder.getI64Type();
    auto number = [&](int64_t n) { return i64Constant(builder, loc, n); };
    auto cast = [&](Value index) -> Value { return arith::IndexCastOp::create(builder, loc, i64, index); };
    auto add = [&](Value a, Value b) -> Value { return arith::AddIOp::create(builder, loc, a, b); };
    auto times = [&](Value a, int64_t n) -> Value { return arith::MulIOp::create(builder, loc, a, number(n)); };
    // Rows of tiles run from the last one on, see `start_herd` in airlink-rt.
    Value turn = cast(herd.getIds()[0]);
    if (rows > 1)
      turn = add(turn, times(arith::SubIOp::create(builder, loc, number(rows - 1), cast(herd.getIds()[1])), columns));
    turn = times(turn, *end);
    if (loop)
      turn = add(turn, cast(loop.getInductionVar()));
    Value base = LLVM::PtrToIntOp::create(builder, loc, i64, Descriptor(builder, loc, fill.getSrc()).firstElement());
    Value there = add(add(base, times(turn, bytes)), number(*wholeBytes + kBeyondBytes));
    return LLVM::SubOp::create(builder, loc, there, LLVM::PtrToIntOp::create(builder, loc, i64, start));
  }

  /// How far what this tile reads lies from what the tile that runs next will read there, in bytes; null if that is
  /// unknown or the same.
  static Value distanceToNext(air::HerdOp herd, air::DmaMemcpyNdOp fill, Value start) {
    if (herd.getIds().empty())
      return {};
    OpBuilder builder(fill);
    Location loc = fill.getLoc();
    IRMapping next;
    Value x = herd.getIds().front(), one = arith::ConstantIndexOp::create(builder, loc, 1);
    next.map(x, arith::AddIOp::create(builder, loc, x, one).getResult());
    auto offsets = getMixedValues(fill.getStaticSrcOffsets(), fill.getDynamicSrcOffsets(), builder);
    bool differs = false;
    for (OpFoldResult &offset : offsets)
      if (auto value = dyn_cast<Value>(offset)) {
        offset = ofNext(value, next, builder);
        differs |= offset != OpFoldResult(value);
      }
    FailureOr<Access> access =
        readAccess(fill, fill.getSrc(), offsets,
                   getMixedValues(fill.getStaticSrcSizes(), fill.getDynamicSrcSizes(), builder),
                   getMixedValues(fill.getStaticSrcStrides(), fill.getDynamicSrcStrides(), builder));
    if (!differs || failed(access))
      return {};
    Type i64 = builder.getI64Type();
    auto number = [&](Value pointer) -> Value { return LLVM::PtrToIntOp::create(builder, loc, i64, pointer); };
    return LLVM::SubOp::create(builder, loc, number(access->start), number(start));
  }

  /// Asks for what the next tile will read at the same place. Tiles that take turns jump from one part of a matrix to
  /// another, and the processor only sees a run of addresses coming once it is in the middle of it. What no tile needs,
  /// and addresses that are none, do no harm.
  static void prefetch(Operation *read, Value distance) {
    Value buffer;
    SmallVector<OpFoldResult> offsets;
    if (auto transfer = dyn_cast<vector::TransferReadOp>(read)) {
      buffer = transfer.getBase();
      offsets.assign(transfer.getIndices().begin(), transfer.getIndices().end());
    } else if (auto load = dyn_cast<vector::LoadOp>(read)) {
      buffer = load.getBase();
      offsets.assign(load.getIndices().begin(), load.getIndices().end());
    }
    auto type = buffer ? dyn_cast<MemRefType>(buffer.getType()) : MemRefType();
    SmallVector<int64_t> strides;
    int64_t offset;
    if (!type || failed(type.getStridesAndOffset(strides, offset)) || llvm::any_of(strides, ShapedType::isDynamic))
      return;
    OpBuilder builder(read);
    SmallVector<OpFoldResult> sizes(strides.size(), builder.getIndexAttr(1));
    SmallVector<OpFoldResult> steps = getAsIndexOpFoldResult(builder.getContext(), strides);
    FailureOr<Access> access = readAccess(read, buffer, offsets, sizes, steps);
    if (failed(access))
      return;
    Value there = LLVM::GEPOp::create(builder, read->getLoc(), access->start.getType(), builder.getI8Type(),
                                      access->start, ArrayRef<LLVM::GEPArg>{distance});
    LLVM::Prefetch::create(builder, read->getLoc(), there, /*rw=*/0, /*hint=*/3, /*cache=*/1);
  }

  /// What a number will be in the next tile: computed anew as far as it depends on the tile's ids.
  static Value ofNext(Value value, IRMapping &next, OpBuilder &builder) {
    if (Value known = next.lookupOrNull(value))
      return known;
    Operation *op = value.getDefiningOp();
    if (!op || op->getNumResults() != 1 || op->getNumRegions() != 0 || !isMemoryEffectFree(op))
      return value;
    bool differs = false;
    for (Value operand : op->getOperands())
      differs |= ofNext(operand, next, builder) != operand;
    Value result = differs ? builder.clone(*op, next)->getResult(0) : value;
    next.map(value, result);
    return result;
  }

  air::LaunchOp launch;
  /// Whether the launch has channels.
  bool tilesTakeTurns;
  Casts foreign;
  llvm::SmallPtrSet<Value, 8> forwarded;
};

} // namespace

void forwardCopies(ModuleOp module) {
  SmallVector<air::LaunchOp> launches;
  module.walk([&](air::LaunchOp launch) { launches.push_back(launch); });
  for (air::LaunchOp launch : launches) {
    // Plain loops run in program order; without tokens more of them are seen to be plain.
    if (!usesStreams(launch))
      dropTokens(launch);
    Forwarding(launch).run();
  }
}

} // namespace airlink::host
