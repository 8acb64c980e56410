// `air.refeed_count`: a put that a compiler found in a loop around it, and whose source stays as it is, N times.
//
// The count stands where mlir-air's passes look for it: on the put, on the L2 buffer whose only put it is, or on the
// channel. Afterwards it stands on the put.
#include "airlink/Host/Streams.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

namespace airlink::host {

namespace {

constexpr StringLiteral kRefeedCount = "air.refeed_count";

/// The puts that read a buffer, through views as well.
unsigned countPuts(Value buffer) {
  unsigned count = 0;
  for (Operation *user : buffer.getUsers()) {
    count += isa<air::ChannelPutOp>(user);
    if (isa<ViewLikeOpInterface>(user))
      for (Value view : user->getResults())
        count += countPuts(view);
  }
  return count;
}

/// The count of a buffer that a put reads; null if there is none.
FailureOr<IntegerAttr> countOfBuffer(air::ChannelPutOp put) {
  Value buffer = put.getSrc();
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
    buffer = view.getViewSource();
  memref::AllocOp alloc = allocOf(buffer);
  Attribute count = alloc ? alloc->getAttr(kRefeedCount) : Attribute();
  if (!count)
    return IntegerAttr();
  auto integer = dyn_cast<IntegerAttr>(count);
  if (!integer || integer.getValue().slt(1))
    return alloc.emitError("AL0701: `air.refeed_count` of this buffer is ")
           << count << ", which is no number of times to put it";
  // It counts the puts of all loops that are gone: whose they were, nobody knows any more.
  if (countPuts(buffer) != 1)
    return alloc.emitError("AL0701: this buffer has an `air.refeed_count` and several puts: which of them is to be "
                           "repeated is not known");
  return integer;
}

} // namespace

memref::AllocOp allocOf(Value buffer) {
  if (auto execute = buffer.getDefiningOp<air::ExecuteOp>()) {
    unsigned number = cast<OpResult>(buffer).getResultNumber();
    if (number == 0)
      return {}; // The token.
    buffer = execute.getRegion().front().getTerminator()->getOperand(number - 1);
  }
  return buffer.getDefiningOp<memref::AllocOp>();
}

LogicalResult settleRefeeds(ModuleOp module) {
  bool failed = false;
  module.walk([&](air::ChannelPutOp put) {
    if (put->hasAttr(kRefeedCount))
      return;
    FailureOr<IntegerAttr> count = countOfBuffer(put);
    failed |= mlir::failed(count);
    auto channel = module.lookupSymbol<air::ChannelOp>(put.getChanName());
    if (mlir::succeeded(count) && !*count && channel)
      count = channel->getAttrOfType<IntegerAttr>(kRefeedCount);
    if (mlir::succeeded(count) && *count)
      put->setAttr(kRefeedCount, *count);
  });
  return failure(failed);
}

int64_t timesPut(air::ChannelPutOp put) {
  auto count = put->getAttrOfType<IntegerAttr>(kRefeedCount);
  return count ? count.getValue().getSExtValue() : 1;
}

} // namespace airlink::host
