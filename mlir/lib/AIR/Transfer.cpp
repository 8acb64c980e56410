// Invariants of channels, of their two ends and of the copy.
#include "airlink/AIR/AIRDialect.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace airlink::air;

/// Every dynamic marker of `list` must have its value: only the custom form guarantees that.
static LogicalResult verifyMixedList(Operation *op, StringRef what, ArrayRef<int64_t> list, OperandRange values) {
  auto markers = static_cast<size_t>(llvm::count_if(list, ShapedType::isDynamic));
  if (markers == values.size())
    return success();
  return op->emitOpError() << what << " have " << markers << " places for values, found " << values.size();
}

/// Sizes and strides describe the same dimensions. Neither their rank nor that of the offsets need be the memref's.
static LogicalResult verifyEqualRank(Operation *op, StringRef side, size_t sizes, size_t strides) {
  if (sizes == strides)
    return success();
  return op->emitOpError() << side << " has " << sizes << " sizes and " << strides << " strides";
}

/// The lists are per dimension of the padded side, whichever that is, so neither side's rank binds them.
static LogicalResult verifyPadding(Operation *op, std::optional<ArrayRef<int32_t>> before,
                                   std::optional<ArrayRef<int32_t>> after) {
  if (before.has_value() != after.has_value())
    return op->emitOpError("needs both 'pad_before' and 'pad_after' or neither");
  if (!before)
    return success();
  if (before->size() != after->size())
    return op->emitOpError() << "'pad_before' has " << before->size() << " elements and 'pad_after' has "
                             << after->size();
  auto negative = [](int32_t pad) { return pad < 0; };
  if (llvm::any_of(*before, negative) || llvm::any_of(*after, negative))
    return op->emitOpError("has negative padding");
  return success();
}

/// An array attribute whose elements are integers of at least 1, as shapes of channels are.
static LogicalResult verifyShape(Operation *op, StringRef what, ArrayAttr shape) {
  for (auto [index, element] : llvm::enumerate(shape)) {
    auto integer = dyn_cast<IntegerAttr>(element);
    if (!integer || !integer.getValue().isSignedIntN(64) || integer.getValue().getSExtValue() < 1)
      return op->emitOpError() << "'" << what << "' element #" << index << " must be an integer of at least 1, found "
                               << element;
  }
  return success();
}

/// How often a put puts what it puts; on a channel, what holds for its puts.
static LogicalResult verifyRefeedCount(Operation *op) {
  Attribute count = op->getAttr("air.refeed_count");
  auto integer = dyn_cast_or_null<IntegerAttr>(count);
  if (!count || (integer && integer.getValue().sge(1) && integer.getValue().isSignedIntN(32)))
    return success();
  return op->emitOpError() << "'air.refeed_count' must be an integer of at least 1, found " << count;
}

LogicalResult ChannelOp::verify() {
  if (failed(verifyShape(*this, "size", getSize())) || failed(verifyRefeedCount(*this)))
    return failure();
  Attribute broadcast = (*this)->getAttr("broadcast_shape");
  if (!broadcast)
    return success();
  auto shape = dyn_cast<ArrayAttr>(broadcast);
  if (!shape)
    return emitOpError() << "'broadcast_shape' must be an array, found " << broadcast;
  if (shape.size() != getSize().size())
    return emitOpError() << "'broadcast_shape' has rank " << shape.size() << ", the channel has rank "
                         << getSize().size();
  return verifyShape(*this, "broadcast_shape", shape);
}

LogicalResult ChannelPutOp::verify() {
  return failure(failed(verifyMixedList(*this, "offsets", getStaticSrcOffsets(), getDynamicSrcOffsets())) ||
                 failed(verifyMixedList(*this, "sizes", getStaticSrcSizes(), getDynamicSrcSizes())) ||
                 failed(verifyMixedList(*this, "strides", getStaticSrcStrides(), getDynamicSrcStrides())) ||
                 failed(verifyEqualRank(*this, "source", getStaticSrcSizes().size(), getStaticSrcStrides().size())) ||
                 failed(verifyPadding(*this, getPadBefore(), getPadAfter())) || failed(verifyRefeedCount(*this)));
}

LogicalResult ChannelGetOp::verify() {
  return failure(failed(verifyMixedList(*this, "offsets", getStaticDstOffsets(), getDynamicDstOffsets())) ||
                 failed(verifyMixedList(*this, "sizes", getStaticDstSizes(), getDynamicDstSizes())) ||
                 failed(verifyMixedList(*this, "strides", getStaticDstStrides(), getDynamicDstStrides())) ||
                 failed(verifyEqualRank(*this, "destination", getStaticDstSizes().size(), getStaticDstStrides().size())) ||
                 failed(verifyPadding(*this, getPadBefore(), getPadAfter())));
}

LogicalResult DmaMemcpyNdOp::verify() {
  return failure(
      failed(verifyMixedList(*this, "destination offsets", getStaticDstOffsets(), getDynamicDstOffsets())) ||
      failed(verifyMixedList(*this, "destination sizes", getStaticDstSizes(), getDynamicDstSizes())) ||
      failed(verifyMixedList(*this, "destination strides", getStaticDstStrides(), getDynamicDstStrides())) ||
      failed(verifyMixedList(*this, "source offsets", getStaticSrcOffsets(), getDynamicSrcOffsets())) ||
      failed(verifyMixedList(*this, "source sizes", getStaticSrcSizes(), getDynamicSrcSizes())) ||
      failed(verifyMixedList(*this, "source strides", getStaticSrcStrides(), getDynamicSrcStrides())) ||
      failed(verifyEqualRank(*this, "destination", getStaticDstSizes().size(), getStaticDstStrides().size())) ||
      failed(verifyEqualRank(*this, "source", getStaticSrcSizes().size(), getStaticSrcStrides().size())) ||
      failed(verifyPadding(*this, getPadBefore(), getPadAfter())));
}
