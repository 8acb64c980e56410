// Launches with channels as calls of services that airlink-rt offers.
//
// The body of a tile runs in program order, and a transfer there is done when its call returns. Everything else of the
// launch only issues: airlink-rt starts a transfer or a herd when its tokens have fired, when no earlier one that is not
// done touches the same memory, and when it is its turn on its channel.
#include "airlink/Host/Streams.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

namespace airlink::host {

namespace {

// Bits of a transfer's flags.
constexpr int64_t kHasDestination = 1, kIsRelay = 2, kIsConstant = 4;

/// Whether nothing but transfers, herds and views of them uses the buffer: then it needs no address of its own.
bool onlyTransferred(Value buffer) {
  return llvm::all_of(buffer.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    // Casts to descriptors are what transfers and herds have become.
    if (isa<air::ChannelPutOp, air::ChannelGetOp, air::DmaMemcpyNdOp, memref::CopyOp, memref::DeallocOp,
            UnrealizedConversionCastOp>(user))
      return true;
    if (isa<ViewLikeOpInterface>(user))
      return llvm::all_of(user->getResults(), onlyTransferred);
    auto level = dyn_cast<air::HierarchyInterface>(user);
    if (!level || isa<air::HerdOp>(user))
      return bool(level);
    unsigned first = level.getKernelOperands().getBeginOperandIndex();
    return onlyTransferred(level.getKernelArguments()[use.getOperandNumber() - first]);
  });
}

/// A get and its puts in a segment, or in loops of it, that pass one L2 buffer on: memtiles walk the ring of descriptors
/// that becomes of it for ever.
bool isRelay(Operation *transfer, Value buffer) {
  memref::AllocOp alloc = allocOf(buffer);
  if (!alloc || memorySpace(alloc.getType()) != 1)
    return false;
  Operation *parent = transfer->getParentOp();
  while (isa<scf::ForOp, scf::ParallelOp>(parent))
    parent = parent->getParentOp();
  if (!isa<air::SegmentOp>(parent))
    return false;
  unsigned gets = 0, puts = 0;
  for (Operation *user : buffer.getUsers()) {
    if (isa<memref::DeallocOp>(user))
      continue;
    gets += isa<air::ChannelGetOp>(user);
    puts += isa<air::ChannelPutOp>(user);
    if (user->getBlock() != transfer->getBlock() || !isa<air::ChannelGetOp, air::ChannelPutOp>(user))
      return false;
  }
  return gets == 1 && puts >= 1;
}

/// The global that a put reads; null if it reads something else.
memref::GlobalOp globalOf(air::ChannelPutOp put) {
  Value source = put.getSrc();
  while (auto argument = dyn_cast<BlockArgument>(source))
    if (source = givenFor(argument); !source)
      return {};
  auto get = source.getDefiningOp<memref::GetGlobalOp>();
  return get ? SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(get, get.getNameAttr()) : memref::GlobalOp();
}

/// Whether a put reads nothing but elements of a constant of the program, which is no buffer that airlink-rt knows.
bool isWithinGlobal(air::ChannelPutOp put) {
  auto type = dyn_cast<MemRefType>(put.getSrc().getType());
  if (!globalOf(put) || !type || !bufferBytes(type))
    return false;
  Builder builder(put.getContext());
  auto sizes = getMixedValues(put.getStaticSrcSizes(), put.getDynamicSrcSizes(), builder);
  auto strides = getMixedValues(put.getStaticSrcStrides(), put.getDynamicSrcStrides(), builder);
  auto offsets = getMixedValues(put.getStaticSrcOffsets(), put.getDynamicSrcOffsets(), builder);
  if (sizes.empty())
    return offsets.empty();
  // In range for certain, or not at all: nobody looks again.
  int64_t first = 0, last = 0;
  unsigned lead = sizes.size() - std::min(offsets.size(), sizes.size());
  for (unsigned dim = 0; dim < sizes.size(); ++dim) {
    std::optional<int64_t> offset = dim < lead ? 0 : getConstantIntValue(offsets[dim - lead]);
    std::optional<int64_t> size = getConstantIntValue(sizes[dim]), stride = getConstantIntValue(strides[dim]);
    // Numbers that cannot overflow.
    auto isSmall = [](std::optional<int64_t> n) { return n && *n >= 0 && *n < (int64_t(1) << 28); };
    if (!isSmall(offset) || !isSmall(size) || !isSmall(stride) || *size == 0)
      return false;
    first += *offset * *stride;
    last += (*offset + *size - 1) * *stride;
  }
  return first >= 0 && last < type.getNumElements();
}

/// Lowers what one function holds: a tile, or the control code of a launch.
class StreamLowering {
public:
  StreamLowering(Runtime &runtime, std::optional<uint8_t> poison, bool isTile)
      : runtime(runtime), poison(poison), tile(isTile) {}

  LogicalResult run(Operation *root) {
    SmallVector<Operation *> list;
    root->walk<WalkOrder::PreOrder>([&](Operation *op) {
      list.push_back(op);
      if (auto put = dyn_cast<air::ChannelPutOp>(op); put && isRelay(op, put.getSrc()))
        relays.insert(op);
      if (auto get = dyn_cast<air::ChannelGetOp>(op); get && isRelay(op, get.getDst()))
        relays.insert(op);
    });
    for (Operation *op : list)
      if (failed(lower(op)))
        return failure();
    return success();
  }

private:
  LogicalResult lower(Operation *op) {
    if (auto put = dyn_cast<air::ChannelPutOp>(op))
      return lowerPut(put);
    if (auto get = dyn_cast<air::ChannelGetOp>(op))
      return lowerGet(get);
    if (tile)
      return lowerInTile(op);
    if (auto dma = dyn_cast<air::DmaMemcpyNdOp>(op))
      return lowerDma(dma);
    if (auto copy = dyn_cast<memref::CopyOp>(op))
      return lowerCopy(copy, copy.getTarget(), copy.getSource());
    if (isa<memref::AllocOp, memref::AllocaOp>(op))
      return lowerAlloc(op);
    if (auto dealloc = dyn_cast<memref::DeallocOp>(op))
      return lowerDealloc(dealloc);
    if (auto wait = dyn_cast<air::WaitAllOp>(op))
      return lowerWait(wait);
    if (auto execute = dyn_cast<air::ExecuteOp>(op))
      return lowerExecute(execute);
    if (auto segment = dyn_cast<air::SegmentOp>(op))
      return lowerSegment(segment);
    return settle(op);
  }

  // Transfers.

  LogicalResult lowerPut(air::ChannelPutOp put) {
    Builder builder(put.getContext());
    FailureOr<Access> access = readAccess(
        put, put.getSrc(), getMixedValues(put.getStaticSrcOffsets(), put.getDynamicSrcOffsets(), builder),
        getMixedValues(put.getStaticSrcSizes(), put.getDynamicSrcSizes(), builder),
        getMixedValues(put.getStaticSrcStrides(), put.getDynamicSrcStrides(), builder));
    if (failed(access) || failed(checkHeader(put, access->type)))
      return failure();
    SmallVector<int64_t> pad = padding(put.getPadBefore(), put.getPadAfter());
    auto channel = SymbolTable::lookupNearestSymbolFrom<air::ChannelOp>(put, put.getChanNameAttr());
    bool isLatch = channel && channel.getChannelType() == kLatchType;
    if (isLatch && memorySpace(access->type) != 0)
      return put.emitError("AL0701: the source of this put is not in L3, from where the host of an NPU writes what a "
                           "channel of type `npu_mmio` hands out");
    // What stays in a latch is the same, however often it is put there.
    if (int64_t times = timesPut(put); times > 1 && !isLatch) {
      if (pad.size() == 2 * access->dims.size() && !pad.empty()) {
        pad.insert(pad.begin() + access->dims.size(), 0);
        pad.insert(pad.begin(), 0);
      }
      access->dims.insert(access->dims.begin(), {builder.getIndexAttr(times), builder.getIndexAttr(0)});
    }
    if (memref::GlobalOp global = globalOf(put); global && !global.getConstant())
      return put.emitError("AL0701: this put reads `@")
             << global.getSymName() << "`, a global that is not constant: the host target cannot order it with stores";
    bool isConstant = !tile && isWithinGlobal(put);
    return transfer(Service::Put, put, put.getChanName(), put.getIndices(), put.getDest(), *access, pad,
                    isConstant ? kIsConstant : 0);
  }

  /// Whether a packet channel of the program broadcasts.
  static bool hasChoice(ModuleOp module) {
    return llvm::any_of(module.getOps<air::ChannelOp>(), [](air::ChannelOp channel) {
      return channel.getChannelType() == "npu_dma_packet" && channel->hasAttr("broadcast_shape");
    });
  }

  /// A core may write the header of a packet into its data itself, as a number that the channel names. What such a packet is
  /// for, only the NPU's switches can tell.
  static LogicalResult checkHeader(air::ChannelPutOp put, MemRefType source) {
    auto channel = SymbolTable::lookupNearestSymbolFrom<air::ChannelOp>(put, put.getChanNameAttr());
    if (put.getDest() && channel && !hasChoice(put->getParentOfType<ModuleOp>()))
      return put.emitError("AL0701: this put has a `dest`, and no packet channel of the program has several consumers to "
                           "choose from");
    auto ids = channel ? channel->getAttrOfType<ArrayAttr>("packet_ids") : ArrayAttr();
    if (!ids || ids.size() < 2 || put.getDest() || memorySpace(source) != 2)
      return success();
    return put.emitError("AL0701: channel `@") << put.getChanName() << "` has " << ids.size()
           << " `packet_ids`, and this put from L1 has no `dest`: the host target cannot read the header that the core "
              "writes";
  }

  LogicalResult lowerGet(air::ChannelGetOp get) {
    if (get.getPadBefore() || get.getPadAfter())
      return get.emitError("AL0701: padding is for the side that sends; the host target cannot pad here");
    Builder builder(get.getContext());
    FailureOr<Access> access = readAccess(
        get, get.getDst(), getMixedValues(get.getStaticDstOffsets(), get.getDynamicDstOffsets(), builder),
        getMixedValues(get.getStaticDstSizes(), get.getDynamicDstSizes(), builder),
        getMixedValues(get.getStaticDstStrides(), get.getDynamicDstStrides(), builder));
    if (failed(access))
      return failure();
    for (const AccessDim &dim : access->dims)
      if (getConstantIntValue(dim.stride) == 0 && getConstantIntValue(dim.size) != 1)
        return get.emitError("AL0701: the destination of this get has stride 0: elements would overwrite each other");
    Service service = tile && get->hasAttr(kLent) ? Service::Lend : Service::Get;
    return transfer(service, get, get.getChanName(), get.getIndices(), {}, *access, {});
  }

  static SmallVector<int64_t> padding(std::optional<ArrayRef<int32_t>> before, std::optional<ArrayRef<int32_t>> after) {
    SmallVector<int64_t> words;
    if (before && after) {
      words.append(before->begin(), before->end());
      words.append(after->begin(), after->end());
    }
    return words;
  }

  LogicalResult transfer(Service service, Operation *op, StringRef name, OperandRange indices, Value destination,
                         const Access &access, ArrayRef<int64_t> padding, int64_t flags = 0) {
    if (!padding.empty() && padding.size() != 2 * access.dims.size())
      return op->emitError("AL0701: this transfer has ")
             << access.dims.size() << " dimensions and padding for " << padding.size() / 2;
    LLVM::GlobalOp channel = runtime.channel(op, name);
    if (!channel)
      return failure();
    flags |= (destination ? kHasDestination : 0) | (relays.contains(op) ? kIsRelay : 0);
    LLVM::GlobalOp site = runtime.table(
        {runtime.text(placeText(op->getLoc())), channel, *elementBytes(access.type.getElementType()),
         int64_t(indices.size()), int64_t(access.dims.size()), flags, runtime.words(padding)});
    SmallVector<OpFoldResult> words(indices.begin(), indices.end());
    if (destination)
      words.push_back(destination);
    appendDims(words, access);
    OpBuilder builder(op);
    Location loc = op->getLoc();
    SmallVector<Value> arguments{runtime.address(builder, loc, site), access.start, runtime.array(builder, loc, words)};
    if (service == Service::Lend)
      lend(cast<air::ChannelGetOp>(op), builder, arguments);
    else
      finish(op, builder, service, arguments);
    return success();
  }

  /// What reads the buffer, which all stands behind the get, reads where the service says.
  void lend(air::ChannelGetOp get, OpBuilder &builder, ArrayRef<Value> arguments) {
    Value buffer = get.getDst(), pointer = runtime.call(builder, get.getLoc(), Service::Lend, arguments);
    Value lent = memrefFromPointer(builder, get.getLoc(), pointer, cast<MemRefType>(buffer.getType()));
    get.erase();
    // The cast is what tells the service of the buffer itself.
    buffer.replaceUsesWithIf(lent, [](OpOperand &use) { return !isa<UnrealizedConversionCastOp>(use.getOwner()); });
  }

  static void appendDims(SmallVectorImpl<OpFoldResult> &words, const Access &access) {
    for (const AccessDim &dim : access.dims)
      words.push_back(dim.size);
    for (const AccessDim &dim : access.dims)
      words.push_back(dim.stride);
  }

  /// Adds the tokens, calls, and puts the call's token in the place of the operation's.
  void finish(Operation *op, OpBuilder &builder, Service service, SmallVectorImpl<Value> &arguments) {
    addTokens(op, builder, arguments);
    Value token = runtime.call(builder, op->getLoc(), service, arguments);
    if (Value old = tokenOf(op))
      old.replaceAllUsesWith(token);
    op->erase();
  }

  void addTokens(Operation *op, OpBuilder &builder, SmallVectorImpl<Value> &arguments) {
    SmallVector<OpFoldResult> tokens;
    if (auto async = dyn_cast<air::AsyncInterface>(op); async && !tile)
      tokens.append(async.getAsyncDependencies().begin(), async.getAsyncDependencies().end());
    arguments.push_back(runtime.array(builder, op->getLoc(), tokens));
    arguments.push_back(i64Constant(builder, op->getLoc(), tokens.size()));
  }

  /// Copies of a tile are plain code. Builds that look for mistakes say before each what it touches outside of L1.
  LogicalResult lowerInTile(Operation *op) {
    if (auto copy = dyn_cast<memref::CopyOp>(op); copy && poison)
      return failure(failed(touchAll(op, copy.getTarget(), /*writes=*/true)) ||
                     failed(touchAll(op, copy.getSource(), /*writes=*/false)));
    auto dma = dyn_cast<air::DmaMemcpyNdOp>(op);
    if (!dma || !poison)
      return success();
    Builder builder(dma.getContext());
    if (memorySpace(cast<MemRefType>(dma.getDst().getType())) != 2 &&
        failed(touch(op, dma.getDst(),
                     getMixedValues(dma.getStaticDstOffsets(), dma.getDynamicDstOffsets(), builder),
                     getMixedValues(dma.getStaticDstSizes(), dma.getDynamicDstSizes(), builder),
                     getMixedValues(dma.getStaticDstStrides(), dma.getDynamicDstStrides(), builder), /*writes=*/true)))
      return failure();
    if (memorySpace(cast<MemRefType>(dma.getSrc().getType())) == 2)
      return success();
    return touch(op, dma.getSrc(), getMixedValues(dma.getStaticSrcOffsets(), dma.getDynamicSrcOffsets(), builder),
                 getMixedValues(dma.getStaticSrcSizes(), dma.getDynamicSrcSizes(), builder),
                 getMixedValues(dma.getStaticSrcStrides(), dma.getDynamicSrcStrides(), builder), /*writes=*/false);
  }

  LogicalResult touchAll(Operation *op, Value buffer, bool writes) {
    if (memorySpace(cast<MemRefType>(buffer.getType())) == 2)
      return success();
    return touch(op, buffer, {}, {}, {}, writes);
  }

  LogicalResult touch(Operation *op, Value buffer, ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes,
                      ArrayRef<OpFoldResult> strides, bool writes) {
    FailureOr<Access> access = readAccess(op, buffer, offsets, sizes, strides);
    if (failed(access))
      return failure();
    OpBuilder builder(op);
    Location loc = op->getLoc();
    LLVM::GlobalOp site = runtime.table({runtime.text(placeText(loc)), LLVM::GlobalOp(),
                                         *elementBytes(access->type.getElementType()), int64_t(0),
                                         int64_t(access->dims.size()), int64_t(0), LLVM::GlobalOp()});
    SmallVector<OpFoldResult> words;
    appendDims(words, *access);
    runtime.call(builder, loc, Service::Touch,
                 {runtime.address(builder, loc, site), access->start, runtime.array(builder, loc, words),
                  i64Constant(builder, loc, writes)});
    return success();
  }

  LogicalResult lowerDma(air::DmaMemcpyNdOp dma) {
    Builder builder(dma.getContext());
    FailureOr<Access> dst = readAccess(
        dma, dma.getDst(), getMixedValues(dma.getStaticDstOffsets(), dma.getDynamicDstOffsets(), builder),
        getMixedValues(dma.getStaticDstSizes(), dma.getDynamicDstSizes(), builder),
        getMixedValues(dma.getStaticDstStrides(), dma.getDynamicDstStrides(), builder));
    if (failed(dst))
      return failure();
    FailureOr<Access> src = readAccess(
        dma, dma.getSrc(), getMixedValues(dma.getStaticSrcOffsets(), dma.getDynamicSrcOffsets(), builder),
        getMixedValues(dma.getStaticSrcSizes(), dma.getDynamicSrcSizes(), builder),
        getMixedValues(dma.getStaticSrcStrides(), dma.getDynamicSrcStrides(), builder));
    if (failed(src))
      return failure();
    return issueCopy(dma, *dst, *src, padding(dma.getPadBefore(), dma.getPadAfter()));
  }

  LogicalResult lowerCopy(Operation *copy, Value target, Value source) {
    FailureOr<Access> dst = readAccess(copy, target, {}, {}, {});
    if (failed(dst))
      return failure();
    FailureOr<Access> src = readAccess(copy, source, {}, {}, {});
    if (failed(src))
      return failure();
    return issueCopy(copy, *dst, *src, {});
  }

  LogicalResult issueCopy(Operation *op, const Access &dst, const Access &src, ArrayRef<int64_t> padding) {
    std::optional<int64_t> bytes = elementBytes(dst.type.getElementType());
    if (bytes != elementBytes(src.type.getElementType()))
      return op->emitError("AL0701: this copy writes elements of type ")
             << dst.type.getElementType() << " and reads " << src.type.getElementType();
    if (!padding.empty() && padding.size() != 2 * src.dims.size())
      return op->emitError("AL0701: this copy has ")
             << src.dims.size() << " dimensions and padding for " << padding.size() / 2;
    OpBuilder builder(op);
    Location loc = op->getLoc();
    LLVM::GlobalOp site =
        runtime.table({runtime.text(placeText(loc)), LLVM::GlobalOp(), *bytes, int64_t(src.dims.size()),
                       int64_t(dst.dims.size()), int64_t(0), runtime.words(padding)});
    SmallVector<OpFoldResult> dstWords, srcWords;
    appendDims(dstWords, dst);
    appendDims(srcWords, src);
    SmallVector<Value> arguments{runtime.address(builder, loc, site), dst.start, runtime.array(builder, loc, dstWords),
                                 src.start, runtime.array(builder, loc, srcWords)};
    finish(op, builder, Service::Copy, arguments);
    return success();
  }

  // Buffers.

  LogicalResult lowerAlloc(Operation *alloc) {
    auto type = cast<MemRefType>(alloc->getResult(0).getType());
    std::optional<int64_t> bytes = bufferBytes(type);
    if (!bytes)
      return alloc->emitError("AL0701: the host target cannot place a buffer of type ")
             << type << ": its size or layout is not static";
    if (auto level = alloc->getParentOfType<air::HierarchyInterface>())
      alloc->setAttr("airlink.owner", StringAttr::get(alloc->getContext(), described(level)));
    OpBuilder builder(alloc);
    Location loc = alloc->getLoc();
    Value needsAddress = i64Constant(builder, loc, !onlyTransferred(alloc->getResult(0)));
    Value pointer = runtime.call(builder, loc, Service::Alloc,
                                 {runtime.address(builder, loc, runtime.text(bufferText(alloc, {}))),
                                  i64Constant(builder, loc, *bytes), i64Constant(builder, loc, poison ? *poison : -1),
                                  needsAddress});
    alloc->getResult(0).replaceAllUsesWith(memrefFromPointer(builder, loc, pointer, type));
    alloc->erase();
    return success();
  }

  LogicalResult lowerDealloc(memref::DeallocOp dealloc) {
    OpBuilder builder(dealloc);
    Location loc = dealloc.getLoc();
    SmallVector<Value> arguments{Descriptor(builder, loc, dealloc.getMemref()).firstElement()};
    addTokens(dealloc, builder, arguments);
    runtime.call(builder, loc, Service::Free, arguments);
    dealloc.erase();
    return success();
  }

  // Order.

  LogicalResult lowerWait(air::WaitAllOp wait) {
    OpBuilder builder(wait);
    SmallVector<Value> arguments;
    addTokens(wait, builder, arguments);
    if (!tokenOf(wait)) {
      runtime.call(builder, wait.getLoc(), Service::Fence, arguments);
      wait.erase();
      return success();
    }
    tokenOf(wait).replaceAllUsesWith(runtime.call(builder, wait.getLoc(), Service::Join, arguments));
    wait.erase();
    return success();
  }

  /// What the region issues starts after its tokens, and its own token fires after that.
  Value scope(Operation *op, OpBuilder &before, OpBuilder &after) {
    SmallVector<Value> arguments;
    addTokens(op, before, arguments);
    runtime.call(before, op->getLoc(), Service::Enter, arguments);
    return runtime.call(after, op->getLoc(), Service::Leave, {});
  }

  LogicalResult lowerExecute(air::ExecuteOp execute) {
    Block *body = &execute.getRegion().front();
    OpBuilder before(execute), after(execute);
    after.setInsertionPointAfter(execute);
    Value token = scope(execute, before, after);
    tokenOf(execute).replaceAllUsesWith(token);
    Operation *terminator = body->getTerminator();
    for (auto [result, value] : llvm::zip_equal(llvm::drop_begin(execute->getResults()), terminator->getOperands()))
      result.replaceAllUsesWith(value);
    execute->getBlock()->getOperations().splice(Block::iterator(execute), body->getOperations(), body->begin(),
                                                Block::iterator(terminator));
    deferred.push_back(execute);
    return success();
  }

  LogicalResult lowerSegment(air::SegmentOp segment) {
    // What a wait holds back ends with the segment in which it stands.
    bool waits = false;
    segment.walk([&](air::WaitAllOp wait) { waits |= !tokenOf(wait); });
    if (!waits && !tokenOf(segment) && segment.getAsyncDependencies().empty())
      return success();
    OpBuilder before(segment), after(segment);
    after.setInsertionPointAfter(segment);
    Value token = scope(segment, before, after);
    if (Value old = tokenOf(segment))
      old.replaceAllUsesWith(token);
    return success();
  }

  /// Code that touches memory itself waits until what was issued before is done with that memory.
  LogicalResult settle(Operation *op) {
    if (op->getNumRegions() != 0 || isa<ViewLikeOpInterface, air::ExecuteTerminatorOp>(op) ||
        op->hasTrait<OpTrait::IsTerminator>() || isMemoryEffectFree(op))
      return success();
    OpBuilder builder(op);
    auto effects = dyn_cast<MemoryEffectOpInterface>(op);
    int64_t writes = !effects || effects.hasEffect<MemoryEffects::Write>();
    for (Value operand : op->getOperands()) {
      if (!isa<MemRefType>(operand.getType()))
        continue;
      Value start = Descriptor(builder, op->getLoc(), operand).firstElement();
      runtime.call(builder, op->getLoc(), Service::Settle, {start, i64Constant(builder, op->getLoc(), writes)});
    }
    return success();
  }

public:
  /// Operations whose content has moved out; they go when nothing holds them any more.
  SmallVector<Operation *> deferred;

private:
  Runtime &runtime;
  std::optional<uint8_t> poison;
  bool tile;
  llvm::SmallPtrSet<Operation *, 8> relays;
};

/// The launch itself: each of its points starts with nothing under way and ends with everything done.
void bracket(Operation *entry, int64_t index, Runtime &runtime, bool looksForMistakes) {
  Block *body = &entry->getRegion(0).front();
  OpBuilder builder = OpBuilder::atBlockBegin(body);
  Location loc = entry->getLoc();
  runtime.call(builder, loc, Service::Begin, {i64Constant(builder, loc, index)});
  if (looksForMistakes) {
    // Without a site: touches of this point follow.
    Value null = runtime.address(builder, loc, LLVM::GlobalOp());
    runtime.call(builder, loc, Service::Touch, {null, null, null, i64Constant(builder, loc, 0)});
  }
  builder.setInsertionPoint(body->getTerminator());
  runtime.call(builder, loc, Service::End, {});
}

LogicalResult lowerEntry(Operation *entry, int64_t index, Runtime &runtime, HerdTables &tables,
                         std::optional<uint8_t> poison) {
  if (isa<air::HerdOp>(entry))
    return entry->emitError("AL0701: a herd with channels stands in no launch, which the host target cannot run");
  makeTasksOfExecutes(entry);
  SmallVector<air::HerdOp> herds;
  entry->walk([&](air::HerdOp herd) { herds.push_back(herd); });
  for (air::HerdOp herd : herds)
    if (failed(outlineHerd(herd, runtime, tables)))
      return failure();
  StreamLowering lowering(runtime, poison, /*isTile=*/false);
  if (failed(lowering.run(entry)))
    return failure();
  for (Operation *op : lowering.deferred)
    op->erase();
  bracket(entry, index, runtime, poison.has_value());
  return success();
}

} // namespace

LogicalResult lowerStreams(ModuleOp module, Runtime &runtime, HerdTables &tables, std::optional<uint8_t> poison) {
  SmallVector<func::FuncOp> bodies(module.getOps<func::FuncOp>());
  for (func::FuncOp function : bodies) {
    int64_t index = 0;
    StringRef number = function.getName();
    if (number.consume_front("airlink.launch."))
      (void)number.getAsInteger(10, index);
    SmallVector<Operation *> entries;
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (!isEntry(op))
        return WalkResult::advance();
      entries.push_back(op);
      return WalkResult::skip();
    });
    for (Operation *entry : entries) {
      if (!usesStreams(entry))
        dropTokens(entry);
      else if (failed(lowerEntry(entry, index, runtime, tables, poison)))
        return failure();
      ++index;
    }
  }
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!isTile(function))
      continue;
    dropTokens(function);
    if (failed(StreamLowering(runtime, poison, /*isTile=*/true).run(function)))
      return failure();
  }
  return success();
}

} // namespace airlink::host
