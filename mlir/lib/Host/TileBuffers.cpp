// L1 buffers that a segment hands to its herds: whose they are.
//
// One that each tile uses for itself is each tile's own. One through which a tile hands data to another one, or a herd to
// another herd, is one buffer, and the compiler for the NPU puts locks around the accesses that the text does not have.
// The host lets who writes run before who reads, where the text shows that the locks come to that, and refuses the rest.
#include "airlink/Host/Streams.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace airlink::host {

namespace {

constexpr StringLiteral kOrder = "airlink.order";

/// Tiles of the herd; nothing where a size is not constant.
std::optional<int64_t> tileCount(air::HerdOp herd) {
  int64_t count = 1;
  for (Value size : herd.getSizes()) {
    std::optional<int64_t> known = getConstantIntValue(size);
    if (!known)
      return std::nullopt;
    count *= *known;
  }
  return count;
}

/// Whether an access starts with the ids of the herd, one of each: it stays in the tile's own part of the buffer.
bool startsWithIds(air::HerdOp herd, ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes) {
  if (offsets.size() < herd.getIds().size() || sizes.size() != offsets.size())
    return false;
  for (auto [id, offset, size] : llvm::zip(herd.getIds(), offsets, sizes))
    if (offset != OpFoldResult(Value(id)) || getConstantIntValue(size) != 1)
      return false;
  return true;
}

/// Whether every tile touches no more of the buffer than the part that its ids select: then all may share it.
bool isDividedByTiles(air::HerdOp herd, BlockArgument buffer) {
  auto [strides, offset] = cast<MemRefType>(buffer.getType()).getStridesAndOffset();
  return llvm::all_of(buffer.getUses(), [&](OpOperand &use) {
    if (auto view = dyn_cast<memref::SubViewOp>(use.getOwner()))
      return startsWithIds(herd, view.getMixedOffsets(), view.getMixedSizes());
    auto dma = dyn_cast<air::DmaMemcpyNdOp>(use.getOwner());
    if (!dma)
      return false;
    Builder builder(dma.getContext());
    bool isSource = use.get() == dma.getSrc();
    if (isSource && use.get() == dma.getDst())
      return false;
    ArrayRef<int64_t> transferStrides = isSource ? dma.getStaticSrcStrides() : dma.getStaticDstStrides();
    if (!ArrayRef<int64_t>(strides).take_front(herd.getIds().size())
             .equals(transferStrides.take_front(herd.getIds().size())))
      return false;
    return isSource ? startsWithIds(herd,
                                    getMixedValues(dma.getStaticSrcOffsets(), dma.getDynamicSrcOffsets(), builder),
                                    getMixedValues(dma.getStaticSrcSizes(), dma.getDynamicSrcSizes(), builder))
                    : startsWithIds(herd,
                                    getMixedValues(dma.getStaticDstOffsets(), dma.getDynamicDstOffsets(), builder),
                                    getMixedValues(dma.getStaticDstSizes(), dma.getDynamicDstSizes(), builder));
  });
}

/// A herd that gets an L1 buffer, and as which of its operands.
struct TileUse {
  air::HerdOp herd;
  unsigned number;

  BlockArgument argument() { return herd.getKernelArguments()[number]; }
};

/// The herds that use the buffer; an error if something else does.
LogicalResult collectTileUses(memref::AllocOp alloc, SmallVectorImpl<TileUse> &uses) {
  for (OpOperand &use : alloc->getUses()) {
    Operation *user = use.getOwner();
    if (isa<memref::DeallocOp>(user))
      continue;
    auto herd = dyn_cast<air::HerdOp>(user);
    if (!herd)
      return alloc.emitError("AL0701: this L1 buffer is used outside of herds, which the host target cannot order yet");
    uses.push_back({herd, use.getOperandNumber() - herd.getKernelOperands().getBeginOperandIndex()});
  }
  return success();
}

/// Whether a loop or a branch hands the buffer on: then it may be another one each time.
bool isCarried(Value buffer) {
  return llvm::any_of(buffer.getUsers(), [](Operation *user) {
    if (isa<ViewLikeOpInterface>(user))
      return llvm::any_of(user->getResults(), isCarried);
    return isa<LoopLikeOpInterface>(user) || user->hasTrait<OpTrait::IsTerminator>();
  });
}

/// Whether nothing of the buffer is left over from a run of the herd to the next, so that each tile may have one of its
/// own for the run.
bool isOfOneRun(memref::AllocOp alloc, ArrayRef<TileUse> uses) {
  if (uses.size() != 1 || uses.front().herd->getBlock() != alloc->getBlock() || !bufferBytes(alloc.getType()))
    return false;
  TileUse use = uses.front();
  return !isCarried(use.argument());
}

/// Lets each tile allocate the buffer. Whoever looks at the body then sees that nobody else has it.
void moveInside(memref::AllocOp alloc, TileUse use) {
  OpBuilder builder = OpBuilder::atBlockBegin(use.herd.getBody());
  auto own = memref::AllocOp::create(builder, alloc.getLoc(), alloc.getType());
  BlockArgument argument = use.argument();
  argument.replaceAllUsesWith(own);
  use.herd.getBody()->eraseArgument(argument.getArgNumber());
  use.herd.getKernelOperandsMutable().erase(use.number);
  for (Operation *dealloc : llvm::make_early_inc_range(alloc->getUsers()))
    dealloc->erase();
  alloc.erase();
}

/// Hands `use` its tile's row of `rows` under the type of one buffer.
void selectRow(TileUse use, MemRefType rows, MemRefType single) {
  BlockArgument argument = use.argument();
  argument.setType(rows);
  OpBuilder builder = OpBuilder::atBlockBegin(use.herd.getBody());
  Location loc = use.herd.getLoc();
  Value tile = arith::ConstantIndexOp::create(builder, loc, 0);
  for (auto [id, extent] : llvm::zip_equal(use.herd.getIds(), use.herd.getExtents()))
    tile = arith::AddIOp::create(builder, loc, arith::MulIOp::create(builder, loc, tile, extent), id);
  Value elements = arith::ConstantIndexOp::create(builder, loc, single.getNumElements());
  Value index = arith::MulIOp::create(builder, loc, tile, elements);
  Value wide = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), index);
  Descriptor descriptor(builder, loc, argument);
  Value row = elementAddress(builder, loc, descriptor.firstElement(), *elementBytes(single.getElementType()), wide);
  Value own = memrefFromPointer(builder, loc, row, single);
  // All uses but the one that reads the descriptor.
  argument.replaceUsesWithIf(own, [&](OpOperand &use) { return !isa<UnrealizedConversionCastOp>(use.getOwner()); });
}

/// What one operation of a tile does to a buffer.
struct TileAccess {
  Operation *op;
  /// The buffer or the view of it that the operation has.
  Value buffer;
  bool reads, writes;
};

void collectAccesses(Value buffer, SmallVectorImpl<TileAccess> &list, llvm::SmallPtrSetImpl<Value> &seen) {
  if (!isa<BaseMemRefType>(buffer.getType()) || !seen.insert(buffer).second)
    return;
  for (Operation *user : buffer.getUsers()) {
    if (isa<ViewLikeOpInterface>(user)) {
      for (Value result : user->getResults())
        collectAccesses(result, list, seen);
    } else if (auto dma = dyn_cast<air::DmaMemcpyNdOp>(user)) {
      list.push_back({user, buffer, dma.getSrc() == buffer, dma.getDst() == buffer});
    } else if (auto copy = dyn_cast<memref::CopyOp>(user)) {
      list.push_back({user, buffer, copy.getSource() == buffer, copy.getTarget() == buffer});
    } else if (isa<air::ChannelPutOp, memref::LoadOp, vector::TransferReadOp, vector::LoadOp>(user)) {
      list.push_back({user, buffer, true, false});
    } else if (isa<air::ChannelGetOp, memref::StoreOp, vector::TransferWriteOp, vector::StoreOp>(user)) {
      list.push_back({user, buffer, false, true});
    } else if (!isa<memref::DeallocOp>(user)) {
      list.push_back({user, buffer, true, true});
      if (auto loop = dyn_cast<LoopLikeOpInterface>(user))
        for (Value argument : loop.getRegionIterArgs())
          collectAccesses(argument, list, seen);
    }
  }
}

/// One tile of a herd: what numbers are there, and which code runs there.
class OneTile {
public:
  /// By its row-major number among `sizes`.
  OneTile(air::HerdOp herd, ArrayRef<int64_t> sizes, int64_t number) : herd(herd), sizes(sizes), ids(sizes.size()) {
    for (unsigned dim = sizes.size(); dim-- > 0; number /= sizes[dim])
      ids[dim] = number % sizes[dim];
  }

  /// Whether the tile may come to `op`: no branch on its ids leads elsewhere.
  bool reaches(Operation *op) {
    for (Operation *inner = op; inner->getParentOp() != herd.getOperation(); inner = inner->getParentOp()) {
      Operation *parent = inner->getParentOp();
      unsigned region = inner->getParentRegion()->getRegionNumber();
      if (auto branch = dyn_cast<scf::IfOp>(parent)) {
        std::optional<int64_t> condition = value(branch.getCondition());
        if (condition && region != (*condition != 0 ? 0u : 1u))
          return false;
      } else if (auto choice = dyn_cast<scf::IndexSwitchOp>(parent)) {
        std::optional<int64_t> which = value(choice.getArg());
        if (which && region != regionOf(choice, *which))
          return false;
      }
    }
    return true;
  }

private:
  /// The first region is the one for all other cases.
  static unsigned regionOf(scf::IndexSwitchOp choice, int64_t which) {
    for (auto [index, label] : llvm::enumerate(choice.getCases()))
      if (label == which)
        return index + 1;
    return 0;
  }

  /// A number, where it depends on the tile's ids alone.
  std::optional<int64_t> value(Value number) {
    auto [place, isNew] = known.try_emplace(number, std::nullopt);
    if (!isNew)
      return place->second;
    std::optional<int64_t> found = valueOnce(number);
    known[number] = found;
    return found;
  }

  std::optional<int64_t> valueOnce(Value number) {
    if (std::optional<int64_t> constant = getConstantIntValue(number))
      return number.getType().isInteger(1) ? *constant & 1 : *constant;
    if (auto argument = dyn_cast<BlockArgument>(number)) {
      unsigned index = argument.getArgNumber(), rank = sizes.size();
      if (argument.getOwner()->getParentOp() != herd.getOperation())
        return std::nullopt;
      if (index < 2 * rank)
        return index < rank ? ids[index] : sizes[index - rank];
      return getConstantIntValue(herd.getKernelOperands()[index - 2 * rank]);
    }
    Operation *op = number.getDefiningOp();
    if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
      return value(op->getOperand(0));
    if (op->getNumOperands() != 2 || !isa<arith::ArithDialect>(op->getDialect()))
      return std::nullopt;
    std::optional<int64_t> a = value(op->getOperand(0)), b = value(op->getOperand(1));
    if (isa<arith::AndIOp>(op) && number.getType().isInteger(1) && (a == 0 || b == 0))
      return 0;
    if (!a || !b)
      return std::nullopt;
    // Ids and what is made of them are small, so that no width matters.
    return llvm::TypeSwitch<Operation *, std::optional<int64_t>>(op)
        .Case([&](arith::AddIOp) { return *a + *b; })
        .Case([&](arith::SubIOp) { return *a - *b; })
        .Case([&](arith::MulIOp) { return *a * *b; })
        .Case([&](arith::AndIOp) { return *a & *b; })
        .Case([&](arith::OrIOp) { return *a | *b; })
        .Case([&](arith::XOrIOp) { return *a ^ *b; })
        .Case([&](arith::CmpIOp compare) { return compared(compare.getPredicate(), *a, *b); })
        .Default([](Operation *) { return std::nullopt; });
  }

  static std::optional<int64_t> compared(arith::CmpIPredicate predicate, int64_t a, int64_t b) {
    using P = arith::CmpIPredicate;
    bool isUnsigned = predicate == P::ult || predicate == P::ule || predicate == P::ugt || predicate == P::uge;
    if (isUnsigned && (a < 0 || b < 0))
      return std::nullopt;
    switch (predicate) {
    case P::eq:
      return a == b;
    case P::ne:
      return a != b;
    case P::slt:
    case P::ult:
      return a < b;
    case P::sle:
    case P::ule:
      return a <= b;
    case P::sgt:
    case P::ugt:
      return a > b;
    case P::sge:
    case P::uge:
      return a >= b;
    }
    return std::nullopt;
  }

  air::HerdOp herd;
  ArrayRef<int64_t> sizes;
  SmallVector<int64_t> ids;
  /// Numbers that have been looked at: many are made of the same ones.
  DenseMap<Value, std::optional<int64_t>> known;
};

/// Which tiles of a herd read a buffer and which write it, by their row-major numbers.
struct Roles {
  llvm::BitVector readers, writers;

  /// Whether a tile reads what only others write.
  bool hasHop() const { return writers.any() && readers.test(writers); }
};

/// Nothing where the number of tiles is not known.
std::optional<Roles> rolesOf(TileUse use) {
  SmallVector<int64_t> sizes;
  for (Value size : use.herd.getSizes()) {
    std::optional<int64_t> known = getConstantIntValue(size);
    if (!known || *known < 1)
      return std::nullopt;
    sizes.push_back(*known);
  }
  unsigned tiles = *tileCount(use.herd);
  SmallVector<TileAccess> accesses;
  llvm::SmallPtrSet<Value, 8> seen;
  collectAccesses(use.argument(), accesses, seen);
  Roles roles{llvm::BitVector(tiles), llvm::BitVector(tiles)};
  for (const TileAccess &access : accesses) {
    llvm::BitVector there(tiles);
    for (unsigned tile = 0; tile < tiles; ++tile)
      there[tile] = OneTile(use.herd, sizes, tile).reaches(access.op);
    bool reads = access.reads, writes = access.writes;
    // Kernels write their last buffer. One that all tiles call is no sign of a hand-over, whatever it does.
    if (isa<func::CallOp>(access.op) && !there.all()) {
      auto isBuffer = [](Value operand) { return isa<BaseMemRefType>(operand.getType()); };
      auto buffers = llvm::make_filter_range(llvm::reverse(access.op->getOperands()), isBuffer);
      writes = *buffers.begin() == access.buffer;
      reads = !writes;
    }
    if (reads)
      roles.readers |= there;
    if (writes)
      roles.writers |= there;
  }
  return roles;
}

/// Whether a number is another one with each turn of a loop.
bool movesWith(Value number, Value variable, llvm::SmallPtrSetImpl<Value> &seen) {
  if (number == variable)
    return true;
  Operation *op = number.getDefiningOp();
  return isa_and_nonnull<arith::AddIOp, arith::MulIOp, arith::IndexCastOp>(op) && seen.insert(number).second &&
         llvm::any_of(op->getOperands(), [&](Value operand) { return movesWith(operand, variable, seen); });
}

/// Whether a loop around a write writes the same place in each turn: then it hands over again and again.
bool writesAgain(air::HerdOp herd, const TileAccess &access) {
  SmallVector<Value> places;
  if (auto store = dyn_cast<memref::StoreOp>(access.op))
    llvm::append_range(places, store.getIndices());
  else if (auto transfer = dyn_cast<vector::TransferWriteOp>(access.op))
    llvm::append_range(places, transfer.getIndices());
  else if (auto store = dyn_cast<vector::StoreOp>(access.op))
    llvm::append_range(places, store.getIndices());
  for (Operation *view = access.buffer.getDefiningOp(); view; view = view->getOperand(0).getDefiningOp()) {
    if (!isa<ViewLikeOpInterface>(view))
      break;
    if (auto part = dyn_cast<memref::SubViewOp>(view))
      llvm::append_range(places, part.getOffsets());
  }
  for (Operation *parent = access.op->getParentOp(); parent != herd.getOperation(); parent = parent->getParentOp()) {
    auto loop = dyn_cast<LoopLikeOpInterface>(parent);
    if (!loop)
      continue;
    std::optional<SmallVector<Value>> variables = loop.getLoopInductionVars();
    bool moves = variables && !variables->empty() && llvm::all_of(*variables, [&](Value variable) {
      llvm::SmallPtrSet<Value, 8> seen;
      return llvm::any_of(places, [&](Value place) { return movesWith(place, variable, seen); });
    });
    if (!moves)
      return true;
  }
  return false;
}

/// Why the order in which a herd uses a buffer that others use as well is not known; empty if it is.
StringRef doubtsAbout(TileUse use, const Roles &roles) {
  if (roles.writers.count() > 1)
    return "several tiles write it";
  if (isCarried(use.argument()))
    return "a loop or a branch hands it on";
  SmallVector<TileAccess> accesses;
  llvm::SmallPtrSet<Value, 8> seen;
  collectAccesses(use.argument(), accesses, seen);
  unsigned writes = 0;
  for (const TileAccess &access : accesses) {
    if (!access.writes || !roles.writers.any())
      continue;
    if (writesAgain(use.herd, access))
      return "a loop writes the same place again and again";
    // The second write may be meant for who has read the first.
    if (++writes > 1)
      return "it is written more than once";
  }
  return {};
}

LogicalResult refuse(memref::AllocOp alloc, const Twine &who, StringRef why) {
  return alloc.emitError("AL0701: ") << who << " share this L1 buffer, and " << why
                                     << ": the host target cannot tell in which order they use it";
}

/// One buffer for herds that run one after the other: the first writes it, in one tile, and the others read it.
LogicalResult shareAmongHerds(memref::AllocOp alloc, SmallVector<TileUse> uses) {
  auto refused = [&](StringRef why) { return refuse(alloc, "several herds", why); };
  Block *block = uses.front().herd->getBlock();
  for (TileUse &use : uses)
    if (use.herd->getBlock() != block)
      return refused("they stand in different loops or branches");
  llvm::sort(uses, [](TileUse &a, TileUse &b) { return a.herd->isBeforeInBlock(b.herd); });
  // Where each is one tile, every one may go on with what the one before it has left.
  bool isChain = llvm::all_of(uses, [](TileUse &use) { return tileCount(use.herd) == 1; });
  bool isFirst = true;
  for (TileUse &use : uses) {
    std::optional<Roles> roles = rolesOf(use);
    if (!roles)
      return refused("the number of their tiles is not constant");
    if (roles->writers.any() && !isFirst && !isChain)
      return refused("another one than the first writes it");
    if (roles->hasHop())
      return refused("tiles of the one that writes it read it as well");
    if (StringRef why = doubtsAbout(use, *roles); !why.empty())
      return refused(why);
    isFirst = false;
  }
  return success();
}

/// Whether tiles of the herd also put into a channel that tiles of it get from.
bool talksToItself(air::HerdOp herd) {
  llvm::StringSet<> put;
  herd.walk([&](air::ChannelPutOp op) { put.insert(op.getChanName()); });
  return herd
      ->walk([&](air::ChannelGetOp op) {
        return put.contains(op.getChanName()) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// One buffer for the tiles of a herd, of which one writes it and the others, on one side of it, read it.
LogicalResult shareAmongTiles(memref::AllocOp alloc, ArrayRef<TileUse> uses, const Roles &roles) {
  TileUse use = uses.front();
  std::string who = "tiles of " + described(use.herd);
  if (uses.size() != 1)
    return refuse(alloc, who, "several runs of the herd use it");
  if (StringRef why = doubtsAbout(use, roles); !why.empty())
    return refuse(alloc, who, why);
  // Each runs to its end before the next one starts.
  if (talksToItself(use.herd))
    return refuse(alloc, who, "they put into a channel that they get from");
  int writer = roles.writers.find_first();
  bool before = roles.readers.find_first() < writer, after = roles.readers.find_last() > writer;
  TileOrder order = before ? TileOrder::Descending : TileOrder::Ascending;
  TileOrder other = orderOf(use.herd);
  if ((before && after) || (other != TileOrder::Any && other != order))
    return refuse(alloc, who, "data goes both up and down");
  Builder builder(alloc.getContext());
  use.herd->setAttr(kOrder, builder.getI64IntegerAttr(static_cast<int64_t>(order)));
  return success();
}

/// Whether a herd of several tiles gets a view of the buffer that was taken outside of it.
bool handsOnView(Value buffer) {
  return llvm::any_of(buffer.getUsers(), [](Operation *user) {
    auto isForTiles = [](Value view) {
      return handsOnView(view) || llvm::any_of(view.getUsers(), [](Operation *user) {
               auto herd = dyn_cast<air::HerdOp>(user);
               return herd && tileCount(herd) != 1;
             });
    };
    return isa<ViewLikeOpInterface>(user) && !isa<air::HierarchyInterface>(user) &&
           llvm::any_of(user->getResults(), isForTiles);
  });
}

/// Takes a buffer out of the `air.execute` that allocates it: who uses it then sees what it is. It is there at once in any
/// case; the token of the execute still says nothing more.
void hoistAllocs(air::ExecuteOp execute) {
  Block &body = execute.getRegion().front();
  for (auto alloc : llvm::make_early_inc_range(body.getOps<memref::AllocOp>()))
    if (alloc->getNumOperands() == 0)
      alloc->moveBefore(execute);
  Operation *end = body.getTerminator();
  SmallVector<Type> types{execute->getResult(0).getType()};
  SmallVector<Value> kept, results;
  for (auto [result, value] : llvm::zip_equal(llvm::drop_begin(execute->getResults()), end->getOperands())) {
    if (value.getDefiningOp<memref::AllocOp>() && value.getParentBlock() != &body) {
      result.replaceAllUsesWith(value);
      continue;
    }
    types.push_back(result.getType());
    kept.push_back(value);
    results.push_back(result);
  }
  if (kept.size() == end->getNumOperands())
    return;
  OpBuilder builder(execute);
  OperationState state(execute.getLoc(), execute->getName(), execute->getOperands(), types, execute->getAttrs());
  state.addRegion()->takeBody(execute.getRegion());
  Operation *now = builder.create(state);
  builder.setInsertionPoint(end);
  air::ExecuteTerminatorOp::create(builder, end->getLoc(), kept);
  end->erase();
  execute->getResult(0).replaceAllUsesWith(now->getResult(0));
  for (auto [old, result] : llvm::zip_equal(results, llvm::drop_begin(now->getResults())))
    old.replaceAllUsesWith(result);
  execute.erase();
}

LogicalResult privatize(memref::AllocOp alloc) {
  SmallVector<TileUse> uses;
  auto isHerdUse = [](Operation *user) { return isa<air::HerdOp>(user); };
  if (memorySpace(alloc.getType()) == 2 && handsOnView(alloc))
    return alloc.emitError("AL0701: a herd of several tiles gets a view of this L1 buffer; the host target has to see the "
                           "buffer itself there, to give each tile its own: take the view in the herd");
  if (memorySpace(alloc.getType()) != 2 || llvm::none_of(alloc->getUsers(), isHerdUse))
    return success();
  if (failed(collectTileUses(alloc, uses)))
    return failure();
  air::HerdOp first = uses.front().herd;
  std::optional<int64_t> tiles = tileCount(first);
  if (llvm::all_of(uses, [](TileUse &use) { return isDividedByTiles(use.herd, use.argument()); }))
    return success();
  // Herds of one name and shape are the same tiles.
  bool areSameTiles = llvm::all_of(llvm::drop_begin(uses), [&](TileUse &use) {
    return first.getSymNameAttr() && use.herd.getSymNameAttr() == first.getSymNameAttr() && tileCount(use.herd) == tiles;
  });
  if (!areSameTiles)
    return shareAmongHerds(alloc, uses);
  if (std::optional<Roles> roles = rolesOf(uses.front())) {
    for (TileUse &use : llvm::drop_begin(uses)) {
      std::optional<Roles> more = rolesOf(use);
      roles->readers |= more->readers;
      roles->writers |= more->writers;
    }
    if (roles->hasHop())
      return shareAmongTiles(alloc, uses, *roles);
  }
  if (isOfOneRun(alloc, uses)) {
    moveInside(alloc, uses.front());
    return success();
  }
  if (tiles == 1)
    return success();
  if (!tiles || !bufferBytes(alloc.getType()))
    return alloc.emitError("AL0701: this L1 buffer is handed to a herd, and the host target needs a constant number of "
                           "tiles and a static type for that");
  MemRefType single = alloc.getType();
  auto rows = MemRefType::get({*tiles, single.getNumElements()}, single.getElementType(), MemRefLayoutAttrInterface(),
                              single.getMemorySpace());
  OpBuilder builder(alloc);
  auto shared = memref::AllocOp::create(builder, alloc.getLoc(), rows);
  Value(alloc).replaceAllUsesWith(shared);
  alloc.erase();
  for (TileUse use : uses)
    selectRow(use, rows, single);
  return success();
}

} // namespace

TileOrder orderOf(Operation *level) {
  auto order = level->getAttrOfType<IntegerAttr>(kOrder);
  return order ? static_cast<TileOrder>(order.getInt()) : TileOrder::Any;
}

LogicalResult privatizeTileBuffers(ModuleOp module) {
  bool failed = false;
  SmallVector<air::ExecuteOp> executes;
  module.walk([&](air::ExecuteOp execute) { executes.push_back(execute); });
  llvm::for_each(executes, hoistAllocs);
  SmallVector<memref::AllocOp> allocs;
  module.walk([&](memref::AllocOp alloc) { allocs.push_back(alloc); });
  for (memref::AllocOp alloc : allocs)
    failed |= mlir::failed(privatize(alloc));
  return failure(failed);
}

} // namespace airlink::host
